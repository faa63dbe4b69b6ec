//! The bodies of requests: how many bytes of them may be in flight on all ports together, and how long
//! one may take to arrive. What does not fit is refused before it is in memory, with 429; what comes
//! too slowly is not waited for, with 408.
//!
//! Three pools of bytes, so that nobody who waits holds what another one waits for:
//!
//! | pool | share | for |
//! |---|---|---|
//! | small | 1/8 | bodies up to 256 KiB and all that is made of them: commands and calls go on beside a flood of rows |
//! | arriving | 2/8 | larger bodies, as far as they have arrived |
//! | working | 5/8 | what is made of these: inflated, decoded, encoded |

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, BodyDataStream, Bytes, HttpBody};
use futures_util::StreamExt;
use prometheus_client::metrics::counter::Counter;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout, timeout_at};

use super::reply::Failure;

/// How much one request may bring, on a machine that has the memory.
const BODY_BYTES_MAX: usize = 64 << 20;

/// Up to here a body is small.
const SMALL_BYTES: usize = 256 << 10;

/// How much memory a byte of a body takes until it is stored: its cells, its columns, and the block
/// that goes to disk.
const GROWTH: usize = 6;

/// In such steps room is made for a body that arrives.
const STEP_BYTES: usize = 1 << 20;

/// How much of a body that is refused is still read and thrown away, and for how long: who does not
/// listen before it has sent everything would not hear why.
const DRAIN_BYTES_MAX: usize = 2 * BODY_BYTES_MAX;
const DRAIN_TIME_MAX: Duration = Duration::from_secs(10);

/// What one unit of a pool is.
const UNIT_BYTES: usize = 1 << 10;

/// What bodies may use.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// The memory of all bodies and of what is made of them.
    pub(super) total_bytes: u64,
    /// How long a body waits for room to arrive in, before any of it is read.
    pub(super) arrive_wait: Duration,
    /// How long one that has arrived waits for room to be worked on.
    pub(super) work_wait: Duration,
    /// How long a body may take whatever its length,
    pub(super) grace: Duration,
    /// and how many bytes must come in each second beside.
    pub(super) bytes_per_second: u64,
}

impl Limits {
    pub(super) fn of(total_bytes: u64) -> Self {
        Self {
            total_bytes,
            arrive_wait: Duration::from_secs(1),
            work_wait: Duration::from_secs(10),
            grace: Duration::from_secs(10),
            bytes_per_second: 16 << 10,
        }
    }
}

/// The room for bodies.
#[derive(Debug)]
pub(super) struct Bodies {
    limits: Limits,
    small: Pool,
    arriving: Pool,
    working: Pool,
    /// A permit for each thread that may inflate.
    threads: Semaphore,
    /// Bodies that were refused because there was no room.
    pub(super) refused: Counter,
    /// Bodies that came too slowly.
    pub(super) late: Counter,
}

/// Room that is taken, until this is dropped.
#[derive(Debug, Default)]
pub(super) struct Held {
    permits: Vec<OwnedSemaphorePermit>,
}

/// A whole body, and its room.
#[derive(Debug)]
pub(super) struct Arrived {
    pub(super) bytes: Bytes,
    pub(super) held: Held,
}

/// Why a body was not read.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Unread {
    /// There is no room now.
    Busy,
    /// It comes too slowly.
    Late,
    /// It is longer than it may be.
    TooLong,
    /// It did not come whole.
    Broken(String),
}

impl Bodies {
    pub(super) fn new(limits: Limits) -> Self {
        let share = |eighths: u64| Pool::new(limits.total_bytes / 8 * eighths);
        let threads = std::thread::available_parallelism().map_or(1, |threads| threads.get());
        Self {
            limits,
            small: share(1),
            arriving: share(2),
            working: share(5),
            threads: Semaphore::new(threads),
            refused: Counter::default(),
            late: Counter::default(),
        }
    }

    /// How many bytes one body may have: so many that there is room to work on one.
    pub(super) fn bytes_max(&self) -> usize {
        BODY_BYTES_MAX.min(self.working.bytes() / GROWTH)
    }

    /// How many bytes of room are taken.
    pub(super) fn taken_bytes(&self) -> usize {
        [&self.small, &self.arriving, &self.working].map(Pool::taken_bytes).iter().sum()
    }

    /// Reads a body of at most so many bytes.
    pub(super) async fn read(&self, body: Body, bytes_max: usize) -> Result<Arrived, Unread> {
        if body.is_end_stream() {
            return Ok(Arrived { bytes: Bytes::new(), held: Held::default() });
        }
        let length =
            body.size_hint().exact().map(|length| usize::try_from(length).unwrap_or(usize::MAX));
        let mut arriving = Arriving::new(body.into_data_stream(), self.limits);
        let read = match length {
            Some(length) if length > bytes_max => Err(Unread::TooLong),
            length => self.read_all(&mut arriving, length, bytes_max).await,
        };
        match &read {
            Ok(_) | Err(Unread::Broken(_)) => {}
            Err(Unread::Late) => _ = self.late.inc(),
            Err(Unread::Busy) => {
                self.refused.inc();
                arriving.drain().await;
            }
            Err(Unread::TooLong) => arriving.drain().await,
        }
        read
    }

    async fn read_all(
        &self,
        arriving: &mut Arriving,
        length: Option<usize>,
        bytes_max: usize,
    ) -> Result<Arrived, Unread> {
        let (mut held, mut room) = self.make_room(length).await?;
        let mut whole = Whole::new(length.unwrap_or(0));
        while let Some(piece) = arriving.next().await? {
            let bytes = whole.len() + piece.len();
            if bytes > bytes_max {
                return Err(Unread::TooLong);
            }
            if bytes > room {
                let step = STEP_BYTES.max(bytes - room);
                held.permits.push(self.arriving.take(step, self.limits.arrive_wait).await?);
                room += step;
            }
            whole.push(piece);
        }
        Ok(Arrived { bytes: whole.into_bytes(), held })
    }

    /// Room for the beginning of a body. Of a large one there must be room for all of it, but only the
    /// beginning is taken: who sends slowly holds what it has sent, and no more.
    async fn make_room(&self, length: Option<usize>) -> Result<(Held, usize), Unread> {
        let wait = self.limits.arrive_wait;
        let (permit, room) = match length {
            Some(length) if length <= SMALL_BYTES => {
                (self.small.take(length * (1 + GROWTH), wait).await?, length)
            }
            length => {
                let mut all = self.arriving.take(length.unwrap_or(STEP_BYTES), wait).await?;
                let first = units(STEP_BYTES).min(all.num_permits());
                let rest = all.num_permits() - first;
                drop(all.split(rest));
                (all, first * UNIT_BYTES)
            }
        };
        Ok((Held { permits: vec![permit] }, room))
    }

    /// Room to work on a body of so many bytes, that is inflated or whose small room is not enough.
    pub(super) async fn work(&self, bytes: usize) -> Result<Held, Unread> {
        let taken = self.working.take(bytes.saturating_mul(GROWTH), self.limits.work_wait).await;
        let permit = taken.inspect_err(|_| _ = self.refused.inc())?;
        Ok(Held { permits: vec![permit] })
    }

    /// Room to work on a body as it has arrived; small ones have theirs.
    pub(super) async fn work_on(&self, arrived: &Arrived) -> Result<Held, Unread> {
        match arrived.bytes.len() {
            ..=SMALL_BYTES => Ok(Held::default()),
            bytes => self.work(bytes).await,
        }
    }

    /// Runs what takes long on a thread beside those that answer, and not on more than there are
    /// processors.
    pub(super) async fn apart<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        let _thread = self.threads.acquire().await.ok()?;
        tokio::task::spawn_blocking(work).await.ok()
    }
}

impl Unread {
    /// What is answered.
    pub(super) fn failure(self, bytes_max: usize) -> Failure {
        match self {
            Self::Busy => Failure::no_room(),
            Self::Late => Failure::too_slow(),
            Self::TooLong => {
                let size = match bytes_max >> 20 {
                    0 => format!("{bytes_max} bytes"),
                    mib => format!("{mib} MiB"),
                };
                let message =
                    format!("a request may bring {size}, and this brings more; nothing was stored");
                Failure::too_large(message, PARTS_HINT)
            }
            Self::Broken(error) => {
                let message = format!("the body did not all arrive: {error}; nothing was stored");
                Failure::bad_request(message, "send it again")
            }
        }
    }
}

const PARTS_HINT: &str = "send the rows in several parts; \"edgemere import\" does";

/// So many bytes, in units that fit in a semaphore's numbers.
#[derive(Debug)]
struct Pool {
    permits: Arc<Semaphore>,
    units: usize,
}

impl Pool {
    fn new(bytes: u64) -> Self {
        let units = usize::try_from(bytes).unwrap_or(usize::MAX) / UNIT_BYTES;
        let units = units.clamp(1, u32::MAX as usize);
        Self { permits: Arc::new(Semaphore::new(units)), units }
    }

    fn bytes(&self) -> usize {
        self.units * UNIT_BYTES
    }

    fn taken_bytes(&self) -> usize {
        self.units.saturating_sub(self.permits.available_permits()) * UNIT_BYTES
    }

    /// Takes so many bytes, or all when it is more than there are.
    async fn take(&self, bytes: usize, wait: Duration) -> Result<OwnedSemaphorePermit, Unread> {
        let units = u32::try_from(units(bytes).min(self.units)).unwrap_or(u32::MAX);
        if let Ok(permit) = Arc::clone(&self.permits).try_acquire_many_owned(units) {
            return Ok(permit);
        }
        let acquire = Arc::clone(&self.permits).acquire_many_owned(units);
        match timeout(wait, acquire).await {
            Ok(Ok(permit)) => Ok(permit),
            _ => Err(Unread::Busy),
        }
    }
}

fn units(bytes: usize) -> usize {
    bytes.div_ceil(UNIT_BYTES).max(1)
}

/// A body that arrives, with the time that it has.
struct Arriving {
    pieces: BodyDataStream,
    start: Instant,
    received: u64,
    limits: Limits,
}

impl Arriving {
    fn new(pieces: BodyDataStream, limits: Limits) -> Self {
        Self { pieces, start: Instant::now(), received: 0, limits }
    }

    /// Until when the next piece must be there.
    fn until(&self) -> Instant {
        let earned_ms = self.received.saturating_mul(1000) / self.limits.bytes_per_second.max(1);
        self.start + self.limits.grace + Duration::from_millis(earned_ms)
    }

    /// The next piece; none at the end.
    async fn next(&mut self) -> Result<Option<Bytes>, Unread> {
        match timeout_at(self.until(), self.pieces.next()).await {
            Err(_) => Err(Unread::Late),
            Ok(None) => Ok(None),
            Ok(Some(Err(error))) => Err(Unread::Broken(error.to_string())),
            Ok(Some(Ok(piece))) => {
                self.received += piece.len() as u64;
                Ok(Some(piece))
            }
        }
    }

    /// Reads on and keeps nothing.
    async fn drain(&mut self) {
        let drained = async {
            let mut bytes = 0;
            while let Ok(Some(piece)) = self.next().await {
                bytes += piece.len();
                if bytes > DRAIN_BYTES_MAX {
                    break;
                }
            }
        };
        let _ = timeout(DRAIN_TIME_MAX, drained).await;
    }
}

/// The pieces of a body, put together; a single one as it is.
struct Whole {
    first: Bytes,
    rest: Vec<u8>,
    expected: usize,
}

impl Whole {
    fn new(expected: usize) -> Self {
        Self { first: Bytes::new(), rest: Vec::new(), expected }
    }

    fn len(&self) -> usize {
        self.first.len() + self.rest.len()
    }

    fn push(&mut self, piece: Bytes) {
        if self.len() == 0 {
            self.first = piece;
            return;
        }
        if self.rest.is_empty() {
            self.rest.reserve_exact(self.expected.max(self.len() + piece.len()));
            self.rest.extend_from_slice(&std::mem::take(&mut self.first));
        }
        self.rest.extend_from_slice(&piece);
    }

    fn into_bytes(self) -> Bytes {
        if self.rest.is_empty() { self.first } else { self.rest.into() }
    }
}

#[cfg(test)]
mod tests;
