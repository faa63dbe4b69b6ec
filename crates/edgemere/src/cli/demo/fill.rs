//! Fills the demo's network over REST, as anybody would: the sample's policies to the master, and the
//! readings of each site to its operator, at first many and then those of each second.

use std::ops::Range;
use std::time::{Duration, Instant};

use anyhow::Context;
use edgemere_command::Kind;
use edgemere_storage::decode::Input;
use futures_util::future::{join_all, try_join_all};
use futures_util::{StreamExt, TryStreamExt, stream};
use jiff::Timestamp;

use super::network::{Network, Node, Stores};
use super::progress::Progress;
use super::readings::{Readings, devices_of};
use super::sample::{DBMS, DEVICES, SITES, Table, policies};
use crate::client::{Client, Question, Trouble, Upload};
use crate::failure::Failure;

/// How many rows are sent at a time.
const PIECE_ROWS_MAX: i64 = 20_000;

/// How many pieces are under way to an operator.
const PIECES_AT_ONCE: usize = 2;

/// How long rows are sent again and again.
const PATIENCE: Duration = Duration::from_secs(30);

/// How long to wait before they are.
const AGAIN_PAUSE: Duration = Duration::from_millis(500);

/// How far apart new readings are.
const STEP: Duration = Duration::from_secs(1);

/// How long the query node has to learn from the ledger what the operators hold, and how often it is
/// asked.
const LEDGER_MAX: Duration = Duration::from_secs(20);
const LEDGER_PAUSE: Duration = Duration::from_millis(20);

/// How many new rows come each second at each operator.
pub(super) const ROWS_A_SECOND: usize = DEVICES.len();

/// Makes the tables on every operator and tells the ledger of the sites and devices.
pub(super) async fn describe(stores: &Stores) -> anyhow::Result<()> {
    let tables = stores.operators.iter().map(make_tables);
    try_join_all(tables).await?;
    for policy in SITES.iter().take(stores.operators.len()).flat_map(policies) {
        ask(&stores.master.client, format!("blockchain push {policy}")).await?;
    }
    Ok(())
}

async fn make_tables(operator: &Node) -> anyhow::Result<()> {
    for table in Table::ALL {
        ask(&operator.client, table.create()).await?;
    }
    Ok(())
}

/// Waits until the query node knows which tables each operator holds.
pub(super) async fn known_to_query(network: &Network) -> anyhow::Result<()> {
    let wanted = network.stores.operators.len() * Table::ALL.len();
    let start = Instant::now();
    loop {
        let command = format!("get data nodes where dbms = {DBMS} and format = mcp");
        let reply = ask(&network.query.client, command).await?;
        let known: Vec<serde_json::Value> =
            serde_json::from_str(&reply).context("the query node's answer is not a list")?;
        let nodes = known.iter().filter_map(|table| table.get("nodes")?.as_array());
        let known: usize = nodes.map(Vec::len).sum();
        if known >= wanted {
            return Ok(());
        }
        if start.elapsed() > LEDGER_MAX {
            let message = format!(
                "the query node knows {known} of {wanted} tables of the operators after {} s",
                LEDGER_MAX.as_secs()
            );
            return Err(Failure::new(Kind::Unavailable, message).into());
        }
        tokio::time::sleep(LEDGER_PAUSE).await;
    }
}

async fn ask(client: &Client, command: String) -> anyhow::Result<String> {
    let answer = client.ask(&Question { command, ..Question::default() }).await?;
    Ok(answer.body)
}

/// Stores the readings until now at all operators, and says how many each of them has stored.
pub(super) async fn load(
    stores: &Stores,
    readings: Readings,
    progress: &Progress,
) -> anyhow::Result<Vec<u64>> {
    let operators = stores.operators.iter().enumerate();
    let loads = operators.map(|(site, operator)| load_site(operator, site, readings, progress));
    try_join_all(loads).await
}

async fn load_site(
    operator: &Node,
    site: usize,
    readings: Readings,
    progress: &Progress,
) -> anyhow::Result<u64> {
    let all = Table::ALL.into_iter().flat_map(|table| pieces(readings, site, table));
    let send = |piece: Piece| async move {
        let stored = piece.send(operator).await?;
        progress.stored(stored);
        anyhow::Ok(stored)
    };
    let stored = stream::iter(all).map(send).buffered(PIECES_AT_ONCE);
    stored.try_fold(0, async |sum, stored| Ok(sum + stored)).await
}

fn pieces(readings: Readings, site: usize, table: Table) -> impl Iterator<Item = Piece> {
    let (steps, length) = (readings.steps(), PIECE_ROWS_MAX / devices_of(table).max(1));
    let starts = std::iter::successors(Some(0), move |start| Some(start + length));
    let piece =
        move |start: i64| Piece { readings, site, table, steps: start..steps.min(start + length) };
    starts.take_while(move |start| *start < steps).map(piece)
}

/// Sends the readings of each second, for ever.
pub(super) async fn trickle(stores: &Stores, readings: Readings) {
    let operators = stores.operators.iter().enumerate();
    join_all(operators.map(|(site, operator)| trickle_site(operator, site, readings))).await;
}

async fn trickle_site(operator: &Node, site: usize, readings: Readings) {
    let mut clock = tokio::time::interval(STEP);
    let mut next = readings.steps();
    loop {
        clock.tick().await;
        // After a pause there are several seconds to send, but never more than a piece of each table.
        let last = (next + PIECE_ROWS_MAX / 4).min(readings.step_at(Timestamp::now()));
        if last < next {
            continue;
        }
        for table in Table::ALL {
            let piece = Piece { readings, site, table, steps: next..last + 1 };
            while let Err(error) = piece.send(operator).await {
                // The rows have a key, so that those that were stored are not stored twice.
                tracing::warn!(operator = operator.name, %error, "new rows wait");
                tokio::time::sleep(STEP).await;
            }
        }
        next = last + 1;
    }
}

/// What the devices of a table at a site send in some steps.
struct Piece {
    readings: Readings,
    site: usize,
    table: Table,
    steps: Range<i64>,
}

impl Piece {
    /// Sends the rows until they are stored, and says how many they are.
    async fn send(&self, operator: &Node) -> anyhow::Result<u64> {
        let (readings, site, table, steps) =
            (self.readings, self.site, self.table, self.steps.clone());
        let make = move || readings.csv(site, table, steps);
        let body = tokio::task::spawn_blocking(make).await.context("cannot make rows")?;
        let key = format!("demo {}..{}", self.steps.start, self.steps.end);
        let upload = Upload {
            dbms: DBMS,
            table: self.table.name(),
            input: Input::Csv,
            body: body.into(),
            key: &key,
            infer: false,
        };
        let start = Instant::now();
        loop {
            let (pause, trouble) = match operator.client.ingest(&upload).await {
                Ok(stored) if stored.rejected == 0 => return Ok(stored.stored),
                Ok(stored) => return Err(rejected(self.table, stored.rows.first()).into()),
                Err(Trouble::Refused(failure)) => return Err(failure.into()),
                Err(Trouble::Later(pause, failure)) => (pause, failure),
                Err(Trouble::Lost(failure)) => (AGAIN_PAUSE, failure),
            };
            if start.elapsed() + pause > PATIENCE {
                return Err(trouble.into());
            }
            tracing::info!(operator = operator.name, reason = trouble.message, "trying again");
            tokio::time::sleep(pause).await;
        }
    }
}

fn rejected(table: Table, first: Option<&crate::client::Rejected>) -> Failure {
    let reason = first.map(|row| row.reason.as_str()).unwrap_or_default();
    let message = format!("rows of the demo do not fit into \"{}\": {reason}", table.name());
    Failure::new(Kind::Internal, message)
}
