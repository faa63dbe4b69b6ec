//! `build_sql`: the template of a query that is built of its arguments. Only what the tool's schema
//! has is in it, and it is filled as every other.

use serde_json::{Map, Value, json};

/// The arguments of the query's options, each with its part of the template.
const OPTIONS: [(&str, &str); 2] = [
    ("include_tables", "[[ and include = ({include_tables}) ]]"),
    ("extend_fields", "[[ and extend = ({x:extend_fields}) ]]"),
];

/// The arguments of the query's clauses, in the order of SQL. The limit has rules of its own.
const CLAUSES: [(&str, &str); 4] = [
    ("where", "[[ WHERE {e:where} ]]"),
    ("group_by", "[[ GROUP BY {g:group_by} ]]"),
    ("having", "[[ HAVING {e:having} ]]"),
    (ORDER_BY, "[[ ORDER BY {o:order_by} ]]"),
];

/// The argument that orders the rows.
pub(crate) const ORDER_BY: &str = "order_by";

/// What the builder takes in it: `"value DESC"`, or `{"column": "value", "direction": "desc"}`.
pub(crate) const ORDERINGS: [&str; 2] = ["string", "object"];

/// How many rows a query gives that says no limit, as EdgeLake's builder has it.
const LIMIT: u64 = 100;

/// The argument that names the table.
pub(crate) const TABLE: &str = "table";

/// The arguments that such a query cannot do without.
pub(crate) const REQUIRED: [&str; 2] = ["database", TABLE];

/// The argument that is a whole SELECT, in the place of what it would be built of.
pub(crate) const WHOLE: &str = "sql";

/// The arguments that the builder knows beside those that it requires, with their schemas.
pub(crate) fn arguments() -> Vec<(String, Value)> {
    let text = || json!({ "type": "string" });
    let texts = || json!({ "type": "array", "items": { "type": "string" } });
    let count = |minimum: u64| json!({ "type": "integer", "minimum": minimum });
    let known = [
        ("select", texts()),
        ("where", text()),
        ("group_by", texts()),
        ("having", text()),
        (ORDER_BY, json!({ "type": "array", "items": { "type": ORDERINGS } })),
        ("limit", count(1)),
        ("offset", count(0)),
    ];
    known.into_iter().map(|(name, schema)| (name.to_owned(), schema)).collect()
}

/// The schema of a tool that has none of its own.
pub(crate) fn schema() -> Map<String, Value> {
    let mut properties: Map<String, Value> =
        REQUIRED.iter().map(|name| ((*name).to_owned(), json!({ "type": "string" }))).collect();
    properties.extend(arguments());
    // An object would say the same in more words, and some clients take no choice of types.
    properties.insert(
        ORDER_BY.to_owned(),
        json!({ "type": "array", "items": { "type": "string" }, "description": "value DESC" }),
    );
    let mut schema = Map::new();
    schema.insert("properties".into(), Value::Object(properties));
    schema.insert("required".into(), json!(REQUIRED));
    schema
}

/// The template for the arguments that a schema has.
pub(crate) fn template(properties: &Map<String, Value>, format: &str) -> String {
    let have = |parts: &[(&str, &str)]| -> String {
        let parts = parts.iter().filter(|(name, _)| properties.contains_key(*name));
        parts.map(|(_, part)| format!(" {part}")).collect()
    };
    let format = written_format(properties, format);
    let select = match properties.contains_key("select") {
        true => "[[ {l:select} ]][[!select *]]",
        false => "*",
    };
    let limit = match properties.get("limit") {
        None => format!(" LIMIT {LIMIT}"),
        Some(limit) if limit.get("default").is_some() => " [[ LIMIT {limit} ]]".to_owned(),
        Some(_) => format!(" [[ LIMIT {{limit}} ]][[!limit LIMIT {LIMIT} ]]"),
    };
    let offset = have(&[("offset", "[[ OFFSET {offset} ]]")]);
    let (options, clauses) = (have(&OPTIONS), have(&CLAUSES));
    format!(
        "sql {{database}} format = {format}{options} \
         \"SELECT {select} FROM {{t:table}}{clauses}{limit}{offset}\""
    )
}

/// The template for a whole SELECT.
pub(crate) fn whole(properties: &Map<String, Value>, format: &str) -> String {
    format!("sql {{database}} format = {} \"{{q:{WHOLE}}}\"", written_format(properties, format))
}

fn written_format(properties: &Map<String, Value>, format: &str) -> String {
    match properties.contains_key("format") {
        true => "{format}".to_owned(),
        false => edgemere_command::template::quote(format),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn built(properties: Value) -> String {
        template(properties.as_object().unwrap(), "json")
    }

    #[test]
    fn only_what_the_schema_has_is_in_the_query() {
        let least = json!({"database": {}, "table": {}});
        assert_eq!(
            built(least),
            "sql {database} format = \"json\" \"SELECT * FROM {t:table} LIMIT 100\""
        );
        let limit = json!({"default": 5});
        let more = json!({"database": {}, "table": {}, "select": {}, "limit": limit, "where": {}});
        assert_eq!(
            built(more),
            "sql {database} format = \"json\" \"SELECT [[ {l:select} ]][[!select *]] FROM {t:table} \
             [[ WHERE {e:where} ]] [[ LIMIT {limit} ]]\""
        );
    }

    #[test]
    fn without_a_limit_there_are_a_hundred_rows() {
        let open = json!({"database": {}, "table": {}, "limit": {}, "offset": {}});
        assert_eq!(
            built(open),
            "sql {database} format = \"json\" \"SELECT * FROM {t:table} \
             [[ LIMIT {limit} ]][[!limit LIMIT 100 ]] [[ OFFSET {offset} ]]\""
        );
    }

    #[test]
    fn options_stand_before_the_query() {
        let with = json!({"database": {}, "table": {}, "include_tables": {}, "extend_fields": {}});
        assert_eq!(
            built(with),
            "sql {database} format = \"json\" [[ and include = ({include_tables}) ]] \
             [[ and extend = ({x:extend_fields}) ]] \"SELECT * FROM {t:table} LIMIT 100\""
        );
    }
}
