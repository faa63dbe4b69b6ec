//! `get virtual tables`: the tables of the network, wherever their rows are.

use std::fmt;

use serde_json::{Value, json};

use crate::commands::Declared;
use crate::commands::get::data_nodes::{Holding, holdings};
use crate::declaration::Declaration;
use crate::dispatch::Context;
use crate::error::Error;
use crate::format::table::Table;
use crate::language::cursor::Cursor;
use crate::language::options::{Options, Output};
use crate::reply::Reply;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct VirtualTables {
    info: bool,
    options: Options,
}

impl Declared for VirtualTables {
    const DECLARATION: &'static Declaration = &Declaration {
        name: "get virtual tables",
        usage: "get virtual tables [info] [where format = FORMAT]",
        about: "Lists the tables that operators of the network hold.",
        details: "\"info\" adds the clusters, and the number of operators of each table.",
        examples: &["get virtual tables", "get virtual tables info"],
        ..Declaration::READ
    };

    fn parse(cursor: &mut Cursor<'_>) -> Result<Self, Error> {
        let info = cursor.keyword("info");
        Ok(Self { info, options: Options::parse(cursor, Self::DECLARATION)? })
    }

    fn print(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", if self.info { " info" } else { "" }, self.options)
    }

    fn output(&self) -> &Output {
        &self.options.output
    }

    async fn run(&self, context: &Context<'_>) -> Result<Reply, Error> {
        let mut copies: Vec<(Vec<String>, usize)> = Vec::new();
        for Holding { company, dbms, table, cluster, .. } in holdings(context.node.ledger()) {
            let mut key = vec![company, dbms, table];
            key.extend(self.info.then_some(cluster));
            match copies.last_mut().filter(|(last, _)| *last == key) {
                Some((_, copies)) => *copies += 1,
                None => copies.push((key, 1)),
            }
        }
        let columns = ["Company", "DBMS", "Table", "Cluster ID", "Copies", "Permissions"];
        let shown = if self.info { columns.len() } else { 3 };
        let mut table = Table::new(columns.into_iter().take(shown)).grouped_by(3);
        for (key, copies) in copies {
            let more = self.info.then(|| [json!(copies), json!("True")]).into_iter().flatten();
            table.push(key.into_iter().map(Value::from).chain(more));
        }
        Ok(Reply::table(table))
    }
}
