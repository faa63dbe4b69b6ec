//! `create policy`: makes a policy of attributes and, for a node's own policies, of defaults.

use std::fmt;

use edgemere_ledger::Policy;
use serde_json::{Map, Value, json};

use crate::commands::Declared;
use crate::declaration::Declaration;
use crate::dispatch::Context;
use crate::error::Error;
use crate::language::cursor::Cursor;
use crate::language::lexer::word_or_quote;
use crate::language::options::{ANY_KEY, Options};
use crate::node::{Node, Role};
use crate::reply::Reply;
use edgemere_service::Effect;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CreatePolicy {
    kind: String,
    with_defaults: bool,
    options: Options,
}

impl Declared for CreatePolicy {
    const DECLARATION: &'static Declaration = &Declaration {
        name: "create policy",
        usage: "create policy TYPE [with defaults] [where KEY = VALUE and …]",
        about: "Creates a policy and returns it without storing it.",
        details: "\
\"with defaults\" adds this node's name, company and addresses to a policy of type master, \
operator or query. Assign the policy to a variable to store it: p = create policy … and then \
blockchain insert where policy = !p and local = true.",
        examples: &[
            "create policy device where name = dev-1 and rate = 5",
            "create policy query with defaults where company = my_company",
        ],
        effect: Effect::Read,
        keys: ANY_KEY,
        ..Declaration::WRITE
    };

    fn parse(cursor: &mut Cursor<'_>) -> Result<Self, Error> {
        let kind = cursor.name("a policy type")?.to_lowercase();
        let with_defaults = cursor.keyword("with");
        if with_defaults {
            cursor.expect_keyword("defaults")?;
        }
        Ok(Self { kind, with_defaults, options: Options::parse(cursor, Self::DECLARATION)? })
    }

    fn print(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let defaults = if self.with_defaults { " with defaults" } else { "" };
        write!(f, " {}{defaults}{}", word_or_quote(&self.kind), self.options)
    }

    async fn run(&self, context: &Context<'_>) -> Result<Reply, Error> {
        let mut attributes = Map::new();
        for (key, value) in self.options.pairs() {
            attributes.insert(key.clone(), value.value(context.variables())?);
        }
        if self.with_defaults {
            for (key, value) in defaults(&self.kind, context.node) {
                attributes.entry(key).or_insert(value);
            }
        }
        let policy = Policy::from_value(json!({ self.kind.as_str(): attributes }))?;
        Ok(Reply::json(policy.to_value()))
    }
}

/// What a node's policy says when nobody says otherwise.
fn defaults(kind: &str, node: &Node) -> Vec<(&'static str, Value)> {
    if !Role::ALL.iter().any(|role| role.name() == kind) {
        return Vec::new();
    }
    let settings = node.settings();
    vec![
        ("name", node.name().into()),
        ("company", settings.company.clone().into()),
        ("ip", settings.network.ip().to_string().into()),
        ("port", settings.network.port().into()),
        ("rest_port", settings.http.port().into()),
    ]
}
