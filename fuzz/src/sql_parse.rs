//! SQL, as it is read, validated and planned.

use std::sync::LazyLock;

use edgemere_query::Engine;
use edgemere_query::sql::STACK_BYTES;
use edgemere_storage::decode::Input;
use tokio::runtime::{Builder, Runtime};

use crate::damaged;

/// A statement of many parts.
const TRUE: &[u8] = b"with a as (select n, s || 'x' as y from t where f > 1.5 and s like '%a_b%') \
    select a.n, max(y) over (partition by a.n), case when b then 1 else extract(epoch from timestamp) end \
    from a join u on a.n = u.n where y ~ '^a(b|c)*' group by 1, 2, 3 order by 1 limit 5";

/// An engine, the threads that a node would ask it on, and the folder of both.
static SCENE: LazyLock<(Engine, Runtime, tempfile::TempDir)> = LazyLock::new(|| {
    let folder = tempfile::tempdir().expect("a folder");
    let runtime = Builder::new_multi_thread()
        .worker_threads(1)
        .thread_stack_size(STACK_BYTES)
        .enable_all()
        .build()
        .expect("a runtime");
    let (engine, _) = Engine::open(folder.path()).expect("opens");
    let rows =
        br#"[{"n": 1, "f": 1.5, "s": "it's", "b": true, "timestamp": "2026-01-01 00:00:00"}]"#;
    for table in ["t", "u"] {
        runtime.block_on(engine.put("d", table, Input::Json, rows)).expect("stores");
    }
    (engine, runtime, folder)
});

/// Plans the bytes as a statement, and as damage to a true one.
pub fn run(bytes: &[u8]) {
    plan(String::from_utf8_lossy(bytes).into_owned());
    plan(String::from_utf8_lossy(&damaged(TRUE, bytes)).into_owned());
}

/// A statement that is refused is as good as one that is planned; a panic is not, nor is a table.
fn plan(sql: String) {
    let (engine, runtime, _) = &*SCENE;
    let planned = runtime.spawn(async move { engine.sql().explain("d", &sql).await.map(|_| ()) });
    let _ = runtime.block_on(planned).expect("no panic");
    assert_eq!(engine.storage().tables("d").len(), 2);
}
