//! Only queries run, and nothing that they do can be felt: a corpus of statements that try to write, to
//! read files, to change settings and to get out, all refused, with nothing changed by any of them;
//! and queries made to break what reads them, which they do not.
//!
//! EXPLAIN ANALYZE runs what it explains, so what it explains is proved to be a query as well.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use edgemere_query::Engine;
use edgemere_query::sql::{Error, Limits, STACK_BYTES};
use edgemere_storage::decode::Input;
use edgemere_storage::storage;
use tokio::runtime::{Builder, Runtime};

const HOSTILE: &str = include_str!("sql_hostile/statements.sql");
const ALLOWED: &str = include_str!("sql_hostile/allowed.sql");

/// A node's engine with two databases, beside a file that is nobody's business.
struct Scene {
    folder: tempfile::TempDir,
    runtime: Runtime,
    engine: Engine,
}

impl Scene {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("canary"), "n,s\n1,secret\n").unwrap();
        // The stack that a node's threads have.
        let runtime = Builder::new_multi_thread()
            .worker_threads(2)
            .thread_stack_size(STACK_BYTES)
            .enable_all()
            .build()
            .unwrap();
        let options = storage::Options { background: false, ..storage::Options::default() };
        let (engine, _) =
            Engine::open_with(&folder.path().join("data"), options, Limits::default()).unwrap();
        runtime.block_on(async {
            let rows = br#"[{"n": 1, "s": "a"}, {"n": 2, "s": "it's"}, {"n": null, "s": null}]"#;
            for database in ["d", "e"] {
                engine.put(database, "t", Input::Json, rows).await.unwrap();
            }
            engine.storage().flush_all().await.unwrap();
            engine.put("d", "t", Input::Json, rows).await.unwrap();
        });
        Self { folder, runtime, engine }
    }

    /// Asks on one of the runtime's threads, and reads all rows.
    fn ask(&self, sql: &str) -> Result<usize, Error> {
        let (engine, sql) = (self.engine.clone(), sql.to_owned());
        let asked = self.runtime.spawn(async move {
            let mut query = engine.sql().query("d", &sql, None).await?;
            let mut rows = 0;
            while let Some(batch) = query.next().await {
                rows += batch?.rows();
            }
            Ok(rows)
        });
        self.runtime.block_on(asked).unwrap()
    }

    /// The statement with the true paths in it.
    fn told(&self, statement: &str) -> String {
        let path = |name: &str| self.folder.path().join(name).display().to_string();
        statement
            .replace("{canary}", &path("canary"))
            .replace("{new}", &path("new"))
            .replace("{data}", &path("data"))
            .replace("\\n", "\n")
            .replace("\\t", "\t")
            .replace("\\u{0}", "\0")
            .replace("\\u{feff}", "\u{feff}")
    }

    /// Everything that can be seen from outside: all files, all tables, all rows.
    fn state(&self) -> (BTreeMap<PathBuf, Vec<u8>>, Vec<String>) {
        let mut files = BTreeMap::new();
        gather(self.folder.path(), &mut files);
        let storage = self.engine.storage();
        let tables = storage.databases().into_iter().flat_map(|database| {
            let tables = storage.tables(&database);
            let shown = tables.iter().map(|table| {
                format!("{database}.{} {:?} {:?}", table.name(), table.schema(), table.stats())
            });
            shown.collect::<Vec<_>>()
        });
        (files, tables.collect())
    }
}

fn gather(folder: &Path, files: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => gather(&path, files),
            false => drop(files.insert(path.clone(), fs::read(&path).unwrap())),
        }
    }
}

fn statements(corpus: &str) -> impl Iterator<Item = &str> {
    corpus.lines().filter(|line| !line.is_empty() && !line.starts_with("--"))
}

/// Refused before anything ran.
fn is_refusal(error: &Error) -> bool {
    matches!(
        error,
        Error::Syntax { .. }
            | Error::Empty
            | Error::SeveralStatements
            | Error::NotReadOnly { .. }
            | Error::UnknownDatabase { .. }
            | Error::UnknownTable { .. }
            | Error::UnknownColumn { .. }
            | Error::TooComplex { .. }
            | Error::Plan(_)
    )
}

#[test]
fn every_hostile_statement_is_refused_and_changes_nothing() {
    let scene = Scene::new();
    let before = scene.state();
    let mut refused = 0;
    for statement in statements(HOSTILE) {
        let told = scene.told(statement);
        match scene.ask(&told) {
            Ok(rows) => panic!("not refused, {rows} rows: {told}"),
            Err(error) => assert!(is_refusal(&error), "{told}: {error:?}"),
        }
        let errors_tell = format!("{:?}", scene.ask(&told).unwrap_err());
        assert!(!errors_tell.contains("secret"), "the canary was read: {told}");
        refused += 1;
    }
    assert!(refused >= 120, "the corpus has become small: {refused}");
    assert!(scene.state() == before, "something has changed");
    let counted = scene.runtime.block_on(async {
        let mut query =
            scene.engine.sql().query("d", "select count(*) from t", None).await.unwrap();
        query.next().await.unwrap().unwrap().cells(Default::default()).unwrap()
    });
    assert_eq!(counted, [["6"]]);
}

#[test]
fn writing_is_called_by_its_name() {
    let scene = Scene::new();
    let writes = ["insert into t values (1)", "drop table t", "select * into u from t"];
    for sql in writes {
        let error = scene.ask(sql).unwrap_err();
        assert!(matches!(error, Error::NotReadOnly { .. }), "{sql}: {error:?}");
        assert!(error.hint().unwrap().starts_with("send one SELECT; SHOW DATABASES"));
    }
    let hidden = scene.ask("with x as (delete from t returning n) select * from x").unwrap_err();
    assert_eq!(hidden.to_string(), "only queries are run: DELETE FROM is not one");
}

#[test]
fn ordinary_queries_are_answered() {
    let scene = Scene::new();
    let before = scene.state();
    for statement in statements(ALLOWED) {
        if let Err(error) = scene.ask(statement) {
            panic!("refused: {statement}: {error:?}");
        }
    }
    assert!(scene.state() == before, "a query has changed something");
}

/// A statement with something in it again and again, and as often what closes it.
fn nested(before: &str, open: &str, inside: &str, shut: &str, after: &str, times: usize) -> String {
    format!("{before}{}{inside}{}{after}", open.repeat(times), shut.repeat(times))
}

/// What can be put into itself, or be made as long as one likes.
const NESTED: [(&str, &str, &str, &str, &str); 22] = [
    ("select ", "(", "n", ")", " from t"),
    ("select ", "abs(", "n", ")", " from t"),
    ("select ", "coalesce(n, ", "1", ")", " from t"),
    ("select ", "case when n = 1 then ", "1", " end", " from t"),
    ("select ", "case when n = 1 then 2 else ", "1", " end", " from t"),
    ("select ", "cast(", "n", " as bigint)", " from t"),
    ("select ", "(select ", "1", ")", ""),
    ("select n from t where ", "exists (select 1 from t where ", "true", ")", ""),
    ("select n from t where ", "n in (select n from t where ", "true", ")", ""),
    ("select * from ", "(select * from ", "t", ")", ""),
    ("", "with a as (", "select 1 as x", ") select * from a", ""),
    ("", "(", "select 1", ")", ""),
    ("select ", "[", "n", "]", " from t"),
    ("select ", "not ", "true", "", ""),
    ("select ", "- ", "n", "", " from t"),
    ("select n", " + 1", "", "", " from t"),
    ("select n", "::int", "", "", " from t"),
    ("select n", " is null", "", "", " from t"),
    ("select s", " || s", "", "", " from t"),
    ("select n from t where n = 1", " or n = 2", "", "", ""),
    ("select n from t where n = 1", " and n <> 2", "", "", ""),
    ("select 1", " union all select 1", "", "", ""),
];

#[test]
fn what_is_nested_a_little_is_answered() {
    let scene = Scene::new();
    for (before, open, inside, shut, after) in NESTED {
        let sql = nested(before, open, inside, shut, after, 6);
        assert!(scene.ask(&sql).is_ok(), "{sql}: {:?}", scene.ask(&sql).unwrap_err());
    }
}

#[test]
fn what_is_nested_without_end_is_refused_and_breaks_nothing() {
    let scene = Scene::new();
    for (before, open, inside, shut, after) in NESTED {
        for times in [300, 10_000] {
            let sql = nested(before, open, inside, shut, after, times);
            let error = scene.ask(&sql).unwrap_err();
            assert!(matches!(error, Error::TooComplex { .. }), "{open} {times}: {error:?}");
            // Left open, as a cut message would be.
            let sql = format!("{before}{}", open.repeat(times));
            assert!(is_refusal(&scene.ask(&sql).unwrap_err()), "{open} {times}");
        }
    }
}

#[test]
fn the_deepest_that_is_let_through_fits_on_the_stack() {
    let scene = Scene::new();
    for (before, open, inside, shut, after) in NESTED {
        let mut answered = 0;
        for times in [9, 20, 46, 90, 180] {
            match scene.ask(&nested(before, open, inside, shut, after, times)) {
                Ok(_) => answered = times,
                Err(error) => assert!(is_refusal(&error), "{open} {times}: {error:?}"),
            }
        }
        let is_query = open.contains("select") || open.contains("with");
        assert!(is_query || answered >= 46, "{open}: only {answered}");
    }
}

#[test]
fn what_is_long_and_flat_is_answered() {
    let scene = Scene::new();
    let values = (0..10_000).map(|n| n.to_string()).collect::<Vec<_>>().join(", ");
    assert_eq!(scene.ask(&format!("select n from t where n in ({values})")).unwrap(), 4);
    let texts = (0..2000).map(|n| format!("'x{n}'")).collect::<Vec<_>>().join(", ");
    assert_eq!(scene.ask(&format!("select n from t where s not in ({texts})")).unwrap(), 4);
    let columns = (0..500).map(|n| format!("n + {n} as c{n}")).collect::<Vec<_>>().join(", ");
    assert_eq!(scene.ask(&format!("select {columns} from t")).unwrap(), 6);
    let rows = (0..1000).map(|n| format!("({n})")).collect::<Vec<_>>().join(", ");
    assert_eq!(scene.ask(&format!("values {rows}")).unwrap(), 1000);
}

#[test]
fn a_short_query_that_is_a_huge_plan_is_refused() {
    let scene = Scene::new();
    // Every name stands for twice what the one before it stands for.
    let mut tables = "with q0 as (select n as x from t)".to_owned();
    let mut terms = tables.clone();
    for index in 1..40 {
        let before = index - 1;
        tables.push_str(&format!(", q{index} as (select a.x from q{before} a, q{before} b)"));
        terms.push_str(&format!(", q{index} as (select x + x as x from q{before})"));
    }
    for sql in [tables + " select x from q39", terms + " select x from q39 where x > 1"] {
        let error = scene.ask(&sql).unwrap_err();
        assert!(matches!(error, Error::TooComplex { .. }), "{error:?}");
    }
}
