//! `golem component`: components, and the plugins that are installed in them.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use clap_serve::{CommandExt, Effect};
use serde_json::{Value, json};

use crate::{
    app::{Building, Components, Redeploy, Updating, word},
    store::{Answer, Store, named},
};

const TEMPLATES: [&str; 4] = ["rust", "rust/http", "ts", "python"];

#[derive(Debug, Subcommand)]
pub(crate) enum Component {
    /// Makes a new component
    #[command(effect = Effect::Write)]
    New {
        /// What it is made from
        component_template: String,
        /// Its name, as package:name
        component_name: String,
    },
    /// Lists what components can be made from
    #[command(effect = Effect::Read)]
    Templates {
        /// Only those with this in their name
        filter: Option<String>,
    },
    /// Builds components
    #[command(effect = Effect::Write)]
    Build {
        #[command(flatten)]
        components: Components,
        #[command(flatten)]
        build: Building,
    },
    /// Builds and deploys components
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
    /// Lets a component use another one
    #[command(effect = Effect::Write)]
    AddDependency {
        /// The component
        #[arg(long)]
        component_name: String,
        #[command(flatten)]
        target: Target,
        /// How it is used
        #[arg(long, value_enum)]
        dependency_type: Option<DependencyType>,
    },
    /// Lists components
    #[command(effect = Effect::Read)]
    List {
        /// Only this one
        component_name: Option<String>,
    },
    /// Shows a component
    #[command(effect = Effect::Read)]
    Get {
        /// Its name
        component_name: String,
        /// Its version; the newest when none is given
        version: Option<u64>,
    },
    /// Moves the workers of a component to its newest version
    #[command(effect = Effect::Write)]
    UpdateWorkers {
        #[command(flatten)]
        components: Components,
        #[command(flatten)]
        update: Updating,
    },
    /// Makes the workers of a component anew
    #[command(effect = Effect::Destructive)]
    RedeployWorkers(Components),
    /// Looks for what is wrong with the tools
    #[command(effect = Effect::Read)]
    Diagnose(Components),
    /// Shows which manifest says what of a component
    #[command(effect = Effect::Read)]
    ManifestTrace(Components),
    /// Manages the plugins of a component
    #[command(subcommand)]
    Plugin(Installed),
}

/// The component that is used: one of these.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct Target {
    /// A component of the application
    #[arg(long)]
    target_component_name: Option<String>,
    /// A file of this machine
    #[arg(long)]
    target_component_path: Option<PathBuf>,
    /// An address
    #[arg(long)]
    target_component_url: Option<String>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum DependencyType {
    WasmRpc,
    StaticWasmRpc,
    Wasm,
}

/// Plugins that are installed in something.
#[derive(Debug, Subcommand)]
pub(crate) enum Installed {
    /// Installs a plugin
    #[command(effect = Effect::Write)]
    Install {
        /// What it is installed in
        name: String,
        /// The plugin
        #[arg(long)]
        plugin_name: String,
        /// Its version
        #[arg(long)]
        plugin_version: String,
        #[command(flatten)]
        settings: Settings,
    },
    /// Lists what is installed
    #[command(effect = Effect::Read)]
    Get {
        /// What it is installed in
        name: String,
        /// Of this version
        version: Option<u64>,
    },
    /// Changes an installed plugin
    #[command(effect = Effect::Write)]
    Update {
        /// What it is installed in
        name: String,
        /// The installation
        #[arg(long)]
        installation_id: String,
        #[command(flatten)]
        settings: Settings,
    },
    /// Removes an installed plugin
    #[command(effect = Effect::Destructive)]
    Uninstall {
        /// What it is installed in
        name: String,
        /// The installation
        #[arg(long)]
        installation_id: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Settings {
    /// The one with the largest comes first
    #[arg(long, allow_negative_numbers = true)]
    priority: i32,
    /// What the plugin is told
    #[arg(long, value_parser = pair, value_name = "KEY=VAL")]
    param: Vec<(String, String)>,
}

impl Component {
    pub(crate) fn run(self, store: &Store) -> Answer {
        match self {
            Self::New { component_template, component_name } => {
                let fields = json!({ "template": component_template, "version": 0 });
                store.put("component", &component_name, fields)
            }
            Self::Templates { filter } => {
                let filter = filter.unwrap_or_default();
                Ok(TEMPLATES.into_iter().filter(|name| name.contains(&filter)).collect())
            }
            Self::Build { components, build } => components.each(store, build.fields()),
            Self::Deploy { components, redeploy } => components.each(store, redeploy.fields()),
            Self::Clean(components) => components.each(store, json!({ "built": false })),
            Self::AddDependency { component_name, target, dependency_type } => {
                let kind = dependency_type.as_ref().map_or("wasm-rpc".to_owned(), word);
                let fields = json!({ "dependency": target.text(), "dependency_type": kind });
                store.change("component", &component_name, fields)
            }
            Self::List { component_name: None } => store.list("component").map(Value::Array),
            Self::List { component_name: Some(name) } => Ok(named(store.list("component")?, &name)),
            Self::Get { component_name, version } => {
                let mut record = store.get("component", &component_name)?;
                if let (Some(version), Some(record)) = (version, record.as_object_mut()) {
                    record.insert("version".to_owned(), json!(version));
                }
                Ok(record)
            }
            Self::UpdateWorkers { components, update } => components.each(store, update.fields()),
            Self::RedeployWorkers(components) => {
                components.each(store, json!({ "workers": "redeployed" }))
            }
            Self::Diagnose(components) | Self::ManifestTrace(components) => {
                Ok(components.diagnose())
            }
            Self::Plugin(command) => command.run(store, "component plugin"),
        }
    }
}

impl Target {
    fn text(self) -> Option<String> {
        let path = self.target_component_path.map(|path| path.display().to_string());
        self.target_component_name.or(path).or(self.target_component_url)
    }
}

impl Installed {
    pub(crate) fn run(self, store: &Store, kind: &str) -> Answer {
        match self {
            Self::Install { name, plugin_name, plugin_version, settings } => {
                let id = format!("{name}/{plugin_name}");
                let about = json!({ "in": name, "plugin_version": plugin_version });
                store.put(kind, &id, about)?;
                store.put(kind, &id, settings.fields())
            }
            Self::Get { name, version: _ } => {
                let all = store.list(kind)?.into_iter();
                Ok(all.filter(|one| one.get("in").is_some_and(|it| *it == *name)).collect())
            }
            Self::Update { name, installation_id, settings } => {
                store.change(kind, &format!("{name}/{installation_id}"), settings.fields())
            }
            Self::Uninstall { name, installation_id } => {
                store.delete(kind, &format!("{name}/{installation_id}"))
            }
        }
    }
}

impl Settings {
    fn fields(self) -> Value {
        let params = self.param.into_iter().map(|(key, value)| (key, Value::String(value)));
        json!({ "priority": self.priority, "params": Value::Object(params.collect()) })
    }
}

/// `KEY=VAL`
pub(crate) fn pair(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("write it as KEY=VAL")?;
    Ok((key.to_owned(), value.to_owned()))
}
