//! Where an answer comes from: who was asked, who answered and who did not, how much was read for it,
//! and whether it is whole.

use std::time::Duration;

use edgemere_command::Sources;
use edgemere_command::network::{OperatorProgress, State};
use edgemere_command::sync::LedgerAge;
use serde_json::{Map, Value, json};

/// How many nodes are named.
const NAMES_MAX: usize = 20;

/// Where an answer comes from.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Provenance {
    pub(crate) asked: Vec<String>,
    pub(crate) answered: Vec<String>,
    pub(crate) missing: Vec<String>,
    pub(crate) rows_scanned: Option<u64>,
    pub(crate) time: Duration,
    /// How old what the node knows of the network was, where it is a copy.
    pub(crate) ledger: Option<LedgerAge>,
    /// Whether other nodes gave it: who they are is known from the ledger.
    pub(crate) is_of_network: bool,
}

impl Provenance {
    /// Of an answer that a node gave alone.
    pub(crate) fn of_node(name: String, time: Duration) -> Self {
        let asked = vec![name];
        Self { answered: asked.clone(), asked, time, ..Self::default() }
    }

    /// Of an answer of operators; of this node alone when there are none.
    pub(crate) fn of_operators(shares: &[OperatorProgress], node: String, time: Duration) -> Self {
        if shares.is_empty() {
            return Self::of_node(node, time);
        }
        // An operator that has not ended has read at least what it sent. One that has may have sent
        // more than it read: the count of no rows is a row.
        let scanned = |share: &OperatorProgress| match share.has_told_read {
            true => share.rows_read,
            false => share.rows,
        };
        let rows_scanned = Some(shares.iter().map(scanned).sum());
        let mut provenance = Self { time, rows_scanned, is_of_network: true, ..Self::default() };
        // In the order of their names: the same question has the same answer.
        let mut shares: Vec<_> = shares.iter().collect();
        shares.sort_by(|a, b| a.operator.name.cmp(&b.operator.name));
        for share in shares {
            let name = share.operator.name.clone();
            provenance.asked.push(name.clone());
            match share.state {
                State::Missing | State::Failed => provenance.missing.push(name),
                State::Running | State::Done => provenance.answered.push(name),
                State::Waiting => {}
            }
        }
        provenance
    }

    /// Of a reply that has been read.
    pub(crate) fn of_sources(sources: Sources, node: String, time: Duration) -> Self {
        match sources {
            Sources::Here => Self::of_node(node, time),
            Sources::Query(query) => Self::of_operators(&query.operators(), node, time)
                .with_rows_scanned(query.rows_read())
                .without_rows(query.missing_rows()),
            Sources::Operators { shares, missing_rows } => {
                Self::of_operators(&shares, node, time).without_rows(missing_rows)
            }
            Sources::Nodes { asked, missing } => {
                let answered = asked.iter().filter(|name| !missing.contains(name));
                Self {
                    answered: answered.cloned().collect(),
                    asked,
                    missing,
                    time,
                    ..Self::default()
                }
            }
        }
    }

    /// With the nodes that a reply names itself: `nodes` that answered, and `missing` that did not.
    pub(crate) fn named_by(self, reply: &Value) -> Self {
        let list = |key: &str| reply.get(key).and_then(Value::as_array).into_iter().flatten();
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let answered: Vec<String> = list("nodes").filter_map(text).collect();
        let missing: Vec<String> =
            list("missing").filter_map(|one| text(one.get("node")?)).collect();
        if answered.is_empty() && missing.is_empty() {
            return self;
        }
        let mut asked = [answered.clone(), missing.clone()].concat();
        asked.sort();
        Self { asked, answered, missing, ..self }
    }

    /// With the number of rows that were read of this node's tables, where operators told none.
    pub(crate) fn with_rows_scanned(self, rows: u64) -> Self {
        Self { rows_scanned: self.rows_scanned.or(Some(rows)), ..self }
    }

    /// Without rows that could not be read.
    fn without_rows(mut self, missing_rows: Vec<String>) -> Self {
        self.missing.extend(missing_rows);
        self
    }

    /// With how old what the node knows of the network is. Who holds what is known from there, so it
    /// matters to answers of operators alone.
    pub(crate) fn with_ledger(self, ledger: Option<LedgerAge>) -> Self {
        Self { ledger: ledger.filter(|_| self.is_of_network), ..self }
    }

    /// Whether nobody's part is missing, as far as a ledger tells that is not too old for it.
    pub(crate) fn is_complete(&self) -> bool {
        self.missing.is_empty() && !self.ledger.is_some_and(LedgerAge::is_stale)
    }

    /// Why it is not whole, in words.
    pub(crate) fn why_incomplete(&self) -> Option<String> {
        if !self.missing.is_empty() {
            return Some(format!("no answer of {}", self.missing.join(", ")));
        }
        let ledger = self.ledger.filter(|ledger| ledger.is_stale())?;
        Some(format!(
            "the copy of the ledger is {} s old, since the master does not answer: there may be \
             operators that this node does not know",
            ledger.seconds
        ))
    }

    pub(crate) fn to_value(&self) -> Value {
        let milliseconds = (self.time.as_secs_f64() * 10_000.0).round() / 10.0;
        let mut told = Map::new();
        // Of a whole answer who gave it is all that there is to say: a LIMIT may be full before others
        // were needed.
        if !self.missing.is_empty() {
            told.insert("asked".into(), names(&self.asked));
        }
        told.insert("answered".into(), names(&self.answered));
        if !self.missing.is_empty() {
            told.insert("missing".into(), names(&self.missing));
        }
        self.rows_scanned.map(|rows| told.insert("rows_scanned".into(), rows.into()));
        told.insert("time_ms".into(), json!(milliseconds));
        self.ledger.map(|ledger| told.insert("ledger_age_s".into(), ledger.seconds.into()));
        told.insert("complete".into(), self.is_complete().into());
        if self.ledger.is_some_and(LedgerAge::is_stale) {
            self.why_incomplete().map(|why| told.insert("incomplete_because".into(), why.into()));
        }
        Value::Object(told)
    }
}

/// Names, of many only the first.
fn names(names: &[String]) -> Value {
    let mut shown: Vec<_> = names.iter().take(NAMES_MAX).map(|name| json!(name)).collect();
    if names.len() > NAMES_MAX {
        shown.push(json!(format!("and {} more", names.len() - NAMES_MAX)));
    }
    Value::Array(shown)
}

#[cfg(test)]
mod tests {
    use edgemere_command::network::Operator;

    use super::*;

    #[test]
    fn an_operator_that_read_nothing_scanned_nothing() {
        let share = |rows_read, has_told_read| OperatorProgress {
            operator: Operator::default(),
            state: State::Done,
            rows: 1,
            bytes: 8,
            rows_read,
            has_told_read,
            time: Duration::ZERO,
            error: None,
        };
        let scanned = |shares: &[OperatorProgress]| {
            Provenance::of_operators(shares, "n".into(), Duration::ZERO).rows_scanned
        };
        // The count of no rows is a row.
        assert_eq!(scanned(&[share(0, true), share(20, true)]), Some(20));
        // Who has not told has read what it sent, at least.
        assert_eq!(scanned(&[share(0, false), share(20, true)]), Some(21));
    }

    #[test]
    fn a_reply_that_names_its_nodes_is_no_answer_of_this_one_alone() {
        let own = || Provenance::of_node("q".into(), Duration::ZERO);
        let reply = json!({ "nodes": ["b"], "missing": [{ "node": "a", "error": "away" }] });
        let told = own().named_by(&reply).to_value();
        assert_eq!((&told["asked"], &told["answered"]), (&json!(["a", "b"]), &json!(["b"])));
        assert_eq!((&told["missing"], &told["complete"]), (&json!(["a"]), &json!(false)));
        for other in [json!(["a"]), json!({ "nodes": { "a": 1 } }), json!("text")] {
            assert_eq!(own().named_by(&other), own(), "{other}");
        }
    }

    #[test]
    fn an_answer_by_an_old_ledger_is_not_called_complete() {
        let of = |seconds| {
            let told = Provenance { is_of_network: true, ..Provenance::default() };
            told.with_ledger(Some(LedgerAge { seconds, seconds_max: 900 })).to_value()
        };
        let (young, old) = (of(900), of(901));
        assert_eq!((&young["complete"], &young["ledger_age_s"]), (&json!(true), &json!(900)));
        assert_eq!(young.get("incomplete_because"), None);
        assert_eq!((&old["complete"], old.get("missing")), (&json!(false), None));
        assert!(old["incomplete_because"].as_str().unwrap().contains("901 s old"));
        // What the node knows itself is as it is.
        let own = Provenance::of_node("n".into(), Duration::ZERO);
        let own = own.with_ledger(Some(LedgerAge { seconds: 901, seconds_max: 900 }));
        assert!(own.is_complete() && own.to_value().get("ledger_age_s").is_none());
    }
}
