//! Totals in 128 bits: what rows of integers, intervals and decimals add up to, whatever comes in
//! between, and the result of the type that is wanted.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, PrimitiveArray};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{
    ArrowPrimitiveType, DataType, Decimal32Type, Decimal64Type, Decimal128Type, DecimalType,
    DurationMicrosecondType, DurationMillisecondType, DurationNanosecondType, DurationSecondType,
    Int64Type, TimeUnit, UInt64Type,
};
use datafusion::common::{Result, exec_err};

use crate::sql::exact::sum_out_of_range;

/// How many digits a total has.
const DIGITS: u8 = 38;

/// How many values are added up in 64 bits before their total is taken: see [`Whole::total`].
const CHUNK: usize = 1 << 20;

/// The type of totals whose result is of this type; none for what is added up in another way.
pub(super) fn total_type(result: &DataType) -> Option<DataType> {
    match result {
        DataType::Int64 | DataType::UInt64 | DataType::Duration(_) => {
            Some(DataType::Decimal128(DIGITS, 0))
        }
        DataType::Decimal32(_, scale)
        | DataType::Decimal64(_, scale)
        | DataType::Decimal128(_, scale) => Some(DataType::Decimal128(DIGITS, *scale)),
        _ => None,
    }
}

/// A value that is added up.
pub(super) trait Whole: Copy {
    fn wide(self) -> i128;

    /// The value as a high and a low word: see [`joined`]. None when they have no room for it.
    fn words(self) -> Option<(i64, i64)>;

    /// The total of some values, unless it has more than 128 bits.
    fn total(values: &[Self]) -> Option<i128> {
        values.iter().try_fold(0_i128, |total, value| total.checked_add(value.wide()))
    }
}

/// The number of two words. Both have a sign: the low one is the number itself as long as it has room
/// there, and the high one counts by how often 2^64 it is more.
pub(super) fn joined(high: i64, low: i64) -> Option<i128> {
    (i128::from(high) << 64).checked_add(low.into())
}

impl Whole for i32 {
    fn wide(self) -> i128 {
        self.into()
    }

    fn words(self) -> Option<(i64, i64)> {
        Some((0, self.into()))
    }
}

impl Whole for i64 {
    fn wide(self) -> i128 {
        self.into()
    }

    fn words(self) -> Option<(i64, i64)> {
        Some((0, self))
    }

    /// The halves are added up each for itself: they do not overflow, and a processor adds several at
    /// once.
    fn total(values: &[Self]) -> Option<i128> {
        values.chunks(CHUNK).try_fold(0_i128, |total, chunk| {
            let (mut high, mut low) = (0_i64, 0_i64);
            for value in chunk {
                high = high.wrapping_add(value >> 32);
                low = low.wrapping_add(value & 0xffff_ffff);
            }
            total.checked_add((i128::from(high) << 32) + i128::from(low))
        })
    }
}

impl Whole for u64 {
    fn wide(self) -> i128 {
        self.into()
    }

    fn words(self) -> Option<(i64, i64)> {
        let low = self.cast_signed();
        Some((i64::from(low < 0), low))
    }

    fn total(values: &[Self]) -> Option<i128> {
        values.chunks(CHUNK).try_fold(0_i128, |total, chunk| {
            let (mut high, mut low) = (0_u64, 0_u64);
            for value in chunk {
                high = high.wrapping_add(value >> 32);
                low = low.wrapping_add(value & 0xffff_ffff);
            }
            total.checked_add((i128::from(high) << 32) + i128::from(low))
        })
    }
}

impl Whole for i128 {
    fn wide(self) -> i128 {
        self
    }

    fn words(self) -> Option<(i64, i64)> {
        let (high, low) = ((self >> 64) as i64, self as i64);
        Some((high.checked_add(i64::from(low < 0))?, low))
    }
}

/// What is done with the values of an array, whatever their type.
pub(super) trait Visit {
    type Output;
    fn visit<N: Whole>(self, values: &[N], nulls: Option<&NullBuffer>) -> Self::Output;
}

/// Shows the values of an array.
pub(super) fn visit<V: Visit>(array: &ArrayRef, visitor: V) -> Result<V::Output> {
    fn shown<T: ArrowPrimitiveType<Native: Whole>, V: Visit>(array: &ArrayRef, v: V) -> V::Output {
        let array = array.as_primitive::<T>();
        v.visit(array.values(), array.nulls().filter(|nulls| nulls.null_count() > 0))
    }
    Ok(match array.data_type() {
        DataType::Int64 => shown::<Int64Type, V>(array, visitor),
        DataType::UInt64 => shown::<UInt64Type, V>(array, visitor),
        DataType::Decimal32(..) => shown::<Decimal32Type, V>(array, visitor),
        DataType::Decimal64(..) => shown::<Decimal64Type, V>(array, visitor),
        DataType::Decimal128(..) => shown::<Decimal128Type, V>(array, visitor),
        DataType::Duration(TimeUnit::Second) => shown::<DurationSecondType, V>(array, visitor),
        DataType::Duration(TimeUnit::Millisecond) => {
            shown::<DurationMillisecondType, V>(array, visitor)
        }
        DataType::Duration(TimeUnit::Microsecond) => {
            shown::<DurationMicrosecondType, V>(array, visitor)
        }
        DataType::Duration(TimeUnit::Nanosecond) => {
            shown::<DurationNanosecondType, V>(array, visitor)
        }
        other => return exec_err!("sum cannot be applied to {other}"),
    })
}

/// The total of the values of an array that are not null; none when it has more than 128 bits.
pub(super) struct Total;

impl Visit for Total {
    type Output = Option<i128>;

    fn visit<N: Whole>(self, values: &[N], nulls: Option<&NullBuffer>) -> Option<i128> {
        let Some(nulls) = nulls else { return N::total(values) };
        nulls.valid_slices().try_fold(0_i128, |total, (from, until)| {
            total.checked_add(N::total(values.get(from..until).unwrap_or_default())?)
        })
    }
}

/// Totals as results of a type, or that one is out of its range.
pub(super) fn results(
    totals: Vec<i128>,
    nulls: Option<NullBuffer>,
    result: &DataType,
) -> Result<ArrayRef> {
    match result {
        DataType::Int64 => narrowed::<Int64Type>(totals, nulls, result),
        DataType::UInt64 => narrowed::<UInt64Type>(totals, nulls, result),
        DataType::Duration(TimeUnit::Second) => {
            narrowed::<DurationSecondType>(totals, nulls, result)
        }
        DataType::Duration(TimeUnit::Millisecond) => {
            narrowed::<DurationMillisecondType>(totals, nulls, result)
        }
        DataType::Duration(TimeUnit::Microsecond) => {
            narrowed::<DurationMicrosecondType>(totals, nulls, result)
        }
        DataType::Duration(TimeUnit::Nanosecond) => {
            narrowed::<DurationNanosecondType>(totals, nulls, result)
        }
        DataType::Decimal32(digits, _) => decimals::<Decimal32Type>(totals, nulls, *digits, result),
        DataType::Decimal64(digits, _) => decimals::<Decimal64Type>(totals, nulls, *digits, result),
        DataType::Decimal128(digits, _) => {
            decimals::<Decimal128Type>(totals, nulls, *digits, result)
        }
        other => exec_err!("sum cannot give {other}"),
    }
}

/// Totals as they are passed on.
pub(super) fn states(
    totals: Vec<i128>,
    nulls: Option<NullBuffer>,
    total_type: &DataType,
) -> ArrayRef {
    let totals = PrimitiveArray::<Decimal128Type>::new(totals.into(), nulls);
    Arc::new(totals.with_data_type(total_type.clone()))
}

fn narrowed<T: ArrowPrimitiveType<Native: TryFrom<i128>>>(
    totals: Vec<i128>,
    nulls: Option<NullBuffer>,
    result: &DataType,
) -> Result<ArrayRef> {
    let narrow = |total: i128| T::Native::try_from(total).map_err(|_| sum_out_of_range(result));
    let values = totals.into_iter().map(narrow).collect::<Result<Vec<_>>>()?;
    let array = PrimitiveArray::<T>::new(values.into(), nulls);
    Ok(Arc::new(array.with_data_type(result.clone())))
}

fn decimals<T: DecimalType + ArrowPrimitiveType<Native: TryFrom<i128>>>(
    totals: Vec<i128>,
    nulls: Option<NullBuffer>,
    digits: u8,
    result: &DataType,
) -> Result<ArrayRef> {
    let array = narrowed::<T>(totals, nulls, result)?;
    let is_valid = array.as_primitive::<T>().validate_decimal_precision(digits);
    is_valid.map_err(|_| sum_out_of_range(result))?;
    Ok(array)
}

#[cfg(test)]
mod tests {
    use arrow::array::Int64Array;

    use super::*;

    #[test]
    fn totals_are_exact_at_the_limits() {
        let values = [i64::MAX, i64::MAX, i64::MIN, -1, 0, 1, 0x1_0000_0000, -0x1_0000_0001];
        for length in 0..=values.len() {
            let some = &values[..length];
            let expected: i128 = some.iter().map(|value| i128::from(*value)).sum();
            assert_eq!(i64::total(some), Some(expected));
        }
        assert_eq!(u64::total(&[u64::MAX; 5]), Some(5 * i128::from(u64::MAX)));
        assert_eq!(i128::total(&[i128::MAX, 1]), None);
    }

    #[test]
    fn words_are_the_number_that_they_were_made_of() {
        for near in [0, i64::MAX.into(), u64::MAX.into(), 10_i128.pow(38), i128::MAX >> 1] {
            for number in [near - 1, near, near + 1, -near - 1, -near, 1 - near] {
                let (high, low) = number.words().unwrap();
                assert_eq!(joined(high, low), Some(number));
                let is_short = i64::try_from(number).is_ok();
                assert_eq!(high == 0, is_short, "{number}");
            }
        }
        for number in [0, 1, u64::MAX >> 1, (u64::MAX >> 1) + 1, u64::MAX] {
            let (high, low) = number.words().unwrap();
            assert_eq!(joined(high, low), Some(number.into()));
        }
        assert_eq!((i128::MAX.words(), joined(i64::MIN, -1)), (None, None));
    }

    #[test]
    fn nulls_do_not_count_whatever_is_under_them() {
        let nulls = NullBuffer::from(vec![true, false, true, false]);
        let array: ArrayRef =
            Arc::new(Int64Array::new(vec![1, 2, 3, i64::MAX].into(), Some(nulls)));
        assert_eq!(visit(&array, Total).unwrap(), Some(4));
    }
}
