//! `edgemere data repair`: rebuilds the manifest of the rows from their Parquet files.

use std::path::PathBuf;
use std::process::ExitCode;

use edgemere_command::Kind;
use edgemere_storage::storage;

use crate::config::{Config, DataKeys, Flags, keys};
use crate::failure::Failure;
use crate::terminal;

/// Rebuild the manifest (fresh.redb) when it is lost, damaged or older than the Parquet files
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Rebuild rows/fresh.redb of a stopped node when it is lost, damaged or older \
                  than the Parquet files next to it. The footer of each Parquet file says which \
                  rows it holds; of several files with the same rows the repair takes the \
                  newest. Rows that were not flushed, views, retention rules and idempotency \
                  keys come from the old fresh.redb, as far as it can be read; the old file is \
                  saved next to the new one.\n\nThe command reports what it found and what \
                  cannot be recovered. If you have a backup that is as recent, prefer \"edgemere \
                  restore\".",
    after_help = "Examples:\n  edgemere data repair --dry-run\n  edgemere data repair --data /var/lib/plant-1"
)]
pub(crate) struct Repair {
    /// Report what would be done, and change nothing
    #[arg(long)]
    dry_run: bool,

    #[command(flatten)]
    pub(super) keys: Flags<DataKeys>,
}

impl Repair {
    pub(super) fn run(self, config: &Config) -> anyhow::Result<ExitCode> {
        let data = PathBuf::from(config.text(&keys::DATA));
        let rows = data.join("rows");
        if !rows.is_dir() {
            let message = format!("no node has kept rows in \"{}\"", data.display());
            let hint = "name its data folder with --data DIR";
            return Err(Failure::new(Kind::NotFound, message).with_hint(hint).into());
        }
        let report = storage::repair(&rows, self.dry_run)?;
        terminal::print(&said(&report, self.dry_run))?;
        Ok(ExitCode::SUCCESS)
    }
}

fn said(report: &storage::Repair, dry_run: bool) -> String {
    let done = match (report.needed, dry_run) {
        (false, _) => "nothing to repair",
        (true, true) => "would be repaired",
        (true, false) => "repaired",
    };
    let mut lines = vec![format!(
        "{done}: tables {}, files {}, rows {} (of them {} that were in the memtable)",
        report.tables, report.files, report.rows, report.memtable_rows
    )];
    lines.extend(report.found.iter().map(|found| format!("found: {found}")));
    lines.extend(report.missing.iter().map(|missing| format!("cannot be recovered: {missing}")));
    if let Some(saved) = &report.saved {
        lines.push(format!("the old fresh.redb is kept as \"{}\"", saved.display()));
    }
    lines.join("\n")
}
