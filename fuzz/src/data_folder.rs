//! A data folder with damage in its manifest and in a Parquet file.

use std::{
    fs, io,
    panic::resume_unwind,
    path::{Path, PathBuf},
    sync::LazyLock,
};

use edgemere_query::{Engine, sql::STACK_BYTES};
use edgemere_storage::decode::Input;
use tokio::runtime::{Builder, Runtime};

use crate::damaged;

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
    let builder = &mut Builder::new_multi_thread();
    builder
        .worker_threads(1)
        .thread_stack_size(STACK_BYTES)
        .enable_all()
        .build()
        .expect("a runtime")
});

/// The files of a folder with flushed rows and fresh ones, by their paths in it.
static FILES: LazyLock<Vec<(PathBuf, Vec<u8>)>> = LazyLock::new(|| {
    let folder = tempfile::tempdir().expect("a folder");
    let rows: Vec<String> =
        (0..100).map(|n| format!("{{\"n\": {n}, \"s\": \"text {n}\"}}")).collect();
    let rows = format!("[{}]", rows.join(","));
    RUNTIME.block_on(async {
        let (engine, _) = Engine::open(folder.path()).expect("opens");
        engine.put("d", "t", Input::Json, rows.as_bytes()).await.expect("stores");
        engine.storage().flush_all().await.expect("flushes");
        engine.put("d", "t", Input::Json, rows.as_bytes()).await.expect("stores");
        engine.storage().close().await.expect("closes");
    });
    let mut files = Vec::new();
    read(folder.path(), folder.path(), &mut files).expect("files");
    files
});

/// Damages one file, opens the folder and asks it. The first byte says which file.
pub fn run(bytes: &[u8]) {
    let Some((&which, edits)) = bytes.split_first() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let chosen = usize::from(which) % FILES.len();
    for (index, (path, content)) in FILES.iter().enumerate() {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        let content = if index == chosen { &damaged(content, edits) } else { content };
        fs::write(path, content).expect("a file");
    }
    let path = folder.path().to_owned();
    let asked = RUNTIME.spawn(async move { ask(&path).await });
    if let Err(error) = RUNTIME.block_on(asked) {
        resume_unwind(error.into_panic());
    }
}

/// Whether the folder opens and answers when nothing is damaged.
pub fn is_sound() -> bool {
    let folder = tempfile::tempdir().expect("a folder");
    for (path, content) in FILES.iter() {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        fs::write(path, content).expect("a file");
    }
    RUNTIME.block_on(ask(folder.path()))
}

/// Asks for all rows; gives whether it was answered. What is refused is as good; a panic is not.
async fn ask(folder: &Path) -> bool {
    let Ok((engine, _)) = Engine::open(folder) else { return false };
    let mut is_answered = true;
    for statement in ["select * from t", "select count(*) as n, max(s) as m from t"] {
        match engine.sql().query("d", statement, None).await {
            Ok(mut query) => {
                while let Some(batch) = query.next().await {
                    is_answered &= batch.is_ok();
                }
            }
            Err(_) => is_answered = false,
        }
    }
    let _ = engine.storage().flush_all().await;
    let _ = engine.storage().close().await;
    is_answered
}

fn read(root: &Path, folder: &Path, files: &mut Vec<(PathBuf, Vec<u8>)>) -> io::Result<()> {
    let mut entries: Vec<_> = fs::read_dir(folder)?.collect::<io::Result<_>>()?;
    entries.sort_by_key(fs::DirEntry::path);
    for entry in entries {
        let path = entry.path();
        if entry.file_type()?.is_dir() {
            read(root, &path, files)?;
        } else {
            let content = fs::read(&path)?;
            files.push((path.strip_prefix(root).map_err(io::Error::other)?.to_owned(), content));
        }
    }
    Ok(())
}
