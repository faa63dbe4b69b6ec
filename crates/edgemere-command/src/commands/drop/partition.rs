//! `drop partition`: Parquet files of a table go, with their rows.

use std::fmt;

use edgemere_storage::storage::{DropSelector, Dropped, Retention};

use crate::commands::Declared;
use crate::commands::named::{optional, required};
use crate::declaration::Declaration;
use crate::dispatch::Context;
use crate::error::Error;
use crate::language::cursor::Cursor;
use crate::language::options::Options;
use crate::language::quantity;
use crate::language::term::Term;
use crate::lookup;
use crate::reply::Reply;
use edgemere_service::Effect;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Partition {
    name: Option<Term>,
    options: Options,
}

impl Declared for Partition {
    const DECLARATION: &'static Declaration = &Declaration {
        name: "drop partition",
        usage: "drop partition [NAME] where dbms = NAME and table = NAME|* [and keep = N|TIME]",
        about: "Drops Parquet files of a table, with their rows.",
        details: "\
With a name, that file, as \"get partitions\" shows it. With \"keep = 3\", all but the 3 newest \
files; with \"keep = \\\"30 days\\\"\", the files whose newest row is older. Rows in the \
memtable remain.

\"set retention\" does the same regularly.",
        examples: &[
            "drop partition 1-4.parquet where dbms = new_company and table = rand_data",
            "drop partition where dbms = new_company and table = rand_data and keep = 3",
            "drop partition where dbms = new_company and table = * and keep = \"30 days\"",
        ],
        effect: Effect::Destructive,
        keys: &["dbms", "table", "keep"],
        ..Declaration::WRITE
    };

    fn parse(cursor: &mut Cursor<'_>) -> Result<Self, Error> {
        let is_named = cursor.peek_keyword().as_deref() != Some("where");
        let name = is_named.then(|| cursor.term("the name of a partition, or \"where\""));
        let name = name.transpose()?;
        Ok(Self { name, options: Options::parse_required(cursor, Self::DECLARATION)? })
    }

    fn print(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(name) = &self.name {
            write!(f, " {name}")?;
        }
        write!(f, "{}", self.options)
    }

    async fn run(&self, context: &Context<'_>) -> Result<Reply, Error> {
        let dbms = required(&self.options, "dbms", Self::DECLARATION, context)?;
        self.options.require("table", Self::DECLARATION)?;
        let table = optional(&self.options, "table", context)?;
        let unwanted = self.unwanted(context)?;
        let storage = context.node.engine().storage();
        let tables = match &table {
            Some(table) => vec![lookup::local_table(storage, &dbms, table)?],
            None => lookup::local_tables(storage, &dbms)?,
        };
        let mut dropped = Dropped::default();
        for table in &tables {
            dropped.add(storage.drop_files(table, unwanted.clone()).await?);
        }
        match (unwanted, dropped.files) {
            (DropSelector::Named(name), 0) => Err(Error::NoPartition { name }),
            _ => Ok(Reply::text(said(dropped))),
        }
    }
}

impl Partition {
    fn unwanted(&self, context: &Context<'_>) -> Result<DropSelector, Error> {
        let variables = context.variables();
        if let Some(name) = &self.name {
            return Ok(DropSelector::Named(name.text(variables)?));
        }
        let keep = self.options.require("keep", Self::DECLARATION)?.text(variables)?;
        if let Some(files) = keep.parse::<usize>().ok().filter(|files| *files > 0) {
            return Ok(DropSelector::AllBut(files));
        }
        let Some(age) = quantity::time(&keep) else {
            return Err(Error::BadValue {
                key: "keep".into(),
                value: keep,
                expected: "a number of files above 0, or a time such as \"30 days\" or 12h".into(),
                at: None,
            });
        };
        Ok(DropSelector::NotKept(Retention { max_age: Some(age), max_bytes: None }))
    }
}

/// What was dropped, for people.
pub(crate) fn said(dropped: Dropped) -> String {
    let Dropped { files, rows, .. } = dropped;
    match files {
        0 => "nothing was dropped".into(),
        1 => format!("1 file with {rows} row{} was dropped", if rows == 1 { "" } else { "s" }),
        _ => format!("{files} files with {rows} rows were dropped"),
    }
}
