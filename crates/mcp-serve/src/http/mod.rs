//! The HTTP transports: Streamable HTTP, and HTTP+SSE for clients of the first revision.

mod answer;
mod endpoint;
mod guard;
mod reply;
mod sse;

use std::sync::Arc;

use axum::{
    Router,
    routing::{any, get, post},
};
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tower::ServiceBuilder;

use self::guard::Guard;

use crate::{Access, Principal, core::Core, handler::Handler, session::Manager};

/// The toolset that a request is for, among its extensions.
#[derive(Clone, Debug)]
pub(crate) struct Toolset(pub(crate) String);

/// What the routes share.
struct Http {
    core: Arc<Core>,
    handler: Handler,
    service: StreamableHttpService<Handler, Manager>,
}

/// The routes of all HTTP transports.
pub(crate) fn router(core: Arc<Core>, access: Access) -> Router {
    let handler = Handler { core: core.clone(), principal: Principal::default() };
    // Hosts, origins and lengths are checked for all routes before rmcp is asked.
    let config = StreamableHttpServerConfig::default()
        .with_json_response(!core.limits.stream_after.is_zero())
        .with_sse_keep_alive(Some(core.limits.keep_alive))
        .with_cancellation_token(core.closing.child_token())
        .with_max_request_body_bytes(usize::MAX)
        .disable_allowed_hosts()
        .disable_allowed_origins();
    let (factory, sessions) = (handler.clone(), Arc::new(Manager(core.sessions.clone())));
    let service = StreamableHttpService::new(move || Ok(factory.clone()), sessions, config);
    let (shared, counters) = (Arc::new((access, core.clone())), core.counters.clone());
    let layers = ServiceBuilder::new()
        .map_response(move |response| guard::metered(response, &counters))
        .layer_fn(move |inner| Guard { inner, shared: shared.clone() });
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
        .with_state(Arc::new(Http { core, handler, service }))
}
