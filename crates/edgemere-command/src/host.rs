//! The machine that the node runs on: its processors, memory and disks.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use sysinfo::System;

/// The machine.
#[derive(Debug)]
pub(crate) struct Host {
    /// None where the machine does not tell.
    system: Mutex<Option<System>>,
}

/// Figures of the memory, in bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Memory {
    pub(crate) total: u64,
    pub(crate) available: u64,
    pub(crate) used: u64,
    pub(crate) free: u64,
}

/// Figures of a disk, in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Disk {
    pub(crate) total: u64,
    pub(crate) free: u64,
}

impl Host {
    /// Begins to watch the processors: their use is always that since the last look.
    pub(crate) fn new() -> Self {
        let host = Self { system: Mutex::new(System::new().ok()) };
        host.cpu_usage();
        host
    }

    /// The use of each processor in per cent, since somebody last asked.
    pub(crate) fn cpu_usage(&self) -> Vec<f32> {
        let mut system = self.system.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(system) = system.as_mut() else { return Vec::new() };
        system.refresh_cpu_usage();
        system.cpus().iter().map(sysinfo::Cpu::usage).collect()
    }

    /// The memory's figures.
    pub(crate) fn memory(&self) -> Memory {
        let mut system = self.system.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(system) = system.as_mut() else { return Memory::default() };
        system.refresh_memory();
        Memory {
            total: system.total_memory(),
            available: system.available_memory(),
            used: system.used_memory(),
            free: system.free_memory(),
        }
    }

    /// The figures of the disk that a folder is on.
    pub(crate) fn disk(&self, folder: &Path) -> std::io::Result<Disk> {
        let disk = rustix::fs::statvfs(folder)?;
        Ok(Disk { total: disk.f_blocks * disk.f_frsize, free: disk.f_bavail * disk.f_frsize })
    }
}
