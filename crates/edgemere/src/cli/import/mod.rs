//! `edgemere import`: files of rows to a node, piece by piece.
//!
//! 1. `target` says for every file how its rows are written and which table they are for. Nothing is
//!    sent before all of them can be read.
//! 2. `edgemere_storage::chunking` cuts a file into pieces, and `send` sends them.
//! 3. `tally` counts what became of the rows, `progress` shows it.

mod confined;
mod progress;
mod send;
mod tally;
mod target;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use edgemere_storage::chunking::{ChunkOptions, Error};
use tokio_util::sync::CancellationToken;

pub(super) use self::confined::{FOLDER_VARIABLE, folder as import_folder};
use self::progress::Progress;
use self::send::{Sender, Stopped};
use self::tally::Tally;
use self::target::{FormatFlag, Target};
use super::node::program;
use super::run::client;
use super::{client_runtime, signals};
use crate::client::Client;
use crate::config::{ClientKeys, Config, Flags, keys};
use crate::failure::Failure;
use crate::terminal::{self, grouped};

/// A piece is full with so many bytes, well below what a node takes at once.
const PIECE_BYTES_MAX: usize = 8 << 20;

/// The exit code when some rows were rejected.
pub(super) const PARTIAL: u8 = 1;

/// Send the rows of files to a node
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Send the rows of files to a node: CSV with a header, JSON, NDJSON, or Parquet; \
                  all but Parquet may be compressed with gzip.\n\nThe import sends a file in \
                  chunks and counts a chunk once the node has stored it on disk. If the table \
                  does not exist, the node creates it; the first chunk decides the column types, \
                  and the import prints them. Rows that do not fit the columns are rejected and \
                  listed with row and line; with --infer a CSV column with values of several \
                  types becomes text instead.\n\nRows from stdin or a named pipe are sent every \
                  second. Ctrl-C and SIGTERM store the rows that were read before the import \
                  ends; a second Ctrl-C ends it at once.\n\nA file is stored once: when an \
                  import was interrupted, the same command continues where it stopped and skips \
                  the chunks that are already stored. --again stores them again.\n\nExit codes: \
                  0 all rows are stored, 1 some were rejected, 130 interrupted, 143 terminated, \
                  and those of \"edgemere run\": 2 wrong input, such as a missing file, 3 not \
                  found, 4 denied, 5 conflict, 6 unavailable, 70 an internal error of the \
                  program or the node.",
    after_help = "Examples:\n  edgemere import pumps.csv --dbms water\n  \
                  edgemere import 2026-*.parquet --dbms water --table pumps --jobs 4\n  \
                  edgemere import readings.ndjson.gz --dbms water --table readings --strict\n  \
                  mosquitto_sub -t pumps | edgemere import - --format ndjson --dbms water --table pumps"
)]
pub(crate) struct Import {
    /// The files; - reads stdin
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// The database
    #[arg(long, value_name = "NAME")]
    dbms: String,

    /// The table [default: the file's name without its extension]
    #[arg(long, value_name = "NAME")]
    table: Option<String>,

    /// The format of the files [default: from the file's extension]
    #[arg(long, value_name = "FORMAT")]
    format: Option<FormatFlag>,

    /// How many rows a chunk has at most
    #[arg(long, value_name = "N", default_value = "20000")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    batch_rows: u32,

    /// How many chunks to send in parallel
    #[arg(long, value_name = "N", default_value = "2")]
    #[arg(value_parser = clap::value_parser!(u8).range(1..=32))]
    jobs: u8,

    /// How many rows to skip at the start of each file
    #[arg(long, value_name = "N", default_value = "0")]
    skip_rows: u64,

    /// Stop at the first chunk with a rejected row
    #[arg(long)]
    strict: bool,

    /// Make a new CSV column text when some of its values have another type, and say why, instead of
    /// rejecting their rows
    #[arg(long)]
    infer: bool,

    /// Store the rows again that an earlier import of the same file has stored
    #[arg(long)]
    again: bool,

    /// How long to retry when the node is busy or does not answer
    #[arg(long, value_name = "SECONDS", default_value = "60")]
    patience: u64,

    /// Print only problems
    #[arg(long, short)]
    quiet: bool,

    #[command(flatten)]
    pub(super) keys: Flags<ClientKeys>,
}

impl Import {
    pub(super) fn run(self, config: &Config) -> anyhow::Result<ExitCode> {
        if self.dbms.trim().is_empty() {
            return Err(Failure::input("--dbms needs the name of a database").into());
        }
        let client = client(config)?;
        let target = |file| Target::new(file, self.table.as_deref(), self.format);
        let targets: Vec<_> =
            self.files.iter().map(|file| target(file)).collect::<Result<_, _>>()?;
        let stop = CancellationToken::new();
        client_runtime()?.block_on(async {
            let mut signals = signals::Signals::listen()?;
            let mut asked = signals::INTERRUPTED;
            let code = tokio::select! {
                code = self.import_all(&client, &targets, &stop, config) => code,
                () = interrupts(&stop, &mut signals, &mut asked) => {
                    return Ok(ExitCode::from(signals::INTERRUPTED));
                }
            };
            code.map(|code| ExitCode::from(if code == signals::INTERRUPTED { asked } else { code }))
        })
    }

    async fn import_all(
        &self,
        client: &Client,
        targets: &[Target],
        stop: &CancellationToken,
        config: &Config,
    ) -> anyhow::Result<u8> {
        let start = Instant::now();
        let mut total = Tally::default();
        let mut stopped = None;
        for target in targets {
            let mut tally = total.next();
            let result = self.import(client, target, stop, &mut tally).await;
            total.merge(tally);
            if let Err(error) = result {
                stopped = Some((target, tally, error));
                break;
            }
        }
        if total.untold() > 0 {
            terminal::say(&format!("… and {} more rejected rows", grouped(total.untold())));
        }
        match stopped {
            Some((target, tally, Stopped::Asked)) => {
                let hint = match target.is_live() {
                    true => "all rows that were read are stored or told".to_owned(),
                    false => self.go_on_hint(target, &tally),
                };
                terminal::say(&format!("interrupted: {}; {hint}", total.line(start.elapsed())));
                Ok(signals::INTERRUPTED)
            }
            Some((target, tally, Stopped::Strict)) => {
                let told = format!("stopped at the first rejected row of {}", target.name());
                terminal::say(&format!("{told}: {}", tally.line(start.elapsed())));
                Ok(PARTIAL)
            }
            Some((target, tally, Stopped::Node(failure))) => {
                Err(self.failed(target, &tally, failure).into())
            }
            Some((target, tally, Stopped::File(error))) => {
                Err(self.unreadable(target, &tally, error).into())
            }
            None => Ok(self.done(targets, total, start.elapsed(), config)),
        }
    }

    /// Imports one file, and says what became of it.
    async fn import(
        &self,
        client: &Client,
        target: &Target,
        stop: &CancellationToken,
        tally: &mut Tally,
    ) -> Result<(), Stopped> {
        let start = Instant::now();
        // Rows from stdin cannot be read again to go on, and the next ones may look the same.
        let is_once = target.is_live() || self.again;
        let salt = if is_once { unique() } else { target.file_name() };
        let is_ordered = target.is_live() || self.strict;
        let sender = Sender {
            client,
            dbms: &self.dbms,
            target,
            salt,
            jobs: if is_ordered { 1 } else { self.jobs.into() },
            is_strict: self.strict,
            infer: self.infer,
            is_quiet: self.quiet,
            patience: Duration::from_secs(self.patience),
            stop,
        };
        let rows_max = usize::try_from(self.batch_rows).unwrap_or(usize::MAX);
        let cut = ChunkOptions { rows_max, bytes_max: PIECE_BYTES_MAX, skip: self.skip_rows };
        let progress = Progress::new(&target.name(), target.bytes, self.quiet);
        sender.send(cut, tally, &progress).await?;
        drop(progress);
        if !self.quiet {
            let into = format!("{} → {}.{}", target.name(), self.dbms, target.table);
            terminal::say(&match tally.rows() {
                0 => format!("{into}: no rows, nothing to store"),
                _ => format!("{into}: {}", tally.line(start.elapsed())),
            });
        }
        Ok(())
    }

    /// Says what there is now, and gives the exit code.
    fn done(&self, targets: &[Target], total: Tally, time: Duration, config: &Config) -> u8 {
        if !self.quiet {
            if targets.len() > 1 {
                terminal::say(&format!("{} files: {}", targets.len(), total.line(time)));
            }
            if total.repeated > 0 {
                terminal::say(
                    "rows \"stored before\" are of an earlier import of the same file; --again \
                     stores them again",
                );
            }
            if total.could_be_text() && !self.infer {
                terminal::say(
                    "a column has the type of most of its values; with --infer, or after \"create \
                     table\", it is text and takes all of them",
                );
            }
            if let (Some(target), true) = (targets.last(), total.stored + total.repeated > 0) {
                terminal::say(&format!("try: {}", self.query(target, config)));
            }
        }
        if total.rejected > 0 { PARTIAL } else { 0 }
    }

    fn query(&self, target: &Target, config: &Config) -> String {
        let node = config.text(&keys::NODE);
        let node = match keys::NODE.is_default(node) {
            true => String::new(),
            false => format!(" --node {node}"),
        };
        let table = quoted(&target.table);
        format!("{} sql {} 'select count(*) from {table}'{node}", program(), self.dbms)
    }

    /// That the node did not take what comes next.
    fn failed(&self, target: &Target, tally: &Tally, failure: Failure) -> Failure {
        let go_on = self.go_on_hint(target, tally);
        let hint = match failure.hint {
            Some(hint) => format!("{hint}; then {go_on}"),
            None => go_on,
        };
        let stored = grouped(tally.stored + tally.repeated);
        let message = format!(
            "{}: {}; {stored} rows of it are stored for sure",
            target.name(),
            failure.message.trim_end_matches("; nothing was stored"),
        );
        Failure { message, hint: Some(hint), ..failure }
    }

    /// That the file cannot be read on.
    fn unreadable(&self, target: &Target, tally: &Tally, error: Error) -> Failure {
        let hint = error.hint();
        let source = std::error::Error::source(&error).map(|source| format!(": {source}"));
        let mut message = format!("{}: {error}{}", target.name(), source.unwrap_or_default());
        if tally.rows() > 0 {
            let stored = grouped(tally.stored + tally.repeated);
            message.push_str(&format!("; {stored} rows before it are stored"));
        }
        let failure = Failure::input(message);
        match hint {
            Some(hint) => failure.with_hint(hint),
            None => failure,
        }
    }

    /// How to go on with a file that was not sent to its end.
    fn go_on_hint(&self, target: &Target, tally: &Tally) -> String {
        match target.is_live() || self.again {
            true => format!("go on with --skip-rows {}", self.skip_rows + tally.rows()),
            false => "run the same command again: what is stored is not stored twice".to_owned(),
        }
    }
}

/// Asks to stop at the first signal, and says the exit code then; ends at the next Ctrl-C.
async fn interrupts(stop: &CancellationToken, signals: &mut signals::Signals, code: &mut u8) {
    *code = signals.any_code().await;
    stop.cancel();
    terminal::say("stopping when the pieces under way are stored; Ctrl-C again does not wait");
    signals.interrupt().await;
}

/// A text that no other import has.
fn unique() -> String {
    format!("{} {}", jiff::Timestamp::now().as_nanosecond(), std::process::id())
}

/// A name as SQL takes it: in quotes unless it is plain.
fn quoted(name: &str) -> String {
    let is_plain = name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    match is_plain && !name.starts_with(|c: char| c.is_ascii_digit()) {
        true => name.to_owned(),
        false => format!("\"{}\"", name.replace('"', "\"\"")),
    }
}
