//! What holds for any input: values come out as they went in, no row is lost, nothing panics.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
#![allow(clippy::indexing_slicing, reason = "a test that cannot go on should stop")]

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::{
    Date32Type, Decimal128Type, Float64Type, Int64Type, Time64MicrosecondType,
    TimestampMicrosecondType, TimestampNanosecondType,
};
use arrow::ipc::writer::StreamWriter;
use edgemere_storage::decode::{Input, Limits, Mixed, decode, decode_mixed};
use edgemere_storage::schema::{Kind, Schema};
use proptest::prelude::*;
use serde_json::Value;

/// A row: the JSON texts of the values by key.
type Row = BTreeMap<&'static str, String>;

const KEYS: [&str; 4] = ["a", "b", "c", "d"];

/// The values of one column: mostly of one sort, sometimes of several.
fn column() -> impl Strategy<Value = Vec<Option<String>>> {
    let sorts = prop_oneof![
        4 => (0..11_usize).prop_map(|sort| vec![sort]),
        1 => prop::collection::vec(0..11_usize, 1..4),
    ];
    sorts.prop_flat_map(|sorts| {
        let value = prop::sample::select(sorts).prop_flat_map(value);
        let value =
            prop_oneof![8 => value.prop_map(Some), 1 => Just(None), 1 => Just(Some("null".into()))];
        prop::collection::vec(value, 1..8)
    })
}

fn value(sort: usize) -> BoxedStrategy<String> {
    let text = |text: String| serde_json::to_string(&text).unwrap();
    match sort {
        0 => any::<i32>().prop_map(|number| number.to_string()).boxed(),
        1 => any::<i64>().prop_map(|number| number.to_string()).boxed(),
        2 => "-?[1-9][0-9]{15,45}".boxed(),
        3 => proptest::num::f64::NORMAL.prop_map(|number| format!("{number:?}")).boxed(),
        4 => any::<bool>().prop_map(|flag| flag.to_string()).boxed(),
        5 => timestamp().prop_map(text).boxed(),
        6 => "20[0-9]{2}-0[1-9]-[0-2][1-8]".prop_map(text).boxed(),
        7 => "[01][0-9]:[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,6})?".prop_map(text).boxed(),
        8 => any::<String>().prop_map(text).boxed(),
        9 => "[a-c]{3}".prop_map(text).boxed(),
        _ => prop_oneof![Just("[1, {\"x\": \" y \"}]".to_owned()), Just("{ }".to_owned())].boxed(),
    }
}

fn timestamp() -> impl Strategy<Value = String> {
    (0..4_000_000_000_i64, 0..1_000_000_i32, 0..4_usize).prop_map(|(second, micro, form)| {
        let time = jiff::Timestamp::new(second, micro * 1000).unwrap();
        match form {
            0 => time.to_string(),
            1 => time.to_string().replace('T', " ").replace('Z', ""),
            2 => time.display_with_offset(jiff::tz::offset(2)).to_string(),
            _ => time.display_with_offset(jiff::tz::offset(-11)).to_string(),
        }
    })
}

fn rows() -> impl Strategy<Value = Vec<Row>> {
    prop::collection::vec(column(), KEYS.len()).prop_map(|columns| {
        let count = columns.iter().map(Vec::len).max().unwrap_or(0);
        let row = |row: usize| {
            let cell = |(key, column): (&&'static str, &Vec<Option<String>>)| {
                Some((*key, column.get(row).cloned().flatten()?))
            };
            KEYS.iter().zip(&columns).filter_map(cell).collect()
        };
        (0..count).map(row).collect()
    })
}

fn object(row: &Row) -> String {
    let member = |(key, value): (&&str, &String)| format!("\"{key}\": {value}");
    format!("{{{}}}", row.iter().map(member).collect::<Vec<_>>().join(", "))
}

/// The reference: the type of a column from serde_json's values, by the words of the rules.
fn reference_kind(texts: &[&str]) -> Kind {
    let values: Vec<(&str, Value)> = texts.iter().map(|text| (*text, parse(text))).collect();
    let values: Vec<_> = values.iter().filter(|(_, value)| !value.is_null()).collect();
    let all =
        |test: &dyn Fn(&str, &Value) -> bool| values.iter().all(|(text, value)| test(text, value));
    let fraction = |text: &str| text.contains(['.', 'e']);
    if values.is_empty() {
        Kind::Varchar
    } else if all(&|_, value| value.is_boolean()) {
        Kind::Boolean
    } else if all(&|_, value| value.is_number()) {
        let digits = |text: &str| text.trim_start_matches('-').len();
        let whole = values.iter().filter(|(text, _)| !fraction(text));
        let exact =
            |text: &str| format!("{:.0}", text.parse::<f64>().unwrap()) == text || text == "-0";
        if whole.clone().count() < values.len() {
            let fits = whole.clone().all(|(text, _)| digits(text) <= 38 && exact(text));
            if fits { Kind::Decimal } else { Kind::Varchar }
        } else if all(&|text, _| text.parse::<i32>().is_ok()) {
            Kind::Int
        } else if all(&|text, _| text.parse::<i64>().is_ok()) {
            Kind::BigInt
        } else if all(&|text, _| digits(text) <= 38) {
            Kind::HUGE
        } else {
            Kind::Varchar
        }
    } else if all(&|_, value| value.is_string()) {
        let texts: Vec<_> = values.iter().filter_map(|(_, value)| value.as_str()).collect();
        reference_text_kind(&texts)
    } else {
        Kind::Varchar
    }
}

fn reference_text_kind(texts: &[&str]) -> Kind {
    let is_date = |text: &str| text.len() == 10 && text.parse::<jiff::civil::Date>().is_ok();
    let is_time =
        |text: &str| text.get(2..3) == Some(":") && text.parse::<jiff::civil::Time>().is_ok();
    let is_timestamp = |text: &str| {
        text.len() > 10
            && text.get(..10).is_some_and(is_date)
            && reference_timestamp(text).is_some()
    };
    let length = texts[0].chars().count();
    if texts.iter().all(|text| is_date(text)) {
        Kind::Date
    } else if texts.iter().all(|text| is_time(text)) {
        Kind::Time
    } else if texts.iter().all(|text| is_date(text) || is_timestamp(text)) {
        let is_near = |text: &str| {
            reference_moment(text).is_some_and(|time| i64::try_from(time.as_nanosecond()).is_ok())
        };
        let is_fine = texts.iter().any(|text| reference_nanosecond(text) != 0);
        match is_fine && texts.iter().all(|text| is_near(text)) {
            true => Kind::TimestampNs,
            false => Kind::Timestamp,
        }
    } else if (1..=64).contains(&length) && texts.iter().all(|text| text.chars().count() == length)
    {
        Kind::Char(u32::try_from(length).unwrap())
    } else {
        Kind::Varchar
    }
}

fn reference_timestamp(text: &str) -> Option<i64> {
    Some(reference_moment(text)?.as_nanosecond().div_euclid(1000).try_into().unwrap())
}

/// The nanoseconds beyond the microseconds.
fn reference_nanosecond(text: &str) -> i64 {
    reference_moment(text)
        .map_or(0, |time| time.as_nanosecond().rem_euclid(1000))
        .try_into()
        .unwrap()
}

fn reference_moment(text: &str) -> Option<jiff::Timestamp> {
    let with_zone = text.parse::<jiff::Timestamp>().ok();
    let in_utc = || {
        let time = text.parse::<jiff::civil::DateTime>().ok()?;
        Some(time.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp())
    };
    with_zone.or_else(in_utc)
}

/// serde_json has no whole numbers of more than 64 bits; a float stands for those.
fn parse(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// Whether a value came out as it went in.
fn is_same(kind: Kind, array: &ArrayRef, row: usize, text: &str) -> bool {
    let value = parse(text);
    if value.is_null() {
        return array.is_null(row);
    }
    if array.is_null(row) {
        return false;
    }
    let string = value.as_str().unwrap_or_default();
    match kind {
        Kind::Int | Kind::BigInt => {
            array.as_primitive::<Int64Type>().value(row).to_string() == text
        }
        Kind::Numeric(..) => array.as_primitive::<Decimal128Type>().value(row).to_string() == text,
        Kind::Decimal => {
            array.as_primitive::<Float64Type>().value(row) == text.parse::<f64>().unwrap()
        }
        Kind::Boolean => Value::Bool(array.as_boolean().value(row)) == value,
        Kind::Date => {
            let days = array.as_primitive::<Date32Type>().value(row);
            reference_timestamp(string) == Some(i64::from(days) * 86_400_000_000)
        }
        Kind::Time => {
            let micros = array.as_primitive::<Time64MicrosecondType>().value(row);
            reference_timestamp(&format!("1970-01-01T{string}Z")) == Some(micros)
        }
        Kind::Timestamp => {
            let micros = array.as_primitive::<TimestampMicrosecondType>().value(row);
            reference_timestamp(string) == Some(micros)
        }
        Kind::TimestampNs => {
            let nanos = array.as_primitive::<TimestampNanosecondType>().value(row);
            reference_timestamp(string) == Some(nanos.div_euclid(1000))
                && reference_nanosecond(string) == nanos.rem_euclid(1000)
        }
        Kind::TimestampTz | Kind::TimestampTzNs | Kind::Binary | Kind::Interval => false,
        Kind::Char(_) | Kind::Varchar => {
            let kept = array.as_string_view().value(row);
            match value {
                Value::String(string) => kept == string,
                Value::Number(_) | Value::Bool(_) => kept == text,
                nested => parse(kept) == nested && kept.len() <= text.len(),
            }
        }
    }
}

fn assert_same(rows: &[Row], schema: &Schema, batch: &RecordBatch) {
    for (column, array) in schema.columns.iter().zip(batch.columns()) {
        for (number, row) in rows.iter().enumerate() {
            let text = row.get(column.name.as_str()).map_or("null", String::as_str);
            assert!(is_same(column.kind, array, number, text), "{column:?} {number} {text}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn json_comes_out_as_it_went_in(rows in rows(), lines in any::<bool>()) {
        let objects: Vec<_> = rows.iter().map(object).collect();
        let text = if lines { objects.join("\n") } else { format!("[{}]", objects.join(",")) };
        let first = decode(Input::Json, text.as_bytes(), None, &Limits::default()).unwrap();
        prop_assert_eq!((first.accepted, first.rejected_total), (rows.len(), 0));
        for column in &first.schema.columns {
            let texts = rows.iter().filter_map(|row| row.get(column.name.as_str()));
            let texts: Vec<_> = texts.map(String::as_str).collect();
            prop_assert_eq!(column.kind, reference_kind(&texts), "{:?}", texts);
        }
        assert_same(&rows, &first.schema, &first.batch);
        // The table that they make takes them again.
        let again = decode(Input::Json, text.as_bytes(), Some(&first.schema), &Limits::default()).unwrap();
        prop_assert_eq!((again.accepted, again.rejected_total), (rows.len(), 0), "{:?}", again.rejected);
        prop_assert_eq!(&again.schema, &first.schema);
        prop_assert_eq!(&again.batch, &first.batch);
        prop_assert!(again.added.is_empty());
    }

    /// Rows meet a table that was made for other rows: each is taken or rejected, and what is taken
    /// is right.
    #[test]
    fn no_row_is_lost(made in rows(), rows in rows()) {
        let text = |rows: &[Row]| format!("[{}]", rows.iter().map(object).collect::<Vec<_>>().join(","));
        let known = decode(Input::Json, text(&made).as_bytes(), None, &Limits::default()).unwrap().schema;
        let decoded = decode(Input::Json, text(&rows).as_bytes(), Some(&known), &Limits::default()).unwrap();
        prop_assert_eq!(decoded.accepted + decoded.rejected_total, rows.len());
        prop_assert_eq!(decoded.rejected.len(), decoded.rejected_total);
        prop_assert_eq!(decoded.batch.num_rows(), decoded.accepted);
        for (column, known) in decoded.schema.columns.iter().zip(&known.columns) {
            prop_assert_eq!(&column.name, &known.name);
            let is_as_wide = column.kind == known.kind || column.kind.has_widened_from(known.kind);
            prop_assert!(is_as_wide, "{:?} {:?}", column, known);
        }
        let rejected: Vec<_> = decoded.rejected.iter().map(|rejected| rejected.row - 1).collect();
        let left: Vec<Row> = rows.iter().enumerate()
            .filter(|(row, _)| !rejected.contains(row)).map(|(_, row)| row.clone()).collect();
        for (column, array) in decoded.schema.columns.iter().zip(decoded.batch.columns()) {
            for (number, row) in left.iter().enumerate() {
                let text = row.get(column.name.as_str()).map_or("null", String::as_str);
                prop_assert_eq!(array.is_null(number), text == "null", "{:?} {}", column, text);
            }
        }
        for rejected in &decoded.rejected {
            let column = rejected.column.as_deref().unwrap();
            prop_assert!(rows[rejected.row - 1].contains_key(column) && known.position(column).is_some());
        }
    }

    #[test]
    fn csv_rows_are_all_there(rows in prop::collection::vec(prop::collection::vec("[a-c0-9.,\"\n -]{0,6}", 1..4), 0..6)) {
        let mut writer = csv::WriterBuilder::new().flexible(true).from_writer(Vec::new());
        writer.write_record(["x", "y"]).unwrap();
        rows.iter().for_each(|row| writer.write_record(row).unwrap());
        let text = writer.into_inner().unwrap();
        let decoded = decode(Input::Csv, &text, None, &Limits::default()).unwrap();
        prop_assert_eq!(decoded.accepted + decoded.rejected_total, rows.len());
        let again = decode(Input::Csv, &text, Some(&decoded.schema), &Limits::default()).unwrap();
        prop_assert_eq!(&again.batch, &decoded.batch);
        let limits = Limits::default();
        let decoded = decode_mixed(Input::Csv, &text, None, &limits, Mixed::Text).unwrap();
        prop_assert_eq!(decoded.accepted, rows.iter().filter(|row| row.len() == 2).count());
        let again = decode(Input::Csv, &text, Some(&decoded.schema), &Limits::default()).unwrap();
        prop_assert_eq!(&again.batch, &decoded.batch);
    }
}

fn known() -> Schema {
    let text = br#"{"a":1,"b":1.5,"c":"x","d":true,"e":"2026-02-01T00:00:00Z","f":"2026-02-01"}"#;
    decode(Input::Json, text, None, &Limits::default()).unwrap().schema
}

/// Decodes in every way; whatever comes, the rows add up.
fn decode_all(bytes: &[u8]) {
    let known = known();
    for input in [Input::Json, Input::Csv, Input::ArrowStream] {
        for known in [None, Some(&known)] {
            if let Ok(decoded) = decode(input, bytes, known, &Limits::default()) {
                assert_eq!(decoded.batch.num_rows(), decoded.accepted);
                assert_eq!(decoded.batch.schema(), decoded.schema.arrow());
            }
        }
    }
}

fn stream() -> Vec<u8> {
    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None, Some(3)]));
    let texts: ArrayRef = Arc::new(StringArray::from(vec!["x", "a longer text than a view", ""]));
    let batch = RecordBatch::try_from_iter([("a", numbers), ("c", texts)]).unwrap();
    let mut writer = StreamWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    writer.write(&batch).unwrap();
    writer.into_inner().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        decode_all(&bytes);
    }

    #[test]
    fn almost_json_never_panics(text in r#"[\[{](\{"[a-f]":("?[0-9a-z.:T\\"-]{0,20}"?|\[|\{)\}?[,\n]?){0,6}[\]}]?"#) {
        decode_all(text.as_bytes());
    }

    #[test]
    fn almost_csv_never_panics(text in "[abc,\"]{1,9}\n([0-9a-c,\"\r\n :TZé-]{0,60})") {
        decode_all(text.as_bytes());
    }

    #[test]
    fn damaged_streams_never_panic(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4), cut in any::<prop::sample::Index>(), whole in any::<bool>()) {
        let mut bytes = stream();
        for (place, byte) in changes {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        if !whole {
            bytes.truncate(cut.index(bytes.len()));
        }
        decode_all(&bytes);
    }
}
