//! `golem api`: HTTP APIs, where they are, and who may call them.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use clap_serve::{CommandExt, Effect};
use serde_json::{Value, json};

use crate::{
    app::{Redeploy, names},
    store::{Answer, Store, mark},
};

#[derive(Debug, Subcommand)]
pub(crate) enum Api {
    /// Deploys all APIs
    #[command(effect = Effect::Write)]
    Deploy(Redeploy),
    /// Manages the definitions of APIs
    #[command(subcommand)]
    Definition(Definition),
    /// Manages where APIs are
    #[command(subcommand)]
    Deployment(Deployment),
    /// Manages who may call APIs
    #[command(subcommand)]
    SecurityScheme(SecurityScheme),
    /// Manages the domains of APIs
    #[command(subcommand)]
    Cloud(ApiCloud),
}

/// Which project is meant.
#[derive(Debug, Args)]
pub(crate) struct Project {
    /// The project
    #[arg(long)]
    project: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Definition {
    /// Deploys definitions
    #[command(effect = Effect::Write)]
    Deploy {
        /// The definition; all of them when none is named
        http_api_definition_name: Option<String>,
        #[command(flatten)]
        redeploy: Redeploy,
    },
    /// Shows a definition
    #[command(effect = Effect::Read)]
    Get(Version),
    /// Lists definitions
    #[command(effect = Effect::Read)]
    List {
        #[command(flatten)]
        project: Project,
        /// Only the versions of this one
        #[arg(long, short)]
        id: Option<String>,
    },
    /// Removes a definition
    #[command(effect = Effect::Destructive)]
    Delete(Version),
    /// Writes a definition for other programs
    #[command(effect = Effect::Read)]
    Export {
        #[command(flatten)]
        version: Version,
        /// In which form
        #[arg(long, value_enum, default_value_t = Form::Yaml)]
        form: Form,
    },
}

/// A version of a definition.
#[derive(Debug, Args)]
pub(crate) struct Version {
    #[command(flatten)]
    project: Project,
    /// The definition
    #[arg(long, short)]
    id: String,
    /// Its version
    #[arg(long)]
    version: String,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Form {
    Json,
    Yaml,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Deployment {
    /// Deploys at sites
    #[command(effect = Effect::Write)]
    Deploy {
        /// The site; all of them when none is named
        host_or_site: Option<String>,
        #[command(flatten)]
        redeploy: Redeploy,
    },
    /// Shows what is at a site
    #[command(effect = Effect::Read)]
    Get(Site),
    /// Lists sites
    #[command(effect = Effect::Read)]
    List {
        #[command(flatten)]
        project: Project,
        /// Only those with this definition
        definition: Option<String>,
    },
    /// Removes what is at a site
    #[command(effect = Effect::Destructive)]
    Delete(Site),
}

#[derive(Debug, Args)]
pub(crate) struct Site {
    #[command(flatten)]
    project: Project,
    /// The site
    #[arg(value_name = "subdomain.host")]
    site: String,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SecurityScheme {
    /// Makes a new scheme
    #[command(effect = Effect::Write)]
    Create {
        #[command(flatten)]
        project: Project,
        /// Its name
        security_scheme_id: String,
        /// The secret of the provider
        #[arg(long)]
        client_secret: String,
    },
    /// Shows a scheme
    #[command(effect = Effect::Read)]
    Get {
        #[command(flatten)]
        project: Project,
        /// Its name
        security_scheme_id: String,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum ApiCloud {
    /// Manages domains
    #[command(subcommand)]
    Domain(Domain),
    /// Manages the keys of domains
    #[command(subcommand)]
    Certificate(Certificate),
}

#[derive(Debug, Subcommand)]
pub(crate) enum Domain {
    /// Lists the domains of a project
    #[command(effect = Effect::Read)]
    Get {
        /// The project
        project: String,
    },
    /// Adds a domain to a project
    #[command(effect = Effect::Write)]
    New {
        /// The project
        project: String,
        /// The domain
        domain_name: String,
    },
    /// Removes a domain from a project
    #[command(effect = Effect::Destructive)]
    Delete {
        /// The project
        project: String,
        /// The domain
        domain_name: String,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum Certificate {
    /// Shows the keys of a project
    #[command(effect = Effect::Read)]
    Get {
        /// The project
        project: String,
    },
    /// Adds a key
    #[command(effect = Effect::Write)]
    New {
        /// The project
        project: String,
        /// The file with the key
        #[arg(long)]
        certificate_private_key: PathBuf,
    },
    /// Removes a key
    #[command(effect = Effect::Destructive)]
    Delete {
        /// The project
        project: String,
        /// The key
        certificate_id: String,
    },
}

impl Api {
    pub(crate) fn run(self, store: &Store) -> Answer {
        match self {
            Self::Deploy(redeploy) => deploy(store, "definition", None, &redeploy),
            Self::Definition(command) => command.run(store),
            Self::Deployment(command) => command.run(store),
            Self::SecurityScheme(SecurityScheme::Create { .. }) => {
                mark("api security-scheme create")
            }
            Self::SecurityScheme(SecurityScheme::Get { project, security_scheme_id }) => {
                Ok(json!({ "project": project.project, "scheme": security_scheme_id }))
            }
            Self::Cloud(ApiCloud::Domain(command)) => command.run(store),
            Self::Cloud(ApiCloud::Certificate(_)) => mark("api cloud certificate"),
        }
    }
}

/// Deploys one, or all that there are.
fn deploy(store: &Store, kind: &str, name: Option<String>, redeploy: &Redeploy) -> Answer {
    let names = match name {
        Some(name) => vec![name],
        None => names(&store.list(kind)?),
    };
    let deployed = names.iter().map(|name| store.put(kind, name, redeploy.fields()));
    deployed.collect::<Result<Vec<_>, _>>().map(Value::Array)
}

impl Definition {
    fn run(self, store: &Store) -> Answer {
        const KIND: &str = "definition";
        match self {
            Self::Deploy { http_api_definition_name, redeploy } => {
                deploy(store, KIND, http_api_definition_name, &redeploy)
            }
            Self::Get(version) => store.get(KIND, &version.id).map(|found| version.of(found)),
            Self::List { project, id } => {
                let all = store.list(KIND)?.into_iter();
                let is_it =
                    |one: &Value| id.as_ref().is_none_or(|id| one.get("name") == Some(&json!(id)));
                let found: Vec<Value> = all.filter(is_it).collect();
                Ok(json!({ "definitions": found, "project": project.project }))
            }
            Self::Delete(version) => store.delete(KIND, &version.id),
            Self::Export { version, form } => {
                let found = store.get(KIND, &version.id)?;
                Ok(json!({ "form": format!("{form:?}"), "definition": version.of(found) }))
            }
        }
    }
}

impl Version {
    fn of(&self, definition: Value) -> Value {
        let (version, project) = (&self.version, &self.project.project);
        json!({ "definition": definition, "version": version, "project": project })
    }
}

impl Deployment {
    fn run(self, store: &Store) -> Answer {
        const KIND: &str = "deployment";
        match self {
            Self::Deploy { host_or_site, redeploy } => deploy(store, KIND, host_or_site, &redeploy),
            Self::Get(site) => {
                let found = store.get(KIND, &site.site)?;
                Ok(json!({ "deployment": found, "project": site.project.project }))
            }
            Self::List { project, definition } => Ok(json!({
                "deployments": store.list(KIND)?,
                "project": project.project,
                "definition": definition,
            })),
            Self::Delete(site) => store.delete(KIND, &site.site),
        }
    }
}

impl Domain {
    fn run(self, store: &Store) -> Answer {
        const KIND: &str = "domain";
        match self {
            Self::Get { project } => {
                let all = store.list(KIND)?.into_iter();
                Ok(all.filter(|one| one.get("project") == Some(&json!(project))).collect())
            }
            Self::New { project, domain_name } => {
                store.put(KIND, &domain_name, json!({ "project": project }))
            }
            Self::Delete { project: _, domain_name } => store.delete(KIND, &domain_name),
        }
    }
}
