//! `completion/complete`: suggestions for an argument that a user is typing.

use rmcp::{
    RoleServer,
    model::{CompleteRequestParams, CompleteResult, CompletionInfo, Reference as WireReference},
    service::RequestContext,
};
use serde_json::Value;

use super::{Caller, Handler};
use crate::{Completion, CompletionRequest, Fault, Reference};

/// The maximum number of completions in a response, by the specification.
const COMPLETIONS_MAX: usize = 100;

impl Handler {
    pub(super) async fn completion(
        &self,
        caller: Caller,
        request: CompleteRequestParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, Fault> {
        let request = completion_request(request)?;
        let catalog = self.state.catalog();
        let is_known = match &request.of {
            Reference::Prompt(name) => catalog.prompt(name).is_some(),
            Reference::Template(uri) => {
                catalog.templates().iter().any(|template| template.uri_template == *uri)
            }
        };
        if !is_known {
            return Err(Fault::invalid_params("no such prompt or resource template"));
        }
        let context = caller.context(&self.state, &cx);
        let work = async {
            for source in &catalog.completions {
                let found = source.complete(&request, &context).await?;
                if !found.values.is_empty() {
                    return Ok(found);
                }
            }
            Ok(Completion::default())
        };
        let found = self.run_or_fail(&caller, &cx, &context, work).await?;
        let mut result = CompleteResult::new(completions(found));
        self.sign(&mut result.meta, &caller);
        Ok(result)
    }
}

fn completion_request(request: CompleteRequestParams) -> Result<CompletionRequest, Fault> {
    let of = match request.r#ref {
        WireReference::Prompt(prompt) => Reference::Prompt(prompt.name),
        WireReference::Resource(template) => Reference::Template(template.uri),
        _ => {
            return Err(Fault::invalid_params(
                "only prompts and resource templates have completions",
            ));
        }
    };
    let others = request.context.and_then(|context| context.arguments).unwrap_or_default();
    let arguments = others.into_iter().map(|(name, value)| (name, Value::String(value))).collect();
    Ok(CompletionRequest {
        of,
        argument: request.argument.name,
        value: request.argument.value,
        arguments,
    })
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
