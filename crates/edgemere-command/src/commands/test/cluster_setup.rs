//! `test cluster setup`: what the node is to its cluster.

use serde_json::json;

use crate::commands::report::Report;
use crate::declaration::Declaration;
use crate::dispatch::Context;
use crate::error::Error;
use crate::format::table::Table;
use crate::language::options::Options;
use crate::lookup;
use crate::node::Role;
use crate::reply::Reply;

pub(crate) struct ClusterSetup;

impl Report for ClusterSetup {
    const DECLARATION: &'static Declaration = &Declaration {
        name: "test cluster setup",
        usage: "test cluster setup [where format = FORMAT]",
        about: "Shows the node's place in its cluster.",
        examples: &["test cluster setup"],
        ..Declaration::READ
    };

    async fn report(_options: &Options, context: &Context<'_>) -> Result<Reply, Error> {
        let node = context.node;
        let is_operator = node.has_role(Role::Operator);
        let address = node.settings().network;
        let values = [("ip", address.ip().to_string()), ("port", address.port().to_string())];
        let values = values.each_ref().map(|(name, value)| (*name, value.as_str()));
        let policy = lookup::with(node.ledger(), "operator", &values).into_iter().next();
        let policy = policy.filter(|_| is_operator);
        let attribute = |name| policy.as_ref().and_then(|policy| policy.attribute(name).cloned());
        let mut table = Table::new(["Functionality", "Details"]);
        let operator = if is_operator { "Enabled" } else { "Disabled" };
        table.push([json!("Operator"), json!(operator)]);
        table.push([json!("Distributor"), json!("Disabled")]);
        table.push([json!("Consumer"), json!("Disabled")]);
        table.push([json!("Operator Name"), attribute("name").unwrap_or(json!(""))]);
        table.push([json!("Member ID"), attribute("member").unwrap_or(json!(0))]);
        table.push([json!("Cluster ID"), attribute("cluster").unwrap_or(json!(0))]);
        table.push([json!("almgm.tsd_info"), json!("Not Defined")]);
        Ok(Reply::table(table))
    }
}
