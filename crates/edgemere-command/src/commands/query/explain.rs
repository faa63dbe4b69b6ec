//! `query explain`: how queries are run.

use std::fmt::{self, Write};

use edgemere_query::sql::Plan;
use serde_json::{Value, json};

use super::Which;
use crate::commands::Declared;
use crate::commands::sql::take_sql;
use crate::declaration::Declaration;
use crate::dispatch::Context;
use crate::error::Error;
use crate::language::cursor::Cursor;
use crate::language::lexer::{quote, word_or_quote};
use crate::language::options::{Options, Output};
use crate::reply::Reply;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Explain {
    what: What,
    options: Options,
}

#[derive(Clone, Debug, PartialEq)]
enum What {
    /// Queries that were asked.
    Asked(Which),
    /// One that is not run.
    Sql { dbms: String, sql: String },
}

impl Declared for Explain {
    const DECLARATION: &'static Declaration = &Declaration {
        name: "query explain",
        usage: "query explain [NUMBER|all] [where format = FORMAT] | query explain sql DBMS \
                [where format = FORMAT] SELECT …",
        about: "Shows the plan of the last query, of one query, or of all; or of a query that is \
                not run.",
        details: "\
The logical plan says what is done, the physical plan how: which files are read, what statistics \
skip, what runs in parallel. Read both from the bottom to the top. \"query explain sql\" plans a \
query and does not run it; \"run client () query explain sql …\" does so for the network. For a \
query of the network it says whether its rows are passed through or consolidated, what each \
operator does with its own rows, and what remains for this node.",
        examples: &[
            "query explain",
            "query explain 8 where format = json",
            "query explain sql new_company select count(*) from rand_data where value > 90",
        ],
        asks_network: true,
        ..Declaration::READ
    };

    fn parse(cursor: &mut Cursor<'_>) -> Result<Self, Error> {
        if !cursor.keyword("sql") {
            let what = What::Asked(Which::parse(cursor)?);
            return Ok(Self { what, options: Options::parse(cursor, Self::DECLARATION)? });
        }
        let dbms = cursor.name("a database")?.to_lowercase();
        let options = Options::parse(cursor, Self::DECLARATION)?;
        let sql = take_sql(cursor, "a SELECT statement")?;
        Ok(Self { what: What::Sql { dbms, sql }, options })
    }

    fn print(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.what {
            What::Asked(which) => write!(f, "{which}{}", self.options),
            What::Sql { dbms, sql } => {
                write!(f, " sql {}{} {}", word_or_quote(dbms), self.options, quote(sql))
            }
        }
    }

    fn output(&self) -> &Output {
        &self.options.output
    }

    async fn run(&self, context: &Context<'_>) -> Result<Reply, Error> {
        let explained = match &self.what {
            What::Sql { dbms, sql } => {
                let plan = context.sql().explain(dbms, sql).await?;
                let (dbms, sql) = (dbms.clone(), sql.clone());
                vec![Explained { id: None, dbms, sql, plan: Some(plan) }]
            }
            What::Asked(which) => {
                let queries = which.find(context)?;
                let explained = queries.into_iter().map(|query| Explained {
                    id: Some(query.id),
                    dbms: query.dbms,
                    sql: query.sql,
                    plan: query.plan,
                });
                explained.collect()
            }
        };
        let json: Vec<_> = explained.iter().map(Explained::json).collect();
        let text = match explained.is_empty() {
            true => "no query was asked yet".to_owned(),
            false => explained.iter().map(Explained::text).collect(),
        };
        Ok(Reply::text(text).with_json(Value::Array(json)))
    }
}

impl Explain {
    /// The database of the query that it plans.
    pub(in crate::commands) fn database(&self) -> Option<&str> {
        match &self.what {
            What::Sql { dbms, .. } => Some(dbms),
            What::Asked(_) => None,
        }
    }
}

/// What operators do for a query, and what is done with it.
fn network(explained: &edgemere_query::distributed::Explained) -> Value {
    let parts = explained.parts.iter().map(|part| {
        let operators = part.operators.iter().map(ToString::to_string);
        json!({ "operators": operators.collect::<Vec<_>>(), "plan": part.plan })
    });
    json!({
        "mode": if explained.pass_through { "pass-through" } else { "consolidation" },
        "parts": parts.collect::<Vec<_>>(),
        "consolidation": explained.consolidation,
    })
}

/// A query and how it is run.
struct Explained {
    id: Option<u64>,
    dbms: String,
    sql: String,
    plan: Option<Plan>,
}

impl Explained {
    fn text(&self) -> String {
        let plan = self.plan.clone().unwrap_or_else(|| {
            let none = "none: the query was refused".to_owned();
            Plan { logical: none.clone(), physical: none, network: None }
        });
        let id = self.id.map(|id| id.to_string());
        let network = plan.network.as_ref().map(ToString::to_string);
        let parts = [
            ("Job ID", id.as_deref()),
            ("DBMS", Some(self.dbms.as_str())),
            ("Source Command", Some(&self.sql)),
            ("Logical Plan", Some(&plan.logical)),
            // On the network the physical plan is what is left for this node, and in the other.
            ("Network", network.as_deref()),
            ("Physical Plan", Some(plan.physical.as_str()).filter(|_| network.is_none())),
        ];
        let mut text = String::from("\n");
        for (label, part) in parts {
            let mut label = label;
            for line in part.unwrap_or_default().lines() {
                // A text must neither break the lines nor speak to the terminal.
                let line: String = line.chars().filter(|c| !c.is_control()).collect();
                // Writing to a text does not fail.
                let _ = writeln!(text, "{label:14}|{line}");
                label = "";
            }
        }
        text
    }

    fn json(&self) -> Value {
        let plan = self.plan.as_ref();
        json!({
            "job": self.id,
            "dbms": self.dbms,
            "sql": self.sql,
            "logical_plan": plan.map(|plan| plan.logical.trim_end()),
            "physical_plan": plan.map(|plan| plan.physical.trim_end()),
            "network": plan.and_then(|plan| plan.network.as_ref()).map(network),
        })
    }
}
