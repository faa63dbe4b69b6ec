//! Where an operator's rows are kept. An appended row is durable before it is acknowledged, visible
//! to the next snapshot, and settles later into a Parquet file that any tool can read.
//!
//! One folder holds `fresh.redb`, a transactional key-value file with the catalog, the manifest of
//! Parquet files and the rows that have not settled, and `data/<dbms>/<table>/….parquet`.
//!
//! An append, from top to bottom:
//!
//! 1. [`Table::append`] checks the batch against the table's columns; `block` encodes it as an Arrow
//!    IPC stream, on the caller's thread.
//! 2. `budget` lets it in when the fresh rows of all tables fit in memory, after a bounded wait.
//! 3. `commit`, one thread, takes everything that waits, numbers the rows, and writes all of it in
//!    one transaction of `store`: one fsync for all.
//! 4. `state` makes the rows visible, in memory. Then all of them are acknowledged.
//! 5. `keeper`, another thread, has `settle` move them to a `file` when there are enough, in one
//!    transaction that adds the file and removes the blocks, has `compact` merge small files, and
//!    has `retain` drop what is not to be kept.
//! 6. `scrub`, a third thread, has `verify` compare all files with their checksums, slowly.
//!
//! What holds at every moment, also after kill -9:
//!
//! - Memory is changed only inside `store`'s lock, after the transaction that says the same.
//! - A Parquet file is synced and has its name before the manifest names it, and is deleted only
//!   after the manifest has ceased to name it and no snapshot holds it.
//! - So a row is either in one block or in one file. A file that no manifest names is a second copy
//!   of rows, which the next open removes, or it is not known what it is, and moved to `lost`.
//! - A file says in its footer what it is (`footer`), so that a manifest that is older than its files
//!   is noticed, and a lost one can be rebuilt.
//!
//! What is on disk is not believed: a value of the key-value store has a seal (`writes`), the values
//! together have a digest (`writes`), and a Parquet file has checksums in the manifest (`checksum`),
//! which every read compares (`verified`). A file that is not as it was written is marked (`health`)
//! and left as it is; its rows are missing.
//!
//! Nor is it believed that the folder is the one that was here before: it has epochs (`epochs`), and a
//! witness of its last transaction (`witness`).
//!
//! The module knows Arrow, Parquet and redb. It does not know SQL, nor what the rows mean.

mod alter;
mod backup;
mod block;
mod budget;
mod catalog;
mod checksum;
mod clock;
mod commit;
mod compact;
mod damage;
mod database;
mod disk;
mod epochs;
mod error;
mod file;
mod folder;
mod footer;
mod health;
mod keeper;
mod name;
mod once;
mod options;
mod partition;
mod record;
mod recovery;
mod repair;
mod retain;
mod scrub;
mod settle;
mod shared;
mod sort;
mod state;
mod stats;
mod store;
mod strays;
mod table;
mod verified;
mod verify;
mod view;
mod wider;
mod witness;
mod writes;

#[cfg(test)]
mod faults;
#[cfg(test)]
mod torn;

mod handle;

pub use backup::{Backup, back_up_closed};
pub use clock::{CLOCK_GRACE, CLOCK_JUMP_MAX, CLOCK_OFF_MAX, Clock, ManualClock};
pub use database::Database;
pub use disk::DiskProbe;
pub use epochs::{EPOCHS_MAX, Epoch, History, NotAnEpoch, Reached};
pub use error::Error;
pub use file::DataFile;
pub use handle::Storage;
pub use options::{
    APPEND_BYTES_MAX, APPEND_ROWS_MAX, COLUMNS_MAX, DATABASES_MAX, KEY_BYTES_MAX, NAME_LENGTH_MAX,
    Options, TABLES_MAX, VIEW_BYTES_MAX, VIEWS_MAX,
};
pub use partition::Partition;
pub use recovery::{Damage, Lost, Recovery};
pub use repair::{Repair, repair};
pub use retain::{Dropped, Retention, Unwanted};
pub use state::Snapshot;
pub use stats::{Stats, TableStats};
pub use table::{Receipt, Table};
pub(crate) use verified::Verified;
pub use verify::{DamagedFile, Verification};
pub use view::View;
pub use wider::Widening;
