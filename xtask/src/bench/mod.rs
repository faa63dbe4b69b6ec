//! `cargo xtask bench`: what a node costs and how fast it is, over loopback with keep-alive, and
//! beside it a peer that was measured in the same run.
//!
//! It prints tables and asserts nothing: numbers of a busy machine are to be compared, not passed.

mod commands;
mod compare;
mod connection;
mod duckdb;
mod ingest;
mod mcp;
mod network;
mod process;
mod queries;
mod rows;
mod stream;
mod tables;

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Result, bail};

use crate::{cargo, interrupt, node::Spec};

const SPEC: Spec = Spec { name: "Bench", role: "master,operator,query" };

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Run only these parts
    #[arg(long, value_delimiter = ',', value_name = "PARTS")]
    only: Vec<String>,
    /// Measure this program instead of building one
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
    /// Another build, which the part "compare" asks in turn with the one that is measured
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
    /// How long each measurement of many requests lasts
    #[arg(long, default_value_t = 5)]
    seconds: u64,
    /// How many policies the ledger has
    #[arg(long, default_value_t = 10_000)]
    policies: usize,
    /// How many rows are queried; twice as many are streamed
    #[arg(long, default_value_t = 5_000_000)]
    rows: usize,
    /// How many tables a node starts with
    #[arg(long, default_value_t = 1_000)]
    tables: usize,
    /// Measure other MCP servers too, in a folder that xtask/bench/peers/peers.sh has set up
    #[arg(long, value_name = "DIR")]
    peers: Option<PathBuf>,
}

/// A part of the benchmark.
struct Part {
    name: &'static str,
    title: &'static str,
    run: fn(&Path, &Args) -> Result<()>,
}

const PARTS: &[Part] = &[
    Part { name: "commands", title: "Commands and the ledger", run: commands::run },
    Part { name: "ingest", title: "Rows in, durable and visible", run: ingest::run },
    Part { name: "queries", title: "SQL beside DuckDB", run: queries::run },
    Part { name: "stream", title: "All rows out", run: stream::run },
    Part { name: "network", title: "Two operators as one database", run: network::run },
    Part { name: "mcp", title: "What agents wait for", run: mcp::run },
    Part { name: "compare", title: "Before and after", run: compare::run },
    Part { name: "tables", title: "A start with many tables", run: tables::run },
];

pub(crate) fn run(args: &Args) -> Result<()> {
    for name in &args.only {
        if !PARTS.iter().any(|part| part.name == name) {
            let names: Vec<_> = PARTS.iter().map(|part| part.name).collect();
            bail!("no part \"{name}\", only {}", names.join(", "));
        }
    }
    interrupt::watch()?;
    let binary = match &args.binary {
        Some(binary) => std::path::absolute(binary)?,
        None => cargo::build_release()?,
    };
    // A comparison is asked for by name: it needs a second build.
    let is_wanted = |part: &&Part| match args.only.is_empty() {
        true => part.name != "compare",
        false => args.only.iter().any(|name| name == part.name),
    };
    for part in PARTS.iter().filter(is_wanted) {
        println!("\n### {}\n\n| measure | value |\n|---|---|", part.title);
        (part.run)(&binary, args)?;
    }
    Ok(())
}

fn row(measure: &str, value: &str) {
    println!("| {measure} | {value} |");
}

fn milliseconds(time: Duration) -> String {
    format!("{:.3} ms", time.as_secs_f64() * 1000.0)
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

/// A large number as people read it: `1,234,567`.
fn thousands(number: f64) -> String {
    let digits = format!("{number:.0}");
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// The value below which half of the times are.
fn median(times: &mut [Duration]) -> Duration {
    times.sort();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped() {
        assert_eq!(thousands(1234567.4), "1,234,567");
        assert_eq!(thousands(999.0), "999");
    }

    #[test]
    fn a_median_is_in_the_middle() {
        let mut times = [3, 1, 2].map(Duration::from_secs);
        assert_eq!(median(&mut times), Duration::from_secs(2));
        assert_eq!(median(&mut []), Duration::ZERO);
    }
}
