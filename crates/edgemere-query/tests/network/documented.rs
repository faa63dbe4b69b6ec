//! The examples in `docs/reference/sql.md` that are plain SQL: each is answered, with rows, and over the
//! network as by one database with all rows.

use edgemere_storage::decode::Input;
use edgemere_storage::schema::Kind;
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::rows::schema;
use crate::{Cluster, DBMS, OFFICE};

/// The page.
const PAGE: &str = include_str!("../../../../docs/reference/sql.md");

/// The statements of the page's blocks of SQL.
fn examples() -> Vec<String> {
    let blocks = PAGE.split("```sql\n").skip(1).filter_map(|block| block.split("```").next());
    let statements = blocks.flat_map(|block| block.split(';')).map(str::trim);
    statements.filter(|statement| !statement.is_empty()).map(str::to_owned).collect()
}

/// What three devices measured in two days. The second of them began to count again.
fn readings() -> Vec<Value> {
    let reading = |n: i64| {
        let device = ["pump-1", "pump-2", "pump-3"][(n % 3) as usize];
        let counter = if device == "pump-2" && n > 60 { n - 60 } else { n * 10 };
        let unit = if n % 2 == 0 { "bar" } else { "psi" };
        let (day, hour, minute) = (1 + n / 48, n / 2 % 24, n % 2 * 30);
        json!({
            "at": format!("2026-01-{day:02} {hour:02}:{minute:02}:00"),
            "device": device,
            "value": if n % 7 == 0 { Value::Null } else { json!((n * 37 % 101) as f64 / 4.0) },
            "counter": counter,
            "doc": format!(
                r#"{{"unit": "{unit}", "tags": ["t{}", "all"], "gps": {{"lat": 45.5, "lon": {n}}}}}"#,
                n % 4
            ),
        })
    };
    // Not all hours have rows.
    (0..96).filter(|n| n % 11 > 3).map(reading).collect()
}

fn devices() -> Vec<Value> {
    let device = |n: i64| json!({"device": format!("pump-{n}"), "site": format!("site {}", n % 2)});
    (1..=4).map(device).collect()
}

/// Columns with names that SQL has only in quotes.
fn climate() -> Vec<Value> {
    (0..12)
        .map(|n| json!({"Air Temp (°C)": 18.5 + f64::from(n % 5), "Humidity %": 40 + n}))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_example_is_answered_by_the_network_as_by_one_database() {
    let cluster = Cluster::start(3).await;
    let tables = [
        (DBMS, "readings", readings()),
        (DBMS, "climate", climate()),
        (OFFICE, "devices", devices()),
    ];
    for (dbms, table, rows) in tables {
        let put = async |engine: &edgemere_query::Engine, rows: &[Value]| {
            let bytes = serde_json::to_vec(rows).unwrap();
            let put = engine.put(dbms, table, Input::Json, &bytes).await.unwrap();
            assert_eq!(put.stored, rows.len(), "{:?}", put.rejected);
        };
        put(&cluster.whole, &rows).await;
        for (place, node) in cluster.nodes.iter().enumerate() {
            let part = rows.iter().enumerate().filter(|(n, _)| n * 7 % 3 == place);
            put(&node.engine, &part.map(|(_, row)| row.clone()).collect::<Vec<_>>()).await;
        }
        let parts = cluster.nodes.iter().map(|node| node.part(None)).collect();
        match table {
            "climate" => {
                let columns =
                    schema(&[("air_temp_c", Kind::Decimal), ("humidity_percent", Kind::Int)]);
                cluster.places.set(table, columns, parts);
            }
            "readings" => {
                let columns = schema(&[
                    ("at", Kind::Timestamp),
                    ("device", Kind::Char(6)),
                    ("value", Kind::Decimal),
                    ("counter", Kind::Int),
                    ("doc", Kind::Varchar),
                ]);
                cluster.places.set(table, columns, parts);
            }
            _ => {
                let columns = schema(&[("device", Kind::Char(6)), ("site", Kind::Char(6))]);
                cluster.places.set(&format!("{dbms}.{table}"), columns, parts);
            }
        }
    }
    let examples = examples();
    assert!(examples.len() > 15, "{examples:?}");
    let mut wrong = Vec::new();
    for sql in examples {
        if let Some(difference) = cluster.difference(&sql, sql.contains("order by 1")).await {
            wrong.push(format!("{sql}\n    {difference}"));
        } else if Answer::of(cluster.ask(&sql).await.query).await.unwrap().rows.is_empty() {
            wrong.push(format!("{sql}\n    gives no rows"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
