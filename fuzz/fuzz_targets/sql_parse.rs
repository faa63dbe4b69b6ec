//! Any text as SQL on an engine with a few tables: reading, validating and planning it never panics
//! and never overflows the stack, and makes no table and no row.

#![no_main]

use std::sync::LazyLock;

use edgemere_engine::Engine;
use edgemere_engine::ingest::Input;
use edgemere_engine::sql::STACK_BYTES;
use libfuzzer_sys::fuzz_target;
use tokio::runtime::{Builder, Runtime};

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

fuzz_target!(|sql: String| {
    let (engine, runtime, _) = &*SCENE;
    let planned = runtime.spawn(async move { engine.sql().explain("d", &sql).await.map(|_| ()) });
    // A statement that is refused is as good as one that is planned; a panic is not.
    let _ = runtime.block_on(planned).expect("no panic");
    assert_eq!(engine.storage().tables("d").len(), 2);
});
