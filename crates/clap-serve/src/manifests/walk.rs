//! The search for manifests: nearest folders first, so that limits cut off the farthest.

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

/// A file that was modified within this time is hashed. Longer than the interval of searches.
const JUST_NOW: Duration = Duration::from_secs(120);

/// The result of a search.
#[derive(Debug)]
pub(super) struct Walked {
    pub(super) begun: Instant,
    pub(super) took: Duration,
    /// In the order of the list.
    pub(super) found: Vec<Found>,
    /// Whether a limit ended it.
    pub(super) is_cut: bool,
}

/// A manifest that was found.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) uri: String,
    name: String,
    pub(super) stamp: Stamp,
}

/// The state of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    about: About,
    /// The hash of its content, if it was modified just now: file systems have coarse clocks, so that a file can
    /// change again without a new time.
    hash: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct About {
    size: u64,
    modified: Option<SystemTime>,
    /// The inode and its change time, which nobody can set back.
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
        // A modification time in the future, by another machine's clock, counts as just now.
        let age = about.modified.and_then(|at| at.elapsed().ok());
        let is_new = age.is_none_or(|age| age < JUST_NOW);
        let hash = if is_new { hash(file, bytes_max).ok() } else { None };
        Some(Self { about, hash })
    }

    /// Whether the file may have another content than in that state.
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

/// Searches for manifests. It blocks on the disk: not for the threads of the runtime.
pub(super) fn walk(rules: &Rules) -> Walked {
    let begun = Instant::now();
    let mut walk = Walk::new(rules);
    // The folders above are few, and are not to be cut off by those below.
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

/// A search and its remaining budget.
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

    /// The folder itself and those below it, level by level.
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

    /// The names of possible manifests in a folder, and of folders to search, each in order.
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

    /// Adds those that are manifests, within the limit.
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
