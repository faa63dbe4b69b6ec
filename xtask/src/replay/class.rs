//! Which exchanges are compared now. A rule on the command decides, never a list of ids.

use crate::replay::exchange::Exchange;

/// What is done with an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// Sent and compared.
    Compared,
    /// EdgeLake's answer is wrong: sent, and compared with the right one.
    MarkedWrong,
    /// EdgeLake's answer is wrong and the command comes in a later step: not sent.
    MarkedWrongLater,
    /// The command comes in a later step: not sent.
    Later,
}

/// How the commands begin that need services which do not exist yet. A step that brings one
/// takes its line away.
const LATER: &[&str] = &[
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
        Some(command) => LATER.iter().any(|start| begins(&command, start)),
        None => false,
    }
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
        assert_eq!(count(Class::Compared), 233);
        assert_eq!(count(Class::MarkedWrong), 25);
        assert_eq!(count(Class::MarkedWrongLater), 0);
        assert_eq!(count(Class::Later), 16);
    }

    #[test]
    fn words_are_compared_whole_and_in_any_case() {
        assert!(begins("SQL new_company select 1", "sql"));
        assert!(begins("get   rows  count", "get rows count"));
        assert!(!begins("get rows", "get rows count"));
        assert!(!begins("sqlite", "sql"));
    }
}
