//! Settling: the rows of the memtable of a table become a Parquet file.

use std::sync::Arc;
use std::time::Duration;

use crate::storage::DataFile;
use crate::storage::Error;
use crate::storage::Table;
use crate::storage::persist::keyspace::Keyspace;
use crate::storage::shared::{Shared, now};
use crate::storage::write::memtable::TableState;

/// Whether a table has so many rows in its memtable that it should be flushed, or memory is short.
pub(crate) fn is_full(state: &TableState, shared: &Shared) -> bool {
    let stats = state.stats();
    stats.memtable_rows >= shared.options.flush_rows
        || stats.memtable_bytes >= shared.options.flush_bytes
        || shared.budget.is_pressed()
}

/// Whether the oldest fresh row of a table has waited for long enough.
pub(crate) fn is_old(state: &TableState, age: Duration) -> bool {
    let age = i64::try_from(age.as_micros()).unwrap_or(i64::MAX);
    state.oldest().is_some_and(|oldest| now().saturating_sub(oldest) >= age)
}

/// Settles all rows that a table has when this begins, and returns how many.
pub(crate) fn flush(table: &Arc<Table>) -> Result<u64, Error> {
    let _upkeep = table.upkeep();
    // A transaction that adds columns relies on the chunks as it found them.
    table.shared().store.alone(|| table.state_mut().seal());
    let mut rows = 0;
    while let Some(flushed) = settle_some(table)? {
        rows += flushed;
    }
    Ok(rows)
}

/// Makes a file of the first sealed rows, up to about what one should have.
fn settle_some(table: &Arc<Table>) -> Result<Option<u64>, Error> {
    let shared = table.shared();
    let (chunks, schema, arrow) = {
        let state = table.state();
        let chunks = state.sealed(shared.options.flush_bytes);
        (chunks, Arc::clone(&state.schema), Arc::clone(&state.arrow))
    };
    let (Some(first), Some(last)) = (chunks.first(), chunks.last()) else { return Ok(None) };
    let blocks = first.blocks.0..=last.blocks.1;
    let (count, bytes) = (chunks.len(), chunks.iter().map(|chunk| chunk.bytes).sum());
    let batches = chunks.into_iter().map(|chunk| chunk.batch).collect();
    shared.disk.check_flush(bytes)?;
    let number = shared.store.next_file();
    let (at, origin) = (table.folder(), table.origin(&[]));
    let file = DataFile::write(&shared.folder, &at, number, &schema, &arrow, batches, &origin)?;
    let (rows, file) = (file.rows, Arc::new(file));
    shared.store.commit(|writes, _| {
        if table.state().dropped {
            return Err(table.not_found());
        }
        writes.put_json(Keyspace::Files, (table.id, number), &file.record())?;
        writes.remove(Keyspace::Blocks, blocks.map(|block| (table.id, block)))?;
        let table = Arc::clone(table);
        let apply = move || {
            file.adopt();
            table.state_mut().flush(count, file);
            table.shared().budget.give(bytes);
        };
        Ok(((), Box::new(apply)))
    })?;
    Ok(Some(rows))
}
