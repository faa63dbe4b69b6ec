//! `edgemere run` as a tool: one command to the node, in this process. What the command does is known
//! when it is parsed: what is graver than what agents are allowed is not sent.

use clap::FromArgMatches;
use clap_serve::mcp_serve::{Fault, Outcome};
use clap_serve::{Effect, Invocation, Options};
use edgemere_command::{Access, Kind, Media};
use serde_json::{Value, json};

use crate::cli::{Cli, Command};
use crate::client::Client;
use crate::config::{self, Config, keys};
use crate::failure::Failure;

/// Adds the tool. It is as grave as the gravest command that it takes.
pub(super) fn handled(options: Options, node: Option<String>) -> Options {
    let gravest = options.policy.gravest();
    options.effect(gravest, ["run"]).tool("run", move |invocation| {
        let node = node.clone();
        async move { answer(invocation, gravest, node).await }
    })
}

async fn answer(
    invocation: Invocation,
    gravest: Effect,
    node: Option<String>,
) -> Result<Outcome, Fault> {
    let asked = ask(invocation, gravest, node).await;
    Ok(asked.unwrap_or_else(|error| {
        let Failure { message, hint, .. } = Failure::of(error);
        Outcome::error([Some(message), hint].into_iter().flatten().collect::<Vec<_>>().join("\n"))
    }))
}

async fn ask(
    invocation: Invocation,
    gravest: Effect,
    node: Option<String>,
) -> anyhow::Result<Outcome> {
    let cli = Cli::from_arg_matches(&invocation.matches)?;
    let given = [cli.command.given(), cli.log.entries()].concat();
    let config = Config::load(cli.config.as_deref(), given)?;
    let Command::Run(run) = cli.command else {
        anyhow::bail!("another command than run was asked for");
    };
    let question = run.question();
    let command = edgemere_command::parse(&question.command)
        .map_err(|error| Failure::of_command(error, &question.command))?;
    let needed = effect(command.effect());
    if needed > gravest {
        let name = command.declaration().name;
        let message = format!("agents may not do what \"{name}\" does: it is {needed}");
        let hint = match (needed, &node) {
            (Effect::Secret, _) => "it is for people alone: \"edgemere run\"".to_owned(),
            (_, None) => format!("who starts the server can allow it: --allow {needed}"),
            (_, Some(_)) => "who starts the node can allow it: --agent-access".to_owned(),
        };
        return Err(Failure::new(Kind::Denied, message).with_hint(hint).into());
    }
    let url = node.as_deref().unwrap_or(config.text(&keys::NODE));
    // The node checks once more what only it can know, for the agent and not for the user who serves it.
    let url = config::node_url(url).map_err(Failure::input)?;
    let client = Client::limited_to(url, access(gravest))?;
    let answer = client.ask(&question).await?;
    Ok(match (answer.media, serde_json::from_str::<Value>(&answer.body)) {
        (Media::Json, Ok(value @ Value::Object(_))) => structured(value, answer.body),
        (Media::Json, Ok(value)) => structured(json!({ "result": value }), answer.body),
        _ => Outcome::text(answer.body),
    })
}

fn structured(value: Value, text: String) -> Outcome {
    Outcome { structured: Some(value), ..Outcome::text(text) }
}

/// The access on a node that this policy allows at most.
pub(super) fn access(gravest: Effect) -> Access {
    match gravest {
        Effect::Destructive | Effect::Secret => Access::Admin,
        Effect::Write => Access::Write,
        _ => Access::Read,
    }
}

/// What a node's command does, in the words of command lines.
fn effect(effect: edgemere_command::Effect) -> Effect {
    match effect {
        edgemere_command::Effect::Read => Effect::Read,
        edgemere_command::Effect::Write => Effect::Write,
        edgemere_command::Effect::Destructive => Effect::Destructive,
        edgemere_command::Effect::Secret => Effect::Secret,
    }
}
