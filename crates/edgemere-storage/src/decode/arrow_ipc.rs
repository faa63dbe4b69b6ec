//! Rows from an Arrow IPC stream.
//!
//! The columns have types of their own, which are cast where no value changes: whole numbers, floats,
//! decimals of up to 38 digits, booleans, texts of every layout, dates, times, and timestamps of any
//! unit. Those with a zone are moments, and those without are not. Lists and structs become JSON. A column that can
//! not be cast refuses the input. Texts are texts: no time is looked for in them.
//!
//! Where a known column has another type, the values are taken by their text, as from JSON.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, RecordBatch, StringViewBuilder, make_array, new_null_array,
};
use arrow::buffer::Buffer;
use arrow::compute::{CastOptions, cast_with_options, concat_batches};
use arrow::datatypes::{DataType, Field, TimeUnit, TimestampNanosecondType};
use arrow::error::ArrowError;
use arrow::ipc::reader::StreamDecoder;
use arrow::json::writer::{EncoderOptions, make_encoder};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use super::cell::Cell;
use super::infer::{self, Texts};
use super::rejections::Rejections;
use super::{
    Decoded, Error, LeftOut, Limits, arrow_lengths, column_names, convert, rejections, widen,
};
use crate::json_values::JsonValues;
use crate::schema::{Column, DIGITS_MAX, Kind, Schema, UTC};

/// How many times larger than the largest input the JSON of its lists and structs may become.
const JSON_GROWTH_MAX: usize = 4;

/// Reads the rows of a stream.
pub(super) fn decode(
    bytes: &[u8],
    known: Option<&Schema>,
    limits: &Limits,
) -> Result<Decoded, Error> {
    // The reader panics on some streams that are not what they say they are.
    let read = catch_unwind(AssertUnwindSafe(|| rows(bytes, known, limits)));
    read.unwrap_or_else(|_| Err(Error::Arrow { reason: "its parts do not fit together".into() }))
}

fn rows(bytes: &[u8], known: Option<&Schema>, limits: &Limits) -> Result<Decoded, Error> {
    arrow_lengths::check(bytes, limits)?;
    let batch = read(bytes, limits)?;
    let Sources { columns: mut sources, ignored, left_out } = sources(&batch, known, limits)?;
    let mut verdicts = Rejections::new(limits);
    verdicts.add_rows(batch.num_rows());
    let (mut columns, mut arrays) = (Vec::new(), Vec::new());
    let known = known.map_or(&[][..], |schema| &schema.columns);
    for column in known {
        let source = sources.iter().position(|source| source.name == column.name);
        let mut kind = column.kind;
        arrays.push(match source.map(|place| sources.remove(place)) {
            Some(source) => {
                if !limits.fixed.contains(&column.name) {
                    kind = source.wider(kind);
                }
                source.into_column(kind, &mut verdicts)
            }
            None => new_null_array(&kind.arrow(), batch.num_rows()),
        });
        columns.push(Column { kind, ..column.clone() });
    }
    for source in sources {
        let (name, original) =
            (source.name.clone(), column_names::original(&source.key, &source.name));
        let column = Column { name, kind: source.kind, original };
        arrays.push(source.into_column(column.kind, &mut verdicts));
        columns.push(column);
    }
    check_size(batch.num_rows(), columns.len(), limits)?;
    let decoded = verdicts.decoded(known.len(), columns, arrays, ignored)?;
    Ok(Decoded { left_out, ..decoded })
}

/// All the rows of the stream.
fn read(bytes: &[u8], limits: &Limits) -> Result<RecordBatch, Error> {
    let refused = |error: ArrowError| Error::Arrow { reason: error.to_string() };
    let mut buffer = Buffer::from(bytes);
    let mut decoder = StreamDecoder::new();
    let (mut batches, mut rows) = (Vec::new(), 0_usize);
    while let Some(batch) = decoder.decode(&mut buffer).map_err(refused)? {
        rows = rows.saturating_add(batch.num_rows());
        check_size(rows, batch.num_columns(), limits)?;
        batches.push(batch);
    }
    decoder.finish().map_err(refused)?;
    let schema = decoder.schema().ok_or_else(|| Error::Arrow { reason: "no schema".into() })?;
    check_size(rows, schema.fields().len(), limits)?;
    concat_batches(&schema, &batches).map_err(refused)
}

fn check_size(rows: usize, columns: usize, limits: &Limits) -> Result<(), Error> {
    if rows > limits.rows_max {
        return Err(Error::too_large("rows", limits.rows_max));
    }
    if columns > limits.columns_max {
        return Err(Error::too_large("columns", limits.columns_max));
    }
    if rows.saturating_mul(columns) > limits.cells_max {
        return Err(Error::too_large("values (rows times columns)", limits.cells_max));
    }
    Ok(())
}

/// A column of the stream, cast to the type that is nearest to its own.
struct Source {
    /// What it is called in the stream.
    key: String,
    name: String,
    kind: Kind,
    array: ArrayRef,
}

/// The columns of the stream: those that a table can hold, the system columns, and others.
struct Sources {
    columns: Vec<Source>,
    ignored: Vec<String>,
    left_out: Vec<LeftOut>,
}

/// The columns of the stream by name.
fn sources(batch: &RecordBatch, known: Option<&Schema>, limits: &Limits) -> Result<Sources, Error> {
    let (mut sources, mut ignored) = (Vec::<Source>::new(), Vec::new());
    let mut left_out = Vec::new();
    let schema = batch.schema();
    for (place, (field, array)) in schema.fields().iter().zip(batch.columns()).enumerate() {
        let named =
            |reason| Error::Name { position: place + 1, name: field.name().clone(), reason };
        let key = field.name().trim();
        let is_known = |name: &str| known.is_some_and(|known| known.position(name).is_some());
        let was_called = |column: &&Column| column.original.as_deref() == Some(key);
        let mut name = match known.and_then(|known| known.columns.iter().find(was_called)) {
            Some(column) => column.name.clone(),
            None => {
                column_names::column_name(key, limits.name_chars_max, is_known).map_err(named)?
            }
        };
        if column_names::is_system(&name) {
            ignored.push(name);
            continue;
        }
        if let Some(place) = sources.iter().position(|source| source.name == name) {
            let first = sources.get(place).map(|source| source.key.clone()).unwrap_or_default();
            let same = || Error::SameName { first: first.clone(), second: field.name().clone() };
            let is_taken = |name: &str| sources.iter().any(|source| source.name == name);
            let other = column_names::numbered(&name, limits.name_chars_max, |name| {
                is_known(name) || is_taken(name)
            });
            let other = other.filter(|_| first != key).ok_or_else(same)?;
            let held = known.and_then(|known| known.columns.get(known.position(&name)?));
            let original = match held {
                Some(held) => held.original.clone(),
                None => column_names::original(&first, &name),
            };
            // One of both keeps the name.
            match column_names::is_second(&name, original.as_deref(), held.is_none(), key) {
                true => {
                    sources.get_mut(place).into_iter().for_each(|one| one.name.clone_from(&other))
                }
                false => name = other,
            }
        }
        let json_max = limits.bytes_max.saturating_mul(JSON_GROWTH_MAX);
        match nearest(field, array, json_max) {
            Ok((kind, array)) => sources.push(Source { key: key.to_owned(), name, kind, array }),
            Err(reason) if limits.strict => {
                return Err(Error::Column { column: field.name().clone(), reason });
            }
            Err(reason) => left_out.push(LeftOut { column: field.name().clone(), reason }),
        }
    }
    Ok(Sources { columns: sources, ignored, left_out })
}

impl Source {
    /// The type of a known column that is to take the values: wider than it was where they do not fit,
    /// and where there is such a type.
    fn wider(&self, known: Kind) -> Kind {
        let is_numeric = |kind| matches!(kind, Kind::Int | Kind::BigInt | Kind::Numeric(..));
        if matches!(self.kind, Kind::TimestampNs | Kind::TimestampTzNs) {
            return known.with_nanoseconds();
        }
        if *self.array.data_type() == known.arrow() || !is_numeric(known) {
            return known;
        }
        let texts = self.texts();
        let cells: Vec<Cell<'_>> = texts.iter().map(|text| self.cell(text.as_deref())).collect();
        let mut fits = true;
        convert::array(known, &cells, &mut |_, _| fits = false);
        match self.kind {
            _ if fits => known,
            // Its digits are declared, and none of them is to be lost.
            Kind::Int | Kind::BigInt | Kind::Numeric(..) => {
                let both = known.joined(self.kind).filter(|both| both.has_widened_from(known));
                both.unwrap_or(known)
            }
            _ => widen::kind(known, cells.into_iter()).unwrap_or(known),
        }
    }

    /// The values as a column of a table.
    fn into_column(self, kind: Kind, verdicts: &mut Rejections) -> ArrayRef {
        if *self.array.data_type() == kind.arrow() {
            return self.array;
        }
        let texts = self.texts();
        let cells: Vec<Cell<'_>> = texts.iter().map(|text| self.cell(text.as_deref())).collect();
        convert::array(kind, &cells, &mut |row, reason| {
            let value = texts.get(row).and_then(Option::as_deref).unwrap_or_default();
            verdicts.refuse(row, Some(&self.name), value, reason);
        })
    }

    fn texts(&self) -> Vec<Option<std::borrow::Cow<'_, str>>> {
        if let Some(bytes) = self.array.as_binary_opt::<i32>() {
            let text = |bytes: &[u8]| BASE64_STANDARD.encode(bytes).into();
            return bytes.iter().map(|bytes| bytes.map(text)).collect();
        }
        if let Some(texts) = self.array.as_string_view_opt() {
            return texts.iter().map(|text| text.map(Into::into)).collect();
        }
        let options = FormatOptions::default();
        let Ok(formatter) = ArrayFormatter::try_new(&self.array, &options) else {
            return vec![None; self.array.len()];
        };
        let text = |row| formatter.value(row).to_string().into();
        (0..self.array.len()).map(|row| self.array.is_valid(row).then(|| text(row))).collect()
    }

    fn cell<'a>(&self, text: Option<&'a str>) -> Cell<'a> {
        let Some(text) = text else { return Cell::Null };
        match self.kind {
            Kind::Boolean => Cell::Bool(text == "true"),
            Kind::Int | Kind::BigInt | Kind::Numeric(..) | Kind::Decimal => Cell::Number(text),
            _ => Cell::Text(text),
        }
    }
}

/// The values of a column in another type; or the first of them that is none of that type, with its row
/// and why.
pub(crate) fn retyped(
    from: Kind,
    array: &ArrayRef,
    to: Kind,
) -> Result<ArrayRef, (usize, String, &'static str)> {
    let (key, name) = (String::new(), String::new());
    let source = Source { key, name, kind: from, array: Arc::clone(array) };
    if from.arrow() == to.arrow() {
        return Ok(Arc::clone(array));
    }
    let texts = source.texts();
    let cells: Vec<Cell<'_>> = texts.iter().map(|text| source.cell(text.as_deref())).collect();
    let mut refused: Option<(usize, &'static str)> = None;
    if to.with_nanoseconds() != to
        && let Some(row) = cells.iter().position(|cell| widen::is_fine(*cell))
    {
        refused = Some((row, "finer than microseconds"));
    }
    let made = convert::array(to, &cells, &mut |row, reason| {
        refused.get_or_insert((row, reason));
    });
    match refused {
        None => Ok(made),
        Some((row, reason)) => {
            let value = texts.get(row).and_then(Option::as_deref).unwrap_or_default();
            Err((row, rejections::shorten(value), reason))
        }
    }
}

/// The type of a table's column that is nearest to a type of Arrow, with the values in it.
fn nearest(field: &Field, array: &ArrayRef, json_max: usize) -> Result<(Kind, ArrayRef), String> {
    use DataType as T;
    let to = |kind: Kind| Ok((kind, cast(array, &kind.arrow())?));
    match array.data_type() {
        T::Null => to(Kind::Varchar),
        T::Boolean => to(Kind::Boolean),
        T::Int8 | T::Int16 | T::Int32 | T::UInt8 | T::UInt16 => to(Kind::Int),
        T::Int64 | T::UInt32 => to(Kind::BigInt),
        T::UInt64 => to(Kind::BigInt).or_else(|_: String| to(Kind::HUGE)),
        T::Float16 | T::Float32 | T::Float64 => to(Kind::Decimal),
        T::Decimal32(digits, scale)
        | T::Decimal64(digits, scale)
        | T::Decimal128(digits, scale)
        | T::Decimal256(digits, scale) => to(exact(*digits, *scale)?),
        T::Utf8 | T::LargeUtf8 | T::Utf8View => text(array),
        T::Binary | T::LargeBinary | T::BinaryView | T::FixedSizeBinary(_) => to(Kind::Binary),
        T::Dictionary(_, values) => match values.as_ref() {
            // Views share the text of the dictionary; any other layout would repeat it.
            T::Utf8 | T::LargeUtf8 | T::Utf8View => text(array),
            values => nearest(field, &cast(array, values)?, json_max),
        },
        T::RunEndEncoded(_, values) => {
            let values = values.data_type();
            nearest(field, &cast(array, values)?, json_max)
        }
        T::Date32 => to(Kind::Date),
        T::Date64 => {
            to(Kind::Date).and_then(|(kind, date)| same(array, &date).map(|()| (kind, date)))
        }
        T::Time32(_) | T::Time64(_) => {
            to(Kind::Time).and_then(|(kind, time)| same(array, &time).map(|()| (kind, time)))
        }
        T::Duration(_) => {
            to(Kind::Interval).and_then(|(kind, span)| same(array, &span).map(|()| (kind, span)))
        }
        T::Timestamp(unit, zone) => timestamp(array, *unit, zone.is_some()),
        T::List(_)
        | T::LargeList(_)
        | T::FixedSizeList(..)
        | T::ListView(_)
        | T::LargeListView(_)
        | T::Struct(_)
        | T::Map(..) => Ok((Kind::Varchar, json(field, array, json_max)?)),
        other => Err(format!("it is of type {other}")),
    }
}

/// The type of exact numbers with so many digits, and so many of them after the point. Digits that no
/// column holds may be zeros in front, which the values tell.
fn exact(digits: u8, scale: i8) -> Result<Kind, String> {
    // A negative scale is of numbers that end in zeros.
    let digits = digits.saturating_add(if scale < 0 { scale.unsigned_abs() } else { 0 });
    let scale = u8::try_from(scale).unwrap_or(0);
    match scale <= DIGITS_MAX {
        true => Ok(Kind::Numeric(digits.clamp(scale.max(1), DIGITS_MAX), scale)),
        false => {
            Err(format!("it has {scale} digits after the point, and {DIGITS_MAX} are the most"))
        }
    }
}

fn cast(array: &dyn Array, to: &DataType) -> Result<ArrayRef, String> {
    let options = CastOptions { safe: false, ..CastOptions::default() };
    cast_with_options(array, to, &options).map_err(|error| error.to_string())
}

/// Makes sure that a cast can be undone.
fn same(array: &ArrayRef, cast_array: &ArrayRef) -> Result<(), String> {
    let back = cast(cast_array, array.data_type())?;
    if *back == **array { Ok(()) } else { Err("its values would lose digits".to_owned()) }
}

fn text(array: &ArrayRef) -> Result<(Kind, ArrayRef), String> {
    let texts = cast(array, &Kind::Varchar.arrow())?;
    let cells = texts.as_string_view().iter().map(|text| text.map_or(Cell::Null, Cell::Text));
    let kind = infer::kind(cells, Texts::Plain).unwrap_or(Kind::Varchar);
    Ok((kind, texts))
}

/// The values of a timestamp with a zone are of UTC already: the zone is only for showing them. They
/// are nanoseconds where one has digits beyond microseconds.
fn timestamp(array: &ArrayRef, unit: TimeUnit, has_zone: bool) -> Result<(Kind, ArrayRef), String> {
    let zone = has_zone.then(|| UTC.into());
    let data = array.to_data().into_builder().data_type(DataType::Timestamp(unit, zone));
    let utc = make_array(data.build().map_err(|error| error.to_string())?);
    let is_fine = utc
        .as_primitive_opt::<TimestampNanosecondType>()
        .is_some_and(|times| times.iter().flatten().any(|time| time % 1000 != 0));
    let kind = if has_zone { Kind::TimestampTz } else { Kind::Timestamp };
    let kind = if is_fine { kind.with_nanoseconds() } else { kind };
    Ok((kind, cast(&utc, &kind.arrow())?))
}

fn json(field: &Field, array: &ArrayRef, json_max: usize) -> Result<ArrayRef, String> {
    let field = Arc::new(field.clone());
    let options = EncoderOptions::default()
        .with_explicit_nulls(true)
        .with_encoder_factory(Arc::new(JsonValues));
    let mut encoder =
        make_encoder(&field, array, &options).map_err(|error| format!("as JSON: {error}"))?;
    let mut builder = StringViewBuilder::with_capacity(array.len());
    let (mut value, mut length) = (Vec::new(), 0_usize);
    for row in 0..array.len() {
        if encoder.is_null(row) {
            builder.append_null();
            continue;
        }
        value.clear();
        encoder.encode(row, &mut value);
        length = length.saturating_add(value.len());
        if length > json_max {
            return Err(format!("its JSON is longer than {json_max} bytes"));
        }
        builder.append_value(str::from_utf8(&value).map_err(|error| error.to_string())?);
    }
    Ok(Arc::new(builder.finish()))
}
