//! Serves any clap command line as MCP tools.

mod manifests;
pub mod program;
