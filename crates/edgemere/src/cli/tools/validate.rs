//! `edgemere tools validate`: everything that is wrong with a file of tools.

use std::path::PathBuf;
use std::process::ExitCode;

use edgemere_command::Kind;
use edgemere_tools::{Surroundings, Toolbox};

use crate::terminal;

/// Check a file of tools, and tell everything that is wrong with it
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Check a file of tools and those that it includes, and tell everything that is wrong \
                  with them: each with its file, line and column and the next step. Nothing is \
                  called.\n\nExit codes: 0 all is right, 2 something is wrong.",
    after_help = "Example:\n  edgemere tools validate tools.yaml"
)]
pub(crate) struct Validate {
    /// The file
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

impl Validate {
    pub(super) fn run(&self) -> anyhow::Result<ExitCode> {
        match Toolbox::load(&self.file, &Surroundings::process()) {
            Ok(toolbox) => {
                let count = counted(toolbox.tools().len(), "tool");
                terminal::print(&format!("{}: {count}, no problems", self.file.display()))?;
                Ok(ExitCode::SUCCESS)
            }
            Err(problems) => {
                for problem in problems.iter() {
                    terminal::report_problem(problem);
                }
                let count = counted(problems.count(), "problem");
                terminal::say(&format!("{}: {count}", self.file.display()));
                Ok(ExitCode::from(Kind::Input.exit_code()))
            }
        }
    }
}

fn counted(count: usize, what: &str) -> String {
    match count {
        1 => format!("1 {what}"),
        _ => format!("{count} {what}s"),
    }
}
