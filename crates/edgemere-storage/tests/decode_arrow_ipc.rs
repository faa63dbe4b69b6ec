//! The rules of ingest for Arrow streams.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
#![allow(clippy::indexing_slicing, reason = "a test that cannot go on should stop")]

mod shown;

use std::sync::Arc;

use arrow::array::{
    ArrayRef, Date32Array, Decimal128Array, DictionaryArray, Float32Array, Float64Array, Int8Array,
    Int64Array, IntervalYearMonthArray, ListArray, RecordBatch, StringArray, Time64NanosecondArray,
    TimestampMillisecondArray, TimestampNanosecondArray, UInt64Array,
};
use arrow::datatypes::Int32Type;
use arrow::ipc::CompressionType;
use arrow::ipc::writer::{IpcWriteOptions, StreamWriter};
use edgemere_storage::decode::{Decoded, Error, Input, Limits, decode};
use edgemere_storage::schema::{Kind, Schema};
use shown::{rejected, rows, schema, types};

fn stream(columns: Vec<(&str, ArrayRef)>) -> Vec<u8> {
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let mut writer = StreamWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    writer.write(&batch).unwrap();
    writer.write(&batch.slice(0, 1)).unwrap();
    writer.into_inner().unwrap()
}

fn arrow(columns: Vec<(&str, ArrayRef)>, known: Option<&Schema>) -> Result<Decoded, Error> {
    decode(Input::ArrowStream, &stream(columns), known, &Limits::default())
}

#[test]
fn arrow_columns_are_cast() {
    let millis = TimestampMillisecondArray::from(vec![1_769_904_000_000, -1]);
    let nanos = TimestampNanosecondArray::from(vec![Some(1_769_904_000_123_456_000), None]);
    let dictionary: DictionaryArray<Int32Type> = ["sensor-0", "sensor-1"].into_iter().collect();
    let list = ListArray::from_iter_primitive::<Int32Type, _, _>([Some([Some(1), None]), None]);
    let decimal = Decimal128Array::from(vec![150, 1]).with_precision_and_scale(20, 2).unwrap();
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("Small", Arc::new(Int8Array::from(vec![Some(1), None]))),
        ("big", Arc::new(UInt64Array::from(vec![1, 2]))),
        ("huge", Arc::new(UInt64Array::from(vec![1, u64::MAX]))),
        ("f", Arc::new(Float32Array::from(vec![0.5, 2.0]))),
        ("d", Arc::new(Date32Array::from(vec![0, 20_485]))),
        ("t", Arc::new(millis.with_timezone("+05:00"))),
        ("n", Arc::new(nanos)),
        ("s", Arc::new(dictionary)),
        ("l", Arc::new(list)),
        ("dec", Arc::new(decimal)),
        ("tsd_id", Arc::new(Int64Array::from(vec![1, 2]))),
    ];
    let decoded = arrow(columns, None).unwrap();
    assert_eq!(
        types(&decoded),
        "small int, big bigint, huge numeric(38,0), f decimal, d date, t timestamptz, n timestamp, \
         s char(8), l varchar, dec numeric(20,2)"
    );
    let first = "1|1|1|0.5|1970-01-01|2026-02-01T00:00:00Z|2026-02-01T00:00:00.123456|sensor-0|[1,null]|1.50";
    let second = "null|2|18446744073709551615|2.0|2026-02-01|1969-12-31T23:59:59.999Z|null|sensor-1|null|0.01";
    assert_eq!(rows(&decoded), [first, second, first]);
    assert_eq!(decoded.ignored, ["tsd_id"]);
}

#[test]
fn arrow_values_fit_known_columns() {
    let known =
        schema(&[("i", Kind::Int), ("s", Kind::Varchar), ("f", Kind::Decimal), ("x", Kind::Date)]);
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("i", Arc::new(StringArray::from(vec!["5", "x"]))),
        ("s", Arc::new(Int64Array::from(vec![7, 8]))),
        ("f", Arc::new(Float64Array::from(vec![1.0, 2.0]))),
        ("new", Arc::new(Float64Array::from(vec![1.0, 2.0]))),
    ];
    let decoded = arrow(columns, Some(&known)).unwrap();
    assert_eq!(types(&decoded), "i int, s varchar, f decimal, x date, new decimal");
    assert_eq!(rows(&decoded), ["5|7|1.0|null|1.0", "5|7|1.0|null|1.0"]);
    assert_eq!(rejected(&decoded), ["2 i x: not a number"]);
    let nan: ArrayRef = Arc::new(Float64Array::from(vec![1.0, f64::NAN]));
    assert_eq!(rows(&arrow(vec![("f", nan)], None).unwrap()), ["1.0", "NaN", "1.0"]);
}

#[test]
fn arrow_columns_that_cannot_be_stored_are_named() {
    let spans: ArrayRef = Arc::new(IntervalYearMonthArray::from(vec![1]));
    let fine: ArrayRef = Arc::new(Time64NanosecondArray::from(vec![1001]));
    let ones = || Arc::new(Int8Array::from(vec![1])) as ArrayRef;
    let columns = vec![("raw", spans), ("n", ones()), ("T", fine)];
    let decoded = arrow(columns.clone(), None).unwrap();
    let left_out = decoded.left_out.iter().map(|left| format!("{}: {}", left.column, left.reason));
    assert_eq!(
        left_out.collect::<Vec<_>>(),
        ["raw: it is of type Interval(YearMonth)", "T: its values would lose digits"]
    );
    assert_eq!((types(&decoded), rows(&decoded)), ("n int".into(), vec!["1".into(), "1".into()]));
    let strict = Limits { strict: true, ..Limits::default() };
    let error = decode(Input::ArrowStream, &stream(columns), None, &strict).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the column \"raw\" cannot be stored: it is of type Interval(YearMonth)"
    );
    let error = arrow(vec![("a b", ones()), ("a b", ones())], None).unwrap_err();
    assert_eq!(error.to_string(), "the columns \"a b\" and \"a b\" have the same name");
}

#[test]
fn arrow_streams_that_are_cut_are_refused() {
    let whole = stream(vec![("a", Arc::new(Int64Array::from(vec![1, 2])) as ArrayRef)]);
    let read = |bytes: &[u8]| decode(Input::ArrowStream, bytes, None, &Limits::default());
    assert_eq!(rows(&read(&whole).unwrap()), ["1", "2", "1"]);
    // A stream may also end, without the mark of its end, after a batch.
    let accepted = |length| Some(read(&whole[..length]).ok()?.accepted);
    let mut ends: Vec<usize> = (0..whole.len()).filter_map(accepted).collect();
    ends.dedup();
    assert_eq!(ends, [2, 3]);
    assert!(matches!(read(b"not arrow"), Err(Error::Arrow { .. })));
    assert!(matches!(read(b""), Err(Error::Arrow { .. })));
}

/// A stream of texts and numbers, compressed or not.
fn packed(codec: Option<CompressionType>) -> Vec<u8> {
    let texts: Vec<String> =
        (0..2000).map(|n| format!("a text that is there often {}", n % 7)).collect();
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("n", Arc::new(Int64Array::from_iter_values(0..2000))),
        ("s", Arc::new(StringArray::from(texts))),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let options = IpcWriteOptions::default().try_with_compression(codec).unwrap();
    let mut writer =
        StreamWriter::try_new_with_options(Vec::new(), &batch.schema(), options).unwrap();
    writer.write(&batch).unwrap();
    writer.into_inner().unwrap()
}

const CODECS: [Option<CompressionType>; 3] =
    [None, Some(CompressionType::LZ4_FRAME), Some(CompressionType::ZSTD)];

#[test]
fn compressed_streams_are_read_and_count_as_what_they_become() {
    for codec in CODECS {
        let bytes = packed(codec);
        let decoded = decode(Input::ArrowStream, &bytes, None, &Limits::default()).unwrap();
        assert_eq!(rows(&decoded).len(), 2000, "{codec:?}");
        let small = Limits { bytes_max: 40_000, ..Limits::default() };
        let refused = decode(Input::ArrowStream, &bytes, None, &small).unwrap_err();
        assert!(matches!(refused, Error::TooLarge { .. }), "{codec:?}: {refused:?}");
    }
}

/// Lengths that nobody could hold, at every place where a length may stand.
#[test]
fn no_declared_length_is_allocated() {
    let lengths: [i64; 8] = [1 << 62, 1 << 40, 1 << 34, -1, -2, i64::MIN, i64::MAX, 1 << 31];
    for codec in CODECS {
        let bytes = packed(codec);
        let mut refused = 0;
        for place in (0..bytes.len() - 8).step_by(4) {
            for length in lengths {
                let mut changed = bytes.clone();
                changed[place..place + 8].copy_from_slice(&length.to_le_bytes());
                // Whatever it is: it is read or refused, and this process goes on.
                let read = decode(Input::ArrowStream, &changed, None, &Limits::default());
                refused += usize::from(read.is_err());
            }
            if place > 2000 {
                break;
            }
        }
        assert!(refused > 100, "{codec:?}: {refused}");
    }
}

/// A few bytes that become many.
#[test]
fn what_would_become_too_large_is_refused_before_it_does() {
    let zeros = Int64Array::from(vec![0; 900_000]);
    let batch = RecordBatch::try_from_iter([("n", Arc::new(zeros) as ArrayRef)]).unwrap();
    for codec in [CompressionType::LZ4_FRAME, CompressionType::ZSTD] {
        let options = IpcWriteOptions::default().try_with_compression(Some(codec)).unwrap();
        let mut writer =
            StreamWriter::try_new_with_options(Vec::new(), &batch.schema(), options).unwrap();
        // Seven megabytes each.
        for _ in 0..12 {
            writer.write(&batch).unwrap();
        }
        let bytes = writer.into_inner().unwrap();
        assert!(bytes.len() < 1 << 20, "{}", bytes.len());
        let limits = Limits { rows_max: usize::MAX, cells_max: usize::MAX, ..Limits::default() };
        let refused = decode(Input::ArrowStream, &bytes, None, &limits).unwrap_err();
        assert!(matches!(refused, Error::TooLarge { what: "bytes", .. }), "{codec:?}: {refused:?}");
    }
}
