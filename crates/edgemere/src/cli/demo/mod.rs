//! `edgemere demo`: a network of real nodes with a sample company, in a folder that is gone when it
//! stops.
//!
//! 1. `network` starts a master, operators and a query node; each is a `process` of this program.
//! 2. `fill` makes the tables, describes the `sample` company in the ledger, and stores the
//!    `readings` of its devices, each at one operator.
//! 3. `introduce` says what there is, what to try, and what a query on all of it answers.
//! 4. `fill` goes on with new readings until a signal comes or a node ends. Then all nodes stop.

mod fill;
mod introduce;
mod network;
mod process;
mod progress;
mod readings;
mod sample;

use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use edgemere_command::Kind;
use jiff::Timestamp;
use tempfile::TempDir;

use self::network::{Network, Processes};
use self::progress::Progress;
use self::readings::Readings;
use super::client_runtime;
use super::signals::{INTERRUPTED, Signals};
use crate::config::Config;
use crate::failure::Failure;
use crate::terminal;

/// How long it may take until it is seen that a node has ended which does not answer.
const END_SEEN_MAX: Duration = Duration::from_secs(1);

/// The most operators: as many as the sample has sites.
#[allow(clippy::cast_possible_truncation, reason = "the sites are few")]
const OPERATORS_MAX: i64 = sample::SITES.len() as i64;

/// Start a network of nodes with sample data, to look around; nothing of it is kept
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Start a network on this machine: a master, operators that hold the sensor data of a \
                  sample company, and a query node that answers for all of them, each a process of its \
                  own. New rows keep coming. It says what to try, and shows a query with its answer.\n\n\
                  Ctrl-C or SIGTERM stops all nodes and removes their data. The demo also ends when one \
                  of its nodes does, and shows the end of that node's log.\n\nThe query node is at \
                  http://127.0.0.1:32349, where the other commands look for a node, or at a free port \
                  when that one is taken.",
    after_help = "Examples:\n  edgemere demo\n  edgemere demo --operators 4 --rows 10000000"
)]
pub(crate) struct Demo {
    /// How many operators there are; each holds the rows of one site
    #[arg(long, value_name = "N", default_value_t = 2)]
    #[arg(value_parser = clap::value_parser!(u8).range(1..=OPERATORS_MAX))]
    operators: u8,

    /// How many rows there are at the start, all operators together
    #[arg(long, value_name = "N", default_value_t = 3_000_000)]
    #[arg(value_parser = clap::value_parser!(u32).range(1_000..=100_000_000))]
    rows: u32,
}

impl Demo {
    pub(super) fn run(self, config: &Config) -> anyhow::Result<ExitCode> {
        let runtime = client_runtime()?;
        let result = runtime.block_on(self.demo(config));
        runtime.shutdown_background();
        result
    }

    async fn demo(self, config: &Config) -> anyhow::Result<ExitCode> {
        let mut signals = Signals::listen()?;
        let folder = folder()?;
        let mut processes = Processes::new(folder.path(), config)?;
        let end = tokio::select! {
            end = self.show(&mut processes, folder.path()) => end,
            () = signals.any() => {
                terminal::say("Stopping the nodes.");
                Ok(())
            }
        };
        let code = tokio::select! {
            () = processes.stop() => ExitCode::SUCCESS,
            () = signals.interrupt() => {
                processes.kill();
                ExitCode::from(INTERRUPTED)
            }
        };
        remove(folder);
        end.map(|()| code)
    }

    /// Starts everything and keeps it going. It ends only when something is wrong.
    async fn show(&self, processes: &mut Processes, folder: &Path) -> anyhow::Result<()> {
        let progress = Progress::new();
        let network = processes.start(self.operators.into(), &progress).await?;
        let error = tokio::select! {
            ended = processes.ended() => return Err(ended.into()),
            result = self.go_on(&network, folder, progress) => match result {
                Ok(()) => return Ok(()),
                Err(error) => error,
            },
        };
        // A node that has ended is the better reason.
        match tokio::time::timeout(END_SEEN_MAX, processes.ended()).await {
            Ok(ended) => Err(ended.into()),
            Err(_) => Err(error),
        }
    }

    /// Fills the network, introduces it, and keeps new rows coming.
    async fn go_on(
        &self,
        network: &Network,
        folder: &Path,
        progress: Progress,
    ) -> anyhow::Result<()> {
        progress.step("making the tables");
        fill::describe(network).await?;
        let readings = Readings::until(Timestamp::now(), self.rows, self.operators.into())?;
        progress.rows(self.rows.into());
        let start = Instant::now();
        let stored = fill::load(network, readings, &progress).await?;
        let time = start.elapsed();
        progress.step("asking the query node");
        fill::known_to_query(network).await?;
        let answer = introduce::answer(network).await?;
        drop(progress);
        introduce::introduce(network, &stored, time, folder, &answer)?;
        fill::trickle(network, readings).await;
        Ok(())
    }
}

/// A folder for everything.
fn folder() -> Result<TempDir, Failure> {
    tempfile::Builder::new().prefix("edgemere-demo-").tempdir().map_err(|error| {
        let message = format!("cannot make a temporary folder: {error}");
        let hint = "name a folder for such in the environment variable TMPDIR";
        Failure::new(Kind::Unavailable, message).with_hint(hint)
    })
}

fn remove(folder: TempDir) {
    let path = folder.path().to_owned();
    if let Err(error) = folder.close() {
        terminal::say(&format!("cannot remove \"{}\": {error}", path.display()));
    }
}
