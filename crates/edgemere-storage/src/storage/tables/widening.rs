//! Columns that have become wider: how their older values are read, and whether they all fit.
//!
//! A column widens without any row being written again. Files and blocks from before keep the type
//! that they were written in, and are cast when they are read. So it may only widen to a type in which
//! every value that it holds is the same: the statistics in the footers of the files tell.

use std::collections::HashSet;
use std::fs::File;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::compute::{CastOptions, cast_with_options, max, min};
use arrow::datatypes::{DataType, Decimal128Type, Int64Type, TimeUnit, TimestampMicrosecondType};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::arrow::arrow_reader::statistics::StatisticsConverter;

use crate::schema::{DIGITS_MAX, Kind, told};
use crate::storage::DataFile;
use crate::storage::Error;
use crate::storage::write::memtable::TableState;

/// The whole numbers that a float holds, every one of them, lie between this and its negative.
const FLOAT_EXACT_MAX: i128 = 1 << 53;

/// How many nanoseconds a microsecond has.
const NANOS: i128 = 1000;

/// A column that is to be wider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Widening {
    /// The column.
    pub name: String,
    /// Its type so far.
    pub from: Kind,
    /// Its type then.
    pub to: Kind,
}

/// The columns of which the files do not all fit into the wider type, as far as files are not known
/// to fit. Those that were looked at are known then.
pub(crate) fn unfit_in_files(
    files: &[Arc<DataFile>],
    wider: &[Widening],
    known: &mut HashSet<u64>,
) -> Vec<String> {
    let mut unfit = Vec::new();
    for file in files {
        if !known.insert(file.number) {
            continue;
        }
        for Widening { name, from, to } in wider {
            let is_fit = match file_range(file, name, *from) {
                Ok(range) => range.is_none_or(|range| fits(*from, *to, range)),
                // What cannot be known may be anything.
                Err(_) => false,
            };
            if !is_fit && !unfit.contains(name) {
                unfit.push(name.clone());
            }
        }
    }
    unfit
}

/// The columns of which the rows of the memtable do not all fit into the wider type.
pub(crate) fn unfit_in_memtable(state: &TableState, wider: &[Widening]) -> Vec<String> {
    let is_fit = |widening: &&Widening| {
        state.chunks().all(|chunk| {
            let column = chunk.batch.column_by_name(&widening.name);
            let range = column.and_then(range);
            range.is_none_or(|range| fits(widening.from, widening.to, range))
        })
    };
    let unfit = wider.iter().filter(|widening| !is_fit(widening));
    unfit.map(|widening| widening.name.clone()).collect()
}

/// A column in the type that its table has for it. Only what no value changes by is cast.
pub(crate) fn cast(name: &str, column: &ArrayRef, to: &DataType) -> Result<ArrayRef, Error> {
    let from = column.data_type();
    if from == to {
        return Ok(Arc::clone(column));
    }
    let refused = || {
        let (to, from) = (told(to), told(from));
        Error::columns(format!("the column \"{name}\" holds {to}, and the batch has {from} for it"))
    };
    let is_safe = match (from, to) {
        (DataType::Utf8 | DataType::LargeUtf8, DataType::Utf8View) => true,
        (DataType::Int64, DataType::Decimal128(..)) => true,
        (DataType::Decimal128(_, narrow), DataType::Decimal128(_, wide)) => narrow <= wide,
        (DataType::Timestamp(_, zone), DataType::Timestamp(TimeUnit::Nanosecond, other)) => {
            zone == other
        }
        (DataType::Int64, DataType::Float64) => {
            range(column).is_none_or(|(least, most)| is_exact(least) && is_exact(most))
        }
        _ => false,
    };
    if !is_safe {
        return Err(refused());
    }
    let options = CastOptions { safe: false, ..CastOptions::default() };
    cast_with_options(column, to, &options).map_err(|_| refused())
}

/// Whether every value of a column from one moment is the same in a wider type. A column that cannot
/// widen to that type does not fit.
pub(crate) fn fits(from: Kind, to: Kind, (least, most): (i128, i128)) -> bool {
    match (from, to) {
        _ if !to.has_widened_from(from) => false,
        (_, Kind::Decimal) => is_exact(least) && is_exact(most),
        (_, Kind::TimestampNs | Kind::TimestampTzNs) => {
            let fits = |micros: i128| i64::try_from(micros * NANOS).is_ok();
            fits(least) && fits(most)
        }
        (Kind::Numeric(_, narrow), Kind::Numeric(digits, wide)) => {
            let whole = u32::from(digits.saturating_sub(wide) + narrow);
            let end = 10_i128.checked_pow(whole.min(u32::from(DIGITS_MAX))).unwrap_or(i128::MAX);
            -end < least && most < end
        }
        _ => true,
    }
}

fn is_exact(number: i128) -> bool {
    (-FLOAT_EXACT_MAX..=FLOAT_EXACT_MAX).contains(&number)
}

/// The least and the greatest value of a column of numbers or times; none when it has no values.
pub(crate) fn range(column: &ArrayRef) -> Option<(i128, i128)> {
    match column.data_type() {
        DataType::Int64 => {
            let numbers = column.as_primitive::<Int64Type>();
            Some((min(numbers)?.into(), max(numbers)?.into()))
        }
        DataType::Decimal128(..) => {
            let numbers = column.as_primitive::<Decimal128Type>();
            Some((min(numbers)?, max(numbers)?))
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            let times = column.as_primitive::<TimestampMicrosecondType>();
            Some((min(times)?.into(), max(times)?.into()))
        }
        _ => None,
    }
}

/// The least and the greatest value of a column of a file, in the units of a type: by its statistics.
pub(crate) fn file_range(
    file: &DataFile,
    name: &str,
    kind: Kind,
) -> Result<Option<(i128, i128)>, Error> {
    let failed = |error| Error::parquet("read", &file.path, error);
    let open = File::open(&file.path).map_err(|error| Error::io("open", &file.path, error))?;
    let reader = ParquetRecordBatchReaderBuilder::try_new(open).map_err(failed)?;
    if reader.schema().field_with_name(name).is_err() {
        return Ok(None);
    }
    let groups = reader.metadata().row_groups();
    let found = StatisticsConverter::try_new(name, reader.schema(), reader.parquet_schema())
        .and_then(|known| {
            let nulls = known.row_group_null_counts(groups)?;
            Ok((known.row_group_mins(groups)?, known.row_group_maxes(groups)?, nulls))
        });
    let (least, most, nulls) = found.map_err(failed)?;
    let is_known = |(at, group): (usize, &parquet::file::metadata::RowGroupMetaData)| {
        let rows = u64::try_from(group.num_rows()).unwrap_or(u64::MAX);
        let only_nulls = nulls.is_valid(at) && nulls.value(at) == rows;
        only_nulls || (least.is_valid(at) && most.is_valid(at))
    };
    if !groups.iter().enumerate().all(is_known) {
        let reason = format!("it has no statistics of the column \"{name}\"");
        return Err(Error::damaged(&file.path, reason));
    }
    let least = range(&cast(name, &least, &kind.arrow())?).map(|(least, _)| least);
    let most = range(&cast(name, &most, &kind.arrow())?).map(|(_, most)| most);
    Ok(least.zip(most))
}

#[cfg(test)]
mod tests {
    use arrow::array::{Decimal128Array, Float64Array, Int64Array, StringArray};

    use super::*;

    #[test]
    fn what_changes_no_value_is_cast() {
        let numbers: ArrayRef = Arc::new(Int64Array::from(vec![Some(4), None, Some(-7)]));
        let floats = cast("n", &numbers, &DataType::Float64).unwrap();
        assert_eq!(
            *floats,
            *(Arc::new(Float64Array::from(vec![Some(4.0), None, Some(-7.0)])) as ArrayRef)
        );
        let exact = cast("n", &numbers, &Kind::EXACT.arrow()).unwrap();
        assert_eq!(exact.as_primitive::<Decimal128Type>().value(0), 4_000_000_000);
        assert!(
            cast("n", &(Arc::new(StringArray::from(vec!["x"])) as ArrayRef), &DataType::Utf8View)
                .is_ok()
        );
    }

    #[test]
    fn what_would_change_a_value_is_not() {
        let large: ArrayRef = Arc::new(Int64Array::from(vec![9_007_199_254_740_993]));
        let floats: ArrayRef = Arc::new(Float64Array::from(vec![4.5]));
        let cents = Decimal128Array::from(vec![450]).with_precision_and_scale(10, 2).unwrap();
        let cents: ArrayRef = Arc::new(cents);
        assert!(cast("n", &large, &DataType::Float64).is_err());
        assert!(cast("n", &floats, &DataType::Int64).is_err());
        assert!(cast("n", &cents, &DataType::Decimal128(10, 1)).is_err());
        assert!(cast("n", &cents, &DataType::Decimal128(10, 9)).is_ok());
        assert!(cast("n", &cents, &DataType::Decimal128(3, 3)).is_err());
    }

    #[test]
    fn a_column_widens_where_all_its_values_fit() {
        let end = 10_i128.pow(29);
        for (from, to, most, expected) in [
            (Kind::Int, Kind::Decimal, 1 << 53, true),
            (Kind::Int, Kind::Decimal, (1 << 53) + 1, false),
            (Kind::BigInt, Kind::EXACT, i64::MAX.into(), true),
            (Kind::HUGE, Kind::EXACT, end - 1, true),
            (Kind::HUGE, Kind::EXACT, end, false),
            (Kind::HUGE, Kind::Decimal, 1, false),
            (Kind::Numeric(10, 2), Kind::Numeric(12, 4), 9_999_999_999, true),
            (Kind::Numeric(10, 2), Kind::Int, 1, false),
            (Kind::Varchar, Kind::Decimal, 0, false),
            (Kind::Timestamp, Kind::TimestampNs, 1 << 53, true),
            (Kind::TimestampTz, Kind::TimestampTzNs, 1 << 54, false),
            (Kind::Timestamp, Kind::TimestampTz, 0, false),
        ] {
            assert_eq!(fits(from, to, (0, most)), expected, "{from:?} {to:?} {most}");
            assert_eq!(fits(from, to, (-most, 0)), expected, "{from:?} {to:?} -{most}");
        }
    }
}
