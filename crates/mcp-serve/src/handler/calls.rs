//! What runs the catalog's code and may ask before it answers: `tools/call`, `prompts/get`,
//! `resources/read`.

use std::{collections::BTreeMap, time::Instant};

use rmcp::{
    RoleServer,
    model::{
        CallToolRequestParams, CallToolResponse, GetPromptRequestParams, GetPromptResponse,
        InputRequiredResult, JsonObject, ReadResourceRequestParams, ReadResourceResponse,
        ReadResourceResult,
    },
    service::RequestContext,
};
use serde_json::{Map, Value, json};

use super::{
    Asker, Handler,
    background::Given,
    run::{Cancelled, cancelled},
};
use crate::{Call, Context, Fault, Prompt, PromptCall, ResourceContent, asking, wire};

/// The parts of a request that may be asked again, with answers.
struct Again {
    /// What an answer must belong to.
    belongs_to: Vec<u8>,
    answers: BTreeMap<String, Value>,
}

impl Handler {
    pub(super) async fn tools_call(
        &self,
        asker: Asker,
        request: CallToolRequestParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, Fault> {
        self.core.counters.calls.add(1);
        let name = request.name.into_owned();
        let found = self.core.offer().call(asker.toolset.as_deref(), &name);
        let (code, support) = found.ok_or_else(|| {
            self.core.counters.calls_failed.add(1);
            Fault::invalid_params(format!("no tool \"{name}\": tools/list has those that are"))
        })?;
        if let Some(session) = &asker.session {
            session.count_call();
        }
        let arguments = request.arguments.unwrap_or_default();
        let again = self.again(
            &asker,
            ("tools/call", &name, &arguments),
            request.request_state.as_deref(),
            request.input_responses,
        )?;
        let escalation = self.escalation(&asker, &cx, support)?;
        let answers = again.answers.clone();
        let context = asker.context_of_call(&self.core, &cx, answers, escalation.clone());
        let call = Call { tool: name, arguments, context };
        let (tool, begin) = (call.tool.clone(), Instant::now());
        let end = match escalation {
            None => self.run(&asker, &cx, &call.context, code.call(&call)).await,
            Some(escalation) => match self.run_beside(&asker, &cx, code, call, escalation).await {
                Given::End(end) => end,
                Given::Task(task) => return Ok(CallToolResponse::Task(*task)),
            },
        };
        let (ms, principal) = (begin.elapsed().as_millis(), &asker.principal);
        tracing::debug!(tool, %principal, ms, "a tool was called");
        match self.counted(end) {
            Ok(Ok(outcome)) => {
                let mut result = self.bounded(outcome);
                self.sign(&mut result.meta, &asker);
                Ok(CallToolResponse::Complete(result))
            }
            Ok(Err(Cancelled)) => Err(cancelled()),
            Err(fault) => {
                self.ask_first(fault, &again, &asker).map(CallToolResponse::InputRequired)
            }
        }
    }

    pub(super) async fn prompts_get(
        &self,
        asker: Asker,
        request: GetPromptRequestParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, Fault> {
        let offer = self.core.offer();
        let (prompt, code) = offer.prompt(&request.name).ok_or_else(|| {
            let name = &request.name;
            Fault::invalid_params(format!("no prompt \"{name}\": prompts/list has those that are"))
        })?;
        let arguments = request.arguments.unwrap_or_default();
        check_arguments(prompt, &arguments)?;
        let again = self.again(
            &asker,
            ("prompts/get", &request.name, &arguments),
            request.request_state.as_deref(),
            request.input_responses,
        )?;
        let context = asker.context(&self.core, &cx, again.answers.clone());
        let call = PromptCall { prompt: request.name, arguments, context };
        let text = self.run_or_fail(&asker, &cx, &call.context, code.get(&call)).await;
        match text {
            Ok(text) => {
                let mut result = wire::prompt_text(text);
                self.sign(&mut result.meta, &asker);
                Ok(GetPromptResponse::Complete(result))
            }
            Err(fault) => {
                self.ask_first(fault, &again, &asker).map(GetPromptResponse::InputRequired)
            }
        }
    }

    pub(super) async fn resources_read(
        &self,
        asker: Asker,
        request: ReadResourceRequestParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, Fault> {
        let uri = request.uri;
        let again = self.again(
            &asker,
            ("resources/read", &uri, &Map::new()),
            request.request_state.as_deref(),
            request.input_responses,
        )?;
        let context = asker.context(&self.core, &cx, again.answers.clone());
        let read = self.run_or_fail(&asker, &cx, &context, self.read(&uri, &context)).await;
        let contents = match read {
            Ok(contents) => contents,
            Err(fault) => {
                let questions = self.ask_first(fault, &again, &asker)?;
                return Ok(ReadResourceResponse::InputRequired(questions));
            }
        };
        let contents = contents.into_iter().map(wire::resource_content).collect();
        let mut result = ReadResourceResult::new(contents);
        self.sign(&mut result.meta, &asker);
        let (bytes, max) = (length(&result), self.core.limits.result_bytes_max);
        if bytes > max {
            self.core.counters.results_too_long.add(1);
            let message = format!("the resource has {bytes} bytes, and at most {max} are sent");
            return Err(Fault::internal(message).with_data(json!({ "uri": uri })));
        }
        Ok(ReadResourceResponse::Complete(result))
    }

    /// What a resource holds, from the first source that has it.
    async fn read(&self, uri: &str, context: &Context) -> Result<Vec<ResourceContent>, Fault> {
        for source in &self.core.offer().resources {
            if let Some(contents) = source.read(uri, context).await? {
                return Ok(contents);
            }
        }
        Err(Fault::not_found(format!("no resource \"{uri}\"")).with_data(json!({ "uri": uri })))
    }

    /// What a request brings that was asked before.
    fn again(
        &self,
        asker: &Asker,
        (method, name, arguments): (&str, &str, &JsonObject),
        state: Option<&str>,
        responses: Option<BTreeMap<String, Value>>,
    ) -> Result<Again, Fault> {
        // Clients of before are asked while they wait: they bring no answers.
        let belongs_to = match asker.is_modern() {
            true => belongs_to(asker, method, name, arguments),
            false => Vec::new(),
        };
        let answers = asking::brought(state, responses, &self.core.seal, &belongs_to)?;
        Ok(Again { belongs_to, answers })
    }

    /// The questions that a fault stands for, or the fault.
    fn ask_first(
        &self,
        fault: Fault,
        again: &Again,
        asker: &Asker,
    ) -> Result<InputRequiredResult, Fault> {
        let Again { belongs_to, answers } = again;
        let asked = asking::input_required(&fault, answers, &self.core.seal, belongs_to);
        let mut asked = asked.ok_or(fault)?;
        self.sign(&mut asked.meta, asker);
        Ok(asked)
    }

    /// Says whose result it is. Clients of before know it from `initialize`.
    pub(super) fn sign(&self, meta: &mut Option<rmcp::model::MetaObject>, asker: &Asker) {
        if asker.is_modern() {
            let (name, signature) = &self.core.signature;
            meta.get_or_insert_default().insert(name.clone(), signature.clone());
        }
    }
}

/// What an answer must belong to: this principal and this very request.
fn belongs_to(asker: &Asker, method: &str, name: &str, arguments: &JsonObject) -> Vec<u8> {
    serde_json::to_vec(&(asker.principal.name(), method, name, arguments)).unwrap_or_default()
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

/// How long something is when it is sent.
pub(super) fn length(value: &impl serde::Serialize) -> usize {
    struct Length(usize);
    impl std::io::Write for Length {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut length = Length(0);
    match serde_json::to_writer(&mut length, value) {
        Ok(()) => length.0,
        Err(_) => usize::MAX,
    }
}
