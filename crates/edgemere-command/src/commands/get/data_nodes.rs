//! `get data nodes`: the operators, and the tables whose rows each of them holds.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use edgemere_ledger::{Ledger, Policy};
use serde_json::{Value, json};

use crate::commands::report::Report;
use crate::declaration::Declaration;
use crate::destination::address_of;
use crate::dispatch::Context;
use crate::error::Error;
use crate::format::table::Table;
use crate::language::options::Options;
use crate::lookup;
use crate::reply::Reply;

pub(crate) struct DataNodes;

impl Report for DataNodes {
    const DECLARATION: &'static Declaration = &Declaration {
        name: "get data nodes",
        usage: "get data nodes [where [company = NAME] [and dbms = NAME] [and table = NAME] \
                [and format = FORMAT]]",
        about: "Lists the operators and the tables that each of them holds.",
        examples: &["get data nodes", "get data nodes where dbms = new_company and format = json"],
        keys: &["company", "dbms", "table"],
        ..Declaration::READ
    };

    async fn report(options: &Options, context: &Context<'_>) -> Result<Reply, Error> {
        let wanted = |key| {
            let text = options.get(key).map(|value| value.text(context.variables()));
            Ok::<_, Error>(text.transpose()?.filter(|text| text != "*"))
        };
        let (company, dbms, table) = (wanted("company")?, wanted("dbms")?, wanted("table")?);
        let fits = |wanted: &Option<String>, value: &str| {
            wanted.as_ref().is_none_or(|wanted| wanted == value)
        };
        let mut rows = Table::new(COLUMNS).grouped_by(3);
        let mut by_table: BTreeMap<(String, String), BTreeSet<String>> = BTreeMap::new();
        for holding in holdings(context.node.ledger()) {
            let is_wanted = fits(&company, &holding.company)
                && fits(&dbms, &holding.dbms)
                && fits(&table, &holding.table);
            if is_wanted {
                rows.push(holding.row());
                let nodes = by_table.entry((holding.dbms.clone(), holding.table.clone()));
                nodes.or_default().extend(holding.operator.name().map(str::to_owned));
            }
        }
        // An entry a table: agents read all of them.
        let by_table = by_table.into_iter().map(
            |((dbms, table), nodes)| json!({ "database": dbms, "table": table, "nodes": nodes }),
        );
        Ok(Reply::table(rows).with_mcp(by_table.collect()))
    }
}

const COLUMNS: [&str; 11] = [
    "Company",
    "DBMS",
    "Table",
    "Cluster ID",
    "Cluster Status",
    "Node Name",
    "Member ID",
    "External IP/Port",
    "Local IP/Port",
    "Main",
    "Node Status",
];

/// That an operator holds rows of a table.
pub(super) struct Holding {
    pub(super) company: String,
    pub(super) dbms: String,
    pub(super) table: String,
    pub(super) cluster: String,
    pub(super) cluster_status: String,
    pub(super) operator: Arc<Policy>,
}

impl Holding {
    fn row(&self) -> [Value; 11] {
        let operator = &self.operator;
        [
            json!(self.company),
            json!(self.dbms),
            json!(self.table),
            json!(self.cluster),
            json!(self.cluster_status),
            json!(operator.name()),
            operator.attribute("member").cloned().unwrap_or_default(),
            json!(address_of(operator)),
            json!(operator.text("internal_ip").unwrap_or_default()),
            json!("-"),
            json!(operator.text("status").unwrap_or("active")),
        ]
    }
}

/// Which operator holds which table: the tables of each cluster, and the operators of that
/// cluster.
pub(super) fn holdings(ledger: &Ledger) -> Vec<Holding> {
    let operators = lookup::of_kind(ledger, "operator");
    let mut holdings = Vec::new();
    for cluster in lookup::of_kind(ledger, "cluster") {
        let Some(id) = cluster.text("parent").or(cluster.id()) else { continue };
        for (dbms, table) in lookup::tables_of(&cluster) {
            let of_cluster = operators.iter().filter(|op| op.text("cluster") == Some(id));
            holdings.extend(of_cluster.map(|operator| Holding {
                company: cluster.text("company").unwrap_or_default().into(),
                dbms: dbms.clone(),
                table: table.clone(),
                cluster: id.into(),
                cluster_status: cluster.text("status").unwrap_or("active").into(),
                operator: Arc::clone(operator),
            }));
        }
    }
    let key =
        |holding: &Holding| (holding.company.clone(), holding.dbms.clone(), holding.table.clone());
    holdings.sort_by_key(key);
    holdings
}
