//! MCP on a node's HTTP port: the tools of its file for agents, beside REST for people and programs.

mod commands;
mod figures;

use std::fmt;
use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use edgemere_command::{Details, Principal};
use edgemere_tools::{Executor, Live, Offer, Origin, Problems};
use mcp_serve::{Icon, Identity, Limits, Server, SessionInfo};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;
use tower::util::MapRequestLayer;

pub(super) use self::commands::NodeCommands;
use self::figures::Figures;
use super::http::limit::limited;
use super::http::{BoundedBodies, principal};
use super::state::State;

/// What the server tells agents before they call anything, where the file of tools says nothing.
const INSTRUCTIONS: &str = "\
Edgemere is one SQL database over many machines; the data stays on them. Prefer aggregates and time \
ranges to raw rows. Every answer says in provenance which nodes answered; complete: false means that \
some did not.";

/// Machines around a lake, as a picture that needs no request.
const ICON: &str = concat!(
    "data:image/svg+xml,%3Csvg%20xmlns='http://www.w3.org/2000/svg'%20viewBox='0%200%2032%203",
    "2'%3E%3Crect%20width='32'%20height='32'%20rx='7'%20fill='%230b4f6c'/%3E%3Cpath%20d='M5",
    "%2018q5.5-5%2011%200t11%200v5q-5.5%205-11%200t-11%200z'%20fill='%2301baef'/%3E%3Cg%20fil",
    "l='%23fff'%3E%3Ccircle%20cx='8'%20cy='10'%20r='2.5'/%3E%3Ccircle%20cx='16'%20cy='7'%20r=",
    "'2.5'/%3E%3Ccircle%20cx='24'%20cy='10'%20r='2.5'/%3E%3C/g%3E%3C/svg%3E"
);

/// What clients read about the server.
pub(crate) fn identity() -> Identity {
    Identity {
        title: Some("Edgemere".into()),
        description: Some("The machines at the edge as one SQL database".into()),
        instructions: Some(INSTRUCTIONS.into()),
        icons: vec![Icon {
            src: ICON.into(),
            mime_type: Some("image/svg+xml".into()),
            sizes: vec!["any".into()],
            theme: None,
        }],
        ..Identity::new("edgemere", edgemere_command::VERSION)
    }
}

/// MCP on a node. Clones are the same.
#[derive(Clone)]
pub(crate) struct Mcp {
    server: Server,
    /// The longest message.
    body_bytes_max: usize,
    live: Live,
}

impl fmt::Debug for Mcp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mcp").field("tools", &self.live.health().tools).finish()
    }
}

impl Mcp {
    /// Loads the tools and is ready to serve them. A bad file is an error.
    pub(super) async fn start(
        state: &Arc<State>,
        limits: Limits,
        tools: Origin,
        beside: Option<clap_serve::Tools>,
    ) -> Result<Self, Problems> {
        let body_bytes_max = limits.body_bytes_max;
        let server = Server::new(identity(), limits);
        let commands = Arc::new(NodeCommands(Arc::clone(state)));
        let executor = Executor::new(commands, agent(state));
        let offer = Offer::new(executor, &server);
        let offer = match beside {
            Some(beside) => offer.beside(move |catalog| beside.add_to(catalog)),
            None => offer,
        };
        let live = Live::start(server.clone(), offer, tools).await?;
        let mcp = Self { server, body_bytes_max, live };
        state.metrics.add(Box::new(Figures(mcp.server.clone())));
        let told = mcp.clone();
        state.node.add_process("MCP", Arc::new(move || told.details()));
        Ok(mcp)
    }

    /// Loads the tools again whenever their file changes, and ends all sessions when the node does.
    pub(super) async fn run(self, stop: CancellationToken) -> std::io::Result<()> {
        self.live.clone().watch(stop.clone()).await;
        stop.cancelled().await;
        self.server.close().await;
        // Programs that were still running are asked to end, and have a moment for it.
        edgemere_tools::programs_ended().await;
        Ok(())
    }

    /// The routes. The guard of the whole port has checked `Host` and `Origin`.
    pub(super) fn router(&self, state: &Arc<State>) -> Router {
        let bodies = BoundedBodies::up_to(state, self.body_bytes_max);
        self.server
            .router_without_origin_check()
            .layer(bodies)
            .layer(MapRequestLayer::new(known(agent(state))))
    }

    /// The server.
    pub(crate) fn server(&self) -> &Server {
        &self.server
    }

    /// How it is doing, for `get processes`.
    fn details(&self) -> Details {
        let (health, sessions) = (self.live.health(), self.server.sessions());
        let file = health.origin.to_string();
        let count = sessions.len();
        let mut text = format!("{} tools of {file}, {count} sessions", health.tools);
        let mut more = Map::new();
        more.insert("tools".into(), health.tools.into());
        more.insert("file".into(), file.into());
        if let Some(problems) = &health.problems {
            text.push_str(&format!(
                "; the file has changed and is wrong, the old tools stay: {problems}"
            ));
            more.insert("problems".into(), problems.to_string().into());
        }
        more.insert("sessions".into(), sessions.iter().map(session).collect());
        Details { text, more }
    }
}

fn session(session: &SessionInfo) -> Value {
    let client =
        session.client.as_ref().map(|client| format!("{} {}", client.name, client.version));
    json!({
        "id": session.id,
        "principal": session.principal.name(),
        "client": client,
        "protocol": session.protocol,
        "transport": session.transport.name(),
        "age_s": session.age.as_secs(),
        "idle_s": session.idle.as_secs(),
        "calls": session.calls,
    })
}

/// Who agents are: the same as who asks over REST, but they only read unless the node says otherwise.
fn agent(state: &State) -> Principal {
    Principal::new(principal(state).name(), state.agent_access)
}

/// Says who asks, to the sessions and limits of the server and to the commands.
fn known(agent: Principal) -> impl Fn(Request) -> Request + Clone {
    let name = mcp_serve::Principal::new(agent.name());
    move |mut request| {
        request.extensions_mut().insert(name.clone());
        // The request may ask for less than agents may do.
        request.extensions_mut().insert(limited(agent.clone()));
        request
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_icon_is_an_address() {
        let is_legal = |b: u8| b.is_ascii_graphic() && !b"\"<>\\^`{|}".contains(&b);
        assert!(ICON.starts_with("data:image/svg+xml,") && ICON.bytes().all(is_legal), "{ICON}");
    }
}
