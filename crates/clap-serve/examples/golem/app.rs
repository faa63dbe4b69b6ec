//! `golem app`: whole applications.

use std::{collections::BTreeMap, env};

use clap::{Args, Subcommand, ValueEnum};
use clap_serve::{CommandExt, Effect};
use serde_json::{Value, json};

use crate::store::{Answer, Store};

#[derive(Debug, Subcommand)]
pub(crate) enum App {
    /// Makes a new application
    #[command(effect = Effect::Write)]
    New {
        /// The name of its folder
        application_name: Option<String>,
        /// The languages of its components
        #[arg(value_enum)]
        language: Vec<Language>,
    },
    /// Builds its components
    #[command(effect = Effect::Write)]
    Build {
        #[command(flatten)]
        components: Components,
        #[command(flatten)]
        build: Building,
    },
    /// Builds and deploys its components and APIs
    #[command(effect = Effect::Write)]
    Deploy {
        #[command(flatten)]
        components: Components,
        #[command(flatten)]
        redeploy: Redeploy,
    },
    /// Removes what was built
    #[command(effect = Effect::Destructive)]
    Clean(Components),
    /// Moves all workers to the newest version
    #[command(effect = Effect::Write)]
    UpdateWorkers {
        #[command(flatten)]
        components: Components,
        #[command(flatten)]
        update: Updating,
    },
    /// Makes all workers anew
    #[command(effect = Effect::Destructive)]
    RedeployWorkers(Components),
    /// Looks for what is wrong with the tools
    #[command(effect = Effect::Read)]
    Diagnose(Components),
}

/// Which components are meant.
#[derive(Debug, Args)]
pub(crate) struct Components {
    /// The components; all of them when none is named
    pub(crate) component_name: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Building {
    /// Only these steps
    #[arg(long, short, value_enum)]
    step: Vec<Step>,
    /// Build also what is up to date
    #[arg(long)]
    force_build: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Redeploy {
    /// Move workers that are there to the new version
    #[arg(long, short, value_enum, num_args = 0..=1, conflicts_with_all = ["redeploy_workers", "redeploy_all"])]
    update_workers: Option<Mode>,
    /// Make workers that are there anew
    #[arg(long, conflicts_with = "redeploy_all")]
    redeploy_workers: bool,
    /// Make APIs that are there anew
    #[arg(long, conflicts_with = "redeploy_all")]
    redeploy_http_api: bool,
    /// Make all of it anew
    #[arg(long, short)]
    redeploy_all: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Updating {
    /// How workers move
    #[arg(long, short, value_enum, default_value_t = Mode::Auto)]
    update_mode: Mode,
    /// Wait until all have moved
    #[arg(long)]
    r#await: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Language {
    C,
    Go,
    Js,
    Python,
    Rust,
    Scala,
    Ts,
    Zig,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Step {
    GenRpc,
    Componentize,
    Link,
    AddMetadata,
}

/// How a worker moves to another version.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Mode {
    /// By what it did so far
    Auto,
    /// By a function of its own
    Manual,
}

impl App {
    pub(crate) fn run(self, store: &Store) -> Answer {
        match self {
            Self::New { application_name, language } => {
                let name = application_name.unwrap_or_else(|| "app".to_owned());
                let languages: Vec<String> = language.iter().map(word).collect();
                store.put("app", &name, json!({ "languages": languages }))
            }
            Self::Build { components, build } => components.each(store, build.fields()),
            Self::Deploy { components, redeploy } => components.each(store, redeploy.fields()),
            Self::Clean(components) => components.each(store, json!({ "built": false })),
            Self::UpdateWorkers { components, update } => components.each(store, update.fields()),
            Self::RedeployWorkers(components) => {
                components.each(store, json!({ "workers": "redeployed" }))
            }
            Self::Diagnose(components) => Ok(components.diagnose()),
        }
    }
}

impl Components {
    /// Does something with each of them that there is.
    pub(crate) fn each(&self, store: &Store, fields: Value) -> Answer {
        let names = match self.component_name.is_empty() {
            true => names(&store.list("component")?),
            false => self.component_name.clone(),
        };
        let changed = names.iter().map(|name| store.change("component", name, fields.clone()));
        changed.collect::<Result<Vec<_>, _>>().map(Value::Array)
    }

    pub(crate) fn diagnose(&self) -> Value {
        // What such commands show. Only its own token is one that it knows to keep to itself.
        let seen = env::vars().filter(|(name, _)| name != "GOLEM_AUTH_TOKEN");
        let environment: BTreeMap<String, String> = seen.collect();
        json!({ "components": self.component_name, "problems": [], "environment": environment })
    }
}

impl Building {
    pub(crate) fn fields(&self) -> Value {
        let steps: Vec<String> = self.step.iter().map(word).collect();
        json!({ "built": true, "steps": steps, "forced": self.force_build })
    }
}

impl Redeploy {
    pub(crate) fn fields(&self) -> Value {
        json!({
            "deployed": true,
            "update_workers": self.update_workers.as_ref().map(word),
            "redeploy_workers": self.redeploy_workers || self.redeploy_all,
            "redeploy_http_api": self.redeploy_http_api || self.redeploy_all,
        })
    }
}

impl Updating {
    pub(crate) fn fields(&self) -> Value {
        json!({ "workers": "updated", "mode": word(&self.update_mode), "awaited": self.r#await })
    }
}

/// The word for one of several choices.
pub(crate) fn word(choice: &impl ValueEnum) -> String {
    choice.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}

/// The names of records.
pub(crate) fn names(records: &[Value]) -> Vec<String> {
    let names = records.iter().filter_map(|record| record.get("name")?.as_str());
    names.map(str::to_owned).collect()
}
