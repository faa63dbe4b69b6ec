//! Where we answer otherwise on purpose: `xtask/replay/differences.toml`.
//!
//! The list stays true because a line that names no exchange, or one that matches after all, or
//! one whose answer is not the declared one, is an error.

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::replay::{form::Form, same::same};

/// The list as it is written.
pub(crate) const SOURCE: &str = include_str!("../../replay/differences.toml");

/// All that differs on purpose.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Differences {
    /// What holds for every exchange, and is built into the comparison.
    pub(crate) general: Vec<String>,
    #[serde(rename = "difference")]
    pub(crate) entries: Vec<Difference>,
    /// What is right where EdgeLake is wrong.
    #[serde(rename = "right")]
    rights: Vec<Right>,
}

/// The right answer to exchanges that EdgeLake answers wrong.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Right {
    ids: Vec<String>,
    /// Our answer, where it is JSON; else a part of it, as in [`Difference`].
    pub(crate) ours: String,
    /// Whether its lines may come in any order: those of a query that does not say one.
    #[serde(default)]
    pub(crate) any_order: bool,
}

/// Exchanges that differ for one reason.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Difference {
    pub(crate) ids: Vec<String>,
    /// What a user gets from it.
    pub(crate) reason: String,
    /// A part of our answer in the form it is compared in: so that a difference on purpose does
    /// not hide one by accident.
    ours: String,
}

impl Differences {
    pub(crate) fn load() -> Result<Self> {
        toml::from_str(SOURCE).context("differences.toml")
    }

    pub(crate) fn find(&self, id: &str) -> Option<&Difference> {
        self.entries.iter().find(|entry| entry.ids.iter().any(|other| other == id))
    }

    /// Every id names an exchange, once.
    pub(crate) fn check(&self, is_compared: impl Fn(&str) -> bool) -> Result<()> {
        let mut seen: Vec<&str> = Vec::new();
        for id in self.entries.iter().flat_map(|entry| &entry.ids) {
            if !is_compared(id) {
                bail!("differences.toml: \"{id}\" is no exchange that is compared");
            }
            if seen.contains(&id.as_str()) {
                bail!("differences.toml: \"{id}\" stands there twice");
            }
            seen.push(id);
        }
        Ok(())
    }
}

impl Differences {
    pub(crate) fn right(&self, id: &str) -> Option<&Right> {
        self.rights.iter().find(|right| right.ids.iter().any(|other| other == id))
    }

    /// Every exchange that is marked wrong has its right answer, and no other.
    pub(crate) fn check_right(&self, wrong: &[&str]) -> Result<()> {
        if let Some(id) = wrong.iter().find(|id| self.right(id).is_none()) {
            bail!("differences.toml: no right answer to \"{id}\"");
        }
        let mut ids = self.rights.iter().flat_map(|right| &right.ids);
        match ids.find(|id| !wrong.contains(&id.as_str())) {
            Some(id) => bail!("differences.toml: \"{id}\" is not marked wrong"),
            None => Ok(()),
        }
    }
}

impl Right {
    /// Why our answer is not the right one, if it is not. `right` is [`Right::ours`] in the form it is
    /// compared in.
    pub(crate) fn broken_by(&self, right: &Form, ours: &Form) -> Option<String> {
        let is_right = match right {
            Form::Json(_) => same(right, ours),
            _ if self.any_order => {
                let said = ours.to_string();
                let lines = self.ours.trim().lines();
                lines.clone().all(|line| said.lines().any(|other| other == line))
                    && said.lines().count() >= lines.count()
            }
            _ => ours.to_string().contains(&self.ours),
        };
        (!is_right).then(|| format!("not the right answer, which is \"{}\"", self.ours))
    }
}

impl Difference {
    /// Why this entry does not hold for our answer, if it does not.
    pub(crate) fn broken_by(&self, ours: &Form) -> Option<String> {
        let missing = !ours.to_string().contains(&self.ours);
        missing.then(|| format!("differs, but not as declared: no \"{}\" in it", self.ours))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::{
        class::{Class, class},
        exchange,
    };

    #[test]
    fn every_difference_names_an_exchange_that_is_compared() {
        let exchanges = exchange::load().unwrap();
        let compared = |id: &str| {
            exchanges.iter().any(|exchange| exchange.id == id && class(exchange) == Class::Compared)
        };
        Differences::load().unwrap().check(compared).unwrap();
    }

    #[test]
    fn a_stale_or_double_line_is_an_error() {
        let entry = |ids: &[&str]| Difference {
            ids: ids.iter().map(|&id| id.to_owned()).collect(),
            reason: String::new(),
            ours: String::new(),
        };
        let list = |entries| Differences { general: Vec::new(), entries, rights: Vec::new() };
        let known = |id: &str| id == "a";
        assert!(list(vec![entry(&["a"])]).check(known).is_ok());
        assert!(list(vec![entry(&["b"])]).check(known).is_err());
        assert!(list(vec![entry(&["a"]), entry(&["a"])]).check(known).is_err());
    }

    #[test]
    fn every_wrong_answer_has_its_right_one() {
        let right =
            |id: &str| Right { ids: vec![id.to_owned()], ours: "20".to_owned(), any_order: false };
        let list = Differences {
            general: Vec::new(),
            entries: Vec::new(),
            rights: vec![right("a"), right("b")],
        };
        assert!(list.check_right(&["a", "b"]).is_ok());
        assert!(list.check_right(&["a"]).is_err());
        assert!(list.check_right(&["a", "b", "c"]).is_err());
        let is_right = |right: &str, ours: &str| {
            let right = Right { ids: Vec::new(), ours: right.to_owned(), any_order: false };
            right.broken_by(&Form::of(&right.ours), &Form::of(ours)).is_none()
        };
        assert!(is_right("[{\"a\":0.1}]", "[{\"a\":0.10000000000000001}]"));
        assert!(!is_right("[{\"a\":0.1}]", "[{\"a\":0.1},{\"a\":0.1}]"));
        assert!(is_right("two words", "more than two words") && !is_right("two words", "two"));
    }

    #[test]
    fn rows_without_an_order_may_come_in_any() {
        let right = Right { ids: Vec::new(), ours: "1 a\n2 b".to_owned(), any_order: true };
        let is_right = |ours: &str| right.broken_by(&Form::of("x"), &Form::of(ours)).is_none();
        assert!(is_right("n s\n2 b\n1 a") && is_right("1 a\n2 b"));
        assert!(!is_right("n s\n2 b") && !is_right("1 a 2 b"));
    }

    #[test]
    fn an_answer_that_is_not_the_declared_one_breaks_the_entry() {
        let entry =
            Difference { ids: Vec::new(), reason: String::new(), ours: "error 141".to_owned() };
        let error = |code| Form::Error { code, text: String::new(), method: "get".to_owned() };
        assert!(entry.broken_by(&error(141)).is_none());
        assert!(entry.broken_by(&error(2)).is_some());
    }
}
