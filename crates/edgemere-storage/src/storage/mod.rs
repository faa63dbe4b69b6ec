//! Where an operator's rows are kept. An appended row is durable before it is acknowledged, visible
//! to the next snapshot, and is flushed later to a Parquet file that any tool can read.
//!
//! One folder holds `fresh.redb`, a transactional key-value file with the catalog, the manifest of
//! Parquet files and the rows of the memtables, and `data/<dbms>/<table>/….parquet`.
//!
//! An append, from top to bottom:
//!
//! 1. [`Table::append`] checks the batch against the table's columns; `write/block` encodes it as an Arrow
//!    IPC stream, on the caller's thread.
//! 2. `write/budget` admits it when the memtables of all tables fit in memory, after a bounded wait.
//! 3. `write/commit`, one thread, takes all waiting appends, numbers the rows, and writes them in
//!    one transaction of `persist/store`: one fsync for all (group commit).
//! 4. `write/memtable` makes the rows visible. Then all of these appends are acknowledged.
//! 5. `maintenance/worker`, another thread, flushes memtables to `parquet_files`, in one
//!    transaction that adds the file to the manifest and removes the blocks, compacts small files, and
//!    drops what retention no longer keeps.
//! 6. `maintenance/scrub`, a third thread, compares all files with their checksums, slowly.
//!
//! Invariants, also after kill -9:
//!
//! - Memory changes only inside the store's lock, after the transaction that says the same.
//! - A Parquet file is synced and has its name before the manifest names it, and is deleted only
//!   after the manifest has ceased to name it and no snapshot holds it.
//! - So a row is either in one block or in one file. A file that no manifest names is a second copy
//!   of rows, which the next open removes, or it is unknown, and moved to `lost`.
//! - The footer of a file says what it is (`parquet_files/footer`), so that a manifest that is older than its files
//!   is noticed, and a lost one can be rebuilt (`repair`).
//! - Every byte is verified before it is an answer: values of the store have a checksum and together a
//!   digest (`persist/keyspace`), Parquet files have checksums in the manifest that every read compares. A file that
//!   is not as it was written is marked as damaged and left as it is; its rows are missing.
//! - A folder that is an older copy of itself is noticed by its epochs and by the witness of its last transaction.
//!
//! The module knows Arrow, Parquet and redb. It does not know SQL, nor what the rows mean.

mod backup;
mod error;
mod maintenance;
mod options;
mod parquet_files;
mod persist;
mod repair;
mod shared;
mod tables;
mod write;

#[cfg(test)]
mod faults;
#[cfg(test)]
mod torn;

mod handle;

pub use backup::{Backup, back_up_closed};
pub use error::Error;
pub use handle::Storage;
pub use maintenance::clock::{CLOCK_GRACE, CLOCK_JUMP_MAX, CLOCK_OFF_MAX, Clock, ManualClock};
pub use maintenance::retention::{DropSelector, Dropped, Retention};
pub use options::{
    APPEND_BYTES_MAX, APPEND_ROWS_MAX, COLUMNS_MAX, DATABASES_MAX, KEY_BYTES_MAX, NAME_LENGTH_MAX,
    Options, TABLES_MAX, VIEW_BYTES_MAX, VIEWS_MAX,
};
pub use parquet_files::data_file::DataFile;
pub use parquet_files::verified::Verified;
pub use parquet_files::verify::{DamagedFile, Verification};
pub use persist::epochs::{EPOCHS_MAX, Epoch, History, NotAnEpoch, Reached};
pub use persist::free_space::DiskProbe;
pub use persist::recovery::{Damage, Lost, Recovery};
pub use repair::{Repair, repair};
pub use tables::database::Database;
pub use tables::partition::Partition;
pub use tables::stats::{Stats, TableStats};
pub use tables::table::{Receipt, Table};
pub use tables::view::View;
pub use tables::widening::Widening;
pub use write::memtable::Snapshot;
