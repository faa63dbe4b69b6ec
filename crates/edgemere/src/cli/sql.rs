//! `edgemere sql`: one query to a node, its rows on stdout as they come.

use std::io::ErrorKind;
use std::process::ExitCode;

use super::client_runtime;
use super::run::client;
use crate::client::Question;
use crate::config::{ClientKeys, Config, Flags};
use crate::terminal;

/// Send one query to a node and print its rows
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Send one query to a node and print its rows as they come: a table on a terminal, \
                  CSV in a pipe, or any other format.\n\nExit codes are those of \"edgemere run\".",
    after_help = "Examples:\n  edgemere sql water 'select count(*) from pumps'\n  \
                  edgemere sql water 'select * from pumps' --format ndjson > pumps.ndjson"
)]
pub(crate) struct Sql {
    /// The database
    dbms: String,

    /// The query
    #[arg(required = true, value_name = "SELECT")]
    sql: Vec<String>,

    /// How the rows look: table, json, json:list, ndjson, csv, mcp or mcp:columns [default: table
    /// on a terminal, csv in a pipe]
    #[arg(long, value_name = "FORMAT")]
    format: Option<String>,

    #[command(flatten)]
    pub(super) keys: Flags<ClientKeys>,
}

impl Sql {
    pub(super) fn run(self, config: &Config) -> anyhow::Result<ExitCode> {
        let usual = if terminal::is_for_people() { "table" } else { "csv" };
        let format = self.format.as_deref().unwrap_or(usual);
        let options = format!("format = {format} and stat = false");
        let command = edgemere_command::sql_command(&self.dbms, &options, &self.sql.join(" "));
        let question = Question { command, ..Question::default() };
        let client = client(config)?;
        let mut last = b'\n';
        let streamed = client_runtime()?.block_on(client.stream(&question, |piece| {
            last = piece.last().copied().unwrap_or(last);
            terminal::print_piece(piece)
        }));
        match streamed {
            Ok(()) if last == b'\n' => Ok(ExitCode::SUCCESS),
            Ok(()) => terminal::print("").map(|()| ExitCode::SUCCESS).map_err(Into::into),
            // Whoever read has read enough.
            Err(error) if is_broken_pipe(&error) => Ok(ExitCode::SUCCESS),
            Err(error) => Err(error),
        }
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let io = error.downcast_ref::<std::io::Error>();
    io.is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
}
