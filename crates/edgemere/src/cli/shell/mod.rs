//! `edgemere shell`: SQL and commands to a node, typed with completion and history, or read from a pipe.
//!
//! 1. `editor.rs` reads a line, or stdin does.
//! 2. `statements.rs` makes statements of the lines.
//! 3. SQL is asked by `query.rs` and shown by `rows.rs`; what begins with a backslash is the shell's own
//!    (`meta.rs`); all else is a command of the node.

mod catalog;
mod completion;
mod editor;
mod meta;
mod place;
mod query;
mod rows;
mod sql_completion;
mod sql_words;
mod statements;

use std::io::{self, BufRead, ErrorKind, IsTerminal};
use std::process::ExitCode;

use anyhow::Context;
use edgemere_command::Door;
use tokio::runtime::Runtime;

use self::catalog::Catalog;
use self::editor::{Editor, Typed};
use self::meta::{HELP, Meta, Reach};
pub(super) use self::place::place;
use self::query::{Asking, Shown};
use self::rows::Looks;
use self::statements::{Statement, Statements, Text};
use super::run::client;
use crate::client::{Client, Question};
use crate::config::{ClientKeys, Config, Flags, keys};
use crate::failure::Failure;
use crate::terminal;

/// Type SQL and commands to a node, with completion and history
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Type SQL and commands to a node, with completion (Tab) and history. \"use DB\" \
                  selects a database; SQL ends with \";\" or an empty line. A query of a \
                  database of which the node stores nothing goes to the network. Every other \
                  line is a command for the node; a command that begins with \"<\" continues \
                  over several lines until \">\". \"\\?\" lists the commands of the shell \
                  itself; \"exit\" or Ctrl-D leaves.\n\nFrom a pipe, the shell runs the \
                  statements in order and prints rows as CSV; it stops at the first failure, \
                  with the exit code of that failure.",
    after_help = "Examples:\n  edgemere shell\n  edgemere shell --node 127.0.0.1:32149 --database water\n  \
                  edgemere shell < setup.txt\n  \
                  echo 'use water; select count(*) from pumps;' | edgemere shell"
)]
pub(crate) struct Shell {
    /// The database to query, as with "use"
    #[arg(long, value_name = "DBMS")]
    database: Option<String>,

    #[command(flatten)]
    pub(super) keys: Flags<ClientKeys>,
}

impl Shell {
    pub(super) fn run(self, config: &Config) -> anyhow::Result<ExitCode> {
        let is_for_people = io::stdin().is_terminal() && io::stdout().is_terminal();
        let dbms = self.database.map(|dbms| dbms.to_lowercase());
        let session = Session {
            client: client(config)?.at_door(Door::Shell),
            runtime: shell_runtime()?,
            catalog: Catalog::of(client(config)?),
            asking: Asking { dbms, ..Asking::default() },
            looks: Looks { expanded: false, timing: true },
            cursor: None,
            is_for_people,
        };
        match is_for_people {
            true => session.talk(config.text(&keys::NODE))?,
            false => session.read(io::stdin().lock())?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// A node to talk to.
struct Session {
    client: Client,
    runtime: Runtime,
    catalog: Catalog,
    asking: Asking,
    looks: Looks,
    /// Where the rows go on that were shown last.
    cursor: Option<String>,
    is_for_people: bool,
}

/// Whether there may be more.
#[derive(PartialEq)]
enum Next {
    More,
    Leave,
}

impl Session {
    /// Talks to a person: what fails is reported, and the next statement is asked for.
    fn talk(mut self, node: &str) -> anyhow::Result<()> {
        let mut editor = Editor::new(self.catalog.clone()).context("cannot use the terminal")?;
        // From now on Ctrl-C ends no process: it clears a line, or cancels a query.
        #[cfg(unix)]
        let _interrupts = self.runtime.block_on(async {
            tokio::signal::unix::signal(tokio::signal::unix::SignalKind::interrupt())
        })?;
        terminal::say(&format!(
            "{node}: SQL ends with \";\", \"\\?\" helps, \"help\" lists the node's commands, Tab completes, \
             \"exit\" leaves"
        ));
        let mut statements = Statements::default();
        loop {
            let prompt = self.prompt(statements.open());
            let line = match editor.next(&prompt, statements.open(), self.asking.dbms.as_deref())? {
                Typed::Line(line) => line,
                Typed::Cleared => {
                    statements.clear();
                    continue;
                }
                Typed::Leave => return Ok(()),
            };
            // What was pasted may be several lines.
            let pushed: Vec<_> = line.split('\n').flat_map(|line| statements.push(line)).collect();
            for statement in pushed {
                match self.run(&statement.text) {
                    Ok(Next::More) => {}
                    Ok(Next::Leave) => return Ok(()),
                    Err(error) => {
                        terminal::report(&Failure::of(error));
                        break;
                    }
                }
            }
            if statements.open().is_empty() {
                editor.remember();
            }
        }
    }

    /// The prompt: the database, or dots for what goes on.
    fn prompt(&self, open: &str) -> String {
        let dbms = self.asking.dbms.as_deref().unwrap_or("edgemere");
        let reach = match self.asking.reach {
            Reach::Auto => "",
            Reach::Local => " (local)",
            Reach::Network => " (network)",
        };
        let prompt = format!("{dbms}{reach}> ");
        match open.is_empty() {
            true => prompt,
            false => format!("{:>1$}", "... ", prompt.chars().count()),
        }
    }

    /// Reads statements until one fails.
    fn read(mut self, input: impl BufRead) -> anyhow::Result<()> {
        let mut statements = Statements::default();
        for (index, line) in input.lines().enumerate() {
            let line =
                line.map_err(|error| Failure::input(format!("line {}: {error}", index + 1)))?;
            for statement in statements.push(&line) {
                if self.run_at(&statement)? == Next::Leave {
                    return Ok(());
                }
            }
        }
        match statements.take() {
            Some(last) => self.run_at(&last).map(drop),
            None => Ok(()),
        }
    }

    /// Runs a statement of a pipe, whose line a failure names.
    fn run_at(&mut self, statement: &Statement) -> anyhow::Result<Next> {
        match self.run(&statement.text) {
            // The reader has read enough.
            Err(error) if is_broken_pipe(&error) => Ok(Next::Leave),
            result => result.with_context(|| format!("line {}", statement.line)),
        }
    }

    fn run(&mut self, statement: &Text) -> anyhow::Result<Next> {
        match statement {
            Text::Leave => return Ok(Next::Leave),
            Text::Use(dbms) => self.choose(dbms)?,
            Text::Sql(sql) => self.sql(sql)?,
            Text::Command(command) => self.command(command)?,
            Text::Shell(text) => return self.own(Meta::parse(text)?),
        }
        Ok(Next::More)
    }

    /// Carries out one of the shell's own commands.
    fn own(&mut self, command: Meta) -> anyhow::Result<Next> {
        let toggle = |now: bool, wanted: Option<bool>| wanted.unwrap_or(!now);
        let said = |name: &str, on: bool| {
            terminal::say(&format!("{name} is {}", if on { "on" } else { "off" }));
        };
        match command {
            Meta::Leave => return Ok(Next::Leave),
            Meta::Help => terminal::print_text(HELP)?,
            Meta::Use(dbms) => self.choose(&dbms)?,
            Meta::Databases => {
                let names = self.catalog.databases().into_iter().map(|name| vec![name]).collect();
                terminal::show_table(&["Database".into()], names, "")?;
            }
            Meta::Tables => {
                let dbms = self.asking.database("", || self.catalog.databases())?;
                let names = self.catalog.tables(&dbms).into_iter().map(|name| vec![name]).collect();
                terminal::show_table(&[format!("Tables of {dbms}")], names, "")?;
            }
            Meta::Columns(table) => {
                let dbms = self.asking.database("", || self.catalog.databases())?;
                let quoted = edgemere_command::words::quoted;
                let (dbms, table) = (quoted(&dbms), quoted(&table));
                self.command(&format!(
                    "get columns where dbms = {dbms} and table = {table} and sys_col = false"
                ))?;
            }
            Meta::Reach(reach) => self.asking.reach = reach,
            Meta::Timeout(seconds) => self.asking.max_time_s = seconds,
            Meta::Subset(wanted) => {
                self.asking.subset = toggle(self.asking.subset, wanted);
                said("subset", self.asking.subset);
            }
            Meta::Timing(wanted) => {
                self.looks.timing = toggle(self.looks.timing, wanted);
                said("timing", self.looks.timing);
            }
            Meta::Expanded(wanted) => {
                self.looks.expanded = toggle(self.looks.expanded, wanted);
                said("expanded display", self.looks.expanded);
            }
            Meta::More => self.more()?,
        }
        Ok(Next::More)
    }

    /// Chooses a database. One that the node knows nothing of may come later, and is reported.
    fn choose(&mut self, dbms: &str) -> anyhow::Result<()> {
        let dbms = dbms.trim().trim_matches(['"', '\'']).to_lowercase();
        if dbms.is_empty() {
            return Err(Failure::input("there is no database after \"use\"")
                .with_hint("\"\\l\" lists the databases")
                .into());
        }
        let known = self.catalog.databases();
        if !known.is_empty() && !known.contains(&dbms) {
            let near = edgemere_command::near::hint(&dbms, known.iter().map(String::as_str));
            let hint = near.unwrap_or_else(|| format!("the databases are {}", known.join(", ")));
            let failure =
                Failure::new(edgemere_command::Kind::NotFound, format!("no database \"{dbms}\""));
            return Err(failure.with_hint(hint).into());
        }
        self.catalog.columns_known(&dbms);
        self.asking.dbms = Some(dbms);
        Ok(())
    }

    fn sql(&mut self, sql: &str) -> anyhow::Result<()> {
        let dbms = self.asking.database(sql, || self.catalog.databases())?;
        let placed = |error: anyhow::Error| {
            let failure = Failure::of(error);
            let place = place(&failure.message, sql).map(|at| (sql.to_owned(), at));
            Failure { place, ..failure }
        };
        if self.is_for_people {
            let question = self.asking.paged(&dbms, sql);
            return self.show(&question).map_err(|error| placed(error).into());
        }
        let question = self.asking.streamed(&dbms, sql);
        let mut last = b'\n';
        let streamed = self.runtime.block_on(self.client.stream(&question, |piece| {
            last = piece.last().copied().unwrap_or(last);
            terminal::print_piece(piece)
        }));
        match streamed {
            Err(error) if is_broken_pipe(&error) => return Err(error),
            Err(error) => return Err(placed(error).into()),
            Ok(()) if last != b'\n' => terminal::print("")?,
            Ok(()) => {}
        }
        Ok(())
    }

    /// Shows the next rows of the last query.
    fn more(&mut self) -> anyhow::Result<()> {
        let Some(cursor) = self.cursor.take() else {
            return Err(Failure::input("there are no more rows of the last query").into());
        };
        self.show(&self.asking.fetched(&cursor))
    }

    fn show(&mut self, question: &crate::server::http::answers::Question) -> anyhow::Result<()> {
        let asked = async { Ok(query::ask(&self.client, question).await?) };
        let Some(shown) = self.runtime.block_on(until_interrupted(asked))? else {
            terminal::say("cancelled");
            return Ok(());
        };
        let (given, took) = match shown {
            Shown::Rows(given, took) => (given, took),
            Shown::Text(text) => return Ok(terminal::print_text(&text)?),
        };
        let (cells, summary) = (rows::cells(&given), rows::summary(&given, took, self.looks));
        match self.looks.expanded {
            true => terminal::show_text(&rows::blocks(&given.columns, &cells), &summary)?,
            false => terminal::show_table(&given.columns, cells, &summary)?,
        }
        self.cursor = given.cursor;
        Ok(())
    }

    fn command(&self, command: &str) -> anyhow::Result<()> {
        let question = Question { command: command.into(), ..Question::default() };
        let asked = self.client.ask(&question);
        let reply = match self.is_for_people {
            true => self.runtime.block_on(until_interrupted(asked))?,
            false => Some(self.runtime.block_on(asked)?),
        };
        match reply {
            Some(reply) => terminal::print_reply(&reply)?,
            None => terminal::say("not waited for; the node may still be at it"),
        }
        Ok(())
    }
}

/// A runtime that goes on while a line is typed: the connection of a query that was cancelled is closed at
/// once, which is how the node learns of it.
fn shell_runtime() -> anyhow::Result<Runtime> {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.worker_threads(1).enable_all().build().context("cannot start the runtime")
}

/// Waits, until Ctrl-C. What is not waited for is dropped, and the node stops a query that nobody reads.
async fn until_interrupted<T>(
    asked: impl Future<Output = anyhow::Result<T>>,
) -> anyhow::Result<Option<T>> {
    tokio::select! {
        answer = asked => answer.map(Some),
        pressed = tokio::signal::ctrl_c() => pressed.map(|()| None).context("cannot be interrupted"),
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let io = error.downcast_ref::<io::Error>();
    io.is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
}
