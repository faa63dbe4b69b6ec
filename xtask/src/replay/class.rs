//! Which exchanges are compared now. A rule on the command decides, never a list of ids.

use crate::replay::exchange::Exchange;

/// What is done with an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// Sent and compared.
    Compared,
    /// EdgeLake's answer is wrong: sent, to see that the node answers, and not compared.
    MarkedWrong,
    /// EdgeLake's answer is wrong and the command comes in a later step: not sent.
    MarkedWrongLater,
    /// The command comes in a later step: not sent.
    Later,
}

/// How the commands begin that need jobs or services which do not exist yet. A step that brings one
/// takes its line away.
const LATER: &[&str] = &[
    "query",
    "job",
    "get operator",
    "get streaming",
    "get partitions",
    "get tsd",
    "get scheduler",
    "get queries time",
    "get inserts",
    "get error log",
    "get mcp status",
    "get archived",
];

/// The class of an exchange.
pub(crate) fn class(exchange: &Exchange) -> Class {
    match (exchange.is_wrong(), is_later(exchange)) {
        (true, true) => Class::MarkedWrongLater,
        (true, false) => Class::MarkedWrong,
        (false, true) => Class::Later,
        (false, false) => Class::Compared,
    }
}

fn is_later(exchange: &Exchange) -> bool {
    match exchange.command() {
        Some(command) if begins(&command, "sql") => is_for_network(exchange),
        Some(command) => LATER.iter().any(|start| begins(&command, start)),
        // A query as a JSON body, or rows to store.
        None if exchange.method == "POST" && exchange.body().contains("\"dbms\"") => {
            is_for_network(exchange)
        }
        None => false,
    }
}

/// Whether a query is for the rows of all nodes. An operator that is asked itself answers for
/// itself; all others have no rows.
fn is_for_network(exchange: &Exchange) -> bool {
    let is_operator = exchange.node.starts_with("operator");
    let mut headers = exchange.headers();
    !is_operator || headers.any(|(name, _)| name.eq_ignore_ascii_case("destination"))
}

/// Whether a command begins with these whole words, in any case.
pub(crate) fn begins(command: &str, start: &str) -> bool {
    let mut words = command.split_whitespace();
    start.split_whitespace().all(|word| words.next().is_some_and(|w| w.eq_ignore_ascii_case(word)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::exchange;

    fn count(wanted: Class) -> usize {
        let exchanges = exchange::load().unwrap();
        exchanges.iter().filter(|exchange| class(exchange) == wanted).count()
    }

    #[test]
    fn every_exchange_has_its_class() {
        assert_eq!(count(Class::Compared), 171);
        assert_eq!(count(Class::MarkedWrong), 7);
        assert_eq!(count(Class::MarkedWrongLater), 18);
        assert_eq!(count(Class::Later), 78);
    }

    #[test]
    fn words_are_compared_whole_and_in_any_case() {
        assert!(begins("SQL new_company select 1", "sql"));
        assert!(begins("get   rows  count", "get rows count"));
        assert!(!begins("get rows", "get rows count"));
        assert!(!begins("sqlite", "sql"));
    }
}
