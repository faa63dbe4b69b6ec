//! Lists in pages, and telling that they differ.

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

use super::{Asker, Handler};
use crate::{Fault, hub::Change, session::Session, wire};

/// How long a client may take from one page to the next.
const CURSOR_TTL: Duration = Duration::from_secs(3600);

/// A page of a list, and where the next one begins.
type Page<T> = (Vec<T>, Option<String>);

/// A list that is sent in pages.
struct List<'a> {
    name: &'a str,
    /// A page is of one state of the list: when it differs the client begins again.
    generation: u64,
    asker: &'a Asker,
}

/// Fills in what all lists have.
macro_rules! list {
    ($handler:expr, $asker:expr, $list:ident, $page:expr) => {{
        let (entries, next_cursor) = $page;
        let mut result = $list::with_all_items(entries);
        result.next_cursor = next_cursor;
        if $asker.is_modern() {
            result.ttl_ms = Some($handler.list_ttl_ms());
            result.cache_scope = Some(CacheScope::Private);
        }
        $handler.sign(&mut result.meta, $asker);
        result
    }};
}

impl Handler {
    pub(super) fn list_ttl_ms(&self) -> u64 {
        u64::try_from(self.core.limits.list_ttl.as_millis()).unwrap_or(u64::MAX)
    }

    pub(super) fn tools_list(
        &self,
        asker: &Asker,
        request: Option<PaginatedRequestParams>,
    ) -> Result<ListToolsResult, Fault> {
        let offer = self.core.offer();
        let tools = offer.tools_of(asker.toolset.as_deref());
        let list = List { name: "tools", generation: offer.generation, asker };
        let page = self.page(&list, tools, request)?;
        Ok(list!(self, asker, ListToolsResult, page))
    }

    pub(super) fn prompts_list(
        &self,
        asker: &Asker,
        request: Option<PaginatedRequestParams>,
    ) -> Result<ListPromptsResult, Fault> {
        let offer = self.core.offer();
        let list = List { name: "prompts", generation: offer.generation, asker };
        let page = self.page(&list, offer.prompts.clone(), request)?;
        Ok(list!(self, asker, ListPromptsResult, page))
    }

    pub(super) fn templates_list(
        &self,
        asker: &Asker,
        request: Option<PaginatedRequestParams>,
    ) -> Result<ListResourceTemplatesResult, Fault> {
        let offer = self.core.offer();
        let list = List { name: "templates", generation: offer.generation, asker };
        let page = self.page(&list, offer.templates(), request)?;
        Ok(list!(self, asker, ListResourceTemplatesResult, page))
    }

    pub(super) async fn resources_list(
        &self,
        asker: Asker,
        request: Option<PaginatedRequestParams>,
        cx: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, Fault> {
        let context = asker.context(&self.core, &cx, Default::default());
        let offer = self.core.offer();
        let work = async {
            let mut all = Vec::new();
            for source in &offer.resources {
                all.extend(source.list(&context).await?.into_iter().map(wire::resource));
            }
            Ok(all)
        };
        let resources = self.run_or_fail(&asker, &cx, &context, work).await?;
        let list = List { name: "resources", generation: offer.generation, asker: &asker };
        let page = self.page(&list, resources, request)?;
        Ok(list!(self, &asker, ListResourcesResult, page))
    }

    /// The page that was asked for. A cursor is sealed: it is of this list and this principal, and
    /// says nothing to the client.
    fn page<T>(
        &self,
        list: &List<'_>,
        mut entries: Vec<T>,
        request: Option<PaginatedRequestParams>,
    ) -> Result<Page<T>, Fault> {
        let toolset = list.asker.toolset.as_deref().unwrap_or_default();
        let belongs_to =
            format!("{}\0{}\0{toolset}\0{}", list.asker.principal, list.name, list.generation);
        let begin = match request.and_then(|request| request.cursor) {
            None => 0,
            Some(cursor) => {
                self.core.seal.open_json_with::<usize>(&cursor, belongs_to.as_bytes()).map_err(
                    |_| {
                        Fault::invalid_params(
                            "the cursor is not of this list as it is now: begin again without one",
                        )
                    },
                )?
            }
        };
        let end = begin.saturating_add(self.core.limits.page_entries_max.max(1));
        let is_last = end >= entries.len();
        entries.truncate(end);
        let page = entries.split_off(begin.min(entries.len()));
        let next = match is_last {
            true => None,
            false => {
                let options =
                    SealOptions::new().associated_data(belongs_to.as_bytes()).ttl(CURSOR_TTL);
                self.core.seal.seal_json_with(&end, &options).ok()
            }
        };
        Ok((page, next))
    }
}

/// Tells a session what changes, at the speed at which it reads.
pub(super) async fn tell_session(session: Arc<Session>, peer: Peer<RoleServer>) {
    let watcher = session.watcher().clone();
    drop(session);
    loop {
        let change = watcher.next().await;
        if peer.send_notification(told(change)).await.is_err() {
            return;
        }
    }
}

/// A change as it is told.
pub(super) fn told(change: Change) -> ServerNotification {
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
