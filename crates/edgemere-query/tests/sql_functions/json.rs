//! JSON in columns of text.

use serde_json::json;

use crate::Scene;

fn scene() -> Scene {
    Scene::new(&[(
        "t",
        json!([
            {"id": 1, "doc": r#"{"a": {"b": [10, 2.50, "x\ny"]}, "n": null, "t": true, "s": "7"}"#},
            {"id": 2, "doc": r#"{"a": 1e3, "big": 123456789012345678901234567890, "k k": "é"}"#},
            {"id": 3, "doc": "[1, [2, 3], {\"a\": 4}]"},
            {"id": 4, "doc": "{broken"},
            {"id": 5, "doc": ""},
            {"id": 6, "doc": null},
            {"id": 7, "doc": "\"text\""},
        ]),
    )])
}

#[test]
fn operators_get_keys_and_places() {
    scene().check(&[
        ("select doc -> 'a' -> 'b' -> 1 as x from t where id = 1", "[\"2.50\"]"),
        ("select doc -> 'a' -> 'b' ->> 2 as x from t where id = 1", "[\"x\\ny\"]"),
        ("select doc -> 'a' -> 'b' -> -1 as x from t where id = 1", "[\"\\\"x\\\\ny\\\"\"]"),
        ("select doc -> 'n' as x, doc ->> 'n' as y from t where id = 1", "[\"null\",null]"),
        (
            "select doc ->> 'big' as x, doc ->> 'k k' as y from t where id = 2",
            "[\"123456789012345678901234567890\",\"é\"]",
        ),
        ("select doc -> 1 ->> 0 as x, doc -> '1' as y from t where id = 3", "[\"2\",null]"),
        (
            "select id, doc -> 'a' as x from t where id > 3 order by id",
            "[4,null] [5,null] [6,null] [7,null]",
        ),
        ("select count(*) from t where doc ->> 's' = '7' and (doc -> 'a') is not null", "[1]"),
        ("select id from t where json_get_float(doc, 'a') > 999", "[2]"),
        ("select doc ->> null as x, doc -> 'a' ->> null as y from t where id = 1", "[null,null]"),
        ("select '[1, 2]' ->> 1 as x, '{\"a\": \"\"}' ->> 'a' as y", "[\"2\",\"\"]"),
        ("select '{\"7\": 1}' -> id::varchar as x from t where id = 7", "[\"1\"]"),
    ]);
}

#[test]
fn functions_give_values_of_a_type_or_null() {
    scene().check(&[
        ("select json_get(doc, 'a', 'b', 0) as x from t where id = 1", "[\"10\"]"),
        ("select json_get_int(doc, 'a', 'b', 0) as x, json_get_int(doc, 's') as y from t where id = 1", "[10,null]"),
        ("select json_get_int(doc, 'a') as x, json_get_int(doc, 'big') as y from t where id = 2", "[1000,null]"),
        ("select json_get_float(doc, 'a', 'b', 1) as x from t where id = 1", "[2.5]"),
        ("select json_get_bool(doc, 't') as x, json_get_bool(doc, 's') as y from t where id = 1", "[true,null]"),
        ("select json_get_str(doc, 's') as x, json_get_str(doc, 't') as y from t where id = 1", "[\"7\",null]"),
        ("select json_array_length(doc) as x, json_array_length(doc, 1) as y from t where id = 3", "[3,2]"),
        ("select json_array_length(doc) as x from t where id in (1, 4)", "[null] [null]"),
        ("select json_keys(doc) as x from t where id = 2", "[[\"a\",\"big\",\"k k\"]]"),
        ("select id, json_typeof(doc) as x from t where id <> 2 order by id", "[1,\"object\"] [3,\"array\"] [4,null] [5,null] [6,null] [7,\"string\"]"),
        ("select id, json_contains(doc, 'a') as x from t where id < 5 order by id", "[1,true] [2,true] [3,false] [4,null]"),
        ("select json_extract(doc, '$.a.b[0]') as x, json_extract_text(doc, '$[\"s\"]') as y from t where id = 1", "[\"10\",\"7\"]"),
        ("select sum(json_get_int(doc, 'a', 'b', 0)) as x from t", "[10]"),
        ("select doc ->> 's' as s, count(*) from t group by 1 order by 1", "[\"7\",1] [null,6]"),
    ]);
}

#[test]
fn arrays_become_rows() {
    scene().check(&[
        ("select unnest(json_array_elements(doc)) as x from t where id = 3", "[\"1\"] [\"[2, 3]\"] [\"{\\\"a\\\": 4}\"]"),
        ("select unnest(json_array_elements_text(doc, 'a', 'b')) as x from t where id = 1", "[\"10\"] [\"2.50\"] [\"x\\ny\"]"),
        ("select count(*) from (select unnest(json_array_elements(doc)) as x from t)", "[3]"),
        ("select id, unnest(json_keys(doc)) as k from t where id = 2", "[2,\"a\"] [2,\"big\"] [2,\"k k\"]"),
        ("select unnest(make_array(1, 2)) as x", "[1] [2]"),
        ("select sum(x::int) from (select unnest(json_array_elements_text('[1, 2, null, 4]')) as x)", "[7]"),
    ]);
}

#[test]
fn what_is_wrong_is_told() {
    scene().refuse(&[
        ("select id -> 'a' from t", "json_get needs a text that is JSON, not bigint"),
        ("select json_get_int(doc, 1.5) from t", "goes by keys and whole numbers"),
        ("select json_extract(doc, 'a') from t", "is not a JSON path"),
        ("select json_extract(doc, '$.a[*]') from t", "without wildcards"),
        ("select json_extract(doc) from t", "one path as"),
        ("select json_get() from t", "json_get"),
    ]);
}
