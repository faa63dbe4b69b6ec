//! The environment variables of a program: what programs need, and no secrets.

use std::{
    env,
    ffi::{OsStr, OsString},
    fmt,
};

/// The variables that programs need: paths, the user, the locale.
const PASSED: &[&str] =
    &["PATH", "HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "TZ", "TMPDIR", "TEMP", "TMP"];

/// Prefixes of variables that are passed too: the locale, and the user's directories.
const PASSED_BEGINNINGS: &[&str] = &["LC_", "XDG_"];

/// The variables that every program on Windows needs.
const PASSED_ON_WINDOWS: &[&str] = &[
    "SYSTEMROOT",
    "SYSTEMDRIVE",
    "WINDIR",
    "PATHEXT",
    "COMSPEC",
    "USERPROFILE",
    "USERNAME",
    "APPDATA",
    "LOCALAPPDATA",
    "PROGRAMDATA",
    "PROGRAMFILES",
];

/// The variables that disable terminal output.
const SET: &[(&str, &str)] = &[("NO_COLOR", "1"), ("CLICOLOR", "0"), ("TERM", "dumb")];

/// The environment variables of a program.
///
/// [`Environment::default`] passes `PATH`, `HOME`, `USER`, `LOGNAME`, `LANG`, `LANGUAGE`, `LC_*`, `XDG_*`,
/// `TZ`, `TMPDIR`, `TEMP` and `TMP`, and sets `NO_COLOR=1`, `CLICOLOR=0` and `TERM=dumb`. The program sees no
/// other variable of the server, such as tokens and keys, unless it is [passed](Self::pass). A name that
/// ends with `*`, such as `GOLEM_*`, is a prefix; `*` alone matches nothing.
#[derive(Clone, PartialEq, Eq)]
pub struct Environment {
    is_usual: bool,
    /// Later rules win.
    rules: Vec<(OsString, Rule)>,
}

#[derive(Clone, PartialEq, Eq)]
enum Rule {
    /// The server's value when the program starts.
    Pass,
    Set(OsString),
    Remove,
}

impl Environment {
    /// No variables, not even `PATH`.
    pub fn empty() -> Self {
        Self { is_usual: false, rules: Vec::new() }
    }

    /// Passes a variable of the server, if it is set; or all with a prefix, such as `GOLEM_*`.
    #[must_use]
    pub fn pass(self, name: impl Into<OsString>) -> Self {
        self.with(name, Rule::Pass)
    }

    /// Sets a variable.
    #[must_use]
    pub fn set(self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        let value = value.into();
        self.with(name, Rule::Set(value))
    }

    /// Removes a variable; or all with a prefix, such as `GOLEM_*`.
    #[must_use]
    pub fn remove(self, name: impl Into<OsString>) -> Self {
        self.with(name, Rule::Remove)
    }

    /// Passes a variable, unless there is a rule for it already.
    #[must_use]
    pub(crate) fn or_pass(self, name: OsString) -> Self {
        match self.rules.iter().any(|(known, _)| is_of(known, &name)) {
            true => self,
            false => self.pass(name),
        }
    }

    fn with(mut self, name: impl Into<OsString>, rule: Rule) -> Self {
        self.rules.push((name.into(), rule));
        self
    }

    /// The variables with their current values.
    pub(super) fn variables(&self) -> Vec<(OsString, OsString)> {
        let mut variables = Vec::new();
        if self.is_usual {
            variables.extend(env::vars_os().filter(|(name, _)| is_passed(name)));
            variables.extend(SET.iter().map(|(name, value)| (name.into(), value.into())));
        }
        for (name, rule) in &self.rules {
            match rule {
                Rule::Set(value) => {
                    variables.retain(|(other, _)| other != name);
                    variables.push((name.clone(), value.clone()));
                }
                Rule::Remove | Rule::Pass => variables.retain(|(other, _)| !is_of(name, other)),
            }
            if *rule == Rule::Pass {
                variables.extend(env::vars_os().filter(|(other, _)| is_of(name, other)));
            }
        }
        variables
    }
}

impl Default for Environment {
    fn default() -> Self {
        Self { is_usual: true, rules: Vec::new() }
    }
}

/// Shows names only: a value may be a secret.
impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = |rule: &Rule| match rule {
            Rule::Pass => "pass",
            Rule::Set(_) => "set",
            Rule::Remove => "remove",
        };
        let rules: Vec<_> = self.rules.iter().map(|(name, rule)| (name, word(rule))).collect();
        f.debug_struct("Environment")
            .field("is_usual", &self.is_usual)
            .field("rules", &rules)
            .finish()
    }
}

/// Whether a rule's name, which may end with `*`, matches a variable.
fn is_of(rule: &OsStr, name: &OsStr) -> bool {
    let beginning = rule.to_str().and_then(|rule| rule.strip_suffix('*'));
    match beginning.filter(|beginning| !beginning.is_empty()) {
        Some(beginning) => name.to_str().is_some_and(|name| name.starts_with(beginning)),
        None => rule == name,
    }
}

fn is_passed(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else { return false };
    let is_windows = cfg!(windows)
        && PASSED.iter().chain(PASSED_ON_WINDOWS).any(|one| one.eq_ignore_ascii_case(name));
    is_windows
        || PASSED.contains(&name)
        || PASSED_BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(environment: &Environment, name: &str) -> Option<String> {
        let variables = environment.variables();
        let mut found = variables.iter().filter(|(other, _)| other == name);
        let value = found.next().map(|(_, value)| value.to_string_lossy().into_owned());
        assert!(found.next().is_none(), "{name} is there twice");
        value
    }

    #[test]
    fn what_programs_need_is_handed_on_and_nothing_else() {
        let usual = Environment::default();
        assert_eq!(value(&usual, "PATH"), env::var("PATH").ok());
        assert_eq!(value(&usual, "TERM").as_deref(), Some("dumb"));
        assert_eq!(value(&usual, "NO_COLOR").as_deref(), Some("1"));
        // Cargo sets this variable for every test.
        assert!(env::var_os("CARGO_MANIFEST_DIR").is_some());
        assert_eq!(value(&usual, "CARGO_MANIFEST_DIR"), None);
        for name in ["LC_ALL", "XDG_CONFIG_HOME", "TZ"] {
            assert!(is_passed(OsStr::new(name)), "{name}");
        }
        for name in
            ["AWS_SECRET_ACCESS_KEY", "SSH_AUTH_SOCK", "LD_PRELOAD", "lc_all", "EDGEMERE_KEY"]
        {
            assert!(!is_passed(OsStr::new(name)), "{name}");
        }
    }

    #[test]
    fn the_later_rule_counts() {
        let one = Environment::default().set("TERM", "xterm").pass("CARGO_MANIFEST_DIR");
        assert_eq!(value(&one, "TERM").as_deref(), Some("xterm"));
        assert_eq!(value(&one, "CARGO_MANIFEST_DIR"), env::var("CARGO_MANIFEST_DIR").ok());
        assert_eq!(value(&one.clone().remove("TERM"), "TERM"), None);
        assert_eq!(value(&one.pass("NOT_SET_ANYWHERE"), "NOT_SET_ANYWHERE"), None);
        assert_eq!(Environment::empty().variables(), []);
    }

    #[test]
    fn a_name_with_a_star_stands_for_all_that_begin_so() {
        let all = Environment::default().set("CARGO_X", "set").pass("CARGO_*");
        assert_eq!(value(&all, "CARGO_MANIFEST_DIR"), env::var("CARGO_MANIFEST_DIR").ok());
        assert_eq!(value(&all, "CARGO_X"), None, "the later rule counts");
        let none = all.remove("CARGO_MANIFEST_*").or_pass("CARGO_MANIFEST_DIR".into());
        assert_eq!(value(&none, "CARGO_MANIFEST_DIR"), None);
        assert_eq!(value(&none, "CARGO_PKG_NAME"), env::var("CARGO_PKG_NAME").ok());
        let everything = Environment::empty().pass("*");
        assert_eq!(everything.variables(), [], "a star alone is the name of nothing");
    }

    #[test]
    fn values_are_not_shown() {
        let shown = format!("{:?}", Environment::default().set("TOKEN", "s3cret"));
        assert!(shown.contains("TOKEN") && !shown.contains("s3cret"), "{shown}");
    }
}
