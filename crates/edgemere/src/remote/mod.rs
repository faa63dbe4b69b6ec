//! Tools carried out by another node, which is asked over REST: one of Edgemere, which gives rows a page
//! at a time, or one of EdgeLake, whose own ways are known in `edgelake` and nowhere else.

mod edgelake;
mod edgemere;
mod events;

use std::sync::Arc;
use std::time::Duration;

use edgemere_command::{Command, Door, Error, Kind, Request};
use edgemere_tools::{Commands, Failure};
use reqwest::{Method, Url};
use serde_json::Value;

use self::edgelake::EdgeLake;
use self::edgemere::Edgemere;
pub(crate) use self::events::Names;
use crate::client::Client;

/// How long a node has to say what it is.
const KIND_TIME: Duration = Duration::from_secs(10);

/// The way to the node at a URL, which is asked once what it is.
pub(crate) async fn connect(url: Url) -> anyhow::Result<Arc<dyn Commands>> {
    let client = Client::new(url)?.at_door(Door::Agent);
    match edgemere_name(&client).await? {
        Some(name) => Ok(Arc::new(Edgemere::new(client, name))),
        None => Ok(Arc::new(EdgeLake::connect(client).await?)),
    }
}

/// The name of a node of Edgemere; none when it is another: EdgeLake says nothing of its version there.
async fn edgemere_name(client: &Client) -> anyhow::Result<Option<String>> {
    let request = client.request(Method::GET, "/health").timeout(KIND_TIME);
    let response = client.response(request).await?;
    let Ok(text) = client.text(response).await else { return Ok(None) };
    let health: Value = serde_json::from_str(&text).unwrap_or_default();
    let is_edgemere = health.get("version").is_some() && health.get("policies").is_some();
    let name = health.get("node").and_then(Value::as_str).unwrap_or(client.address());
    // NAME@ADDRESS: the name alone is what the node itself answers under.
    let name = name.split('@').next().unwrap_or(name);
    Ok(is_edgemere.then(|| name.to_owned()))
}

/// The command of a request, when its caller may run it as far as its text shows. A node of Edgemere
/// receives the caller's access and checks again; one of EdgeLake does not know callers.
fn permitted(request: &Request) -> Result<&Command, Failure> {
    let command = request.command.parsed()?;
    let allowed = request.principal.authorize(command.declaration().name, command.effect());
    allowed.map_err(Error::from)?;
    Ok(command)
}

/// What somebody who calls a tool is reported of what went wrong on the way.
impl From<crate::failure::Failure> for Failure {
    fn from(failure: crate::failure::Failure) -> Self {
        Self::new(failure.kind, failure.message, failure.hint)
    }
}

/// A node answered something that it should not.
fn strange(address: &str, what: &str) -> Failure {
    let hint = "is it a node, and of this version?";
    Failure::new(Kind::Unavailable, format!("{address} {what}"), Some(hint.into()))
}
