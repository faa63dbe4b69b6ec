//! Brings a backup back as a data folder: all of it, or nothing.

use std::fs::{self, File};
use std::path::{Component, Path, PathBuf};

use anyhow::Context as _;
use edgemere_command::Kind;
use edgemere_storage::private;

use super::copy::{check, copy, sync_folders};
use super::make::in_use;
use super::{Damaged, List, backups};
use crate::failure::Failure;

/// What was restored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Restored {
    /// The backup.
    pub(crate) backup: PathBuf,
    /// When it was made.
    pub(crate) created: String,
    pub(crate) files: usize,
    pub(crate) bytes: u64,
    /// The files of rows that were damaged when it was made, and are not in it.
    pub(crate) damaged: Vec<Damaged>,
    /// Where what was in the data folder before is now.
    pub(crate) moved: Option<PathBuf>,
}

/// Verifies a backup and puts it in the place of a data folder. What is there already is moved aside, when
/// that is asked for, and never deleted.
pub(crate) fn restore(backup: &Path, data: &Path, force: bool) -> anyhow::Result<Restored> {
    let backup = find(backup)?;
    let list = List::read(&backup)?;
    let data = std::path::absolute(data)?;
    let is_free =
        fs::read_dir(&data).map_or(!data.exists(), |mut entries| entries.next().is_none());
    if in_use(&data) {
        let message = format!("a node is running in \"{}\"", data.display());
        return Err(Failure::new(Kind::Conflict, message).with_hint("stop it first").into());
    }
    if !is_free && !force {
        let message = format!("\"{}\" is not empty; nothing was restored", data.display());
        let hint =
            "name another folder with --data DIR, or add --force to move what is there aside";
        return Err(Failure::new(Kind::Conflict, message).with_hint(hint).into());
    }
    verify(&backup, &list)?;
    let fresh = beside(&data, "restoring");
    // What an interrupted restore left is of no use: it begins again.
    if fresh.exists() {
        fs::remove_dir_all(&fresh)
            .with_context(|| format!("cannot remove \"{}\"", fresh.display()))?;
    }
    for file in &list.files {
        copy(&backup.join(&file.path), &fresh.join(&file.path), u64::MAX)?;
    }
    private::create_dir_all(&fresh)?;
    sync_folders(&fresh)?;
    let moved = (!is_free).then(|| {
        let now = jiff::Timestamp::now().strftime("%Y-%m-%dT%H-%M-%S%.6fZ");
        beside(&data, &format!("before-restore-{now}"))
    });
    if let Some(moved) = &moved {
        fs::rename(&data, moved).with_context(|| format!("cannot move \"{}\"", data.display()))?;
    }
    fs::rename(&fresh, &data)
        .with_context(|| format!("cannot put \"{}\" in its place", fresh.display()))?;
    if let Some(above) = data.parent() {
        File::open(above)?.sync_all()?;
    }
    Ok(Restored {
        backup,
        created: list.created,
        files: list.files.len(),
        bytes: list.files.iter().map(|file| file.bytes).sum(),
        damaged: list.damaged,
        moved,
    })
}

/// The backup itself, or the newest one of a folder of backups.
fn find(path: &Path) -> anyhow::Result<PathBuf> {
    let newest = || backups(path).ok()?.pop();
    match path.join(super::LIST).is_file() {
        true => Ok(path.to_owned()),
        false => Ok(newest().unwrap_or_else(|| path.to_owned())),
    }
}

/// Reads every file of a backup, and refuses it when one is not as it was written.
fn verify(backup: &Path, list: &List) -> anyhow::Result<()> {
    for file in &list.files {
        let path = Path::new(&file.path);
        let is_inside = path.components().all(|part| matches!(part, Component::Normal(_)));
        let problem = match is_inside {
            true => check(&backup.join(path), file).err(),
            false => Some("it is not in the backup".to_owned()),
        };
        if let Some(problem) = problem {
            let (file, backup) = (&file.path, backup.display());
            let message = format!("the backup \"{backup}\" is damaged: \"{file}\": {problem}");
            let hint = "nothing was restored; take another backup";
            return Err(Failure::new(Kind::Conflict, message).with_hint(hint).into());
        }
    }
    Ok(())
}

/// A folder beside another, on the same disk.
fn beside(data: &Path, what: &str) -> PathBuf {
    let name = data.file_name().unwrap_or_default().to_string_lossy();
    data.with_file_name(format!("{name}.{what}"))
}
