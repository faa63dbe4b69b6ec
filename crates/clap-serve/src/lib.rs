//! Serves any clap command line as MCP tools.

mod manifests;
mod program;
