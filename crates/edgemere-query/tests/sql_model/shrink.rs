//! Takes away the rows that a difference does not need, so that what is left can be read.

use super::databases::Databases;
use super::family::Query;
use super::table::Table;

/// How often the databases are made again to find out which rows matter.
const TRIES_MAX: usize = 150;

/// The tables with fewer rows, on which the query is still answered differently.
pub(crate) fn shrink(tables: &[Table], query: &Query) -> Vec<Table> {
    let mut least: Vec<Table> = tables.to_vec();
    let mut tries = 0;
    for index in 0..least.len() {
        let mut size = least[index].rows.len();
        while size > 0 && tries < TRIES_MAX {
            let mut first = 0;
            while first < least[index].rows.len() && tries < TRIES_MAX {
                let mut fewer = least.clone();
                let end = (first + size).min(fewer[index].rows.len());
                fewer[index].rows.drain(first..end);
                tries += 1;
                match Databases::new(&fewer).compare(&query.sql, query.is_ordered) {
                    Ok(()) => first += size,
                    Err(_) => least = fewer,
                }
            }
            size /= 2;
        }
    }
    least
}

/// The rows that are left, as text.
pub(crate) fn shown(tables: &[Table]) -> String {
    let mut text = String::new();
    for table in tables {
        for row in &table.rows {
            let row = serde_json::to_string(row).unwrap();
            text.push_str(&format!("  {} ({:?}): {row}\n", table.name, table.kept));
        }
    }
    text
}
