//! Subscriptions: of sessions to resources, and of clients without a session to the changes they listen
//! to.

use std::{sync::Arc, time::Duration};

use rmcp::service::SubscriptionContext;
use serde_json::json;

use super::{Handler, lists};
use crate::{Fault, notifier::Change, session::Session};

impl Handler {
    pub(super) fn resources_subscribe(
        &self,
        session: Option<Arc<Session>>,
        uri: &str,
    ) -> Result<(), Fault> {
        let session = session.ok_or_else(|| Fault::invalid_params("there is no session"))?;
        if !self.state.catalog().may_subscribe(uri) {
            let fault = Fault::not_found(format!("no resource \"{uri}\" supports subscriptions"));
            return Err(fault.with_data(json!({ "uri": uri })));
        }
        let max = self.state.limits.subscriptions_max;
        match session.subscribe(uri, max, || self.state.notifier.subscribe(uri)) {
            true => Ok(()),
            false => {
                self.state.counters.refused_by_limit.add(1);
                let message = format!("a session has at most {max} subscriptions");
                Err(Fault::refused(message, Duration::from_secs(1)))
            }
        }
    }

    /// Notifies a client without a session of changes, until it disconnects.
    pub(super) async fn subscriptions_listen(&self, context: SubscriptionContext) {
        let _open = self.state.counters.listeners_open.hold();
        let accepted = context.accepted();
        let uris = accepted.resource_subscriptions.clone().unwrap_or_default();
        let lists = [
            (accepted.tools_list_changed, Change::Tools),
            (accepted.prompts_list_changed, Change::Prompts),
            (accepted.resources_list_changed, Change::Resources),
        ];
        let lists = lists.into_iter().filter(|(is_wanted, _)| *is_wanted == Some(true));
        let lists = lists.map(|(_, change)| change);
        let notifier = &self.state.notifier;
        let topics = lists.chain(uris.iter().cloned().map(Change::Updated));
        let subscriber = notifier.subscriber(topics);
        let _subscriptions: Vec<_> = uris.iter().map(|uri| notifier.subscribe(uri)).collect();
        let notify = async {
            loop {
                let change = subscriber.next().await;
                if context.sink().send(lists::notification(change)).await.is_err() {
                    return;
                }
            }
        };
        let session = context.request_context().extensions.get::<Arc<Session>>();
        let input_closed = async {
            match session {
                Some(session) => session.input_closed.cancelled().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = notify => {}
            () = input_closed => {}
            () = context.cancelled() => {}
            () = self.state.closing.cancelled() => {}
        }
    }
}
