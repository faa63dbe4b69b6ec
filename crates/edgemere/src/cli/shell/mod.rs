//! `edgemere shell`: many commands to a node, typed with completion and history, or read from a
//! pipe.

mod completion;
mod editor;

use std::io::{self, BufRead, IsTerminal};
use std::process::ExitCode;

use anyhow::Context;
use edgemere_command::script;
use tokio::runtime::Runtime;

use self::editor::{Editor, Typed};
use super::client_runtime;
use super::run::client;
use crate::client::{Answer, Client, Question};
use crate::config::{ClientKeys, Config, Flags, keys};
use crate::failure::Failure;
use crate::terminal;

/// Type commands to a node, with completion and history
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Type commands to a node, with completion (Tab) and history. A command that \
                  begins with \"<\" goes on over several lines until \">\". \"exit\" or Ctrl-D \
                  leaves.\n\nFrom a pipe, commands are read line by line; the first that fails \
                  ends it with the exit code of its failure.",
    after_help = "Examples:\n  edgemere shell\n  edgemere shell --node 127.0.0.1:32149\n  \
                  edgemere shell < setup.txt"
)]
pub(crate) struct Shell {
    #[command(flatten)]
    pub(super) keys: Flags<ClientKeys>,
}

impl Shell {
    pub(super) fn run(self, config: &Config) -> anyhow::Result<ExitCode> {
        let session = Session { client: client(config)?, runtime: client_runtime()? };
        match io::stdin().is_terminal() && io::stdout().is_terminal() {
            true => session.talk(config.text(&keys::NODE))?,
            false => session.read(io::stdin().lock())?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// What a line asks for.
#[derive(Debug, PartialEq)]
enum Line<'a> {
    Nothing,
    Leave,
    Command(&'a str),
}

impl<'a> Line<'a> {
    fn from_text(text: &'a str) -> Self {
        let text = text.trim();
        match text.to_lowercase().as_str() {
            "" => Self::Nothing,
            "exit" | "quit" => Self::Leave,
            _ if text.starts_with('#') => Self::Nothing,
            _ => Self::Command(text),
        }
    }
}

/// A node to talk to.
struct Session {
    client: Client,
    runtime: Runtime,
}

impl Session {
    /// Talks to a person: what fails is told, and the next command is asked for.
    fn talk(&self, node: &str) -> anyhow::Result<()> {
        let mut editor = Editor::new().context("cannot use the terminal")?;
        terminal::say(&format!(
            "{node}: \"help\" lists the commands, Tab completes, \"exit\" leaves"
        ));
        loop {
            let text = match editor.next()? {
                Typed::Line(text) => text,
                Typed::Cleared => continue,
                Typed::Leave => return Ok(()),
            };
            let result = match Line::from_text(&text) {
                Line::Nothing => continue,
                Line::Leave => return Ok(()),
                Line::Command(command) => self.run(command),
            };
            if let Err(error) = result {
                terminal::report(&Failure::of(error));
            }
        }
    }

    /// Reads commands until one fails.
    fn read(&self, input: impl BufRead) -> anyhow::Result<()> {
        let mut open = String::new();
        let mut number = 0;
        for (index, line) in input.lines().enumerate() {
            let line =
                line.map_err(|error| Failure::input(format!("line {}: {error}", index + 1)))?;
            if open.is_empty() {
                number = index + 1;
            } else {
                open.push('\n');
            }
            open.push_str(&line);
            if script::is_complete(&open) && !self.run_line(&std::mem::take(&mut open), number)? {
                return Ok(());
            }
        }
        self.run_line(&open, number).map(drop)
    }

    /// Runs a line of a pipe; whether there may be more.
    fn run_line(&self, text: &str, number: usize) -> anyhow::Result<bool> {
        match Line::from_text(text) {
            Line::Nothing => Ok(true),
            Line::Leave => Ok(false),
            Line::Command(command) => {
                self.run(command).with_context(|| format!("line {number}"))?;
                Ok(true)
            }
        }
    }

    fn run(&self, command: &str) -> anyhow::Result<()> {
        let question = Question { command: command.into(), ..Question::default() };
        match self.runtime.block_on(self.ask(&question))? {
            Some(reply) => terminal::print_reply(&reply)?,
            None => terminal::say("not waited for; the node may still be at it"),
        }
        Ok(())
    }

    /// Asks, until Ctrl-C when somebody is there to press it.
    async fn ask(&self, question: &Question) -> anyhow::Result<Option<Answer>> {
        if !io::stdin().is_terminal() {
            return self.client.ask(question).await.map(Some);
        }
        tokio::select! {
            reply = self.client.ask(question) => reply.map(Some),
            pressed = tokio::signal::ctrl_c() => pressed.map(|()| None).context("cannot be interrupted"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_nothing_or_leaves_or_is_a_command() {
        for nothing in ["", "   ", "# get status"] {
            assert_eq!(Line::from_text(nothing), Line::Nothing);
        }
        for leave in ["exit", " QUIT "] {
            assert_eq!(Line::from_text(leave), Line::Leave);
        }
        assert_eq!(Line::from_text(" exit node "), Line::Command("exit node"));
    }
}
