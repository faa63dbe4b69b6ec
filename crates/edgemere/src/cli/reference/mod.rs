//! `edgemere reference`: the reference pages of this program as Markdown, made from the declarations of
//! commands and configuration keys. `cargo xtask docs` writes them to `docs/reference`. The command is
//! hidden: it is for the repository, not for users.

mod commands;
mod configuration;

use std::process::ExitCode;

use crate::terminal;

/// Print a reference page of this program as Markdown
#[derive(Debug, clap::Args)]
pub(crate) struct Reference {
    /// The page
    page: Page,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Page {
    /// Commands, flags and exit codes
    Cli,
    /// Configuration keys
    Configuration,
}

impl Reference {
    pub(super) fn run(&self) -> anyhow::Result<ExitCode> {
        let page = match self.page {
            Page::Cli => commands::page(super::command()),
            Page::Configuration => configuration::page(),
        };
        terminal::print(page.trim_end())?;
        Ok(ExitCode::SUCCESS)
    }
}

/// A cell of a Markdown table, which a bar or a line break would end.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}
