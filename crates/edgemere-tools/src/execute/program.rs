//! A call of a tool that runs a program: who may, how it is run, and what of its output is the answer.

use std::time::{Duration, Instant};

use clap_serve::program::{Ran, RunError, RunLimits};
use edgemere_command::{Effect, Kind};
use mcp_serve::{Call, Outcome};

use super::testing::Testing;
use super::{Executor, time_of};
use crate::bound::BoundProgram;
use crate::commands::Failure;
use crate::file::form::EffectForm;
use crate::result::{Budget, Provenance, value};
use crate::tool::{Tool, Work};

/// How much output a response parser is given.
const PARSED_BYTES_MAX: usize = 4 << 20;

/// How much longer than its program a call may take: the time of grace, and that of the answer.
pub(super) const TIME_AROUND: Duration = Duration::from_secs(5);

impl Executor {
    /// Runs a program, and makes an answer of what it did.
    pub(super) async fn program(
        &self,
        tool: &Tool,
        call: &Call,
        bound: BoundProgram,
        testing: Testing<'_>,
    ) -> Result<Outcome, Failure> {
        self.check_effect(tool, call)?;
        testing.runs(&bound.program);
        let budget = Budget::of(&tool.limits);
        let output_bytes_max = match tool.parser() {
            Some(_) => PARSED_BYTES_MAX,
            None => budget.bytes,
        };
        let mut program = bound.program;
        let time_max = time_of(tool);
        program.limits = RunLimits { time_max, output_bytes_max, ..program.limits };
        let started = Instant::now();
        let ran = program.run(call).await.map_err(not_started)?;
        testing.ran(&ran);
        let Some(parser) = tool.parser() else { return Ok(written(tool, ran)) };
        if !ran.end.is_success() {
            return Ok(ran.within(budget.bytes).outcome());
        }
        let reply = ran.json().ok_or_else(|| no_json(&ran))?;
        let answer = parser
            .apply(reply, &bound.arguments)
            .map_err(|error| Failure::new(Kind::Input, error.to_string(), None))?;
        let provenance = Provenance::of_node(self.commands.node_name(), started.elapsed());
        Ok(value::outcome(answer, budget, &provenance))
    }

    /// Refuses what who calls may not do.
    fn check_effect(&self, tool: &Tool, call: &Call) -> Result<(), Failure> {
        let Work::Program(line) = &tool.work else { return Ok(()) };
        let effect = match line.effect {
            EffectForm::Read => Effect::Read,
            EffectForm::Write => Effect::Write,
            EffectForm::Destructive => Effect::Destructive,
        };
        let principal = self.principal_of(call);
        if principal.may(effect) {
            return Ok(());
        }
        let (name, tool) = (principal.name(), &tool.name);
        let message = format!("{name} may not run \"{tool}\": it needs the permission to {effect}");
        let hint = "whoever runs the node gives it: \"agent_access\", or \"effect: read\" of a tool \
                    that changes nothing";
        Err(Failure::new(Kind::Denied, message, Some(hint.to_owned())))
    }
}

/// What was written, as it is.
fn written(tool: &Tool, ran: Ran) -> Outcome {
    let lacks_json = tool.output_schema.is_some() && ran.end.is_success() && ran.json().is_none();
    match lacks_json {
        true => Outcome::error(no_json(&ran).text()),
        false => ran.outcome(),
    }
}

fn no_json(ran: &Ran) -> Failure {
    let message = match ran.stdout.truncated {
        true => "the program wrote more than can be read as JSON",
        false => "the program did not write JSON",
    };
    let shown = ran.clone().within(1000).stdout.text;
    Failure::new(Kind::Unavailable, format!("{message}: {}", shown.trim_end()), None)
}

fn not_started(error: RunError) -> Failure {
    let kind = match error {
        RunError::Nul { .. } | RunError::TooLong { .. } => Kind::Input,
        _ => Kind::Unavailable,
    };
    let reason = std::error::Error::source(&error).map(|reason| format!(": {reason}"));
    Failure::new(kind, format!("{error}{}", reason.unwrap_or_default()), None)
}
