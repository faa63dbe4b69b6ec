//! Rows for the tests: sensors, what they measured, and what was wrong with them; split over operators
//! by chance.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringViewArray,
    TimestampMicrosecondArray, UInt64Array,
};
use arrow::compute::take_record_batch;
use edgemere_query::Engine;
use edgemere_storage::schema::{Column, Kind, Schema};

use super::{Cluster, DBMS};

/// The moment of the first reading, in microseconds: 2026-01-01 00:00:00.
const BEGIN: i64 = 1_767_225_600_000_000;

/// Small numbers by chance, always the same for a seed.
pub(crate) struct Chance(pub(crate) u64);

impl Chance {
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

/// How rows are split: for each operator how many of a hundred it gets; none is a part without rows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Split(pub(crate) &'static [u64]);

impl Split {
    fn pick(self, chance: &mut Chance) -> usize {
        let mut at = chance.below(self.0.iter().sum());
        for (operator, weight) in self.0.iter().enumerate() {
            if at < *weight {
                return operator;
            }
            at -= weight;
        }
        0
    }
}

pub(crate) fn schema(columns: &[(&str, Kind)]) -> Schema {
    let column = |(name, kind): &(&str, Kind)| Column::new(*name, *kind);
    Schema { columns: columns.iter().map(column).collect() }
}

/// What devices measured.
pub(crate) fn readings(rows: usize) -> (Schema, RecordBatch) {
    let mut chance = Chance(0x9e37_79b9_7f4a_7c15);
    let count = rows as i64;
    let device = (0..rows).map(|_| match chance.below(25) {
        0 => None,
        n => Some(format!("device-{n:02}")),
    });
    let device = StringViewArray::from_iter(device);
    let at = (0..count).map(|n| Some(BEGIN + n * 7_000_000));
    let at = TimestampMicrosecondArray::from_iter(at);
    let value = (0..rows).map(|_| match chance.below(20) {
        0 => None,
        _ => Some(chance.below(100_000) as f64 / 100.0),
    });
    let value = Float64Array::from_iter(value);
    let n = Int64Array::from_iter((0..rows).map(|_| Some(chance.below(1000) as i64)));
    let ok = BooleanArray::from_iter((0..rows).map(|_| match chance.below(10) {
        0 => None,
        n => Some(n > 3),
    }));
    let id = Int64Array::from_iter_values(0..count);
    let note = StringViewArray::from_iter((0..rows).map(|n| {
        (n % 3 != 0).then(|| format!("note {} of a length that is not in the view", n % 40))
    }));
    let columns: [(&str, ArrayRef); 7] = [
        ("id", Arc::new(id)),
        ("device", Arc::new(device)),
        ("at", Arc::new(at)),
        ("value", Arc::new(value)),
        ("n", Arc::new(n)),
        ("ok", Arc::new(ok)),
        ("note", Arc::new(note)),
    ];
    let schema = schema(&[
        ("id", Kind::Int),
        ("device", Kind::Varchar),
        ("at", Kind::Timestamp),
        ("value", Kind::Decimal),
        ("n", Kind::Int),
        ("ok", Kind::Boolean),
        ("note", Kind::Varchar),
    ]);
    (schema, RecordBatch::try_from_iter(columns).unwrap())
}

/// The devices: few, and some of them never measured anything.
pub(crate) fn devices() -> (Schema, RecordBatch) {
    let name = StringViewArray::from_iter_values((0..40).map(|n| format!("device-{n:02}")));
    let site = StringViewArray::from_iter(
        (0..40).map(|n| (n % 7 != 0).then(|| format!("site-{}", n % 4))),
    );
    let rated = Float64Array::from_iter_values((0..40).map(|n| f64::from(n) * 20.0));
    let columns: [(&str, ArrayRef); 3] =
        [("name", Arc::new(name)), ("site", Arc::new(site)), ("rated", Arc::new(rated))];
    let schema =
        schema(&[("name", Kind::Varchar), ("site", Kind::Varchar), ("rated", Kind::Decimal)]);
    (schema, RecordBatch::try_from_iter(columns).unwrap())
}

/// What was wrong.
pub(crate) fn alerts(rows: usize) -> (Schema, RecordBatch) {
    let mut chance = Chance(0x1234_5678_9abc_def1);
    let device = (0..rows).map(|_| Some(format!("device-{:02}", chance.below(30))));
    let device = StringViewArray::from_iter(device);
    let level = Int64Array::from_iter((0..rows).map(|_| match chance.below(8) {
        0 => None,
        n => Some(n as i64),
    }));
    let reading = Int64Array::from_iter_values((0..rows).map(|_| chance.below(4000) as i64));
    let columns: [(&str, ArrayRef); 3] =
        [("device", Arc::new(device)), ("level", Arc::new(level)), ("reading", Arc::new(reading))];
    let schema = schema(&[("device", Kind::Varchar), ("level", Kind::Int), ("reading", Kind::Int)]);
    (schema, RecordBatch::try_from_iter(columns).unwrap())
}

/// Rows of a batch by their positions.
pub(crate) fn picked(batch: &RecordBatch, rows: &[u64]) -> RecordBatch {
    take_record_batch(batch, &UInt64Array::from(rows.to_vec())).unwrap()
}

/// Stores rows in an engine; half of them settled in a file.
pub(crate) async fn store(engine: &Engine, table: &str, schema: &Schema, batch: &RecordBatch) {
    let storage = engine.storage();
    let stored = match storage.table(DBMS, table) {
        Some(stored) => stored,
        None => storage.create_table(DBMS, table, schema.clone()).await.unwrap(),
    };
    let half = batch.num_rows() / 2;
    if half > 0 {
        stored.append(batch.slice(0, half)).await.unwrap();
        storage.flush(&stored).await.unwrap();
    }
    if batch.num_rows() > half {
        stored.append(batch.slice(half, batch.num_rows() - half)).await.unwrap();
    }
}

impl Cluster {
    /// Gives operators the rows of a table, split, and the one database all of them.
    pub(crate) async fn fill(&self, table: &str, rows: (Schema, RecordBatch), split: Split) {
        let (schema, batch) = rows;
        store(&self.whole, table, &schema, &batch).await;
        let mut chance = Chance(0xdead_beef ^ table.len() as u64);
        let mut shares = vec![Vec::new(); self.nodes.len()];
        for row in 0..batch.num_rows() as u64 {
            shares[split.pick(&mut chance)].push(row);
        }
        let mut parts = Vec::new();
        for (node, share) in self.nodes.iter().zip(shares) {
            store(&node.engine, table, &schema, &picked(&batch, &share)).await;
            parts.push(node.part(Some(share.len() as u64)));
        }
        self.places.set(table, schema, parts);
    }

    /// All three tables.
    pub(crate) async fn fill_all(&self, rows: usize, split: Split) {
        self.fill("readings", readings(rows), split).await;
        self.fill("devices", devices(), split).await;
        self.fill("alerts", alerts(rows / 8), split).await;
    }
}
