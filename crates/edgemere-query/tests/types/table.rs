//! The tables of docs/guides/types.md, line by line: each value is stored, and asked for in every format
//! before and after it has settled.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryArray, BinaryViewArray, BooleanArray, Date32Array, Date64Array, Decimal32Array,
    Decimal64Array, Decimal128Array, Decimal256Array, DictionaryArray, DurationMillisecondArray,
    FixedSizeBinaryArray, Float32Array, Float64Array, Int8Array, Int16Array, Int32Array,
    Int32Builder, Int64Array, LargeBinaryArray, LargeStringArray, ListArray, MapBuilder, NullArray,
    RecordBatch, StringArray, StringBuilder, StringViewArray, StructArray, Time32MillisecondArray,
    Time32SecondArray, Time64MicrosecondArray, Time64NanosecondArray, TimestampMicrosecondArray,
    TimestampMillisecondArray, TimestampNanosecondArray, TimestampSecondArray, UInt8Array,
    UInt16Array, UInt32Array, UInt64Array,
};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Int32Type, TimeUnit, i256};
use arrow::ipc::reader::StreamReader;
use edgemere_query::Definition;
use edgemere_query::Engine;
use edgemere_query::sql::{ArrowStream, Batch, ParquetStream, Times};
use edgemere_storage::Kind;
use edgemere_storage::decode::Input;
use edgemere_storage::schema::{Column, Schema};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use crate::{array, arrow, flush, open, put};

const GUIDE: &str = include_str!("../../../../docs/guides/types.md");

/// 2026-01-31T12:30:00Z.
const SECOND: i64 = 1_769_862_600;

/// The lines of the table whose head begins so, each as what stands between its bars, without the ticks.
fn lines(head: &str) -> Vec<Vec<String>> {
    let mut lines = GUIDE.lines().skip_while(|line| !line.starts_with(head));
    let columns = lines.next().unwrap().matches('|').count() - 1;
    let lines = lines.skip(1).take_while(|line| line.starts_with('|'));
    let cell = |cell: &str| cell.trim().trim_start_matches('`').trim_end_matches('`').to_owned();
    let cells = |line: &str| line.trim_matches('|').split(" | ").map(cell).collect::<Vec<_>>();
    let lines: Vec<_> = lines.map(cells).collect();
    assert!(lines.iter().all(|cells| cells.len() == columns), "{lines:#?}");
    assert!(lines.len() > 5);
    lines
}

/// The value of the one row of `d.t`, as a batch.
async fn value(engine: &Engine) -> Batch {
    let mut query = engine.sql().query("d", "select v from t", None).await.unwrap();
    query.next().await.unwrap().unwrap()
}

/// Checks what the one value looks like, fresh and settled.
async fn check(engine: &Engine, type_name: &str, json: &str, csv: &str, out: Option<&DataType>) {
    let schema = engine.storage().table("d", "t").unwrap().schema();
    assert_eq!(schema.columns[0].kind.sql(), type_name);
    let defined = Definition::from_columns("t", &format!("v {type_name}")).unwrap();
    assert_eq!(*schema, defined.schema().unwrap());
    for is_settled in [false, true] {
        if is_settled {
            flush(engine).await;
        }
        let batch = value(engine).await;
        assert_eq!(batch.json_lists(Times::Plain).unwrap().trim(), format!("[{json}]"));
        assert_eq!(batch.json_objects(Times::Plain).unwrap().trim(), format!("{{\"v\":{json}}}"));
        let shown = batch.csv(Times::Plain, false).unwrap();
        assert_eq!(shown.trim_end_matches('\n'), csv);
        let (arrow, parquet) = (arrow_reply(&batch), parquet_reply(&batch));
        assert_eq!(arrow.column(0), parquet.column(0));
        if let Some(out) = out {
            assert_eq!(arrow.column(0).data_type(), out);
        }
        // What was given out can be taken in again, and is the same.
        let scratch = tempfile::tempdir().unwrap();
        let again = open(scratch.path());
        put(&again, Input::ArrowStream, &crate::arrow("v", arrow.column(0).clone())).await;
        assert_eq!(self::value(&again).await.csv(Times::Plain, false).unwrap(), shown);
    }
}

fn arrow_reply(batch: &Batch) -> RecordBatch {
    let mut stream = ArrowStream::new(batch).unwrap();
    let mut bytes = stream.rows(batch).unwrap();
    bytes.extend(stream.end().unwrap());
    StreamReader::try_new(bytes.as_slice(), None).unwrap().next().unwrap().unwrap()
}

fn parquet_reply(batch: &Batch) -> RecordBatch {
    let mut stream = ParquetStream::new(batch).unwrap();
    let mut bytes = stream.rows(batch).unwrap();
    bytes.extend(stream.end().unwrap());
    let reader = ParquetRecordBatchReaderBuilder::try_new(bytes::Bytes::from(bytes)).unwrap();
    reader.build().unwrap().next().unwrap().unwrap()
}

#[tokio::test]
async fn values_of_json_and_csv() {
    for line in lines("| JSON | CSV |") {
        let [json, csv, type_name, json_reply, csv_reply] = &line[..] else { panic!("{line:?}") };
        let json = format!("{{\"v\": {json}}}").into_bytes();
        let csv = format!("v\n{csv}\n").into_bytes();
        for (input, bytes) in [(Input::Json, &json), (Input::Lines, &json), (Input::Csv, &csv)] {
            let scratch = tempfile::tempdir().unwrap();
            let engine = open(scratch.path());
            println!("{line:?} {input:?}");
            assert_eq!(put(&engine, input, bytes).await.stored, 1);
            check(&engine, type_name, json_reply, csv_reply, None).await;
        }
    }
}

#[tokio::test]
async fn values_into_known_columns() {
    for line in lines("| column | JSON |") {
        let [type_name, json, json_reply, csv_reply] = &line[..] else { panic!("{line:?}") };
        println!("{line:?}");
        let scratch = tempfile::tempdir().unwrap();
        let engine = open(scratch.path());
        let kind = kind_of(type_name);
        let schema = Schema { columns: vec![Column::new("v", kind)] };
        engine.storage().create_table("d", "t", schema).await.unwrap();
        let put = put(&engine, Input::Json, format!("{{\"v\": {json}}}").as_bytes()).await;
        assert_eq!(put.rejected, []);
        check(&engine, type_name, json_reply, csv_reply, None).await;
        // What a reply has can be sent back.
        let sent = format!("{{\"v\": {json_reply}}}");
        assert_eq!(crate::put(&engine, Input::Json, sent.as_bytes()).await.rejected, []);
        assert_eq!(
            crate::ask(&engine, "select count(*) from (select distinct v from t)").await,
            "[1]"
        );
    }
}

fn kind_of(type_name: &str) -> Kind {
    let defined = Definition::from_columns("t", &format!("v {type_name}")).unwrap();
    defined.schema().unwrap().columns[0].kind
}

#[tokio::test]
async fn values_of_arrow() {
    for line in lines("| in | column |") {
        let [given, type_name, json_reply, csv_reply, out] = &line[..] else { panic!("{line:?}") };
        println!("{line:?}");
        let scratch = tempfile::tempdir().unwrap();
        let engine = open(scratch.path());
        let column = sample(given);
        let put = put(&engine, Input::ArrowStream, &arrow("v", column)).await;
        assert_eq!((put.stored, put.left_out), (1, vec![]));
        let out = data_type(out);
        check(&engine, type_name, json_reply, csv_reply, Some(&out)).await;
    }
}

/// The type of a reply.
fn data_type(name: &str) -> DataType {
    let utc = || Some("UTC".into());
    match name {
        "Boolean" => DataType::Boolean,
        "Int64" => DataType::Int64,
        "Float64" => DataType::Float64,
        "Date32" => DataType::Date32,
        "Utf8" => DataType::Utf8,
        "Binary" => DataType::Binary,
        "Time64(µs)" => DataType::Time64(TimeUnit::Microsecond),
        "Duration(µs)" => DataType::Duration(TimeUnit::Microsecond),
        "Timestamp(µs)" => DataType::Timestamp(TimeUnit::Microsecond, None),
        "Timestamp(ns)" => DataType::Timestamp(TimeUnit::Nanosecond, None),
        "Timestamp(µs, \"UTC\")" => DataType::Timestamp(TimeUnit::Microsecond, utc()),
        "Timestamp(ns, \"UTC\")" => DataType::Timestamp(TimeUnit::Nanosecond, utc()),
        name => {
            let size = name.strip_prefix("Decimal128(").unwrap().strip_suffix(')').unwrap();
            let (digits, scale) = size.split_once(", ").unwrap();
            DataType::Decimal128(digits.parse().unwrap(), scale.parse().unwrap())
        }
    }
}

/// A column of one value, of a type by its name.
#[expect(clippy::too_many_lines, reason = "a line for each type")]
fn sample(name: &str) -> ArrayRef {
    const CENTS: i64 = 99_999_999_999_999_999;
    let nanos = SECOND * 1_000_000_000 + 123_456_789;
    match name {
        "Boolean" => array(BooleanArray::from(vec![true])),
        "Int8" => array(Int8Array::from(vec![-7])),
        "Int16" => array(Int16Array::from(vec![-7])),
        "Int32" => array(Int32Array::from(vec![-7])),
        "Int64" => array(Int64Array::from(vec![-7])),
        "UInt8" => array(UInt8Array::from(vec![7])),
        "UInt16" => array(UInt16Array::from(vec![7])),
        "UInt32" => array(UInt32Array::from(vec![7])),
        "UInt64" => array(UInt64Array::from(vec![u64::MAX])),
        "Float16" => cast(&Float32Array::from(vec![0.5]), &DataType::Float16).unwrap(),
        "Float32" => array(Float32Array::from(vec![0.5])),
        "Float64" => array(Float64Array::from(vec![f64::NAN])),
        "Decimal32(5, 2)" => {
            array(Decimal32Array::from(vec![99_999]).with_precision_and_scale(5, 2).unwrap())
        }
        "Decimal64(17, 2)" => {
            array(Decimal64Array::from(vec![CENTS]).with_precision_and_scale(17, 2).unwrap())
        }
        "Decimal128(17, 2)" => array(
            Decimal128Array::from(vec![i128::from(CENTS)]).with_precision_and_scale(17, 2).unwrap(),
        ),
        "Decimal256(40, 2)" => {
            let cents = vec![i256::from_i128(CENTS.into())];
            array(Decimal256Array::from(cents).with_precision_and_scale(40, 2).unwrap())
        }
        "Date32" => array(Date32Array::from(vec![20_484])),
        "Date64" => array(Date64Array::from(vec![20_484 * 86_400_000])),
        "Time32(s)" => array(Time32SecondArray::from(vec![45_000])),
        "Time32(ms)" => array(Time32MillisecondArray::from(vec![45_000_000])),
        "Time64(µs)" => array(Time64MicrosecondArray::from(vec![45_000_000_000])),
        "Time64(ns)" => array(Time64NanosecondArray::from(vec![45_000_000_000_000])),
        "Timestamp(s)" => array(TimestampSecondArray::from(vec![SECOND])),
        "Timestamp(ms)" => array(TimestampMillisecondArray::from(vec![SECOND * 1000])),
        "Timestamp(µs)" => array(TimestampMicrosecondArray::from(vec![SECOND * 1_000_000])),
        "Timestamp(ns)" => array(TimestampNanosecondArray::from(vec![nanos])),
        "Timestamp(µs, \"UTC\")" => {
            array(TimestampMicrosecondArray::from(vec![SECOND * 1_000_000]).with_timezone("UTC"))
        }
        "Timestamp(ns, \"Europe/Berlin\")" => {
            array(TimestampNanosecondArray::from(vec![nanos]).with_timezone("Europe/Berlin"))
        }
        "Duration(ms)" => array(DurationMillisecondArray::from(vec![93_600_500])),
        "Utf8" => array(StringArray::from(vec!["sensor-0"])),
        "LargeUtf8" => array(LargeStringArray::from(vec!["sensor-0"])),
        "Utf8View" => array(StringViewArray::from(vec!["sensor-0"])),
        "Dictionary(Int32, Utf8)" => {
            array(["sensor-0"].into_iter().collect::<DictionaryArray<Int32Type>>())
        }
        "Binary" => array(BinaryArray::from_vec(vec![b"\x00\xff"])),
        "LargeBinary" => array(LargeBinaryArray::from_vec(vec![b"\x00\xff"])),
        "BinaryView" => array(BinaryViewArray::from_iter_values([b"\x00\xff"])),
        "FixedSizeBinary(2)" => {
            array(FixedSizeBinaryArray::try_from_iter([b"\x00\xff"].into_iter()).unwrap())
        }
        "List(Int32)" => {
            array(ListArray::from_iter_primitive::<Int32Type, _, _>([Some([Some(1), None])]))
        }
        "Struct(\"x\": Boolean)" => {
            let field = Arc::new(Field::new("x", DataType::Boolean, true));
            array(StructArray::from(vec![(field, array(BooleanArray::from(vec![true])))]))
        }
        "Map" => {
            let mut map = MapBuilder::new(None, StringBuilder::new(), Int32Builder::new());
            map.keys().append_value("k");
            map.values().append_value(1);
            map.append(true).unwrap();
            array(map.finish())
        }
        "Null" => array(NullArray::new(1)),
        other => panic!("there is no sample of {other}"),
    }
}
