//! The two databases, with the same rows in them.

use edgemere_query::Engine;
use edgemere_query::sql::{Limits, Times};
use edgemere_storage::decode::Input;
use edgemere_storage::schema::{Column, Kind as ColumnKind, Schema};
use edgemere_storage::storage;
use rusqlite::types::ValueRef;
use serde_json::{Map, Value as Json};
use tokio::runtime::{Builder, Runtime};

use super::answer::{Answer, Value};
use super::scope::Kind;
use super::table::{COLUMNS, Kept, LATE, Table};

/// The database's name on our side.
const DBMS: &str = "d";

/// In how many parts the rows of a table are put in.
const PARTS: usize = 4;

/// Edgemere and SQLite with the same tables.
pub(crate) struct Databases {
    runtime: Runtime,
    engine: Engine,
    sqlite: rusqlite::Connection,
    _folder: tempfile::TempDir,
}

impl Databases {
    /// Both, with these tables in them.
    pub(crate) fn new(tables: &[Table]) -> Self {
        Self::with(tables, Limits::default())
    }

    /// The same, with other limits of ours.
    pub(crate) fn with(tables: &[Table], limits: Limits) -> Self {
        let folder = tempfile::tempdir().unwrap();
        // One thread for each test: there are as many tests at once as the machine has threads.
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let options = storage::Options { background: false, ..storage::Options::default() };
        let (engine, _) = Engine::open_with(folder.path(), options, limits).unwrap();
        runtime.block_on(async {
            for table in tables {
                store(&engine, table, &schema()).await;
            }
        });
        Self { runtime, engine, sqlite: sqlite(tables), _folder: folder }
    }

    /// What both answer is equal, or the text says how it is not.
    pub(crate) fn compare(&self, sql: &str, is_ordered: bool) -> Result<(), String> {
        let theirs = ask_sqlite(&self.sqlite, sql)?;
        // The first time it is planned, the second time its plan is kept, the third time that is used.
        for _ in 0..3 {
            let ours = self.runtime.block_on(self.ask(sql))?;
            ours.difference(&theirs, is_ordered).map_or(Ok(()), Err)?;
        }
        Ok(())
    }

    async fn ask(&self, sql: &str) -> Result<Answer, String> {
        let refused = |error: edgemere_query::sql::Error| format!("Edgemere refuses it: {error:?}");
        let mut query = self.engine.sql().query(DBMS, sql, None).await.map_err(refused)?;
        let mut rows = Vec::new();
        while let Some(batch) = query.next().await {
            let lines = batch.map_err(refused)?.json_lists(Times::Plain).map_err(refused)?;
            for line in lines.lines() {
                let row: Vec<Json> = serde_json::from_str(line).unwrap();
                rows.push(row.into_iter().map(our_value).collect());
            }
        }
        Ok(Answer(rows))
    }
}

/// What SQLite answers.
pub(crate) fn ask_sqlite(sqlite: &rusqlite::Connection, sql: &str) -> Result<Answer, String> {
    let ask = || {
        let mut statement = sqlite.prepare(sql)?;
        let columns = statement.column_count();
        let rows = statement.query_map([], |row| {
            (0..columns).map(|i| Ok(sqlite_value(row.get_ref(i)?))).collect()
        })?;
        Ok(Answer(rows.collect::<rusqlite::Result<_>>()?))
    };
    ask().map_err(|error: rusqlite::Error| format!("SQLite refuses it: {error}"))
}

/// Puts a table into an engine, with these columns, kept as it says.
pub(crate) async fn store(engine: &Engine, table: &Table, columns: &Schema) {
    let mut first = columns.clone();
    if table.kept == Kept::Grown {
        first.columns.retain(|column| !LATE.contains(&column.name.as_str()));
    }
    let stored = engine.storage().create_table(DBMS, table.name, first).await.unwrap();
    let size = table.rows.len().div_ceil(PARTS).max(1);
    for (index, part) in table.rows.chunks(size).enumerate() {
        put(engine, table, columns, part).await;
        let is_first_half = index < PARTS / 2;
        let flushes = match table.kept {
            Kept::Fresh => false,
            Kept::Flushed => true,
            Kept::Compacted => index + 1 < PARTS,
            Kept::HalfFresh | Kept::Grown => is_first_half,
        };
        if flushes {
            engine.storage().flush(&stored).await.unwrap();
        }
    }
    if table.kept == Kept::Compacted {
        engine.storage().compact(&stored).await.unwrap();
    }
    let known = stored.schema();
    let all = columns.columns.iter().cloned();
    let missing = all.filter(|column| known.position(&column.name).is_none()).collect();
    engine.storage().add_columns(&stored, missing).await.unwrap();
}

async fn put(engine: &Engine, table: &Table, columns: &Schema, rows: &[Map<String, Json>]) {
    let mut rows = rows.to_vec();
    // Rows from before the late columns do not name them.
    for name in LATE.iter().filter(|_| table.kept == Kept::Grown) {
        if rows.iter().all(|row| row[*name].is_null()) {
            rows.iter_mut().for_each(|row| drop(row.remove(*name)));
        }
    }
    rows.iter_mut().for_each(|row| row.retain(|name, _| columns.position(name).is_some()));
    let bytes = serde_json::to_vec(&rows).unwrap();
    let put = engine.put(DBMS, table.name, Input::Json, &bytes).await.unwrap();
    assert_eq!((put.stored, put.rejected_total), (rows.len(), 0), "{:?}", put.rejected);
}

/// The columns of every table.
pub(crate) fn schema() -> Schema {
    let column = |(name, kind): &(&str, Kind)| Column {
        name: (*name).to_owned(),
        kind: match kind {
            Kind::Int => ColumnKind::Int,
            Kind::Real => ColumnKind::Decimal,
            Kind::Text => ColumnKind::Varchar,
            Kind::Bool => ColumnKind::Boolean,
            Kind::Time => ColumnKind::Timestamp,
            Kind::Date => ColumnKind::Date,
        },
        original: None,
    };
    Schema { columns: COLUMNS.iter().map(column).collect() }
}

/// SQLite with these tables.
pub(crate) fn sqlite(tables: &[Table]) -> rusqlite::Connection {
    let sqlite = rusqlite::Connection::open_in_memory().unwrap();
    sqlite.pragma_update(None, "case_sensitive_like", true).unwrap();
    let column = |(name, kind): &(&str, Kind)| {
        let kind = match kind {
            Kind::Int | Kind::Bool => "integer",
            Kind::Real => "real",
            Kind::Text | Kind::Time | Kind::Date => "text",
        };
        format!("\"{name}\" {kind}")
    };
    let columns = COLUMNS.iter().map(column).collect::<Vec<_>>().join(", ");
    let marks = vec!["?"; COLUMNS.len()].join(", ");
    for table in tables {
        sqlite.execute(&format!("create table {} ({columns})", table.name), []).unwrap();
        let insert = format!("insert into {} values ({marks})", table.name);
        let mut insert = sqlite.prepare(&insert).unwrap();
        for row in &table.rows {
            let values = COLUMNS.iter().map(|(name, _)| parameter(&row[*name]));
            insert.execute(rusqlite::params_from_iter(values)).unwrap();
        }
    }
    sqlite
}

fn parameter(value: &Json) -> rusqlite::types::Value {
    use rusqlite::types::Value as Parameter;
    match value {
        Json::Bool(value) => Parameter::Integer(i64::from(*value)),
        Json::String(text) => Parameter::Text(text.clone()),
        Json::Number(number) => match number.as_i64() {
            Some(number) => Parameter::Integer(number),
            None => Parameter::Real(number.as_f64().unwrap()),
        },
        _ => Parameter::Null,
    }
}

/// A value of ours, as SQLite has it.
pub(crate) fn our_value(value: Json) -> Value {
    match value {
        Json::Null => Value::Null,
        Json::Bool(value) => Value::Number(f64::from(u8::from(value))),
        // Adding nothing makes a negative zero one that sorts as zero.
        Json::Number(number) => Value::Number(number.as_f64().unwrap() + 0.0),
        Json::String(text) => Value::Text(text),
        other => Value::Text(other.to_string()),
    }
}

fn sqlite_value(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => Value::Number(number as f64),
        ValueRef::Real(number) => Value::Number(number + 0.0),
        ValueRef::Text(text) | ValueRef::Blob(text) => {
            Value::Text(String::from_utf8_lossy(text).into_owned())
        }
    }
}
