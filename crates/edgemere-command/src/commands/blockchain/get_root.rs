//! `blockchain get root policies`: the policies at the top of a hierarchy.

use std::collections::HashSet;
use std::sync::Arc;

use edgemere_ledger::{Condition, Kinds, Policy};

use crate::commands::report::Report;
use crate::declaration::Declaration;
use crate::dispatch::Context;
use crate::error::Error;
use crate::language::options::Options;
use crate::reply::Reply;

pub(crate) struct GetRoot;

impl Report for GetRoot {
    const DECLARATION: &'static Declaration = &Declaration {
        name: "blockchain get root policies",
        usage: "blockchain get root policies [where format = FORMAT]",
        about: "Returns the policies that others name as their parent and that have no parent \
                themselves.",
        details: "Clusters are left out: their parents are not a namespace.",
        examples: &["blockchain get root policies"],
        ..Declaration::READ
    };

    async fn report(_options: &Options, context: &Context<'_>) -> Result<Reply, Error> {
        Ok(roots(context.node.ledger().select(&Kinds::All, &Condition::True)))
    }
}

/// Those of all policies that are roots.
pub(crate) fn roots(mut policies: Vec<Arc<Policy>>) -> Reply {
    policies.retain(|policy| policy.kind() != "cluster");
    let parents: HashSet<_> =
        policies.iter().filter_map(|policy| policy.text("parent").map(String::from)).collect();
    policies.retain(|policy| {
        let is_parent = policy.id().is_some_and(|id| parents.contains(id));
        is_parent && policy.attribute("parent").is_none()
    });
    Reply::policies(policies)
}
