//! `build_sql`: the template of a query that is built of its arguments. Only what the tool's schema
//! has is in it, and it is filled as every other.

use serde_json::{Map, Value};

/// The arguments of the query's options, each with its part of the template.
const OPTIONS: [(&str, &str); 2] = [
    ("include_tables", "[[ and include = ({include_tables}) ]]"),
    ("extend_fields", "[[ and extend = ({x:extend_fields}) ]]"),
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
    let format = match properties.contains_key("format") {
        true => "{format}".to_owned(),
        false => edgemere_command::template::quote(format),
    };
    let select = match properties.contains_key("select") {
        true => "[[ {l:select} ]][[!select *]]",
        false => "*",
    };
    let (options, clauses) = (have(&OPTIONS), have(&CLAUSES));
    format!(
        "sql {{database}} format = {format}{options} \"SELECT {select} FROM {{t:table}}{clauses}\""
    )
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
        assert_eq!(built(least), "sql {database} format = \"json\" \"SELECT * FROM {t:table}\"");
        let more = json!({"database": {}, "table": {}, "select": {}, "limit": {}, "where": {}});
        assert_eq!(
            built(more),
            "sql {database} format = \"json\" \"SELECT [[ {l:select} ]][[!select *]] FROM {t:table} \
             [[ WHERE {e:where} ]] [[ LIMIT {limit} ]]\""
        );
    }

    #[test]
    fn options_stand_before_the_query() {
        let with = json!({"database": {}, "table": {}, "include_tables": {}, "extend_fields": {}});
        assert_eq!(
            built(with),
            "sql {database} format = \"json\" [[ and include = ({include_tables}) ]] \
             [[ and extend = ({x:extend_fields}) ]] \"SELECT * FROM {t:table}\""
        );
    }
}
