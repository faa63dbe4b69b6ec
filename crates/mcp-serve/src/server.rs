//! The server: what the host holds in its hand.

use std::{io, sync::Arc};

use axum::Router;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::{
    Access, Catalog, Figures, Identity, Limits, Principal, SessionInfo, core::Core, http,
    hub::Change, stdio,
};

/// A server of one catalog at a time, over any number of transports. Clones are the same server.
#[derive(Clone, Debug)]
pub struct Server(Arc<Core>);

impl Server {
    /// A server that offers nothing yet.
    pub fn new(identity: Identity, limits: Limits) -> Self {
        Self(Arc::new(Core::new(identity, limits)))
    }

    /// Offers this catalog from now on, and tells clients which of the lists differ. Calls that are
    /// under way end as they began.
    pub fn offer(&self, catalog: Catalog) {
        self.0.replace(catalog);
    }

    /// Tells clients that the list of resources differs.
    pub fn resources_changed(&self) {
        self.0.hub.tell(&Change::Resources);
    }

    /// Tells the subscribers of a resource that what it holds differs. Many changes that a client has
    /// not been told of yet are told once.
    pub fn resource_updated(&self, uri: &str) {
        self.0.hub.tell(&Change::Updated(uri.to_owned()));
    }

    /// The sessions that are open, the oldest first.
    pub fn sessions(&self) -> Vec<SessionInfo> {
        self.0.sessions.infos()
    }

    /// What the server has done.
    pub fn figures(&self) -> Figures {
        self.0.figures()
    }

    /// The routes of all HTTP transports: `/mcp`, `/mcp/{toolset}`, `/sse` with `/messages/`, and
    /// `/mcp/sse` with `/mcp/messages/{id}`.
    ///
    /// They stand at the root: merge it, and do not nest it. The host's middleware goes around it: it checks who asks, and puts a [`Principal`] into the
    /// request's extensions. Whoever listens must set `TCP_NODELAY` on what it accepts, as
    /// [`serve_http`](crate::serve_http) does: without it every reply waits 40 ms.
    pub fn router(&self, access: Access) -> Router {
        http::router(self.0.clone(), access)
    }

    /// Serves stdin and stdout until stdin ends. Nothing else may be written to stdout.
    ///
    /// A runtime that ends waits for a read of stdin that is under way: end the process itself.
    pub async fn serve_stdio(&self) -> io::Result<()> {
        self.serve(tokio::io::stdin(), tokio::io::stdout()).await
    }

    /// Serves a reader and a writer, one message a line, until the reader ends and what is under way
    /// has been answered.
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
        principal: Principal,
        reader: impl AsyncRead + Send + Unpin + 'static,
        writer: impl AsyncWrite + Send + Unpin + 'static,
    ) -> io::Result<()> {
        stdio::serve(self.0.clone(), principal, reader, writer).await
    }

    /// Ends all sessions, streams and calls, and takes no more. Returns when nothing is under way.
    pub async fn close(&self) {
        self.0.close().await;
    }

    /// Ends when [`Server::close`] is called.
    pub(crate) async fn closed(&self) {
        self.0.closing.cancelled().await;
    }
}
