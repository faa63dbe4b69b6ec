//! Listening, for hosts that have no listener of their own.

use std::io;

use axum::{Router, serve::ListenerExt};
use tokio::net::TcpListener;

use crate::Server;

/// Serves a router, such as [`Server::router`], on a listener until the server is closed, and then
/// until the connections have ended.
///
/// It sets `TCP_NODELAY`: without it the system holds back small replies until more comes, which
/// costs 40 ms a call.
pub async fn serve_http(server: &Server, listener: TcpListener, router: Router) -> io::Result<()> {
    let listener = listener.tap_io(|stream| {
        // A connection that is gone already is noticed when it is used.
        let _ = stream.set_nodelay(true);
    });
    let server = server.clone();
    let closed = async move { server.closed().await };
    axum::serve(listener, router).with_graceful_shutdown(closed).await
}
