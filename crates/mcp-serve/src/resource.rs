//! Resources: what a client can read by its address.

use futures_util::future::BoxFuture;
use serde_json::{Map, Value};

use crate::{Context, Fault, Icon, Link, ResourceContent};

/// A family of resources whose addresses have holes, such as `db://{database}/{table}` (RFC 6570).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ResourceTemplate {
    /// The address with its holes.
    pub uri_template: String,
    /// What they are called.
    pub name: String,
    /// Their name for people.
    pub title: Option<String>,
    /// What they hold, in a sentence.
    pub description: Option<String>,
    /// What they are, such as `application/json`.
    pub mime_type: Option<String>,
    /// Pictures for a list of resources.
    pub icons: Vec<Icon>,
    /// What the protocol does not know of, in `_meta`.
    pub meta: Map<String, Value>,
}

/// A source of resources, asked whenever a client asks. When its list differs say so with
/// [`Server::resources_changed`](crate::Server::resources_changed), and when what a resource holds
/// differs with [`Server::resource_updated`](crate::Server::resource_updated).
pub trait Resources: Send + Sync + 'static {
    /// The resources that there are for who asks, in an order that stays: lists are sent in pages.
    fn list<'a>(&'a self, context: &'a Context) -> BoxFuture<'a, Result<Vec<Link>, Fault>>;

    /// Families of resources.
    fn templates(&self) -> Vec<ResourceTemplate> {
        Vec::new()
    }

    /// What a resource holds; `None` when this source has no such resource.
    fn read<'a>(
        &'a self,
        uri: &'a str,
        context: &'a Context,
    ) -> BoxFuture<'a, Result<Option<Vec<ResourceContent>>, Fault>>;

    /// Whether [`Server::resource_updated`](crate::Server::resource_updated) will tell of changes of
    /// this resource.
    fn may_subscribe(&self, _uri: &str) -> bool {
        false
    }

    /// Who asks subscribes to a resource, or no longer does: a source that watches something for
    /// this can begin and end. Called once for the first subscriber of an address and once when
    /// the last one has gone.
    fn watched(&self, _uri: &str, _is_watched: bool) {}
}
