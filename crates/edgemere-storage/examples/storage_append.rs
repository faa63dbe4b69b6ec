//! How fast rows are appended, flushed and opened: `cargo run --release --example append [FOLDER]`.

#![allow(clippy::unwrap_used, reason = "a measurement that cannot go on should stop")]
#![allow(clippy::print_stdout, reason = "it prints what it measured")]
#![allow(clippy::indexing_slicing, reason = "a measurement that cannot go on should stop")]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow::array::{
    ArrayRef, Float64Array, Int64Array, RecordBatch, StringViewArray, TimestampMicrosecondArray,
};
use edgemere_storage::schema::{Column, Kind, Schema};
use edgemere_storage::storage::{Options, Storage, Table};

const ROWS: i64 = 1000;

fn schema() -> Schema {
    let column = |name: &str, kind| Column::new(name, kind);
    let columns = vec![
        column("at", Kind::Timestamp),
        column("device", Kind::Varchar),
        column("value", Kind::Decimal),
        column("status", Kind::Int),
    ];
    Schema { columns }
}

fn batch(first: i64, rows: i64) -> RecordBatch {
    let numbers = || first..first + rows;
    RecordBatch::try_from_iter([
        (
            "at",
            Arc::new(TimestampMicrosecondArray::from_iter_values(numbers().map(|n| n * 1000)))
                as ArrayRef,
        ),
        (
            "device",
            Arc::new(StringViewArray::from_iter_values(
                numbers().map(|n| format!("device-{:04}-of-site", n % 1000)),
            )),
        ),
        ("value", Arc::new(Float64Array::from_iter_values(numbers().map(|n| (n as f64).sin())))),
        ("status", Arc::new(Int64Array::from_iter_values(numbers().map(|n| n % 7)))),
    ])
    .unwrap()
}

async fn write(table: Arc<Table>, appends: i64) -> Vec<Duration> {
    let mut times = Vec::new();
    let batches: Vec<_> = (0..16).map(|n| batch(n * ROWS, ROWS)).collect();
    for n in 0..appends {
        let batch = batches[n as usize % batches.len()].clone();
        let started = Instant::now();
        table.append(batch).await.unwrap();
        times.push(started.elapsed());
    }
    times
}

async fn appends(folder: &Path, writers: i64, background: bool) {
    let options = Options { background, ..Options::default() };
    let (storage, _) = Storage::open(folder, options).unwrap();
    let appends = 4000 / writers;
    let name = format!("t{writers}{background}");
    let table = storage.create_table("bench", &name, schema()).await.unwrap();
    let started = Instant::now();
    let tasks: Vec<_> =
        (0..writers).map(|_| tokio::spawn(write(Arc::clone(&table), appends))).collect();
    let mut times = Vec::new();
    for task in tasks {
        times.extend(task.await.unwrap());
    }
    let seconds = started.elapsed().as_secs_f64();
    times.sort();
    let rate = (writers * appends * ROWS) as f64 / seconds;
    println!(
        "{writers} writers, settling {background}: {:.2}M rows/s, p50 {:?}, p99 {:?}, max {:?}",
        rate / 1e6,
        times[times.len() / 2],
        times[times.len() * 99 / 100],
        times[times.len() - 1],
    );
    let started = Instant::now();
    let flushed = storage.flush(&table).await.unwrap();
    let seconds = started.elapsed().as_secs_f64();
    let stats = table.stats();
    println!(
        "  settled {flushed} rows in {seconds:.2} s: {:.2}M rows/s; {} files, {:.1} MB, {:.1} MB store",
        flushed as f64 / seconds / 1e6,
        stats.files,
        stats.file_bytes as f64 / 1e6,
        storage.stats().store_bytes as f64 / 1e6,
    );
    let started = Instant::now();
    let merged = storage.compact(&table).await.unwrap();
    println!("  merged {merged} files into {} in {:?}", table.stats().files, started.elapsed());
    storage.close().await.unwrap();
}

async fn small_appends(folder: &Path) {
    let (storage, _) = Storage::open(folder, Options::default()).unwrap();
    let table = storage.create_table("bench", "small", schema()).await.unwrap();
    let started = Instant::now();
    let tasks: Vec<_> = (0..64)
        .map(|_| {
            let table = Arc::clone(&table);
            tokio::spawn(async move {
                for n in 0..200 {
                    table.append(batch(n, 1)).await.unwrap();
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    let rate = 12_800.0 / started.elapsed().as_secs_f64();
    let snapshot = table.snapshot();
    println!("64 writers of single rows: {rate:.0} rows/s, {} chunks", snapshot.memtable.len());
    storage.close().await.unwrap();
}

async fn opening(folder: &Path) {
    let options = Options { background: false, ..Options::default() };
    let (storage, _) = Storage::open(folder, options.clone()).unwrap();
    for n in 0..1000 {
        let table = storage.create_table("many", &format!("t{n}"), schema()).await.unwrap();
        table.append(batch(0, 10)).await.unwrap();
        storage.flush(&table).await.unwrap();
        table.append(batch(0, 100)).await.unwrap();
    }
    storage.close().await.unwrap();
    drop(storage);
    let started = Instant::now();
    let (storage, recovery) = Storage::open(folder, options).unwrap();
    println!(
        "open with {} tables, {} files, {} fresh rows: {:?}",
        recovery.tables,
        recovery.files,
        recovery.memtable_rows,
        started.elapsed()
    );
    drop(storage);
}

#[tokio::main]
async fn main() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = std::env::args().nth(1).map_or(scratch.path().to_owned(), PathBuf::from);
    for (writers, background) in [(1, false), (8, false), (1, true), (8, true)] {
        appends(&folder.join(format!("a{writers}{background}")), writers, background).await;
    }
    small_appends(&folder.join("small")).await;
    opening(&folder.join("many")).await;
}
