//! The messages for one request, kept until they are read, and a little longer so that a reader who
//! lost its connection can go on where it was.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use futures_util::{Stream as Messages, stream};
use rmcp::{
    model::ServerJsonRpcMessage, transport::streamable_http_server::session::ServerSseMessage,
};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::channel::Unread;
use crate::lock::lock;

/// When a reader who lost its connection should come back.
const RETRY: Duration = Duration::from_secs(1);

/// The messages for one request.
#[derive(Debug)]
pub(crate) struct Stream {
    /// Its number in the session, the first half of the ids of its events.
    key: u64,
    kept_max: usize,
    /// Cancelled when nobody wants the answer any more.
    cancelled: CancellationToken,
    state: Mutex<State>,
    /// A message has come, or another reader.
    written: Notify,
    /// A message has been read.
    read: Notify,
}

#[derive(Debug, Default)]
struct State {
    kept: VecDeque<Arc<ServerJsonRpcMessage>>,
    /// How many messages came before the first one that is kept.
    gone: u64,
    /// How many messages have been read.
    read: u64,
    /// The answer is among them: no more will come.
    is_done: bool,
    /// Nobody will read any more.
    is_cut: bool,
    /// Counts the readers; only the newest reads.
    readers: u64,
    /// Since when nobody reads.
    left: Option<Instant>,
}

impl Stream {
    pub(crate) fn new(key: u64, kept_max: usize) -> Arc<Self> {
        Arc::new(Self {
            key,
            kept_max: kept_max.max(1),
            cancelled: CancellationToken::new(),
            state: Mutex::default(),
            written: Notify::new(),
            read: Notify::new(),
        })
    }

    pub(crate) fn key(&self) -> u64 {
        self.key
    }

    /// Cancelled when nobody wants the answer any more.
    pub(crate) fn cancelled(&self) -> &CancellationToken {
        &self.cancelled
    }

    /// Whether there has been no message.
    pub(crate) fn is_silent(&self) -> bool {
        lock(&self.state).kept.is_empty()
    }

    /// Waits for the first message.
    pub(crate) async fn speaks(&self) {
        loop {
            let written = self.written.notified();
            if !self.is_silent() {
                return;
            }
            written.await;
        }
    }

    /// Adds a message, as soon as there is room for it.
    pub(crate) async fn write(
        &self,
        message: ServerJsonRpcMessage,
        is_last: bool,
        patience: Duration,
    ) -> Result<(), Unread> {
        let message = Arc::new(message);
        loop {
            let read = self.read.notified();
            if self.try_write(&message, is_last)? {
                return Ok(());
            }
            if tokio::time::timeout(patience, read).await.is_err() {
                self.cut();
                return Err(Unread);
            }
        }
    }

    fn try_write(
        &self,
        message: &Arc<ServerJsonRpcMessage>,
        is_last: bool,
    ) -> Result<bool, Unread> {
        let mut state = lock(&self.state);
        if state.is_cut {
            return Err(Unread);
        }
        let unread = (state.gone + state.kept.len() as u64).saturating_sub(state.read);
        if unread >= self.kept_max as u64 {
            return Ok(false);
        }
        if state.kept.len() >= self.kept_max {
            state.kept.pop_front();
            state.gone += 1;
        }
        state.kept.push_back(message.clone());
        state.is_done = is_last;
        drop(state);
        self.written.notify_waiters();
        Ok(true)
    }

    /// Nobody will read any more: who writes, fails.
    pub(crate) fn cut(&self) {
        lock(&self.state).is_cut = true;
        self.cancelled.cancel();
        self.written.notify_waiters();
        self.read.notify_waiters();
    }

    /// The one for whom it was made has gone, when nobody has begun to read.
    pub(crate) fn leave(&self) {
        let mut state = lock(&self.state);
        if state.readers == 0 {
            state.left = Some(Instant::now());
        }
    }

    /// Whoever reads, reads no more, and may come back.
    pub(crate) fn close(&self) {
        let mut state = lock(&self.state);
        state.readers += 1;
        state.left = Some(Instant::now());
        drop(state);
        self.written.notify_waiters();
    }

    /// Whether nobody has read for so long.
    pub(crate) fn is_abandoned(&self, patience: Duration) -> bool {
        let state = lock(&self.state);
        state.is_cut || state.left.is_some_and(|left| left.elapsed() > patience)
    }

    /// Reads what comes after the event of this number. Whoever read before reads no more.
    pub(crate) fn reader(
        self: Arc<Self>,
        after: u64,
        done: impl FnOnce() + Send + Sync + 'static,
    ) -> impl Messages<Item = ServerSseMessage> + Send + Sync + 'static {
        let number = {
            let mut state = lock(&self.state);
            state.readers += 1;
            state.left = None;
            state.read = after.max(state.gone);
            state.readers
        };
        self.written.notify_waiters();
        let first =
            (after == 0).then(|| ServerSseMessage::priming(format!("{}-0", self.key), RETRY));
        let reader = Reader { stream: self, number, done: Some(Box::new(done)) };
        let rest = stream::unfold(reader, |mut reader| async move {
            let message = reader.next().await?;
            Some((message, reader))
        });
        futures_util::StreamExt::chain(stream::iter(first), rest)
    }

    /// The next message for a reader: none after the last one, and none for a reader of before.
    fn next(&self, reader: u64) -> Next {
        let mut state = lock(&self.state);
        if state.readers != reader || state.is_cut {
            return Next::Ended;
        }
        let index = usize::try_from(state.read.saturating_sub(state.gone)).unwrap_or(usize::MAX);
        match state.kept.get(index).cloned() {
            Some(message) => {
                state.read += 1;
                let id = format!("{}-{}", self.key, state.read);
                let is_last = state.is_done && index + 1 == state.kept.len();
                drop(state);
                self.read.notify_waiters();
                let mut event = ServerSseMessage::default();
                event.event_id = Some(id);
                event.message = Some(message);
                Next::Message { event, is_last }
            }
            None if state.is_done => Next::Done,
            None => Next::NotYet,
        }
    }
}

enum Next {
    Message {
        event: ServerSseMessage,
        is_last: bool,
    },
    NotYet,
    /// All has been read.
    Done,
    /// This reader is not the newest any more, or nobody is.
    Ended,
}

struct Reader {
    stream: Arc<Stream>,
    number: u64,
    done: Option<Box<dyn FnOnce() + Send + Sync>>,
}

impl Reader {
    async fn next(&mut self) -> Option<ServerSseMessage> {
        loop {
            let written = self.stream.written.notified();
            match self.stream.next(self.number) {
                Next::Message { event, is_last } => {
                    // Many do not read on after the answer: there is nothing to keep any more.
                    self.done.take_if(|_| is_last).into_iter().for_each(|done| done());
                    return Some(event);
                }
                Next::NotYet => written.await,
                Next::Done => {
                    self.done.take().into_iter().for_each(|done| done());
                    return None;
                }
                Next::Ended => return None,
            }
        }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let mut state = lock(&self.stream.state);
        if state.readers == self.number {
            state.left = Some(Instant::now());
        }
    }
}
