//! The program of docs/guides/clap-serve.md, which the page has the rest of this file from.

#![allow(clippy::print_stdout, reason = "a command line prints")]

use std::process::ExitCode;

use clap::{CommandFactory, Parser};
use clap_serve::{CommandExt, Effect, Options};

/// Keeps notes
#[derive(Parser)]
#[command(name = "notes", version, after_help = clap_serve::HELP)]
enum Cli {
    /// Lists the notes
    #[command(effect = Effect::Read)]
    List {
        /// The most that are listed
        #[arg(long, default_value_t = 20)]
        limit: u16,
    },
    /// Removes a note for good
    #[command(effect = Effect::Destructive)]
    Remove {
        /// Its name
        name: String,
    },
}

fn main() -> ExitCode {
    if let Some(code) = clap_serve::serve_if_asked(Cli::command(), Options::new()) {
        return code;
    }
    match Cli::parse() {
        Cli::List { limit } => println!("at most {limit} notes"),
        Cli::Remove { name } => println!("{name} is gone"),
    }
    ExitCode::SUCCESS
}
