//! Which operators hold which table: what a query node has to be told, by whoever knows it. The
//! engine asks, and does not know where the answers come from.

use std::fmt;
use std::sync::Arc;

use edgemere_storage::schema::Schema;
use edgemere_storage::storage::Reached;

/// A node that holds rows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Operator {
    /// What it is known by in the network. It answers only for this id.
    pub id: String,
    /// Its name, for people.
    pub name: String,
    /// Where it listens for other nodes: `host:port`.
    pub address: String,
    /// What its data folder is known to be, where that is known.
    pub bound: Option<Arc<Bound>>,
}

/// What is known of an operator's data folder.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Bound {
    /// Its identity. One with another is not this operator, whatever it is called and wherever it
    /// listens.
    pub node: String,
    /// How far its storage is known to have been. One that has not been there has lost rows.
    pub reached: Reached,
    /// How often an admin has taken another data folder, or an older one, in its place. What was seen of
    /// the one before is forgotten then.
    pub accepted: u64,
}

/// One part of a table's rows.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Shard {
    /// The operators that hold it, all of them the same rows. The first is asked; the others when it
    /// does not answer.
    pub operators: Vec<Operator>,
    /// How many rows there are, more or less, where it is known.
    pub rows: Option<u64>,
}

/// A table of the network.
#[derive(Clone, Debug)]
pub struct Table {
    /// The columns of all parts together. A part that does not have one has nulls there; one that
    /// has it with another type is cast.
    pub schema: Schema,
    /// The parts: each row of the table is in exactly one of them.
    pub parts: Vec<Shard>,
}

/// Knows the tables of the network.
pub trait ShardMap: fmt::Debug + Send + Sync {
    /// The databases.
    fn databases(&self) -> Vec<String>;

    /// The tables of a database.
    fn tables(&self, dbms: &str) -> Vec<String>;

    /// A table, with the operators that are to be asked for it.
    fn table(&self, dbms: &str, table: &str) -> Option<Table>;
}

/// The parts of a table as they are shared by everything that is planned on it.
pub(super) type Shards = Arc<[Shard]>;

impl Shard {
    /// Whether the same operators hold this part and another, so that what needs both can run there.
    pub(super) fn is_colocated_with(&self, other: &Self) -> bool {
        let ids = |part: &Self| part.operators.iter().map(|one| one.id.clone()).collect::<Vec<_>>();
        ids(self) == ids(other)
    }
}

impl fmt::Display for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name, self.address)
    }
}
