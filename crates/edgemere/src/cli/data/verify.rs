//! `edgemere data verify`: reads every byte that a stopped node keeps of its rows, and compares it with
//! its checksum.

use std::path::Path;
use std::process::ExitCode;

use edgemere_command::Kind;
use edgemere_storage::storage::{DamagedFile, Error, Options, Storage, Verification};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::json;

use super::rows_folder;
use crate::config::{Config, DataKeys, Flags};
use crate::failure::Failure;
use crate::terminal::{self, grouped};

/// How the bar looks.
const BAR: &str = "verifying [{bar:24}] {percent:>3}%  {bytes} of {total_bytes}, {eta} left";

/// Compare every byte of the rows with its checksum
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Compare every byte of a stopped node's rows with their checksums: the \
                  manifest, the rows that were not flushed, and all Parquet files. Damaged files \
                  are marked as damaged, and files that were put back are used again.\n\nExit \
                  codes: 0 nothing is damaged, 3 the folder does not exist, 6 a node is running \
                  on it, 70 something is damaged.",
    after_help = "Examples:\n  edgemere data verify\n  edgemere data verify --data /var/lib/edgemere \
                  --json\n  edgemere run 'test data'    the same on a running node"
)]
pub(crate) struct Verify {
    #[command(flatten)]
    pub(super) keys: Flags<DataKeys>,

    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

impl Verify {
    pub(super) fn run(self, config: &Config) -> anyhow::Result<ExitCode> {
        let folder = rows_folder(config)?;
        let found = verify(&folder)?;
        match self.json {
            true => terminal::print_json(&json(&found))?,
            false => tell(&found)?,
        }
        Ok(match found.damaged.is_empty() {
            true => ExitCode::SUCCESS,
            false => ExitCode::from(Kind::Internal.exit_code()),
        })
    }
}

fn verify(folder: &Path) -> Result<Verification, Failure> {
    let options = Options { background: false, ..Options::default() };
    let (storage, _) = Storage::open(folder, options).map_err(|error| unopened(&error))?;
    let bar = bar(storage.stats().total.file_bytes);
    let found = storage.verify_now(|bytes| bar.inc(bytes));
    bar.finish_and_clear();
    found.map_err(|error| unopened(&error))
}

/// Why the rows cannot be looked at.
fn unopened(error: &Error) -> Failure {
    let cause = std::error::Error::source(error).map(|cause| format!(": {cause}"));
    let message = format!("{error}{}", cause.unwrap_or_default());
    match error {
        Error::Locked { .. } => Failure::new(Kind::Unavailable, message).with_hint(
            "a node runs on it: stop it, or have it check its rows with: edgemere run 'test data'",
        ),
        _ => Failure { hint: error.hint(), ..Failure::new(Kind::Internal, message) },
    }
}

fn bar(bytes: u64) -> ProgressBar {
    let target = match terminal::is_for_people() {
        true => ProgressDrawTarget::stderr(),
        false => ProgressDrawTarget::hidden(),
    };
    let bar = ProgressBar::with_draw_target(Some(bytes), target);
    // The template is ours; without one the bar looks plain.
    if let Ok(style) = ProgressStyle::with_template(BAR) {
        bar.set_style(style.progress_chars("=> "));
    }
    bar
}

fn tell(found: &Verification) -> std::io::Result<()> {
    let Verification { files, bytes, rows, damaged } = found;
    let read = format!("files {files}, rows {}, bytes {}", grouped(*rows), grouped(*bytes));
    if damaged.is_empty() {
        return terminal::print(&format!("all rows are whole: {read}"));
    }
    let columns = ["DBMS", "Table", "Partition", "Rows", "Damage"].map(str::to_owned);
    let row = |file: &DamagedFile| {
        let DamagedFile { dbms, table, file, rows, reason } = file.clone();
        vec![dbms, table, file, rows.to_string(), reason]
    };
    terminal::print_table(&columns, &damaged.iter().map(row).collect::<Vec<_>>())?;
    terminal::say(&format!(
        "{} of the files are damaged: {read}\nput them back from a backup, or give their rows up with \
         \"drop partition\"",
        damaged.len()
    ));
    Ok(())
}

fn json(found: &Verification) -> String {
    let damaged = |file: &DamagedFile| {
        json!({
            "dbms": file.dbms,
            "table": file.table,
            "partition": file.file,
            "rows": file.rows,
            "damaged": file.reason,
        })
    };
    json!({
        "files": found.files,
        "rows": found.rows,
        "bytes": found.bytes,
        "damaged": found.damaged.iter().map(damaged).collect::<Vec<_>>(),
    })
    .to_string()
}
