//! What the storage does by itself: `flush` writes memtables to Parquet files, `compact` merges small files, `retention`
//! drops old rows, `scrub` compares files with their checksums. `worker` is the thread that does the first three, and
//! `clock` keeps a wrong clock from dropping rows.

pub(crate) mod clock;
pub(crate) mod compact;
pub(crate) mod flush;
pub(crate) mod retention;
pub(crate) mod scrub;
pub(crate) mod worker;
