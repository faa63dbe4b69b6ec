//! The whole command line: its groups of commands, what all of them take, and how answers look.

use std::{io::Write, path::PathBuf, process::ExitCode};

use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};
use clap_serve::{CommandExt, Effect};
use serde_json::{Value, json};

use crate::{
    api::Api, app::App, blocked, cloud::Cloud, component::Component, plugin::Plugin, store::Answer,
    store::Store, worker::Worker,
};

/// Manages applications of components and workers, which its services hold
#[derive(Debug, Parser)]
#[command(name = "golem", version, propagate_version = false)]
pub(crate) struct Golem {
    #[command(flatten)]
    all: All,
    #[command(subcommand)]
    command: Group,
}

/// What every command takes.
#[derive(Clone, Debug, Args)]
struct All {
    /// How answers look
    #[arg(long, short, global = true, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Use the services of this profile
    #[arg(long, short, global = true, conflicts_with_all = ["local", "cloud"])]
    profile: Option<String>,
    /// Use the services of this machine
    #[arg(long, short, global = true, conflicts_with = "cloud")]
    local: bool,
    /// Use the services of the cloud
    #[arg(long, short, global = true)]
    cloud: bool,
    /// The manifest of the application, where it is not found by itself
    #[arg(long, short, global = true)]
    app_manifest_path: Option<PathBuf>,
    /// Do not look for manifests
    #[arg(long, short = 'A', global = true)]
    disable_app_manifest_discovery: bool,
    /// Answer all questions with yes
    #[arg(long, short, global = true)]
    yes: bool,
    /// Show values that are hidden otherwise
    #[arg(long, global = true)]
    show_sensitive: bool,
    /// Say more; twice for still more
    #[arg(long, short, global = true, action = ArgAction::Count)]
    verbose: u8,
    /// The token of the services
    #[arg(long, global = true, hide = true, env = "GOLEM_AUTH_TOKEN", hide_env_values = true)]
    auth_token: Option<String>,
}

/// How answers look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people
    Text,
    /// For programs
    Json,
}

#[derive(Debug, Subcommand)]
enum Group {
    /// Builds and deploys whole applications
    #[command(subcommand)]
    App(App),
    /// Manages components
    #[command(subcommand)]
    Component(Component),
    /// Manages workers
    #[command(subcommand, visible_alias = "agent")]
    Worker(Worker),
    /// Looks up the types that agents can have
    #[command(subcommand)]
    AgentType(AgentType),
    /// Manages HTTP APIs
    #[command(subcommand)]
    Api(Api),
    /// Manages plugins
    #[command(subcommand)]
    Plugin(Plugin),
    /// Manages profiles
    #[command(subcommand, visible_alias = "profiles")]
    Profile(blocked::Profile),
    /// Manages what is in the cloud
    #[command(subcommand)]
    Cloud(Cloud),
    /// Manages accounts
    #[command(subcommand)]
    Account(blocked::Account),
    /// Manages the roles of accounts
    #[command(subcommand)]
    Grant(blocked::Grant),
    /// Runs the services on this machine
    #[command(subcommand)]
    Server(blocked::Server),
    /// Writes a script that completes commands in a shell
    #[command(effect = Effect::Read)]
    Completion {
        /// The shell
        #[arg(value_enum)]
        shell: Shell,
    },
}

#[derive(Debug, Subcommand)]
enum AgentType {
    /// Lists the types of agents
    #[command(effect = Effect::Read)]
    List,
    /// Shows one type of agents
    #[command(effect = Effect::Read)]
    Get {
        /// Its name
        agent_type_name: String,
    },
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Shell {
    Bash,
    Elvish,
    Fish,
    Zsh,
}

impl Golem {
    /// Runs the command, and prints what it answers.
    pub(crate) fn run(self) -> ExitCode {
        let sensitive = self.all.show_sensitive;
        let (answer, code) = match self.command.run(sensitive) {
            Ok(answer) => (answer, ExitCode::SUCCESS),
            Err(message) => {
                let _ = writeln!(std::io::stderr(), "error: {message}");
                return ExitCode::from(3);
            }
        };
        if self.all.verbose > 0 {
            let _ = writeln!(std::io::stderr(), "profile: {:?}", self.all.profile);
        }
        let text = match self.all.format {
            Format::Json => answer.to_string(),
            Format::Text => lines(&answer),
        };
        match writeln!(std::io::stdout(), "{text}") {
            Ok(()) => code,
            Err(_) => ExitCode::FAILURE,
        }
    }
}

impl Group {
    fn run(self, sensitive: bool) -> Answer {
        let store = Store::open;
        match self {
            Self::App(command) => command.run(&store()?),
            Self::Component(command) => command.run(&store()?),
            Self::Worker(command) => command.run(sensitive),
            Self::AgentType(AgentType::List) => store()?.list("agent type").map(Value::Array),
            Self::AgentType(AgentType::Get { agent_type_name }) => {
                store()?.get("agent type", &agent_type_name)
            }
            Self::Api(command) => command.run(&store()?),
            Self::Plugin(command) => command.run(&store()?),
            Self::Cloud(command) => command.run(&store()?),
            Self::Profile(command) => command.run(),
            Self::Account(command) => command.run(),
            Self::Grant(command) => command.run(),
            Self::Server(command) => command.run(),
            Self::Completion { shell } => Ok(json!({ "script": format!("# for {shell:?}") })),
        }
    }
}

/// An answer for people: a line for each entry of a list, and for each field.
fn lines(answer: &Value) -> String {
    let plain = |value: &Value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    match answer {
        Value::Array(list) if list.is_empty() => "nothing".to_owned(),
        Value::Array(list) => list.iter().map(plain).collect::<Vec<_>>().join("\n"),
        Value::Object(fields) => {
            let lines = fields.iter().map(|(name, value)| format!("{name}: {}", plain(value)));
            lines.collect::<Vec<_>>().join("\n")
        }
        other => plain(other),
    }
}
