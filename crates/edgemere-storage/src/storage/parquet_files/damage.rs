//! Damaged files: what was found out about them goes to the manifest, so that it is known after the
//! next start too.

use std::sync::Arc;

use crate::storage::Error;
use crate::storage::Table;
use crate::storage::persist::keyspace::Keyspace;

/// Tells the manifest what it does not know yet of the files of a table.
pub(crate) fn record(table: &Arc<Table>) -> Result<(), Error> {
    let files = table.state().files.clone();
    let news: Vec<_> = files.into_iter().filter(|file| file.health.take_unrecorded()).collect();
    if news.is_empty() {
        return Ok(());
    }
    let recorded = table.shared().store.commit(|writes, _| {
        let state = table.state();
        // One that was dropped or merged meanwhile is not named again.
        let named = news.iter().filter(|file| state.files.iter().any(|own| Arc::ptr_eq(own, file)));
        for file in named {
            writes.put_json(Keyspace::Files, (table.id, file.number), &file.record())?;
        }
        Ok(((), Box::new(|| {})))
    });
    if recorded.is_err() {
        news.iter().for_each(|file| file.health.set_unrecorded());
    }
    recorded
}
