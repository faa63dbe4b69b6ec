//! `completion/complete`: what could stand in a hole that is being typed.

use std::collections::BTreeMap;

use rmcp::{
    RoleServer,
    model::{CompleteRequestParams, CompleteResult, CompletionInfo, Reference as WireReference},
    service::RequestContext,
};
use serde_json::Value;

use super::{Asker, Handler};
use crate::{Completing, Completion, Fault, Reference};

/// The completions that are sent at most, as the specification says.
const COMPLETIONS_MAX: usize = 100;

impl Handler {
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
