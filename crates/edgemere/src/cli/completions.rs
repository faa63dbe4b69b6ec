//! `edgemere completions`: the script that makes a shell complete this program's command line.

use std::process::ExitCode;

use clap_complete::Shell;

use crate::terminal;

/// Print the completion script for a shell
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  source <(edgemere completions bash)\n  \
                        edgemere completions zsh > ~/.zfunc/_edgemere\n  \
                        edgemere completions fish > ~/.config/fish/completions/edgemere.fish")]
pub(crate) struct Completions {
    /// The shell
    shell: Shell,
}

impl Completions {
    pub(super) fn run(&self) -> anyhow::Result<ExitCode> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut super::command(), "edgemere", &mut script);
        terminal::print(String::from_utf8(script)?.trim_end())?;
        Ok(ExitCode::SUCCESS)
    }
}
