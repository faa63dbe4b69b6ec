//! Limits of a search for manifests.

use std::time::Duration;

/// Limits of a search for manifests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManifestLimits {
    /// The depth of folders below the folder itself.
    pub depth_max: usize,
    /// The number of folders above it.
    pub parents_max: usize,
    /// The number of files listed.
    pub files_max: usize,
    /// The number of folders searched.
    pub folders_max: usize,
    /// The number of entries in all folders. Further entries are not seen.
    pub entries_max: usize,
    /// The size of a file that can be read.
    pub file_bytes_max: u64,
    /// The interval of searches for changes. It is longer where a search takes long.
    pub look_every: Duration,
}

impl Default for ManifestLimits {
    fn default() -> Self {
        Self {
            depth_max: 8,
            parents_max: 32,
            files_max: 1_000,
            folders_max: 10_000,
            entries_max: 200_000,
            file_bytes_max: 1 << 20,
            look_every: Duration::from_secs(2),
        }
    }
}
