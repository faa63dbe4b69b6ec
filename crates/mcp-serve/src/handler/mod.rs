//! The handler of all transports: rmcp calls it, and it calls the catalog's code.
#![expect(deprecated, reason = "clients of the revisions before 2026-07-28 use these")]

mod caller;
mod calls;
mod completions;
#[cfg_attr(not(feature = "elicitation"), path = "no_elicitation.rs")]
mod elicitation;
mod lists;
mod run;
mod subscriptions;
#[cfg_attr(not(feature = "tasks"), path = "no_tasks.rs")]
mod tasks;

use std::{borrow::Cow, sync::Arc};

use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CancelledNotificationParam, CompleteRequestParams,
        CompleteResult, CustomRequest, CustomResult, DiscoverResult, ErrorCode,
        GetPromptRequestParams, GetPromptResponse, InitializeRequestParams, InitializeResult,
        ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult,
        PaginatedRequestParams, ProtocolVersion, ReadResourceRequestParams, ReadResourceResponse,
        ServerConfig, SetLevelRequestParams, SubscribeRequestParams, SubscriptionFilter, Tool,
        UnsubscribeRequestParams,
    },
    service::{NotificationContext, RequestContext, SubscriptionContext},
};

#[cfg(feature = "tasks")]
use rmcp::model::{CancelTaskParams, GetTaskParams, GetTaskResult, UpdateTaskParams};

use self::caller::Caller;
use crate::{Fault, Principal, session::Session, state::ServerState, wire};

/// The methods of all revisions. If rmcp does not recognise a request with one of them, its parameters are
/// invalid.
const METHODS: &[&str] = &[
    "completion/complete",
    "prompts/get",
    "prompts/list",
    "resources/list",
    "resources/read",
    "resources/templates/list",
    "server/discover",
    "subscriptions/listen",
    #[cfg(feature = "tasks")]
    "tasks/cancel",
    #[cfg(feature = "tasks")]
    "tasks/get",
    #[cfg(feature = "tasks")]
    "tasks/update",
    "tools/call",
    "tools/list",
];

/// The methods that 2026-07-28 has removed.
const SESSION_METHODS: &[&str] =
    &["initialize", "logging/setLevel", "ping", "resources/subscribe", "resources/unsubscribe"];

/// The handler of all transports.
#[derive(Clone, Debug)]
pub(crate) struct Handler {
    pub(crate) state: Arc<ServerState>,
    /// The principal of requests that do not come over HTTP.
    pub(crate) principal: Principal,
}

impl Handler {
    fn caller(&self, cx: &RequestContext<RoleServer>) -> Caller {
        self.state.counters.requests.add(1);
        Caller::new(&self.principal, cx)
    }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        self.state.config(None)
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.state.catalog().tool(name).cloned()
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        cx.peer.set_peer_info(request.clone());
        let mut result = self.negotiate_initialize(&request)?;
        let toolset = self.caller(&cx).toolset;
        result.instructions = self.state.config(toolset.as_deref()).instructions;
        if let Some(session) = cx.extensions.get::<Arc<Session>>() {
            session.set_peer(cx.peer);
        }
        Ok(result)
    }

    async fn discover(&self, cx: RequestContext<RoleServer>) -> Result<DiscoverResult, ErrorData> {
        let toolset = self.caller(&cx).toolset;
        let versions = ProtocolVersion::KNOWN_VERSIONS.to_vec();
        let config = self.state.config(toolset.as_deref());
        let result = DiscoverResult::from_server_info(versions, config);
        Ok(result.with_ttl_ms(self.list_ttl_ms()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let caller = self.caller(&cx);
        self.tools_call(caller, request, cx).await.map_err(wire::fault)
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        cx: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let caller = self.caller(&cx);
        self.tools_list(&caller, request).map_err(wire::fault)
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let caller = self.caller(&cx);
        self.prompts_get(caller, request, cx).await.map_err(wire::fault)
    }

    async fn list_prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        cx: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let caller = self.caller(&cx);
        self.prompts_list(&caller, request).map_err(wire::fault)
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        cx: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let caller = self.caller(&cx);
        self.resources_list(caller, request, cx).await.map_err(wire::fault)
    }

    async fn list_resource_templates(
        &self,
        request: Option<PaginatedRequestParams>,
        cx: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let caller = self.caller(&cx);
        self.templates_list(&caller, request).map_err(wire::fault)
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let caller = self.caller(&cx);
        self.resources_read(caller, request, cx).await.map_err(wire::fault)
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let caller = self.caller(&cx);
        self.completion(caller, request, cx).await.map_err(wire::fault)
    }

    async fn set_level(
        &self,
        request: SetLevelRequestParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let caller = self.caller(&cx);
        if caller.is_modern() {
            return Err(no_method("logging/setLevel"));
        }
        if let Some(session) = caller.session {
            session.set_log_level(wire::level(request.level));
        }
        Ok(())
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let session = self.caller(&cx).session;
        self.resources_subscribe(session, &request.uri).map_err(wire::fault)
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if let Some(session) = self.caller(&cx).session {
            session.unsubscribe(&request.uri);
        }
        Ok(())
    }

    fn accepted_subscription_filter(
        &self,
        wanted: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        let catalog = self.state.catalog();
        let mut accepted = wanted.clone();
        if let Some(uris) = &mut accepted.resource_subscriptions {
            uris.retain(|uri| catalog.may_subscribe(uri));
            uris.truncate(self.state.limits.subscriptions_max);
        }
        Some(accepted)
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let _ = self.caller(context.request_context());
        self.subscriptions_listen(context).await;
        Ok(())
    }

    async fn on_initialized(&self, cx: NotificationContext<RoleServer>) {
        let Some(session) = cx.extensions.get::<Arc<Session>>().cloned() else { return };
        if !session.set_initialized() {
            return;
        }
        if let Some(info) = cx.peer.peer_info() {
            let client = caller::client(&info.client_info);
            session.set_client(client, info.protocol_version.to_string());
        }
        let notify = lists::notify_session(session.clone(), cx.peer);
        tokio::spawn(session.ended.clone().run_until_cancelled_owned(notify));
    }

    /// Cancels a request that runs on the fast path. rmcp cancels those it runs itself.
    async fn on_cancelled(
        &self,
        cancelled: CancelledNotificationParam,
        cx: NotificationContext<RoleServer>,
    ) {
        let session = cx.extensions.get::<Arc<Session>>();
        if let (Some(session), Some(id)) = (session, cancelled.request_id) {
            session.streams.cancel(&id);
        }
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        cx: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let caller = self.caller(&cx);
        let method = request.method.as_str();
        let is_known =
            METHODS.contains(&method) || SESSION_METHODS.contains(&method) && !caller.is_modern();
        match is_known {
            true => {
                let message = format!("the parameters of {method} are invalid");
                Err(wire::fault(Fault::invalid_params(message)))
            }
            false => Err(no_method(method)),
        }
    }

    #[cfg(feature = "tasks")]
    async fn get_task(
        &self,
        request: GetTaskParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        let caller = self.caller(&cx);
        self.task_get(&caller, &request)
    }

    #[cfg(feature = "tasks")]
    async fn update_task(
        &self,
        request: UpdateTaskParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let caller = self.caller(&cx);
        self.task_update(&caller, request)
    }

    #[cfg(feature = "tasks")]
    async fn cancel_task(
        &self,
        request: CancelTaskParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let caller = self.caller(&cx);
        self.task_cancel(&caller, &request)
    }
}

fn no_method(method: &str) -> ErrorData {
    let message = Cow::Owned(format!("no method \"{method}\""));
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, message, None)
}
