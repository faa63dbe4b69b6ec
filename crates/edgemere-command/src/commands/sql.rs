//! `sql`: a query on a database of this node.

use std::fmt;
use std::time::{Duration, Instant};

use edgemere_engine::sql::{Times, collect};

use super::Declared;
use crate::declaration::Declaration;
use crate::dispatch::Context;
use crate::error::Error;
use crate::format::Format;
use crate::format::modes::EVENT_ROWS;
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
const MAX_TIME_S: usize = 24 * 3600;

/// How many rows are collected when nobody says otherwise, and at most.
const LIMIT: usize = 10_000;
const LIMIT_MAX: usize = 1_000_000;

/// How many rows an event may have.
const BATCH_ROWS_MAX: usize = 100_000;

impl Declared for Sql {
    const DECLARATION: &'static Declaration = &Declaration {
        name: "sql",
        usage: "sql DBMS [format = FORMAT] [and stat = true|false] [and timezone = utc|local] \
                [and max_time = SECONDS] [and limit = ROWS] [and batch_rows = ROWS] SELECT …",
        about: "Runs a query on a database of this node and gives its rows.",
        details: "\
One statement that only reads. All of SQL works: joins, subqueries, WITH, windows, HAVING. \
EdgeLake's own works too: increments(UNIT, N, COLUMN) groups by spans of time; period(UNIT, N, END, \
COLUMN[, and CONDITION]) is the last span with rows in it; now() - 1 day; and the casts ::float(2), \
::int, ::str, ::ljust(n), ::rjust(n), ::format(':,'), ::datetime('%d'), ::timezone('Europe/Rome'), \
::timediff(now()).

Rows are sent as they are found. \"stat = false\" leaves out the statistics. \"max_time\" ends a \
query that takes longer.

Two formats are for programs that want all or nothing: \"batch\" collects up to \"limit\" rows \
(10000 without) in one object and says when there are more, and \"events\" sends \"batch_rows\" rows \
(100 without) at a time and says at the end that it was all, or why not.",
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
            Format::Arrow,
            Format::Batch,
            Format::Events,
            Format::EventsSse,
        ],
        keys: &["stat", "timezone", "max_time", "limit", "batch_rows"],
        ..Declaration::READ
    };

    fn parse(cursor: &mut Cursor<'_>) -> Result<Self, Error> {
        let dbms = cursor.name("a database")?.to_lowercase();
        let options = match begins_sql(cursor) {
            true => Options::default(),
            false => Options::parse_pairs(cursor, Self::DECLARATION)?,
        };
        let sql = match cursor.peek().token {
            Token::Quoted(sql) => {
                cursor.take();
                sql
            }
            _ if begins_sql(cursor) => cursor.take_rest().to_owned(),
            _ => return Err(cursor.expected("\"and\" or a SELECT statement")),
        };
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
        let time = self.number(context, "max_time", MAX_TIME_S, "seconds")?;
        let time = time.map(|seconds| Duration::from_secs(seconds as u64));
        let times = self.times(context)?;
        let statistics = self.options.flag("stat", true)?;
        let limit = self.limit(context)?;
        let rows_at_once = self.number(context, "batch_rows", BATCH_ROWS_MAX, "rows")?;
        let rows_at_once = rows_at_once.unwrap_or(EVENT_ROWS);
        let sql = context.node.engine().sql();
        if let Some(limit) = limit {
            // One more than are wanted shows that there are more.
            let query = sql.query_up_to(&self.dbms, &self.sql, time, Some(limit + 1)).await?;
            return Ok(Reply::collected(collect(query, limit).await?, times));
        }
        let mut query = sql.query(&self.dbms, &self.sql, time).await?;
        query.begin().await?;
        Ok(Reply::rows(Rows { query, times, statistics, rows_at_once, started }))
    }
}

impl Sql {
    /// The most rows of `format = batch`; of every other format the statement's own LIMIT is right.
    fn limit(&self, context: &Context<'_>) -> Result<Option<usize>, Error> {
        let limit = self.number(context, "limit", LIMIT_MAX, "rows")?;
        match (self.options.output.format, limit) {
            (Some(Format::Batch), limit) => Ok(Some(limit.unwrap_or(LIMIT))),
            (_, None) => Ok(None),
            (_, Some(limit)) => Err(Error::BadValue {
                key: "limit".into(),
                value: limit.to_string(),
                expected: "\"format = batch\" beside it, or LIMIT in the SQL".into(),
                at: None,
            }),
        }
    }

    /// The value of a key that is a number from 1 on.
    fn number(
        &self,
        context: &Context<'_>,
        key: &str,
        max: usize,
        unit: &str,
    ) -> Result<Option<usize>, Error> {
        let Some(term) = self.options.get(key) else { return Ok(None) };
        let text = term.text(&context.node.variables)?;
        let number = text.parse().ok().filter(|number| (1..=max).contains(number));
        number.map(Some).ok_or_else(|| Error::BadValue {
            key: key.into(),
            value: text,
            expected: format!("1 to {max} {unit}"),
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

/// Whether SQL begins here: in quotes, or with a word that queries begin with.
fn begins_sql(cursor: &Cursor<'_>) -> bool {
    match cursor.peek().token {
        Token::Quoted(_) | Token::Symbol('(') => true,
        Token::Word(word) => ["select", "with"].contains(&word.to_lowercase().as_str()),
        _ => false,
    }
}
