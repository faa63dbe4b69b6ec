//! What stands for too much is refused before it is planned, wherever it stands.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod queried;
#[path = "../../edgemere-storage/tests/scratch/mod.rs"]
mod scratch;

use edgemere_query::sql::{Error, Limits, template};
use queried::engine;

fn columns(count: usize) -> String {
    (0..count).map(|n| format!("n + {n} as c{n}")).collect::<Vec<_>>().join(", ")
}

fn grouped(count: usize) -> String {
    (0..count).map(|n| format!("n + {n}")).collect::<Vec<_>>().join(", ")
}

fn is_too_complex(error: &Error) -> bool {
    match error {
        Error::TooComplex { .. } => true,
        Error::View { source, .. } => is_too_complex(source),
        _ => false,
    }
}

fn large() -> Vec<String> {
    let (cube, half) = (grouped(11), grouped(6));
    vec![
        format!("select count(*) from t group by cube({cube})"),
        format!("select count(*) from t group by cube({half}), cube({half})"),
        format!("select count(*) from t group by rollup({cube}), cube({half}), rollup({half})"),
        format!("select count(*) from t group by grouping sets ({})", vec!["(n)"; 1025].join(", ")),
        format!("select * from (select count(*) as c from t group by cube({cube})) x"),
        format!("with x as (select count(*) as c from t group by cube({cube})) select * from x"),
        format!("select n from t where n in (select count(*) from t group by cube({cube}))"),
        format!("select {} from t", columns(4097)),
        format!("select {} from t", vec!["*"; 300].join(", ")),
        format!("select 1 where 1 in ({})", vec!["1"; 300_000].join(", ")),
    ]
}

#[tokio::test]
async fn what_stands_for_too_much_is_refused_at_every_entrance() {
    let folder = tempfile::tempdir().unwrap();
    let engine = engine(folder.path(), 10, Limits::default()).await;
    for sql in large() {
        let start = sql.chars().take(80).collect::<String>();
        let asked = engine.sql().query("d", &sql, None).await.unwrap_err();
        assert!(is_too_complex(&asked), "{start}: {asked:?}");
        let explained = engine.sql().explain("d", &sql).await.unwrap_err();
        assert!(is_too_complex(&explained), "{start}: {explained:?}");
        let viewed = engine.sql().check_view("d", &sql).await.unwrap_err();
        assert!(is_too_complex(&viewed), "{start}: {viewed:?}");
        assert!(is_too_complex(&template::check(&sql).unwrap_err()), "{start}");
    }
}

#[tokio::test]
async fn what_is_within_the_limits_is_answered() {
    let folder = tempfile::tempdir().unwrap();
    let engine = engine(folder.path(), 10, Limits::default()).await;
    for sql in [
        format!("select count(*) from t group by cube({})", grouped(5)),
        format!("select count(*) from t group by rollup({})", grouped(20)),
        format!("select {} from t", columns(600)),
        "select a.*, b.n as other from t a join t b on a.n = b.n".to_owned(),
    ] {
        let mut query = engine.sql().query("d", &sql, None).await.unwrap();
        while let Some(batch) = query.next().await {
            batch.unwrap();
        }
    }
}

#[tokio::test]
async fn a_select_names_its_columns() {
    let folder = tempfile::tempdir().unwrap();
    let engine = engine(folder.path(), 10, Limits::default()).await;
    for sql in [
        "select from t",
        "select n from (select from t) x",
        "select n from t where exists (select from t)",
    ] {
        let error = engine.sql().query("d", sql, None).await.unwrap_err();
        let is_told = matches!(&error, Error::Plan(source)
            if source.to_string().contains("names no columns"));
        assert!(is_told, "{sql}: {error:?}");
    }
}
