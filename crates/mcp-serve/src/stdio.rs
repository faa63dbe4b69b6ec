//! The stdio transport: one message per line, over a reader and a writer.

use std::{io, sync::Arc, time::Duration};

use rmcp::{
    ServiceExt,
    model::{ClientJsonRpcMessage, ErrorData, RequestId, ServerJsonRpcMessage},
};
use serde::Deserialize;
use tokio::{
    io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader},
    sync::mpsc,
    task::AbortHandle,
};

use crate::{
    Principal, Transport,
    handler::Handler,
    session::{Channel, Outbox, Session},
    state::ServerState,
};

/// How long the last responses may take to be written after the session has ended.
const WRITE_TIME_MAX: Duration = Duration::from_secs(5);

/// Serves a reader and a writer, until the reader ends.
pub(crate) async fn serve(
    state: Arc<ServerState>,
    principal: Principal,
    reader: impl AsyncRead + Send + Unpin + 'static,
    writer: impl AsyncWrite + Send + Unpin + 'static,
) -> io::Result<()> {
    let opened = state.sessions.open(&principal, Transport::Stdio);
    let (session, inbox) = opened.map_err(|_| io::Error::other("there are too many sessions"))?;
    let (queue, messages) = mpsc::channel(state.limits.unread_messages_max.max(1));
    let outbox = Outbox::Shared {
        queue: queue.clone(),
        unread_time_max: state.limits.unread_time_max,
        counters: state.counters.clone(),
    };
    // Also closes the session if this future is dropped.
    let mut closes =
        CloseOnDrop { state: state.clone(), session: session.clone(), tasks: Vec::new() };
    let lines = Lines::new(reader, state.limits.body_bytes_max);
    let reads = tokio::spawn(read(lines, session.clone(), queue));
    let mut writes = tokio::spawn(write(writer, messages, session.clone(), state.clone()));
    closes.tasks = vec![reads.abort_handle(), writes.abort_handle()];
    let handler = Handler { state: state.clone(), principal };
    let served = handler.serve(Channel::new(session.clone(), inbox, outbox)).await;
    match served {
        Ok(running) => _ = running.waiting().await,
        Err(error) => tracing::debug!(%error, "a client disconnected before initialize"),
    }
    state.sessions.close(&session.id);
    reads.abort();
    // The reader held the queue's last sender: the writer writes the rest of the queue and ends.
    match tokio::time::timeout(WRITE_TIME_MAX, &mut writes).await {
        Ok(written) => written.unwrap_or(Ok(())),
        Err(_) => {
            Err(io::Error::new(io::ErrorKind::TimedOut, "the client does not read the responses"))
        }
    }
}

/// Closes a session and its tasks when dropped.
struct CloseOnDrop {
    state: Arc<ServerState>,
    session: Arc<Session>,
    tasks: Vec<AbortHandle>,
}

impl Drop for CloseOnDrop {
    fn drop(&mut self) {
        self.state.sessions.close(&self.session.id);
        self.tasks.iter().for_each(AbortHandle::abort);
    }
}

async fn read(
    mut lines: Lines<impl AsyncRead + Unpin>,
    session: Arc<Session>,
    queue: mpsc::Sender<ServerJsonRpcMessage>,
) {
    while let Some(line) = lines.next().await {
        let message = match line {
            Ok(line) if line.trim_ascii().is_empty() => continue,
            Ok(line) => parse(line),
            Err(TooLong(max)) => {
                let error =
                    ErrorData::invalid_request(format!("a message has at most {max} bytes"), None);
                Err(Box::new(ServerJsonRpcMessage::error(error, None)))
            }
        };
        let is_passed_on = match message {
            Ok(message) => session.inbox.send(message).await.is_ok(),
            Err(error) => queue.send(*error).await.is_ok(),
        };
        if !is_passed_on {
            return;
        }
    }
    session.close_input();
}

async fn write(
    mut writer: impl AsyncWrite + Unpin,
    mut messages: mpsc::Receiver<ServerJsonRpcMessage>,
    session: Arc<Session>,
    state: Arc<ServerState>,
) -> io::Result<()> {
    while let Some(message) = messages.recv().await {
        let mut line = serde_json::to_vec(&message)?;
        line.push(b'\n');
        state.counters.bytes_out.add(line.len() as u64);
        let written = async {
            writer.write_all(&line).await?;
            writer.flush().await
        };
        if let Err(error) = written.await {
            session.end();
            return Err(error);
        }
    }
    Ok(())
}

/// Parses a line as a message, or returns the error response.
fn parse(line: &[u8]) -> Result<ClientJsonRpcMessage, Box<ServerJsonRpcMessage>> {
    #[derive(Deserialize)]
    struct Peek {
        id: Option<RequestId>,
    }
    serde_json::from_slice(line).map_err(|error| {
        let (error, id) = match error.is_data() {
            false => (ErrorData::parse_error("the line is not JSON", None), None),
            true => {
                let id = serde_json::from_slice::<Peek>(line).ok().and_then(|peek| peek.id);
                (ErrorData::invalid_request("the line is not a JSON-RPC 2.0 message", None), id)
            }
        };
        Box::new(ServerJsonRpcMessage::error(error, id))
    })
}

/// Lines of a bounded length.
struct Lines<R> {
    reader: BufReader<R>,
    line: Vec<u8>,
    bytes_max: usize,
}

/// A line exceeded this length.
struct TooLong(usize);

impl<R: AsyncRead + Unpin> Lines<R> {
    fn new(reader: R, bytes_max: usize) -> Self {
        Self { reader: BufReader::new(reader), line: Vec::new(), bytes_max }
    }

    /// The next line without its line break; none at the end of the input. A line that is too long is
    /// skipped.
    async fn next(&mut self) -> Option<Result<&[u8], TooLong>> {
        self.line.clear();
        let mut is_too_long = false;
        loop {
            let bytes = self.reader.fill_buf().await.ok()?;
            if bytes.is_empty() {
                // Input without a line break is no message.
                return None;
            }
            let end = bytes.iter().position(|byte| *byte == b'\n');
            let part = bytes.get(..end.unwrap_or(bytes.len())).unwrap_or_default();
            let read = end.map_or(bytes.len(), |end| end + 1);
            is_too_long |= self.line.len() + part.len() > self.bytes_max;
            match is_too_long {
                true => self.line.clear(),
                false => self.line.extend_from_slice(part),
            }
            self.reader.consume(read);
            if end.is_some() {
                return Some(match is_too_long {
                    true => Err(TooLong(self.bytes_max)),
                    false => Ok(&self.line),
                });
            }
        }
    }
}
