//! The page that a browser gets at `/`: what the node is, and a line to ask it something.

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
        .replace("{{facts}}", &facts)
        .replace("{{query}}", &example(node).unwrap_or_default());
    ([(header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY)], Html(page)).into_response()
}

/// A query on rows that the node has, to try.
fn example(node: &Node) -> Option<String> {
    let storage = node.engine().storage();
    let databases = storage.databases();
    let (dbms, table) = databases.iter().find_map(|dbms| {
        // The table with the most rows has the most to show.
        let table = storage.tables(dbms).into_iter().max_by_key(|table| table.stats().rows)?;
        Some((dbms, table))
    })?;
    let is_plain = |name: &str| name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
    let name = table.name();
    (is_plain(dbms) && is_plain(name)).then(|| {
        let command = format!("sql {dbms} select * from {name} limit 5");
        format!("<button type=\"button\" class=\"example\">{}</button>\n", escape(&command))
    })
}

/// The page's style.
pub(super) async fn style() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "text/css; charset=utf-8")], include_str!("page/page.css"))
}

/// The page's script.
pub(super) async fn script() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "text/javascript; charset=utf-8")], include_str!("page/page.js"))
}
