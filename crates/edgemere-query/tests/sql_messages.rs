//! The messages of bad statements, word for word: `sql_messages/messages.txt`. Nothing of the libraries
//! that plan and run queries is in it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::fmt::Write;
use std::path::Path;

use edgemere_query::Engine;
use edgemere_query::sql::{Error, QueryOptions};
use edgemere_storage::decode::Input;

const FILE: &str = "tests/sql_messages/messages.txt";

/// Words of the libraries, and of our own code, that no caller may read.
const FORBIDDEN: [&str; 38] = [
    "datafusion",
    "arrow",
    "parquet",
    "sqlparser",
    "optimizer",
    "optimize",
    "error during planning",
    "execution error",
    "external error",
    "internal error",
    "schema error",
    "cast error",
    "parser error",
    "not implemented",
    "caused by",
    "bug",
    "github",
    "backtrace",
    "logicalplan",
    "physical plan",
    "exec:",
    "coerc",
    "type_coercion",
    "simplify",
    "signature",
    "datatype",
    "utf8",
    "int64",
    "int32",
    "float64",
    "date32",
    "timestamp(",
    "::",
    "{",
    "}",
    ".rs",
    "ident",
    "null_",
];

async fn engine(folder: &Path) -> Engine {
    let (engine, _) = Engine::open(folder).unwrap();
    let rows = br#"[
        {"time": "2026-01-01T00:00:00Z", "n": 1, "v": 1.5, "s": "a", "b": true},
        {"time": "2026-01-02T00:00:00Z", "n": 2, "v": 2.5, "s": "b", "b": false}]"#;
    engine.put("d", "t", Input::Json, rows).await.unwrap();
    engine.put("d", "u", Input::Json, br#"[{"n": 1, "w": 2}]"#).await.unwrap();
    engine.put("d", "huge", Input::Json, br#"[{"v": 1e300}]"#).await.unwrap();
    engine
}

/// Asks and reads all rows, and writes them as JSON.
async fn ask(engine: &Engine, sql: &str) -> Result<(), Error> {
    let mut query = engine.sql().ask("d", sql, &QueryOptions::default()).await?;
    while let Some(batch) = query.next().await {
        batch?.json_lists(Default::default())?;
    }
    Ok(())
}

/// An error with its hint and its sources.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text = format!("{text}: {inner}");
        cause = inner.source();
    }
    text
}

/// The statements of the file.
fn statements(file: &str) -> Vec<&str> {
    let is_statement = |line: &&str| !line.is_empty() && !line.starts_with(['#', ' ']);
    file.lines().filter(is_statement).collect()
}

#[tokio::test]
async fn every_bad_statement_is_told_in_our_words() {
    let scratch = tempfile::tempdir().unwrap();
    let engine = engine(scratch.path()).await;
    let expected = std::fs::read_to_string(FILE).unwrap();
    let first = expected.lines().next().unwrap_or_default();
    let mut given = format!("{first}\n");
    let statements = statements(&expected);
    assert!(statements.len() >= 40, "the corpus has become small");
    for sql in statements {
        write!(given, "\n{sql}\n").unwrap();
        match ask(&engine, sql).await {
            Ok(()) => writeln!(given, "  is answered").unwrap(),
            Err(error) => {
                writeln!(given, "  {}", chain(&error)).unwrap();
                if let Some(hint) = error.hint() {
                    writeln!(given, "  hint: {hint}").unwrap();
                }
            }
        }
    }
    if std::env::var_os("UPDATE_GOLDENFILES").is_some() {
        std::fs::write(FILE, &given).unwrap();
        return;
    }
    for (expected, given) in expected.split("\n\n").zip(given.split("\n\n")) {
        assert_eq!(given.trim_end(), expected.trim_end());
    }
    assert_eq!(given.trim_end(), expected.trim_end());
}

#[test]
fn no_message_names_a_library_or_a_part_of_one() {
    let file = std::fs::read_to_string(FILE).unwrap();
    let mut sql = "";
    for line in file.lines() {
        match line.strip_prefix("  ") {
            None => sql = line,
            Some(told) => {
                let told = told.to_lowercase();
                assert_ne!(told, "is answered", "{sql}");
                for word in FORBIDDEN {
                    assert!(
                        !told.contains(word) || sql.contains(word),
                        "{sql}\n{told}: \"{word}\""
                    );
                }
                // A path has one; so has a time zone, and what the statement itself says.
                let message = told.replace("europe/rome", "").replace("mars/base", "");
                assert!(!message.contains('/') || sql.contains('/'), "{sql}\n{told}");
            }
        }
    }
}
