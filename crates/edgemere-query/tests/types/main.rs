//! Values come back as they went in: columns that widen, exact numbers, and what becomes of every type.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
#![allow(clippy::panic, reason = "a test that cannot go on should stop")]
#![allow(clippy::indexing_slicing, reason = "a test that cannot go on should stop")]
#![allow(clippy::print_stdout, reason = "a line of a table that fails is to be told")]

mod exact;
mod table;
mod widening;

use std::path::Path;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::ipc::writer::StreamWriter;
use edgemere_query::Engine;
use edgemere_query::sql::{Limits, Times};
use edgemere_storage::Put;
use edgemere_storage::decode::Input;
use edgemere_storage::storage::Options;

/// An engine in which nothing happens by itself.
pub(crate) fn open(folder: &Path) -> Engine {
    let options = Options { background: false, ..Options::default() };
    Engine::open_with(folder, options, Limits::default()).unwrap().0
}

/// Puts rows into `d.t`.
pub(crate) async fn put(engine: &Engine, input: Input, bytes: &[u8]) -> Put {
    engine.put("d", "t", input, bytes).await.unwrap()
}

/// Puts JSON into `d.t`, of which every row is to be stored.
pub(crate) async fn json(engine: &Engine, text: &str) {
    let put = put(engine, Input::Json, text.as_bytes()).await;
    assert_eq!(put.rejected, [], "{text}");
}

/// A column as an Arrow stream.
pub(crate) fn arrow(name: &str, column: ArrayRef) -> Vec<u8> {
    let batch = RecordBatch::try_from_iter_with_nullable([(name, column, true)]).unwrap();
    let mut writer = StreamWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    writer.write(&batch).unwrap();
    writer.into_inner().unwrap()
}

/// The rows of a query on `d`, each as a list, with a space between them.
pub(crate) async fn ask(engine: &Engine, sql: &str) -> String {
    let mut query =
        engine.sql().query("d", sql, None).await.unwrap_or_else(|e| panic!("{sql}: {e}"));
    let mut rows = Vec::new();
    while let Some(batch) = query.next().await {
        let text = batch.unwrap_or_else(|e| panic!("{sql}: {e}")).json_lists(Times::Plain).unwrap();
        rows.extend(text.lines().map(str::to_owned));
    }
    rows.join(" ")
}

/// The type of a column of `d.t`.
pub(crate) fn kind(engine: &Engine, column: &str) -> String {
    let schema = engine.storage().table("d", "t").unwrap().schema();
    schema.columns[schema.position(column).unwrap()].kind.sql()
}

/// Settles the rows of `d.t`.
pub(crate) async fn flush(engine: &Engine) {
    let table = engine.storage().table("d", "t").unwrap();
    engine.storage().flush(&table).await.unwrap();
}

/// Makes one file of those of `d.t`.
pub(crate) async fn compact(engine: &Engine) {
    let table = engine.storage().table("d", "t").unwrap();
    engine.storage().compact(&table).await.unwrap();
    assert_eq!(table.snapshot().files.len(), 1);
}

/// An array.
pub(crate) fn array<T: arrow::array::Array + 'static>(array: T) -> ArrayRef {
    Arc::new(array)
}
