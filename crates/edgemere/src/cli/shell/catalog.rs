//! The names that SQL can use: databases, tables and columns, as the node knows them. They are read on a
//! thread of their own and kept, so that nobody who types waits long for them.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use edgemere_command::words::quoted;
use serde_json::Value;

use crate::cli::client_runtime;
use crate::client::{Client, Question};

/// How old what is known may be before it is read again.
const FRESH: Duration = Duration::from_secs(20);

/// How long a person who pressed Tab waits for what is not known yet.
const TAB_PATIENCE: Duration = Duration::from_millis(300);

/// How long the node has to answer, and how long a statement waits for that.
const ANSWER_S: u64 = 5;
const PATIENCE: Duration = Duration::from_secs(30);

/// Of how many tables columns are read before anybody asks for them.
const AHEAD_MAX: usize = 20;

/// How many names are kept.
const TABLES_MAX: usize = 10_000;
const COLUMNS_MAX: usize = 2_000;

/// What is to be read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Wanted {
    Tables,
    Columns { dbms: String, table: String },
}

/// A name of a table with its database's.
type TableName = (String, String);

#[derive(Debug, Default)]
struct Known {
    tables: Vec<TableName>,
    columns: BTreeMap<TableName, Vec<String>>,
    /// When each was last asked for, and what has been answered.
    asked: BTreeMap<Wanted, Instant>,
    answered: BTreeMap<Wanted, Instant>,
}

/// The names. Clones share them.
#[derive(Clone, Debug)]
pub(super) struct Catalog {
    known: Arc<(Mutex<Known>, Condvar)>,
    ask: Sender<Wanted>,
}

impl Catalog {
    /// The names that a node knows. Their reading has begun.
    pub(super) fn of(client: Client) -> Self {
        let (ask, asked) = channel();
        let catalog = Self { known: Arc::default(), ask };
        let known = Arc::clone(&catalog.known);
        // Without the thread there are no names, which is no reason not to start.
        let _ = std::thread::Builder::new()
            .name("names".into())
            .spawn(move || read(&client, &known, &asked));
        catalog.want(&Wanted::Tables);
        catalog
    }

    /// Names that nobody is asked for.
    #[cfg(test)]
    pub(super) fn fixed(tables: &[(&str, &str)], columns: &[(&str, &str, &[&str])]) -> Self {
        let own = |text: &&str| (*text).to_owned();
        let mut known = Known {
            tables: tables.iter().map(|(dbms, table)| (own(dbms), own(table))).collect(),
            ..Known::default()
        };
        known.answered.insert(Wanted::Tables, Instant::now());
        for (dbms, table, names) in columns {
            let (dbms, table) = (own(dbms), own(table));
            let names = names.iter().map(own).collect();
            known.columns.insert((dbms.clone(), table.clone()), names);
            known.answered.insert(Wanted::Columns { dbms, table }, Instant::now());
        }
        Self { known: Arc::new((Mutex::new(known), Condvar::new())), ask: channel().0 }
    }

    /// The databases, as soon as the node has said them.
    pub(super) fn databases(&self) -> Vec<String> {
        databases(&self.wait(&Wanted::Tables, PATIENCE))
    }

    /// The tables of a database, as soon as the node has said them.
    pub(super) fn tables(&self, dbms: &str) -> Vec<String> {
        tables(&self.wait(&Wanted::Tables, PATIENCE), dbms)
    }

    /// The databases, for a person who types.
    pub(super) fn databases_soon(&self) -> Vec<String> {
        databases(&self.wait(&Wanted::Tables, TAB_PATIENCE))
    }

    /// The tables of a database, for a person who types.
    pub(super) fn tables_soon(&self, dbms: &str) -> Vec<String> {
        tables(&self.wait(&Wanted::Tables, TAB_PATIENCE), dbms)
    }

    /// The columns of a table, for a person who types.
    pub(super) fn columns_soon(&self, dbms: &str, table: &str) -> Vec<String> {
        let name = (dbms.to_owned(), table.to_owned());
        if !self.tables_soon(dbms).iter().any(|known| known == table) {
            return Vec::new();
        }
        let wanted = Wanted::Columns { dbms: name.0.clone(), table: name.1.clone() };
        let known = self.wait(&wanted, TAB_PATIENCE);
        known.columns.get(&name).cloned().unwrap_or_default()
    }

    /// The columns of a database's first tables that are known already. The others are read meanwhile.
    pub(super) fn columns_known(&self, dbms: &str) -> Vec<String> {
        let tables: Vec<_> = self.tables_soon(dbms).into_iter().take(AHEAD_MAX).collect();
        for table in &tables {
            self.want(&Wanted::Columns { dbms: dbms.to_owned(), table: table.clone() });
        }
        let known = self.lock();
        let columns =
            tables.into_iter().filter_map(|table| known.columns.get(&(dbms.to_owned(), table)));
        columns.flatten().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has it read again when it is old.
    fn want(&self, wanted: &Wanted) {
        let mut known = self.lock();
        let times = [known.asked.get(wanted), known.answered.get(wanted)];
        if times.iter().flatten().all(|time| time.elapsed() > FRESH) {
            known.asked.insert(wanted.clone(), Instant::now());
            drop(known);
            // Nobody listens any more when the shell ends.
            let _ = self.ask.send(wanted.clone());
        }
    }

    /// What is known, after a moment for what has never been answered.
    fn wait(&self, wanted: &Wanted, patience: Duration) -> MutexGuard<'_, Known> {
        self.want(wanted);
        let known = self.lock();
        let is_open = |known: &mut Known| !known.answered.contains_key(wanted);
        let waited = self.known.1.wait_timeout_while(known, patience, is_open);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

fn databases(known: &Known) -> Vec<String> {
    let mut names: Vec<_> = known.tables.iter().map(|(dbms, _)| dbms.clone()).collect();
    names.sort_unstable();
    names.dedup();
    names
}

fn tables(known: &Known, dbms: &str) -> Vec<String> {
    let own = known.tables.iter().filter(|(of, _)| of == dbms);
    own.map(|(_, table)| table.clone()).collect()
}

/// Reads what is wanted until nobody wants anything any more.
fn read(client: &Client, known: &(Mutex<Known>, Condvar), asked: &Receiver<Wanted>) {
    let Ok(runtime) = client_runtime() else { return };
    while let Ok(wanted) = asked.recv() {
        let command = match &wanted {
            Wanted::Tables => "get tables where dbms = * and format = mcp".to_owned(),
            Wanted::Columns { dbms, table } => format!(
                "get columns where dbms = {} and table = {} and sys_col = false and format = mcp",
                quoted(dbms),
                quoted(table)
            ),
        };
        let question = Question { command, timeout_s: Some(ANSWER_S), ..Question::default() };
        let answer = runtime.block_on(client.ask(&question)).ok();
        let objects: Option<Vec<Value>> =
            answer.and_then(|answer| serde_json::from_str(&answer.body).ok());
        let mut names = known.0.lock().unwrap_or_else(PoisonError::into_inner);
        // A node that does not answer now may do so later; what was known stays.
        if let Some(objects) = objects {
            names.note(&wanted, &objects);
        }
        names.answered.insert(wanted, Instant::now());
        known.1.notify_all();
    }
}

impl Known {
    fn note(&mut self, wanted: &Wanted, objects: &[Value]) {
        let text = |object: &Value, key: &str| object.get(key)?.as_str().map(ToOwned::to_owned);
        match wanted {
            Wanted::Tables => {
                let name = |object| Some((text(object, "database")?, text(object, "table")?));
                self.tables = objects.iter().filter_map(name).take(TABLES_MAX).collect();
                self.tables.sort_unstable();
                self.tables.dedup();
            }
            Wanted::Columns { dbms, table } => {
                let names = objects.iter().filter_map(|object| text(object, "name"));
                let names = names.take(COLUMNS_MAX).collect();
                self.columns.insert((dbms.clone(), table.clone()), names);
            }
        }
    }
}
