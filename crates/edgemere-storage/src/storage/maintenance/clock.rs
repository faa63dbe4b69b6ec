//! The clock of a storage, and whether it may be trusted with deleting rows.
//!
//! A wall clock jumps: a battery is empty, a time server is wrong, a machine was suspended. Rows that are
//! dropped because of it are gone when it is right again. So the wall clock is compared with the monotonic
//! one while the storage is open, and with the last time that was seen before, over a restart. While it is
//! too far ahead of both, nothing is dropped by age.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use crate::storage::shared::now;

/// How far the wall clock may get ahead of the monotonic one.
pub const CLOCK_JUMP_MAX: Duration = Duration::from_secs(60 * 60);

/// How far it may be ahead of the last time that was seen, when the storage is opened: so long may a node
/// be off without anybody being asked.
pub const CLOCK_OFF_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// A clock that was too far ahead at the start and has not gone back for so long is right: the node was off.
pub const CLOCK_GRACE: Duration = Duration::from_secs(24 * 60 * 60);

/// Where the time comes from.
#[derive(Clone, Debug, Default)]
pub enum Clock {
    /// The machine.
    #[default]
    System,
    /// Who tests.
    Manual(Arc<ManualClock>),
}

/// A clock that is set by hand.
#[derive(Debug, Default)]
pub struct ManualClock {
    wall_us: AtomicI64,
    monotonic_us: AtomicU64,
}

impl ManualClock {
    /// A clock that begins at a time, in microseconds since 1970.
    #[must_use]
    pub fn new(wall_us: i64) -> Arc<Self> {
        let clock = Self::default();
        clock.wall_us.store(wall_us, Ordering::SeqCst);
        Arc::new(clock)
    }

    /// Time goes by.
    pub fn pass(&self, time: Duration) {
        self.jump(time.as_micros() as i64);
        self.monotonic_us.fetch_add(time.as_micros() as u64, Ordering::SeqCst);
    }

    /// The wall clock is set to another time, by so many microseconds.
    pub fn jump(&self, by_us: i64) {
        self.wall_us.fetch_add(by_us, Ordering::SeqCst);
    }
}

impl Clock {
    /// The wall clock: microseconds since 1970.
    pub(crate) fn wall(&self) -> i64 {
        match self {
            Self::System => now(),
            Self::Manual(clock) => clock.wall_us.load(Ordering::SeqCst),
        }
    }

    /// The monotonic clock, since some moment.
    fn monotonic(&self) -> Duration {
        static START: OnceLock<Instant> = OnceLock::new();
        match self {
            Self::System => START.get_or_init(Instant::now).elapsed(),
            Self::Manual(clock) => Duration::from_micros(clock.monotonic_us.load(Ordering::SeqCst)),
        }
    }
}

/// The system's clock is always the same one.
impl PartialEq for Clock {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::System, Self::System) => true,
            (Self::Manual(one), Self::Manual(other)) => Arc::ptr_eq(one, other),
            _ => false,
        }
    }
}

impl Eq for Clock {}

/// Watches the clock of an open storage.
#[derive(Debug)]
pub(crate) struct ClockWatch {
    clock: Clock,
    watch: Mutex<Watch>,
}

#[derive(Debug)]
struct Watch {
    /// A wall time that was right, and the monotonic time then; none before any was seen.
    trusted: Option<(i64, Duration)>,
    /// Whether the wall clock has been in step with it since the storage was opened. A machine without a
    /// battery begins in the past, and its clock is set later.
    in_step: bool,
    /// How far ahead the clock is, in microseconds, and the monotonic time when that was first seen.
    ahead: Option<(i64, Duration)>,
}

impl ClockWatch {
    /// Begins to watch, with the last time that was seen when the storage was open before.
    pub(crate) fn new(clock: Clock, seen: Option<i64>) -> Self {
        let trusted = seen.map(|seen| (seen, clock.monotonic()));
        Self { clock, watch: Mutex::new(Watch { trusted, in_step: false, ahead: None }) }
    }

    pub(crate) fn wall(&self) -> i64 {
        self.clock.wall()
    }

    /// Compares the clocks. Without an error the wall clock may be trusted, and is given.
    pub(crate) fn check(&self) -> Result<i64, String> {
        let (wall, monotonic) = (self.clock.wall(), self.clock.monotonic());
        let mut watch = self.lock();
        let Some((seen, then)) = watch.trusted else {
            *watch = Watch { trusted: Some((wall, monotonic)), in_step: true, ahead: None };
            return Ok(wall);
        };
        let expected = seen.saturating_add(micros(monotonic.saturating_sub(then)));
        let ahead = wall.saturating_sub(expected);
        let slack = if watch.in_step { CLOCK_JUMP_MAX } else { CLOCK_OFF_MAX };
        let since = watch.ahead.map_or(monotonic, |(_, since)| since);
        let was_off = !watch.in_step && monotonic.saturating_sub(since) >= CLOCK_GRACE;
        if ahead > micros(slack) && !was_off {
            if watch.ahead.is_none() {
                tracing::warn!(
                    ahead_s = ahead / 1_000_000,
                    "the clock jumped: nothing is dropped by age"
                );
            }
            watch.ahead = Some((ahead, since));
            return Err(reason(ahead));
        }
        if watch.ahead.take().is_some() {
            tracing::info!("the clock is taken for right: rows are dropped by age again");
        }
        // A clock that is behind from the start on has yet to be set: what was seen is nearer to the truth.
        if watch.in_step || wall >= seen {
            *watch = Watch { trusted: Some((wall, monotonic)), in_step: true, ahead: None };
        }
        Ok(wall)
    }

    /// An admin confirms the clock.
    pub(crate) fn confirm(&self) {
        let trusted = Some((self.clock.wall(), self.clock.monotonic()));
        *self.lock() = Watch { trusted, in_step: true, ahead: None };
    }

    /// The last wall time that was right, of which the next open has to know.
    pub(crate) fn seen(&self) -> Option<i64> {
        self.lock().trusted.map(|(wall, _)| wall)
    }

    /// Why nothing is dropped by age, while that is so.
    pub(crate) fn flush_error(&self) -> Option<String> {
        self.lock().ahead.map(|(ahead, _)| reason(ahead))
    }

    fn lock(&self) -> MutexGuard<'_, Watch> {
        self.watch.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn reason(ahead_us: i64) -> String {
    let hours = ahead_us / 3_600_000_000;
    let ahead = if hours < 48 { format!("{hours} hours") } else { format!("{} days", hours / 24) };
    format!("the clock of this machine jumped ahead by {ahead}")
}

fn micros(time: Duration) -> i64 {
    i64::try_from(time.as_micros()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: i64 = 3_600_000_000;
    const START: i64 = 500_000 * HOUR;

    fn watch(seen: Option<i64>, wall: i64) -> (ClockWatch, Arc<ManualClock>) {
        let clock = ManualClock::new(wall);
        (ClockWatch::new(Clock::Manual(Arc::clone(&clock)), seen), clock)
    }

    #[test]
    fn a_jump_stops_until_the_clock_is_back_or_confirmed() {
        let (watch, clock) = watch(None, START);
        assert_eq!(watch.check(), Ok(START));
        clock.pass(Duration::from_secs(90 * 86_400));
        assert!(watch.check().is_ok(), "time that goes by is no jump");
        clock.jump(60 * 24 * HOUR);
        for _ in 0..3 {
            assert!(watch.check().unwrap_err().contains("60 days"));
            clock.pass(Duration::from_secs(20 * 3600));
        }
        clock.jump(-60 * 24 * HOUR);
        assert!(watch.check().is_ok() && watch.flush_error().is_none());
        clock.jump(2 * HOUR);
        assert!(watch.check().is_err());
        watch.confirm();
        assert!(watch.check().is_ok());
        // Back is no danger, and from then on that is the time.
        clock.jump(-9000 * HOUR);
        assert!(watch.check().is_ok());
        clock.jump(9000 * HOUR);
        assert!(watch.check().is_err());
    }

    #[test]
    fn over_a_restart_a_day_may_go_by() {
        let (near, _) = watch(Some(START), START + 23 * HOUR);
        assert!(near.check().is_ok());
        let (far, clock) = watch(Some(START), START + 60 * 24 * HOUR);
        assert!(far.check().is_err());
        assert_eq!(far.seen(), Some(START), "a clock that is not trusted is not remembered");
        clock.pass(CLOCK_GRACE / 2);
        assert!(far.check().is_err());
        clock.pass(CLOCK_GRACE / 2);
        assert!(far.check().is_ok(), "the node was off");
    }

    /// A machine without a battery begins in 1970, and the network sets its clock.
    #[test]
    fn a_clock_that_begins_in_the_past_may_be_set() {
        let (watch, clock) = watch(Some(START), 0);
        assert!(watch.check().is_ok());
        assert_eq!(watch.seen(), Some(START));
        clock.pass(Duration::from_secs(60));
        clock.jump(START + HOUR);
        assert!(watch.check().is_ok());
        clock.jump(2 * HOUR);
        assert!(watch.check().is_err());
    }
}
