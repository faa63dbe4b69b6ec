//! Parquet files that the manifest does not name, as they are found at the start.
//!
//! A crash leaves three kinds: files that are not finished, files that the manifest was about to name,
//! and files that it has just ceased to name. The rows of the last two are in the manifest's own blocks
//! and files, unless they were dropped. All else is not known: nothing that is not known is deleted.
//!
//! A file that was written after the manifest's last transaction proves that the manifest is an old one,
//! brought back without its files or copied while rows were written. Opened, it would show rows that are
//! not the last, so it is not opened.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::PathBuf;

use crate::storage::DataFile;
use crate::storage::Error;
use crate::storage::parquet_files::footer::{Footer, is_gapless};
use crate::storage::persist::folder::{Folder, is_unfinished};
use crate::storage::persist::record::{StoreHeader, TableRecord};
use crate::storage::persist::recovery::{Loaded, Lost, Recovery, damage};

/// The files that the manifest does not name.
pub(crate) struct Strays<'a> {
    manifest: PathBuf,
    tables: BTreeMap<u64, &'a Loaded>,
    unfinished: Vec<PathBuf>,
    whole: Vec<Stray>,
}

struct Stray {
    path: PathBuf,
    /// What it says of itself, or why that is not known.
    footer: Result<Footer, String>,
}

impl<'a> Strays<'a> {
    /// Finds them, and changes nothing.
    pub(crate) fn find(folder: &Folder, tables: &'a [Loaded]) -> Result<Self, Error> {
        let named: HashSet<_> = tables
            .iter()
            .flat_map(|table| &table.state.files)
            .map(|file| file.path.as_path())
            .collect();
        let strays = folder.parquet_files()?.into_iter();
        let strays = strays.filter(|path| !named.contains(path.as_path()));
        let (unfinished, whole): (Vec<_>, Vec<_>) = strays.partition(|path| is_unfinished(path));
        let stray = |path: PathBuf| {
            let footer = match Footer::read(&path) {
                Ok(Some(footer)) => Ok(footer),
                Ok(None) => Err("it does not say which storage wrote it".to_owned()),
                Err(error) => Err(error.to_string()),
            };
            Stray { path, footer }
        };
        Ok(Self {
            manifest: folder.store(),
            tables: tables.iter().map(|table| (table.id, table)).collect(),
            unfinished,
            whole: whole.into_iter().map(stray).collect(),
        })
    }

    /// Refuses a manifest that is older than a file.
    pub(crate) fn check_age(&self, marks: StoreHeader) -> Result<(), Error> {
        let last = marks.sequence;
        let own =
            |stray: &'_ Stray| stray.footer.as_ref().ok().filter(|it| is_own(it, marks)).cloned();
        let own: Vec<_> =
            self.whole.iter().filter_map(|stray| Some((stray, own(stray)?))).collect();
        let newer = || own.iter().filter(|(_, footer)| footer.sequence > last);
        if let Some((stray, footer)) = newer().max_by_key(|(_, footer)| footer.sequence) {
            let (path, count) = (stray.path.display(), newer().count());
            let reason = format!(
                "its last transaction is {last}, and \"{path}\" was written after transaction {}; \
                 such files: {count}",
                footer.sequence
            );
            return Err(Error::Older { path: self.manifest.clone(), reason });
        }
        let replaced = own.iter().find_map(|(stray, footer)| Some((stray, self.missing(footer)?)));
        let Some((stray, missing)) = replaced else { return Ok(()) };
        let (path, missing) = (stray.path.display(), missing.path.display());
        let reason = format!(
            "\"{path}\" has replaced \"{missing}\", which the manifest still names and which is gone"
        );
        Err(Error::Older { path: self.manifest.clone(), reason })
    }

    /// A file that was replaced and is gone, while the manifest names it.
    fn missing(&self, footer: &Footer) -> Option<&DataFile> {
        let files = &self.tables.get(&footer.table_id)?.state.files;
        let replaced = files.iter().filter(|file| footer.replaces.contains(&file.number));
        replaced.map(AsRef::as_ref).find(|file| !file.path.exists())
    }

    /// Removes what is unfinished or a second copy, and moves the rest away.
    pub(crate) fn put_away(
        self,
        folder: &Folder,
        marks: StoreHeader,
        recovery: &mut Recovery,
    ) -> Result<(), Error> {
        let (copies, unknown): (Vec<_>, Vec<_>) =
            self.whole.iter().partition(|stray| self.is_copy(stray, marks));
        for path in self.unfinished.iter().chain(copies.iter().map(|stray| &stray.path)) {
            fs::remove_file(path).map_err(|error| Error::io("remove", path, error))?;
            recovery.removed.push(path.clone());
        }
        for Stray { path, footer } in unknown {
            let reason = match footer {
                Ok(footer) if !is_own(footer, marks) => "another storage wrote it".to_owned(),
                Ok(footer) => format!(
                    "it has {} rows of \"{}.{}\", which were dropped or are nowhere else",
                    footer.rows, footer.table.dbms, footer.table.name
                ),
                Err(reason) => reason.clone(),
            };
            let to = folder.lose(path)?;
            let (file, now_at) = (path.display(), to.display());
            tracing::warn!(%file, %now_at, reason, "a file that the manifest does not name was moved away");
            recovery.lost.push(Lost { from: path.clone(), to, reason });
        }
        Ok(())
    }

    /// Whether every row of a file is provably in the manifest's own files and blocks, too. Row ids are
    /// given once, and this manifest is not older than the file: equal ids are the same rows.
    fn is_copy(&self, stray: &Stray, marks: StoreHeader) -> bool {
        let Ok(footer) = &stray.footer else { return false };
        let Some(table) = self.tables.get(&footer.table_id) else { return false };
        let names = |record: &TableRecord| (record.dbms.clone(), record.name.clone());
        let is_of_table = names(&footer.table) == names(&table.record);
        is_own(footer, marks)
            && is_of_table
            && footer.is_gapless()
            && covers(&held(table), footer.row_ids)
    }
}

/// Whether the storage wrote a file itself. One of an earlier version does not know what it is called.
fn is_own(footer: &Footer, marks: StoreHeader) -> bool {
    marks.storage.is_none_or(|storage| storage == footer.storage)
}

/// The row ids that a table holds, from … to, in order.
fn held(table: &Loaded) -> Vec<(u64, u64)> {
    let files = table.state.files.iter();
    let whole = files.filter(|file| is_gapless(file.row_ids, file.rows) && damage(file).is_none());
    let mut held: Vec<_> = whole.map(|file| file.row_ids).collect();
    let (fresh, next) = (table.state.stats().memtable_rows, table.state.counters.next_row);
    if fresh > 0 {
        held.push((next.saturating_sub(fresh), next.saturating_sub(1)));
    }
    held.sort_unstable();
    held
}

/// Whether ranges in order have every number between two.
fn covers(ranges: &[(u64, u64)], (first, last): (u64, u64)) -> bool {
    let mut next = first;
    for (from, to) in ranges {
        if *from <= next && next <= *to {
            next = to.saturating_add(1);
        }
    }
    next > last
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_cover_what_they_have_without_a_gap() {
        let ranges = [(1, 10), (11, 20), (31, 40)];
        for (range, is_covered) in [
            ((1, 20), true),
            ((5, 11), true),
            ((40, 40), true),
            ((20, 31), false),
            ((21, 22), false),
            ((1, 41), false),
        ] {
            assert_eq!(covers(&ranges, range), is_covered, "{range:?}");
        }
        assert!(!covers(&[], (1, 1)));
    }
}
