//! What looking for manifests may cost.

use std::time::Duration;

/// What looking for manifests may cost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManifestLimits {
    /// How many folders lie between the folder itself and a file below it.
    pub depth_max: usize,
    /// How many of the folders above are looked at.
    pub parents_max: usize,
    /// How many files are listed.
    pub files_max: usize,
    /// How many folders are looked at.
    pub folders_max: usize,
    /// How many entries all these folders have. In one that has more, some are not seen.
    pub entries_max: usize,
    /// The length of a file that can be read.
    pub file_bytes_max: u64,
    /// How often is looked for changes. Where looking takes long it is done more rarely.
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
