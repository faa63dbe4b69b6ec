//! Serves any clap command line as MCP tools.

pub mod manifests;
pub mod program;
