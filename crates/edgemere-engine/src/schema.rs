//! The columns of a table: their names, the types that EdgeLake calls them by, and the Arrow types
//! that hold their values.
//!
//! Text is held as views, times in microseconds without a zone and in UTC, whole numbers in 64 bits
//! whatever their declared width, so that a later, larger value still fits.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema as ArrowSchema, SchemaRef, TimeUnit};

/// The columns that stand in front of every table's own: which row it is, when it came, and from
/// which operator and file.
pub const SYSTEM_COLUMNS: [&str; 4] = ["row_id", "insert_timestamp", "tsd_name", "tsd_id"];

/// A table's columns in order, without the system columns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schema {
    /// The columns.
    pub columns: Vec<Column>,
}

/// A column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// The column's name, in lower case.
    pub name: String,
    /// Its type.
    pub kind: Kind,
}

/// The types of columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// `int`: a whole number.
    Int,
    /// `bigint`: a whole number that was too large for 32 bits.
    BigInt,
    /// `numeric(38,0)`: a whole number that was too large for 64 bits.
    Huge,
    /// `decimal`: a number with a fraction.
    Decimal,
    /// `boolean`.
    Boolean,
    /// `date`.
    Date,
    /// `time`: of a day.
    Time,
    /// `timestamp`.
    Timestamp,
    /// `char(N)`: text that was N characters long at most; longer text still fits.
    Char(u32),
    /// `varchar`: text, or JSON kept as text.
    Varchar,
}

impl Kind {
    /// The Arrow type that holds the values.
    pub fn arrow(self) -> DataType {
        match self {
            Self::Int | Self::BigInt => DataType::Int64,
            Self::Huge => DataType::Decimal128(38, 0),
            Self::Decimal => DataType::Float64,
            Self::Boolean => DataType::Boolean,
            Self::Date => DataType::Date32,
            Self::Time => DataType::Time64(TimeUnit::Microsecond),
            Self::Timestamp => DataType::Timestamp(TimeUnit::Microsecond, None),
            Self::Char(_) | Self::Varchar => DataType::Utf8View,
        }
    }

    /// The type in a `CREATE TABLE`.
    pub fn sql(self) -> String {
        match self {
            Self::Int => "int".into(),
            Self::BigInt => "bigint".into(),
            Self::Huge => "numeric(38,0)".into(),
            Self::Decimal => "decimal".into(),
            Self::Boolean => "boolean".into(),
            Self::Date => "date".into(),
            Self::Time => "time".into(),
            Self::Timestamp => "timestamp".into(),
            Self::Char(length) => format!("char({length})"),
            Self::Varchar => "varchar".into(),
        }
    }
}

impl Schema {
    /// The position of a column.
    pub fn position(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.name == name)
    }

    /// The Arrow schema of the table's own columns.
    pub fn arrow(&self) -> SchemaRef {
        let field = |column: &Column| Field::new(&column.name, column.kind.arrow(), true);
        Arc::new(ArrowSchema::new(self.columns.iter().map(field).collect::<Vec<_>>()))
    }

    /// The Arrow schema of the whole table: the system columns, then its own.
    pub fn arrow_with_system(&self) -> SchemaRef {
        let mut fields = system_fields();
        fields.extend(self.arrow().fields().iter().map(|field| field.as_ref().clone()));
        Arc::new(ArrowSchema::new(fields))
    }
}

/// What a type is called in an error: by its name in a `CREATE TABLE`, where it has one.
pub(crate) fn told(data_type: &DataType) -> String {
    let kind = match data_type {
        DataType::Int64 => Kind::BigInt,
        DataType::Float64 => Kind::Decimal,
        DataType::Boolean => Kind::Boolean,
        DataType::Date32 => Kind::Date,
        DataType::Time64(_) => Kind::Time,
        DataType::Timestamp(..) => Kind::Timestamp,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Kind::Varchar,
        other => return other.to_string(),
    };
    kind.sql()
}

/// The fields of the system columns.
pub fn system_fields() -> Vec<Field> {
    let [row_id, insert_timestamp, tsd_name, tsd_id] = SYSTEM_COLUMNS;
    let time = DataType::Timestamp(TimeUnit::Microsecond, None);
    vec![
        Field::new(row_id, DataType::Int64, true),
        Field::new(insert_timestamp, time, true),
        Field::new(tsd_name, DataType::Utf8View, true),
        Field::new(tsd_id, DataType::Int64, true),
    ]
}
