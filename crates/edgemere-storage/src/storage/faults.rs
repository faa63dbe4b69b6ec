//! Tests of a disk that fails under the key-value store: what the writer gets, and what the storage
//! holds afterwards.

use std::fs::OpenOptions;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use arrow::array::{ArrayRef, AsArray, Int64Array, RecordBatch};
use arrow::datatypes::Int64Type;
use redb::backends::FileBackend;
use redb::{Database, StorageBackend};

use crate::schema::{Column, Kind, Schema};
use crate::storage::Error;
use crate::storage::Options;
use crate::storage::Receipt;
use crate::storage::Storage;
use crate::storage::Table;
use crate::storage::persist::store::Opener;

/// When the disk fails.
#[derive(Debug)]
struct Switches {
    /// How many writes it takes before it is full.
    writes_left: AtomicI64,
    sync_fails: AtomicBool,
    open_fails: AtomicBool,
}

#[derive(Debug)]
struct Fault {
    file: FileBackend,
    switches: Arc<Switches>,
}

impl StorageBackend for Fault {
    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.file.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.file.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        match self.switches.sync_fails.swap(false, Ordering::SeqCst) {
            true => Err(io::Error::other("sync")),
            false => self.file.sync_data(),
        }
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        match self.switches.writes_left.fetch_sub(1, Ordering::SeqCst) > 0 {
            true => self.file.write(offset, data),
            false => Err(io::ErrorKind::StorageFull.into()),
        }
    }
}

fn open(folder: &Path) -> (Storage, Arc<Switches>) {
    let switches = Arc::new(Switches {
        writes_left: AtomicI64::new(i64::MAX),
        sync_fails: AtomicBool::new(false),
        open_fails: AtomicBool::new(false),
    });
    let shared = Arc::clone(&switches);
    let opener: Opener = Box::new(move |path| {
        if shared.open_fails.load(Ordering::SeqCst) {
            return Err(io::Error::other("open").into());
        }
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create(true).truncate(false).open(path)?;
        let fault = Fault { file: FileBackend::new(file)?, switches: Arc::clone(&shared) };
        Database::builder().create_with_backend(fault)
    });
    let options = Options { background: false, ..Options::default() };
    (Storage::open_with(folder, options, opener).unwrap().0, switches)
}

pub(super) async fn create(storage: &Storage) -> Arc<Table> {
    let columns = vec![Column::new("n", Kind::Int)];
    storage.create_table("d", "t", Schema { columns }).await.unwrap()
}

async fn append(table: &Arc<Table>, n: i64) -> Result<Receipt, Error> {
    let values: ArrayRef = Arc::new(Int64Array::from(vec![n]));
    table.append(RecordBatch::try_from_iter([("n", values)]).unwrap()).await
}

/// The values and row ids of all rows.
fn rows(table: &Table) -> Vec<(i64, i64)> {
    let snapshot = table.snapshot();
    let mut batches = snapshot.memtable.clone();
    for file in &snapshot.files {
        batches.extend(file.read(&snapshot.arrow).unwrap());
    }
    let ints =
        |batch: &RecordBatch, at: usize| batch.column(at).as_primitive::<Int64Type>().clone();
    let pairs = |batch: &RecordBatch| {
        let (values, ids) = (ints(batch, 4), ints(batch, 0));
        values.values().iter().copied().zip(ids.values().iter().copied()).collect::<Vec<_>>()
    };
    let mut rows: Vec<_> = batches.iter().flat_map(pairs).collect();
    rows.sort_by_key(|(_, id)| *id);
    rows
}

pub(super) fn values(table: &Table) -> Vec<i64> {
    rows(table).into_iter().map(|(value, _)| value).collect()
}

#[tokio::test]
async fn a_full_disk_changes_nothing_and_is_survived() {
    let scratch = tempfile::tempdir().unwrap();
    let (storage, switches) = open(scratch.path());
    let table = create(&storage).await;
    let mut expected = vec![];
    for room in 0..40 {
        switches.writes_left.store(room, Ordering::SeqCst);
        let answer = append(&table, room).await;
        switches.writes_left.store(i64::MAX, Ordering::SeqCst);
        match answer {
            Ok(_) => expected.push(room),
            Err(error) => {
                assert!(error.hint().unwrap().contains("free some disk space"), "{error}");
            }
        }
        assert_eq!(values(&table), expected, "with room for {room} writes");
        append(&table, 1000 + room).await.unwrap();
        expected.push(1000 + room);
        if room % 7 == 0 {
            switches.writes_left.store(room / 7, Ordering::SeqCst);
            let _ = storage.flush(&table).await;
            switches.writes_left.store(i64::MAX, Ordering::SeqCst);
        }
    }
    assert!(expected.len() > 40, "no append ever fitted");
    storage.flush(&table).await.unwrap();
    assert_eq!(values(&table), expected);
    drop((storage, table));
    let (storage, _) = open(scratch.path());
    let table = storage.table("d", "t").unwrap();
    assert_eq!(values(&table), expected);
    assert!(rows(&table).into_iter().map(|(_, id)| id).eq(1..=expected.len() as i64));
}

#[tokio::test]
async fn after_a_failed_sync_memory_is_what_the_disk_is() {
    let scratch = tempfile::tempdir().unwrap();
    let (storage, switches) = open(scratch.path());
    let table = create(&storage).await;
    for stays_shut in [false, true] {
        append(&table, 1).await.unwrap();
        switches.open_fails.store(stays_shut, Ordering::SeqCst);
        switches.sync_fails.store(true, Ordering::SeqCst);
        assert!(matches!(append(&table, 2).await, Err(Error::Io { .. })));
        switches.sync_fails.store(true, Ordering::SeqCst);
        let flushed = storage.flush(&table).await;
        assert!(matches!(flushed, Err(Error::Io { .. })), "{stays_shut} {flushed:?}");
        switches.sync_fails.store(false, Ordering::SeqCst);
        // Reads go on.
        assert_eq!(values(&table).first(), Some(&1));
        switches.open_fails.store(false, Ordering::SeqCst);
        append(&table, 3).await.unwrap();
        storage.flush(&table).await.unwrap();
        storage.compact(&table).await.unwrap();
    }
    let held = rows(&table);
    assert!(held.iter().map(|(_, id)| *id).eq(1..=held.len() as i64), "{held:?}");
    assert_eq!(held.iter().filter(|(value, _)| *value == 3).count(), 2);
    drop((storage, table));
    let (storage, _) = open(scratch.path());
    assert_eq!(rows(&storage.table("d", "t").unwrap()), held);
}

/// Who gets an error of the disk does not know whether the rows are stored. With a key it sends them
/// again until it hears of them, and they are stored once.
#[tokio::test]
async fn appends_with_keys_are_stored_once_over_all_failures() {
    let scratch = tempfile::tempdir().unwrap();
    let (storage, switches) = open(scratch.path());
    let table = create(&storage).await;
    let once = async |n: i64| {
        let values: ArrayRef = Arc::new(Int64Array::from(vec![n]));
        let batch = RecordBatch::try_from_iter([("n", values)]).unwrap();
        table.append_idempotent(&n.to_string(), 0, batch).await
    };
    let mut failures = 0;
    for n in 0..60 {
        match n % 2 {
            0 => switches.writes_left.store(n / 2, Ordering::SeqCst),
            _ => switches.sync_fails.store(true, Ordering::SeqCst),
        }
        failures += usize::from(once(n).await.is_err());
        switches.writes_left.store(i64::MAX, Ordering::SeqCst);
        switches.sync_fails.store(false, Ordering::SeqCst);
        assert_eq!(once(n).await.unwrap().rows, 1);
        assert!(once(n).await.unwrap().repeated, "{n}");
    }
    assert!(failures > 30, "{failures}");
    assert!(values(&table).into_iter().eq(0..60), "{:?}", values(&table));
}
