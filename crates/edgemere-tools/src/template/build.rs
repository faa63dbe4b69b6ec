//! `build_sql`: the template of a query that is built of its arguments. Only what the tool's schema
//! has is in it, and it is filled as every other.

use serde_json::{Map, Value};

/// The arguments of the query's options, each with its part of the template.
const OPTIONS: [(&str, &str); 2] = [
    ("include_tables", "[[ include = ({include_tables}) and ]]"),
    ("extend_fields", "[[ extend = ({x:extend_fields}) and ]]"),
];

/// The arguments of the query's clauses, in the order of SQL.
const CLAUSES: [(&str, &str); 6] = [
    ("where", "[[ WHERE {e:where} ]]"),
    ("group_by", "[[ GROUP BY {g:group_by} ]]"),
    ("having", "[[ HAVING {e:having} ]]"),
    ("order_by", "[[ ORDER BY {o:order_by} ]]"),
    ("limit", "[[ LIMIT {limit} ]]"),
    ("offset", "[[ OFFSET {offset} ]]"),
];

/// The arguments that such a query cannot do without.
pub(crate) const REQUIRED: [&str; 2] = ["database", "table"];

/// The template for the arguments that a schema has.
pub(crate) fn template(properties: &Map<String, Value>, format: &str) -> String {
    let have = |parts: &[(&str, &str)]| -> String {
        let parts = parts.iter().filter(|(name, _)| properties.contains_key(*name));
        parts.map(|(_, part)| format!(" {part}")).collect()
    };
    let select = match properties.contains_key("select") {
        true => "[[ {l:select} ]][[!select *]]",
        false => "*",
    };
    let format = match properties.contains_key("format") {
        true => "{format}".to_owned(),
        false => edgemere_command::template::quote(format),
    };
    format!(
        "sql {{database}}{} format = {format} \"SELECT {select} FROM {{t:table}}{}\"",
        have(&OPTIONS),
        have(&CLAUSES)
    )
}
