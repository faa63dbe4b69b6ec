//! `blockchain get`: the policies of the ledger, chosen by type and conditions, and what of them
//! is wanted.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use edgemere_ledger::{Condition, Kinds, Policy};

use super::bring::Bring;
use crate::commands::Declared;
use crate::declaration::Declaration;
use crate::dispatch::Context;
use crate::error::Error;
use crate::language::cursor::Cursor;
use crate::language::filter::Filter;
use crate::language::json;
use crate::language::lexer::{Token, word_or_quote};
use crate::language::options::Output;
use crate::reply::Reply;
use crate::variables::{Scope, Variables};

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Get {
    /// The types; none is all of them.
    kinds: Vec<String>,
    filter: Filter,
    bring: Option<Bring>,
    output: Output,
}

impl Declared for Get {
    const DECLARATION: &'static Declaration = &Declaration {
        name: "blockchain get",
        aliases: &["blockchain read"],
        usage: "blockchain get TYPE|*|(TYPE, …) [where CONDITIONS | {JSON}] [bring[.HOW] …] \
                [where format = FORMAT [and extract = NAME]]",
        about: "Returns the policies of the ledger, or some of their attributes.",
        details: "\
Conditions compare attributes: name = x, table[dbms] = d, [port] > 32000, with and, or and \
parentheses; the operators are =, !=, <, <=, >, >=, contains and startwith. {JSON} matches \
policies that have its attributes.

\"bring\" selects attributes of the policies: bring [operator][name] \" at \" [operator][ip] \
separator = \\n. [*] stands for the policy's type. HOW is one or more of: json, table, sort or \
sort(COLUMN, …), unique, count, first (by date), recent (by date), last (in the ledger), \
ip_port, children (the policies that name these as their parent).

\"format\" and \"extract\" may stand anywhere among the conditions and are never conditions \
themselves; an attribute of that name is written in brackets, [format] = x.",
        examples: &[
            "blockchain get *",
            "blockchain get operator where company = \"New Company\" and [port] > 32000",
            "blockchain get (master, query, operator) bring.table [*] [*][name] [*][ip] [*][port]",
            "blockchain get table where format = mcp",
            "blockchain get table where format = mcp and extract = dbms",
            "blockchain get operator bring.ip_port",
        ],
        keys: &["name", "dbms", "id", "company", "ip", "port", "cluster"],
        ..Declaration::READ
    };

    fn parse(cursor: &mut Cursor<'_>) -> Result<Self, Error> {
        let kinds = parse_kinds(cursor)?;
        let mut output = Output::default();
        let filter = parse_filter(cursor, &mut output)?;
        let bring = Bring::parse(cursor)?;
        if cursor.keyword("where") || cursor.keyword("and") {
            parse_directives(cursor, &mut output)?;
        }
        Ok(Self { kinds, filter, bring, output })
    }

    fn print(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kinds: Vec<_> = self.kinds.iter().map(|kind| word_or_quote(kind)).collect();
        match kinds.as_slice() {
            [] => f.write_str(" *")?,
            [kind] => write!(f, " {kind}")?,
            _ => write!(f, " ({})", kinds.join(", "))?,
        }
        let condition = (!self.filter.is_everything()).then(|| self.filter.to_conjunct());
        for (index, part) in condition.into_iter().chain(self.output.directives()).enumerate() {
            write!(f, " {} {part}", if index == 0 { "where" } else { "and" })?;
        }
        match &self.bring {
            Some(bring) => write!(f, " {bring}"),
            None => Ok(()),
        }
    }

    fn output(&self) -> &Output {
        &self.output
    }

    async fn run(&self, context: &Context<'_>) -> Result<Reply, Error> {
        let kinds = match self.kinds.as_slice() {
            [] => Kinds::All,
            kinds => Kinds::Named(kinds.to_vec()),
        };
        let condition = self.filter.condition(context.variables())?;
        let ledger = context.node.ledger();
        let mut policies = ledger.select(&kinds, &condition);
        if self.bring.as_ref().is_some_and(Bring::wants_children) {
            policies = children(ledger.select(&Kinds::All, &Condition::True), &policies);
        }
        match &self.bring {
            None => Ok(Reply::policies(policies)),
            Some(bring) => bring.apply(policies),
        }
    }
}

impl Get {
    /// The types of the policies that it must know; of none, all.
    pub(crate) fn needed(&self) -> &[String] {
        match self.bring.as_ref().is_some_and(Bring::wants_children) {
            true => &[],
            false => &self.kinds,
        }
    }

    /// Its reply if these are the policies of the ledger. There are no variables then.
    pub(crate) fn of(&self, all: Vec<Arc<Policy>>) -> Result<Reply, Error> {
        let none = Variables::of_node();
        let condition = self.filter.condition(Scope::new(&none, None))?;
        let is_meant = |policy: &&Arc<Policy>| {
            let is_kind = |kind: &String| kind.eq_ignore_ascii_case(policy.kind());
            (self.kinds.is_empty() || self.kinds.iter().any(is_kind)) && condition.matches(policy)
        };
        let mut policies: Vec<_> = all.iter().filter(is_meant).cloned().collect();
        if self.bring.as_ref().is_some_and(Bring::wants_children) {
            policies = children(all, &policies);
        }
        match &self.bring {
            None => Ok(Reply::policies(policies)),
            Some(bring) => bring.apply(policies),
        }
    }
}

/// Those of all policies that name one of these as their parent.
fn children(mut all: Vec<Arc<Policy>>, policies: &[Arc<Policy>]) -> Vec<Arc<Policy>> {
    let parents: HashSet<&str> = policies.iter().filter_map(|policy| policy.id()).collect();
    all.retain(|policy| policy.text("parent").is_some_and(|parent| parents.contains(parent)));
    all
}

fn parse_kinds(cursor: &mut Cursor<'_>) -> Result<Vec<String>, Error> {
    const WHAT: &str = "a policy type, \"*\" or a list of types in parentheses";
    let mut kinds = Vec::new();
    if cursor.symbol('(') {
        kinds.push(cursor.name(WHAT)?);
        while cursor.symbol(',') {
            kinds.push(cursor.name(WHAT)?);
        }
        cursor.expect_symbol(')')?;
    } else {
        kinds.push(cursor.name(WHAT)?);
    }
    // All of them and some of them are all of them.
    Ok(if kinds.iter().any(|kind| kind == "*") { Vec::new() } else { kinds })
}

fn parse_filter(cursor: &mut Cursor<'_>, output: &mut Output) -> Result<Filter, Error> {
    let has_where = cursor.keyword("where");
    if cursor.peek().token == Token::Symbol('{') {
        return json::parse(cursor).map(|json| Filter::from_json(&json));
    }
    match has_where {
        true => Filter::parse(cursor, Get::DECLARATION, output),
        false => Ok(Filter::everything()),
    }
}

/// Takes `format = …` and `extract = …` where nothing else can stand.
fn parse_directives(cursor: &mut Cursor<'_>, output: &mut Output) -> Result<(), Error> {
    loop {
        let Some(key) = cursor.peek_keyword().filter(|key| Output::is_key(key)) else {
            return Err(cursor.expected("\"format\" or \"extract\""));
        };
        cursor.take();
        cursor.expect_operator("=")?;
        output.take(&key, Get::DECLARATION, cursor)?;
        if !cursor.keyword("and") {
            return Ok(());
        }
    }
}
