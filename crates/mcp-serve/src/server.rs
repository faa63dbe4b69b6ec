//! The server: the handle that a host works with.

use std::{io, sync::Arc};

use axum::Router;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::{
    AllowedOrigins, Catalog, Identity, Limits, Metrics, Principal, SessionInfo, http,
    notifier::Change, state::ServerState, stdio,
};

/// A server of one catalog over any number of transports. Clones are handles to the same server.
#[derive(Clone, Debug)]
pub struct Server(Arc<ServerState>);

impl Server {
    /// A server with an empty catalog.
    pub fn new(identity: Identity, limits: Limits) -> Self {
        Self(Arc::new(ServerState::new(identity, limits)))
    }

    /// Publishes a catalog in the place of the previous one, and notifies clients of the lists that differ.
    /// Active calls are not affected.
    pub fn publish(&self, catalog: Catalog) {
        self.0.publish(catalog);
    }

    /// Notifies clients that the list of resources has changed.
    pub fn resources_changed(&self) {
        self.0.notifier.notify(&Change::Resources);
    }

    /// Notifies the subscribers of a resource that its content has changed. Changes that a client has not
    /// been notified of yet are merged.
    pub fn resource_updated(&self, uri: &str) {
        self.0.notifier.notify(&Change::Updated(uri.to_owned()));
    }

    /// The open sessions, oldest first.
    pub fn sessions(&self) -> Vec<SessionInfo> {
        self.0.sessions.infos()
    }

    /// The server's metrics.
    pub fn metrics(&self) -> Metrics {
        self.0.metrics()
    }

    /// The routes of all HTTP transports: `/mcp`, `/mcp/{toolset}`, `/sse` with `/messages/`, and
    /// `/mcp/sse` with `/mcp/messages/{id}`.
    ///
    /// The paths are absolute: merge the router, do not nest it. Middleware of the host around it
    /// authenticates callers and adds a [`Principal`] to the request's extensions. A host with a listener of
    /// its own must set `TCP_NODELAY` on accepted connections, as [`serve_http`](crate::serve_http) does:
    /// without it every response takes 40 ms longer.
    pub fn router(&self, origins: AllowedOrigins) -> Router {
        http::router(self.0.clone(), Some(origins))
    }

    /// As [`Server::router`], without the check of `Host` and `Origin`: for a host that makes it for all of
    /// its routes with [`AllowedOrigins::check`].
    pub fn router_without_origin_check(&self) -> Router {
        http::router(self.0.clone(), None)
    }

    /// Serves stdin and stdout until stdin ends. Nothing else may write to stdout.
    ///
    /// A runtime waits for a pending read of stdin when it shuts down: exit the process instead.
    pub async fn serve_stdio(&self) -> io::Result<()> {
        self.serve(tokio::io::stdin(), tokio::io::stdout()).await
    }

    /// Serves a reader and a writer, one message per line, until the reader ends and all requests are
    /// answered.
    pub async fn serve(
        &self,
        reader: impl AsyncRead + Send + Unpin + 'static,
        writer: impl AsyncWrite + Send + Unpin + 'static,
    ) -> io::Result<()> {
        self.serve_as(Principal::default(), reader, writer).await
    }

    /// As [`Server::serve`], for this principal.
    pub async fn serve_as(
        &self,
        principal: Principal,
        reader: impl AsyncRead + Send + Unpin + 'static,
        writer: impl AsyncWrite + Send + Unpin + 'static,
    ) -> io::Result<()> {
        stdio::serve(self.0.clone(), principal, reader, writer).await
    }

    /// Closes all sessions, streams and calls, and refuses new ones. Returns when no call is active.
    pub async fn close(&self) {
        self.0.close().await;
    }

    /// Returns when [`Server::close`] has been called.
    pub(crate) async fn closed(&self) {
        self.0.closing.cancelled().await;
    }
}
