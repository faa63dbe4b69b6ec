//! The groups of commands of which all or most are never for agents. Each that runs leaves a mark.

use clap::Subcommand;
use clap_serve::{CommandExt, Effect};

use crate::{
    services,
    store::{Answer, Store, mark},
};

#[derive(Debug, Subcommand)]
pub(crate) enum Profile {
    /// Makes a new profile
    #[command(effect = Effect::Write)]
    New {
        /// Its name
        name: Option<String>,
        /// The token that it uses
        #[arg(long)]
        static_token: Option<String>,
    },
    /// Lists profiles
    #[command(effect = Effect::Read)]
    List,
    /// Uses another profile from now on
    #[command(effect = Effect::Write)]
    Switch {
        /// The profile
        profile_name: String,
    },
    /// Shows a profile
    #[command(effect = Effect::Read)]
    Get {
        /// The profile
        profile_name: Option<String>,
    },
    /// Removes a profile
    #[command(effect = Effect::Destructive)]
    Delete {
        /// The profile
        profile_name: String,
    },
    /// Changes a profile
    #[command(subcommand)]
    Config(ProfileConfig),
}

#[derive(Debug, Subcommand)]
pub(crate) enum ProfileConfig {
    /// Sets how answers look
    #[command(effect = Effect::Write)]
    SetFormat {
        /// How
        format_name: String,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum Account {
    /// Shows an account
    #[command(effect = Effect::Read)]
    Get,
    /// Makes a new account
    #[command(effect = Effect::Write)]
    Add {
        /// Its address
        account_email: String,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum Grant {
    /// Lists roles
    #[command(effect = Effect::Read)]
    Get,
    /// Gives a role
    #[command(effect = Effect::Write)]
    Add {
        /// The role
        role: String,
    },
    /// Takes a role
    #[command(effect = Effect::Destructive)]
    Delete {
        /// The role
        role: String,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum Server {
    /// Runs the services until they are stopped
    #[command(effect = Effect::Write)]
    Run {
        /// The port; 0 is any free one
        #[arg(long, default_value_t = 9881)]
        port: u16,
    },
    /// Removes what the services stored
    #[command(effect = Effect::Destructive)]
    Clean,
}

impl Profile {
    pub(crate) fn run(self) -> Answer {
        mark(&format!("profile {self:?}"))
    }
}

impl Account {
    pub(crate) fn run(self) -> Answer {
        mark(&format!("account {self:?}"))
    }
}

impl Grant {
    pub(crate) fn run(self) -> Answer {
        mark(&format!("grant {self:?}"))
    }
}

impl Server {
    pub(crate) fn run(self) -> Answer {
        match self {
            Self::Run { port } => mark("server run").and_then(|_| services::run(port)),
            Self::Clean => Store::open()?.clear("service"),
        }
    }
}
