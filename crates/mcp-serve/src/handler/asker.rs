//! Who asks: read from the request, wherever it came from.

use std::{collections::BTreeMap, sync::Arc};

use axum::http::{Extensions, request::Parts};
use rmcp::{
    RoleServer,
    model::{Implementation, ProtocolVersion},
    service::RequestContext,
};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::{
    Client, Context, Principal, client::ClientLink, core::Core, http::Toolset, session::Session,
    tasks::Escalation,
};

/// Who asks.
#[derive(Clone, Debug)]
pub(super) struct Asker {
    pub(super) principal: Principal,
    pub(super) extensions: Arc<Extensions>,
    pub(super) toolset: Option<String>,
    pub(super) session: Option<Arc<Session>>,
    /// The revision of the protocol, when it is known.
    pub(super) protocol: Option<ProtocolVersion>,
}

impl Asker {
    /// Who asks. Over HTTP it is the principal of the request, on a pipe that of the pipe.
    pub(super) fn new(default: &Principal, cx: &RequestContext<RoleServer>) -> Self {
        let extensions = match cx.extensions.get::<Arc<Extensions>>() {
            Some(extensions) => extensions.clone(),
            // Requests that come through rmcp have all that was before their body.
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

    /// Whether it keeps no session: since 2026-07-28.
    pub(super) fn is_modern(&self) -> bool {
        self.protocol.as_ref().is_some_and(|version| *version >= ProtocolVersion::V_2026_07_28)
    }

    /// What the catalog's code is told of who asks.
    pub(super) fn context(
        &self,
        core: &Arc<Core>,
        cx: &RequestContext<RoleServer>,
        answers: BTreeMap<String, Value>,
    ) -> Context {
        self.context_of_call(core, cx, answers, None)
    }

    /// As [`Asker::context`], for a call that may become a task.
    pub(super) fn context_of_call(
        &self,
        core: &Arc<Core>,
        cx: &RequestContext<RoleServer>,
        answers: BTreeMap<String, Value>,
        escalation: Option<Arc<Escalation>>,
    ) -> Context {
        let cancelled = CancellationToken::new();
        let session = self.session.clone();
        let link = ClientLink::new(
            core.clone(),
            session,
            cx,
            self.is_modern(),
            answers,
            cancelled.clone(),
            escalation,
        );
        Context {
            principal: self.principal.clone(),
            extensions: self.extensions.clone(),
            client: cx.client_info().as_ref().map(client),
            protocol: self.protocol.as_ref().map(ToString::to_string).unwrap_or_default(),
            toolset: self.toolset.clone(),
            cancelled,
            link: Some(Arc::new(link)),
        }
    }
}

pub(super) fn client(info: &Implementation) -> Client {
    Client { name: info.name.clone(), version: info.version.clone() }
}
