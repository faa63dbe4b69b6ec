//! The methods that run the catalog's code and may request input: `tools/call`, `prompts/get`,
//! `resources/read`.

use std::time::Instant;

use rmcp::{
    RoleServer,
    model::{
        CallToolRequestParams, CallToolResponse, GetPromptRequestParams, GetPromptResponse,
        JsonObject, ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult,
    },
    service::RequestContext,
};
use serde_json::{Map, Value, json};

use super::{
    Caller, Handler,
    run::{CallEnd, Cancelled, cancelled},
};
use crate::{Call, Context, Fault, Prompt, PromptCall, ResourceContent, wire};

impl Handler {
    pub(super) async fn tools_call(
        &self,
        caller: Caller,
        request: CallToolRequestParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, Fault> {
        self.state.counters.calls.add(1);
        let name = request.name.into_owned();
        let found = self.state.catalog().call(caller.toolset.as_deref(), &name);
        let (code, support) = found.ok_or_else(|| {
            self.state.counters.calls_failed.add(1);
            Fault::invalid_params(format!("no tool \"{name}\": tools/list lists the tools"))
        })?;
        if let Some(session) = &caller.session {
            session.count_call();
        }
        let arguments = request.arguments.unwrap_or_default();
        let elicitation = self.elicitation_state(
            &caller,
            ("tools/call", &name, &arguments),
            request.request_state.as_deref(),
            request.input_responses,
        )?;
        let escalation = self.escalation(&caller, &cx, support)?;
        let context = caller.context_for_call(&self.state, &cx, &elicitation, escalation.clone());
        let call = Call { tool: name, arguments, context };
        let (tool, started) = (call.tool.clone(), Instant::now());
        let end = match escalation {
            None => self.run(&caller, &cx, &call.context, code.call(&call)).await,
            Some(escalation) => {
                match self.run_until_task(&caller, &cx, code, call, escalation).await {
                    CallEnd::Ended(end) => end,
                    CallEnd::Task(task) => return Ok(CallToolResponse::Task(*task)),
                }
            }
        };
        let (ms, principal) = (started.elapsed().as_millis(), &caller.principal);
        tracing::debug!(tool, %principal, ms, "a tool was called");
        match self.counted(end) {
            Ok(Ok(outcome)) => {
                let mut result = self.bounded(outcome);
                self.sign(&mut result.meta, &caller);
                Ok(CallToolResponse::Complete(result))
            }
            Ok(Err(Cancelled)) => Err(cancelled()),
            Err(fault) => self
                .input_required(fault, &elicitation, &caller)
                .map(CallToolResponse::InputRequired),
        }
    }

    pub(super) async fn prompts_get(
        &self,
        caller: Caller,
        request: GetPromptRequestParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, Fault> {
        let catalog = self.state.catalog();
        let (prompt, code) = catalog.prompt(&request.name).ok_or_else(|| {
            let name = &request.name;
            Fault::invalid_params(format!("no prompt \"{name}\": prompts/list lists the prompts"))
        })?;
        let arguments = request.arguments.unwrap_or_default();
        check_arguments(prompt, &arguments)?;
        let elicitation = self.elicitation_state(
            &caller,
            ("prompts/get", &request.name, &arguments),
            request.request_state.as_deref(),
            request.input_responses,
        )?;
        let context = caller.context_for_call(&self.state, &cx, &elicitation, None);
        let call = PromptCall { prompt: request.name, arguments, context };
        let text = self.run_or_fail(&caller, &cx, &call.context, code.get(&call)).await;
        match text {
            Ok(text) => {
                let mut result = wire::prompt_text(text);
                self.sign(&mut result.meta, &caller);
                Ok(GetPromptResponse::Complete(result))
            }
            Err(fault) => self
                .input_required(fault, &elicitation, &caller)
                .map(GetPromptResponse::InputRequired),
        }
    }

    pub(super) async fn resources_read(
        &self,
        caller: Caller,
        request: ReadResourceRequestParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, Fault> {
        let uri = request.uri;
        let elicitation = self.elicitation_state(
            &caller,
            ("resources/read", &uri, &Map::new()),
            request.request_state.as_deref(),
            request.input_responses,
        )?;
        let context = caller.context_for_call(&self.state, &cx, &elicitation, None);
        let read = self.run_or_fail(&caller, &cx, &context, self.read(&uri, &context)).await;
        let contents = match read {
            Ok(contents) => contents,
            Err(fault) => {
                let requests = self.input_required(fault, &elicitation, &caller)?;
                return Ok(ReadResourceResponse::InputRequired(requests));
            }
        };
        let contents = contents.into_iter().map(wire::resource_content).collect();
        let mut result = ReadResourceResult::new(contents);
        self.sign(&mut result.meta, &caller);
        let (bytes, max) = (wire::json_length(&result), self.state.limits.result_bytes_max);
        if bytes > max {
            self.state.counters.results_too_long.add(1);
            let message = format!("the resource has {bytes} bytes, and at most {max} are sent");
            return Err(Fault::internal(message).with_data(json!({ "uri": uri })));
        }
        Ok(ReadResourceResponse::Complete(result))
    }

    /// The content of a resource, from the first source that has it.
    async fn read(&self, uri: &str, context: &Context) -> Result<Vec<ResourceContent>, Fault> {
        for source in &self.state.catalog().resources {
            if let Some(contents) = source.read(uri, context).await? {
                return Ok(contents);
            }
        }
        Err(Fault::not_found(format!("no resource \"{uri}\"")).with_data(json!({ "uri": uri })))
    }

    /// Adds the server's identity to a result. Clients of older revisions have it from `initialize`.
    pub(super) fn sign(&self, meta: &mut Option<rmcp::model::MetaObject>, caller: &Caller) {
        if caller.is_modern() {
            let (key, server_info) = &self.state.server_info;
            meta.get_or_insert_default().insert(key.clone(), server_info.clone());
        }
    }
}

fn check_arguments(prompt: &Prompt, arguments: &JsonObject) -> Result<(), Fault> {
    let required = prompt.arguments.iter().filter(|argument| argument.required);
    let is_missing = |name: &str| arguments.get(name).is_none_or(Value::is_null);
    let missing: Vec<&str> =
        required.map(|argument| argument.name.as_str()).filter(|name| is_missing(name)).collect();
    if !missing.is_empty() {
        let (prompt, missing) = (&prompt.name, missing.join(", "));
        return Err(Fault::invalid_params(format!("prompt \"{prompt}\" needs {missing}")));
    }
    match arguments.iter().find(|(_, value)| !value.is_string() && !value.is_null()) {
        Some((name, _)) => Err(Fault::invalid_params(format!("argument \"{name}\" must be text"))),
        None => Ok(()),
    }
}
