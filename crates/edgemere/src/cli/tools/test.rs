//! `edgemere tools test`: every tool that can be tried without harm, called once.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use edgemere_command::Kind;
use edgemere_tools::{Executor, Tool};
use mcp_serve::{Call, Context};
use serde_json::{Value, json};

use super::super::client_runtime;
use super::{answer, arguments, executor, toolbox, unless_interrupted};
use crate::cli::signals::INTERRUPTED;
use crate::config::{CallKeys, Config, Flags};
use crate::failure::Failure;
use crate::terminal;

/// Call every tool that only reads and needs no arguments, and report which ones answer
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Call every tool that only reads and can be called without arguments, or with \
                  the defaults and examples of its schema, and report which of them answer: a \
                  table on a terminal, JSON in a pipe.\n\nExit codes are those of \"edgemere \
                  run\"; if several tools fail, it is that of the first."
)]
pub(crate) struct Test {
    #[command(flatten)]
    pub(super) keys: Flags<CallKeys>,
}

/// How a tool fared.
struct Tried {
    name: String,
    time: Duration,
    result: Fared,
}

enum Fared {
    Answered,
    Failed { kind: Kind, message: String },
    Skipped { why: String },
}

impl Test {
    pub(super) fn run(self, config: &Config) -> anyhow::Result<ExitCode> {
        let toolbox = toolbox(config)?;
        let tried = client_runtime()?.block_on(unless_interrupted(async {
            let executor = executor(config, toolbox.tools()).await?;
            let mut tried = Vec::new();
            for tool in toolbox.tools() {
                tried.push(tried_out(tool, &executor, toolbox.testing()).await);
            }
            Ok(tried)
        }))?;
        let Some(tried) = tried else { return Ok(ExitCode::from(INTERRUPTED)) };
        tell(&tried)?;
        match first_failure(&tried) {
            Some(failure) => Err(failure.into()),
            None => Ok(ExitCode::SUCCESS),
        }
    }
}

async fn tried_out(tool: &Tool, executor: &Executor, testing: bool) -> Tried {
    let started = Instant::now();
    let result = match arguments::trial(tool) {
        _ if !tool.annotations.read_only => Fared::Skipped { why: "it changes something".into() },
        Err(needed) => Fared::Skipped { why: format!("it needs {}", needed.join(", ")) },
        Ok(arguments) => {
            let context = Context::detached(Default::default());
            let call = Call::new(&tool.name, arguments, context);
            match executor.try_call(tool, &call, testing).await {
                Ok(outcome) if outcome.is_error => {
                    Fared::Failed { kind: Kind::Unavailable, message: answer::text(&outcome) }
                }
                Ok(_) => Fared::Answered,
                Err(failure) => Fared::Failed { kind: failure.kind, message: failure.text() },
            }
        }
    };
    Tried { name: tool.name.clone(), time: started.elapsed(), result }
}

impl Tried {
    fn words(&self) -> [String; 3] {
        let (state, more) = match &self.result {
            Fared::Answered => ("answers", format!("{:.1} ms", self.time.as_secs_f64() * 1000.0)),
            Fared::Failed { message, .. } => ("fails", message.replace('\n', " ")),
            Fared::Skipped { why } => ("not called", why.clone()),
        };
        [self.name.clone(), state.to_owned(), more]
    }

    fn json(&self) -> Value {
        let time_ms = (self.time.as_secs_f64() * 10_000.0).round() / 10.0;
        match &self.result {
            Fared::Answered => {
                json!({ "name": self.name, "status": "answered", "time_ms": time_ms })
            }
            Fared::Failed { message, .. } => {
                json!({ "name": self.name, "status": "failed", "error": message })
            }
            Fared::Skipped { why } => {
                json!({ "name": self.name, "status": "skipped", "why": why })
            }
        }
    }
}

fn tell(tried: &[Tried]) -> std::io::Result<()> {
    if terminal::is_for_people() {
        let columns = ["Tool", "State", "Details"].map(ToOwned::to_owned);
        let rows: Vec<_> = tried.iter().map(|one| one.words().to_vec()).collect();
        return terminal::print_table(&columns, &rows);
    }
    terminal::print(&Value::Array(tried.iter().map(Tried::json).collect()).to_string())
}

fn first_failure(tried: &[Tried]) -> Option<Failure> {
    let failed = tried.iter().filter_map(|one| match &one.result {
        Fared::Failed { kind, .. } => Some((one.name.as_str(), *kind)),
        _ => None,
    });
    let failed: Vec<_> = failed.collect();
    let (_, kind) = failed.first()?;
    let called = tried.iter().filter(|one| !matches!(one.result, Fared::Skipped { .. })).count();
    let names: Vec<_> = failed.iter().map(|(name, _)| *name).collect();
    let count = failed.len();
    Some(Failure::new(*kind, format!("{count} of {called} tools failed: {}", names.join(", "))))
}
