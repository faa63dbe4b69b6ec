//! Looking for manifests: near folders first, so that limits cut off what is far.

use std::{
    collections::VecDeque,
    fs::{File, Metadata},
    hash::{DefaultHasher, Hash, Hasher},
    io::{self, Read},
    time::{Duration, Instant, SystemTime},
};

use mcp_serve::Link;

use super::{
    address::mime_type,
    folder::{Folder, Kind},
    rules::{Place, Rules, descend},
};

/// A file that was changed in this time is looked into. Longer than from one look to the next.
const JUST_NOW: Duration = Duration::from_secs(120);

/// What a walk found.
#[derive(Debug)]
pub(super) struct Walked {
    pub(super) begun: Instant,
    pub(super) took: Duration,
    /// In the order in which they are listed.
    pub(super) found: Vec<Found>,
    /// Whether a limit ended it.
    pub(super) is_cut: bool,
}

/// A manifest that there is.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) uri: String,
    name: String,
    pub(super) stamp: Stamp,
}

/// How a file looked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    about: About,
    /// Of what it holds, when it was changed just now: clocks of file systems stand still for some
    /// moments, so that a file can change once more and look the same.
    hash: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct About {
    size: u64,
    modified: Option<SystemTime>,
    /// Which file it is, and when anything about it changed, which nobody can set back.
    #[cfg(unix)]
    identity: (u64, u64, i64, i64),
}

impl Found {
    pub(super) fn link(&self) -> Link {
        Link {
            mime_type: Some(mime_type(&self.name).unwrap_or("text/plain").to_owned()),
            size: Some(self.stamp.about.size),
            ..Link::new(&self.uri, &self.name)
        }
    }
}

impl Stamp {
    fn of(file: File, bytes_max: u64) -> Option<Self> {
        let about = About::of(&file.metadata().ok()?);
        // What will have been changed, by the clock of another machine, was changed just now too.
        let age = about.modified.and_then(|at| at.elapsed().ok());
        let is_new = age.is_none_or(|age| age < JUST_NOW);
        let hash = if is_new { hash(file, bytes_max).ok() } else { None };
        Some(Self { about, hash })
    }

    /// Whether the file may hold something else than when it looked like this.
    pub(super) fn may_differ(&self, before: &Self) -> bool {
        let is_other_text = self.hash.zip(before.hash).is_some_and(|(one, other)| one != other);
        self.about != before.about || is_other_text
    }
}

impl About {
    fn of(about: &Metadata) -> Self {
        #[cfg(unix)]
        use std::os::unix::fs::MetadataExt;
        Self {
            size: about.len(),
            modified: about.modified().ok(),
            #[cfg(unix)]
            identity: (about.dev(), about.ino(), about.ctime(), about.ctime_nsec()),
        }
    }
}

fn hash(file: File, bytes_max: u64) -> io::Result<u64> {
    let mut bytes = Vec::new();
    file.take(bytes_max).read_to_end(&mut bytes)?;
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    Ok(hasher.finish())
}

/// Looks for manifests. It takes as long as the disk does: not for the threads that serve.
pub(super) fn walk(rules: &Rules) -> Walked {
    let begun = Instant::now();
    let mut walk = Walk::new(rules);
    // What is above is little, and is not to be cut off by what is below.
    let mut above = Vec::new();
    for (index, parent) in rules.parents().iter().enumerate() {
        if let Ok(folder) = Folder::open(&parent.path) {
            let (files, _) = walk.look(&folder);
            above.extend(walk.found(&folder, files, |name| Place::Above(index, name)));
        }
    }
    let mut below = walk.below();
    below.sort_by(|(one, _), (other, _)| one.cmp(other));
    let found = below.into_iter().map(|(_, found)| found).chain(above.into_iter().map(|(_, f)| f));
    Walked { begun, found: found.collect(), is_cut: walk.is_cut, took: begun.elapsed() }
}

/// A walk, and what it may still spend.
struct Walk<'a> {
    rules: &'a Rules,
    files_left: usize,
    folders_left: usize,
    entries_left: usize,
    is_cut: bool,
}

impl<'a> Walk<'a> {
    fn new(rules: &'a Rules) -> Self {
        let limits = &rules.limits;
        Self {
            rules,
            files_left: limits.files_max,
            folders_left: limits.folders_max,
            entries_left: limits.entries_max,
            is_cut: false,
        }
    }

    /// The folder itself and what is below it, level by level.
    fn below(&mut self) -> Vec<(Place, Found)> {
        let mut all = Vec::new();
        let root = match Folder::open(&self.rules.root.path) {
            Ok(root) => root,
            Err(error) => {
                tracing::warn!(folder = %self.rules.root.path.display(), %error, "no manifests");
                return all;
            }
        };
        let mut waiting = VecDeque::from([Vec::new()]);
        while let Some(path) = waiting.pop_front() {
            let Ok(folder) = descend(&root, &path) else { continue };
            let (files, folders) = self.look(&folder);
            all.extend(self.found(&folder, files, |name| Place::Below(path.clone(), name)));
            if path.len() >= self.rules.limits.depth_max {
                continue;
            }
            for name in folders {
                if waiting.len() >= self.folders_left {
                    self.is_cut = true;
                    break;
                }
                waiting.push_back(path.iter().cloned().chain([name]).collect());
            }
        }
        all
    }

    /// The names of what may be manifests in a folder, and of folders that may hold some, each in
    /// their order.
    fn look(&mut self, folder: &Folder) -> (Vec<String>, Vec<String>) {
        let (mut files, mut folders) = (Vec::new(), Vec::new());
        if self.folders_left == 0 || self.entries_left == 0 {
            self.is_cut = true;
            return (files, folders);
        }
        self.folders_left -= 1;
        let Ok((entries, count)) = folder.entries(self.entries_left) else {
            return (files, folders);
        };
        self.entries_left = self.entries_left.saturating_sub(count);
        self.is_cut |= self.entries_left == 0;
        for (name, kind) in entries {
            if kind != Kind::Folder && self.rules.is_manifest(&name) {
                files.push(name.clone());
            }
            if kind != Kind::File && self.rules.is_entered(&name) {
                folders.push(name);
            }
        }
        files.sort_unstable();
        folders.sort_unstable();
        (files, folders)
    }

    /// Those that are manifests, as many as there is room for.
    fn found(
        &mut self,
        folder: &Folder,
        files: Vec<String>,
        place: impl Fn(String) -> Place,
    ) -> Vec<(Place, Found)> {
        let mut all = Vec::new();
        for name in files {
            let Some(found) = self.one(folder.file(&name).ok(), place(name)) else { continue };
            if self.files_left == 0 {
                self.is_cut = true;
                break;
            }
            self.files_left -= 1;
            all.push(found);
        }
        all
    }

    fn one(&self, file: Option<File>, place: Place) -> Option<(Place, Found)> {
        let stamp = Stamp::of(file?, self.rules.limits.file_bytes_max)?;
        let (uri, name) = (place.uri(self.rules)?, place.name());
        Some((place, Found { uri, name, stamp }))
    }
}
