//! What a query is asked with beside its text: further tables, further columns, a time zone, a time.

use std::time::Duration;

use crate::sql::output::zone::Zone;

/// The options of a query.
#[derive(Clone, Debug, Default)]
pub struct QueryOptions {
    /// Tables whose rows are asked as if they were the queried table's.
    pub include: Vec<TableName>,
    /// Columns in front of those of the query, with the same value in every row.
    pub extend: Vec<Extension>,
    /// The zone that times are shown in.
    pub zone: Option<Zone>,
    /// How long the query may take.
    pub time: Option<Duration>,
    /// Whether the rows of the operators that are there are an answer when others are away.
    pub subset: bool,
    /// How many rows are wanted at most. What is more is not computed.
    pub rows_max: Option<usize>,
    /// Whether `*` has the internal columns, too, as it does for EdgeLake's clients.
    pub internal_columns: bool,
}

/// A table, of the queried database or of another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableName {
    /// The database, when it is another.
    pub dbms: Option<String>,
    /// The table.
    pub table: String,
}

/// A column that a query does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extension {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: Extended,
}

/// The value of such a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Extended {
    /// A text, or nothing.
    Text(Option<String>),
    /// The queried table.
    TableName,
}
