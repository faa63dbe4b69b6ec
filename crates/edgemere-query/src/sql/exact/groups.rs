//! The sums of many groups at once.

use std::mem::size_of;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray, Int64Array};
use arrow::buffer::NullBuffer;
use arrow::datatypes::DataType;
use datafusion::common::Result;
use datafusion::logical_expr::{EmitTo, GroupsAccumulator};

use crate::sql::exact::sum_out_of_range;
use crate::sql::exact::sums::column;
use crate::sql::exact::totals::{Visit, Whole, joined, results, states, visit};

/// The sums of many groups. Each is a number of two words (`totals`), of which most need only the low
/// one: half as many bytes are read and written for each row.
#[derive(Debug)]
pub(super) struct Sums {
    low: Vec<i64>,
    /// Empty until a sum has no room in its low word.
    high: Vec<i64>,
    /// Which groups have values. None while every row had one: then all have.
    seen: Option<Vec<bool>>,
    result: DataType,
    total: DataType,
}

/// Adds the values of a batch, each to its group. Says whether one of the sums has more than 128 bits.
struct Add<'a> {
    to: &'a mut Sums,
    groups: &'a [usize],
    filter: Option<&'a BooleanArray>,
    total_groups: usize,
}

impl Visit for Add<'_> {
    type Output = bool;

    fn visit<N: Whole>(self, values: &[N], nulls: Option<&NullBuffer>) -> bool {
        let (filter, Sums { low, high, seen, .. }) = (self.filter, self.to);
        let known = low.len();
        let total_groups = self.total_groups.max(known);
        low.resize(total_groups, 0);
        if !high.is_empty() {
            high.resize(total_groups, 0);
        }
        let mut is_over = false;
        let mut add = |group: usize, value: N| {
            let (Some(sum), Some((more, value))) = (low.get_mut(group), value.words()) else {
                is_over = true;
                return;
            };
            let (added, over) = sum.overflowing_add(value);
            *sum = added;
            if over || more != 0 {
                // A low word that overflows is less by 2^64 than the sum, or more if it falls.
                let carry = if over { value.signum() } else { 0 };
                is_over |= add_high(high, total_groups, group, [more, carry]).is_none();
            }
        };
        let rows = values.iter().zip(self.groups);
        if nulls.is_none() && filter.is_none() && seen.is_none() {
            rows.for_each(|(value, group)| add(*group, *value));
            return is_over;
        }
        let seen = seen.get_or_insert_with(|| vec![true; known]);
        seen.resize(total_groups, false);
        for (row, (value, group)) in rows.enumerate() {
            let counts = nulls.is_none_or(|nulls| nulls.is_valid(row))
                && filter.is_none_or(|filter| filter.is_valid(row) && filter.value(row));
            if counts {
                add(*group, *value);
                if let Some(seen) = seen.get_mut(*group) {
                    *seen = true;
                }
            }
        }
        is_over
    }
}

/// Adds to the high word of a group; none when it has no room for that.
#[cold]
fn add_high(high: &mut Vec<i64>, groups: usize, group: usize, more: [i64; 2]) -> Option<()> {
    high.resize(groups, 0);
    let high = high.get_mut(group)?;
    let [word, carry] = more;
    *high = high.checked_add(word)?.checked_add(carry)?;
    Some(())
}

impl Sums {
    /// Sums of a type, passed on as totals of another.
    pub(super) fn new(result: DataType, total: DataType) -> Self {
        Self { low: vec![], high: vec![], seen: None, result, total }
    }

    /// Which of some groups have values. None when all have.
    fn take_seen(&mut self, emit: EmitTo) -> Option<NullBuffer> {
        self.seen.as_mut().map(|seen| NullBuffer::from(emit.take_needed(seen)))
    }

    fn take(&mut self, emit: EmitTo) -> Result<Vec<i128>> {
        let low = emit.take_needed(&mut self.low);
        if self.high.is_empty() {
            return Ok(low.into_iter().map(i128::from).collect());
        }
        let words = emit.take_needed(&mut self.high).into_iter().zip(low);
        let sums = words.map(|(high, low)| joined(high, low));
        sums.collect::<Option<_>>().ok_or_else(|| sum_out_of_range(&self.result))
    }
}

impl GroupsAccumulator for Sums {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total_groups: usize,
    ) -> Result<()> {
        let add = Add { to: self, groups, filter, total_groups };
        match visit(column(values, 0)?, add)? {
            true => Err(sum_out_of_range(&self.result)),
            false => Ok(()),
        }
    }

    fn merge_batch(
        &mut self,
        states: &[ArrayRef],
        groups: &[usize],
        total_groups: usize,
    ) -> Result<()> {
        self.update_batch(states, groups, None, total_groups)
    }

    fn evaluate(&mut self, emit: EmitTo) -> Result<ArrayRef> {
        let seen = self.take_seen(emit);
        if self.high.is_empty() && self.result == DataType::Int64 {
            let sums = emit.take_needed(&mut self.low);
            return Ok(Arc::new(Int64Array::new(sums.into(), seen)));
        }
        results(self.take(emit)?, seen, &self.result)
    }

    fn state(&mut self, emit: EmitTo) -> Result<Vec<ArrayRef>> {
        let seen = self.take_seen(emit);
        Ok(vec![states(self.take(emit)?, seen, &self.total)])
    }

    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        filter: Option<&BooleanArray>,
    ) -> Result<Vec<ArrayRef>> {
        let values = column(values, 0)?;
        let filter = filter.map(|filter| {
            let kept = filter.iter().map(|keep| keep == Some(true));
            NullBuffer::from_iter(kept)
        });
        let nulls = NullBuffer::union(values.nulls(), filter.as_ref());
        Ok(vec![states(visit(values, Widened)?, nulls, &self.total)])
    }

    fn size(&self) -> usize {
        let seen = self.seen.as_ref().map_or(0, Vec::capacity);
        (self.low.capacity() + self.high.capacity()) * size_of::<i64>() + seen
    }
}

/// All values, each as a total of its own.
struct Widened;

impl Visit for Widened {
    type Output = Vec<i128>;

    fn visit<N: Whole>(self, values: &[N], _: Option<&NullBuffer>) -> Vec<i128> {
        values.iter().map(|value| value.wide()).collect()
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{AsArray, Decimal128Array, UInt64Array};
    use arrow::datatypes::{Decimal128Type, Int64Type};

    use super::*;
    use crate::sql::exact::totals::total_type;

    fn sums(result: DataType) -> Sums {
        let total = total_type(&result).unwrap();
        Sums::new(result, total)
    }

    fn add(to: &mut Sums, values: impl Array + 'static, groups: &[usize], total: usize) {
        let values: ArrayRef = Arc::new(values);
        to.update_batch(&[values], groups, None, total).unwrap();
    }

    #[test]
    fn a_sum_leaves_the_range_of_its_type_and_comes_back() {
        let mut some = sums(DataType::Int64);
        let values = vec![i64::MAX, i64::MIN, 7, i64::MAX, i64::MIN, i64::MAX, -1];
        add(&mut some, Int64Array::from(values), &[0, 1, 2, 0, 1, 0, 1], 3);
        assert_eq!(some.high, [1, -1, 0], "two words are needed");
        add(&mut some, Int64Array::from(vec![i64::MIN, i64::MIN, i64::MAX]), &[0, 0, 1], 4);
        add(&mut some, Int64Array::from(vec![i64::MAX, 2, 4]), &[1, 1, 3], 4);
        let found = some.evaluate(EmitTo::All).unwrap();
        assert_eq!(found.as_primitive::<Int64Type>().values(), &[i64::MAX - 2, -1, 7, 4]);
        add(&mut some, Int64Array::from(vec![i64::MIN, -1]), &[0, 0], 1);
        assert!(some.evaluate(EmitTo::All).is_err());
    }

    #[test]
    fn groups_are_emitted_in_parts_and_merged_exactly() {
        let wide = i128::from(u64::MAX) * 5;
        let (mut part, mut whole) = (sums(DataType::UInt64), sums(DataType::Int64));
        let groups: Vec<_> = (0..15).map(|row| row % 3).collect();
        add(&mut part, UInt64Array::from(vec![u64::MAX; 15]), &groups, 3);
        let mut states = vec![part.state(EmitTo::First(1)).unwrap()];
        // The groups that are left count from zero again.
        add(&mut part, UInt64Array::from(vec![1]), &[0], 2);
        states.push(part.state(EmitTo::All).unwrap());
        let found: Vec<_> = states
            .iter()
            .flat_map(|state| state[0].as_primitive::<Decimal128Type>().values())
            .copied()
            .collect();
        assert_eq!(found, [wide, wide + 1, wide]);
        for state in &states {
            let groups: Vec<_> = (0..state[0].len()).collect();
            whole.merge_batch(state, &groups, 3).unwrap();
        }
        let back = Decimal128Array::from(vec![-2 * wide, -wide + 3, 0]);
        let back = back.with_precision_and_scale(38, 0).unwrap();
        whole.merge_batch(&[Arc::new(back)], &[0, 1, 2], 3).unwrap();
        let found = whole.evaluate(EmitTo::All).unwrap();
        assert_eq!(found.as_primitive::<Int64Type>().values(), &[1, 3, 0]);
    }
}
