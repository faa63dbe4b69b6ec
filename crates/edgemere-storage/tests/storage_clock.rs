//! Retention under a clock that is wrong: a jump forward drops nothing.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod scratch;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use arrow::array::{ArrayRef, RecordBatch, TimestampMicrosecondArray};
use edgemere_storage::schema::{Kind, Schema};
use edgemere_storage::storage::{Clock, ManualClock, Options, Retention, Storage, Table};
use scratch::{column, manual, open};

const DAY: i64 = 86_400_000_000;
const TODAY: i64 = 20_000 * DAY;

fn open_at(folder: &Path, wall: i64) -> (Storage, Arc<ManualClock>) {
    let clock = ManualClock::new(wall);
    let options = Options { clock: Clock::Manual(Arc::clone(&clock)), ..manual() };
    (open(folder, options), clock)
}

/// A row of a day, in a file of its own.
async fn row_of(storage: &Storage, table: &Arc<Table>, day: i64) {
    let at: ArrayRef = Arc::new(TimestampMicrosecondArray::from(vec![TODAY + day * DAY]));
    table.append(RecordBatch::try_from_iter([("at", at)]).unwrap()).await.unwrap();
    storage.flush(table).await.unwrap();
}

async fn table_of(storage: &Storage, days: &[i64]) -> Arc<Table> {
    let columns = vec![column("at", Kind::Timestamp)];
    let table = storage.create_table("d", "t", Schema { columns }).await.unwrap();
    for day in days {
        row_of(storage, &table, *day).await;
    }
    table
}

fn days(days: u64) -> Retention {
    Retention { max_age: Some(Duration::from_secs(days * 86_400)), max_bytes: None }
}

#[tokio::test]
async fn a_jump_forward_drops_nothing_until_an_admin_confirms_the_clock() {
    let folder = tempfile::tempdir().unwrap();
    let (storage, clock) = open_at(folder.path(), TODAY);
    let table = table_of(&storage, &[-40, -20, -10, -1]).await;
    assert_eq!(storage.set_retention("d", Some("t"), days(30)).await.unwrap().files, 1);
    clock.jump(60 * DAY);
    // Rows that come now have the wrong time, too.
    row_of(&storage, &table, 60).await;
    for _ in 0..3 {
        assert_eq!(storage.retain(&table, days(30)).await.unwrap().files, 0);
        assert_eq!(storage.set_retention("d", Some("t"), days(30)).await.unwrap().files, 0);
        let held = storage.retention_held(&table).unwrap();
        assert!(held.contains("jumped ahead by 60 days"), "{held}");
        clock.pass(Duration::from_secs(86_400));
    }
    clock.jump(-60 * DAY);
    assert_eq!(storage.retain(&table, days(30)).await.unwrap().files, 0);
    assert_eq!((storage.retention_held(&table), table.stats().rows), (None, 4));
    clock.jump(60 * DAY);
    assert_eq!(storage.retain(&table, days(30)).await.unwrap().files, 0);
    storage.confirm_clock().await.unwrap();
    // Half of the rows at most go at once, unless they are asked to.
    assert_eq!(storage.retain(&table, days(30)).await.unwrap().rows, 2);
    assert!(storage.retention_held(&table).unwrap().contains("3 of 4 rows"));
    assert_eq!(storage.retain(&table, days(30)).await.unwrap().rows, 1);
    assert_eq!((storage.retention_held(&table), table.stats().rows), (None, 1));
}

/// The clock is wrong when the node starts, and the clock of before is written down.
#[tokio::test]
async fn a_wrong_clock_at_the_start_drops_nothing() {
    let folder = tempfile::tempdir().unwrap();
    {
        let (storage, _) = open_at(folder.path(), TODAY);
        table_of(&storage, &[-20, -10, -1]).await;
        storage.set_retention("d", None, days(30)).await.unwrap();
        storage.confirm_clock().await.unwrap();
    }
    for _ in 0..2 {
        let (storage, _) = open_at(folder.path(), TODAY + 60 * DAY);
        let table = storage.table("d", "t").unwrap();
        row_of(&storage, &table, 60).await;
        assert_eq!(storage.retain(&table, days(30)).await.unwrap().files, 0);
        assert!(storage.clock_trouble().unwrap().contains("60 days"));
    }
    let (storage, _) = open_at(folder.path(), TODAY + DAY / 2);
    assert_eq!(storage.clock_trouble(), None);
    assert_eq!(storage.table("d", "t").unwrap().stats().rows, 5);
}

/// Without anything to compare with, the rows themselves say how late it is.
#[tokio::test]
async fn age_is_counted_from_the_newest_row_at_the_latest() {
    let folder = tempfile::tempdir().unwrap();
    let (storage, clock) = open_at(folder.path(), TODAY + 3650 * DAY);
    let table = table_of(&storage, &[-40, -20, -1]).await;
    assert_eq!(storage.set_retention("d", None, days(30)).await.unwrap().rows, 1);
    assert_eq!(table.stats().rows, 2);
    // A row of the far future does not make the others old.
    clock.jump(-3650 * DAY);
    storage.confirm_clock().await.unwrap();
    row_of(&storage, &table, 30_000).await;
    assert_eq!(storage.retain(&table, days(30)).await.unwrap().rows, 0);
    clock.pass(Duration::from_secs(15 * 86_400));
    assert_eq!(storage.retain(&table, days(30)).await.unwrap().rows, 1);
    // What the disk has room for does not depend on clocks.
    clock.jump(900 * DAY);
    let small = Retention { max_age: None, max_bytes: Some(0) };
    assert_eq!(storage.retain(&table, small).await.unwrap().rows, 2);
}
