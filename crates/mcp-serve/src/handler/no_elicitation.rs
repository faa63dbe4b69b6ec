//! Stands in for `elicitation` without the feature: no call requests input.

use std::collections::BTreeMap;

use rmcp::model::{InputRequiredResult, JsonObject};
use serde_json::Value;

use super::{Caller, Handler};
use crate::{Fault, client::ClientLink};

/// The elicitation state of a request.
pub(super) struct ElicitationState;

impl ElicitationState {
    pub(super) fn hand_to(&self, _: &mut ClientLink) {}
}

impl Handler {
    pub(super) fn elicitation_state(
        &self,
        _: &Caller,
        _: (&str, &str, &JsonObject),
        _: Option<&str>,
        _: Option<BTreeMap<String, Value>>,
    ) -> Result<ElicitationState, Fault> {
        Ok(ElicitationState)
    }

    pub(super) fn input_required(
        &self,
        fault: Fault,
        _: &ElicitationState,
        _: &Caller,
    ) -> Result<InputRequiredResult, Fault> {
        Err(fault)
    }
}
