//! What the nodes hold when the calls are asked: as when they were captured, after the exchanges over
//! REST.

use crate::replay::cues::{Cue, Policies, What};

const NETWORK: &[&str] = &["master", "operator1", "operator2", "query", "fork-query"];
const SERVERS: &[&str] = &["query", "fork-query"];

/// The tables that there were when the public version was asked, and those that came until the other.
const TABLES: &[&str] = &["manual_t", "rand_small", "types_t", "x; drop table rand_small"];
const LATER_TABLES: &[&str] = &["ing_file10k", "ing_str10k", "ing_str100", "ing_str1"];

/// All of it happens before the first call.
const FIRST: &str = "the first call";

pub(super) const CUES: &[Cue] = &[
    Cue {
        before: FIRST,
        nodes: NETWORK,
        what: What::Seed(Policies::AllOf("100_bc_star")),
        reason: "the nodes had published themselves, and the ledger was everywhere",
    },
    Cue {
        before: FIRST,
        nodes: &["operator1", "operator2"],
        what: What::Rows,
        reason: "the operators had stored 100,000 rows each",
    },
    Cue {
        before: FIRST,
        nodes: SERVERS,
        what: What::Seed(Policies::Named("f09_table_json", TABLES)),
        reason: "tables were made by ingest and by hand",
    },
    Cue {
        before: FIRST,
        nodes: SERVERS,
        what: What::Seed(Policies::OnFirstCluster(&["rand_small", "types_t"])),
        reason: "the first operator had published that it holds them",
    },
    Cue {
        before: FIRST,
        nodes: &["fork-query"],
        what: What::Seed(Policies::Named("f09_table_json", LATER_TABLES)),
        reason: "ingest was measured before the fork was asked",
    },
    Cue {
        before: FIRST,
        nodes: &["query"],
        what: What::Seed(Policies::AllOf("401_bc_get_device")),
        reason: "a device had been inserted",
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::exchange;

    #[test]
    fn every_cue_finds_its_policies() {
        let exchanges = exchange::load().unwrap();
        for cue in CUES {
            assert!(!cue.reason.is_empty() && !cue.nodes.is_empty());
            if let What::Seed(policies) = &cue.what {
                assert!(!policies.find(&exchanges).unwrap().is_empty());
            }
        }
    }
}
