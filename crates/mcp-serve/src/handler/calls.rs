//! What runs the catalog's code: `tools/call`, `prompts/get`, `resources/read`,
//! `completion/complete`.

use std::{collections::BTreeMap, time::Instant};

use rmcp::{
    RoleServer,
    model::{
        CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult,
        CompletionInfo, GetPromptRequestParams, GetPromptResponse, InputRequiredResult, JsonObject,
        ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult,
        Reference as WireReference,
    },
    service::RequestContext,
};
use serde_json::{Map, Value, json};

use super::{
    Asker, Handler,
    background::Given,
    run::{Cancelled, cancelled},
};
use crate::{
    Call, Completing, Completion, Context, Fault, Prompt, PromptCall, Reference, ResourceContent,
    asking, wire,
};

/// The completions that are sent at most, as the specification says.
const COMPLETIONS_MAX: usize = 100;

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

    pub(super) async fn completion(
        &self,
        asker: Asker,
        request: CompleteRequestParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, Fault> {
        let hole = hole(request)?;
        let offer = self.core.offer();
        let is_known = match &hole.of {
            Reference::Prompt(name) => offer.prompt(name).is_some(),
            Reference::Template(uri) => {
                offer.templates().iter().any(|template| template.uri_template == *uri)
            }
        };
        if !is_known {
            return Err(Fault::invalid_params("no such prompt, or template of resources"));
        }
        let context = asker.context(&self.core, &cx, BTreeMap::new());
        let work = async {
            for source in &offer.completions {
                let found = source.complete(&hole, &context).await?;
                if !found.values.is_empty() {
                    return Ok(found);
                }
            }
            Ok(Completion::default())
        };
        let found = self.run_or_fail(&asker, &cx, &context, work).await?;
        let mut result = CompleteResult::new(completions(found));
        self.sign(&mut result.meta, &asker);
        Ok(result)
    }

    /// What a request brings that was asked before.
    fn again(
        &self,
        asker: &Asker,
        (method, name, arguments): (&str, &str, &JsonObject),
        state: Option<&str>,
        responses: Option<BTreeMap<String, Value>>,
    ) -> Result<Again, Fault> {
        let belongs_to = belongs_to(asker, method, name, arguments);
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

fn hole(request: CompleteRequestParams) -> Result<Completing, Fault> {
    let of = match request.r#ref {
        WireReference::Prompt(prompt) => Reference::Prompt(prompt.name),
        WireReference::Resource(template) => Reference::Template(template.uri),
        _ => return Err(Fault::invalid_params("only prompts and templates have completions")),
    };
    let others = request.context.and_then(|context| context.arguments).unwrap_or_default();
    let arguments = others.into_iter().map(|(name, value)| (name, Value::String(value))).collect();
    Ok(Completing { of, argument: request.argument.name, value: request.argument.value, arguments })
}

fn completions(found: Completion) -> CompletionInfo {
    let Completion { mut values, total } = found;
    let all = total.unwrap_or_else(|| u32::try_from(values.len()).unwrap_or(u32::MAX));
    values.truncate(COMPLETIONS_MAX);
    let sent = u32::try_from(values.len()).unwrap_or(u32::MAX);
    let mut info = CompletionInfo::default();
    info.values = values;
    info.total = Some(all);
    info.has_more = Some(all > sent);
    info
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
