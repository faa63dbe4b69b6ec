//! The table of a run in docs/reliability.md, between two marks.

use std::fs;

use anyhow::{Context, Result};

use super::Run;
use crate::cargo::root;

const PAGE: &str = "docs/reliability.md";
const BEGIN: &str = "<!-- torture: begin -->";
const END: &str = "<!-- torture: end -->";

/// Writes the table of a run into the page.
pub(super) fn write(table: &str, run: &Run, memory_mib: u64) -> Result<()> {
    let path = root().join(PAGE);
    let page = fs::read_to_string(&path).with_context(|| format!("cannot read {PAGE}"))?;
    let form = if run.is_short { "short form, " } else { "" };
    let about = format!("Seed {}, {form}{memory_mib} MiB for each node:", run.seed);
    let page = with(&page, &format!("{about}\n\n{table}"))
        .with_context(|| format!("{PAGE} has no place for the table: {BEGIN} … {END}"))?;
    fs::write(&path, page)?;
    println!("wrote the table to {PAGE}");
    Ok(())
}

/// A page with another text between its marks.
fn with(page: &str, text: &str) -> Option<String> {
    let (before, rest) = page.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}\n{text}{END}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_between_the_marks_is_replaced_and_nothing_else() {
        let page = format!("a\n{BEGIN}\nold\n{END}\nb\n");
        let next = with(&page, "new\n").unwrap();
        assert_eq!(next, format!("a\n{BEGIN}\nnew\n{END}\nb\n"));
        assert_eq!(with(&next, "new\n").unwrap(), next);
        assert!(with("no marks", "x").is_none());
    }

    #[test]
    fn the_page_has_a_place_for_the_table() {
        let page = fs::read_to_string(root().join(PAGE)).unwrap();
        assert!(with(&page, "x").is_some());
    }
}
