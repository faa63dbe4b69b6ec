//! The event stream of one request. It buffers messages until the client reads them, and the last ones
//! longer, so that a client that lost its connection can resume.

use std::{
    collections::VecDeque,
    sync::Arc,
    time::{Duration, Instant},
};

use futures_util::{Stream as Messages, stream};
use parking_lot::Mutex;
use rmcp::{
    model::ServerJsonRpcMessage, transport::streamable_http_server::session::ServerSseMessage,
};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::channel::ReceiverGone;

/// When a client that lost its connection should reconnect.
const RETRY: Duration = Duration::from_secs(1);

/// The event stream of one request.
#[derive(Debug)]
pub(crate) struct Stream {
    /// Its number in the session: the first half of its event ids.
    key: u64,
    buffer_max: usize,
    /// Cancelled when the client no longer wants the response.
    cancelled: CancellationToken,
    state: Mutex<StreamState>,
    /// Notified of a new message and of a new reader.
    written: Notify,
    /// Notified when a message has been read.
    read: Notify,
}

#[derive(Debug, Default)]
struct StreamState {
    buffer: VecDeque<Arc<ServerJsonRpcMessage>>,
    /// The number of messages that the buffer has dropped.
    dropped: u64,
    /// The number of messages that have been read.
    read: u64,
    /// Whether the response is in the buffer: it is the last message.
    is_complete: bool,
    /// Whether the stream is closed for good.
    is_closed: bool,
    /// The number of readers so far. Only the newest one gets messages.
    readers: u64,
    /// Since when there has been no reader.
    unread_since: Option<Instant>,
}

impl Stream {
    pub(crate) fn new(key: u64, buffer_max: usize) -> Arc<Self> {
        Arc::new(Self {
            key,
            buffer_max: buffer_max.max(1),
            cancelled: CancellationToken::new(),
            state: Mutex::default(),
            written: Notify::new(),
            read: Notify::new(),
        })
    }

    pub(crate) fn key(&self) -> u64 {
        self.key
    }

    /// Cancelled when the client no longer wants the response.
    pub(crate) fn cancelled(&self) -> &CancellationToken {
        &self.cancelled
    }

    /// Whether there has been no message.
    pub(crate) fn is_empty(&self) -> bool {
        self.state.lock().buffer.is_empty()
    }

    /// Waits for the first message.
    pub(crate) async fn has_message(&self) {
        loop {
            let written = self.written.notified();
            if !self.is_empty() {
                return;
            }
            written.await;
        }
    }

    /// Adds a message as soon as the buffer has room. Closes the stream if that takes too long.
    pub(crate) async fn write(
        &self,
        message: ServerJsonRpcMessage,
        is_last: bool,
        time_max: Duration,
    ) -> Result<(), ReceiverGone> {
        let message = Arc::new(message);
        loop {
            let read = self.read.notified();
            if self.try_write(&message, is_last)? {
                return Ok(());
            }
            if tokio::time::timeout(time_max, read).await.is_err() {
                self.close();
                return Err(ReceiverGone);
            }
        }
    }

    fn try_write(
        &self,
        message: &Arc<ServerJsonRpcMessage>,
        is_last: bool,
    ) -> Result<bool, ReceiverGone> {
        let mut state = self.state.lock();
        if state.is_closed {
            return Err(ReceiverGone);
        }
        let unread = (state.dropped + state.buffer.len() as u64).saturating_sub(state.read);
        if unread >= self.buffer_max as u64 {
            return Ok(false);
        }
        if state.buffer.len() >= self.buffer_max {
            state.buffer.pop_front();
            state.dropped += 1;
        }
        state.buffer.push_back(message.clone());
        state.is_complete = is_last;
        drop(state);
        self.written.notify_waiters();
        Ok(true)
    }

    /// Closes the stream for good: writes fail, and the request is cancelled.
    pub(crate) fn close(&self) {
        self.state.lock().is_closed = true;
        self.cancelled.cancel();
        self.written.notify_waiters();
        self.read.notify_waiters();
    }

    /// Notes that the connection of the request has gone, if no reader has come since.
    pub(crate) fn abandon(&self) {
        let mut state = self.state.lock();
        if state.readers == 0 {
            state.unread_since = Some(Instant::now());
        }
    }

    /// Disconnects the reader, which may resume.
    pub(crate) fn disconnect(&self) {
        let mut state = self.state.lock();
        state.readers += 1;
        state.unread_since = Some(Instant::now());
        drop(state);
        self.written.notify_waiters();
    }

    /// Whether it is closed, or has had no reader for longer than this.
    pub(crate) fn is_abandoned(&self, unread_time_max: Duration, now: Instant) -> bool {
        let state = self.state.lock();
        let is_over = |since| now.saturating_duration_since(since) > unread_time_max;
        state.is_closed || state.unread_since.is_some_and(is_over)
    }

    /// A reader of the messages after the event with this number. It replaces the reader before it.
    pub(crate) fn reader(
        self: Arc<Self>,
        after: u64,
        done: impl FnOnce() + Send + Sync + 'static,
    ) -> impl Messages<Item = ServerSseMessage> + Send + Sync + 'static {
        let number = {
            let mut state = self.state.lock();
            state.readers += 1;
            state.unread_since = None;
            state.read = after.max(state.dropped);
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

    /// The next message for a reader. A replaced reader gets none.
    fn next(&self, reader: u64) -> Next {
        let mut state = self.state.lock();
        if state.readers != reader || state.is_closed {
            return Next::Ended;
        }
        let index = state.read.saturating_sub(state.dropped);
        let index = usize::try_from(index).unwrap_or(usize::MAX);
        match state.buffer.get(index).cloned() {
            Some(message) => {
                state.read += 1;
                let id = format!("{}-{}", self.key, state.read);
                let is_last = state.is_complete && index + 1 == state.buffer.len();
                drop(state);
                self.read.notify_waiters();
                let mut event = ServerSseMessage::default();
                event.event_id = Some(id);
                event.message = Some(message);
                Next::Message { event, is_last }
            }
            None if state.is_complete => Next::Complete,
            None => Next::Pending,
        }
    }
}

enum Next {
    Message {
        event: ServerSseMessage,
        is_last: bool,
    },
    Pending,
    /// All messages have been read.
    Complete,
    /// The reader was replaced, or the stream is closed.
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
                    // Many clients do not read to the end, so the response completes the stream.
                    self.done.take_if(|_| is_last).into_iter().for_each(|done| done());
                    return Some(event);
                }
                Next::Pending => written.await,
                Next::Complete => {
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
        let mut state = self.stream.state.lock();
        if state.readers == self.number {
            state.unread_since = Some(Instant::now());
        }
    }
}
