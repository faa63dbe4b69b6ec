//! A call of a tool, carried out: its arguments bound, the command run, and its reply made an answer.
//! What a tool does is in its file; there is nothing here about any of them.

mod program;
mod progress;
mod testing;

use std::sync::Arc;
use std::time::{Duration, Instant};

use edgemere_command::results::ResultRows;
use edgemere_command::{Access, Command, Kind, Principal, Rendered, Request};
use mcp_serve::{Call, Outcome};
use serde_json::Value;

use self::testing::Testing;
use crate::bound::{Bound, Ready};
use crate::commands::{Answer, Commands, Failure, Wanted};
use crate::no_node::NoNode;
use crate::offer::planned::Planned;
use crate::problem::Problems;
use crate::result::rows::Given;
use crate::result::{Budget, Provenance, streamed, value};
use crate::tool::{Kind as ToolKind, Tool};
use crate::toolbox::Toolbox;

/// The argument with which an agent asks for rows while they come.
const STREAM: &str = "stream";

/// How long a call may take when its tool does not say otherwise.
const TIME: Duration = Duration::from_secs(120);

/// Carries out calls of tools.
#[derive(Clone)]
pub struct Executor {
    commands: Arc<dyn Commands>,
    /// Who calls when the transport does not know.
    principal: Principal,
}

impl Executor {
    /// Calls are carried out by these commands, for a principal where the transport knows none.
    pub fn new(commands: Arc<dyn Commands>, principal: Principal) -> Self {
        Self { commands, principal }
    }

    /// Calls of tools that run programs are carried out, and all others fail.
    pub fn without_node(principal: Principal) -> Self {
        Self::new(Arc::new(NoNode), principal)
    }

    /// Plans the SQL of all tools whose tables are there, and says how many these are. What cannot be
    /// planned is a problem of the file.
    pub async fn plan(&self, toolbox: &Toolbox) -> Result<usize, Problems> {
        Ok(Planned::of(toolbox, self).await?.count())
    }

    /// What carries out commands.
    pub(crate) fn commands(&self) -> &Arc<dyn Commands> {
        &self.commands
    }

    /// Who calls when the transport does not know.
    pub(crate) fn principal(&self) -> &Principal {
        &self.principal
    }

    /// Carries out a call. Whatever goes wrong is an answer that says the next step.
    pub async fn call(&self, tool: &Tool, call: &Call, is_testing: bool) -> Outcome {
        let outcome = self.try_call(tool, call, is_testing).await.unwrap_or_else(|failure| {
            if failure.kind == Kind::Internal {
                tracing::error!(tool = tool.name, error = failure.message, "a tool failed");
            }
            Outcome::error(in_arguments(failure).text())
        });
        Testing { tool: &tool.name, is_on: is_testing }.answered(&outcome);
        outcome
    }

    /// Carries out a call, and says of what kind it is when something goes wrong.
    pub async fn try_call(
        &self,
        tool: &Tool,
        call: &Call,
        is_testing: bool,
    ) -> Result<Outcome, Failure> {
        let testing = Testing { tool: &tool.name, is_on: is_testing };
        let time = match tool.kind {
            // A program that takes too long is asked to end, and what it wrote is an answer.
            ToolKind::Cli => time_of(tool) + program::TIME_AROUND,
            _ => time_of(tool),
        };
        tokio::select! {
            biased;
            () = call.cancelled() => Err(cancelled()),
            outcome = tokio::time::timeout(time, self.run(tool, call, testing)) => {
                outcome.unwrap_or_else(|_| Err(too_long(time)))
            }
        }
    }

    async fn run(
        &self,
        tool: &Tool,
        call: &Call,
        testing: Testing<'_>,
    ) -> Result<Outcome, Failure> {
        testing.called(&call.arguments);
        let ready = tool.bind(&call.arguments).map_err(|errors| {
            Failure::new(Kind::Input, format!("the arguments do not fit:\n{errors}"), None)
        })?;
        let bound = match ready {
            Ready::Command(bound) => bound,
            Ready::Program(bound) => return self.program(tool, call, *bound, testing).await,
            Ready::Answer(answer) => {
                let provenance = Provenance::of_node(self.commands.node_name(), Duration::ZERO);
                return Ok(value::outcome(answer, Budget::of(&tool.limits), &provenance));
            }
        };
        testing.bound(&bound);
        let command = checked(&bound)?;
        let request = self.request(&bound, &self.principal_of(call));
        let started = Instant::now();
        if tool.parser().is_some() || !command.gives_pages() {
            let reply = self.commands.reply(&request).await?;
            return self.value(tool, &bound, reply, started, testing).await;
        }
        let budget = Budget::of(&tool.limits).page();
        let wanted = match wants_stream(call, &bound) {
            true => Wanted::Events(budget),
            false => Wanted::Page(budget),
        };
        match self.commands.answer(&request, wanted).await? {
            Answer::Rows(rows) => self.rows(tool, call, &request, *rows, wanted).await,
            Answer::Given(given) => given.outcome(tool.row_shape),
            Answer::Events(events) => {
                streamed::from_afar(events, call, self.commands.node_name()).await
            }
            Answer::Reply(reply) => self.value(tool, &bound, reply, started, testing).await,
        }
    }

    /// Who calls: as the transport knows, and never with more than reading unless it says so.
    pub(crate) fn principal_of(&self, context: &mcp_serve::Context) -> Principal {
        let known = context.extensions.get::<Principal>();
        known.cloned().unwrap_or_else(|| self.principal.clone())
    }

    pub(crate) fn request(&self, bound: &Bound, principal: &Principal) -> Request {
        Request {
            destination: bound.destination.clone(),
            subset: bound.subset,
            timeout: bound.timeout,
            ..Request::new(bound.command.clone(), principal.clone())
        }
    }

    /// A reply that is not rows: read, parsed as the tool says, and cut to what fits.
    async fn value(
        &self,
        tool: &Tool,
        bound: &Bound,
        reply: Rendered,
        started: Instant,
        testing: Testing<'_>,
    ) -> Result<Outcome, Failure> {
        let sources = reply.sources.clone();
        let reply = reply.into_value().await?;
        testing.replied(&reply);
        let provenance =
            Provenance::of_sources(sources, self.commands.node_name(), started.elapsed())
                .with_ledger(self.commands.ledger_age())
                .named_by(&reply);
        let answer = match tool.parser() {
            Some(parser) => parser
                .apply(reply, &bound.arguments)
                .map_err(|error| Failure::new(Kind::Input, error.to_string(), None))?,
            None => reply,
        };
        Ok(value::outcome(answer, Budget::of(&tool.limits), &provenance))
    }

    /// The rows of a query: the first of them, or all as they come.
    async fn rows(
        &self,
        tool: &Tool,
        call: &Call,
        request: &Request,
        mut rows: ResultRows,
        wanted: Wanted,
    ) -> Result<Outcome, Failure> {
        let budget = match wanted {
            Wanted::Events(_) => {
                return streamed::outcome(
                    rows,
                    call,
                    self.commands.node_name(),
                    self.commands.ledger_age(),
                )
                .await;
            }
            Wanted::Page(budget) => budget,
        };
        let page = progress::told(call, &mut rows, budget).await?;
        Given::of(rows, page, request, self.commands.as_ref()).outcome(tool.row_shape)
    }
}

/// A failure whose next step is reported as an argument, and not as a condition of a command.
fn in_arguments(failure: Failure) -> Failure {
    let hint = failure.hint.map(|hint| hint.replace("subset = true", "subset: true"));
    Failure { hint, ..failure }
}

/// How long a call of a tool may take.
fn time_of(tool: &Tool) -> Duration {
    tool.limits.time.unwrap_or(TIME)
}

/// Whether all rows are to be sent while they come, and somebody listens.
fn wants_stream(call: &Call, bound: &Bound) -> bool {
    let says_so = bound.arguments.get(STREAM).and_then(Value::as_bool).unwrap_or(false);
    says_so && call.wants_progress()
}

/// The command, which is still the one that the tool declares.
fn checked(bound: &Bound) -> Result<&Command, Failure> {
    let command = bound.command.parsed()?;
    if command.declaration().name != bound.expected {
        let message = format!("\"{}\" became another command", bound.expected);
        return Err(Failure::new(Kind::Internal, message, None));
    }
    Ok(command)
}

fn cancelled() -> Failure {
    Failure::new(Kind::Conflict, "the call was cancelled", None)
}

fn too_long(time: Duration) -> Failure {
    let message = format!("the call took longer than {} seconds", time.as_secs());
    let hint = "ask for less: fewer rows, a shorter time, an aggregate";
    Failure::new(Kind::Unavailable, message, Some(hint.into()))
}

/// What agents may do when nobody said otherwise.
pub fn agent() -> Principal {
    Principal::new("the local user", Access::Read)
}
