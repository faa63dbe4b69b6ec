//! What a statement wants: rows, or to know something about them. EXPLAIN, DESCRIBE and SHOW become
//! typed requests here, and are never run as statements.
//!
//! EXPLAIN and DESCRIBE are read off the front of the tokens, so that the parser reads the query after
//! them as if it stood alone, and says where in it something is wrong.

use datafusion::sql::sqlparser::ast::{
    ObjectName, ObjectNamePart, ShowStatementFilter, ShowStatementFilterPosition,
    ShowStatementOptions, Statement,
};
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::sql::dialect::Reading;
use crate::sql::dialect::parse_tokens;
use crate::sql::dialect::parser;
use crate::sql::dialect::parser_message;
use crate::sql::dialect::read_tokens;
use crate::sql::dialect::syntax;
use crate::sql::error::Error;

/// What a statement wants.
#[derive(Clone, Debug)]
pub(in crate::sql) enum Request {
    /// The rows of a query.
    Query(Reading),
    /// How a query is run.
    Explain(Reading, Explain),
    /// Which columns a query has.
    Describe(Reading),
    /// What there is.
    Show(Show),
}

/// How a query is explained.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::sql) struct Explain {
    /// Whether it is run, to tell how many rows and how much time each step took.
    pub(in crate::sql) analyze: bool,
    /// Whether the logical plan is reported, too.
    pub(in crate::sql) verbose: bool,
}

/// What is listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::sql) struct Show {
    pub(in crate::sql) what: Listed,
    /// The names that are wanted.
    pub(in crate::sql) like: Option<Like>,
}

/// What there is to list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::sql) enum Listed {
    /// The databases.
    Databases,
    /// The tables and views of a database, of the queried one when it says none.
    Tables(Option<String>),
    /// The views of a database.
    Views(Option<String>),
    /// The columns of a table or view.
    Columns {
        /// Its database, when it says one.
        dbms: Option<String>,
        /// Its name.
        table: String,
    },
}

/// A pattern of names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::sql) struct Like {
    pub(in crate::sql) pattern: String,
    pub(in crate::sql) any_case: bool,
}

impl Request {
    /// Reads one statement.
    pub(in crate::sql) fn of(sql: &str) -> Result<Self, Error> {
        let tokens = read_tokens(sql)?;
        let mut front = Front { tokens: &tokens, at: 0 };
        if front.keyword("EXPLAIN") {
            return explain(sql, front);
        }
        if front.keyword("DESCRIBE") || front.keyword("DESC") {
            return describe(sql, front);
        }
        let (statement, casts, internal) = parse_tokens(sql, &tokens)?;
        match show(&statement)? {
            Some(show) => Ok(Self::Show(show)),
            None => Ok(Self::Query(Reading::new(statement, &casts, internal)?)),
        }
    }
}

/// The first tokens of a statement.
struct Front<'a> {
    tokens: &'a [TokenWithSpan],
    at: usize,
}

impl<'a> Front<'a> {
    /// The next token that is no space.
    fn peek(&self) -> Option<&'a TokenWithSpan> {
        let mut rest = self.rest().iter();
        rest.find(|token| !matches!(token.token, Token::Whitespace(_)))
    }

    fn rest(&self) -> &'a [TokenWithSpan] {
        self.tokens.get(self.at..).unwrap_or_default()
    }

    fn take(&mut self) {
        let spaces = self.rest().iter();
        let spaces = spaces.take_while(|token| matches!(token.token, Token::Whitespace(_))).count();
        self.at += spaces + 1;
    }

    fn word(&self) -> Option<String> {
        match &self.peek()?.token {
            Token::Word(word) if word.quote_style.is_none() => Some(word.value.to_uppercase()),
            _ => None,
        }
    }

    fn keyword(&mut self, keyword: &str) -> bool {
        let is_it = self.word().as_deref() == Some(keyword);
        if is_it {
            self.take();
        }
        is_it
    }

    fn symbol(&mut self, symbol: &Token) -> bool {
        let is_it = self.peek().is_some_and(|token| token.token == *symbol);
        if is_it {
            self.take();
        }
        is_it
    }

    /// Whether a query begins here.
    fn begins_query(&self) -> bool {
        match self.peek().map(|token| &token.token) {
            Some(Token::LParen) => true,
            Some(Token::Word(word)) if word.quote_style.is_none() => {
                matches!(word.keyword, Keyword::SELECT | Keyword::WITH | Keyword::VALUES)
            }
            _ => false,
        }
    }

    /// The error that something else was expected here.
    fn expected(&self, sql: &str, what: &str) -> Error {
        let message = match self.peek() {
            Some(token) if token.token != Token::EOF => {
                format!("Expected: {what}, found: {token}{}", token.span.start)
            }
            _ => format!("Expected: {what}, found: EOF"),
        };
        syntax(sql, &message)
    }
}

/// `EXPLAIN [ANALYZE] [VERBOSE] SELECT …`, also as `EXPLAIN (ANALYZE, VERBOSE) …`, SQLite's `EXPLAIN
/// QUERY PLAN …` and MySQL's `EXPLAIN TABLE`.
fn explain(sql: &str, mut front: Front<'_>) -> Result<Request, Error> {
    let mut explain = Explain::default();
    let mut inside = Front { ..front };
    if inside.symbol(&Token::LParen) && !inside.begins_query() {
        options(sql, &mut inside, &mut explain)?;
        front = inside;
    }
    if front.keyword("QUERY") && !front.keyword("PLAN") {
        return Err(front.expected(sql, "PLAN after EXPLAIN QUERY"));
    }
    loop {
        match front.word().as_deref() {
            Some("ANALYZE" | "ANALYSE") => explain.analyze = true,
            Some("VERBOSE") => explain.verbose = true,
            Some("FORMAT") => {
                front.take();
                front.symbol(&Token::Eq);
                if front.word().as_deref() != Some("TEXT") {
                    return Err(front.expected(sql, "TEXT: a plan is told as lines of text"));
                }
            }
            _ => break,
        }
        front.take();
    }
    let is_name = matches!(front.peek().map(|token| &token.token), Some(Token::Word(word))
        if word.quote_style.is_some() || word.keyword == Keyword::NoKeyword);
    if is_name && explain == Explain::default() {
        return describe(sql, front);
    }
    if front.peek().is_none_or(|token| token.token == Token::EOF) {
        return Err(front.expected(sql, "a SELECT after EXPLAIN"));
    }
    let (statement, casts, internal) = parse_tokens(sql, front.rest())?;
    match &statement {
        Statement::Query(_) => {}
        other => {
            let what = format!("EXPLAIN {}", crate::sql::plan::validate::first_words(other));
            return Err(Error::NotReadOnly { what });
        }
    }
    Ok(Request::Explain(Reading::new(statement, &casts, internal)?, explain))
}

/// The options of EXPLAIN in parentheses.
fn options(sql: &str, front: &mut Front<'_>, explain: &mut Explain) -> Result<(), Error> {
    loop {
        let name = front.word();
        let is_known =
            matches!(name.as_deref(), Some("ANALYZE" | "ANALYSE" | "VERBOSE" | "FORMAT"));
        if !is_known {
            return Err(front.expected(sql, "ANALYZE, VERBOSE or FORMAT TEXT"));
        }
        front.take();
        let value = front.word();
        let is_on = !matches!(value.as_deref(), Some("FALSE" | "OFF"));
        match (name.as_deref(), value.as_deref()) {
            (Some("FORMAT"), Some("TEXT")) => {}
            (Some("FORMAT"), _) => {
                return Err(front.expected(sql, "TEXT: a plan is told as lines of text"));
            }
            (Some("VERBOSE"), _) => explain.verbose = is_on,
            _ => explain.analyze = is_on,
        }
        if matches!(value.as_deref(), Some("TRUE" | "FALSE" | "ON" | "OFF" | "TEXT")) {
            front.take();
        }
        if front.symbol(&Token::RParen) {
            return Ok(());
        }
        if !front.symbol(&Token::Comma) {
            return Err(front.expected(sql, "\",\" or \")\""));
        }
    }
}

/// `DESCRIBE TABLE`, `DESCRIBE SELECT …`.
fn describe(sql: &str, mut front: Front<'_>) -> Result<Request, Error> {
    if front.begins_query() {
        let (statement, casts, internal) = parse_tokens(sql, front.rest())?;
        return Ok(Request::Describe(Reading::new(statement, &casts, internal)?));
    }
    let _ = front.keyword("TABLE") || front.keyword("VIEW");
    if front.peek().is_none_or(|token| token.token == Token::EOF) {
        return Err(front.expected(sql, "a table after DESCRIBE"));
    }
    let mut parser = parser().with_tokens_with_locations(front.rest().to_vec());
    let name = parser.parse_object_name(false);
    let name = name.map_err(|error| syntax(sql, &parser_message(&error)))?;
    while parser.consume_token(&Token::SemiColon) {}
    let next = parser.peek_token();
    if next.token != Token::EOF {
        let message = format!("Expected: end of statement, found: {next}{}", next.span.start);
        return Err(syntax(sql, &message));
    }
    let (dbms, table) = table_name(&name)?;
    Ok(Request::Show(Show { what: Listed::Columns { dbms, table }, like: None }))
}

/// What a SHOW lists. None when it is no SHOW, or one that there is not.
fn show(statement: &Statement) -> Result<Option<Show>, Error> {
    let (what, options) = match statement {
        Statement::ShowDatabases { history: false, show_options, .. }
        | Statement::ShowSchemas { history: false, show_options, .. } => {
            (Listed::Databases, show_options)
        }
        Statement::ShowTables { history: false, show_options, .. } => {
            (Listed::Tables(database(show_options)?), show_options)
        }
        Statement::ShowViews { show_options, .. } => {
            (Listed::Views(database(show_options)?), show_options)
        }
        Statement::ShowColumns { show_options, .. } => {
            let Some(name) = parent(show_options) else {
                return Err(refused("SHOW COLUMNS without FROM and a table"));
            };
            let (dbms, table) = table_name(name)?;
            (Listed::Columns { dbms, table }, show_options)
        }
        _ => return Ok(None),
    };
    let is_plain = options.starts_with.is_none()
        && options.limit.is_none()
        && options.limit_from.is_none()
        && !(what == Listed::Databases && options.show_in.is_some());
    if !is_plain {
        return Err(refused(&statement.to_string()));
    }
    Ok(Some(Show { what, like: like(options)? }))
}

fn like(options: &ShowStatementOptions) -> Result<Option<Like>, Error> {
    use ShowStatementFilterPosition::{Infix, Suffix};
    let (Some(Infix(filter)) | Some(Suffix(filter))) = &options.filter_position else {
        return Ok(None);
    };
    let (pattern, any_case) = match filter {
        ShowStatementFilter::Like(pattern) => (pattern.clone(), false),
        ShowStatementFilter::ILike(pattern) => (pattern.clone(), true),
        other => return Err(refused(&format!("SHOW … {other}"))),
    };
    Ok(Some(Like { pattern, any_case }))
}

fn parent(options: &ShowStatementOptions) -> Option<&ObjectName> {
    options.show_in.as_ref()?.parent_name.as_ref()
}

/// The database that a SHOW names.
fn database(options: &ShowStatementOptions) -> Result<Option<String>, Error> {
    match (&options.show_in, parent(options)) {
        (None, _) => Ok(None),
        (Some(_), Some(name)) => match parts(name)?.as_slice() {
            [database] => Ok(Some(database.clone())),
            _ => Err(refused(&format!("SHOW TABLES FROM {name}"))),
        },
        (Some(shown), None) => Err(refused(&format!("SHOW TABLES {shown}"))),
    }
}

/// The database and the table that a name means.
fn table_name(name: &ObjectName) -> Result<(Option<String>, String), Error> {
    match parts(name)?.as_slice() {
        [table] => Ok((None, table.clone())),
        [dbms, table] => Ok((Some(dbms.clone()), table.clone())),
        _ => Err(refused(&format!("the name {name}"))),
    }
}

fn parts(name: &ObjectName) -> Result<Vec<String>, Error> {
    let part = |part: &ObjectNamePart| {
        let ident = part.as_ident()?;
        Some(match ident.quote_style {
            Some(_) => ident.value.clone(),
            None => ident.value.to_lowercase(),
        })
    };
    let parts = name.0.iter().map(part).collect::<Option<Vec<_>>>();
    parts.ok_or_else(|| refused(&format!("the name {name}")))
}

fn refused(what: &str) -> Error {
    Error::NotReadOnly { what: what.to_owned() }
}
