//! The columns of a table: their names, the types that EdgeLake calls them by, and the Arrow types
//! that hold their values.
//!
//! Text is held as views, times in UTC, whole numbers in 64 bits
//! whatever their declared width, so that a later, larger value still fits. Where a value does not fit
//! all the same, the column widens: see [`Kind::joined`].

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
    /// What the column was called where it came from, where that is another name: `Air Temp (°C)`.
    pub original: Option<String>,
}

impl Column {
    /// A column that was never called otherwise.
    pub fn new(name: impl Into<String>, kind: Kind) -> Self {
        Self { name: name.into(), kind, original: None }
    }
}

/// The types of columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// `int`: a whole number.
    Int,
    /// `bigint`: a whole number that was too large for 32 bits.
    BigInt,
    /// `numeric(P,S)`: a number of P digits, S of them after the point, exactly.
    Numeric(u8, u8),
    /// `decimal`, as EdgeLake calls it: a number with a fraction, as near as 64 bits come.
    Decimal,
    /// `boolean`.
    Boolean,
    /// `date`.
    Date,
    /// `time`: of a day.
    Time,
    /// `interval`: a span of time, in microseconds.
    Interval,
    /// `timestamp`: a date and a time of day, in microseconds; which zone it is of is not said.
    Timestamp,
    /// `timestamp(9)`: the same in nanoseconds, from 1677 to 2262.
    TimestampNs,
    /// `timestamptz`: a moment, in microseconds of UTC.
    TimestampTz,
    /// `timestamptz(9)`: a moment, in nanoseconds of UTC, from 1677 to 2262.
    TimestampTzNs,
    /// `char(N)`: text that was N characters long at most; longer text still fits.
    Char(u32),
    /// `varchar`: text, or JSON kept as text.
    Varchar,
    /// `bytea`: bytes, which are base64 where they are text.
    Binary,
}

/// The zone of moments, as Arrow names it.
pub(crate) const UTC: &str = "UTC";

/// How many digits a number may have that is held exactly.
pub const DIGITS_MAX: u8 = 38;

/// How many digits a whole number of 64 bits has at most.
const INT_DIGITS: u8 = 19;

impl Kind {
    /// Whole numbers that are too large for 64 bits.
    pub const HUGE: Self = Self::Numeric(DIGITS_MAX, 0);

    /// Numbers with a fraction beside whole numbers that no float holds. The digits before the point
    /// leave room for sums: a sum of 38 digits is not checked.
    pub const EXACT: Self = Self::Numeric(DIGITS_MAX, 9);

    /// The Arrow type that holds the values.
    pub fn arrow(self) -> DataType {
        match self {
            Self::Int | Self::BigInt => DataType::Int64,
            Self::Numeric(digits, scale) => DataType::Decimal128(digits, scale.cast_signed()),
            Self::Decimal => DataType::Float64,
            Self::Boolean => DataType::Boolean,
            Self::Date => DataType::Date32,
            Self::Time => DataType::Time64(TimeUnit::Microsecond),
            Self::Interval => DataType::Duration(TimeUnit::Microsecond),
            Self::Timestamp => DataType::Timestamp(TimeUnit::Microsecond, None),
            Self::TimestampNs => DataType::Timestamp(TimeUnit::Nanosecond, None),
            Self::TimestampTz => DataType::Timestamp(TimeUnit::Microsecond, Some(UTC.into())),
            Self::TimestampTzNs => DataType::Timestamp(TimeUnit::Nanosecond, Some(UTC.into())),
            Self::Char(_) | Self::Varchar => DataType::Utf8View,
            Self::Binary => DataType::Binary,
        }
    }

    /// The type in a `CREATE TABLE`.
    pub fn sql(self) -> String {
        match self {
            Self::Int => "int".into(),
            Self::BigInt => "bigint".into(),
            Self::Numeric(digits, scale) => format!("numeric({digits},{scale})"),
            Self::Decimal => "decimal".into(),
            Self::Boolean => "boolean".into(),
            Self::Date => "date".into(),
            Self::Time => "time".into(),
            Self::Interval => "interval".into(),
            Self::Timestamp => "timestamp".into(),
            Self::TimestampNs => "timestamp(9)".into(),
            Self::TimestampTz => "timestamptz".into(),
            Self::TimestampTzNs => "timestamptz(9)".into(),
            Self::Char(length) => format!("char({length})"),
            Self::Varchar => "varchar".into(),
            Self::Binary => "bytea".into(),
        }
    }

    /// Whether it holds whole numbers alone.
    pub fn is_whole(self) -> bool {
        matches!(self, Self::Int | Self::BigInt | Self::Numeric(_, 0))
    }

    /// Whether it is a date with a time of day, with a zone or without.
    pub fn is_timestamp(self) -> bool {
        matches!(self.arrow(), DataType::Timestamp(..))
    }

    /// The type of times in nanoseconds for one in microseconds; other types are themselves.
    pub fn with_nanoseconds(self) -> Self {
        match self {
            Self::Timestamp => Self::TimestampNs,
            Self::TimestampTz => Self::TimestampTzNs,
            other => other,
        }
    }

    /// The type that holds the values of two: of the tables of two operators, or of a table and of
    /// rows that come. None when there is none, or when they are neither numbers nor timestamps.
    ///
    /// A float holds every number, though not every digit of it. Whether times have a zone is as it was
    /// first.
    pub fn joined(self, other: Self) -> Option<Self> {
        match (self, other) {
            _ if self.arrow() == other.arrow() => Some(self),
            (Self::Timestamp | Self::TimestampTz, Self::TimestampNs | Self::TimestampTzNs) => {
                Some(self.with_nanoseconds())
            }
            _ if self.is_timestamp() && other.is_timestamp() => Some(self),
            (Self::Decimal, number) | (number, Self::Decimal) => {
                number.digits().map(|_| Self::Decimal)
            }
            _ => {
                let ((whole, scale), (other_whole, other_scale)) =
                    (self.digits()?, other.digits()?);
                let (whole, scale) = (whole.max(other_whole), scale.max(other_scale));
                let digits = whole.checked_add(scale).filter(|digits| *digits <= DIGITS_MAX);
                Some(digits.map_or(Self::Decimal, |digits| Self::Numeric(digits, scale)))
            }
        }
    }

    /// Whether a column of this type may hold files and blocks that were written when it was of the
    /// other, whose values are all the same in this one.
    pub fn has_widened_from(self, other: Self) -> bool {
        match (other, self) {
            (Self::Int | Self::BigInt, Self::Numeric(..) | Self::Decimal) => true,
            (Self::Numeric(_, narrow), Self::Numeric(_, wide)) => narrow <= wide,
            (Self::Timestamp, Self::TimestampNs) | (Self::TimestampTz, Self::TimestampTzNs) => true,
            _ => false,
        }
    }

    /// How many digits a number has before and after the point; none when it is a float, or no number.
    fn digits(self) -> Option<(u8, u8)> {
        match self {
            Self::Int | Self::BigInt => Some((INT_DIGITS, 0)),
            Self::Numeric(digits, scale) => Some((digits.saturating_sub(scale), scale)),
            _ => None,
        }
    }
}

impl Schema {
    /// The position of a column.
    pub fn position(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.name == name)
    }

    /// The columns that were called otherwise where they came from: their names, and those of before.
    pub fn originals(&self) -> Vec<(String, String)> {
        let pair = |column: &Column| Some((column.name.clone(), column.original.clone()?));
        self.columns.iter().filter_map(pair).collect()
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
pub fn told(data_type: &DataType) -> String {
    let kind = match data_type {
        DataType::Int64 => Kind::BigInt,
        DataType::Float64 => Kind::Decimal,
        DataType::Decimal128(digits, scale) => Kind::Numeric(*digits, scale.unsigned_abs()),
        DataType::Boolean => Kind::Boolean,
        DataType::Date32 => Kind::Date,
        DataType::Time64(_) => Kind::Time,
        DataType::Timestamp(TimeUnit::Nanosecond, None) => Kind::TimestampNs,
        DataType::Timestamp(_, None) => Kind::Timestamp,
        DataType::Timestamp(TimeUnit::Nanosecond, Some(_)) => Kind::TimestampTzNs,
        DataType::Timestamp(..) => Kind::TimestampTz,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Kind::Varchar,
        DataType::Binary => Kind::Binary,
        DataType::Duration(_) => Kind::Interval,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_types_of_numbers_have_one_that_holds_both() {
        use Kind::{BigInt, Date, Decimal, Int, Numeric, Varchar};
        for (one, other, both) in [
            (Int, BigInt, Some(Int)),
            (Int, Decimal, Some(Decimal)),
            (Int, Numeric(10, 2), Some(Numeric(21, 2))),
            (BigInt, Numeric(38, 0), Some(Numeric(38, 0))),
            (Int, Numeric(38, 20), Some(Decimal)),
            (Numeric(10, 2), Numeric(12, 6), Some(Numeric(14, 6))),
            (Numeric(10, 2), Decimal, Some(Decimal)),
            (Kind::HUGE, Numeric(10, 2), Some(Decimal)),
            (Int, Varchar, None),
            (Decimal, Date, None),
            (Date, Date, Some(Date)),
            (Kind::Timestamp, Kind::TimestampNs, Some(Kind::TimestampNs)),
            (Date, Kind::Timestamp, None),
        ] {
            assert_eq!(one.joined(other), both, "{one:?} {other:?}");
            let other_way = other.joined(one).map(Kind::arrow);
            assert_eq!(other_way, both.map(Kind::arrow), "{other:?} {one:?}");
        }
    }
}
