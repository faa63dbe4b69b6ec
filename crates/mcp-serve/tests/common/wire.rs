//! One client for all transports: messages in, messages out.

use axum::Router;
use mcp_serve::{AllowedOrigins, Server};
use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader},
    sync::mpsc,
    task::JoinHandle,
};

use super::http::{self, Events};

/// How a client is connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    Pipe,
    Sse,
    EdgeLakeSse,
    Streamable,
    Stateless,
    StatelessPipe,
}

/// A client that is connected.
pub(crate) struct Wire {
    how: How,
    router: Router,
    /// Where messages go, when not to a router.
    pipe: Option<Box<dyn AsyncWrite + Send + Unpin>>,
    path: String,
    session: Option<String>,
    sender: mpsc::UnboundedSender<Value>,
    received: mpsc::UnboundedReceiver<Value>,
    tasks: Vec<JoinHandle<()>>,
}

impl Wire {
    pub(crate) async fn connect(server: &Server, how: How) -> Self {
        let (sender, received) = mpsc::unbounded_channel();
        let router = server.router(AllowedOrigins::loopback());
        let (path, session, tasks) = ("/mcp".to_owned(), None, Vec::new());
        let mut wire = Self { how, router, pipe: None, path, session, sender, received, tasks };
        match how {
            How::Pipe | How::StatelessPipe => {
                let (ours, theirs) = tokio::io::duplex(1 << 16);
                let (reader, writer) = tokio::io::split(theirs);
                let server = server.clone();
                wire.tasks.push(tokio::spawn(async move {
                    server.serve(reader, writer).await.unwrap();
                }));
                let (reader, writer) = tokio::io::split(ours);
                wire.use_pipe(reader, writer);
            }
            How::Sse => wire.open_sse("/sse", "/messages/?session_id=").await,
            How::EdgeLakeSse => wire.open_sse("/mcp/sse", "/mcp/messages/").await,
            How::Streamable | How::Stateless => {}
        }
        wire
    }

    /// Over a pipe to another process.
    pub(crate) fn over(
        reader: impl AsyncRead + Send + Unpin + 'static,
        writer: impl AsyncWrite + Send + Unpin + 'static,
    ) -> Self {
        let (sender, received) = mpsc::unbounded_channel();
        let (router, path) = (Router::new(), String::new());
        let (how, session, tasks) = (How::Pipe, None, Vec::new());
        let mut wire = Self { how, router, pipe: None, path, session, sender, received, tasks };
        wire.use_pipe(reader, writer);
        wire
    }

    fn use_pipe(
        &mut self,
        reader: impl AsyncRead + Send + Unpin + 'static,
        writer: impl AsyncWrite + Send + Unpin + 'static,
    ) {
        let sender = self.sender.clone();
        self.pipe = Some(Box::new(writer));
        self.tasks.push(tokio::spawn(async move {
            let mut lines = BufReader::new(reader).lines();
            while let Ok(Some(line)) = lines.next_line().await {
                let _ = sender.send(serde_json::from_str(&line).unwrap());
            }
        }));
    }

    async fn open_sse(&mut self, path: &str, address: &str) {
        let request = http::request("GET", path).body(axum::body::Body::empty()).unwrap();
        let mut events = Events::of(http::ask(&self.router, request).await);
        let first = events.next().await.unwrap();
        assert_eq!(first.name, "endpoint");
        assert!(first.data.starts_with(address), "{}", first.data);
        self.path = first.data;
        self.read(events);
    }

    fn read(&mut self, mut events: Events) {
        let sender = self.sender.clone();
        self.tasks.push(tokio::spawn(async move {
            while let Some(message) = events.try_message().await {
                let _ = sender.send(message);
            }
        }));
    }

    /// Sends a message.
    pub(crate) async fn send(&mut self, mut message: Value) {
        match self.how {
            How::StatelessPipe => {
                http::add_meta(&mut message);
                self.write_line(&message.to_string()).await;
            }
            How::Pipe => self.write_line(&message.to_string()).await,
            How::Sse | How::EdgeLakeSse => {
                let request = http::in_session(&self.path, None, &message);
                assert_eq!(http::ask(&self.router, request).await.status(), 202);
            }
            How::Streamable => {
                let request = http::in_session(&self.path, self.session.as_deref(), &message);
                let response = http::ask(&self.router, request).await;
                if let Some(id) = response.headers().get("mcp-session-id") {
                    self.session = Some(id.to_str().unwrap().to_owned());
                }
                self.read(Events::of(response));
            }
            How::Stateless => {
                let response = http::ask(&self.router, http::stateless(&self.path, message)).await;
                self.read(Events::of(response));
            }
        }
    }

    /// Writes a line as it is.
    pub(crate) async fn write_line(&mut self, line: &str) {
        let pipe = self.pipe.as_mut().unwrap();
        pipe.write_all(format!("{line}\n").as_bytes()).await.unwrap();
        pipe.flush().await.unwrap();
    }

    /// The next message.
    pub(crate) async fn receive(&mut self) -> Value {
        super::soon(self.received.recv()).await.expect("nothing more comes")
    }

    /// Ends what is sent, as a client does that goes away; gives what was still answered.
    pub(crate) async fn hang_up(mut self) -> Vec<Value> {
        self.pipe.take().unwrap().shutdown().await.unwrap();
        let mut rest = Vec::new();
        for task in self.tasks.drain(..) {
            super::soon(task).await.unwrap();
        }
        while let Ok(message) = self.received.try_recv() {
            rest.push(message);
        }
        rest
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}
