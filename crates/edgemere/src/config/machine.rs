//! The memory that this process can have, and the shares of it that hold when nobody says otherwise: a
//! node on a small machine must not take more than there is, and one on a large machine needs no more
//! than what it does well with.

use std::path::Path;
use std::sync::OnceLock;

use sysinfo::System;

/// What is taken for the memory of a machine that does not tell.
const UNKNOWN_BYTES: u64 = 4 << 30;

/// Where Linux says in which group of processes this one is, what such a group may use, and what this
/// process may.
const OWN_GROUP: &str = "/proc/self/cgroup";
const GROUPS: &str = "/sys/fs/cgroup";
const LIMITS: &str = "/proc/self/limits";

const MIB: u64 = 1 << 20;

/// A share of the memory, in 64ths.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Share {
    part: u64,
    min_mib: u64,
    max_mib: u64,
}

/// Of one query.
pub(crate) const QUERY: Share = Share { part: 8, min_mib: 32, max_mib: 512 };
/// Of all queries.
pub(crate) const QUERIES: Share = Share { part: 16, min_mib: 64, max_mib: 1024 };
/// Of the bodies of requests and what is made of them.
pub(crate) const BODIES: Share = Share { part: 8, min_mib: 16, max_mib: 1024 };
/// Of rows that are not in Parquet files yet.
pub(crate) const FRESH: Share = Share { part: 4, min_mib: 8, max_mib: 256 };
/// Of rows that compaction puts together, which takes three times that.
pub(crate) const COMPACT: Share = Share { part: 2, min_mib: 8, max_mib: 128 };

impl Share {
    /// So much of the memory of this machine, as the configuration writes it.
    pub(crate) fn text(self) -> String {
        format!("{}MiB", self.of(memory()) / MIB)
    }

    fn of(self, memory: u64) -> u64 {
        (memory / 64 * self.part).clamp(self.min_mib * MIB, self.max_mib * MIB)
    }
}

/// The memory that this process can have, in bytes: the machine's, or what its group of processes (a
/// container, a service) or the process itself may use, if that is less.
pub(crate) fn memory() -> u64 {
    static MEMORY: OnceLock<u64> = OnceLock::new();
    *MEMORY.get_or_init(|| {
        let group = group_limit(Path::new(GROUPS), &read(Path::new(OWN_GROUP)));
        let own = own_limit(&read(Path::new(LIMITS)));
        [machine(), group, own].into_iter().flatten().min().unwrap_or(UNKNOWN_BYTES)
    })
}

fn machine() -> Option<u64> {
    let mut system = System::new().ok()?;
    system.refresh_memory();
    Some(system.total_memory()).filter(|bytes| *bytes > 0)
}

fn read(file: &Path) -> String {
    std::fs::read_to_string(file).unwrap_or_default()
}

/// The least that any group may use that this process is in, or that such a group is in.
fn group_limit(groups: &Path, own: &str) -> Option<u64> {
    let limits = own.lines().filter_map(|line| {
        // The number of a hierarchy, what it is for, and the group: "0::/a/b", "4:memory:/a/b".
        let mut parts = line.splitn(3, ':');
        let (_, kinds, group) = (parts.next()?, parts.next()?, parts.next()?);
        let (root, file) = match kinds {
            "" => (groups.to_owned(), "memory.max"),
            _ if kinds.split(',').any(|kind| kind == "memory") => {
                (groups.join("memory"), "memory.limit_in_bytes")
            }
            _ => return None,
        };
        let group = root.join(group.trim_start_matches('/'));
        let above = group.ancestors().take_while(|folder| folder.starts_with(&root));
        above.filter_map(|folder| read(&folder.join(file)).trim().parse().ok()).min()
    });
    limits.min()
}

/// How much address space the process may have.
fn own_limit(limits: &str) -> Option<u64> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_machine_is_not_taken_whole_and_a_large_one_gives_what_there_always_was() {
        let all = |memory: u64| {
            let compaction = 3 * COMPACT.of(memory);
            QUERIES.of(memory) + BODIES.of(memory) + FRESH.of(memory) + compaction
        };
        for memory in [512 * MIB, 900 * MIB, 1 << 30, 2 << 30, 4 << 30, 8 << 30, 64 << 30] {
            assert!(all(memory) * 100 <= memory * 60, "{memory}");
            assert!(QUERY.of(memory) <= QUERIES.of(memory), "{memory}");
        }
        let mib = |memory: u64| {
            [QUERY, QUERIES, BODIES, FRESH, COMPACT].map(|share| share.of(memory) / MIB)
        };
        assert_eq!(mib(1 << 30), [128, 256, 128, 64, 32]);
        assert_eq!(mib(4 << 30), [512, 1024, 512, 256, 128]);
        assert_eq!(mib(64 << 30), [512, 1024, 1024, 256, 128]);
        assert_eq!(mib(0), [32, 64, 16, 8, 8]);
    }

    #[test]
    fn the_least_limit_of_the_groups_above_counts() {
        let folder = tempfile::tempdir().unwrap();
        let group = folder.path().join("system.slice/edgemere.service");
        std::fs::create_dir_all(&group).unwrap();
        let own = "0::/system.slice/edgemere.service\n";
        assert_eq!(group_limit(folder.path(), own), None);
        std::fs::write(group.join("memory.max"), "max\n").unwrap();
        assert_eq!(group_limit(folder.path(), own), None);
        std::fs::write(folder.path().join("system.slice/memory.max"), "2000000\n").unwrap();
        assert_eq!(group_limit(folder.path(), own), Some(2_000_000));
        std::fs::write(group.join("memory.max"), "1000000\n").unwrap();
        assert_eq!(group_limit(folder.path(), own), Some(1_000_000));
        let old = folder.path().join("memory/docker/x");
        std::fs::create_dir_all(&old).unwrap();
        std::fs::write(old.join("memory.limit_in_bytes"), "500000\n").unwrap();
        let both = "5:cpu,memory:/docker/x\n1:name=systemd:/y\n0::/system.slice\n";
        assert_eq!(group_limit(folder.path(), both), Some(500_000));
        for none in ["", "nonsense", "0:", "3:cpu:/a"] {
            assert_eq!(group_limit(folder.path(), none), None, "{none}");
        }
    }

    #[test]
    fn the_limit_of_the_process_is_read_where_it_is_told() {
        let line =
            "Max address space         1073741824           unlimited            bytes     \n";
        assert_eq!(own_limit(line), Some(1 << 30));
        assert_eq!(own_limit("Max address space   unlimited   unlimited   bytes\n"), None);
        assert_eq!(own_limit(""), None);
        assert!(memory() > 0);
    }
}
