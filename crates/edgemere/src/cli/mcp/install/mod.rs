//! `edgemere mcp install`: writes Edgemere into the file of an MCP client, beside all that is there.
//!
//! 1. `launch` says how the client is to reach Edgemere: by starting it, or at a URL.
//! 2. `clients` knows of each client where its file is and what an entry looks like.
//! 3. `edit` puts the entry into the file's text and leaves every other character as it is.
//! 4. `write` keeps a copy of the file and replaces it at once.

mod clients;
mod edit;
mod launch;
mod write;

use std::io::ErrorKind;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use edgemere_command::Kind;
use serde_json::{Value, json};

use self::clients::{Client, Folders};
use self::edit::Edit;
use self::launch::Launch;
use crate::config::{ClientKeys, Config, DataKeys, Entry, Flags, ToolKeys};
use crate::failure::Failure;
use crate::terminal;

/// Add Edgemere to an MCP client's configuration
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Add Edgemere to an MCP client's configuration, or update its entry. The rest \
                  of the file stays as it is, including comments, and the command saves a copy \
                  of the old file next to it.\n\nThe client starts \"edgemere mcp\" with the \
                  data folder, or with --node to use a running node; with --http it connects to \
                  the running node itself.",
    after_help = "Examples:\n  edgemere mcp install claude\n  edgemere mcp install cursor --node \
                  http://127.0.0.1:32349\n  edgemere mcp install vscode --http\n  edgemere mcp \
                  install zed --print"
)]
pub(crate) struct Install {
    /// The client
    #[arg(value_enum)]
    client: Client,

    /// Print the entry and change nothing
    #[arg(long)]
    print: bool,

    /// The name of the entry
    #[arg(long, value_name = "NAME", default_value = "edgemere", value_parser = entry_name)]
    name: String,

    /// Let the client connect to the running node instead of starting a process
    #[arg(long)]
    http: bool,

    #[command(flatten)]
    node: Flags<ClientKeys>,

    #[command(flatten)]
    data: Flags<DataKeys>,

    #[command(flatten)]
    tools: Flags<ToolKeys>,
}

impl Install {
    /// The keys of the configuration that flags and the environment give.
    pub(super) fn given(&self) -> Vec<Entry> {
        [self.node.entries(), self.data.entries(), self.tools.entries()].concat()
    }

    pub(super) fn run(self, config: &Config) -> anyhow::Result<ExitCode> {
        let form = self.client.form();
        let launch = Launch::of(config, self.http)?;
        let entry = (form.entry)(&launch).ok_or_else(|| {
            Failure::input(format!("{} takes no URLs in its file", form.title))
                .with_hint("leave out --http: with --node it reaches the same node")
        })?;
        let file = (form.file)(&Folders::of_this_machine()?);
        let snippet = snippet(form.key, &self.name, &entry);
        if self.print {
            terminal::say(&format!("for {}:", file.display()));
            if let Some(command) = form.command {
                terminal::say(&format!("or: {}", command(&self.name, &launch)));
            }
            terminal::print(&snippet)?;
            return Ok(ExitCode::SUCCESS);
        }
        let before = read(&file)?;
        match edit::edited(before.as_deref().unwrap_or_default(), form.key, &self.name, &entry) {
            Err(why) => {
                terminal::print(&snippet)?;
                Err(by_hand(&file, &why).into())
            }
            Ok(Edit::Same) => {
                terminal::say(&format!("{} has it already", file.display()));
                Ok(ExitCode::SUCCESS)
            }
            Ok(Edit::Changed { text, is_new }) => {
                let copy = write::replace(&file, before.as_deref(), &text)?;
                let verb = if is_new { "added to" } else { "changed in" };
                terminal::say(&format!("{verb} {}:", file.display()));
                terminal::say(&snippet);
                if let Some(copy) = copy {
                    terminal::say(&format!("as it was before: {}", copy.display()));
                }
                terminal::say(form.after);
                Ok(ExitCode::SUCCESS)
            }
        }
    }
}

/// The text of a file; none when there is no file.
fn read(file: &Path) -> anyhow::Result<Option<String>> {
    match std::fs::read_to_string(file) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("cannot read \"{}\"", file.display())),
    }
}

fn snippet(key: &str, name: &str, entry: &Value) -> String {
    serde_json::to_string_pretty(&json!({ key: { name: entry } })).unwrap_or_default()
}

fn by_hand(file: &Path, why: &str) -> Failure {
    let message = format!("\"{}\" is left as it is: {why}", file.display());
    Failure::new(Kind::Conflict, message).with_hint("add what is printed by hand, or mend the file")
}

fn entry_name(text: &str) -> Result<String, String> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    match !text.is_empty() && text.len() <= 64 && text.chars().all(is_name) {
        true => Ok(text.to_owned()),
        false => Err("1 to 64 letters, digits, - and _".into()),
    }
}
