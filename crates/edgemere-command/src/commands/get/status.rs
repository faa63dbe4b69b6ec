//! `get status`: whether the node runs, under which name, and what it has done.

use std::fmt;
use std::sync::atomic::Ordering;

use serde_json::{Map, Value, json};

use crate::commands::Declared;
use crate::declaration::Declaration;
use crate::dispatch::Context;
use crate::error::Error;
use crate::language::cursor::Cursor;
use crate::language::options::{Options, Output};
use crate::language::term::{Term, text_of};
use crate::node::Node;
use crate::reply::Reply;
use crate::sync::State;
use edgemere_service::Effect;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Status {
    options: Options,
    statistics: bool,
}

impl Declared for Status {
    const DECLARATION: &'static Declaration = &Declaration {
        name: "get status",
        usage: "get status [where format = FORMAT [and include = !NAME]] [include statistics]",
        about: "Shows whether the node is running, and its name.",
        details: "\
\"include = !NAME\" adds the value of a variable, and may occur several times. \"include \
statistics\" adds when the node started and how much it has done.",
        examples: &[
            "get status",
            "get status where format = mcp include statistics",
            "get status where format = json and include = !company_name",
        ],
        keys: &["include"],
        ..Declaration::READ
    };

    fn parse(cursor: &mut Cursor<'_>) -> Result<Self, Error> {
        let options = Options::parse(cursor, Self::DECLARATION)?;
        let statistics = cursor.keyword("include");
        if statistics {
            cursor.expect_keyword("statistics")?;
        }
        Ok(Self { options, statistics })
    }

    fn print(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let statistics = if self.statistics { " include statistics" } else { "" };
        write!(f, "{}{statistics}", self.options)
    }

    fn output(&self) -> &Output {
        &self.options.output
    }

    fn effect(&self) -> Effect {
        let shown = self.options.all("include").map(Term::effect_of_showing);
        shown.max().unwrap_or(Effect::Read)
    }

    async fn run(&self, context: &Context<'_>) -> Result<Reply, Error> {
        let node = context.node;
        let name = node.assigned_name();
        let mut more = Map::new();
        for include in self.options.all("include") {
            more.insert(include_name(include), include.text(context.variables())?.into());
        }
        if self.statistics {
            more.extend(statistics(node));
        }
        if let State::Refused(reason) = node.synchronizer().status().state {
            more.insert("ledger refused".into(), reason.into());
        }
        let mut text = format!("{name} running");
        for (key, value) in &more {
            text.push_str(&format!("\n{key}: {}", text_of(value)));
        }
        let object = |name_key: &str| {
            let mut object = Map::new();
            object.insert(name_key.into(), name.clone().into());
            object.insert("status".into(), "running".into());
            object.insert("profiling".into(), false.into());
            object.extend(more.clone());
            Value::Object(object)
        };
        Ok(Reply::text(text).with_json(object("assigned_name")).with_mcp(object("node_name")))
    }
}

fn include_name(include: &Term) -> String {
    match include {
        Term::Variable(name) => name.clone(),
        other => other.to_string(),
    }
}

fn statistics(node: &Node) -> Map<String, Value> {
    let activity = &node.activity;
    let total = activity.commands.load(Ordering::Relaxed);
    let seen = activity.commands_seen.swap(total, Ordering::Relaxed);
    let seconds = activity.started.elapsed().as_secs();
    let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
    let statistics = json!({
        "Node name": node.assigned_name(),
        "Start timestamp": activity.started_at.as_second(),
        "Operational time": format!("{hours:02}:{minutes:02}:{:02} (H:M:S)", seconds % 60),
        "Total events": total,
        "New events": total.saturating_sub(seen),
        "Query timestamp": jiff::Timestamp::now().as_second(),
        "Errors": activity.errors.load(Ordering::Relaxed),
        "Policies": node.ledger().len(),
    });
    match statistics {
        Value::Object(statistics) => statistics,
        _ => Map::new(),
    }
}
