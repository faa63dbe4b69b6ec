//! Files around the working folder as resources: what a project says of itself, for who works on it.
//!
//! ```no_run
//! use clap_serve::manifests::Manifests;
//! use mcp_serve::Catalog;
//!
//! # async fn example(server: &mcp_serve::Server) -> Result<(), Box<dyn std::error::Error>> {
//! let manifests = Manifests::around(".", ["golem.yaml", "golem-*.yaml"])?;
//! server.offer(Catalog::new().resources(manifests.clone()));
//! let _watching = manifests.watch(server).await; // tells clients what changes, until it is dropped
//! # Ok(())
//! # }
//! ```
//!
//! # What is found
//!
//! Files with a fitting name, in this order:
//!
//! 1. in the folder itself;
//! 2. in the folders below it, by path. Left out are hidden folders, `node_modules` and `target`;
//! 3. in the folders above it, from near to far, but not in what else these hold. The last one is
//!    the home folder. A folder that everybody may write to, such as `/tmp`, ends the way up, because
//!    a manifest there could be anybody's.
//!
//! # What can be read
//!
//! Exactly that, by exactly the address that is listed. Below the folder no symbolic link is
//! followed, neither to a file nor to a folder, also not one that is put there at the moment of
//! reading: each part of a path is opened in the folder that was opened before, and what counts is
//! what was opened. A file that a link points to is listed under its own name, when it has one that
//! fits. Pipes, sockets and devices are no manifests. What cannot be opened is not listed either.
//!
//! Where the system is no Unix, links are left out as far as can be seen before a file is opened, and no
//! folder counts as everybody's: offer only folders there in which nobody else writes.
//!
//! The limits on how many are found cut the list, from far to near, and not what can be read.

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
    sync::{Arc, Mutex},
    time::Instant,
};

use mcp_serve::{BoxFuture, Context, Fault, Link, ResourceContent, Resources, Server};

use self::{address::mime_type, rules::Rules, walk::Walked, watch::Seen};
pub use self::{error::ManifestError, limits::ManifestLimits, watch::Watching};

/// The manifest files around a folder. Clones are the same source.
#[derive(Clone, Debug)]
pub struct Manifests(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    rules: Arc<Rules>,
    /// The last walk. Who holds it walks: there is one at a time.
    walked: Arc<tokio::sync::Mutex<Option<Arc<Walked>>>>,
    seen: Mutex<Seen>,
    view: Option<View>,
}

/// What is shown of a file, by its name and its text; none when nothing of it is to be shown.
pub type View = fn(&str, &str) -> Option<String>;

impl Manifests {
    /// Files with a name like one of these, around this folder. In a pattern `*` stands for any
    /// text and `?` for one character; a name that begins with a dot fits only a pattern that does.
    pub fn around(
        folder: impl AsRef<Path>,
        patterns: impl IntoIterator<Item = impl AsRef<str>>,
    ) -> Result<Self, ManifestError> {
        Ok(Self::of(Rules::new(folder.as_ref(), patterns)?))
    }

    /// The same with other limits, and nobody watching.
    #[must_use]
    pub fn within(self, limits: ManifestLimits) -> Self {
        Self::of(self.0.rules.within(limits))
    }

    /// Tells the server's clients when the list differs, and subscribers when a file does, until
    /// the guard is dropped. The files are looked at every [`ManifestLimits::look_every`], also
    /// where nothing tells of changes, as on network drives, and only while there are clients.
    ///
    /// It returns when it has looked once: await it before clients are let in, and no change that
    /// comes after what a client was shown is missed.
    pub async fn watch(&self, server: &Server) -> Watching {
        watch::watch(self.clone(), server.clone()).await
    }

    fn of(rules: Rules) -> Self {
        let (walked, seen) = Default::default();
        Self(Arc::new(Inner { rules: Arc::new(rules), walked, seen, view: None }))
    }

    /// The same with what is shown of each file, which is all of it otherwise. Files that are no text are
    /// then not shown.
    #[must_use]
    pub fn viewed(self, view: View) -> Self {
        let (walked, seen) = Default::default();
        let rules = Arc::clone(&self.0.rules);
        Self(Arc::new(Inner { rules, walked, seen, view: Some(view) }))
    }

    /// What there is now. Who asks while somebody walks shares the next walk with all who wait.
    async fn walk(&self) -> Result<Arc<Walked>, Fault> {
        let asked = Instant::now();
        let mut last = Arc::clone(&self.0.walked).lock_owned().await;
        if let Some(walked) = last.as_ref().filter(|walked| walked.begun >= asked) {
            return Ok(Arc::clone(walked));
        }
        let manifests = self.clone();
        // The walk keeps the lock, also when nobody waits for it any more.
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

/// What is said of a file of which nothing is shown.
const WITHHELD: &str = "the file holds secrets, and is not shown";

/// Opens a regular file below a folder, by a path from there. No link is followed on the way: neither the
/// path nor a link in the folder leads out of it.
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

/// What a file holds, when that is not too much.
fn read(file: std::fs::File, name: &str, bytes_max: u64) -> Result<Vec<u8>, Fault> {
    let failed = |error: std::io::Error| {
        Fault::internal(format!("\"{name}\" could not be read to its end: {}", error.kind()))
    };
    let mut bytes = Vec::new();
    let size = file.metadata().map_err(failed)?.len();
    if size <= bytes_max {
        // It may grow while it is read.
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
