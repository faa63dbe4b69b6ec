//! `golem cloud`: projects, which agents may manage, and accounts and tokens, which they may not.

use clap::{Args, Subcommand, ValueEnum};
use clap_serve::{CommandExt, Effect};
use serde_json::{Value, json};

use crate::{
    component::Installed,
    store::{Answer, Store, mark, named},
};

#[derive(Debug, Subcommand)]
pub(crate) enum Cloud {
    /// Manages projects
    #[command(subcommand)]
    Project(Project),
    /// Manages accounts
    #[command(subcommand)]
    Account(Account),
    /// Manages tokens
    #[command(subcommand, visible_alias = "tokens")]
    Token(Token),
}

#[derive(Debug, Subcommand)]
pub(crate) enum Project {
    /// Makes a new project
    #[command(effect = Effect::Write)]
    New {
        /// Its name
        project_name: String,
        /// What it is for
        #[arg(long, short)]
        description: Option<String>,
    },
    /// Lists projects
    #[command(effect = Effect::Read)]
    List {
        /// Only this one
        project_name: Option<String>,
    },
    /// Shows the project that is used when none is named
    #[command(effect = Effect::Read)]
    GetDefault,
    /// Lets somebody use a project
    #[command(effect = Effect::Write)]
    Grant {
        /// The project
        project: String,
        /// Who may use it
        recipient_email: String,
        #[command(flatten)]
        what: Granted,
    },
    /// Manages what can be granted
    #[command(subcommand)]
    Policy(Policy),
    /// Manages the plugins of a project
    #[command(subcommand)]
    Plugin(Installed),
}

/// What is granted: one of these.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct Granted {
    /// What a policy says
    #[arg(long)]
    policy_id: Option<String>,
    /// These actions
    #[arg(long, value_enum)]
    action: Option<Vec<Permission>>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Permission {
    ViewComponent,
    CreateComponent,
    ViewWorker,
    CreateWorker,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Policy {
    /// Makes a new policy
    #[command(effect = Effect::Write)]
    New {
        /// Its name
        policy_name: String,
        /// What it grants
        #[arg(value_enum)]
        actions: Vec<Permission>,
    },
    /// Shows a policy
    #[command(effect = Effect::Read)]
    Get {
        /// The policy
        policy_id: String,
    },
}

/// Which account is meant.
#[derive(Debug, Args)]
pub(crate) struct AccountId {
    /// The account; one's own when none is given
    #[arg(long)]
    account_id: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Account {
    /// Shows an account
    #[command(effect = Effect::Read)]
    Get(AccountId),
    /// Changes an account
    #[command(effect = Effect::Write)]
    Update {
        #[command(flatten)]
        account: AccountId,
        /// Its new name
        account_name: Option<String>,
    },
    /// Makes a new account
    #[command(effect = Effect::Write)]
    New {
        /// Its name
        account_name: String,
        /// Its address
        account_email: String,
    },
    /// Removes an account
    #[command(effect = Effect::Destructive)]
    Delete(AccountId),
    /// Manages the roles of an account
    #[command(subcommand)]
    Grant(AccountGrant),
}

#[derive(Debug, Subcommand)]
pub(crate) enum AccountGrant {
    /// Lists the roles of an account
    #[command(effect = Effect::Read)]
    Get(AccountId),
    /// Gives an account a role
    #[command(effect = Effect::Write)]
    New {
        /// The role
        role: String,
    },
    /// Takes a role from an account
    #[command(effect = Effect::Destructive)]
    Delete {
        /// The role
        role: String,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum Token {
    /// Lists tokens
    #[command(effect = Effect::Read)]
    List,
    /// Makes a new token
    #[command(effect = Effect::Write)]
    New {
        /// Until when it is good
        #[arg(long, default_value = "2100-01-01T00:00:00Z")]
        expires_at: String,
    },
    /// Removes a token
    #[command(effect = Effect::Destructive)]
    Delete {
        /// The token
        token_id: String,
    },
}

impl Cloud {
    pub(crate) fn run(self, store: &Store) -> Answer {
        match self {
            Self::Project(command) => command.run(store),
            Self::Account(command) => mark(&format!("cloud account {command:?}")),
            Self::Token(command) => mark(&format!("cloud token {command:?}")),
        }
    }
}

impl Project {
    fn run(self, store: &Store) -> Answer {
        const KIND: &str = "project";
        match self {
            Self::New { project_name, description } => {
                store.put(KIND, &project_name, json!({ "description": description }))
            }
            Self::List { project_name: None } => store.list(KIND).map(Value::Array),
            Self::List { project_name: Some(name) } => Ok(named(store.list(KIND)?, &name)),
            Self::GetDefault => Ok(json!({ "name": "default" })),
            Self::Grant { .. } => mark("cloud project grant"),
            Self::Policy(command) => mark(&format!("cloud project policy {command:?}")),
            Self::Plugin(command) => command.run(store, "project plugin"),
        }
    }
}
