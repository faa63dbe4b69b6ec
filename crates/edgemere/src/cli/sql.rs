//! `edgemere sql`: one query to a node, its rows on stdout as they come.

use std::io::{ErrorKind, IsTerminal};
use std::process::ExitCode;

use super::client_runtime;
use super::run::client;
use super::shell::place;
use crate::client::Question;
use crate::config::{ClientKeys, Config, Flags};
use crate::failure::Failure;
use crate::terminal;

/// Send one query to a node and print its rows
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Send one query to a node and print its rows as they arrive: a table on a \
                  terminal, CSV in a pipe, or the format that --format names.\n\nExit codes are \
                  those of \"edgemere run\".",
    after_help = "Examples:\n  edgemere sql water 'select count(*) from pumps'\n  \
                  edgemere sql water 'select * from pumps' --format ndjson > pumps.ndjson\n  \
                  edgemere sql --network water 'select site, avg(level) from tanks group by site'"
)]
pub(crate) struct Sql {
    /// The database
    dbms: String,

    /// The query: one SELECT, SHOW, DESCRIBE or EXPLAIN
    #[arg(required = true, value_name = "SELECT")]
    sql: Vec<String>,

    /// The format of the rows: table, json, json:list, ndjson, csv, arrow, parquet, mcp, mcp:columns,
    /// batch or events [default: table on a terminal, csv in a pipe]
    #[arg(long, value_name = "FORMAT")]
    format: Option<String>,

    /// The time limit of the query [default: the node's query-time]
    #[arg(long, value_name = "SECONDS")]
    max_time: Option<u64>,

    /// Query all operators of the network as one database; the default for a database of which the node
    /// stores nothing
    #[arg(long)]
    network: bool,

    /// Query only the rows that the node itself stores
    #[arg(long, conflicts_with = "network")]
    local: bool,

    /// Query only these operators: names or addresses separated by commas
    #[arg(long, value_name = "NODES", conflicts_with_all = ["network", "local"])]
    destination: Option<String>,

    /// Accept the rows of some operators when others do not answer, and name the missing ones
    #[arg(long, conflicts_with = "local")]
    subset: bool,

    #[command(flatten)]
    pub(super) keys: Flags<ClientKeys>,
}

impl Sql {
    pub(super) fn run(self, config: &Config) -> anyhow::Result<ExitCode> {
        let usual = if terminal::is_for_people() { "table" } else { "csv" };
        let format = self.format.as_deref().unwrap_or(usual);
        let is_text = !["arrow", "parquet"].contains(&format);
        if !is_text && std::io::stdout().is_terminal() {
            let failure = Failure::input(format!("the format {format} is not for people"));
            let hint = format!("write it to a file, as in: … > rows.{format}");
            return Err(failure.with_hint(hint).into());
        }
        let mut options = format!("format = {format} and stat = false");
        options.extend(self.max_time.map(|seconds| format!(" and max_time = {seconds}")));
        let sql = self.sql.join(" ");
        let command = edgemere_command::sql_command(&self.dbms, &options, &sql);
        let named = |name: &str| Some(name.to_owned());
        let destination = match (self.network, self.local) {
            (true, _) => named("network"),
            (_, true) => named("local"),
            _ => self.destination,
        };
        let question =
            Question { command, destination, subset: self.subset, ..Question::default() };
        let client = client(config)?;
        let mut last = b'\n';
        let streamed = client_runtime()?.block_on(client.stream(&question, |piece| {
            last = piece.last().copied().unwrap_or(last);
            terminal::print_piece(piece)
        }));
        match streamed {
            Ok(()) if last == b'\n' || !is_text => Ok(ExitCode::SUCCESS),
            Ok(()) => terminal::print("").map(|()| ExitCode::SUCCESS).map_err(Into::into),
            // The reader has read enough.
            Err(error) if is_broken_pipe(&error) => Ok(ExitCode::SUCCESS),
            Err(error) => {
                let failure = Failure::of(error);
                let at = place(&failure.message, &sql);
                Err(Failure { place: at.map(|at| (sql, at)), ..failure }.into())
            }
        }
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let io = error.downcast_ref::<std::io::Error>();
    io.is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
}
