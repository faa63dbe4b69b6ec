//! The definition of a table: its columns and their types, read from a `CREATE TABLE` text as
//! EdgeLake writes it into a table's policy, or from columns that somebody wrote.

use sqlparser::ast::{self, CharacterLength, DataType, Statement};
use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::parser::Parser;

use edgemere_storage::schema::{self, DIGITS_MAX, Kind, SYSTEM_COLUMNS, Schema};

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
    /// What it was called where it came from, where that is another name.
    pub original: Option<String>,
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
    /// There is nothing but system columns.
    #[error("there are no columns")]
    NoColumns,
    /// A column has a type that no column can have.
    #[error("the column \"{column}\" has the unknown type \"{type_name}\"")]
    UnknownType {
        /// The column.
        column: String,
        /// The type.
        type_name: String,
    },
    /// A column says more than its name and type.
    #[error("the column \"{column}\" has \"{what}\", which cannot be kept")]
    Constraint {
        /// The column, or the table.
        column: String,
        /// What it says.
        what: String,
    },
}

impl Table {
    /// Reads the definition from the text of one or more statements, of which the first
    /// `CREATE TABLE` counts. Indexes and other statements are left aside.
    pub fn from_create(sql: &str) -> Result<Self, Error> {
        let statements = Parser::parse_sql(&PostgreSqlDialect {}, sql)?;
        statements.into_iter().find_map(Self::from_statement).ok_or(Error::NoTable)
    }

    /// Reads the definition from the columns that somebody wrote: `value float, name char(10)`.
    /// They have a name and a type, and nothing that would have to be kept beyond that.
    pub fn from_columns(name: &str, columns: &str) -> Result<Self, Error> {
        let sql = format!("CREATE TABLE t ({columns}\n)");
        let mut statements = Parser::parse_sql(&PostgreSqlDialect {}, &sql)?;
        let (Some(Statement::CreateTable(create)), true) =
            (statements.pop(), statements.is_empty())
        else {
            return Err(Error::NoTable);
        };
        let options = create.columns.iter().find_map(|column| {
            column.options.first().map(|option| (column.name.value.clone(), option.to_string()))
        });
        let constraint = create.constraints.first().map(|what| (name.into(), what.to_string()));
        if let Some((column, what)) = options.or(constraint) {
            return Err(Error::Constraint { column, what });
        }
        let columns = create.columns.iter().map(Column::from_definition).collect();
        Ok(Self { name: name.to_owned(), columns })
    }

    /// The same, with the names that the columns had where they came from.
    #[must_use]
    pub fn with_originals(mut self, original: impl Fn(&str) -> Option<String>) -> Self {
        for column in &mut self.columns {
            column.original = original(&column.name);
        }
        self
    }

    /// The table's own columns, with the types that hold their values.
    pub fn schema(&self) -> Result<Schema, Error> {
        let own = self.columns.iter().filter(|column| !column.is_system());
        let columns = own.map(|column| {
            let unknown = || Error::UnknownType {
                column: column.name.clone(),
                type_name: column.type_name.clone(),
            };
            let kind = kind_of(&column.type_name).ok_or_else(unknown)?;
            let (name, original) = (column.name.to_lowercase(), column.original.clone());
            Ok(schema::Column { name, kind, original })
        });
        let schema = Schema { columns: columns.collect::<Result<_, Error>>()? };
        if schema.columns.is_empty() { Err(Error::NoColumns) } else { Ok(schema) }
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
            original: None,
        }
    }
}

/// EdgeLake's name of a SQL type. Types that it has no name of its own for keep their SQL name.
fn edgelake_name(data_type: &DataType) -> String {
    match data_type {
        DataType::Timestamp(digits, zone) => {
            let digits = digits.map(|digits| format!("({digits})")).unwrap_or_default();
            let with = match zone {
                ast::TimezoneInfo::None | ast::TimezoneInfo::WithoutTimeZone => "without",
                ast::TimezoneInfo::WithTimeZone | ast::TimezoneInfo::Tz => "with",
            };
            format!("timestamp{digits} {with} time zone")
        }
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

/// The type that holds the values of a type by its name.
fn kind_of(type_name: &str) -> Option<Kind> {
    let (name, size) = match type_name.split_once('(') {
        Some((name, rest)) => (name.trim(), rest.strip_suffix(')')),
        None => (type_name, None),
    };
    Some(match name {
        "int" | "integer" | "smallint" | "tinyint" | "int2" | "int4" => Kind::Int,
        "bigint" | "int8" => Kind::BigInt,
        "numeric" | "decimal" if size.is_some() => numeric(size?)?,
        "decimal" | "numeric" | "float" | "float4" | "float8" | "real" | "double"
        | "double precision" => Kind::Decimal,
        "boolean" | "bool" => Kind::Boolean,
        "date" => Kind::Date,
        "time" | "time without time zone" => Kind::Time,
        "datetime" => Kind::Timestamp,
        _ if name.starts_with("timestamp") => timestamp(type_name)?,
        "char" | "character" => Kind::Char(size.map_or(Some(1), |size| size.parse().ok())?),
        "varchar" | "character varying" | "text" | "string" | "uuid" | "json" | "jsonb" => {
            Kind::Varchar
        }
        "interval" => Kind::Interval,
        "bytea" | "binary" | "varbinary" => Kind::Binary,
        _ => return None,
    })
}

/// The type of times, from EdgeLake's name of it: more than six digits of a second are nanoseconds.
fn timestamp(type_name: &str) -> Option<Kind> {
    let digits = type_name.split_once('(').and_then(|(_, rest)| rest.split_once(')'));
    let digits: u8 = digits.map_or(Some(6), |(digits, _)| digits.trim().parse().ok())?;
    let has_zone = type_name.ends_with(" with time zone") || type_name.starts_with("timestamptz");
    let kind = if has_zone { Kind::TimestampTz } else { Kind::Timestamp };
    match digits {
        0..=6 => Some(kind),
        7..=9 => Some(kind.with_nanoseconds()),
        _ => None,
    }
}

/// The type of numbers with so many digits, and so many of them after the point: `10,2`.
fn numeric(size: &str) -> Option<Kind> {
    let (digits, scale) = size.split_once(',').unwrap_or((size, "0"));
    let (digits, scale): (u8, u8) = (digits.trim().parse().ok()?, scale.trim().parse().ok()?);
    let is_fit = (1..=DIGITS_MAX).contains(&digits) && scale <= digits;
    is_fit.then_some(Kind::Numeric(digits, scale))
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

    fn kinds(columns: &str) -> Result<Vec<Kind>, Error> {
        let schema = Table::from_columns("t", columns)?.schema()?;
        Ok(schema.columns.iter().map(|column| column.kind).collect())
    }

    #[test]
    fn a_definition_has_the_types_that_hold_its_values() {
        let schema = Table::from_create(TYPES_T).unwrap().schema().unwrap();
        let columns: Vec<_> =
            schema.columns.iter().map(|c| format!("{} {}", c.name, c.kind.sql())).collect();
        assert_eq!(
            columns,
            [
                "timestamp timestamp",
                "i int",
                "f decimal",
                "b boolean",
                "s varchar",
                "big bigint",
                "d date",
                "t time",
                "v decimal",
            ]
        );
        let text = "A char(8), b char, c varchar(20), d text, e numeric(38,0), f double precision, \
                    g timestamp with time zone, h decimal(10,2), i timestamp(6), j timestamptz(9), \
                    k timestamp(9)";
        assert_eq!(
            kinds(text).unwrap(),
            [
                Kind::Char(8),
                Kind::Char(1),
                Kind::Varchar,
                Kind::Varchar,
                Kind::HUGE,
                Kind::Decimal,
                Kind::TimestampTz,
                Kind::Numeric(10, 2),
                Kind::Timestamp,
                Kind::TimestampTzNs,
                Kind::TimestampNs,
            ]
        );
    }

    #[test]
    fn every_type_of_a_column_is_read_back_from_its_definition() {
        let all = [
            Kind::Int,
            Kind::BigInt,
            Kind::HUGE,
            Kind::Numeric(17, 2),
            Kind::Decimal,
            Kind::Boolean,
            Kind::Date,
            Kind::Time,
            Kind::Timestamp,
            Kind::TimestampNs,
            Kind::TimestampTz,
            Kind::TimestampTzNs,
            Kind::Char(7),
            Kind::Varchar,
            Kind::Binary,
            Kind::Interval,
        ];
        for kind in all {
            assert_eq!(kinds(&format!("c {}", kind.sql())).unwrap(), [kind]);
        }
    }

    #[test]
    fn columns_that_cannot_be_kept_as_they_are_written_are_errors() {
        let error = |columns: &str| kinds(columns).unwrap_err();
        assert!(matches!(error("v float not null"), Error::Constraint { .. }));
        assert!(matches!(error("v float, primary key (v)"), Error::Constraint { .. }));
        assert!(matches!(error("v blob"), Error::UnknownType { .. }));
        assert!(matches!(error("v decimal(39,2)"), Error::UnknownType { .. }));
        assert!(matches!(error("v decimal(5,6)"), Error::UnknownType { .. }));
        assert!(matches!(error("v decimal(0)"), Error::UnknownType { .. }));
        assert!(matches!(error("v int); drop table x; create table y (z int"), Error::NoTable));
        assert!(matches!(error("v int,, w int"), Error::Syntax(_)));
        assert!(matches!(error(""), Error::NoColumns));
        assert!(matches!(error("row_id int"), Error::NoColumns));
    }
}
