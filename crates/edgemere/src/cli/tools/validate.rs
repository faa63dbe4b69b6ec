//! `edgemere tools validate`: everything that is wrong with a file of tools.

use std::path::PathBuf;
use std::process::ExitCode;

use edgemere_command::Kind;
use edgemere_tools::{Executor, Problems, Surroundings, Toolbox, agent};

use super::super::client_runtime;
use super::unless_interrupted;
use crate::cli::signals::INTERRUPTED;
use crate::failure::Failure;
use crate::{config, remote, terminal};

/// Check a tools file and report every problem
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Check a tools file and the files it includes, and report every problem with \
                  its file, line and column and the next step. Nothing is called.\n\nWith \
                  --node, a running node also plans the SQL of tools whose tables exist, which \
                  finds misspelled tables and columns.\n\nExit codes: 0 the file is valid, 2 it \
                  has problems, 6 the node does not answer.",
    after_help = "Examples:\n  edgemere tools validate tools.yaml\n  \
                  edgemere tools validate tools.yaml --node http://127.0.0.1:32349"
)]
pub(crate) struct Validate {
    /// The file
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// A node that plans the SQL as well
    #[arg(long, value_name = "URL")]
    node: Option<String>,
}

impl Validate {
    pub(super) fn run(&self) -> anyhow::Result<ExitCode> {
        let toolbox = match Toolbox::load(&self.file, &Surroundings::process()) {
            Ok(toolbox) => toolbox,
            Err(problems) => return Ok(self.report(&problems)),
        };
        let tools = counted(toolbox.tools().len(), "tool");
        let good = format!("{}: {tools}, no problems", self.file.display());
        let Some(node) = &self.node else {
            terminal::print(&good)?;
            return Ok(ExitCode::SUCCESS);
        };
        match client_runtime()?.block_on(unless_interrupted(plan(&toolbox, node)))? {
            None => Ok(ExitCode::from(INTERRUPTED)),
            Some(Err(problems)) => Ok(self.report(&problems)),
            Some(Ok(planned)) => {
                let planned = counted(planned, "tool");
                terminal::print(&format!("{good}; the SQL of {planned} was planned on {node}"))?;
                Ok(ExitCode::SUCCESS)
            }
        }
    }

    fn report(&self, problems: &Problems) -> ExitCode {
        for problem in problems.iter() {
            terminal::report_problem(problem);
        }
        let count = counted(problems.count(), "problem");
        terminal::say(&format!("{}: {count}", self.file.display()));
        ExitCode::from(Kind::Input.exit_code())
    }
}

/// Plans the SQL of tools on a node, and says of how many.
async fn plan(toolbox: &Toolbox, node: &str) -> anyhow::Result<Result<usize, Problems>> {
    let url = config::node_url(node).map_err(Failure::input)?;
    let executor = Executor::new(remote::connect(url).await?, agent());
    Ok(executor.plan(toolbox).await)
}

fn counted(count: usize, what: &str) -> String {
    match count {
        1 => format!("1 {what}"),
        _ => format!("{count} {what}s"),
    }
}
