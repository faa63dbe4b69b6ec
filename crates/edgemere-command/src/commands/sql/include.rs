//! `include = (table, dbms.table, …)`: further tables that a query is asked of.

use edgemere_query::sql::TableName;

use crate::dispatch::Context;
use crate::error::Error;
use crate::language::cursor::Cursor;
use crate::language::term::Term;

/// Takes `include = …`: one table, or several in parentheses.
pub(super) fn parse(cursor: &mut Cursor<'_>) -> Result<Vec<Term>, Error> {
    cursor.expect_keyword("include")?;
    cursor.expect_operator("=")?;
    list(cursor, |cursor| cursor.term("a table"))
}

/// Takes one thing, or several in parentheses with commas between them.
pub(super) fn list<T>(
    cursor: &mut Cursor<'_>,
    take: impl Fn(&mut Cursor<'_>) -> Result<T, Error>,
) -> Result<Vec<T>, Error> {
    if !cursor.symbol('(') {
        return Ok(vec![take(cursor)?]);
    }
    let mut taken = vec![take(cursor)?];
    while cursor.symbol(',') {
        taken.push(take(cursor)?);
    }
    cursor.expect_symbol(')')?;
    Ok(taken)
}

/// The option as it is written.
pub(super) fn directive(tables: &[Term]) -> Option<String> {
    let tables: Vec<_> = tables.iter().map(Term::to_string).collect();
    (!tables.is_empty()).then(|| format!("include = ({})", tables.join(", ")))
}

/// The tables. A variable may name several.
pub(super) fn tables(terms: &[Term], context: &Context<'_>) -> Result<Vec<TableName>, Error> {
    let mut tables = Vec::new();
    for term in terms {
        let text = term.text(context.variables())?;
        match term {
            Term::Variable(_) => {
                for name in text.split(',') {
                    tables.push(table(name.trim())?);
                }
            }
            _ => tables.push(table(&text)?),
        }
    }
    Ok(tables)
}

/// A table's name, with its database's before it or without.
fn table(text: &str) -> Result<TableName, Error> {
    let (dbms, table) = match text.split_once('.') {
        Some((dbms, table)) => (Some(dbms.to_lowercase()), table.to_lowercase()),
        None => (None, text.to_lowercase()),
    };
    if table.is_empty() || dbms.as_ref().is_some_and(String::is_empty) {
        return Err(Error::BadValue {
            key: "include".into(),
            value: text.into(),
            expected: "TABLE or DBMS.TABLE".into(),
            at: None,
        });
    }
    Ok(TableName { dbms, table })
}
