//! Plans of peers, as an operator reads them.

use std::sync::LazyLock;

use edgemere_query::{Engine, distributed::fuzzing};

use crate::damaged;

/// An engine to read plans with, and its folder.
static SCENE: LazyLock<(Engine, tempfile::TempDir)> = LazyLock::new(|| {
    let folder = tempfile::tempdir().expect("a folder");
    let (engine, _) = Engine::open(folder.path()).expect("opens");
    (engine, folder)
});

/// No fuzzer would find a plan by itself.
static PLAN: LazyLock<Vec<u8>> = LazyLock::new(|| fuzzing::plan().expect("a plan"));

/// Reads the bytes as a plan, and as damage to a true one.
pub fn run(bytes: &[u8]) {
    let (engine, _) = &*SCENE;
    fuzzing::reads_plan(engine.sql(), bytes);
    fuzzing::reads_plan(engine.sql(), &damaged(&PLAN, bytes));
}

/// Whether the plan that is damaged is read when it is not.
pub fn is_sound() -> bool {
    fuzzing::reads_plan(SCENE.0.sql(), &PLAN)
}
