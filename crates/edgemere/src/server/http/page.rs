//! The page that a browser gets at `/`: what the node is, its tables, and a place for SQL and commands.

use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{Html, IntoResponse, Response};
use edgemere_command::Node;

use super::html::escape;

/// Only what the node itself serves may be loaded or asked by the page.
const CONTENT_SECURITY_POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; \
     form-action 'none'; frame-ancestors 'none'; base-uri 'none'",
);

/// Whether the caller is somebody with a browser.
pub(super) fn is_wanted(headers: &HeaderMap) -> bool {
    let accept = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok());
    accept.is_some_and(|accept| accept.contains("text/html"))
}

/// The page.
pub(super) fn page(node: &Node) -> Response {
    let settings = node.settings();
    let roles: Vec<_> = settings.roles.iter().map(|role| role.name()).collect();
    let facts = [
        ("Name", node.name()),
        ("Roles", roles.join(", ")),
        ("Company", settings.company.clone()),
        ("REST", format!("http://{}", settings.http)),
        ("Network", settings.network.to_string()),
        ("Policies", node.ledger().len().to_string()),
        ("Version", edgemere_command::VERSION.into()),
    ];
    let facts: String = facts
        .iter()
        .map(|(name, value)| format!("<dt>{name}</dt><dd>{}</dd>", escape(value)))
        .collect();
    let page = include_str!("page/page.html")
        .replace("{{name}}", &escape(&node.name()))
        .replace("{{facts}}", &facts);
    ([(header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY)], Html(page)).into_response()
}

/// The page's style.
pub(super) async fn style() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "text/css; charset=utf-8")], include_str!("page/page.css"))
}

/// The page's script.
pub(super) async fn script() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "text/javascript; charset=utf-8")], include_str!("page/page.js"))
}
