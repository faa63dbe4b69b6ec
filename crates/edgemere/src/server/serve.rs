//! Serves a port: so many connections, HTTP/1.1 or HTTP/2 on each, and their end when the node stops.
//! What is asked, and who may ask, is the router's business; here is only who may stay.

use std::collections::HashMap;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::Request;
use futures_util::TryFutureExt;
use hyper::body::{Body, Incoming};
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::{AbortHandle, Id, JoinError, JoinSet};
use tokio_util::sync::CancellationToken;

use super::auth::is_call;
use super::hosts::Local;
use super::tracked::Tracked;
use super::visitor::Visitor;

/// How long a connection of HTTP/1.1 may be idle. The clients that keep connections for later use give
/// them up after 90 seconds: when they end them, no request is lost on one that just ended.
const IDLE_MAX: Duration = Duration::from_secs(120);

/// How many calls one connection of HTTP/2 may have under way: all tasks of all queries of a node.
const STREAMS_MAX: u32 = 4096;

/// What one call may have sent, and what all calls of a connection may, before it is read.
const STREAM_WINDOW_BYTES: u32 = 1 << 20;
const CONNECTION_WINDOW_BYTES: u32 = 16 << 20;

/// The same on a port that anybody may use: what is sent there before it is read counts nowhere.
const OPEN_STREAM_WINDOW_BYTES: u32 = 64 << 10;
const OPEN_CONNECTION_WINDOW_BYTES: u32 = 1 << 20;

/// How long a reply waits for who does not read on, and how long when others wait for its permit.
const READ_MAX: Duration = Duration::from_secs(120);
const PRESSED_READ_MAX: Duration = Duration::from_secs(5);

/// How often the other end of an HTTP/2 connection is asked whether it is there, and how long it has
/// to answer. Who was cut off without a word is noticed by this alone.
const PING: Duration = Duration::from_secs(5);
const PONG_MAX: Duration = Duration::from_secs(10);

/// One in so many connections is closed at once when there are too many.
const CLOSED_SHARE: usize = 64;

/// How long to wait when the system has no more files for connections.
const PAUSE: Duration = Duration::from_millis(500);

/// A port, as it is served.
#[derive(Clone, Debug)]
pub(super) struct Port {
    /// Its name, for the log.
    pub(super) name: &'static str,
    pub(super) router: Router,
    /// How many connections it has at most. For one more, others are closed that are idle.
    pub(super) connections_max: usize,
    pub(super) patience: Patience,
    /// The permits of what is answered on it: when there are none left, who does not read is waited for
    /// only a moment.
    pub(super) permits: Option<Arc<Semaphore>>,
}

/// How long a connection may stay.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    /// Until it asks for something.
    pub(super) ask: Duration,
    /// Until it has shown that it may.
    pub(super) prove: Duration,
    /// Until it reads on what it is given; for ever without.
    pub(super) read: Option<Duration>,
    /// Whether asking is enough.
    pub(super) is_open: bool,
}

impl Patience {
    /// Who connects and says nothing, or nothing true, does not stay.
    const fn with(is_open: bool) -> Self {
        // Nodes read from each other as fast as those read whom they answer.
        let read = if is_open { Some(READ_MAX) } else { None };
        Self { ask: Duration::from_secs(10), prove: Duration::from_secs(60), read, is_open }
    }

    /// Of a port that answers everybody who reaches it.
    pub(super) const OPEN: Self = Self::with(true);

    /// Of a port whose guard says who may stay.
    pub(super) const GUARDED: Self = Self::with(false);
}

/// Serves a port until the node stops, and then until what is under way has ended. Dropping this cuts
/// everything off.
pub(super) async fn serve(
    listener: TcpListener,
    port: Port,
    shutdown: CancellationToken,
) -> io::Result<()> {
    let mut connections = Connections::default();
    while let Some(stream) = shutdown.run_until_cancelled(accept(&listener)).await {
        if connections.make_room(&port).await {
            let visitor = Visitor::default();
            let connection = connection(stream, port.clone(), visitor.clone(), shutdown.clone());
            connections.add(visitor, connection);
        }
    }
    drop(listener);
    connections.end().await;
    Ok(())
}

/// The connections of a port, and who made them.
#[derive(Default)]
struct Connections {
    tasks: JoinSet<()>,
    open: HashMap<Id, (Visitor, AbortHandle)>,
    was_full: bool,
}

impl Connections {
    fn add(&mut self, visitor: Visitor, connection: impl Future<Output = ()> + Send + 'static) {
        let task = self.tasks.spawn(connection);
        self.open.insert(task.id(), (visitor, task));
    }

    /// Makes room for one more connection: when there are too many, those are closed that nothing is
    /// being done for and that have been silent for longest. So nobody who only holds connections, or
    /// sends half of something, keeps others out. Says no when all are being answered.
    async fn make_room(&mut self, port: &Port) -> bool {
        while let Some(ended) = self.tasks.try_join_next_with_id() {
            self.forget(ended);
        }
        if self.open.len() < port.connections_max {
            self.was_full = false;
            return true;
        }
        if !std::mem::replace(&mut self.was_full, true) {
            let connections = self.open.len();
            tracing::warn!(
                port = port.name,
                connections,
                "too many connections: idle ones are closed"
            );
        }
        let count = port.connections_max.div_ceil(CLOSED_SHARE);
        let closed = self.close_idle(count, !port.patience.is_open);
        // What was closed has its file until its task has ended.
        while self.tasks.len() > self.open.len() {
            match self.tasks.join_next_with_id().await {
                Some(ended) => self.forget(ended),
                None => break,
            }
        }
        closed > 0
    }

    /// Closes at most so many connections that are idle, those first that were active least recently,
    /// and at a guarded port strangers before all others.
    fn close_idle(&mut self, count: usize, is_guarded: bool) -> usize {
        let idle = self.open.iter().filter(|(_, (visitor, _))| visitor.is_idle());
        let mut idle: Vec<_> = idle
            .map(|(id, (visitor, _))| {
                (is_guarded && visitor.may_stay(), visitor.last_active(), *id)
            })
            .collect();
        idle.sort_unstable_by_key(|(is_known, active, _)| (*is_known, *active));
        idle.truncate(count);
        for (.., id) in &idle {
            if let Some((_, task)) = self.open.remove(id) {
                task.abort();
            }
        }
        idle.len()
    }

    fn forget(&mut self, ended: Result<(Id, ()), JoinError>) {
        let id = ended.map_or_else(|error| error.id(), |(id, ())| id);
        self.open.remove(&id);
    }

    async fn end(mut self) {
        while self.tasks.join_next().await.is_some() {}
    }
}

async fn accept(listener: &TcpListener) -> TcpStream {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => return stream,
            Err(error) if is_of_the_caller(&error) => {}
            Err(error) => {
                tracing::error!(%error, "cannot accept a connection");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

/// Whether a connection was given up before it was accepted.
fn is_of_the_caller(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

async fn connection(stream: TcpStream, port: Port, visitor: Visitor, shutdown: CancellationToken) {
    // Without this every small reply waits for the kernel to find more to send.
    let _ = stream.set_nodelay(true);
    let local = stream.local_addr().ok().map(Local);
    let (asks, is_open) = (visitor.clone(), port.patience.is_open);
    let routes = TowerToHyperService::new(port.router);
    let service = service_fn(move |mut request: Request<Incoming>| {
        asks.asks();
        if is_open {
            asks.stays();
        }
        request.extensions_mut().insert(asks.clone());
        if let Some(local) = local {
            request.extensions_mut().insert(local);
        }
        // The body of a gRPC call goes on while it is answered.
        let is_receiving = !request.body().is_end_stream() && !is_call(request.headers());
        let under = asks.begins(is_receiving);
        let answered = routes.call(request.map(|body| Tracked::request(body, under.clone())));
        answered.map_ok(move |reply| {
            under.has_come();
            reply.map(|body| Tracked::reply(body, under))
        })
    });
    let builder = builder(is_open);
    let mut served = pin!(builder.serve_connection(TokioIo::new(stream), service));
    let mut gone = pin!(overstays(&visitor, port.patience));
    let mut stalled = pin!(stalls(&visitor, port.patience.read, port.permits.as_deref()));
    let mut is_stopping = false;
    loop {
        tokio::select! {
            ended = served.as_mut() => {
                if let Err(error) = ended {
                    tracing::trace!(port = port.name, error, "a connection failed");
                }
                return;
            }
            () = gone.as_mut() => {
                tracing::debug!(port = port.name, "a stranger's connection is closed");
                return;
            }
            () = stalled.as_mut() => {
                tracing::info!(port = port.name, "a connection is closed whose end does not read");
                return;
            }
            () = shutdown.cancelled(), if !is_stopping => {
                is_stopping = true;
                served.as_mut().graceful_shutdown();
            }
        }
    }
}

fn builder(is_open: bool) -> Builder<TokioExecutor> {
    let (stream_window, connection_window) = match is_open {
        true => (OPEN_STREAM_WINDOW_BYTES, OPEN_CONNECTION_WINDOW_BYTES),
        false => (STREAM_WINDOW_BYTES, CONNECTION_WINDOW_BYTES),
    };
    let mut builder = Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(IDLE_MAX);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(STREAMS_MAX)
        .initial_stream_window_size(stream_window)
        .initial_connection_window_size(connection_window)
        .keep_alive_interval(PING)
        .keep_alive_timeout(PONG_MAX);
    builder
}

/// Ends when a visitor has been there for longer than it may; never, of one that may stay.
async fn overstays(visitor: &Visitor, patience: Patience) {
    tokio::time::sleep(patience.ask).await;
    if visitor.has_asked() {
        tokio::time::sleep(patience.prove.saturating_sub(patience.ask)).await;
    }
    if visitor.may_stay() {
        std::future::pending().await
    }
}

/// Ends when a visitor has not read on for longer than it may.
async fn stalls(visitor: &Visitor, read: Option<Duration>, permits: Option<&Semaphore>) {
    let Some(read) = read else { return std::future::pending().await };
    let pressed = read.min(PRESSED_READ_MAX);
    loop {
        tokio::time::sleep(pressed / 2).await;
        let is_pressed = permits.is_some_and(|permits| permits.available_permits() == 0);
        if visitor.unread_for() > if is_pressed { pressed } else { read } {
            return;
        }
    }
}

#[cfg(test)]
mod tests;
