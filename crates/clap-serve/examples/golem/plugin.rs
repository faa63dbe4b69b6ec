//! `golem plugin`: the plugins that there are.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use clap_serve::{CommandExt, Effect};
use serde_json::{Value, json};

use crate::store::{Answer, Store};

const KIND: &str = "plugin";

#[derive(Debug, Subcommand)]
pub(crate) enum Plugin {
    /// Lists plugins
    #[command(effect = Effect::Read)]
    List(Scope),
    /// Shows a plugin
    #[command(effect = Effect::Read)]
    Get {
        /// Its name, as NAME/VERSION
        plugin: String,
    },
    /// Makes a plugin known
    #[command(effect = Effect::Write)]
    Register {
        #[command(flatten)]
        scope: Scope,
        /// The file that describes it
        manifest: PathBuf,
    },
    /// Makes a plugin unknown
    #[command(effect = Effect::Destructive)]
    Unregister {
        /// Its name, as NAME/VERSION
        plugin: String,
    },
}

/// Where a plugin can be used.
#[derive(Debug, Args)]
pub(crate) struct Scope {
    /// Everywhere
    #[arg(long, conflicts_with_all = ["project", "component"])]
    global: bool,
    /// In this project
    #[arg(long)]
    project: Option<String>,
    /// In this component of the project
    #[arg(long, requires = "project")]
    component: Option<String>,
}

impl Plugin {
    pub(crate) fn run(self, store: &Store) -> Answer {
        match self {
            Self::List(scope) => Ok(json!({ "plugins": store.list(KIND)?, "scope": scope.text() })),
            Self::Get { plugin } => store.get(KIND, &plugin),
            Self::Register { scope, manifest } => {
                let name = manifest.display().to_string();
                store.put(KIND, &name, json!({ "scope": scope.text() }))
            }
            Self::Unregister { plugin } => store.delete(KIND, &plugin),
        }
    }
}

impl Scope {
    fn text(&self) -> Value {
        match (&self.project, &self.component) {
            (Some(project), Some(component)) => json!(format!("{project}/{component}")),
            (Some(project), None) => json!(project),
            _ => json!("global"),
        }
    }
}
