//! The definition of a table: its columns and their types, read from a `CREATE TABLE` text as
//! EdgeLake writes it into a table's policy.

use sqlparser::ast::{self, CharacterLength, DataType, Statement};
use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::parser::Parser;

use crate::schema::SYSTEM_COLUMNS;

/// A table's definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// The table's name, as in its `CREATE TABLE`.
    pub name: String,
    /// The columns in order, the system columns first.
    pub columns: Vec<Column>,
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// The column's name.
    pub name: String,
    /// The column's type under the name that EdgeLake gives it: `integer`, `timestamp without
    /// time zone`, `char(8)`, `decimal`, …
    pub type_name: String,
}

/// Why a table's definition cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The text is not SQL.
    #[error("the table's definition is not valid SQL")]
    Syntax(#[from] sqlparser::parser::ParserError),
    /// The text has no `CREATE TABLE`.
    #[error("the table's definition has no CREATE TABLE statement")]
    NoTable,
}

impl Table {
    /// Reads the definition from the text of one or more statements, of which the first
    /// `CREATE TABLE` counts. Indexes and other statements are left aside.
    pub fn from_create(sql: &str) -> Result<Self, Error> {
        let statements = Parser::parse_sql(&PostgreSqlDialect {}, sql)?;
        statements.into_iter().find_map(Self::from_statement).ok_or(Error::NoTable)
    }

    fn from_statement(statement: Statement) -> Option<Self> {
        let Statement::CreateTable(create) = statement else { return None };
        let name = create.name.0.last()?.as_ident()?.value.clone();
        Some(Self { name, columns: create.columns.iter().map(Column::from_definition).collect() })
    }
}

impl Column {
    /// Whether the column is one of [`SYSTEM_COLUMNS`], which no user wrote.
    pub fn is_system(&self) -> bool {
        SYSTEM_COLUMNS.contains(&self.name.as_str())
    }

    fn from_definition(definition: &ast::ColumnDef) -> Self {
        Self {
            name: definition.name.value.clone(),
            type_name: edgelake_name(&definition.data_type),
        }
    }
}

/// EdgeLake's name of a SQL type. Types that it has no name of its own for keep their SQL name.
fn edgelake_name(data_type: &DataType) -> String {
    match data_type {
        DataType::Timestamp(_, ast::TimezoneInfo::None) => "timestamp without time zone".into(),
        DataType::Char(Some(length)) | DataType::Character(Some(length)) => {
            format!("char({})", length_text(length))
        }
        DataType::Varchar(None) | DataType::CharacterVarying(None) => "character varying".into(),
        DataType::Varchar(Some(length)) | DataType::CharacterVarying(Some(length)) => {
            format!("varchar({})", length_text(length))
        }
        DataType::Custom(name, _) if name.to_string().eq_ignore_ascii_case("serial") => {
            "integer".into()
        }
        other => other.to_string().to_lowercase(),
    }
}

fn length_text(length: &CharacterLength) -> String {
    match length {
        CharacterLength::IntegerLength { length, .. } => length.to_string(),
        CharacterLength::Max => "max".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TYPES_T: &str = "CREATE TABLE IF NOT EXISTS types_t(  row_id SERIAL PRIMARY KEY,  \
        insert_timestamp TIMESTAMP NOT NULL DEFAULT NOW(),  tsd_name CHAR(3),  tsd_id INT,  \
        timestamp timestamp not null default now(),  i int,  f decimal,  b boolean,  s varchar,  \
        big bigint,  d date not null default now(),  t time not null default now(),  v float ); \
        CREATE INDEX types_t_timestamp_index ON types_t(timestamp);";

    #[test]
    fn columns_and_types_are_named_as_edgelake_names_them() {
        let table = Table::from_create(TYPES_T).unwrap();
        let columns: Vec<_> =
            table.columns.iter().map(|c| format!("{} {}", c.name, c.type_name)).collect();
        assert_eq!(table.name, "types_t");
        assert_eq!(
            columns,
            [
                "row_id integer",
                "insert_timestamp timestamp without time zone",
                "tsd_name char(3)",
                "tsd_id int",
                "timestamp timestamp without time zone",
                "i int",
                "f decimal",
                "b boolean",
                "s character varying",
                "big bigint",
                "d date",
                "t time",
                "v float",
            ]
        );
    }

    #[test]
    fn the_first_four_columns_are_the_systems() {
        let table = Table::from_create(TYPES_T).unwrap();
        let system = table.columns.iter().filter(|column| column.is_system()).count();
        assert_eq!(system, SYSTEM_COLUMNS.len());
    }

    #[test]
    fn a_text_that_defines_no_table_is_an_error() {
        assert!(matches!(Table::from_create("CREATE TABLE (((").unwrap_err(), Error::Syntax(_)));
        assert!(matches!(Table::from_create("select 1").unwrap_err(), Error::NoTable));
        assert!(matches!(Table::from_create("").unwrap_err(), Error::NoTable));
    }
}
