//! Files around the working directory as resources: the manifests of a project, for agents that work on it.
//!
//! ```no_run
//! use clap_serve::manifests::Manifests;
//! use mcp_serve::Catalog;
//!
//! # async fn example(server: &mcp_serve::Server) -> Result<(), Box<dyn std::error::Error>> {
//! let manifests = Manifests::around(".", ["golem.yaml", "golem-*.yaml"])?;
//! server.publish(Catalog::new().resources(manifests.clone()));
//! let _watching = manifests.watch(server).await; // notifies clients of changes, until it is dropped
//! # Ok(())
//! # }
//! ```
//!
//! # Which files are found
//!
//! Files whose name matches, in this order:
//!
//! 1. in the folder itself;
//! 2. in the folders below it, by path, except hidden folders, `node_modules` and `target`;
//! 3. in the folders above it, nearest first, without their other subfolders. The last one is the home
//!    folder. A folder that every user can write to, such as `/tmp`, ends the search, because a manifest
//!    there could be anybody's.
//!
//! # Which files can be read
//!
//! Exactly these, by exactly the URI that is listed. Below the folder no symbolic link is followed, to a file
//! or to a folder, not even one that is created during a read: each component of a path is opened relative
//! to the open folder before it. A file behind a link is listed under its own name, if that matches. Pipes,
//! sockets and devices are not manifests. Files that cannot be opened are not listed.
//!
//! On systems other than Unix, links are skipped as far as this can be checked before a file is opened, and no
//! folder counts as writable by every user: serve only folders there that nobody else can write to.
//!
//! The limits on the search shorten the list, farthest files first, but not what can be read.

mod address;
mod error;
mod limits;
mod pattern;
mod rules;
mod walk;
mod watch;

#[cfg(unix)]
mod folder;
#[cfg(not(unix))]
#[path = "folder_elsewhere.rs"]
mod folder;

#[cfg(test)]
mod tests;

use std::{
    io::{ErrorKind, Read},
    path::{Component, Path},
    sync::Arc,
    time::Instant,
};

use mcp_serve::{BoxFuture, Context, Fault, Link, ResourceContent, Resources, Server};
use parking_lot::Mutex;

use self::{address::mime_type, rules::Rules, walk::Walked, watch::Seen};
pub use self::{error::ManifestError, limits::ManifestLimits, watch::Watching};

/// The manifests around a folder. Clones are handles to the same source.
#[derive(Clone, Debug)]
pub struct Manifests(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    rules: Arc<Rules>,
    /// The last search. The lock allows one search at a time.
    walked: Arc<tokio::sync::Mutex<Option<Arc<Walked>>>>,
    seen: Mutex<Seen>,
    view: Option<View>,
}

/// Filters the content of a file, by its name and text. None withholds the file's content.
pub type View = fn(&str, &str) -> Option<String>;

impl Manifests {
    /// Files around a folder whose name matches one of the patterns. In a pattern `*` is any text and `?` one
    /// character; a name that begins with a dot matches only a pattern that does.
    pub fn around(
        folder: impl AsRef<Path>,
        patterns: impl IntoIterator<Item = impl AsRef<str>>,
    ) -> Result<Self, ManifestError> {
        Ok(Self::of(Rules::new(folder.as_ref(), patterns)?))
    }

    /// The same with other limits, and without a watcher.
    #[must_use]
    pub fn within(self, limits: ManifestLimits) -> Self {
        Self::of(self.0.rules.within(limits))
    }

    /// Notifies the server's clients when the list changes, and subscribers when a file changes, until the
    /// guard is dropped. It polls every [`ManifestLimits::look_every`], which also works on network drives, and
    /// only while there are clients.
    ///
    /// It returns after the first search: await it before clients connect, so that no change is missed.
    pub async fn watch(&self, server: &Server) -> Watching {
        watch::watch(self.clone(), server.clone()).await
    }

    fn of(rules: Rules) -> Self {
        let (walked, seen) = Default::default();
        Self(Arc::new(Inner { rules: Arc::new(rules), walked, seen, view: None }))
    }

    /// The same with a filter for the content of files. Binary files are then withheld.
    #[must_use]
    pub fn viewed(self, view: View) -> Self {
        let (walked, seen) = Default::default();
        let rules = Arc::clone(&self.0.rules);
        Self(Arc::new(Inner { rules, walked, seen, view: Some(view) }))
    }

    /// The current manifests. Callers that wait for a search share the next one.
    async fn walk(&self) -> Result<Arc<Walked>, Fault> {
        let asked = Instant::now();
        let mut last = Arc::clone(&self.0.walked).lock_owned().await;
        if let Some(walked) = last.as_ref().filter(|walked| walked.begun >= asked) {
            return Ok(Arc::clone(walked));
        }
        let manifests = self.clone();
        // The search holds the lock, even if its caller is gone.
        let walking = tokio::task::spawn_blocking(move || {
            let walked = Arc::new(walk::walk(&manifests.0.rules));
            manifests.seen().note(&walked);
            *last = Some(Arc::clone(&walked));
            walked
        });
        walking.await.map_err(|_| Fault::internal("the server is about to end"))
    }

    async fn content(&self, uri: &str) -> Result<Option<Vec<ResourceContent>>, Fault> {
        let Some(place) = self.0.rules.place(uri) else { return Ok(None) };
        let rules = Arc::clone(&self.0.rules);
        let reading = tokio::task::spawn_blocking(move || {
            let name = place.name();
            let Ok(file) = place.open(&rules) else { return Ok(None) };
            read(file, &name, rules.limits.file_bytes_max).map(|bytes| Some((name, bytes)))
        });
        let read = reading.await.map_err(|_| Fault::internal("the server is about to end"))??;
        let Some((name, bytes)) = read else { return Ok(None) };
        let Some(view) = self.0.view else { return Ok(Some(vec![content(uri, &name, bytes)])) };
        let shown = String::from_utf8(bytes).ok().and_then(|text| view(&name, &text));
        let shown = shown.ok_or_else(|| Fault::invalid_params(WITHHELD))?;
        Ok(Some(vec![content(uri, &name, shown.into_bytes())]))
    }
}

impl Resources for Manifests {
    fn list<'a>(&'a self, _: &'a Context) -> BoxFuture<'a, Result<Vec<Link>, Fault>> {
        Box::pin(async { Ok(self.walk().await?.found.iter().map(|one| one.link()).collect()) })
    }

    fn read<'a>(
        &'a self,
        uri: &'a str,
        _: &'a Context,
    ) -> BoxFuture<'a, Result<Option<Vec<ResourceContent>>, Fault>> {
        Box::pin(self.content(uri))
    }

    fn may_subscribe(&self, uri: &str) -> bool {
        self.0.rules.place(uri).is_some()
    }
}

/// The message for a file whose content is withheld.
const WITHHELD: &str = "the file holds secrets, and is not shown";

/// Opens a regular file below a folder by a relative path. It follows no link, so neither the path nor a link
/// leads out of the folder.
pub fn open_below(folder: &Path, path: &Path) -> std::io::Result<std::fs::File> {
    let outside = || std::io::Error::new(ErrorKind::PermissionDenied, "it is not in the folder");
    let mut names = Vec::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => names.push(name.to_str().ok_or_else(outside)?),
            Component::CurDir => {}
            _ => return Err(outside()),
        }
    }
    let Some((file, folders)) = names.split_last() else { return Err(outside()) };
    let mut folder = folder::Folder::open(&folder.canonicalize()?)?;
    for name in folders {
        folder = folder.folder(name)?;
    }
    folder.file(file)
}

/// The content of a file, within the limit.
fn read(file: std::fs::File, name: &str, bytes_max: u64) -> Result<Vec<u8>, Fault> {
    let failed = |error: std::io::Error| {
        Fault::internal(format!("\"{name}\" could not be read to its end: {}", error.kind()))
    };
    let mut bytes = Vec::new();
    let size = file.metadata().map_err(failed)?.len();
    if size <= bytes_max {
        // The file may grow during the read.
        file.take(bytes_max.saturating_add(1)).read_to_end(&mut bytes).map_err(failed)?;
    }
    let size = size.max(bytes.len() as u64);
    match size <= bytes_max {
        true => Ok(bytes),
        false => Err(Fault::invalid_params(format!(
            "\"{name}\" has {size} bytes, and a manifest that is read here at most {bytes_max}: \
             read it in parts, with another tool"
        ))),
    }
}

fn content(uri: &str, name: &str, bytes: Vec<u8>) -> ResourceContent {
    match String::from_utf8(bytes) {
        Ok(text) => ResourceContent::text(uri, mime_type(name).unwrap_or("text/plain"), text),
        Err(error) => {
            let mime_type = mime_type(name).unwrap_or("application/octet-stream");
            ResourceContent::bytes(uri, mime_type, error.into_bytes())
        }
    }
}
