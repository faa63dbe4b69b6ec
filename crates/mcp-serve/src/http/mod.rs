//! The HTTP transports: Streamable HTTP, and HTTP+SSE for clients of revision 2024-11-05.

mod endpoint;
mod fast_path;
mod layers;
mod reply;
mod sse;

use std::sync::Arc;

use axum::{
    Router,
    routing::{any, get, post},
};
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tower::ServiceBuilder;

use self::layers::Guard;
use crate::{
    AllowedOrigins, Principal, handler::Handler, session::RmcpSessions, state::ServerState,
};

/// The toolset of a request, in its extensions.
#[derive(Clone, Debug)]
pub(crate) struct Toolset(pub(crate) String);

/// The state of the routes.
struct Http {
    state: Arc<ServerState>,
    handler: Handler,
    service: StreamableHttpService<Handler, RmcpSessions>,
}

/// The routes of all HTTP transports. Without allowed origins the host has checked `Host` and `Origin`.
pub(crate) fn router(state: Arc<ServerState>, origins: Option<AllowedOrigins>) -> Router {
    let handler = Handler { state: state.clone(), principal: Principal::default() };
    // Hosts, origins and lengths are checked for all routes before rmcp sees a request.
    let config = StreamableHttpServerConfig::default()
        .with_json_response(!state.limits.stream_after.is_zero())
        .with_sse_keep_alive(Some(state.limits.keep_alive))
        .with_cancellation_token(state.closing.child_token())
        .with_max_request_body_bytes(usize::MAX)
        .disable_allowed_hosts()
        .disable_allowed_origins();
    let (factory, sessions) = (handler.clone(), Arc::new(RmcpSessions(state.sessions.clone())));
    let service = StreamableHttpService::new(move || Ok(factory.clone()), sessions, config);
    let (origins, counters) = (origins.map(Arc::new), state.counters.clone());
    let guarded = state.clone();
    let layers = ServiceBuilder::new()
        .map_response(move |response| layers::metered(response, &counters))
        .layer_fn(move |inner| Guard { inner, state: guarded.clone(), origins: origins.clone() })
        .map_response(layers::preflight_status)
        .layer(layers::cors());
    Router::new()
        .route("/mcp", any(endpoint::all_tools))
        .route("/mcp/", any(endpoint::all_tools))
        .route("/mcp/{toolset}", any(endpoint::toolset))
        .route("/sse", get(sse::open))
        .route("/messages", post(sse::message_by_query))
        .route("/messages/", post(sse::message_by_query))
        .route("/mcp/sse", get(sse::open_below_mcp))
        .route("/mcp/messages/{id}", post(sse::message_by_path))
        .layer(layers)
        .with_state(Arc::new(Http { state, handler, service }))
}
