//! What can come next in SQL that is being typed: tables after FROM, columns of the tables that the statement
//! names, functions, keywords.

use std::collections::BTreeSet;

use super::catalog::Catalog;
use super::sql_words::{FUNCTIONS, KEYWORDS};

/// Words that a table comes after.
const BEFORE_TABLE: [&str; 6] = ["from", "join", "describe", "desc", "table", "columns"];

/// Something that a word can become.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Candidate {
    /// The whole word.
    pub(super) word: String,
    /// What stands after it.
    pub(super) end: &'static str,
}

impl Candidate {
    fn new(word: impl Into<String>, end: &'static str) -> Self {
        Self { word: word.into(), end }
    }
}

/// Where the word at the end of `text` begins, and what it can become. The statement is all that was typed of
/// it, with what follows the word.
pub(super) fn complete(
    text: &str,
    statement: &str,
    dbms: Option<&str>,
    catalog: &Catalog,
) -> (usize, Vec<Candidate>) {
    let is_end = |c: char| !(c.is_alphanumeric() || c == '_' || c == '.');
    let start = text.char_indices().rfind(|(_, c)| is_end(*c));
    let start = start.map_or(0, |(at, c)| at + c.len_utf8());
    let (before, begun) = text.split_at(start);
    let begun = begun.to_lowercase();
    let words: BTreeSet<Candidate> = match begun.rsplit_once('.') {
        Some((of, _)) => qualified(of, statement, dbms, catalog),
        None => plain(before, statement, dbms, catalog),
    };
    (start, words.into_iter().filter(|one| one.word.to_lowercase().starts_with(&begun)).collect())
}

/// The databases, after `use`.
pub(super) fn databases(text: &str, catalog: &Catalog) -> (usize, Vec<Candidate>) {
    let start = text.rfind(char::is_whitespace).map_or(0, |at| at + 1);
    let begun = text.get(start..).unwrap_or_default().to_lowercase();
    let names = catalog.databases_soon().into_iter().filter(|name| name.starts_with(&begun));
    (start, names.map(|name| Candidate::new(quoted(&name), "")).collect())
}

/// The tables of the database, after `\d`.
pub(super) fn tables(text: &str, dbms: Option<&str>, catalog: &Catalog) -> (usize, Vec<Candidate>) {
    let start = text.rfind(char::is_whitespace).map_or(0, |at| at + 1);
    let begun = text.get(start..).unwrap_or_default().to_lowercase();
    let names = dbms.map(|dbms| catalog.tables_soon(dbms)).unwrap_or_default();
    let names = names.into_iter().filter(|name| name.starts_with(&begun));
    (start, names.map(|name| Candidate::new(name, "")).collect())
}

/// What comes after `of.`: the tables of a database, or the columns of a table.
fn qualified(
    of: &str,
    statement: &str,
    dbms: Option<&str>,
    catalog: &Catalog,
) -> BTreeSet<Candidate> {
    let in_front = |name: String, end| Candidate::new(format!("{of}.{}", quoted(&name)), end);
    if let Some((dbms, table)) = of.split_once('.') {
        let columns = catalog.columns_soon(dbms, table);
        return columns.into_iter().map(|name| in_front(name, "")).collect();
    }
    let mut found: BTreeSet<_> =
        catalog.tables_soon(of).into_iter().map(|name| in_front(name, " ")).collect();
    for named in named_tables(statement) {
        if named.alias.as_deref() == Some(of) || named.table == of {
            let Some(dbms) = named.dbms.as_deref().or(dbms) else { continue };
            let columns = catalog.columns_soon(dbms, &named.table);
            found.extend(columns.into_iter().map(|name| in_front(name, "")));
        }
    }
    found
}

/// What comes after anything else.
fn plain(
    before: &str,
    statement: &str,
    dbms: Option<&str>,
    catalog: &Catalog,
) -> BTreeSet<Candidate> {
    let last = before.split_whitespace().next_back().unwrap_or_default().to_lowercase();
    let tables = dbms.map(|dbms| catalog.tables_soon(dbms)).unwrap_or_default();
    if BEFORE_TABLE.contains(&last.as_str()) {
        let databases = catalog.databases_soon().into_iter().map(|name| Candidate::new(name, "."));
        let tables = tables.into_iter().map(|name| Candidate::new(quoted(&name), " "));
        return tables.chain(databases).collect();
    }
    let mut found: BTreeSet<Candidate> = BTreeSet::new();
    let named = named_tables(statement);
    if let (true, Some(dbms)) = (named.is_empty(), dbms) {
        let columns = catalog.columns_known(dbms).into_iter();
        found.extend(columns.map(|name| Candidate::new(quoted(&name), " ")));
    }
    for named in named {
        let Some(dbms) = named.dbms.as_deref().or(dbms) else { continue };
        let columns = catalog.columns_soon(dbms, &named.table);
        found.extend(columns.into_iter().map(|name| Candidate::new(quoted(&name), " ")));
        found.extend(named.alias.map(|alias| Candidate::new(alias, ".")));
    }
    found.extend(KEYWORDS.iter().map(|word| Candidate::new(*word, " ")));
    found.extend(FUNCTIONS.iter().map(|word| Candidate::new(*word, "(")));
    found
}

/// A table that a statement names.
#[derive(Debug, PartialEq, Eq)]
struct Named {
    dbms: Option<String>,
    table: String,
    alias: Option<String>,
}

/// How many tables of a statement are looked at.
const NAMED_MAX: usize = 8;

/// The tables after FROM and JOIN.
fn named_tables(statement: &str) -> Vec<Named> {
    let spaced = statement.replace(',', " , ").replace(['(', ')'], " ");
    let words: Vec<String> = spaced.split_whitespace().map(str::to_lowercase).collect();
    let mut named = Vec::new();
    let mut is_table = false;
    for (at, word) in words.iter().enumerate() {
        if is_table && named.len() < NAMED_MAX {
            let word = word.replace('"', "");
            let (dbms, table) = match word.split_once('.') {
                Some((dbms, table)) => (Some(dbms.to_owned()), table.to_owned()),
                None => (None, word.clone()),
            };
            let after = words.get(at + 1..).unwrap_or_default();
            let after = after.iter().find(|word| *word != "as").cloned();
            let is_name = |word: &String| {
                word != "," && !KEYWORDS.contains(&word.as_str()) && !word.starts_with(';')
            };
            named.push(Named { dbms, table, alias: after.filter(is_name) });
        }
        is_table = ["from", "join"].contains(&word.as_str());
    }
    named
}

/// A name as SQL takes it.
fn quoted(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let is_name = name.chars().all(is_plain) && !name.starts_with(|c: char| c.is_ascii_digit());
    match is_name && !name.is_empty() {
        true => name.to_owned(),
        false => edgemere_command::words::identifier(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn catalog() -> Catalog {
        let tables = [("water", "pumps"), ("water", "tanks"), ("power", "meters")];
        let columns: [(&str, &str, &[&str]); 3] = [
            ("water", "pumps", &["pump", "pressure", "air temp"]),
            ("water", "tanks", &["tank", "level"]),
            ("power", "meters", &["meter"]),
        ];
        Catalog::fixed(&tables, &columns)
    }

    fn words(text: &str, after: &str) -> Vec<String> {
        let statement = format!("{text}{after}");
        let (_, found) = complete(text, &statement, Some("water"), &catalog());
        found.into_iter().map(|one| format!("{}{}", one.word, one.end)).collect()
    }

    #[test]
    fn tables_come_after_from_and_join() {
        assert_eq!(words("select * from pu", ""), ["pumps "]);
        assert_eq!(words("select * from ", ""), ["power.", "pumps ", "tanks ", "water."]);
        assert_eq!(words("select * from pumps p join ta", ""), ["tanks "]);
        assert_eq!(words("select * from power.", ""), ["power.meters "]);
        assert_eq!(words("describe t", ""), ["tanks "]);
    }

    #[test]
    fn columns_are_those_of_the_tables_that_are_named() {
        assert_eq!(words("select pre", " from pumps"), ["preceding ", "pressure "]);
        assert_eq!(words("select count(*) from tanks where lev", ""), ["level "]);
        assert_eq!(
            words("select p.", " from pumps as p"),
            ["p.\"air temp\"", "p.pressure", "p.pump"]
        );
        assert_eq!(
            words("select m", " from power.meters m"),
            ["m.", "max(", "median(", "meter ", "min(", "mod("]
        );
        assert_eq!(words("select x.", " from pumps"), Vec::<String>::new());
        // Before a table is named, any column may be meant.
        assert_eq!(words("select lev", ""), ["level "]);
    }

    #[test]
    fn functions_and_keywords_are_completed_in_any_case() {
        assert_eq!(words("SELECT AV", ""), ["avg("]);
        assert_eq!(words("select 1 fro", ""), ["from "]);
        let (start, found) = complete("sélect é", "sélect é", None, &catalog());
        assert_eq!((start, found.len()), (8, 0));
    }

    #[test]
    fn databases_come_after_use() {
        let found = |text| databases(text, &catalog());
        assert_eq!(found("use wa"), (4, vec![Candidate::new("water", "")]));
        assert_eq!(found("use ").1.len(), 2);
        let found = tables("\\d pu", Some("water"), &catalog());
        assert_eq!(found, (3, vec![Candidate::new("pumps", "")]));
    }
}
