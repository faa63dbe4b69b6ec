//! `sql`: a query on a database of this node, or of the network.

mod extend;
mod include;
mod looks;
mod max_time;
mod modes;
pub(crate) mod series;

use std::fmt;
use std::time::{Duration, Instant};

use edgemere_query::distributed::ShardMap;
use edgemere_query::sql::{
    Error as SqlError, Query, QueryOptions, ResultColumn, Times, Zone, collect,
};

use self::extend::Column;
pub(crate) use self::looks::{Looks, ask};
use super::{Any, Command, Declared};
use crate::declaration::Declaration;
use crate::destination::Destination;
use crate::dispatch::Context;
use crate::error::Error;
use crate::foreign::AskedQuery;
use crate::format::Format;
use crate::format::rows::Rows;
use crate::format::source::Source;
use crate::language::cursor::Cursor;
use crate::language::lexer::{Token, quote, word_or_quote};
use crate::language::options::{Options, Output};
use crate::language::term::Term;
use crate::placement::Places;
use crate::reply::Reply;
use crate::sql_command;
use edgemere_service::Effect;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sql {
    dbms: String,
    options: Options,
    /// Tables that are asked with the queried one.
    include: Vec<Term>,
    /// Columns in front of the query's own.
    extend: Vec<Column>,
    /// The nodes that are asked, where it is said here and not by the request.
    destination: Option<Destination>,
    sql: String,
}

impl Declared for Sql {
    const DECLARATION: &'static Declaration = &Declaration {
        name: "sql",
        usage: "sql DBMS [format = FORMAT] [and stat = true|false] [and timezone = ZONE] \
                [and include = (TABLE, …)] [and extend = (+VARIABLE, @ip, …)] \
                [and max_time = SECONDS] [and limit = ROWS] [and batch_rows = ROWS] \
                [and destination = network|local|NODE,…] [and sys_col = true|false] SELECT …",
        about: "Runs a query on a database of this node or of the network, and returns its rows.",
        details: "\
The statement must only read. All of SQL works: joins, subqueries, WITH, windows, HAVING, and also \
SHOW DATABASES, SHOW TABLES, DESCRIBE TABLE, EXPLAIN [ANALYZE] SELECT … and information_schema. \
So do EdgeLake's extensions: increments(UNIT, N, COLUMN) groups by time intervals, and \
increments(COLUMN) chooses about 1000 of them; period(UNIT, N, END, COLUMN[, and CONDITION]) is the \
last interval with rows; range(x) is max(x) - min(x); now() - 1 day, -3d; and the casts ::float(2), \
::int, ::str, ::ljust(n), ::rjust(n), ::lstrip, ::rstrip, ::format(':,'), ::replace(a by b), \
::datetime('%d'), ::timezone('Europe/Rome'), ::timediff(now()). docs/reference/sql.md describes \
all of them.

\"destination = network\", \"run client () sql …\" or the REST header \"destination: network\" \
queries all operators that hold the tables as one database. A list of addresses or names queries \
these operators together, with one result. \"subset = true\" then accepts the rows of some \
operators when others do not answer, and the statistics name the missing ones.

Without a format the rows are EdgeLake's JSON, and a table in the shell and on a terminal. Rows are \
sent while the query runs. \"stat = false\" leaves out the statistics. \"max_time\" limits the time \
of the query. \"timezone\" shows times in a zone: utc, local, pt, mt, ct, et or a name such as \
Europe/Rome. \"include\" adds the rows of further tables to those of the queried table. \
\"extend\" adds leading columns: @ip, @port, @ip_port, @node_name, @dbms_name, @table_name, and \
+NAME for a variable of the node. \"sys_col = true\" includes the internal columns in \"*\": row_id, \
insert_timestamp, tsd_name and tsd_id, which a query can always name. EdgeLake's \"pass_through\" \
has no effect: rows are always passed through where the statement allows it.

Two formats are for programs that must know when they have all rows: \"batch\" collects up to \
\"limit\" rows (10000 by default) in one object and says whether there are more, and \"events\" sends \
\"batch_rows\" rows (100 by default) at a time and ends with an event that says that the result is \
complete, or why it is not.",
        examples: &[
            "sql new_company format = json select count(*), avg(value) from rand_data",
            "sql new_company format = mcp \"select device_name, max(value) from rand_data group by 1\"",
            "sql new_company select increments(hour, 1, timestamp), avg(value) from rand_data",
            "sql new_company format = mcp and destination = network select * from rand_data limit 10",
            "sql new_company timezone = Europe/Rome and include = (rand_small) and \
             extend = (+node_name, @ip as \"Node IP\") select max(timestamp) from rand_data",
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
            Format::Parquet,
            Format::Batch,
            Format::Events,
            Format::EventsSse,
        ],
        asks_network: true,
        keys: &[
            "stat",
            "timezone",
            "include",
            "extend",
            "max_time",
            "limit",
            "batch_rows",
            "destination",
            "pass_through",
            "sys_col",
        ],
        ..Declaration::READ
    };

    fn parse(cursor: &mut Cursor<'_>) -> Result<Self, Error> {
        let dbms = cursor.name("a database")?.to_lowercase();
        let mut command = Self {
            dbms,
            options: Options::default(),
            include: Vec::new(),
            extend: Vec::new(),
            destination: None,
            sql: String::new(),
        };
        if !begins_sql(cursor) {
            command.parse_options(cursor)?;
        }
        command.sql = take_sql(cursor, "\"and\" or a SELECT statement")?;
        Ok(command)
    }

    fn print(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut options: Vec<_> = self.options.directives().collect();
        options.extend(include::directive(&self.include));
        options.extend(extend::directive(&self.extend));
        let destination = self.destination.as_ref().map(|nodes| format!("destination = ({nodes})"));
        options.extend(destination);
        write!(f, " {}", word_or_quote(&self.dbms))?;
        if !options.is_empty() {
            write!(f, " {}", options.join(" and "))?;
        }
        write!(f, " {}", quote(&self.sql))
    }

    fn effect(&self) -> Effect {
        extend::effect(&self.extend)
    }

    fn output(&self) -> &Output {
        &self.options.output
    }

    async fn columns(&self, context: &Context<'_>) -> Result<Option<Vec<ResultColumn>>, Error> {
        let on_network = match &self.destination {
            Some(destination) => !destination.is_local(),
            None => context.on_network,
        };
        let context = Context { on_network, ..*context };
        Ok(Some(context.sql().columns(&self.dbms, &self.sql).await?))
    }

    async fn run(&self, context: &Context<'_>) -> Result<Reply, Error> {
        if let Some(destination) = &self.destination {
            let command = Command(Any::Sql(Self { destination: None, ..self.clone() }));
            return destination.run(&command, context, context.delivery).await;
        }
        let started = Instant::now();
        self.options.flag("pass_through", true)?;
        let limit = modes::limit(&self.options, context)?;
        let rows_at_once = modes::rows_at_once(&self.options, context)?;
        let statistics = self.options.flag("stat", true)?;
        let (query, times) = self.ask(context, limit).await?;
        if let Some(limit) = limit {
            return Ok(Reply::collected(collect(query, limit).await?, times));
        }
        let query = Source::from(query);
        let (ledger, is_rest) = (context.node.ledger_age(), false);
        let rows = Rows { query, times, statistics, rows_at_once, started, is_rest, ledger };
        Ok(Reply::rows(rows))
    }
}

impl Sql {
    /// The database that it asks.
    pub(super) fn database(&self) -> &str {
        &self.dbms
    }

    /// The query, for a node that is asked in its own language.
    pub(crate) fn asked(&self) -> AskedQuery<'_> {
        let pairs = self.options.pairs().iter();
        let mut options: Vec<_> =
            pairs.map(|(key, value)| (key.as_str(), value.literal())).collect();
        options.extend((!self.include.is_empty()).then_some(("include", None)));
        options.extend((!self.extend.is_empty()).then_some(("extend", None)));
        options.extend(self.destination.is_some().then_some(("destination", None)));
        AskedQuery { dbms: &self.dbms, sql: &self.sql, options }
    }

    /// Begins the query, for at most so many rows, and says how its times look.
    async fn ask(
        &self,
        context: &Context<'_>,
        limit: Option<usize>,
    ) -> Result<(Query, Times), Error> {
        let (times, zone) = self.zone(context)?;
        let scope = QueryOptions {
            include: include::tables(&self.include, context)?,
            extend: extend::extensions(&self.extend, &self.dbms, context)?,
            zone,
            time: max_time::of(&self.options, context)?.or(self.timeout(context)),
            // One more than are wanted shows that there are more.
            rows_max: limit.map(|limit| limit + 1),
            subset: context.delivery.subset,
            internal_columns: self.has_internal_columns(context.delivery.edgelake)?,
        };
        let asked = context.sql().ask(&self.dbms, &self.sql, &scope).await;
        let query = asked.map_err(|error| self.elsewhere(error, context))?;
        Ok((query, times))
    }

    /// Whether `*` has the internal columns: as the command says, and otherwise for EdgeLake's clients in
    /// EdgeLake's formats.
    fn has_internal_columns(&self, edgelake: bool) -> Result<bool, Error> {
        let is_edgelakes = matches!(
            self.options.output.format,
            None | Some(Format::Table | Format::Json | Format::JsonList | Format::JsonOutput)
        );
        self.options.flag("sys_col", edgelake && is_edgelakes)
    }

    /// The same query with what a client of EdgeLake's means and does not say.
    pub(crate) fn as_edgelake_asks(&self) -> Self {
        let mut sql = self.clone();
        if sql.options.get("sys_col").is_none() && sql.has_internal_columns(true).unwrap_or(false) {
            sql.options.set("sys_col", Term::Word("true".into()));
        }
        sql
    }

    /// How long a query on the network may take, where the request says so.
    fn timeout(&self, context: &Context<'_>) -> Option<Duration> {
        context.delivery.timeout.filter(|_| context.on_network)
    }

    /// What is not on this node may be on others.
    fn elsewhere(&self, source: SqlError, context: &Context<'_>) -> Error {
        // What is not there need not be of the database that is queried.
        let (dbms, table) = match &source {
            SqlError::UnknownDatabase { dbms, .. } => (dbms, None),
            SqlError::UnknownTable { dbms, table, .. } => (dbms, Some(table)),
            _ => return source.into(),
        };
        let places = Places::new(context.node.ledger().clone());
        let is_there = match table {
            Some(table) => places.tables(dbms).contains(table),
            None => places.databases().contains(dbms),
        };
        match is_there && !context.on_network {
            true => edgemere_service::Error::OnlyOnNetwork(source).into(),
            false => source.into(),
        }
    }

    fn parse_options(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Error> {
        loop {
            match cursor.peek_keyword().as_deref() {
                Some("include") => self.include = include::parse(cursor)?,
                Some("extend") => self.extend = extend::parse(cursor)?,
                Some("destination") => {
                    cursor.take();
                    cursor.expect_operator("=")?;
                    self.destination = Some(Destination::parse_value(cursor)?);
                }
                Some("max_time") => {
                    self.options.take_pair(cursor, Self::DECLARATION)?;
                    max_time::take_unit(cursor, &mut self.options);
                }
                _ => self.options.take_pair(cursor, Self::DECLARATION)?,
            }
            if !cursor.keyword("and") {
                return Ok(());
            }
        }
    }

    /// How times look, and the zone that they are in.
    fn zone(&self, context: &Context<'_>) -> Result<(Times, Option<Zone>), Error> {
        let Some(zone) = self.options.get("timezone") else {
            return Ok((Times::of(&self.sql), None));
        };
        let zone = zone.text(context.variables())?;
        match zone.to_lowercase().as_str() {
            "utc" => Ok((Times::Utc, None)),
            "default" => Ok((Times::of(&self.sql), None)),
            _ => Zone::named(&zone).map(|zone| (Times::Clock, Some(zone))).map_err(|_| {
                Error::BadValue {
                    key: "timezone".into(),
                    value: zone,
                    expected: "utc, local, pt, mt, ct, et or a name as Europe/Rome".into(),
                    at: None,
                }
            }),
        }
    }
}

/// The text of a `sql` command of a query that may have options in front, as EdgeLake's clients write
/// one into a body: `format = json and stat = false select …`. They count more than those given here.
pub fn query_command(dbms: &str, options: &str, query: &str) -> String {
    match begins_option(&mut Cursor::new(query)) {
        true => format!("sql {} {options} and {query}", word_or_quote(dbms)),
        false => sql_command(dbms, options, query),
    }
}

/// Whether `key = …` comes, of a key that the command has.
fn begins_option(cursor: &mut Cursor<'_>) -> bool {
    let Some(key) = cursor.peek_keyword() else { return false };
    cursor.take();
    let is_known = Sql::DECLARATION.keys.contains(&key.as_str()) || Output::is_key(&key);
    is_known && cursor.operator("=")
}

/// The words that SQL begins with.
const BEGINNINGS: [&str; 7] = ["select", "with", "values", "show", "describe", "desc", "explain"];

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
        Token::Word(word) => BEGINNINGS.contains(&word.to_lowercase().as_str()),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use crate::commands::Command;

    #[test]
    fn a_client_of_edgelakes_has_the_internal_columns_in_edgelakes_formats() {
        let meant = |text: &str| Command::from_text(text).unwrap().as_edgelake_asks().to_string();
        for format in
            ["", "format = json ", "format = table and stat = false ", "format = json:list "]
        {
            let command = meant(&format!("sql d {format}select * from t"));
            assert!(command.contains("sys_col = true"), "{command}");
        }
        for format in ["format = csv ", "format = mcp ", "format = json and sys_col = false "] {
            let command = meant(&format!("sql d {format}select * from t"));
            assert!(!command.contains("sys_col = true"), "{command}");
        }
        assert_eq!(meant("get status"), "get status");
    }
}
