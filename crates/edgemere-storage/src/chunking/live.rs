//! A text that comes bit by bit, as from a pipe that a program writes into for days. A thread of its own
//! reads it, so that whoever cuts it into pieces can stop waiting: when what has come is to be sent, and
//! when nothing more is wanted.

use std::io::{Error, ErrorKind, Read, Result};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How much is read at once, and how many such chunks may wait.
const CHUNK_BYTES: usize = 64 << 10;
const CHUNKS_MAX: usize = 16;

/// How often a reader that waits looks whether it is to stop.
const LOOK_TIME: Duration = Duration::from_millis(50);

/// Says when the pieces of a live text are full, and when no more are wanted.
#[derive(Clone, Debug)]
pub struct Live {
    /// The most time between the first row of a piece and its end.
    every: Duration,
    stopped: Arc<AtomicBool>,
    /// Until when a read waits; none is until something comes.
    until: Arc<Mutex<Option<Instant>>>,
}

impl Live {
    /// Pieces that take no longer than this.
    #[must_use]
    pub fn every(every: Duration) -> Self {
        Self { every, stopped: Arc::default(), until: Arc::default() }
    }

    /// Nothing more is waited for. What was read already is still given, in whole rows.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Release);
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Acquire)
    }

    /// When a piece ends whose first row came now.
    pub(super) fn end_of_piece(&self) -> Instant {
        Instant::now() + self.every
    }

    /// Lets reads wait until then.
    pub(super) fn wait_until(&self, until: Option<Instant>) {
        *self.until.lock().unwrap_or_else(PoisonError::into_inner) = until;
    }

    /// How long a read may wait now; none when it may not.
    fn patience(&self) -> Option<Duration> {
        if self.is_stopped() {
            return None;
        }
        match *self.until.lock().unwrap_or_else(PoisonError::into_inner) {
            None => Some(LOOK_TIME),
            Some(until) => {
                let left = until.saturating_duration_since(Instant::now());
                (!left.is_zero()).then(|| left.min(LOOK_TIME))
            }
        }
    }

    /// A reader of what `open` opens. It gives [`ErrorKind::WouldBlock`] when nothing has come in the
    /// time that it may wait.
    pub(super) fn reader<R: Read>(
        &self,
        open: impl FnOnce() -> Result<R> + Send + 'static,
    ) -> Result<Reader> {
        let (sender, chunks) = sync_channel(CHUNKS_MAX);
        let read = move || match open() {
            Ok(source) => read_all(source, &sender),
            Err(error) => drop(sender.send(Err(error))),
        };
        std::thread::Builder::new().name("live-read".into()).spawn(read)?;
        Ok(Reader { live: self.clone(), chunks, chunk: Vec::new(), at: 0 })
    }
}

/// Sends what is read until it ends, fails, or is not wanted any more.
fn read_all(mut source: impl Read, sender: &SyncSender<Result<Vec<u8>>>) {
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        let read = match source.read(&mut chunk) {
            Ok(0) => return,
            Ok(length) => Ok(chunk.get(..length).unwrap_or_default().to_vec()),
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => Err(error),
        };
        let is_last = read.is_err();
        if sender.send(read).is_err() || is_last {
            return;
        }
    }
}

/// Gives what the thread has read.
pub(super) struct Reader {
    live: Live,
    chunks: Receiver<Result<Vec<u8>>>,
    chunk: Vec<u8>,
    at: usize,
}

impl Reader {
    /// The next chunk; an empty one at the end.
    fn next(&self) -> Result<Vec<u8>> {
        // What has been read is given first, also to somebody who does not wait any more.
        if let Ok(chunk) = self.chunks.try_recv() {
            return chunk;
        }
        loop {
            let Some(patience) = self.live.patience() else {
                return self
                    .chunks
                    .try_recv()
                    .unwrap_or_else(|_| Err(ErrorKind::WouldBlock.into()));
            };
            match self.chunks.recv_timeout(patience) {
                Ok(chunk) => return chunk,
                Err(RecvTimeoutError::Disconnected) => return Ok(Vec::new()),
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }
}

impl Read for Reader {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        if self.at >= self.chunk.len() {
            (self.chunk, self.at) = (self.next()?, 0);
        }
        let rest = self.chunk.get(self.at..).unwrap_or_default();
        let length = rest.len().min(buffer.len());
        let to = buffer.get_mut(..length).ok_or_else(|| Error::from(ErrorKind::InvalidInput))?;
        to.copy_from_slice(rest.get(..length).unwrap_or_default());
        self.at += length;
        Ok(length)
    }
}
