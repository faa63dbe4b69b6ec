//! Requests that a client repeats with input: `tools/call`, `prompts/get` and `resources/read`.

use std::collections::BTreeMap;

use rmcp::model::{InputRequiredResult, JsonObject};
use serde_json::Value;

use super::{Caller, Handler};
use crate::{Fault, client::ClientLink, elicitation};

/// The elicitation state of a request: the responses so far, and what they are bound to.
pub(super) struct ElicitationState {
    /// The principal and the request that sealed responses belong to.
    associated_data: Vec<u8>,
    responses: BTreeMap<String, Value>,
}

impl ElicitationState {
    /// Gives the responses to the context of the call.
    pub(super) fn hand_to(&self, link: &mut ClientLink) {
        link.responses.clone_from(&self.responses);
    }
}

impl Handler {
    /// The state that a request brings, which must have been sealed for this very request.
    pub(super) fn elicitation_state(
        &self,
        caller: &Caller,
        request: (&str, &str, &JsonObject),
        state: Option<&str>,
        responses: Option<BTreeMap<String, Value>>,
    ) -> Result<ElicitationState, Fault> {
        // Clients of older revisions answer over their connection: they bring no state.
        let associated_data = match caller.is_modern() {
            true => serde_json::to_vec(&(caller.principal.name(), request)).unwrap_or_default(),
            false => Vec::new(),
        };
        let seal = &self.state.seal;
        let responses = elicitation::merge_responses(state, responses, seal, &associated_data)?;
        Ok(ElicitationState { associated_data, responses })
    }

    /// The result that asks the client for input, if that is what the fault stands for; or the fault.
    pub(super) fn input_required(
        &self,
        fault: Fault,
        state: &ElicitationState,
        caller: &Caller,
    ) -> Result<InputRequiredResult, Fault> {
        let ElicitationState { associated_data, responses } = state;
        let result =
            elicitation::input_required(&fault, responses, &self.state.seal, associated_data);
        let mut result = result.ok_or(fault)?;
        self.sign(&mut result.meta, caller);
        Ok(result)
    }
}
