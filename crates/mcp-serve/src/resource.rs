//! Resources: content that a client reads by its URI.

use futures_util::future::BoxFuture;
use serde_json::{Map, Value};

use crate::{Context, Fault, Icon, Link, ResourceContent};

/// A URI template of resources, such as `db://{database}/{table}` (RFC 6570).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ResourceTemplate {
    /// The URI with placeholders.
    pub uri_template: String,
    /// The name of these resources.
    pub name: String,
    /// Their display name.
    pub title: Option<String>,
    /// Their description: one sentence.
    pub description: Option<String>,
    /// Their media type, such as `application/json`.
    pub mime_type: Option<String>,
    /// Icons for a list of resources.
    pub icons: Vec<Icon>,
    /// Extension data, sent as `_meta`.
    pub meta: Map<String, Value>,
}

/// A source of resources, consulted on every request. After a change of its list call
/// [`Server::resources_changed`](crate::Server::resources_changed); after a change of a resource's
/// content call [`Server::resource_updated`](crate::Server::resource_updated).
pub trait Resources: Send + Sync + 'static {
    /// The resources that this caller can read. Their order must be stable, because lists are paginated.
    fn list<'a>(&'a self, context: &'a Context) -> BoxFuture<'a, Result<Vec<Link>, Fault>>;

    /// The templates of this source.
    fn templates(&self) -> Vec<ResourceTemplate> {
        Vec::new()
    }

    /// The content of a resource; `None` if this source does not have it.
    fn read<'a>(
        &'a self,
        uri: &'a str,
        context: &'a Context,
    ) -> BoxFuture<'a, Result<Option<Vec<ResourceContent>>, Fault>>;

    /// Whether this source calls [`Server::resource_updated`](crate::Server::resource_updated) when this
    /// resource changes.
    fn may_subscribe(&self, _uri: &str) -> bool {
        false
    }

    /// Called when a resource gets its first subscription (`true`) and when it loses its last one
    /// (`false`), so that a source watches only what a client subscribes to.
    fn subscribed(&self, _uri: &str, _is_subscribed: bool) {}
}
