//! Takes away the rows that a difference does not need, so that what is left can be read.

use super::scene::{Question, Scene};
use super::spread::Spread;

/// How often operators are started to find out which rows matter.
const TRIES_MAX: usize = 60;

/// The tables with fewer rows, on which the question is still answered differently, and how.
pub(crate) async fn shrink(tables: &[Spread], question: &Question) -> Option<(String, String)> {
    let mut least = tables.to_vec();
    let mut difference = Scene::new(&least).await.compare(question).await.err()?;
    let parts = |table: usize| (0..tables[table].0.len()).map(move |part| (table, part));
    let parts: Vec<_> = (0..tables.len()).flat_map(parts).collect();
    let mut tries = 0;
    for (table, part) in parts {
        let mut size = least[table].0[part].table.rows.len();
        while size > 0 {
            let mut first = 0;
            while first < least[table].0[part].table.rows.len() && tries < TRIES_MAX {
                let mut fewer = least.clone();
                let rows = &mut fewer[table].0[part].table.rows;
                rows.drain(first..(first + size).min(rows.len()));
                tries += 1;
                match Scene::new(&fewer).await.compare(question).await {
                    Ok(()) => first += size,
                    Err(still) => (least, difference) = (fewer, still),
                }
            }
            size /= 2;
        }
    }
    Some((shown(&least), difference))
}

/// The rows that are left, as text.
fn shown(tables: &[Spread]) -> String {
    let mut text = String::new();
    for part in tables.iter().flat_map(|table| &table.0) {
        let (name, kept) = (part.table.name, part.table.kept);
        for row in &part.table.rows {
            let row = serde_json::to_string(row).unwrap();
            text.push_str(&format!("  {name} on {:?} ({kept:?}): {row}\n", part.operators));
        }
    }
    text
}
