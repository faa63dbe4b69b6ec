//! Manifests in real folders, with real links and pipes.

mod below;
mod changes;
mod found;
mod limits;
#[cfg(unix)]
mod links;
mod read;

use std::{
    fs,
    path::{Path, PathBuf},
};

use mcp_serve::{Body, Context, Fault, Link, Principal, Resources};
use tempfile::TempDir;

use super::{ManifestLimits, Manifests};

const PATTERNS: [&str; 2] = ["golem.yaml", "golem-*.yaml"];

/// A folder of its own with files in it, each of which holds its own path.
pub(super) struct Tree(TempDir);

impl Tree {
    pub(super) fn of(files: &[&str]) -> Self {
        let tree = Self(TempDir::new().unwrap());
        files.iter().for_each(|file| tree.write(file, file));
        tree
    }

    pub(super) fn path(&self, below: &str) -> PathBuf {
        // Where the folder for such folders is a link the addresses have what it leads to.
        self.0.path().canonicalize().unwrap().join(below)
    }

    pub(super) fn write(&self, file: &str, text: &str) {
        let path = self.path(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(super) fn uri(&self, below: &str) -> String {
        format!("file://{}", self.path(below).display())
    }

    pub(super) fn manifests(&self, folder: &str) -> Manifests {
        Manifests::around(self.path(folder), PATTERNS).unwrap()
    }

    pub(super) fn names(&self, folder: &str) -> Vec<String> {
        names(&self.manifests(folder))
    }
}

fn block_on<T>(what: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(what)
}

fn context() -> Context {
    Context::detached(Principal::default())
}

pub(super) fn list(manifests: &Manifests) -> Vec<Link> {
    block_on(manifests.list(&context())).unwrap()
}

pub(super) fn names(manifests: &Manifests) -> Vec<String> {
    list(manifests).into_iter().map(|link| link.name).collect()
}

pub(super) fn read(manifests: &Manifests, uri: &str) -> Result<Option<Body>, Fault> {
    let read = block_on(manifests.read(uri, &context()))?;
    Ok(read.map(|mut contents| {
        assert_eq!(contents.len(), 1);
        let content = contents.pop().unwrap();
        assert_eq!(content.uri, uri);
        content.body
    }))
}

pub(super) fn text(manifests: &Manifests, uri: &str) -> Option<String> {
    match read(manifests, uri).unwrap() {
        Some(Body::Text(text)) => Some(text),
        Some(Body::Bytes(_)) => panic!("{uri} has bytes"),
        None => None,
    }
}

/// Every file below a folder, with links as they are.
pub(super) fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.symlink_metadata().unwrap().is_dir() {
            true => files.extend(self::files(&path)),
            false => files.push(path),
        }
    }
    files
}
