//! `edgemere demo`: a network of real nodes with a sample company, in a folder that is gone when it
//! stops.
//!
//! 1. `network` starts a master and operators; each is a `process` of this program.
//! 2. `fill` makes the tables, describes the `sample` company in the ledger, and stores the
//!    `readings` of its devices, each at one operator.
//! 3. `network` starts the query node. Nobody can ask it before, so that the first answer is whole.
//! 4. `introduce` says what there is, what to try, and what a query on all of it answers.
//! 5. `fill` goes on with new readings until a signal comes or a node ends. Then all nodes stop.

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

use self::network::{Network, Processes, Stores};
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

/// Start a network of nodes with sample data to try; its data is removed at the end
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Start a network on this machine, one process per node: a master, operators \
                  with the sensor data of a sample company, and a query node that answers for \
                  all of them. The query node starts after all rows are stored, so that every \
                  result is complete; the demo then prints commands to try and a query with \
                  its result. New rows arrive every second.\n\nCtrl-C or SIGTERM stops all nodes \
                  and removes their data. If one of the nodes stops, the demo ends and shows \
                  the end of that node's log.\n\nThe query node listens on \
                  http://127.0.0.1:32349, the default address of the other commands, or on a \
                  free port if that one is taken.",
    after_help = "Examples:\n  edgemere demo\n  edgemere demo --operators 4 --rows 10000000"
)]
pub(crate) struct Demo {
    /// The number of operators; each stores the rows of one site
    #[arg(long, value_name = "N", default_value_t = 2)]
    #[arg(value_parser = clap::value_parser!(u8).range(1..=OPERATORS_MAX))]
    operators: u8,

    /// The number of rows at the start, over all operators
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
        let stores = processes.start(self.operators.into(), &progress).await?;
        let loaded = watched(processes, self.load(&stores, &progress)).await?;
        progress.step("starting the query node");
        let query = processes.start_query(&stores).await?;
        let network = Network { stores, query };
        watched(processes, go_on(&network, &loaded, folder, progress)).await
    }

    /// Makes the tables and stores their rows.
    async fn load(&self, stores: &Stores, progress: &Progress) -> anyhow::Result<Loaded> {
        progress.step("making the tables");
        fill::describe(stores).await?;
        let readings = Readings::until(Timestamp::now(), self.rows, self.operators.into())?;
        progress.rows(self.rows.into());
        let start = Instant::now();
        let stored = fill::load(stores, readings, progress).await?;
        Ok(Loaded { readings, stored, time: start.elapsed() })
    }
}

/// What was stored before anybody could ask.
struct Loaded {
    readings: Readings,
    /// How many rows each operator has stored.
    stored: Vec<u64>,
    time: Duration,
}

/// Introduces the network, and keeps new rows coming.
async fn go_on(
    network: &Network,
    loaded: &Loaded,
    folder: &Path,
    progress: Progress,
) -> anyhow::Result<()> {
    progress.step("asking the query node");
    fill::known_to_query(network).await?;
    let answer = introduce::answer(network).await?;
    drop(progress);
    introduce::introduce(network, &loaded.stored, loaded.time, folder, &answer)?;
    fill::trickle(&network.stores, loaded.readings).await;
    Ok(())
}

/// Does something while all nodes run. The end of one of them is the end of it.
async fn watched<T>(
    processes: &mut Processes,
    work: impl Future<Output = anyhow::Result<T>>,
) -> anyhow::Result<T> {
    let error = tokio::select! {
        ended = processes.ended() => return Err(ended.into()),
        result = work => match result {
            Ok(done) => return Ok(done),
            Err(error) => error,
        },
    };
    // A node that has ended is the better reason.
    match tokio::time::timeout(END_SEEN_MAX, processes.ended()).await {
        Ok(ended) => Err(ended.into()),
        Err(_) => Err(error),
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
