//! `edgemere data repair`: rebuilds the manifest of the rows from their Parquet files.

use std::path::PathBuf;
use std::process::ExitCode;

use edgemere_command::Kind;
use edgemere_engine::storage;

use crate::config::{Config, DataKeys, Flags, keys};
use crate::failure::Failure;
use crate::terminal;

/// Rebuild the list of Parquet files when fresh.redb is lost, damaged or older than they are
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Rebuild rows/fresh.redb of a node that is not running, when it is lost, damaged or older than \
                  the Parquet files beside it. Each file says itself what it is; of files with the same rows the \
                  newest is taken. Rows that had not settled, views, rules of retention and keys of retries are \
                  taken from the old fresh.redb, as far as it can be read; it is kept beside the new one.\n\n\
                  It says what was found, and what cannot be recovered. When there is a backup that is as \
                  new, \"edgemere restore\" is the better way.",
    after_help = "Examples:\n  edgemere data repair --dry-run\n  edgemere data repair --data /var/lib/plant-1"
)]
pub(crate) struct Repair {
    /// Say what would be done, and change nothing
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
        "{done}: tables {}, files {}, rows {} (of them {} that had not settled)",
        report.tables, report.files, report.rows, report.fresh_rows
    )];
    lines.extend(report.found.iter().map(|found| format!("found: {found}")));
    lines.extend(report.missing.iter().map(|missing| format!("cannot be recovered: {missing}")));
    if let Some(saved) = &report.saved {
        lines.push(format!("the old fresh.redb is kept as \"{}\"", saved.display()));
    }
    lines.join("\n")
}
