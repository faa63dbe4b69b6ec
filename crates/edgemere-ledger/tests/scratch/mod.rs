//! A folder for tests that sync thousands of times but do not test the disk.

use std::path::Path;

use tempfile::TempDir;

/// A new folder, in memory where the system has a place for that.
pub(crate) fn folder() -> TempDir {
    let memory = Path::new("/dev/shm");
    tempfile::tempdir_in(memory).or_else(|_| tempfile::tempdir()).unwrap()
}
