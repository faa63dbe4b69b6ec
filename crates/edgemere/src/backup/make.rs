//! Makes a backup: rows from a consistent copy of them, and the rest of the data folder as it is.

use std::fs::{self, File, TryLockError};
use std::path::{Component, Path, PathBuf};

use anyhow::Context as _;
use edgemere_command::{Kind, VERSION};
use edgemere_storage::{private, storage};

use super::copy::{check, copy, files, sync_folders};
use super::{Damaged, FORMAT, LIST, List, Listed, PARTIAL, backups};
use crate::failure::Failure;

/// What of a data folder is not in a backup: rows, which are copied by another way, what is on its way
/// there, and what is only for as long as a node runs.
const LEFT_OUT: [&str; 3] = ["rows", "backup", "node.json"];

/// How the names of files end that are only for a moment.
const PASSING: [&str; 3] = [".lock", ".new", ".tmp"];

/// How often the ledger is read again when it was changed meanwhile.
const TRIES_MAX: usize = 10;

/// A consistent copy of the rows of a node, in its data folder.
#[derive(Clone, Debug)]
pub(crate) struct Rows {
    /// The folder of the copy.
    pub(crate) folder: PathBuf,
    /// Which storage they are of.
    pub(crate) storage: Option<String>,
    /// Its last transaction.
    pub(crate) sequence: u64,
    /// The files that are damaged, and not in the copy.
    pub(crate) damaged: Vec<Damaged>,
}

/// A backup that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Made {
    pub(crate) folder: PathBuf,
    pub(crate) files: usize,
    pub(crate) bytes: u64,
    /// How many of the files were in the backup before, and take no more room.
    pub(crate) linked: usize,
    /// The files of rows that are damaged and in no backup.
    pub(crate) damaged: Vec<Damaged>,
}

/// Makes a backup of a data folder in a folder of backups. `rows` gives the copy of its rows, which is
/// removed when it is not needed any more.
pub(crate) fn make(
    data: &Path,
    folder: &Path,
    rows: impl FnOnce(&Path) -> anyhow::Result<Rows>,
) -> anyhow::Result<Made> {
    check_places(data, folder)?;
    private::create_dir_all(folder)
        .with_context(|| format!("cannot create \"{}\"", folder.display()))?;
    check_folder(folder)?;
    let staging = data.join("backup");
    private::create_dir_all(&staging)
        .with_context(|| format!("cannot create \"{}\"", staging.display()))?;
    let _alone = alone(&staging)?;
    let partial = begin(folder)?;
    let rows = rows(&staging);
    let made = rows.and_then(|rows| fill(data, folder, &partial, &rows));
    remove_below(&staging);
    if made.is_err() {
        // What is left of it is removed by the next backup otherwise.
        let _ = fs::remove_dir_all(&partial);
    }
    made
}

/// Whether a node has the rows of a data folder open.
pub(crate) fn in_use(data: &Path) -> bool {
    let lock = File::options().write(true).open(data.join("rows/storage.lock"));
    lock.is_ok_and(|lock| matches!(lock.try_lock(), Err(TryLockError::WouldBlock)))
}

fn fill(data: &Path, folder: &Path, partial: &Path, rows: &Rows) -> anyhow::Result<Made> {
    let before = backups(folder)?.pop();
    let before = before.and_then(|path| Some((List::read(&path).ok()?, path)));
    let before = before.filter(|(list, _)| list.storage == rows.storage && rows.storage.is_some());
    let mut made =
        Made { folder: PathBuf::new(), files: 0, bytes: 0, linked: 0, damaged: Vec::new() };
    let mut listed = Vec::new();
    for place in files(&rows.folder)? {
        let path = Path::new("rows").join(&place);
        let (from, to) = (rows.folder.join(&place), partial.join(&path));
        let known = before.as_ref().and_then(|(list, at)| known(list, at, &path, &from, &to));
        listed.push(match known {
            Some(known) => {
                made.linked += 1;
                known
            }
            None => copied(&path, &from, &to, u64::MAX)?,
        });
    }
    for damaged in &rows.damaged {
        // The backup before may have it from when it was whole.
        let path = Path::new("rows").join(&damaged.file);
        let saved = before.as_ref().and_then(|(list, at)| saved(list, at, &path, partial));
        match saved {
            Some(saved) => {
                made.linked += 1;
                listed.push(saved);
            }
            None => made.damaged.push(damaged.clone()),
        }
    }
    listed.extend(copy_rest(data, partial)?);
    made.files = listed.len();
    made.bytes = listed.iter().map(|file| file.bytes).sum();
    let now = jiff::Timestamp::now();
    let list = List {
        format: FORMAT,
        version: VERSION.to_owned(),
        created: now.to_string(),
        storage: rows.storage.clone(),
        sequence: rows.sequence,
        files: listed,
        damaged: made.damaged.clone(),
    };
    fs::write(partial.join(LIST), format!("{:#}\n", serde_json::to_value(&list)?))?;
    File::open(partial.join(LIST))?.sync_all()?;
    sync_folders(partial)?;
    let name = now.strftime("%Y-%m-%dT%H-%M-%SZ").to_string();
    let again = (2..).map(|count: u32| folder.join(format!("{name}.{count}")));
    let names = std::iter::once(folder.join(&name)).chain(again);
    made.folder = names.take(1000).find(|path| !path.exists()).unwrap_or_default();
    fs::rename(partial, &made.folder)
        .with_context(|| format!("cannot finish \"{}\"", made.folder.display()))?;
    File::open(folder)?.sync_all()?;
    Ok(made)
}

/// A Parquet file that the backup before has: it is never changed, and its name is never given again.
fn known(list: &List, at: &Path, path: &Path, from: &Path, to: &Path) -> Option<Listed> {
    let name = portable(path);
    let is_parquet = name.ends_with(".parquet");
    let known = list.files.iter().find(|file| is_parquet && file.path == name)?;
    let there = at.join(path);
    let sizes = (fs::metadata(from).ok()?.len(), fs::metadata(&there).ok()?.len());
    if sizes != (known.bytes, known.bytes) {
        return None;
    }
    private::create_dir_all(to.parent()?).ok()?;
    fs::hard_link(&there, to).ok()?;
    Some(known.clone())
}

/// A file that is damaged now, from the backup before, where it is as it was written.
fn saved(list: &List, at: &Path, path: &Path, partial: &Path) -> Option<Listed> {
    let name = portable(path);
    let known = list.files.iter().find(|file| file.path == name)?;
    let (there, to) = (at.join(path), partial.join(path));
    check(&there, known).ok()?;
    private::create_dir_all(to.parent()?).ok()?;
    fs::hard_link(&there, &to).ok()?;
    Some(known.clone())
}

/// Copies what is not rows. The ledger is a log that grows: what was written when this began is whole but
/// for its last line, and when its other files are changed meanwhile it is copied again.
fn copy_rest(data: &Path, partial: &Path) -> anyhow::Result<Vec<Listed>> {
    for _ in 0..TRIES_MAX {
        let before = rest(data)?;
        let copied: anyhow::Result<Vec<_>> = before
            .iter()
            .map(|(path, bytes)| copied(path, &data.join(path), &partial.join(path), *bytes))
            .collect();
        let is_same = |after: &[(PathBuf, u64)]| {
            let grown = |(one, other): (&(PathBuf, u64), &(PathBuf, u64))| {
                one.0 == other.0 && (one.1 == other.1 || (is_log(&one.0) && one.1 < other.1))
            };
            after.len() == before.len() && before.iter().zip(after).all(grown)
        };
        match (copied, is_same(&rest(data)?)) {
            (Ok(copied), true) => return Ok(copied),
            (Err(error), true) => return Err(error),
            (_, false) => {}
        }
    }
    let message = format!("\"{}\" is being changed all the time", data.display());
    Err(Failure::new(Kind::Unavailable, message).with_hint("try again").into())
}

fn is_log(path: &Path) -> bool {
    path.ends_with("ledger/ledger.log")
}

/// The files that are copied as they are, and their sizes.
fn rest(data: &Path) -> std::io::Result<Vec<(PathBuf, u64)>> {
    let mut rest = Vec::new();
    for path in files(data)? {
        let first = path.components().next().and_then(|part| match part {
            Component::Normal(name) => name.to_str(),
            _ => None,
        });
        let is_out = first.is_some_and(|first| LEFT_OUT.contains(&first));
        let is_passing = PASSING.iter().any(|end| path.to_string_lossy().ends_with(end));
        if !is_out && !is_passing {
            let bytes = fs::metadata(data.join(&path))?.len();
            rest.push((path, bytes));
        }
    }
    Ok(rest)
}

fn copied(path: &Path, from: &Path, to: &Path, bytes_max: u64) -> anyhow::Result<Listed> {
    let (bytes, sha256) = copy(from, to, bytes_max).map_err(explain)?;
    Ok(Listed { path: portable(path), bytes, sha256 })
}

/// What to do when there is no room.
fn explain(error: anyhow::Error) -> anyhow::Error {
    let io = error.chain().find_map(|error| error.downcast_ref::<std::io::Error>());
    match io.map(std::io::Error::kind) {
        Some(std::io::ErrorKind::StorageFull) => {
            Failure::new(Kind::Unavailable, format!("{error:#}"))
                .with_hint("there is no room for the backup: free some, or name a folder elsewhere")
                .into()
        }
        _ => error,
    }
}

fn portable(path: &Path) -> String {
    let parts: Vec<_> = path.components().map(|part| part.as_os_str().to_string_lossy()).collect();
    parts.join("/")
}

/// Refuses what is not a data folder, and a folder of backups inside of one.
fn check_places(data: &Path, folder: &Path) -> anyhow::Result<()> {
    if !data.join("rows").is_dir() && !data.join("ledger").is_dir() {
        let message = format!("no node has kept anything in \"{}\"", data.display());
        let hint = "name its data folder with --data DIR";
        return Err(Failure::new(Kind::NotFound, message).with_hint(hint).into());
    }
    let data = data.canonicalize()?;
    // The folder itself may not be there yet.
    let folder = std::path::absolute(folder)?;
    let there = folder.ancestors().find(|path| path.exists()).map(Path::canonicalize);
    if there.transpose()?.is_some_and(|there| there.starts_with(&data)) {
        let message = format!("\"{}\" is in the data folder itself", folder.display());
        return Err(Failure::input(message).with_hint("name a folder elsewhere").into());
    }
    Ok(())
}

/// Refuses a folder with something else in it than backups.
fn check_folder(folder: &Path) -> anyhow::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let is_partial = path.to_string_lossy().ends_with(PARTIAL);
        if !is_partial
            && !path.join(LIST).is_file()
            && path.file_name() != Some("lost+found".as_ref())
        {
            let message = format!(
                "\"{}\" has something else in it than backups: \"{}\"",
                folder.display(),
                path.display()
            );
            return Err(Failure::input(message)
                .with_hint("name a new folder, or an empty one")
                .into());
        }
    }
    Ok(())
}

/// Lets one backup of a data folder be made at a time, and removes what an interrupted one left.
fn alone(staging: &Path) -> anyhow::Result<File> {
    let path = staging.join("backup.lock");
    let lock = private::options().create(true).truncate(false).write(true).open(&path)?;
    if let Err(TryLockError::WouldBlock) = lock.try_lock() {
        let message = "another backup of this data folder is running";
        return Err(Failure::new(Kind::Conflict, message).with_hint("try again later").into());
    }
    remove_below(staging);
    Ok(lock)
}

/// Removes the copies of rows. What cannot be removed is removed by the next backup.
fn remove_below(staging: &Path) {
    for entry in fs::read_dir(staging).into_iter().flatten().flatten() {
        if entry.path().is_dir() {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// A new folder for a backup, in place of those that were not finished.
fn begin(folder: &Path) -> anyhow::Result<PathBuf> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.to_string_lossy().ends_with(PARTIAL) {
            fs::remove_dir_all(&path)
                .with_context(|| format!("cannot remove \"{}\"", path.display()))?;
        }
    }
    let now = jiff::Timestamp::now().strftime("%Y-%m-%dT%H-%M-%SZ");
    let partial = folder.join(format!("{now}{PARTIAL}"));
    private::create_dir_all(&partial)?;
    Ok(partial)
}

impl Rows {
    /// Makes the copy of a node that does not run.
    pub(crate) fn of_stopped(data: &Path, staging: &Path) -> anyhow::Result<Self> {
        let folder = staging.join("rows-stopped");
        let storage::Backup { storage, sequence, damaged, .. } =
            storage::back_up_closed(&data.join("rows"), &folder)?;
        let damaged = damaged.into_iter().map(|damage| Damaged {
            file: damage.path.display().to_string(),
            reason: damage.reason,
        });
        Ok(Self { folder, storage, sequence, damaged: damaged.collect() })
    }
}
