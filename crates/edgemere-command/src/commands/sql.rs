//! `sql`: a query on a database of this node.

use std::fmt;
use std::time::{Duration, Instant};

use edgemere_engine::sql::Times;

use super::Declared;
use crate::declaration::Declaration;
use crate::dispatch::Context;
use crate::error::Error;
use crate::format::Format;
use crate::format::rows::Rows;
use crate::language::cursor::Cursor;
use crate::language::lexer::{Token, quote, word_or_quote};
use crate::language::options::{Options, Output};
use crate::reply::Reply;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sql {
    dbms: String,
    options: Options,
    sql: String,
}

/// How long a query may be given, in seconds.
const MAX_TIME_S: u64 = 24 * 3600;

impl Declared for Sql {
    const DECLARATION: &'static Declaration = &Declaration {
        name: "sql",
        usage: "sql DBMS [format = FORMAT] [and stat = true|false] [and timezone = utc|local] \
                [and max_time = SECONDS] SELECT …",
        about: "Runs a query on a database of this node and gives its rows.",
        details: "\
One statement that only reads. All of SQL works: joins, subqueries, WITH, windows, HAVING. \
EdgeLake's own works too: increments(UNIT, N, COLUMN) groups by spans of time; period(UNIT, N, END, \
COLUMN[, and CONDITION]) is the last span with rows in it; now() - 1 day; and the casts ::float(2), \
::int, ::str, ::ljust(n), ::rjust(n), ::format(':,'), ::datetime('%d'), ::timezone('Europe/Rome'), \
::timediff(now()).

Rows are sent as they are found. \"stat = false\" leaves out the statistics. \"max_time\" ends a \
query that takes longer.",
        examples: &[
            "sql new_company format = json select count(*), avg(value) from rand_data",
            "sql new_company format = mcp \"select device_name, max(value) from rand_data group by 1\"",
            "sql new_company select increments(hour, 1, timestamp), avg(value) from rand_data",
        ],
        formats: &[
            Format::Table,
            Format::Json,
            Format::JsonList,
            Format::JsonOutput,
            Format::Mcp,
            Format::McpColumns,
            Format::Csv,
            Format::Ndjson,
        ],
        keys: &["stat", "timezone", "max_time"],
        ..Declaration::READ
    };

    fn parse(cursor: &mut Cursor<'_>) -> Result<Self, Error> {
        let dbms = cursor.name("a database")?.to_lowercase();
        let options = match begins_sql(cursor) {
            true => Options::default(),
            false => Options::parse_pairs(cursor, Self::DECLARATION)?,
        };
        let sql = take_sql(cursor, "\"and\" or a SELECT statement")?;
        Ok(Self { dbms, options, sql })
    }

    fn print(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let options = self.options.to_string();
        let options = options.strip_prefix(" where").unwrap_or(&options);
        write!(f, " {}{options} {}", word_or_quote(&self.dbms), quote(&self.sql))
    }

    fn output(&self) -> &Output {
        &self.options.output
    }

    async fn run(&self, context: &Context<'_>) -> Result<Reply, Error> {
        let started = Instant::now();
        let time = self.options.get("max_time").map(|_| self.max_time(context)).transpose()?;
        let times = self.times(context)?;
        let statistics = self.options.flag("stat", true)?;
        let engine = context.node.engine();
        let mut query = engine
            .sql()
            .asked_by(context.principal.name())
            .query(&self.dbms, &self.sql, time)
            .await?;
        query.begin().await?;
        Ok(Reply::rows(Rows { query, times, statistics, started }))
    }
}

impl Sql {
    fn max_time(&self, context: &Context<'_>) -> Result<Duration, Error> {
        let text = self.options.require("max_time", Self::DECLARATION)?;
        let text = text.text(&context.node.variables)?;
        let seconds = text.parse::<u64>().ok().filter(|s| (1..=MAX_TIME_S).contains(s));
        seconds.map(Duration::from_secs).ok_or_else(|| Error::BadValue {
            key: "max_time".into(),
            value: text,
            expected: format!("1 to {MAX_TIME_S} seconds"),
            at: None,
        })
    }

    fn times(&self, context: &Context<'_>) -> Result<Times, Error> {
        let Some(zone) = self.options.get("timezone") else { return Ok(Times::Plain) };
        let zone = zone.text(&context.node.variables)?;
        match zone.to_lowercase().as_str() {
            "utc" => Ok(Times::Utc),
            "local" | "default" => Ok(Times::Plain),
            _ => Err(Error::BadValue {
                key: "timezone".into(),
                value: zone,
                expected: "utc or local; a column has its own with ::timezone('Europe/Rome')"
                    .into(),
                at: None,
            }),
        }
    }
}

/// Takes SQL: what is in quotes, or all that is left.
pub(super) fn take_sql(cursor: &mut Cursor<'_>, expected: &str) -> Result<String, Error> {
    match cursor.peek().token {
        Token::Quoted(sql) => {
            cursor.take();
            Ok(sql)
        }
        _ if begins_sql(cursor) => Ok(cursor.take_rest().to_owned()),
        _ => Err(cursor.expected(expected)),
    }
}

/// Whether SQL begins here: in quotes, or with a word that queries begin with.
fn begins_sql(cursor: &Cursor<'_>) -> bool {
    match cursor.peek().token {
        Token::Quoted(_) | Token::Symbol('(') => true,
        Token::Word(word) => ["select", "with"].contains(&word.to_lowercase().as_str()),
        _ => false,
    }
}
