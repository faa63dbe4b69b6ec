//! What is known of a file's bytes: their checksums, and whether they are as they were written.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use crate::storage::parquet_files::checksum::Checksums;

/// What is known of a file's bytes.
#[derive(Debug, Default)]
pub(crate) struct Health {
    /// None of a file from before there were checksums, until the scrub has read it.
    checksums: OnceLock<Checksums>,
    /// Why the file is damaged.
    damage: RwLock<Option<Arc<str>>>,
    /// Whether the manifest says the same of the file.
    is_recorded: AtomicBool,
    /// How many bytes were read of it.
    read_bytes: AtomicU64,
}

impl Health {
    /// As the manifest has it.
    pub(crate) fn new(checksums: Option<Checksums>, damage: Option<&str>) -> Self {
        let health = Self {
            damage: RwLock::new(damage.map(Into::into)),
            is_recorded: AtomicBool::new(true),
            ..Self::default()
        };
        if let Some(checksums) = checksums {
            health.set_checksums(checksums);
        }
        health
    }

    pub(crate) fn checksums(&self) -> Option<&Checksums> {
        self.checksums.get()
    }

    pub(crate) fn set_checksums(&self, checksums: Checksums) {
        // Those that are there are of the same bytes.
        let _ = self.checksums.set(checksums);
    }

    /// Why the file is damaged; none when it is not known to be.
    pub(crate) fn damage(&self) -> Option<Arc<str>> {
        self.damage.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The file is damaged, or is not any more. Returns whether that is new.
    pub(crate) fn set_damage(&self, reason: Option<&str>) -> bool {
        let mut damage = self.damage.write().unwrap_or_else(PoisonError::into_inner);
        if damage.is_some() == reason.is_some() {
            return false;
        }
        *damage = reason.map(Into::into);
        self.is_recorded.store(false, Ordering::Release);
        true
    }

    /// Whether the manifest is still to be told, which it is from now on.
    pub(crate) fn take_unrecorded(&self) -> bool {
        !self.is_recorded.swap(true, Ordering::AcqRel)
    }

    /// The manifest could not be told.
    pub(crate) fn set_unrecorded(&self) {
        self.is_recorded.store(false, Ordering::Release);
    }

    pub(crate) fn count_read(&self, bytes: usize) {
        self.read_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub(crate) fn read_bytes(&self) -> u64 {
        self.read_bytes.load(Ordering::Relaxed)
    }
}
