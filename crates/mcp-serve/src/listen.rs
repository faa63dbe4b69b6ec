//! An HTTP listener, for hosts without one of their own.

use std::io;

use axum::{Router, serve::ListenerExt};
use tokio::net::TcpListener;

use crate::Server;

/// Serves a router, such as [`Server::router`], until the server is closed and all connections have
/// ended.
///
/// It sets `TCP_NODELAY`: without it the system delays small responses by 40 ms.
pub async fn serve_http(server: &Server, listener: TcpListener, router: Router) -> io::Result<()> {
    let listener = listener.tap_io(|stream| {
        // An error means that the connection is gone, which its first use reports.
        let _ = stream.set_nodelay(true);
    });
    let server = server.clone();
    let closed = async move { server.closed().await };
    axum::serve(listener, router).with_graceful_shutdown(closed).await
}
