//! Making the tables of this node known to the network: policies for its tables and for what its
//! cluster holds.
//!
//! This is the node's own work, and no request's. What the storage holds is compared with what the
//! ledger says:
//!
//! 1. when a table or a column is new, which the storage itself tells;
//! 2. when the ledger has changed in what it says of tables and clusters;
//! 3. every minute, whatever happened; and soon again after a failure.
//!
//! A request that has stored rows waits for the first, so that its writer finds the rows from every
//! node. When it is dropped, nothing is left undone.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use edgemere_ledger::{Ledger, Policy, Scope};
use edgemere_storage::{Kind, Schema};
use serde_json::json;
use tokio::sync::{Notify, watch};

use crate::error::Error;
use crate::lookup;
use crate::node::Node;
use crate::sync;

/// What is said to have made a table.
const SOURCE: &str = "Ingested rows";

/// How often everything is compared, also when nothing seems to have changed.
const INTERVAL: Duration = Duration::from_secs(60);

/// How long after a change of the ledger everything is compared.
const QUIET: Duration = Duration::from_secs(5);

/// How often the node publishes its storage position, when it has advanced.
const POSITION_INTERVAL: Duration = Duration::from_secs(180);

/// How soon it is tried again after a failure: at first, and at most.
const RETRY_MIN: Duration = Duration::from_millis(500);
const RETRY_MAX: Duration = Duration::from_secs(60);

/// How long a writer of a new table waits until the network knows the table.
const SETTLE_TIME: Duration = Duration::from_secs(3);

/// What is kept between comparisons.
#[derive(Debug, Default)]
pub(crate) struct Announcer {
    /// The tables that the ledger had when they were last looked at, by their numbers in the
    /// storage, with their columns. Held while tables are compared: two comparisons at once would
    /// add the same twice.
    known: Mutex<HashMap<u64, Arc<Schema>>>,
    /// The layout of the storage that was last compared, with success or not.
    compared: watch::Sender<Option<u64>>,
    /// Whether everything is to be compared, and not only what is new.
    is_stale: AtomicBool,
    wake: Notify,
}

impl Announcer {
    /// The ledger says something else since: everything is compared again, soon.
    pub(crate) fn ledger_changed(&self) {
        self.is_stale.store(true, Ordering::Release);
        self.wake.notify_one();
    }

    /// Whether a layout of the storage was compared, with success or not.
    fn has_compared(&self, layout: u64) -> bool {
        self.compared.borrow().is_some_and(|compared| compared >= layout)
    }
}

/// Makes the tables of a node known for as long as it runs.
pub async fn run(node: Arc<Node>) {
    let shutdown = node.settings().shutdown.clone();
    let mut layout = node.engine().storage().layout();
    let mut ledger = node.synchronizer().changes();
    let mut pause = RETRY_MIN;
    let mut told = Instant::now();
    loop {
        layout.mark_unchanged();
        ledger.mark_unchanged();
        let wait = match compare(&node).await {
            Ok(()) => {
                pause = RETRY_MIN;
                INTERVAL
            }
            Err(error) => {
                let reason = error.message();
                tracing::warn!(reason, "a table could not be made known; it is tried again");
                pause = (pause * 2).min(RETRY_MAX);
                pause
            }
        };
        if told.elapsed() >= POSITION_INTERVAL {
            told = Instant::now();
            if let Err(error) = sync::publish_position(&node).await {
                tracing::warn!(reason = error.message(), "the position of the rows is not told");
            }
        }
        tokio::select! {
            () = shutdown.cancelled() => return,
            // The storage lives as long as the node.
            _ = layout.changed() => {}
            () = node.announcer().wake.notified() => {}
            () = quiet(&mut ledger) => node.announcer().is_stale.store(true, Ordering::Release),
            () = tokio::time::sleep(wait) => node.announcer().is_stale.store(true, Ordering::Release),
        }
    }
}

/// Returns a while after the ledger has changed, so that many changes are one.
async fn quiet(ledger: &mut watch::Receiver<()>) {
    // The sender lives as long as the node.
    let _ = ledger.changed().await;
    tokio::time::sleep(QUIET).await;
}

/// Returns when the tables that the storage holds now are in the ledger, and the master has what it
/// is to get: at most after some seconds, and at once when that is known already. A failure is no
/// failure of the waiting request: the announcer retries.
pub(crate) async fn settled(node: &Arc<Node>) {
    let layout = *node.engine().storage().layout().borrow();
    if node.announcer().has_compared(layout) {
        return;
    }
    let settle = async {
        compare(node).await?;
        sync::deliver_all(node).await
    };
    match tokio::time::timeout(SETTLE_TIME, settle).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => {
            tracing::warn!(reason = error.message(), "a table could not be made known yet");
        }
        Err(_) => tracing::warn!("a table could not be made known yet: the ledger is slow"),
    }
}

/// Compares what the storage holds with what the ledger says, and publishes what the ledger lacks.
/// Dropping this does not stop it.
pub(crate) async fn compare(node: &Arc<Node>) -> Result<(), Error> {
    let of = Arc::clone(node);
    node.change_ledger(move |_| publish_missing(&of)).await
}

/// Publishes the tables of this node that the ledger does not know as they are. One that cannot be
/// published stops none of the others; the first failure is the error.
fn publish_missing(node: &Node) -> Result<(), edgemere_ledger::Error> {
    let announcer = node.announcer();
    let mut known = announcer.known.lock().unwrap_or_else(PoisonError::into_inner);
    if announcer.is_stale.swap(false, Ordering::AcqRel) {
        known.clear();
    }
    let storage = node.engine().storage();
    let layout = *storage.layout().borrow();
    let mut failure = None;
    let mut found = HashMap::new();
    for dbms in storage.databases() {
        for table in storage.tables(&dbms) {
            let schema = table.schema();
            let number = table.number();
            if known.get(&number) == Some(&schema) {
                found.insert(number, schema);
                continue;
            }
            match publish(node, &dbms, table.name(), &schema) {
                Ok(()) => drop(found.insert(number, schema)),
                Err(error) => drop(failure.get_or_insert(error)),
            }
        }
    }
    *known = found;
    announcer.compared.send_replace(Some(layout));
    failure.map_or(Ok(()), Err)
}

fn publish(
    node: &Node,
    dbms: &str,
    table: &str,
    schema: &Schema,
) -> Result<(), edgemere_ledger::Error> {
    let scope = node.scope();
    publish_table(node.ledger(), dbms, table, schema, scope)?;
    publish_cluster(node, dbms, table, scope)
}

fn publish_table(
    ledger: &Ledger,
    dbms: &str,
    table: &str,
    schema: &Schema,
    scope: Scope,
) -> Result<(), edgemere_ledger::Error> {
    let known = lookup::with(ledger, "table", &[("dbms", dbms), ("name", table)]);
    let published = known.first().map(|known| lookup::definition(known)?.schema());
    let published = published.and_then(Result::ok).unwrap_or_default();
    let (all, is_more) = joined(published, schema);
    let policy = table_policy(dbms, table, &all)?;
    match known.first() {
        None => unless_there(ledger.insert(policy, scope)),
        Some(known) if !is_more => spread(ledger, known, scope),
        Some(known) => ledger.replace(known.id().unwrap_or_default(), policy, scope).map(drop),
    }
}

/// The columns that are published and, after them, those that a table of this node has beside; and
/// whether there are such, or wider ones. Other operators may have published columns, and types, that
/// this one does not have: of numbers the wider type holds, of others what is in the ledger first.
fn joined(published: Schema, own: &Schema) -> (Schema, bool) {
    let mut all = published;
    let mut is_more = false;
    for column in &own.columns {
        match all.columns.iter_mut().find(|known| known.name == column.name) {
            None => {
                all.columns.push(column.clone());
                is_more = true;
            }
            Some(known) => {
                let kind = known.kind.joined(column.kind).unwrap_or(known.kind);
                is_more |= kind != known.kind;
                known.kind = kind;
                // What the network calls it first, it is called for good.
                if known.original.is_none() && column.original.is_some() {
                    known.original.clone_from(&column.original);
                    is_more = true;
                }
            }
        }
    }
    (all, is_more)
}

/// Publishes the type that a column was given, whatever it was before.
pub(crate) async fn retype(
    node: &Arc<Node>,
    dbms: &str,
    table: &str,
    column: &str,
    kind: Kind,
) -> Result<(), Error> {
    let of = Arc::clone(node);
    let (dbms, table, column) = (dbms.to_owned(), table.to_owned(), column.to_owned());
    node.change_ledger(move |ledger| {
        let _comparing = of.announcer().known.lock().unwrap_or_else(PoisonError::into_inner);
        let known = lookup::with(ledger, "table", &[("dbms", &dbms), ("name", &table)]);
        let Some(known) = known.first() else { return Ok(()) };
        let Ok(mut schema) = lookup::definition(known).and_then(|found| found.schema()) else {
            return Ok(());
        };
        match schema.columns.iter_mut().find(|published| published.name == column) {
            Some(published) if published.kind != kind => published.kind = kind,
            _ => return Ok(()),
        }
        let policy = table_policy(&dbms, &table, &schema)?;
        ledger.replace(known.id().unwrap_or_default(), policy, of.scope()).map(drop)
    })
    .await
}

fn table_policy(
    dbms: &str,
    table: &str,
    schema: &Schema,
) -> Result<Policy, edgemere_ledger::Error> {
    let mut about = json!({
        "name": table, "dbms": dbms, "create": create_text(table, schema), "source": SOURCE,
    });
    let originals: BTreeMap<_, _> = schema.originals().into_iter().collect();
    if let (false, Some(about)) = (originals.is_empty(), about.as_object_mut()) {
        about.insert(lookup::ORIGINAL_NAMES.into(), json!(originals));
    }
    Policy::from_value(json!({ "table": about }))
}

/// Gives a policy that nobody else knows to the master, of a node that has a master since.
pub(crate) fn spread(
    ledger: &Ledger,
    known: &Policy,
    scope: Scope,
) -> Result<(), edgemere_ledger::Error> {
    match (known.scope(), scope) {
        (Some(Scope::Local), Scope::Pending | Scope::Global) => {
            ledger.set_scope(known.id().unwrap_or_default(), scope).map(drop)
        }
        _ => Ok(()),
    }
}

/// Says that this node's cluster holds the table, if the cluster is in the ledger.
fn publish_cluster(
    node: &Node,
    dbms: &str,
    table: &str,
    scope: Scope,
) -> Result<(), edgemere_ledger::Error> {
    let settings = node.settings();
    let ledger = node.ledger();
    let values = [("company", settings.company.as_str()), ("name", settings.cluster.as_str())];
    let clusters = lookup::with(ledger, "cluster", &values);
    let parent = clusters.iter().find(|cluster| cluster.attribute("parent").is_none());
    let Some(parent) = parent.and_then(|parent| parent.id()) else { return Ok(()) };
    let policy = Policy::from_value(json!({ "cluster": {
        "parent": parent,
        "name": settings.cluster,
        "company": settings.company,
        "table": [{ "dbms": dbms, "name": table }],
        "source": format!("Node at {}", settings.network),
    }}))?;
    match ledger.get(&policy.content_id()) {
        Some(known) => spread(ledger, &known, scope),
        None => unless_there(ledger.insert(policy, scope)),
    }
}

/// A policy that another node has published meanwhile is published: the ledger's change has everything
/// compared again.
fn unless_there(
    inserted: Result<Arc<Policy>, edgemere_ledger::Error>,
) -> Result<(), edgemere_ledger::Error> {
    match inserted {
        Err(edgemere_ledger::Error::DuplicateId { .. }) | Ok(_) => Ok(()),
        Err(error) => Err(error),
    }
}

/// The statement that would make the table, as EdgeLake writes it into a policy.
fn create_text(table: &str, schema: &Schema) -> String {
    let name = identifier(table);
    let mut columns = String::new();
    let mut indexes = String::new();
    for column in &schema.columns {
        let column_name = identifier(&column.name);
        let kind = column.kind.sql();
        columns.push_str(&format!(",  {column_name} {kind}"));
        if column.kind.is_timestamp() {
            let index = identifier(&format!("{table}_{}_index", column.name));
            indexes.push_str(&format!(" CREATE INDEX {index} ON {name}({column_name});"));
        }
    }
    format!(
        "CREATE TABLE IF NOT EXISTS {name}(  row_id SERIAL PRIMARY KEY,  insert_timestamp TIMESTAMP \
         NOT NULL DEFAULT NOW(),  tsd_name CHAR(3),  tsd_id INT{columns} );{indexes}"
    )
}

/// A name as SQL takes it: in quotes unless it is plain.
fn identifier(name: &str) -> String {
    let is_plain = name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
        && !name.starts_with(|c: char| c.is_ascii_digit());
    if is_plain { name.to_owned() } else { format!("\"{}\"", name.replace('"', "\"\"")) }
}
