//! The server: what the host holds in its hand.

use std::{io, sync::Arc};

use axum::Router;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::{Access, Catalog, Figures, Identity, Limits, Principal, SessionInfo};

/// A server of one catalog at a time, over any number of transports. Clones are the same server.
#[derive(Clone, Debug)]
pub struct Server(Arc<()>);

impl Server {
    /// A server that offers nothing yet.
    pub fn new(_identity: Identity, _limits: Limits) -> Self {
        Self(Arc::new(()))
    }

    /// Offers this catalog from now on, and tells clients which of the lists differ. Calls that are
    /// under way end as they began.
    pub fn offer(&self, _catalog: Catalog) {}

    /// Tells clients that the list of resources differs.
    pub fn resources_changed(&self) {}

    /// Tells the subscribers of a resource that what it holds differs.
    pub fn resource_updated(&self, _uri: &str) {}

    /// The sessions that are open.
    pub fn sessions(&self) -> Vec<SessionInfo> {
        Vec::new()
    }

    /// What the server has done.
    pub fn figures(&self) -> Figures {
        Figures::default()
    }

    /// The routes of all HTTP transports: `/mcp`, `/mcp/{toolset}`, `/sse` with `/messages/`, and
    /// `/mcp/sse` with `/mcp/messages/{id}`.
    pub fn router(&self, _access: Access) -> Router {
        Router::new()
    }

    /// Serves stdin and stdout until stdin ends.
    pub async fn serve_stdio(&self) -> io::Result<()> {
        self.serve(tokio::io::stdin(), tokio::io::stdout()).await
    }

    /// Serves a reader and a writer, one message a line, until the reader ends.
    pub async fn serve(
        &self,
        reader: impl AsyncRead + Send + Unpin + 'static,
        writer: impl AsyncWrite + Send + Unpin + 'static,
    ) -> io::Result<()> {
        self.serve_as(Principal::default(), reader, writer).await
    }

    /// As [`Server::serve`], for a principal that the host knows.
    pub async fn serve_as(
        &self,
        _principal: Principal,
        _reader: impl AsyncRead + Send + Unpin + 'static,
        _writer: impl AsyncWrite + Send + Unpin + 'static,
    ) -> io::Result<()> {
        Ok(())
    }

    /// Ends all sessions, streams and calls, and takes no more.
    pub async fn close(&self) {}
}
