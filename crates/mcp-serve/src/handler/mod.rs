//! The one handler of all transports: rmcp asks it, and it asks the catalog.
#![expect(deprecated, reason = "clients of the revisions before 2026-07-28 use these")]

mod asker;
mod background;
mod calls;
mod completions;
mod lists;
mod run;
mod subscriptions;

use std::{borrow::Cow, sync::Arc};

use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CancelTaskParams, CancelledNotificationParam,
        CompleteRequestParams, CompleteResult, CustomRequest, CustomResult, DiscoverResult,
        ErrorCode, GetPromptRequestParams, GetPromptResponse, GetTaskParams, GetTaskResult,
        InitializeRequestParams, InitializeResult, ListPromptsResult, ListResourceTemplatesResult,
        ListResourcesResult, ListToolsResult, PaginatedRequestParams, ProtocolVersion,
        ReadResourceRequestParams, ReadResourceResponse, ServerConfig, SetLevelRequestParams,
        SubscribeRequestParams, SubscriptionFilter, Tool, UnsubscribeRequestParams,
        UpdateTaskParams,
    },
    service::{NotificationContext, RequestContext, SubscriptionContext},
};

use self::asker::Asker;
use crate::{Fault, Principal, core::Core, session::Session, wire};

/// The methods whose parameters we know: when rmcp does not know such a request, its parameters
/// are wrong.
const METHODS: &[&str] = &[
    "completion/complete",
    "prompts/get",
    "prompts/list",
    "resources/list",
    "resources/read",
    "resources/templates/list",
    "server/discover",
    "subscriptions/listen",
    "tasks/cancel",
    "tasks/get",
    "tasks/update",
    "tools/call",
    "tools/list",
];

/// Those that 2026-07-28 has no more.
const SESSION_METHODS: &[&str] =
    &["initialize", "logging/setLevel", "ping", "resources/subscribe", "resources/unsubscribe"];

/// The one handler.
#[derive(Clone, Debug)]
pub(crate) struct Handler {
    pub(crate) core: Arc<Core>,
    /// Whose requests come without HTTP.
    pub(crate) principal: Principal,
}

impl Handler {
    fn asker(&self, cx: &RequestContext<RoleServer>) -> Asker {
        self.core.counters.requests.add(1);
        Asker::new(&self.principal, cx)
    }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        self.core.config(None)
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.core.offer().tool(name).cloned()
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        cx.peer.set_peer_info(request.clone());
        let mut answer = self.negotiate_initialize(&request)?;
        let toolset = self.asker(&cx).toolset;
        answer.instructions = self.core.config(toolset.as_deref()).instructions;
        if let Some(session) = cx.extensions.get::<Arc<Session>>() {
            session.meet(cx.peer);
        }
        Ok(answer)
    }

    async fn discover(&self, cx: RequestContext<RoleServer>) -> Result<DiscoverResult, ErrorData> {
        let toolset = self.asker(&cx).toolset;
        let versions = ProtocolVersion::KNOWN_VERSIONS.to_vec();
        let config = self.core.config(toolset.as_deref());
        let result = DiscoverResult::from_server_info(versions, config);
        Ok(result.with_ttl_ms(self.list_ttl_ms()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let asker = self.asker(&cx);
        self.tools_call(asker, request, cx).await.map_err(wire::fault)
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        cx: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let asker = self.asker(&cx);
        self.tools_list(&asker, request).map_err(wire::fault)
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let asker = self.asker(&cx);
        self.prompts_get(asker, request, cx).await.map_err(wire::fault)
    }

    async fn list_prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        cx: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let asker = self.asker(&cx);
        self.prompts_list(&asker, request).map_err(wire::fault)
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        cx: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let asker = self.asker(&cx);
        self.resources_list(asker, request, cx).await.map_err(wire::fault)
    }

    async fn list_resource_templates(
        &self,
        request: Option<PaginatedRequestParams>,
        cx: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let asker = self.asker(&cx);
        self.templates_list(&asker, request).map_err(wire::fault)
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let asker = self.asker(&cx);
        self.resources_read(asker, request, cx).await.map_err(wire::fault)
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let asker = self.asker(&cx);
        self.completion(asker, request, cx).await.map_err(wire::fault)
    }

    async fn set_level(
        &self,
        request: SetLevelRequestParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let asker = self.asker(&cx);
        if asker.is_modern() {
            return Err(no_method("logging/setLevel"));
        }
        if let Some(session) = asker.session {
            session.set_level(wire::level(request.level));
        }
        Ok(())
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let session = self.asker(&cx).session;
        self.resources_subscribe(session, &request.uri).map_err(wire::fault)
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if let Some(session) = self.asker(&cx).session {
            session.unsubscribe(&request.uri);
        }
        Ok(())
    }

    fn accepted_subscription_filter(
        &self,
        wanted: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        let offer = self.core.offer();
        let mut accepted = wanted.clone();
        if let Some(uris) = &mut accepted.resource_subscriptions {
            uris.retain(|uri| offer.may_subscribe(uri));
            uris.truncate(self.core.limits.subscriptions_max);
        }
        Some(accepted)
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let _ = self.asker(context.request_context());
        self.subscriptions_listen(context).await;
        Ok(())
    }

    async fn on_initialized(&self, cx: NotificationContext<RoleServer>) {
        let Some(session) = cx.extensions.get::<Arc<Session>>().cloned() else { return };
        if !session.begins() {
            return;
        }
        if let Some(info) = cx.peer.peer_info() {
            let client = asker::client(&info.client_info);
            session.introduce(client, info.protocol_version.to_string());
        }
        let told = lists::tell_session(session.clone(), cx.peer);
        tokio::spawn(session.ended.clone().run_until_cancelled_owned(told));
    }

    /// rmcp has stopped what it runs itself.
    async fn on_cancelled(
        &self,
        told: CancelledNotificationParam,
        cx: NotificationContext<RoleServer>,
    ) {
        let session = cx.extensions.get::<Arc<Session>>();
        if let (Some(session), Some(id)) = (session, told.request_id) {
            session.streams.cancel(&id);
        }
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        cx: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let asker = self.asker(&cx);
        let method = request.method.as_str();
        let is_known =
            METHODS.contains(&method) || SESSION_METHODS.contains(&method) && !asker.is_modern();
        match is_known {
            true => {
                let message = format!("the parameters of {method} do not fit");
                Err(wire::fault(Fault::invalid_params(message)))
            }
            false => Err(no_method(method)),
        }
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        let asker = self.asker(&cx);
        self.task_get(&asker, &request)
    }

    async fn update_task(
        &self,
        request: UpdateTaskParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let asker = self.asker(&cx);
        self.task_update(&asker, request)
    }

    async fn cancel_task(
        &self,
        request: CancelTaskParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let asker = self.asker(&cx);
        self.task_cancel(&asker, &request)
    }
}

fn no_method(method: &str) -> ErrorData {
    let message = Cow::Owned(format!("no method \"{method}\""));
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, message, None)
}
