//! Paginated lists, and notifications of their changes.

use std::{sync::Arc, time::Duration};

use rmcp::{
    RoleServer,
    model::{
        CacheScope, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
        ListToolsResult, PaginatedRequestParams, PromptListChangedNotification,
        ResourceListChangedNotification, ResourceUpdatedNotification,
        ResourceUpdatedNotificationParam, SealOptions, ServerNotification,
        ToolListChangedNotification,
    },
    service::{Peer, RequestContext},
};

use super::{Caller, Handler};
use crate::{Fault, notifier::Change, session::Session, wire};

/// How long a cursor is valid.
const CURSOR_TTL: Duration = Duration::from_secs(3600);

/// A page of a list, and the cursor of the next one.
type Page<T> = (Vec<T>, Option<String>);

/// A paginated list.
struct List<'a> {
    name: &'a str,
    /// The publication of the catalog that cursors are bound to. After another one clients start over.
    generation: u64,
    caller: &'a Caller,
}

/// Sets the fields that all lists have.
macro_rules! list {
    ($handler:expr, $caller:expr, $list:ident, $page:expr) => {{
        let (entries, next_cursor) = $page;
        let mut result = $list::with_all_items(entries);
        result.next_cursor = next_cursor;
        if $caller.is_modern() {
            result.ttl_ms = Some($handler.list_ttl_ms());
            result.cache_scope = Some(CacheScope::Private);
        }
        $handler.sign(&mut result.meta, $caller);
        result
    }};
}

impl Handler {
    pub(super) fn list_ttl_ms(&self) -> u64 {
        u64::try_from(self.state.limits.list_ttl.as_millis()).unwrap_or(u64::MAX)
    }

    pub(super) fn tools_list(
        &self,
        caller: &Caller,
        request: Option<PaginatedRequestParams>,
    ) -> Result<ListToolsResult, Fault> {
        let catalog = self.state.catalog();
        let tools = catalog.tools_of(caller.toolset.as_deref());
        let list = List { name: "tools", generation: catalog.generation, caller };
        let page = self.page(&list, tools, request)?;
        Ok(list!(self, caller, ListToolsResult, page))
    }

    pub(super) fn prompts_list(
        &self,
        caller: &Caller,
        request: Option<PaginatedRequestParams>,
    ) -> Result<ListPromptsResult, Fault> {
        let catalog = self.state.catalog();
        let list = List { name: "prompts", generation: catalog.generation, caller };
        let page = self.page(&list, catalog.prompts.clone(), request)?;
        Ok(list!(self, caller, ListPromptsResult, page))
    }

    pub(super) fn templates_list(
        &self,
        caller: &Caller,
        request: Option<PaginatedRequestParams>,
    ) -> Result<ListResourceTemplatesResult, Fault> {
        let catalog = self.state.catalog();
        let list = List { name: "templates", generation: catalog.generation, caller };
        let page = self.page(&list, catalog.templates(), request)?;
        Ok(list!(self, caller, ListResourceTemplatesResult, page))
    }

    pub(super) async fn resources_list(
        &self,
        caller: Caller,
        request: Option<PaginatedRequestParams>,
        cx: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, Fault> {
        let context = caller.context(&self.state, &cx);
        let catalog = self.state.catalog();
        let work = async {
            let mut all = Vec::new();
            for source in &catalog.resources {
                all.extend(source.list(&context).await?.into_iter().map(wire::resource));
            }
            Ok(all)
        };
        let resources = self.run_or_fail(&caller, &cx, &context, work).await?;
        let list = List { name: "resources", generation: catalog.generation, caller: &caller };
        let page = self.page(&list, resources, request)?;
        Ok(list!(self, &caller, ListResourcesResult, page))
    }

    /// The requested page. A cursor is sealed: it is bound to this list and this principal, and opaque to
    /// the client.
    fn page<T>(
        &self,
        list: &List<'_>,
        mut entries: Vec<T>,
        request: Option<PaginatedRequestParams>,
    ) -> Result<Page<T>, Fault> {
        let toolset = list.caller.toolset.as_deref().unwrap_or_default();
        let associated_data =
            format!("{}\0{}\0{toolset}\0{}", list.caller.principal, list.name, list.generation);
        let begin = match request.and_then(|request| request.cursor) {
            None => 0,
            Some(cursor) => {
                self.state.seal.open_json_with::<usize>(&cursor, associated_data.as_bytes()).map_err(
                    |_| {
                        Fault::invalid_params(
                            "the cursor is invalid or the list has changed: start again without a cursor",
                        )
                    },
                )?
            }
        };
        let end = begin.saturating_add(self.state.limits.page_entries_max.max(1));
        let is_last = end >= entries.len();
        entries.truncate(end);
        let page = entries.split_off(begin.min(entries.len()));
        let next = match is_last {
            true => None,
            false => {
                let options =
                    SealOptions::new().associated_data(associated_data.as_bytes()).ttl(CURSOR_TTL);
                self.state.seal.seal_json_with(&end, &options).ok()
            }
        };
        Ok((page, next))
    }
}

/// Notifies a session of changes, at the speed at which its client reads.
pub(super) async fn notify_session(session: Arc<Session>, peer: Peer<RoleServer>) {
    let subscriber = session.subscriber().clone();
    drop(session);
    loop {
        let change = subscriber.next().await;
        if peer.send_notification(notification(change)).await.is_err() {
            return;
        }
    }
}

/// The notification of a change.
pub(super) fn notification(change: Change) -> ServerNotification {
    match change {
        Change::Tools => ToolListChangedNotification::default().into(),
        Change::Prompts => PromptListChangedNotification::default().into(),
        Change::Resources => ResourceListChangedNotification::default().into(),
        Change::Updated(uri) => {
            let params = ResourceUpdatedNotificationParam::new(uri);
            ResourceUpdatedNotification::new(params).into()
        }
    }
}
