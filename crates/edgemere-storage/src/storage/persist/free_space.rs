//! The room on the disk: how much is free, and how much of it rows leave alone.
//!
//! Dropping rows, the ledger and a restart need room themselves. So rows are refused while less than a
//! reserve is free: dropping rows then still works.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::storage::Error;

/// How long a look at the disk holds.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// The least and the most that is left alone when nobody says how much.
const RESERVE_MIN: u64 = 64 << 20;
const RESERVE_MAX: u64 = 1 << 30;

/// Where the figures of the disk come from.
#[derive(Clone, Debug, Default)]
pub enum DiskProbe {
    /// The file system.
    #[default]
    System,
    /// Who tests: so many bytes are free of 100 GiB.
    Manual(Arc<AtomicU64>),
}

impl PartialEq for DiskProbe {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::System, Self::System) => true,
            (Self::Manual(one), Self::Manual(other)) => Arc::ptr_eq(one, other),
            _ => false,
        }
    }
}

impl Eq for DiskProbe {}

/// The disk of a storage.
#[derive(Debug)]
pub(crate) struct Disk {
    folder: PathBuf,
    probe: DiskProbe,
    /// How much is left alone; none when it follows from the disk.
    reserve: Option<u64>,
    looked: Mutex<Option<(Instant, Room)>>,
}

/// How much room there is.
#[derive(Clone, Copy, Debug)]
struct Room {
    free: u64,
    reserve: u64,
}

impl Disk {
    pub(crate) fn new(folder: &Path, probe: DiskProbe, reserve: Option<u64>) -> Self {
        Self { folder: folder.to_owned(), probe, reserve, looked: Mutex::new(None) }
    }

    /// Refuses rows while the reserve would be touched.
    pub(crate) fn check_append(&self) -> Result<(), Error> {
        self.check(0, 1)
    }

    /// Refuses to merge files when what that takes would touch the reserve.
    pub(crate) fn check_compact(&self, bytes: u64) -> Result<(), Error> {
        self.check(bytes, 1)
    }

    /// Refuses to flush rows when that would take the lower half of the reserve. The upper half is for
    /// this: it ends with less on the disk and in memory.
    pub(crate) fn check_flush(&self, bytes: u64) -> Result<(), Error> {
        self.check(bytes, 2)
    }

    fn check(&self, bytes: u64, share: u64) -> Result<(), Error> {
        let is_enough = |room: &Room| room.free >= (room.reserve / share).saturating_add(bytes);
        // A file system that does not tell, or of which nothing is left alone, is written to until it is full.
        let Some(room) = self.room(is_enough).filter(|room| room.reserve > 0) else {
            return Ok(());
        };
        let Room { free, reserve } = room;
        match is_enough(&room) {
            true => Ok(()),
            false => Err(Error::DiskReserve { folder: self.folder.clone(), free, reserve }),
        }
    }

    /// The room that there is, or was a moment ago if that is enough: who has just made room is not
    /// refused.
    fn room(&self, is_enough: impl Fn(&Room) -> bool) -> Option<Room> {
        let mut looked = self.looked.lock().unwrap_or_else(PoisonError::into_inner);
        if let (Some((at, room)), DiskProbe::System) = (*looked, &self.probe)
            && at.elapsed() < LOOK_EVERY
            && is_enough(&room)
        {
            return Some(room);
        }
        let (total, free) = match &self.probe {
            DiskProbe::System => {
                let disk = rustix::fs::statvfs(&self.folder).ok()?;
                (disk.f_blocks * disk.f_frsize, disk.f_bavail * disk.f_frsize)
            }
            DiskProbe::Manual(free) => (100 << 30, free.load(Ordering::SeqCst)),
        };
        let room = Room { free, reserve: self.reserve.unwrap_or_else(|| default_reserve(total)) };
        *looked = Some((Instant::now(), room));
        Some(room)
    }
}

/// A hundredth of the disk, within limits, and of a very small one a tenth.
fn default_reserve(total: u64) -> u64 {
    (total / 100).clamp(RESERVE_MIN, RESERVE_MAX).min(total / 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reserve_follows_from_the_disk() {
        assert_eq!(default_reserve(10 << 40), 1 << 30);
        assert_eq!(default_reserve(20 << 30), (20 << 30) / 100);
        assert_eq!(default_reserve(2 << 30), 64 << 20);
        assert_eq!(default_reserve(60 << 20), 6 << 20);
    }

    #[test]
    fn rows_stop_first_then_compaction_and_flushes_last() {
        let free = Arc::new(AtomicU64::new(0));
        let disk = Disk::new(Path::new("x"), DiskProbe::Manual(Arc::clone(&free)), Some(1000));
        let may = |bytes| {
            free.store(bytes, Ordering::SeqCst);
            [disk.check_compact(100), disk.check_append(), disk.check_flush(100)]
                .map(|it| it.is_ok())
        };
        assert_eq!(may(1100), [true, true, true]);
        assert_eq!(may(1000), [false, true, true]);
        assert_eq!(may(999), [false, false, true]);
        assert_eq!(may(599), [false, false, false]);
        let error = disk.check_append().unwrap_err();
        assert!(error.is_full());
        assert!(error.hint().unwrap().contains("drop partition"));
    }
}
