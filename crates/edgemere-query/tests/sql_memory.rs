//! No statement ends the node, or holds it up: a corpus of statements that want more memory or time
//! than there is runs in a process of its own, which may have so little memory that growth beyond the
//! bounds is its death.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod queried;
#[path = "../../edgemere-storage/tests/scratch/mod.rs"]
mod scratch;

use std::process::Command;
use std::time::{Duration, Instant};

use edgemere_query::Engine;
use edgemere_query::sql::{Error, Limits};
use queried::{engine, wait_until_idle};

const CORPUS: &str = include_str!("sql_hostile/memory.sql");

/// Set in the process that runs the corpus.
const CHILD: &str = "EDGEMERE_HOSTILE_MEMORY";

/// The address space of that process, in KiB.
const MEMORY_KIB: usize = 6 << 20;

/// How long a query may take there, and how much longer it may take to end, on the slowest machine: a
/// statement that cannot be stopped takes hours.
const TIME: Duration = Duration::from_secs(4);
const MARGIN: Duration = Duration::from_secs(600);

async fn ask(engine: &Engine, sql: &str, time: Duration) -> Result<usize, Error> {
    let mut query = engine.sql().query("d", sql, Some(time)).await?;
    let mut rows = 0;
    while let Some(batch) = query.next().await.transpose()? {
        rows += batch.rows();
        // As an answer is written out.
        let text = batch.json_objects(Default::default())?;
        assert!(text.len() < 200 << 20, "{} bytes at once", text.len());
    }
    Ok(rows)
}

fn limits() -> Limits {
    Limits { memory_bytes: 128 << 20, memory_total_bytes: 256 << 20, ..Limits::default() }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_statement_of_the_corpus_ends_and_the_node_goes_on() {
    if std::env::var_os(CHILD).is_none() {
        let name = "every_statement_of_the_corpus_ends_and_the_node_goes_on";
        let program = std::env::current_exe().unwrap();
        let line = format!(
            "ulimit -v {MEMORY_KIB}; exec '{}' --exact {name} --nocapture",
            program.display()
        );
        let ended = Command::new("sh").args(["-c", &line]).env(CHILD, "1").output().unwrap();
        let (out, err) = (&ended.stdout, &ended.stderr);
        let told = format!("{}{}", String::from_utf8_lossy(out), String::from_utf8_lossy(err));
        assert!(ended.status.success(), "{}: {told}", ended.status);
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let engine = engine(folder.path(), 20_000, limits()).await;
    for sql in CORPUS.lines().filter(|line| !line.is_empty() && !line.starts_with("--")) {
        eprintln!("{sql}");
        let begun = Instant::now();
        let ended = ask(&engine, sql, TIME).await;
        let ended =
            ended.map_err(|error| format!("{error}, {:?}", std::error::Error::source(&error)));
        eprintln!("  {:.1?}: {}", begun.elapsed(), &format!("{ended:.300?}"));
        wait_until_idle(&engine, sql).await;
        assert!(begun.elapsed() < TIME + MARGIN, "{sql}: {:?}", begun.elapsed());
        assert_eq!(ask(&engine, "select n from t", MARGIN).await.unwrap(), 20_000);
    }
}

/// What people do with the same functions.
#[tokio::test]
async fn ordinary_uses_are_answered() {
    let folder = tempfile::tempdir().unwrap();
    let engine = engine(folder.path(), 20_000, Limits::default()).await;
    for sql in [
        "select lpad(text, 2000, '*'), rpad(text, 2000), replace(text, 'a', 'bcd') from t",
        "select regexp_replace(text, '[0-9]', 'digit', 'g'), translate(text, '123', 'abc') from t",
        "select concat_ws(', ', text, n, n), upper(text) || lower(text) || n from t",
        "select array_to_string(make_array(n, n + 1), ','), string_to_array(text, '1') from t",
        "select levenshtein(text, 'text 12'), regexp_like(text, '1+') from t",
        "select length(replace(string_agg(text, ','), ',', ', ')) from t",
        "select n, unnest(make_array(n, 1, 2)) from t",
        "select a.n, b.l from t a join (select max(text) as l from t) b on true",
        "select max(text) over (), lag(text) over (order by n) from t",
        "select n, count(*) from t group by rollup(n, text)",
        "select arrow_cast(n, 'Utf8'), to_char(now(), '%Y') from t",
        "select approx_percentile_cont(n, 0.5, 200) from t",
    ] {
        let answered = ask(&engine, sql, Duration::from_secs(300)).await;
        assert!(answered.is_ok(), "{sql}: {answered:?}");
    }
}

/// A constant that is long is computed where the query runs, and is the same.
#[tokio::test]
async fn what_is_bounded_is_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let engine = engine(folder.path(), 10, Limits::default()).await;
    let sql = "select length(lpad('x', 100000)) = 100000 as a, md from \
               (select max(length(lpad(text, 3000))) = 3000 as md from t)";
    let mut query = engine.sql().query("d", sql, None).await.unwrap();
    let cells = query.next().await.unwrap().unwrap().cells(Default::default()).unwrap();
    assert_eq!(cells, [["true", "true"]]);
}

#[tokio::test]
async fn too_much_of_one_batch_is_told_with_its_limit() {
    let folder = tempfile::tempdir().unwrap();
    let engine = engine(folder.path(), 1000, Limits::default()).await;
    let error = ask(&engine, "select lpad(text, 1000000) from t", TIME).await.unwrap_err();
    assert!(matches!(error, Error::TooLarge(_)), "{error:?}");
    assert!(error.to_string().contains("\"lpad\" would make"), "{error}");
    assert!(error.hint().unwrap().contains("shorter"), "{error}");
}
