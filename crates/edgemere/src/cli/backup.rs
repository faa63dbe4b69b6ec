//! `edgemere backup`: a backup of a node's data folder, of a node that runs or of one that does not.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use edgemere_command::Kind;
use serde::Deserialize;

use super::client_runtime;
use crate::backup::{self, Damaged, Made, Rows};
use crate::client::{Client, Question};
use crate::config::{self, Config, DataKeys, Flags, keys};
use crate::failure::Failure;
use crate::{server, terminal};

/// Back up a node's data folder, whether the node is running or not
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Back up a node's data folder: rows, ledger, keys and scripts. The node may be \
                  running: writers and queries continue, and the backup is a consistent \
                  snapshot.\n\nEach backup is a complete folder in DIR, named by its time. \
                  Parquet files that the previous backup has are hard-linked instead of copied, \
                  so that a second backup only takes the space of what is new.\n\nA damaged \
                  Parquet file is taken from the previous backup. If that does not have it, the \
                  backup is made without the file, the command names it, and the exit code is \
                  6.\n\nRun it on the machine of the node, as the same user.",
    after_help = "Examples:\n  edgemere backup /mnt/usb/plant-1\n  \
                  edgemere backup /backups/plant-1 --data /var/lib/plant-1"
)]
pub(crate) struct Backup {
    /// The folder for backups: a new folder, or one that already has backups
    #[arg(value_name = "DIR")]
    folder: PathBuf,

    #[command(flatten)]
    pub(super) keys: Flags<DataKeys>,
}

/// What a node says of the copy that it made.
#[derive(Debug, Deserialize)]
struct Copied {
    backup: String,
    storage: Option<String>,
    sequence: u64,
    #[serde(default)]
    damaged: Vec<Damaged>,
}

impl Backup {
    pub(super) fn run(self, config: &Config) -> anyhow::Result<ExitCode> {
        let data = PathBuf::from(config.text(&keys::DATA));
        let rows = |staging: &Path| match backup::in_use(&data) {
            true => of_running(&data, staging),
            false => Rows::of_stopped(&data, staging),
        };
        let Made { folder, files, bytes, linked, damaged } =
            backup::make(&data, &self.folder, rows)?;
        let (folder, bytes) = (folder.display(), terminal::grouped(bytes));
        terminal::print(&format!(
            "backed up to \"{folder}\": {files} files, {bytes} bytes, verified; {linked} files are shared \
             with the backup before"
        ))?;
        match damaged.as_slice() {
            [] => Ok(ExitCode::SUCCESS),
            damaged => Err(without(damaged).into()),
        }
    }
}

/// Why a backup that was made is not all that it should be.
fn without(damaged: &[Damaged]) -> Failure {
    let each = damaged.iter().map(|damaged| format!("\"{}\": {}", damaged.file, damaged.reason));
    let message = format!(
        "the backup is without the damaged files of the node, and without their rows: {}",
        each.collect::<Vec<_>>().join("; ")
    );
    let hint = "put them back from an older backup, or give their rows up with \"drop partition\"";
    Failure::new(Kind::Unavailable, message).with_hint(hint)
}

/// Has the node that has the folder open make a copy of its rows.
fn of_running(data: &Path, staging: &Path) -> anyhow::Result<Rows> {
    let file = server::node_file(data);
    let about = std::fs::read_to_string(&file).map_err(|error| {
        let message =
            format!("a node has \"{}\" open and does not say where it is: {error}", data.display());
        Failure::new(Kind::Unavailable, message).with_hint("try again when it is ready, or stop it")
    })?;
    let about: serde_json::Value = serde_json::from_str(&about)
        .with_context(|| format!("cannot read \"{}\"", file.display()))?;
    let http = about.get("http").and_then(serde_json::Value::as_str).unwrap_or_default();
    let client = Client::new(config::node_url(http).map_err(Failure::input)?)?;
    let question = Question { command: "create backup".to_owned(), ..Question::default() };
    let reply = client_runtime()?.block_on(client.ask(&question))?;
    let Copied { backup, storage, sequence, damaged } =
        serde_json::from_str(&reply.body).context("the node does not say what it has copied")?;
    let folder = staging.join(&backup);
    if !folder.join("fresh.redb").is_file() {
        let message = format!("the node at {http} is not that of \"{}\"", data.display());
        return Err(Failure::new(Kind::Conflict, message).with_hint("name its data folder").into());
    }
    Ok(Rows { folder, storage, sequence, damaged })
}
