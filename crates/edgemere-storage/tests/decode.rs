//! The rules of ingest, case by case, from JSON and CSV to rows.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod shown;

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Int64Array, RecordBatch};
use arrow::datatypes::{DataType, Field, Int64Type, Schema as ArrowSchema};
use arrow::ipc::writer::StreamWriter;
use edgemere_storage::decode::{Decoded, Error, Input, Limits, decode};
use edgemere_storage::schema::{Column, Kind, Schema};
use shown::{rejected, rows, schema, types};

fn read(input: Input, text: &str, known: Option<&Schema>) -> Result<Decoded, Error> {
    decode(input, text.as_bytes(), known, &Limits::default())
}

fn json(text: &str) -> Decoded {
    read(Input::Json, text, None).unwrap()
}

fn csv(text: &str) -> Decoded {
    read(Input::Csv, text, None).unwrap()
}

#[test]
fn types_are_those_of_edgelake() {
    // The body of capture 440; the types of captures 460 and 461.
    let decoded = json(
        r#"[{"timestamp": "2026-02-01T00:00:00Z", "i": 1, "f": 1.5, "b": true, "s": "abc", "n": null,
             "big": 12345678901234, "d": "2026-02-01", "t": "12:30:00", "nested": {"a": 1}, "lst": [1, 2]},
            {"timestamp": "2026-02-01T00:00:01.123456Z", "i": 2, "f": 2, "b": false,
             "s": "it's \"q\" \u00e9", "n": null, "big": 2, "d": "2026-02-02", "t": "12:31:00",
             "nested": {"a": 2}, "lst": [3]}]"#,
    );
    assert_eq!(
        types(&decoded),
        "timestamp timestamp, i int, f decimal, b boolean, s varchar, n varchar, big bigint, \
         d date, t time, nested varchar, lst varchar"
    );
    assert_eq!(
        rows(&decoded),
        [
            "2026-02-01T00:00:00|1|1.5|true|abc|null|12345678901234|2026-02-01|12:30:00|{\"a\":1}|[1,2]",
            "2026-02-01T00:00:01.123456|2|2.0|false|it's \"q\" é|null|2|2026-02-02|12:31:00|{\"a\":2}|[3]",
        ]
    );
    assert_eq!(decoded.added, decoded.schema.columns);
    // Capture 026, and the single row of capture 441.
    assert_eq!(types(&json(r#"[{"d": "sensor-0"}, {"d": "sensor-1"}]"#)), "d char(8)");
    assert_eq!(
        types(&json(r#"{"value": 1.25, "device_name": "x"}"#)),
        "value decimal, device_name char(1)"
    );
}

#[test]
fn all_rows_count_for_a_type() {
    for (text, expected, values) in [
        (r#"[{"a":1},{"a":2.5}]"#, "a decimal", &["1.0", "2.5"][..]),
        (r#"[{"a":1},{"a":"x"}]"#, "a varchar", &["1", "x"]),
        (r#"[{"a":1.50},{"a":[1, "b c"]}]"#, "a varchar", &["1.50", "[1,\"b c\"]"]),
        (r#"[{"a":true},{"a":0}]"#, "a varchar", &["true", "0"]),
        (
            r#"[{"a":1},{"a":18446744073709551616}]"#,
            "a numeric(38,0)",
            &["1", "18446744073709551616"],
        ),
        (r#"[{"a":2026},{"a":"2026-02-01"}]"#, "a varchar", &["2026", "2026-02-01"]),
        (
            r#"[{"a":"2026-02-01"},{"a":"2026-02-01 10:00:00+02:00"}]"#,
            "a timestamp",
            &["2026-02-01T00:00:00", "2026-02-01T08:00:00"],
        ),
        (r#"[{"a":9007199254740993},{"a":0.5}]"#, "a varchar", &["9007199254740993", "0.5"]),
        (r#"[{"a":null},{},{"a":7}]"#, "a int", &["null", "null", "7"]),
    ] {
        let decoded = json(text);
        assert_eq!(types(&decoded), expected, "{text}");
        assert_eq!(rows(&decoded), values, "{text}");
    }
    let digits = "9".repeat(39);
    let decoded = json(&format!("[{{\"a\":{digits}}}]"));
    assert_eq!((types(&decoded).as_str(), rows(&decoded)), ("a varchar", vec![digits]));
}

#[test]
fn lists_objects_and_lines() {
    for text in [
        r#"[{"a":1},{"a":2}]"#,
        " [ { \"a\" : 1 } ,\r\n { \"a\" : 2 } ] \n",
        "{\"a\":1}\n{\"a\":2}",
        "\u{feff}{\"a\":1}\r\n\r\n{\"a\":2}\r\n",
    ] {
        assert_eq!(rows(&json(text)), ["1", "2"], "{text}");
    }
    assert_eq!(rows(&json("{\n  \"a\": 1\n}\n")), ["1"]);
    assert_eq!(json("[]").accepted, 0);
    let empty = json("[{}, {}]");
    assert_eq!((empty.accepted, empty.batch.num_rows(), empty.batch.num_columns()), (2, 2, 0));
}

#[test]
fn a_bad_line_or_element_rejects_itself() {
    let decoded = json("{\"a\":1}\n{\"a\":\n\n5\n{\"a\":2} x\n{\"a\":3}\n");
    assert_eq!(rows(&decoded), ["1", "3"]);
    assert_eq!(
        rejected(&decoded),
        [
            "2 - {\"a\":: not JSON: the line ends too early at line 2, column 6",
            "3 - 5: not an object",
            "4 - {\"a\":2} x: not JSON: unexpected text after the value at line 5, column 9",
        ]
    );
    let decoded = json(r#"[{"a":1}, 5, [ {"a":2} ], null, "x", {"a":3}]"#);
    assert_eq!(rows(&decoded), ["1", "3"]);
    assert_eq!(decoded.rejected_total, 4);
    assert_eq!(rejected(&decoded)[1], "3 - [ {\"a\":2} ]: not an object");
    // What only a rejected row has makes no column.
    assert_eq!(types(&json("{\"a\":1}\n{\"b\":1, x}\n")), "a int");
}

#[test]
fn what_cannot_be_read_is_refused_with_a_position() {
    for (input, bytes, message) in [
        (Input::Json, &b""[..], "the input is empty"),
        (Input::Json, b" \n", "the input is empty"),
        (
            Input::Json,
            b"{\"timestamp\": ",
            "the input is not JSON: the input ends too early at line 1, column 15",
        ),
        (
            Input::Json,
            b"[{\"a\":1},\n{\"a\" 2}]",
            "the input is not JSON: expected \":\" at line 2, column 6",
        ),
        (
            Input::Json,
            b"[{\"a\":1}",
            "the input is not JSON: the input ends too early at line 1, column 9",
        ),
        (
            Input::Json,
            b"[{\"a\":1}] x",
            "the input is not JSON: unexpected text after the value at line 1, column 11",
        ),
        (
            Input::Json,
            b"hello",
            "the input is not JSON: expected a list or an object at line 1, column 1",
        ),
        (
            Input::Json,
            b"5",
            "the input is not JSON: expected a list or an object at line 1, column 1",
        ),
        (
            Input::Json,
            b"[{\"a\":NaN}]",
            "the input is not JSON: expected a value at line 1, column 7",
        ),
        (Input::Json, b"[{\"a\":\"\xff\"}]", "the input is not UTF-8 at line 1, column 8"),
        (Input::Csv, b"", "the input is empty"),
        (Input::Csv, b"a,b\n1,\xff", "the input is not UTF-8 at line 2, column 3"),
        (Input::Csv, b"a,\"b\n1,2", "the quote at line 1, column 3 is never closed"),
        (
            Input::Csv,
            b"1,2\n3,4",
            "column 1 has the name \"1\": the first line must be the names of the columns",
        ),
        (Input::Csv, b"a,\n3,4", "column 2 has the name \"\": the name is empty"),
        (Input::Csv, b"a b, a b\n3,4", "the columns \"a b\" and \" a b\" have the same name"),
    ] {
        let error = decode(input, bytes, None, &Limits::default()).unwrap_err();
        assert_eq!(error.to_string(), message);
    }
}

#[test]
fn limits_hold() {
    let limits = Limits {
        bytes_max: 100,
        rows_max: 3,
        columns_max: 2,
        cells_max: 5,
        name_chars_max: 4,
        rejected_max: 1,
        ..Limits::default()
    };
    for (text, message) in [
        (" ".repeat(101), "the input has more than 100 bytes"),
        ("[{},{},{},{}]".into(), "the input has more than 3 rows"),
        ("[{\"a\":1,\"b\":1,\"c\":1}]".into(), "the input has more than 2 columns"),
        (
            "[{},{},{\"a\":1,\"b\":1}]".into(),
            "the input has more than 5 values (rows times columns)",
        ),
    ] {
        let error = decode(Input::Json, text.as_bytes(), None, &limits).unwrap_err();
        assert_eq!(error.to_string(), message);
        assert_eq!(error.hint(), Some("send the rows in several parts"));
    }
    // Keys that are written in ever new ways do not fill the memory either.
    let spellings = |count| (0..count).map(|count| format!("\"a{}\":1", " ".repeat(count)));
    let text = format!("{{{}}}", spellings(9).collect::<Vec<_>>().join(","));
    let limits_of_bytes = Limits { bytes_max: 1_000, ..limits.clone() };
    let error = decode(Input::Json, text.as_bytes(), None, &limits_of_bytes).unwrap_err();
    assert_eq!(error.to_string(), "the input has more than 2 columns");
    let error = decode(Input::Csv, b"a,b,c", None, &limits).unwrap_err();
    assert_eq!(error.to_string(), "the input has more than 2 columns");
    let decoded = decode(Input::Json, b"[1,2,{\"abcde\":1}]", None, &limits).unwrap();
    assert_eq!((decoded.rejected.len(), decoded.rejected_total), (1, 3));
}

#[test]
fn names() {
    let decoded = json(r#"[{" Device Name ": 1, "a.b": 2, "Gr\u00f6\u00dfe": 3}]"#);
    assert_eq!(types(&decoded), "device_name int, a_b int, größe int");
    let decoded = json(
        r#"[{"row_id": 7, "INSERT_TIMESTAMP": "x", "tsd_name": "1", "tsd_id": 1, "v": 1},
            {"row_id": 8, "v": 2}]"#,
    );
    assert_eq!((types(&decoded).as_str(), rows(&decoded)), ("v int", vec!["1".into(), "2".into()]));
    assert_eq!(decoded.ignored, ["row_id", "insert_timestamp", "tsd_name", "tsd_id"]);
    let decoded =
        json(r#"[{"a":1}, {"A":2}, {"a":3,"A":4}, {"":1}, {"a":5,"a":6}, {"a":7,"\u0061":8}]"#);
    // In one row they are two columns; in rows of their own, one.
    assert_eq!(rows(&decoded), ["1|null", "2|null", "3|4", "6|null", "8|null"]);
    assert_eq!(rejected(&decoded), ["4 - {\"\":1}: the key \"\": the name is empty"]);
    let decoded = json(r#"[{"a": 1, " a": 2}]"#);
    assert_eq!(rejected(&decoded).len(), 1, "nobody could tell them apart again");
}

/// The columns with what they were called.
fn called(decoded: &Decoded) -> Vec<String> {
    let column = |column: &Column| match &column.original {
        Some(original) => format!("{} = {original}", column.name),
        None => column.name.clone(),
    };
    decoded.schema.columns.iter().map(column).collect()
}

/// One Arrow stream of whole numbers.
fn numbers(names: &[&str]) -> Vec<u8> {
    let fields: Vec<_> =
        names.iter().map(|name| Field::new(*name, DataType::Int64, true)).collect();
    let arrays = (1..).take(names.len()).map(|n| Arc::new(Int64Array::from(vec![n])) as ArrayRef);
    let schema = Arc::new(ArrowSchema::new(fields));
    let batch = RecordBatch::try_new(Arc::clone(&schema), arrays.collect()).unwrap();
    let mut writer = StreamWriter::try_new(Vec::new(), &schema).unwrap();
    writer.write(&batch).unwrap();
    writer.into_inner().unwrap()
}

#[test]
fn names_keep_what_they_were_by_every_way() {
    let ways = |names: &[&str]| {
        let values: Vec<_> = (1..=names.len()).map(|n| n.to_string()).collect();
        let pairs = names.iter().zip(&values).map(|(name, value)| format!("\"{name}\": {value}"));
        [
            (Input::Json, format!("[{{{}}}]", pairs.collect::<Vec<_>>().join(",")).into_bytes()),
            (Input::Csv, format!("{}\n{}\n", names.join(","), values.join(",")).into_bytes()),
            (Input::ArrowStream, numbers(names)),
        ]
    };
    let limits = Limits::default();
    let names = ["Temp (C)", "temp_c", "TEMP C", "Humidity %", "site"];
    for (input, bytes) in ways(&names) {
        let first = decode(input, &bytes, None, &limits).unwrap();
        let mut expected = [
            "temp_c",
            "temp_c_2 = Temp (C)",
            "temp_c_3 = TEMP C",
            "humidity_percent = Humidity %",
            "site",
        ];
        let mut told = called(&first);
        told.sort();
        expected.sort_unstable();
        assert_eq!(told, expected, "{input:?}");
        let value = |decoded: &Decoded, name: &str| {
            let column = decoded.batch.column_by_name(name).unwrap();
            column.as_primitive::<Int64Type>().value(0)
        };
        assert_eq!(["temp_c_2", "temp_c", "temp_c_3"].map(|name| value(&first, name)), [1, 2, 3]);
        // The same again, and in another order, by every other way: nothing is new.
        for (again, bytes) in ways(&names) {
            let same = decode(again, &bytes, Some(&first.schema), &limits).unwrap();
            assert_eq!(same.schema, first.schema, "{input:?} {again:?}");
            assert_eq!(["temp_c_2", "temp_c", "temp_c_3"].map(|n| value(&same, n)), [1, 2, 3]);
        }
        for (again, bytes) in ways(&["TEMP C", "Temp (C)", "temp_c"]) {
            let same = decode(again, &bytes, Some(&first.schema), &limits).unwrap();
            assert_eq!(same.schema, first.schema, "{input:?} {again:?}");
            assert_eq!(["temp_c_2", "temp_c", "temp_c_3"].map(|n| value(&same, n)), [2, 3, 1]);
        }
        for (again, bytes) in ways(&["TEMP C"]) {
            let same = decode(again, &bytes, Some(&first.schema), &limits).unwrap();
            assert_eq!((same.added.len(), value(&same, "temp_c_3")), (0, 1), "{again:?}");
        }
    }
    // A table that was made by hand: what comes beside its column gets a name of its own.
    let known = schema(&[("temp_c", Kind::Int)]);
    for (input, bytes) in ways(&["Temp (C)", "TEMP C"]) {
        let more = decode(input, &bytes, Some(&known), &limits).unwrap();
        assert_eq!(called(&more), ["temp_c", "temp_c_2 = TEMP C"], "{input:?}");
    }
    for (input, bytes) in ways(&["a", "a"]).into_iter().skip(1) {
        let error = decode(input, &bytes, None, &limits).unwrap_err();
        assert_eq!(error.to_string(), "the columns \"a\" and \"a\" have the same name");
    }
}

#[test]
fn known_columns_keep_their_types() {
    let known = schema(&[
        ("t", Kind::Timestamp),
        ("v", Kind::Decimal),
        ("n", Kind::Int),
        ("s", Kind::Char(1)),
    ]);
    let text = r#"[{"v": "1.5", "n": 5.0, "s": "longer", "t": "2026-02-01"},
        {"v": "not a number", "new": {"only": "here"}},
        {"n": 5.5}, {"t": 1769904000}, {"v": {"a": 1}},
        {"s": {"a": [1, 2]}, "V": 2, "humidity": 55, "n": "7"},
        {}]"#;
    let fixed = Limits { fixed: vec!["n".into()], ..Limits::default() };
    let decoded = decode(Input::Json, text.as_bytes(), Some(&known), &fixed).unwrap();
    assert_eq!(types(&decoded), "t timestamp, v decimal, n int, s char(1), humidity int");
    assert_eq!(decoded.added, schema(&[("humidity", Kind::Int)]).columns);
    assert_eq!(
        rows(&decoded),
        [
            "2026-02-01T00:00:00|1.5|5|longer|null",
            "null|2.0|7|{\"a\":[1,2]}|55",
            "null|null|null|null|null",
        ]
    );
    let others = [
        "2 v not a number: not a number",
        "4 t 1769904000: not a timestamp, which is written 2026-12-31T23:59:59Z",
        "5 v {\"a\":1}: not a number",
    ];
    let [first, rest @ ..] = others;
    let all: Vec<_> = [first, "3 n 5.5: not a whole number"].into_iter().chain(rest).collect();
    assert_eq!(rejected(&decoded), all);
    // One that is not fixed becomes wider.
    let decoded = read(Input::Json, text, Some(&known)).unwrap();
    assert_eq!(types(&decoded), "t timestamp, v decimal, n decimal, s char(1), humidity int");
    assert_eq!(decoded.added, schema(&[("humidity", Kind::Int)]).columns);
    assert_eq!(
        rows(&decoded),
        [
            "2026-02-01T00:00:00|1.5|5.0|longer|null",
            "null|null|5.5|null|null",
            "null|2.0|7.0|{\"a\":[1,2]}|55",
            "null|null|null|null|null",
        ]
    );
    assert_eq!(rejected(&decoded), others);
}

#[test]
fn texts_pass_unchanged() {
    let long = "x".repeat(1 << 20);
    for text in
        ["it's", "\"", "\\", "a\0b", "é", "😀", "\u{feff}", "x'; drop table t --", &long, "", " a "]
    {
        let body = format!("[{{\"a\":{}}}]", serde_json::to_string(text).unwrap());
        assert_eq!(rows(&json(&body)), [text]);
    }
}

#[test]
fn csv_rows() {
    let decoded =
        csv("t,n,f,b,s,z\r\n2026-02-01T00:00:00Z,1,1.5,true,\"it's, \"\"q\"\"\nx\",\r\n\r\n\
         2026-02-01 01:00:00+01:00,2147483648,2,FALSE,,\n1,2\n");
    assert_eq!(
        types(&decoded),
        "t timestamp, n bigint, f decimal, b boolean, s char(11)",
        "a column without a value waits for its first one"
    );
    assert_eq!(
        rows(&decoded),
        [
            "2026-02-01T00:00:00|1|1.5|true|it's, \"q\"\nx",
            "2026-02-01T00:00:00|2147483648|2.0|false|null",
        ]
    );
    assert_eq!(rejected(&decoded), ["3 - 1,2: has 2 fields and not 6"]);
    let known = schema(&[("v", Kind::Decimal)]);
    let decoded =
        read(Input::Csv, "V,row_id\nNaN,1\n 2.5,2\n\"\",3\n\"1\"x,4\n", Some(&known)).unwrap();
    assert_eq!(rows(&decoded), ["NaN", "2.5", "null"]);
    assert_eq!(decoded.ignored, ["row_id"]);
    assert_eq!(rejected(&decoded), ["4 - \"1\"x,4: has text after a closing quote"]);
    let decoded = csv("zip,phone,x\n007,+49,NaN\n008,+50,1\n");
    assert_eq!(types(&decoded), "zip char(3), phone char(3), x decimal");
}
