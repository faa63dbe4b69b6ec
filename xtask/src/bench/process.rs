//! What a process uses, as the system tells it.

use std::{fmt, fs, time::Duration};

use anyhow::{Context, Result};

/// How many ticks a second the system counts time of processes in: 100 on every Linux.
const TICKS_PER_SECOND: f64 = 100.0;

/// Memory that is resident.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Memory(f64);

impl Memory {
    /// How much more it is than before.
    pub(super) fn above(self, before: Self) -> Self {
        Self((self.0 - before.0).max(0.0))
    }
}

impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.is_nan() {
            true => f.write_str("unknown"),
            false => write!(f, "{:.1} MB", self.0),
        }
    }
}

/// What is resident now.
pub(super) fn memory(pid: u32) -> Memory {
    read_memory(pid, "VmRSS:")
}

/// What is resident now and is not of files: what the process has made itself.
pub(super) fn own_memory(pid: u32) -> Memory {
    read_memory(pid, "RssAnon:")
}

/// The most that was resident since the process began, or since [`forget_peak`].
pub(super) fn peak(pid: u32) -> Memory {
    read_memory(pid, "VmHWM:")
}

/// Begins to look for the peak anew.
pub(super) fn forget_peak(pid: u32) -> Result<()> {
    fs::write(format!("/proc/{pid}/clear_refs"), "5").context("cannot reset the peak of memory")
}

/// What is resident now of a process and all that it has started.
pub(super) fn tree_memory(pid: u32) -> Memory {
    Memory(tree(pid).into_iter().map(|pid| memory(pid).0).filter(|mb| !mb.is_nan()).sum())
}

/// The time that the processor has worked for a process and all that it has started.
pub(super) fn tree_cpu(pid: u32) -> Result<Duration> {
    let others = tree(pid).into_iter().filter(|other| *other != pid);
    // One that has ended meanwhile counts no more.
    Ok(cpu(pid)? + others.filter_map(|pid| cpu(pid).ok()).sum::<Duration>())
}

/// A process and all that it has started.
fn tree(pid: u32) -> Vec<u32> {
    let mut all = vec![pid];
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    for thread in threads {
        let children = fs::read_to_string(thread.path().join("children")).unwrap_or_default();
        let children = children.split_whitespace().filter_map(|child| child.parse().ok());
        all.extend(children.flat_map(tree));
    }
    all
}

fn read_memory(pid: u32, line: &str) -> Memory {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    Memory(kilobytes(&status, line).map_or(f64::NAN, |kb| kb as f64 / 1024.0))
}

fn kilobytes(status: &str, name: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

/// The time that the processor has worked for the process, on all cores together.
pub(super) fn cpu(pid: u32) -> Result<Duration> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    ticks(&text).map(|t| Duration::from_secs_f64(t / TICKS_PER_SECOND)).context("no time is told")
}

/// The 14th and the 15th word; the second is the name of the program, which may hold spaces.
fn ticks(stat: &str) -> Option<f64> {
    let (_, after_name) = stat.rsplit_once(')')?;
    let mut words = after_name.split_whitespace().skip(11);
    Some(words.next()?.parse::<f64>().ok()? + words.next()?.parse::<f64>().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resident_memory_is_read_from_the_status_of_a_process() {
        let status = "Name:\tx\nVmHWM:\t 10000 kB\nVmRSS:\t   9216 kB\nThreads:\t2\n";
        assert_eq!(kilobytes(status, "VmRSS:"), Some(9216));
        assert_eq!(kilobytes("", "VmRSS:"), None);
        assert_eq!(Memory(12.0).above(Memory(2.5)).to_string(), "9.5 MB");
    }

    #[test]
    fn a_process_is_in_its_own_tree() {
        let own = std::process::id();
        assert_eq!(tree(own).first(), Some(&own));
        assert!(tree_memory(own).0 > 0.0);
        assert!(tree_cpu(own).is_ok());
    }

    #[test]
    fn processor_time_is_read_behind_the_name() {
        let stat = "7 (a b) c) S 1 7 7 0 -1 4 5 0 0 0 120 30 0 0 20 0 9 0 100";
        assert_eq!(ticks(stat), Some(150.0));
        assert_eq!(ticks("7 (x"), None);
    }
}
