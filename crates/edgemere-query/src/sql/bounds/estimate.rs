//! How many bytes values have, and how many a call would make of them. Nothing is allocated here.

use arrow::array::{Array, ArrayRef, AsArray, OffsetSizeTrait};
use arrow::datatypes::{ByteArrayType, ByteViewType, DataType, Int64Type};
use datafusion::common::ScalarValue;
use datafusion::logical_expr::ColumnarValue;

/// The bytes of the values of an array, each as often as it is there: views and dictionaries count as
/// if every row had a text of its own, since a copy makes it so.
pub(in crate::sql) fn value_bytes(array: &dyn Array) -> usize {
    let rows = array.len();
    match array.data_type() {
        DataType::Null | DataType::Boolean => rows,
        DataType::Utf8 => offset_bytes::<arrow::datatypes::Utf8Type>(array),
        DataType::LargeUtf8 => offset_bytes::<arrow::datatypes::LargeUtf8Type>(array),
        DataType::Binary => offset_bytes::<arrow::datatypes::BinaryType>(array),
        DataType::LargeBinary => offset_bytes::<arrow::datatypes::LargeBinaryType>(array),
        DataType::Utf8View => view_bytes::<arrow::datatypes::StringViewType>(array),
        DataType::BinaryView => view_bytes::<arrow::datatypes::BinaryViewType>(array),
        DataType::List(_) => list_bytes::<i32>(array),
        DataType::LargeList(_) => list_bytes::<i64>(array),
        DataType::FixedSizeList(..) => {
            array.as_fixed_size_list_opt().map_or(0, |list| value_bytes(list.values()))
        }
        DataType::Struct(_) => array
            .as_struct_opt()
            .map_or(0, |fields| fields.columns().iter().map(|one| value_bytes(one)).sum()),
        DataType::Map(..) => array.as_map_opt().map_or(0, |map| {
            let (from, until) = range(map.value_offsets());
            rows * 4 + value_bytes(&map.entries().slice(from, until - from))
        }),
        DataType::Dictionary(..) => array
            .as_any_dictionary_opt()
            .map_or(0, |dictionary| rows.saturating_mul(8 + longest(dictionary.values().as_ref()))),
        DataType::FixedSizeBinary(width) => {
            rows.saturating_mul(usize::try_from(*width).unwrap_or_default())
        }
        other => match other.primitive_width() {
            Some(width) => rows * width,
            None => array.get_array_memory_size(),
        },
    }
}

fn offset_bytes<T: ByteArrayType>(array: &dyn Array) -> usize {
    let Some(texts) = array.as_bytes_opt::<T>() else { return 0 };
    let (from, until) = range(texts.value_offsets());
    (until - from) + 4 * array.len()
}

fn view_bytes<T: ByteViewType>(array: &dyn Array) -> usize {
    let Some(texts) = array.as_byte_view_opt::<T>() else { return 0 };
    texts.lengths().map(|length| length as usize).sum::<usize>() + 16 * array.len()
}

fn list_bytes<O: OffsetSizeTrait>(array: &dyn Array) -> usize {
    let Some(list) = array.as_list_opt::<O>() else { return 0 };
    let (from, until) = range(list.value_offsets());
    4 * array.len() + value_bytes(&list.values().slice(from, until - from))
}

fn range<O: OffsetSizeTrait>(offsets: &[O]) -> (usize, usize) {
    let ends = offsets.first().zip(offsets.last());
    ends.map_or((0, 0), |(from, until)| (from.as_usize(), until.as_usize()))
}

/// The bytes of the longest value of an array.
pub(super) fn longest(array: &dyn Array) -> usize {
    match array.data_type() {
        other if other.primitive_width().is_some() => other.primitive_width().unwrap_or(8),
        DataType::Null | DataType::Boolean => 1,
        DataType::Utf8View | DataType::BinaryView | DataType::Utf8 | DataType::LargeUtf8 => {
            sizes(array).max().unwrap_or(0)
        }
        _ => (0..array.len()).map(|row| value_bytes(&array.slice(row, 1))).max().unwrap_or(0),
    }
}

/// The length of every text in bytes, or of every list in elements; of anything else 1.
pub(super) fn sizes(array: &dyn Array) -> Box<dyn Iterator<Item = usize> + '_> {
    fn steps<O: OffsetSizeTrait>(offsets: &[O]) -> Box<dyn Iterator<Item = usize> + '_> {
        let ends = offsets.iter().zip(offsets.iter().skip(1));
        Box::new(ends.map(|(from, until)| until.as_usize() - from.as_usize()))
    }
    if let Some(texts) = array.as_string_view_opt() {
        return Box::new(texts.lengths().map(|length| length as usize));
    }
    if let Some(texts) = array.as_string_opt::<i32>() {
        return steps(texts.value_offsets());
    }
    if let Some(texts) = array.as_string_opt::<i64>() {
        return steps(texts.value_offsets());
    }
    if let Some(lists) = array.as_list_opt::<i32>() {
        return steps(lists.value_offsets());
    }
    if let Some(lists) = array.as_list_opt::<i64>() {
        return steps(lists.value_offsets());
    }
    Box::new(std::iter::repeat_n(1, array.len()))
}

/// The arguments of a call.
pub(super) struct Arguments<'a> {
    pub(super) values: &'a [ColumnarValue],
    /// How many results there are to be.
    pub(super) rows: usize,
}

impl Arguments<'_> {
    pub(super) fn new(values: &[ColumnarValue], rows: usize) -> Arguments<'_> {
        // A constant is there in every row as soon as it meets a column.
        Arguments { values, rows: rows.max(1) }
    }

    /// The bytes of all arguments, those that are the same in every row as often as there are rows.
    pub(super) fn bytes(&self) -> usize {
        (0..self.values.len()).fold(0, |sum, place| self.bytes_of(place).saturating_add(sum))
    }

    pub(super) fn bytes_of(&self, place: usize) -> usize {
        match self.values.get(place) {
            Some(ColumnarValue::Array(array)) => value_bytes(array),
            Some(ColumnarValue::Scalar(value)) => {
                scalar_bytes(value).saturating_add(4).saturating_mul(self.rows)
            }
            None => 0,
        }
    }

    /// The size of an argument in every row: see [`sizes`].
    pub(super) fn sizes_of(&self, place: usize) -> Vec<usize> {
        match self.values.get(place) {
            Some(ColumnarValue::Array(array)) => sizes(array).collect(),
            Some(ColumnarValue::Scalar(value)) => vec![scalar_size(value); self.rows],
            None => vec![0; self.rows],
        }
    }

    fn longest_of(&self, place: usize) -> usize {
        match self.values.get(place) {
            Some(ColumnarValue::Array(array)) => longest(array),
            Some(ColumnarValue::Scalar(value)) => scalar_bytes(value),
            None => 0,
        }
    }

    fn numbers_of(&self, place: usize) -> Vec<i64> {
        let number = |value: &ScalarValue| {
            let cast = value.cast_to(&DataType::Int64);
            cast.ok().and_then(|value| i64::try_from(value).ok()).unwrap_or_default()
        };
        match self.values.get(place) {
            Some(ColumnarValue::Array(array)) => whole(array),
            Some(ColumnarValue::Scalar(value)) => vec![number(value); self.rows],
            None => vec![0; self.rows],
        }
    }

    fn text_of(&self, place: usize) -> Option<&str> {
        match self.values.get(place) {
            Some(ColumnarValue::Scalar(value)) => value.try_as_str().flatten(),
            _ => None,
        }
    }
}

fn whole(array: &ArrayRef) -> Vec<i64> {
    let numbers = arrow::compute::cast(array, &DataType::Int64);
    let numbers = numbers.ok().and_then(|numbers| {
        let numbers = numbers.as_primitive_opt::<Int64Type>()?;
        Some(numbers.iter().map(Option::unwrap_or_default).collect())
    });
    numbers.unwrap_or_else(|| vec![i64::MAX; array.len()])
}

fn scalar_bytes(value: &ScalarValue) -> usize {
    match value.try_as_str() {
        Some(text) => text.map_or(0, str::len),
        None => match value {
            ScalarValue::List(list) => value_bytes(list.as_ref()),
            ScalarValue::LargeList(list) => value_bytes(list.as_ref()),
            other => other.size(),
        },
    }
}

fn scalar_size(value: &ScalarValue) -> usize {
    match value {
        ScalarValue::List(list) => sizes(list.as_ref()).next().unwrap_or(0),
        ScalarValue::LargeList(list) => sizes(list.as_ref()).next().unwrap_or(0),
        other => other.try_as_str().map_or(1, |text| text.map_or(0, str::len)),
    }
}

/// `lpad`, `rpad`: so many characters in every row.
pub(super) fn padded(call: &Arguments<'_>) -> usize {
    let width = match (call.values.len(), call.text_of(2)) {
        (2, _) => 1,
        (_, Some(fill)) if fill.is_ascii() => 1,
        _ => 4,
    };
    let padding = call.numbers_of(1).into_iter().fold(0_usize, |sum, length| {
        let length = usize::try_from(length).unwrap_or(0).saturating_mul(width);
        sum.saturating_add(length)
    });
    padding.saturating_add(call.bytes_of(0))
}

/// `replace`: as many replacements as there is room for what is replaced.
pub(super) fn replaced(call: &Arguments<'_>) -> usize {
    let (texts, old, new) = (call.sizes_of(0), call.sizes_of(1), call.sizes_of(2));
    let rows = texts.into_iter().zip(old).zip(new);
    rows.fold(0_usize, |sum, ((text, old), new)| {
        let times = text.checked_div(old).unwrap_or(text + 1);
        sum.saturating_add(text + 20).saturating_add(times.saturating_mul(new))
    })
}

/// `regexp_replace`: at every place, or at one, with what was found put in as often as it is named.
pub(super) fn pattern_replaced(call: &Arguments<'_>) -> usize {
    let everywhere = match call.values.len() {
        0..=3 => false,
        _ => call.text_of(3).is_none_or(|flags| flags.contains('g')),
    };
    let (texts, new) = (call.sizes_of(0), call.sizes_of(2));
    let named = call.text_of(2).map(|text| text.matches(['\\', '$']).count());
    texts.into_iter().zip(new).fold(0_usize, |sum, (text, new)| {
        let times = if everywhere { text + 1 } else { 1 };
        let found = named.unwrap_or(new).saturating_mul(text);
        sum.saturating_add(text + 20)
            .saturating_add(times.saturating_mul(new))
            .saturating_add(found)
    })
}

/// `translate`: a character, with all that combines with it, for every character.
pub(super) fn translated(call: &Arguments<'_>) -> usize {
    let longest = match call.text_of(2) {
        Some(new) if new.is_ascii() => 2,
        _ => call.longest_of(2).max(4),
    };
    call.bytes_of(0).saturating_mul(longest)
}

/// `concat_ws`: what stands between all arguments.
pub(super) fn joined(call: &Arguments<'_>) -> usize {
    let between = call.bytes_of(0).saturating_mul(call.values.len());
    between.saturating_add(call.bytes())
}

/// `array_to_string` and `array_replace_all`: for every element as much as all other arguments are.
pub(super) fn per_element(call: &Arguments<'_>) -> usize {
    let others = (1..call.values.len()).map(|place| call.longest_of(place));
    let others = others.fold(40_usize, usize::saturating_add);
    let elements = match call.values.first() {
        Some(ColumnarValue::Array(array)) => elements(array),
        Some(ColumnarValue::Scalar(value)) => match value {
            ScalarValue::List(list) => elements(list.as_ref()).saturating_mul(call.rows),
            ScalarValue::LargeList(list) => elements(list.as_ref()).saturating_mul(call.rows),
            _ => call.rows,
        },
        None => 0,
    };
    elements.saturating_mul(others).saturating_add(call.bytes())
}

/// The elements of all lists of an array, those inside of lists counted.
fn elements(array: &dyn Array) -> usize {
    if let Some(list) = array.as_list_opt::<i32>() {
        let (from, until) = range(list.value_offsets());
        return elements(&list.values().slice(from, until - from));
    }
    if let Some(list) = array.as_list_opt::<i64>() {
        let (from, until) = range(list.value_offsets());
        return elements(&list.values().slice(from, until - from));
    }
    array.len()
}

/// `arrays_zip`: every list as long as the longest.
pub(super) fn zipped(call: &Arguments<'_>) -> usize {
    call.bytes().saturating_mul(call.values.len().saturating_add(1))
}

/// `format_value`: the widths and digits that the format asks for.
pub(super) fn formatted(call: &Arguments<'_>) -> usize {
    let asked = |format: &str| {
        let numbers = format.split(|c: char| !c.is_ascii_digit()).filter(|part| !part.is_empty());
        numbers.fold(400_usize, |sum, number| {
            sum.saturating_add(number.parse::<usize>().unwrap_or(usize::MAX).saturating_mul(4))
        })
    };
    let asked = match call.values.get(1) {
        Some(ColumnarValue::Array(formats)) => {
            let texts = arrow::compute::cast(formats, &DataType::Utf8View).ok();
            let texts = texts.as_ref().and_then(|texts| texts.as_string_view_opt());
            texts.map_or(usize::MAX, |texts| {
                texts.iter().flatten().map(asked).fold(0, usize::saturating_add)
            })
        }
        _ => asked(call.text_of(1).unwrap_or_default()).saturating_mul(call.rows),
    };
    asked.saturating_add(call.bytes())
}
