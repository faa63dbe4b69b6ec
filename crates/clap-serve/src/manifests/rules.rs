//! Which files are manifests, and where: the same rules for searches and reads.

use std::{
    env,
    fs::File,
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{
    ManifestError, ManifestLimits, address,
    folder::{Folder, is_everybodys},
    pattern::Pattern,
};

/// Folders of generated files.
const NOT_ENTERED: &[&str] = &["node_modules", "target"];

/// Which files are manifests, and where.
#[derive(Clone, Debug)]
pub(super) struct Rules {
    pub(super) root: Arc<Located>,
    /// The folders above, nearest first.
    parents: Vec<Arc<Located>>,
    patterns: Vec<Pattern>,
    pub(super) limits: ManifestLimits,
}

/// A folder with its URI.
#[derive(Debug)]
pub(super) struct Located {
    pub(super) path: PathBuf,
    uri: String,
}

/// The location of a manifest.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Place {
    /// In the folder or below it: the names of the folders on the way, then its own.
    Below(Vec<String>, String),
    /// In the folder this many levels above.
    Above(usize, String),
}

impl Rules {
    pub(super) fn new(
        folder: &Path,
        patterns: impl IntoIterator<Item = impl AsRef<str>>,
    ) -> Result<Self, ManifestError> {
        let patterns = patterns.into_iter().map(|pattern| Pattern::new(pattern.as_ref()));
        let patterns = patterns.collect::<Result<_, _>>()?;
        let is_folder = |path: PathBuf| match path.is_dir() {
            true => Ok(path),
            false => Err(io::ErrorKind::NotADirectory.into()),
        };
        let root = folder.canonicalize().and_then(is_folder);
        let root =
            root.map_err(|source| ManifestError::Folder { folder: folder.to_owned(), source })?;
        let home = env::home_dir().and_then(|home| home.canonicalize().ok());
        let parents = parents(&root, home.as_deref()).into_iter().map(Located::new).collect();
        let limits = ManifestLimits::default();
        Ok(Self { root: Located::new(root), parents, patterns, limits })
    }

    pub(super) fn within(&self, limits: ManifestLimits) -> Self {
        Self { limits, ..self.clone() }
    }

    /// Whether a file with this name is a manifest.
    pub(super) fn is_manifest(&self, name: &str) -> bool {
        self.patterns.iter().any(|pattern| pattern.fits(name))
    }

    /// Whether a folder with this name is searched.
    pub(super) fn is_entered(&self, name: &str) -> bool {
        !name.starts_with('.') && !NOT_ENTERED.contains(&name)
    }

    /// The folders above that are searched, nearest first.
    pub(super) fn parents(&self) -> &[Arc<Located>] {
        let count = self.parents.len().min(self.limits.parents_max);
        self.parents.get(..count).unwrap_or_default()
    }

    /// The location of the manifest with this URI, if there may be one.
    pub(super) fn place(&self, uri: &str) -> Option<Place> {
        let place = match self.root.inner(uri) {
            Some(inner) => {
                let mut folders = address::names(inner)?;
                let name = folders.pop()?;
                Place::Below(folders, name)
            }
            None => {
                let mut parents = self.parents().iter().enumerate();
                parents.find_map(|(index, parent)| {
                    let [name] =
                        <[String; 1]>::try_from(address::names(parent.inner(uri)?)?).ok()?;
                    Some(Place::Above(index, name))
                })?
            }
        };
        self.allows(&place).then_some(place)
    }

    fn allows(&self, place: &Place) -> bool {
        match place {
            Place::Below(folders, name) => {
                folders.len() <= self.limits.depth_max
                    && folders.iter().all(|folder| self.is_entered(folder))
                    && self.is_manifest(name)
            }
            Place::Above(_, name) => self.is_manifest(name),
        }
    }
}

impl Located {
    fn new(path: PathBuf) -> Arc<Self> {
        let uri = address::of_folder(&path);
        Arc::new(Self { path, uri })
    }

    /// The rest of a URI after that of this folder.
    fn inner<'a>(&self, uri: &'a str) -> Option<&'a str> {
        uri.strip_prefix(self.uri.as_str())?.strip_prefix('/')
    }
}

impl Place {
    /// The path from the folder, for display.
    pub(super) fn name(&self) -> String {
        let path = match self {
            Self::Below(folders, name) => {
                let folders = folders.iter().map(|folder| format!("{folder}/"));
                folders.chain([name.clone()]).collect::<String>()
            }
            Self::Above(index, name) => format!("{}{name}", "../".repeat(index + 1)),
        };
        address::shown(&path)
    }

    pub(super) fn uri(&self, rules: &Rules) -> Option<String> {
        Some(match self {
            Self::Below(folders, name) => {
                let root = rules.root.uri.clone();
                let folder = folders.iter().fold(root, |uri, name| address::within(&uri, name));
                address::within(&folder, name)
            }
            Self::Above(index, name) => address::within(&rules.parents.get(*index)?.uri, name),
        })
    }

    /// Opens the file, if it exists, one component at a time, so that no link leads elsewhere.
    pub(super) fn open(&self, rules: &Rules) -> io::Result<File> {
        match self {
            Self::Below(folders, name) => {
                descend(&Folder::open(&rules.root.path)?, folders)?.file(name)
            }
            Self::Above(index, name) => {
                let parent = rules.parents.get(*index).ok_or(io::ErrorKind::NotFound)?;
                Folder::open(&parent.path)?.file(name)
            }
        }
    }
}

/// The folder that these names lead to.
pub(super) fn descend(root: &Folder, folders: &[String]) -> io::Result<Folder> {
    // `.` opens the same folder again.
    let mut folder = root.folder(".")?;
    for name in folders {
        folder = folder.folder(name)?;
    }
    Ok(folder)
}

/// The folders above a folder, nearest first: up to the home folder or one that every user can write to.
fn parents(folder: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    let mut parents = Vec::new();
    for (below, parent) in folder.ancestors().zip(folder.ancestors().skip(1)) {
        if home == Some(below) || is_everybodys(parent) {
            break;
        }
        parents.push(parent.to_owned());
    }
    parents
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_up_ends_at_home() {
        let folder = Path::new("/nowhere/people/me/notes/app");
        let above = |home: Option<&str>| parents(folder, home.map(Path::new)).len();
        assert_eq!(above(Some("/nowhere/people/me")), 2);
        assert_eq!(above(Some("/nowhere/people/me/notes/app")), 0);
        assert_eq!(above(Some("/nowhere/people/you")), 5);
        assert_eq!(above(None), 5);
    }
}
