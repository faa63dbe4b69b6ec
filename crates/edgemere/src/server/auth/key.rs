//! The network key: where it comes from, and that it is never shown.

use std::fmt;
use std::io::{self, ErrorKind, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use super::mac::{self, LENGTH};

/// The key's file in the data folder of a node.
const FILE_NAME: &str = "network.key";

/// The key that all nodes of a network have.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct NetworkKey([u8; LENGTH]);

/// Shows that there is a key, and not which.
impl fmt::Debug for NetworkKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NetworkKey(…)")
    }
}

/// What was given for a key is none.
#[derive(Debug, thiserror::Error)]
#[error("cannot use the network key in \"{}\"", file.display())]
pub(crate) struct BadKey {
    file: PathBuf,
    source: io::Error,
}

/// A node that others can reach has no key.
#[derive(Debug, thiserror::Error)]
#[error(
    "the network address {address} can be reached from other machines, and the node has no network \
     key to tell its network's nodes from strangers"
)]
pub(crate) struct NoKey {
    address: SocketAddr,
}

impl NetworkKey {
    /// A new key.
    fn random() -> io::Result<Self> {
        let mut key = [0; LENGTH];
        getrandom::fill(&mut key).map_err(io::Error::other)?;
        Ok(Self(key))
    }

    /// A key as it stands in its file: 64 hex digits.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        mac::unhex(text.trim()).map(Self)
    }

    pub(super) fn bytes(&self) -> &[u8; LENGTH] {
        &self.0
    }

    /// The key of a node: the one that was given, as a file's name or, from the environment, itself;
    /// the one in its data folder; none when no other machine reaches the node. A master that others
    /// can reach makes one.
    pub(crate) fn find(
        given: Option<&str>,
        data: &Path,
        bind: SocketAddr,
        is_master: bool,
    ) -> anyhow::Result<Option<Self>> {
        let own = data.join(FILE_NAME);
        if let Some(given) = given {
            let key = Self::parse(given).map_or_else(|| Self::read(Path::new(given)), Ok);
            return Ok(Some(key?));
        }
        if own.exists() {
            return Ok(Some(Self::read(&own)?));
        }
        match (bind.ip().is_loopback(), is_master) {
            (true, _) => Ok(None),
            (false, false) => Err(NoKey { address: bind }.into()),
            (false, true) => {
                let bad = |source| BadKey { file: own.clone(), source };
                let key = Self::random().map_err(bad)?;
                std::fs::create_dir_all(data).and_then(|()| key.write(&own)).map_err(bad)?;
                let file = own.display();
                tracing::info!(%file, "made the network key; nodes that join need a copy of the file");
                Ok(Some(key))
            }
        }
    }

    fn read(file: &Path) -> Result<Self, BadKey> {
        let bad = |source| BadKey { file: file.to_owned(), source };
        let text = std::fs::read_to_string(file).map_err(bad)?;
        let key = Self::parse(&text).ok_or_else(|| {
            bad(io::Error::new(ErrorKind::InvalidData, "it is not a line of 64 hex digits"))
        })?;
        if is_open_to_others(file) {
            let file = file.display();
            tracing::warn!(%file, "others on this machine can read the network key; chmod 600 it");
        }
        Ok(key)
    }

    /// Writes the key to a file that only this user can read.
    fn write(&self, file: &Path) -> io::Result<()> {
        let mut options = std::fs::OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut opened = options.open(file)?;
        writeln!(opened, "{}", mac::hex(&self.0))?;
        opened.sync_all()
    }
}

#[cfg(unix)]
fn is_open_to_others(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(file).is_ok_and(|metadata| metadata.permissions().mode() & 0o077 != 0)
}

#[cfg(not(unix))]
fn is_open_to_others(_file: &Path) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(
        given: Option<&str>,
        data: &Path,
        bind: &str,
        master: bool,
    ) -> anyhow::Result<Option<NetworkKey>> {
        NetworkKey::find(given, data, bind.parse().unwrap(), master)
    }

    #[test]
    fn a_master_that_others_reach_makes_a_key_once_and_shows_it_to_nobody() {
        let folder = tempfile::tempdir().unwrap();
        let key = find(None, folder.path(), "0.0.0.0:1", true).unwrap().unwrap();
        assert_eq!(find(None, folder.path(), "0.0.0.0:1", true).unwrap().unwrap(), key);
        // It is required from then on, wherever the node listens.
        assert_eq!(find(None, folder.path(), "127.0.0.1:1", true).unwrap().unwrap(), key);
        let file = folder.path().join(FILE_NAME);
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(!format!("{key:?}").contains(text.trim()));
        assert!(!is_open_to_others(&file));
        let other = tempfile::tempdir().unwrap();
        for given in [file.to_str().unwrap(), text.trim()] {
            let read = find(Some(given), other.path(), "127.0.0.1:1", false).unwrap().unwrap();
            assert_eq!(read, key);
        }
    }

    #[test]
    fn only_where_no_other_machine_reaches_is_there_no_need_of_one() {
        let folder = tempfile::tempdir().unwrap();
        assert!(find(None, folder.path(), "127.0.0.1:1", true).unwrap().is_none());
        assert!(find(None, folder.path(), "[::1]:1", false).unwrap().is_none());
        assert!(find(None, folder.path(), "10.0.0.1:1", false).unwrap_err().is::<NoKey>());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_file_that_is_no_key_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("key");
        std::fs::write(&file, "secret").unwrap();
        for given in [file.to_str().unwrap(), "nowhere"] {
            let error = find(Some(given), folder.path(), "127.0.0.1:1", true).unwrap_err();
            assert!(error.is::<BadKey>() && error.to_string().contains(given), "{error}");
        }
    }
}
