//! Backups of a node's data folder: one folder each, which is complete by itself, beside those made
//! before, with which it shares the files that have not changed.
//!
//! `backup.json` in it lists every file with its size and checksum. It is written last, and the folder has
//! its name only then: what was interrupted is never taken for a backup.

mod copy;
mod make;
mod restore;

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use edgemere_command::Kind;
use serde::{Deserialize, Serialize};

pub(crate) use self::make::{Made, Rows, in_use, make};
pub(crate) use self::restore::{Restored, restore};
use crate::failure::Failure;

/// The list of what a backup has.
const LIST: &str = "backup.json";

/// The version of that list.
const FORMAT: u32 = 1;

/// How the name of a backup ends that is not finished.
const PARTIAL: &str = ".partial";

/// What a backup has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct List {
    format: u32,
    /// The version of Edgemere that made it.
    version: String,
    /// When, in UTC.
    created: String,
    /// Which storage its rows are of.
    storage: Option<String>,
    /// The last transaction of that storage.
    sequence: u64,
    files: Vec<Listed>,
    /// The files of rows that were damaged, and are not in it.
    #[serde(default)]
    damaged: Vec<Damaged>,
}

/// A file of rows that is damaged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Damaged {
    /// Where it is among the rows.
    pub(crate) file: String,
    /// What is wrong with it.
    pub(crate) reason: String,
}

/// A file of a backup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Listed {
    /// Where it is in the data folder, with / between folders.
    path: String,
    bytes: u64,
    /// Of its content.
    sha256: String,
}

impl List {
    /// Reads the list of a backup.
    fn read(backup: &Path) -> anyhow::Result<Self> {
        let file = backup.join(LIST);
        let text = std::fs::read_to_string(&file).map_err(|error| {
            let message = format!("\"{}\" is not a backup: {error}", backup.display());
            Failure::new(Kind::NotFound, message)
                .with_hint("name a folder that \"edgemere backup\" made")
        })?;
        let list: Self = serde_json::from_str(&text)
            .with_context(|| format!("the list \"{}\" is damaged", file.display()))?;
        if list.format != FORMAT {
            let message = format!(
                "the backup \"{}\" has the format {}, and this version reads {FORMAT}",
                backup.display(),
                list.format
            );
            return Err(Failure::new(Kind::Conflict, message).into());
        }
        Ok(list)
    }
}

/// The whole backups in a folder, the oldest first.
fn backups(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let is_partial = path.to_string_lossy().ends_with(PARTIAL);
        if !is_partial && path.join(LIST).is_file() {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}
