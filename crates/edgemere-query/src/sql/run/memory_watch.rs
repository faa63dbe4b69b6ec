//! The memory of the whole process, watched. What queries take is counted where it can be; what is not
//! counted is seen here, before the system ends the process for it.
//!
//! Above the soft mark no further query begins. Above the hard mark the query that holds the most is
//! ended, and half a second later the next, until the process is below it.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::thread;
use std::time::Duration;

use crate::sql::run::deadline::Deadline;

/// How often the memory is looked at.
const PAUSE: Duration = Duration::from_millis(100);

/// How many looks a query that was ended has to give its memory back, before the next is ended.
const LOOKS: u32 = 5;

/// What runs, and whether the memory is short.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    running: Mutex<Vec<Running>>,
    is_short: AtomicBool,
}

/// A query that runs.
#[derive(Debug)]
struct Running {
    stop: Deadline,
    /// Lives as long as the query.
    alive: Weak<()>,
    used_bytes: Arc<AtomicUsize>,
}

/// What a query is known by while it runs.
#[derive(Debug)]
pub(crate) struct Known {
    _alive: Arc<()>,
    /// How much memory it has taken, as far as that is counted.
    pub(crate) used_bytes: Arc<AtomicUsize>,
}

impl Watch {
    /// Watches the memory of the process, for as long as the returned handle lives. Without a limit
    /// of its own the process may have what the machine has.
    pub(crate) fn start(limit_bytes: Option<u64>) -> Arc<Self> {
        let watch = Arc::new(Self::default());
        let limit_bytes = limit_bytes.or_else(machine_bytes);
        let Some((limit_bytes, _)) = limit_bytes.zip(resident_bytes()) else { return watch };
        let watched = Watched { watch: Arc::downgrade(&watch), limit_bytes, looks: 0 };
        WATCHED.lock().unwrap_or_else(PoisonError::into_inner).push(watched);
        let name = "edgemere-memory".to_owned();
        let started =
            STARTED.get_or_init(|| thread::Builder::new().name(name).spawn(look_at_all).is_ok());
        if !started {
            tracing::warn!("the memory of the process is not watched");
        }
        watch
    }

    /// Whether no further query may begin.
    pub(crate) fn is_short(&self) -> bool {
        self.is_short.load(Ordering::Relaxed)
    }

    /// A query begins.
    pub(crate) fn begin(&self, stop: &Deadline) -> Known {
        let alive = Arc::new(());
        let used_bytes = Arc::default();
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.retain(|query| query.alive.strong_count() > 0);
        running.push(Running {
            stop: stop.clone(),
            alive: Arc::downgrade(&alive),
            used_bytes: Arc::clone(&used_bytes),
        });
        Known { _alive: alive, used_bytes }
    }

    /// Looks at the memory once. Gives the looks until a further query may be ended.
    fn look(&self, resident_bytes: u64, limit_bytes: u64, looks: u32) -> u32 {
        self.is_short.store(resident_bytes > limit_bytes / 10 * 8, Ordering::Relaxed);
        if resident_bytes <= limit_bytes / 10 * 9 {
            return 0;
        }
        if looks > 0 {
            return looks - 1;
        }
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.retain(|query| query.alive.strong_count() > 0 && !query.stop.is_now());
        // Of those that hold the same, the last: it is what is new.
        let most = running.iter().max_by_key(|query| query.used_bytes.load(Ordering::Relaxed));
        if let Some(query) = most {
            tracing::warn!(resident_bytes, "the memory is short; the largest query is ended");
            query.stop.for_memory();
        }
        LOOKS
    }
}

/// What is watched, by one thread for the whole process.
static WATCHED: Mutex<Vec<Watched>> = Mutex::new(Vec::new());

/// Whether that thread could be started.
static STARTED: OnceLock<bool> = OnceLock::new();

struct Watched {
    watch: Weak<Watch>,
    limit_bytes: u64,
    looks: u32,
}

fn look_at_all() {
    loop {
        let resident_bytes = resident_bytes().unwrap_or(0);
        let mut watched = WATCHED.lock().unwrap_or_else(PoisonError::into_inner);
        watched.retain_mut(|Watched { watch, limit_bytes, looks }| {
            let Some(watch) = watch.upgrade() else { return false };
            *looks = watch.look(resident_bytes, *limit_bytes, *looks);
            true
        });
        drop(watched);
        thread::sleep(PAUSE);
    }
}

/// The memory that the process occupies, where the system tells.
fn resident_bytes() -> Option<u64> {
    kilobytes(&std::fs::read_to_string("/proc/self/status").ok()?, "VmRSS:")
}

/// The memory that the process may have: the machine's, or less when a control group says so.
fn machine_bytes() -> Option<u64> {
    let machine = kilobytes(&std::fs::read_to_string("/proc/meminfo").ok()?, "MemTotal:")?;
    let group = std::fs::read_to_string("/sys/fs/cgroup/memory.max").ok();
    let group = group.and_then(|bytes| bytes.trim().parse().ok());
    Some(group.map_or(machine, |group: u64| group.min(machine)))
}

fn kilobytes(figures: &str, name: &str) -> Option<u64> {
    let line = figures.lines().find_map(|line| line.strip_prefix(name))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes.saturating_mul(1024))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_query_that_holds_the_most_is_ended_first_and_then_the_next() {
        let watch = Watch::default();
        let stops = [(); 3].map(|()| Deadline::after(Duration::from_secs(3600)));
        let known: Vec<_> = stops.iter().map(|stop| watch.begin(stop)).collect();
        for (query, bytes) in known.iter().zip([10, 30, 20]) {
            query.used_bytes.store(bytes, Ordering::Relaxed);
        }
        let ended = || stops.each_ref().map(Deadline::is_now);
        assert_eq!(watch.look(70, 100, 0), 0);
        assert!(!watch.is_short());
        assert_eq!(watch.look(85, 100, 0), 0);
        assert!(watch.is_short());
        assert_eq!(ended(), [false, false, false]);
        let looks = watch.look(95, 100, 0);
        assert_eq!((looks, ended()), (LOOKS, [false, true, false]));
        assert_eq!(watch.look(95, 100, looks), LOOKS - 1);
        assert_eq!(ended(), [false, true, false]);
        watch.look(95, 100, 0);
        assert_eq!(ended(), [false, true, true]);
        assert!(stops.iter().filter(|stop| stop.is_now()).all(Deadline::was_for_memory));
    }
}
