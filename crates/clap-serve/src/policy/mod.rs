//! The policy: which commands and arguments are offered. By default only those declared as harmless.

mod pattern;

use serde::Deserialize;

pub use self::pattern::Pattern;
use crate::{Effect, Error};

/// The path of a command.
pub(crate) type Path = Vec<String>;

/// What is offered of a command line. By default only commands with [`Effect::Read`].
///
/// A policy is part of a program, or read from a file:
///
/// ```
/// let policy: clap_serve::Policy = serde_json::from_str(
///     r#"{ "read": ["* list", "* get"], "secret": ["profile *"], "deny": ["* --token"] }"#,
/// )?;
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Policy {
    /// Commands that only read, in addition to those that declare it.
    pub read: Vec<Pattern>,
    /// Commands that add or change data.
    pub write: Vec<Pattern>,
    /// Commands that may delete or overwrite data.
    pub destructive: Vec<Pattern>,
    /// Commands that are never offered, with all subcommands.
    pub secret: Vec<Pattern>,
    /// What is offered besides reading: effects; and with patterns, only the commands that match.
    pub allow: Vec<Allow>,
    /// What is never offered: commands with all subcommands, and arguments.
    pub deny: Vec<Pattern>,
    /// Offers only commands that match, out of all that would be offered.
    pub only: Option<Pattern>,
}

/// An entry of [`Policy::allow`]: an effect, such as `write`, or a pattern.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum Allow {
    /// Commands with this effect or a milder one.
    Effect(Effect),
    /// Only commands that match, out of those whose effect is allowed.
    Only(Pattern),
}

impl Allow {
    /// Parses an effect, or else a pattern.
    pub fn new(text: &str) -> Result<Self, Error> {
        match text.parse() {
            Ok(Effect::Secret) => Err(Error::AllowSecret),
            Ok(effect) => Ok(Self::Effect(effect)),
            Err(_) => text.parse().map(Self::Only),
        }
    }
}

impl TryFrom<String> for Allow {
    type Error = Error;

    fn try_from(text: String) -> Result<Self, Error> {
        Self::new(&text)
    }
}

impl Policy {
    /// The effect of a command under all of its names: the gravest of those that it declares or inherits, and of
    /// those that the policy assigns.
    pub(crate) fn effect(&self, paths: &[Path], declared: Option<Effect>) -> Option<Effect> {
        let given = [
            (Effect::Read, &self.read),
            (Effect::Write, &self.write),
            (Effect::Destructive, &self.destructive),
        ];
        let given =
            given.into_iter().filter(|(_, patterns)| any(patterns, paths, Pattern::matches));
        let secret = any(&self.secret, paths, Pattern::covers).then_some(Effect::Secret);
        given.map(|(effect, _)| effect).chain(declared).chain(secret).max()
    }

    /// The gravest effect that is offered: read, unless more is allowed.
    pub fn gravest(&self) -> Effect {
        let allowed = self.allow.iter().filter_map(|allow| match allow {
            Allow::Effect(effect) => Some(*effect),
            Allow::Only(_) => None,
        });
        allowed.max().unwrap_or(Effect::Read).min(Effect::Destructive)
    }

    /// Whether a command with this effect is offered. One without a declared effect is not.
    pub(crate) fn offers(&self, paths: &[Path], effect: Option<Effect>) -> bool {
        effect.is_some_and(|effect| effect <= self.gravest()) && self.considers(paths)
    }

    /// Whether a command is offered, if its effect is allowed.
    pub(crate) fn considers(&self, paths: &[Path]) -> bool {
        let is_only = |only: &Pattern| paths.iter().any(|path| only.matches(path));
        self.is_among(paths)
            && self.only.as_ref().is_none_or(is_only)
            && !any(&self.deny, paths, Pattern::covers)
    }

    /// Whether an argument of a command is offered.
    pub(crate) fn offers_argument(&self, paths: &[Path], names: &[String]) -> bool {
        !any(&self.deny, paths, |one, path| one.matches_argument(path, names))
    }

    fn is_among(&self, paths: &[Path]) -> bool {
        let only = self.allow.iter().filter_map(|allow| match allow {
            Allow::Only(pattern) if !pattern.is_of_arguments() => Some(pattern.clone()),
            _ => None,
        });
        let only: Vec<Pattern> = only.collect();
        only.is_empty() || any(&only, paths, Pattern::matches)
    }
}

/// Whether a predicate holds for any of the patterns and any name of a command.
fn any(patterns: &[Pattern], paths: &[Path], is_so: impl Fn(&Pattern, &[String]) -> bool) -> bool {
    patterns.iter().any(|pattern| paths.iter().any(|path| is_so(pattern, path)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn path(path: &str) -> Vec<String> {
        path.split_whitespace().map(str::to_owned).collect()
    }

    fn policy(value: serde_json::Value) -> Policy {
        serde_json::from_value(value).unwrap()
    }

    fn offers(policy: &Policy, command: &str, declared: Option<Effect>) -> bool {
        let paths = [path(command)];
        policy.offers(&paths, policy.effect(&paths, declared))
    }

    #[test]
    fn only_reading_is_offered_and_only_where_it_is_declared() {
        let none = Policy::default();
        assert!(offers(&none, "list", Some(Effect::Read)));
        for effect in [None, Some(Effect::Write), Some(Effect::Destructive), Some(Effect::Secret)] {
            assert!(!offers(&none, "list", effect), "{effect:?}");
        }
    }

    #[test]
    fn more_is_offered_when_it_is_allowed_and_secrets_never() {
        let write = policy(json!({ "allow": ["write"] }));
        assert!(offers(&write, "new", Some(Effect::Write)));
        assert!(!offers(&write, "delete", Some(Effect::Destructive)));
        let all = policy(json!({ "allow": ["destructive"] }));
        assert!(offers(&all, "delete", Some(Effect::Destructive)));
        assert!(!offers(&all, "token", Some(Effect::Secret)));
        assert!(serde_json::from_value::<Policy>(json!({ "allow": ["secret"] })).is_err());
        // Not even if the field is set directly.
        let by_hand = Policy { allow: vec![Allow::Effect(Effect::Secret)], ..Policy::default() };
        assert!(!offers(&by_hand, "token", Some(Effect::Secret)));
    }

    #[test]
    fn the_gravest_effect_holds() {
        let policy = policy(json!({ "read": ["*"], "write": ["* new"], "secret": ["profile"] }));
        assert!(offers(&policy, "component list", None));
        assert!(!offers(&policy, "component new", None));
        assert!(!offers(&policy, "component delete", Some(Effect::Destructive)));
        assert!(!offers(&policy, "profile get name", Some(Effect::Read)));
    }

    #[test]
    fn patterns_narrow_what_is_offered() {
        let policy = policy(json!({
            "read": ["*"], "allow": ["component *", "worker list"], "deny": ["component get"]
        }));
        for yes in ["component list", "worker list"] {
            assert!(offers(&policy, yes, None), "{yes}");
        }
        for no in ["worker get", "component get", "component get more", "api list"] {
            assert!(!offers(&policy, no, None), "{no}");
        }
    }

    #[test]
    fn arguments_can_be_denied() {
        let policy = policy(json!({ "read": ["*"], "deny": ["deploy --force", "--token"] }));
        assert!(!policy.offers_argument(&[path("deploy")], &["force".to_owned()]));
        assert!(policy.offers_argument(&[path("build")], &["force".to_owned()]));
        assert!(!policy.offers_argument(&[path("build")], &["token".to_owned()]));
        assert!(offers(&policy, "deploy", None));
    }
}
