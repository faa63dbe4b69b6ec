//! The caller of a request, from whichever transport it came.

use std::sync::Arc;

use axum::http::{Extensions, request::Parts};
use rmcp::{
    RoleServer,
    model::{Implementation, ProtocolVersion},
    service::RequestContext,
};
use tokio_util::sync::CancellationToken;

use super::elicitation::ElicitationState;
use crate::{
    Client, Context, Principal, client::ClientLink, http::Toolset, session::Session,
    state::ServerState, tasks::Escalation,
};

/// The caller of a request.
#[derive(Clone, Debug)]
pub(super) struct Caller {
    pub(super) principal: Principal,
    pub(super) extensions: Arc<Extensions>,
    pub(super) toolset: Option<String>,
    pub(super) session: Option<Arc<Session>>,
    /// The protocol revision, if it is known.
    pub(super) protocol: Option<ProtocolVersion>,
}

impl Caller {
    /// The caller of a request. Its principal is that of the HTTP request, or else the default.
    pub(super) fn new(default: &Principal, cx: &RequestContext<RoleServer>) -> Self {
        let extensions = match cx.extensions.get::<Arc<Extensions>>() {
            Some(extensions) => extensions.clone(),
            // Requests that come through rmcp carry the head of their HTTP request.
            None => cx
                .extensions
                .get::<Parts>()
                .map(|parts| parts.extensions.clone())
                .unwrap_or_default()
                .into(),
        };
        Self {
            principal: extensions.get::<Principal>().unwrap_or(default).clone(),
            toolset: extensions.get::<Toolset>().map(|Toolset(name)| name.clone()),
            session: cx.extensions.get::<Arc<Session>>().cloned(),
            protocol: cx.protocol_version(),
            extensions,
        }
    }

    /// Whether it uses revision 2026-07-28 or later, which has no sessions.
    pub(super) fn is_modern(&self) -> bool {
        self.protocol.as_ref().is_some_and(|version| *version >= ProtocolVersion::V_2026_07_28)
    }

    /// The context for the catalog's code.
    pub(super) fn context(
        &self,
        state: &Arc<ServerState>,
        cx: &RequestContext<RoleServer>,
    ) -> Context {
        self.context_of(self.link(state, cx), cx)
    }

    /// The context for a request that may be repeated with input, or become a task.
    pub(super) fn context_for_call(
        &self,
        state: &Arc<ServerState>,
        cx: &RequestContext<RoleServer>,
        elicitation: &ElicitationState,
        escalation: Option<Arc<Escalation>>,
    ) -> Context {
        let mut link = self.link(state, cx);
        elicitation.hand_to(&mut link);
        link.escalation = escalation;
        self.context_of(link, cx)
    }

    fn link(&self, state: &Arc<ServerState>, cx: &RequestContext<RoleServer>) -> ClientLink {
        let (session, cancelled) = (self.session.clone(), CancellationToken::new());
        ClientLink::new(state.clone(), session, cx, self.is_modern(), cancelled)
    }

    fn context_of(&self, link: ClientLink, cx: &RequestContext<RoleServer>) -> Context {
        Context {
            principal: self.principal.clone(),
            extensions: self.extensions.clone(),
            client: cx.client_info().as_ref().map(client),
            protocol: self.protocol.as_ref().map(ToString::to_string).unwrap_or_default(),
            toolset: self.toolset.clone(),
            cancelled: link.cancelled.clone(),
            link: Some(Arc::new(link)),
        }
    }
}

pub(super) fn client(info: &Implementation) -> Client {
    Client { name: info.name.clone(), version: info.version.clone() }
}
