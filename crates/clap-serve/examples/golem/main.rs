//! A command line with the shape of golem-cli's, served to agents: about seventy commands that they may
//! use, and sixteen patterns of what they may not.
//!
//! ```text
//! golem component list                    as a person uses it
//! golem --serve                           for agents: what reads
//! golem --serve=9000 --allow destructive  for agents: all but what is blocked
//! golem --serve=stdio                     for agents that start it themselves
//! ```
//!
//! Its commands ask the services that `golem server run` runs, over HTTP: components are records of them,
//! and workers are shopping carts that can be invoked. `demo.sh` beside it walks through a session with
//! curl, `demo-with-services.sh` through one with the services.

mod api;
mod app;
mod blocked;
mod cli;
mod cloud;
mod component;
mod invoke;
mod plugin;
mod services;
mod store;
mod worker;

use std::{process::ExitCode, time::Duration};

use clap::{CommandFactory, Parser};
use clap_serve::Options;

use crate::cli::Golem;

/// What agents never get, whatever is allowed. The commands themselves declare only what they do, so
/// that nothing but these keeps them back.
const BLOCKED: [&str; 16] = [
    "profile *",
    "cloud token *",
    "cloud account grant",
    "cloud account get",
    "cloud account new",
    "cloud account update",
    "cloud account delete",
    "cloud project grant",
    "cloud project policy *",
    "account get",
    "account add",
    "grant *",
    "api security-scheme create",
    "api cloud certificate *",
    "server run",
    "* --show-sensitive",
];

/// No command that is meant well takes longer.
const CALL_TIME_MAX: Duration = Duration::from_secs(5);

fn main() -> ExitCode {
    let mut options = Options::new().deny(BLOCKED).manifests(["golem.yaml", "golem-*.yaml"]);
    options.run_limits.time_max = CALL_TIME_MAX;
    options.environment = options.environment.pass("GOLEM_*");
    if let Some(code) = clap_serve::serve_if_asked(Golem::command(), options) {
        return code;
    }
    Golem::parse().run()
}
