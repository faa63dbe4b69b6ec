//! Subscriptions: of sessions to resources, and of clients without a session to whatever they listen
//! to.

use std::{sync::Arc, time::Duration};

use rmcp::service::SubscriptionContext;
use serde_json::json;

use super::{Handler, lists};
use crate::{Fault, hub::Change, session::Session};

impl Handler {
    pub(super) fn resources_subscribe(
        &self,
        session: Option<Arc<Session>>,
        uri: &str,
    ) -> Result<(), Fault> {
        let session = session.ok_or_else(|| Fault::invalid_params("there is no session"))?;
        if !self.core.offer().may_subscribe(uri) {
            let fault = Fault::not_found(format!("no resource \"{uri}\" tells of its changes"));
            return Err(fault.with_data(json!({ "uri": uri })));
        }
        let max = self.core.limits.subscriptions_max;
        match session.subscribe(uri, max, || self.core.hub.watch(uri)) {
            true => Ok(()),
            false => {
                self.core.counters.refused_by_limit.add(1);
                let message = format!("a session has at most {max} subscriptions");
                Err(Fault::refused(message, Duration::from_secs(1)))
            }
        }
    }

    /// Tells a client without a session what changes, until it goes away.
    pub(super) async fn subscriptions_listen(&self, context: SubscriptionContext) {
        let _listens = self.core.counters.listeners_open.hold();
        let accepted = context.accepted();
        let uris = accepted.resource_subscriptions.clone().unwrap_or_default();
        let lists = [
            (accepted.tools_list_changed, Change::Tools),
            (accepted.prompts_list_changed, Change::Prompts),
            (accepted.resources_list_changed, Change::Resources),
        ];
        let lists = lists.into_iter().filter(|(is_wanted, _)| *is_wanted == Some(true));
        let wants = lists.map(|(_, change)| change);
        let watcher = self.core.hub.watcher(wants.chain(uris.iter().cloned().map(Change::Updated)));
        let _watches: Vec<_> = uris.iter().map(|uri| self.core.hub.watch(uri)).collect();
        let tell = async {
            loop {
                let change = watcher.next().await;
                if context.sink().send(lists::told(change)).await.is_err() {
                    return;
                }
            }
        };
        let session = context.request_context().extensions.get::<Arc<Session>>();
        let hung_up = async {
            match session {
                Some(session) => session.hung_up.cancelled().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = tell => {}
            () = hung_up => {}
            () = context.cancelled() => {}
            () = self.core.closing.cancelled() => {}
        }
    }
}
