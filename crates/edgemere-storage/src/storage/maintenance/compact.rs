//! Compaction: small files of a table, one after the other, become one.

use std::ops::Range;
use std::sync::Arc;

use crate::storage::DataFile;
use crate::storage::Error;
use crate::storage::Table;
use crate::storage::persist::keyspace::Keyspace;

/// Which files are merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Eagerness {
    /// So many at least, none of them larger than all that come after it: a row is then written
    /// again a few times at most, however small the pieces in which it came.
    Lazy(usize),
    /// Whenever two fit into one.
    Eager,
}

/// Merges small files until there are none to merge, and returns how many were. One that is damaged
/// stays as it is, and the files before and after it are merged without it.
pub(crate) fn compact(table: &Arc<Table>, eagerness: Eagerness) -> Result<usize, Error> {
    let _upkeep = table.upkeep();
    let bytes_max = table.shared().options.compact_bytes;
    let mut merged = 0;
    loop {
        let files = table.state().files.clone();
        let size = |file: &Arc<DataFile>| match file.damage() {
            None => file.memory_bytes,
            // Too large for everything.
            Some(_) => u64::MAX,
        };
        let sizes: Vec<_> = files.iter().map(size).collect();
        let range = choose(&sizes, bytes_max, eagerness);
        let Some(chosen) = range.and_then(|range| files.get(range)) else { return Ok(merged) };
        let bytes = chosen.iter().map(|file| file.bytes).sum();
        if let Err(error) = table.shared().disk.check_compact(bytes) {
            tracing::debug!(%error, "files are not merged");
            return Ok(merged);
        }
        match merge(table, chosen) {
            Ok(()) => merged += chosen.len(),
            // It was found now, and is left out from now on.
            Err(Error::Damaged { .. }) if chosen.iter().any(|file| file.damage().is_some()) => {}
            Err(error) => return Err(error),
        }
    }
}

/// The files to merge, by the sizes of all in order.
fn choose(sizes: &[u64], bytes_max: u64, eagerness: Eagerness) -> Option<Range<usize>> {
    let least = match eagerness {
        Eagerness::Lazy(files) => files.max(2),
        Eagerness::Eager => 2,
    };
    (0..sizes.len()).find_map(|start| {
        let run = run(sizes.get(start..)?, bytes_max);
        let (first, after) = sizes.get(start..start + run)?.split_first()?;
        let fits = eagerness == Eagerness::Eager || *first <= after.iter().sum();
        (run >= least && fits).then_some(start..start + run)
    })
}

/// How many files from the first on fit together. One that is half as large as allowed, or larger,
/// is large enough.
fn run(sizes: &[u64], bytes_max: u64) -> usize {
    let mut bytes: u64 = 0;
    let fits = |size: &&u64| {
        bytes = bytes.saturating_add(**size);
        **size <= bytes_max / 2 && bytes <= bytes_max
    };
    sizes.iter().take_while(fits).count()
}

fn merge(table: &Arc<Table>, old: &[Arc<DataFile>]) -> Result<(), Error> {
    let shared = table.shared();
    let (schema, arrow) = {
        let state = table.state();
        (Arc::clone(&state.schema), Arc::clone(&state.arrow))
    };
    let origin = table.origin(old);
    let mut batches = Vec::new();
    for file in old {
        batches.append(&mut file.read(&arrow)?);
    }
    let number = shared.store.next_file();
    let at = table.folder();
    let file = DataFile::write(&shared.folder, &at, number, &schema, &arrow, batches, &origin)?;
    let file = Arc::new(file);
    shared.store.commit(|writes, _| {
        if table.state().dropped {
            return Err(table.not_found());
        }
        writes.put_json(Keyspace::Files, (table.id, number), &file.record())?;
        writes.remove(Keyspace::Files, old.iter().map(|file| (table.id, file.number)))?;
        let (table, old) = (Arc::clone(table), old.to_vec());
        let apply = move || {
            file.adopt();
            table.state_mut().replace(&old, Some(file));
            old.iter().for_each(|file| file.disown());
        };
        Ok(((), Box::new(apply)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_neighbours_are_chosen() {
        let lazy = |sizes: &[u64]| choose(sizes, 100, Eagerness::Lazy(4));
        let eager = |sizes: &[u64]| choose(sizes, 100, Eagerness::Eager);
        assert_eq!(lazy(&[1, 1, 1]), None);
        assert_eq!(eager(&[1, 1, 1]), Some(0..3));
        assert_eq!(lazy(&[1, 1, 1, 1]), Some(0..4));
        // A large one is left alone, and so is what is much larger than its successors.
        assert_eq!(lazy(&[60, 1, 1, 1, 1]), Some(1..5));
        assert_eq!(lazy(&[40, 1, 1, 1, 1]), Some(1..5));
        assert_eq!(lazy(&[4, 1, 1, 1, 1]), Some(0..5));
        assert_eq!(eager(&[40, 40, 40]), Some(0..2));
        assert_eq!(eager(&[60, 1, 60, 1]), None);
        assert_eq!(eager(&[1]), None);
        assert_eq!(eager(&[]), None);
    }

    #[test]
    fn a_row_is_not_written_again_and_again() {
        let (mut files, mut written) = (Vec::new(), 0);
        for _ in 0..4096 {
            files.extend([1]);
            while let Some(range) = choose(&files, 1_000_000, Eagerness::Lazy(8)) {
                let size: u64 = files[range.clone()].iter().sum();
                files.splice(range, [size]);
                written += size;
            }
        }
        assert!(written < 4096 * 10, "{written}");
        assert!(files.len() < 100, "{}", files.len());
    }
}
