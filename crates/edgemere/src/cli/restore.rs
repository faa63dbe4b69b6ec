//! `edgemere restore`: a backup becomes a data folder again.

use std::path::PathBuf;
use std::process::ExitCode;

use crate::backup::{self, Damaged, Restored};
use crate::config::{Config, DataKeys, Flags, keys};
use crate::terminal;

/// Restore a backup as a node's data folder
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Restore a backup as a node's data folder. The command verifies every file of \
                  the backup first. The data folder must be empty or must not exist, unless \
                  --force moves its contents aside; nothing is ever deleted. An interrupted \
                  restore leaves the data folder as it was.",
    after_help = "Examples:\n  edgemere restore /mnt/usb/plant-1\n  \
                  edgemere restore /mnt/usb/plant-1/2026-11-18T00-00-00Z --data /var/lib/plant-1 --force"
)]
pub(crate) struct Restore {
    /// A backup, or a folder of backups, whose newest is restored
    #[arg(value_name = "BACKUP")]
    backup: PathBuf,

    /// Move the contents of the data folder aside first
    #[arg(long)]
    force: bool,

    #[command(flatten)]
    pub(super) keys: Flags<DataKeys>,
}

impl Restore {
    pub(super) fn run(self, config: &Config) -> anyhow::Result<ExitCode> {
        let data = PathBuf::from(config.text(&keys::DATA));
        let restored = backup::restore(&self.backup, &data, self.force)?;
        let Restored { backup, created, files, bytes, damaged, moved } = restored;
        let (backup, data, bytes) = (backup.display(), data.display(), terminal::grouped(bytes));
        let mut said = format!(
            "restored \"{backup}\" of {created} to \"{data}\": {files} files, {bytes} bytes, verified"
        );
        if let Some(moved) = moved {
            said.push_str(&format!("\nwhat was there before is in \"{}\"", moved.display()));
        }
        for damaged in damaged {
            let Damaged { file, reason } = damaged;
            said.push_str(&format!("\nnot in the backup, and missing now: \"{file}\": {reason}"));
        }
        terminal::print(&said)?;
        Ok(ExitCode::SUCCESS)
    }
}
