//! What must happen before some exchanges so that the captured answers are to be expected.
//!
//! EdgeLake's nodes had been running, storing rows and copying the ledger from node to node. What
//! of that we do not do yet is done here by hand, and every line says what it stands in for.

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::replay::exchange::Exchange;

/// Something that happens before an exchange.
pub(crate) struct Cue {
    /// The exchange that needs it.
    pub(crate) before: &'static str,
    pub(crate) nodes: &'static [&'static str],
    pub(crate) what: What,
    /// What it stands in for.
    pub(crate) reason: &'static str,
}

/// What happens to the nodes.
pub(crate) enum What {
    /// Policies are inserted, with the ids and dates they have.
    Seed(Policies),
    /// The captured rows are stored: on the first node those of the first operator, and so on.
    Rows,
    /// The node ends.
    Stop,
}

/// Where the policies of a seed are found.
pub(crate) enum Policies {
    /// All in the reply of this exchange.
    AllOf(&'static str),
    /// Those with these names in the reply of this exchange.
    Named(&'static str, &'static [&'static str]),
    /// Those that say that the first cluster holds these tables.
    OnFirstCluster(&'static [&'static str]),
}

const ALL: &[&str] = &["master", "operator1", "operator2", "query", "fork-query"];

pub(crate) const CUES: &[Cue] = &[
    Cue {
        before: "001_status",
        nodes: ALL,
        what: What::Seed(Policies::AllOf("100_bc_star")),
        reason: "the nodes had published themselves and the first table, and the ledger was \
                 everywhere",
    },
    Cue {
        before: "001_status",
        nodes: &["operator1", "operator2"],
        what: What::Rows,
        reason: "the operators had stored 100,000 rows each",
    },
    Cue {
        before: "460_types_cols",
        nodes: &["operator1"],
        what: What::Seed(Policies::Named("f09_table_json", &["manual_t"])),
        reason: "the table of 418 had reached the operator",
    },
    Cue {
        before: "f08_table_mcp",
        nodes: &["fork-query"],
        what: What::Seed(Policies::Named("f09_table_json", TABLES_OF_F09)),
        reason: "the tables made by ingest, and that of 418, had reached the fork's node",
    },
    Cue {
        before: "481_include",
        nodes: &["query"],
        what: What::Seed(Policies::Named("f09_table_json", &["rand_small"])),
        reason: "the table made by ingest had reached the query node",
    },
    Cue {
        before: "481_include",
        nodes: &["query"],
        what: What::Seed(Policies::OnFirstCluster(TABLES_OF_507)),
        reason: "the first operator had published the tables that ingest made on its cluster; no \
                 reply shows these policies, only what follows from them",
    },
    Cue {
        before: "500_down_count",
        nodes: &["operator2"],
        what: What::Stop,
        reason: "500 to 510 were captured with the second operator down",
    },
];

const TABLES_OF_F09: &[&str] = &[
    "manual_t",
    "rand_small",
    "types_t",
    "x; drop table rand_small",
    "ing_file10k",
    "ing_str10k",
    "ing_str100",
    "ing_str1",
];

const TABLES_OF_507: &[&str] =
    &["rand_small", "types_t", "ing_file10k", "ing_str10k", "ing_str100", "ing_str1"];

impl Policies {
    /// The policies themselves, with captured ports.
    pub(crate) fn find(&self, exchanges: &[Exchange]) -> Result<Vec<Value>> {
        match self {
            Self::AllOf(id) => in_reply(exchanges, id),
            Self::Named(id, names) => {
                let all = in_reply(exchanges, id)?;
                names.iter().map(|name| named(&all, name).cloned()).collect()
            }
            Self::OnFirstCluster(tables) => {
                Ok(tables.iter().enumerate().map(on_first_cluster).collect())
            }
        }
    }
}

fn in_reply(exchanges: &[Exchange], id: &str) -> Result<Vec<Value>> {
    let exchange = exchanges.iter().find(|exchange| exchange.id == id);
    let exchange = exchange.with_context(|| format!("no exchange \"{id}\""))?;
    serde_json::from_str(&exchange.reply)
        .with_context(|| format!("the reply of \"{id}\" is no list of policies"))
}

fn named<'a>(policies: &'a [Value], name: &str) -> Result<&'a Value> {
    let is_named = |policy: &&Value| {
        let body = policy.as_object().and_then(|root| root.values().next());
        body.and_then(|body| body.get("name")?.as_str()) == Some(name)
    };
    policies.iter().find(is_named).with_context(|| format!("no policy \"{name}\""))
}

fn on_first_cluster((index, table): (usize, &&str)) -> Value {
    json!({"cluster": {
        "parent": "dc8355cd35a0b0541ffc7e33c4584477",
        "name": "cluster1",
        "company": "New Company",
        "table": [{"dbms": "new_company", "name": table, "status": "active"}],
        "source": "Node at 127.0.0.1:33148",
        "id": format!("{index:032x}"),
        "date": format!("2026-11-15T20:00:0{index}.000000Z"),
        "status": "active",
        "ledger": "global",
    }})
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::exchange;

    #[test]
    fn every_cue_names_an_exchange_and_finds_its_policies() {
        let exchanges = exchange::load().unwrap();
        let mut found = Vec::new();
        for cue in CUES {
            assert!(exchanges.iter().any(|exchange| exchange.id == cue.before), "{}", cue.before);
            assert!(!cue.reason.is_empty());
            if let What::Seed(policies) = &cue.what {
                found.push(policies.find(&exchanges).unwrap().len());
            }
        }
        assert_eq!(found, [9, 1, 8, 1, 6]);
    }

    #[test]
    fn a_name_that_is_not_there_is_an_error() {
        let exchanges = exchange::load().unwrap();
        assert!(Policies::Named("f09_table_json", &["nope"]).find(&exchanges).is_err());
        assert!(Policies::AllOf("nope").find(&exchanges).is_err());
    }
}
