//! The commands of a clap tree that are offered, as tools.
//!
//! The tree is read once, at the start. A [`Leaf`] has everything that a call needs.

mod argument;
mod kind;
mod rules;
mod schema;

use std::collections::BTreeSet;

use clap::{Arg, ArgAction, Command};

pub(crate) use self::{
    argument::{Argument, Layout, Shape, Spelling},
    kind::{Kind, whole},
    rules::Rule,
};
use crate::{Effect, Error, Policy, effect, policy::Path};

/// The maximum length of a long description: models read all of them.
const DESCRIPTION_CHARS_MAX: usize = 600;

/// The offered commands of a program, in the order of its help.
#[derive(Debug)]
pub(crate) struct Tree {
    pub(crate) leaves: Vec<Leaf>,
    /// Commands that are not offered only because they declare no effect.
    pub(crate) undeclared: Vec<String>,
    /// The number of commands that are not offered.
    pub(crate) withheld: usize,
}

/// An offered command.
#[derive(Debug)]
pub(crate) struct Leaf {
    /// Its path, without the program's name.
    pub(crate) path: Vec<String>,
    /// The name of its tool.
    pub(crate) tool: String,
    pub(crate) description: String,
    pub(crate) effect: Effect,
    pub(crate) arguments: Vec<Argument>,
    pub(crate) rules: Vec<Rule>,
    /// The program with this command alone, which parses its calls.
    pub(crate) parser: Command,
}

impl Leaf {
    /// Its path as it is typed.
    pub(crate) fn spaced(&self) -> String {
        self.path.join(" ")
    }
}

impl Tree {
    /// The commands of a program that a policy offers.
    pub(crate) fn new(command: &Command, policy: &Policy, prefix: &str) -> Result<Self, Error> {
        let mut built = command.clone();
        built.build();
        let mut tree = Self { leaves: Vec::new(), undeclared: Vec::new(), withheld: 0 };
        let walk = Walk { built: &built, policy, prefix };
        walk.visit(&mut tree, command, &[&built], &mut Vec::new(), None);
        tree.check_names()?;
        Ok(tree)
    }

    fn check_names(&self) -> Result<(), Error> {
        for (at, leaf) in self.leaves.iter().enumerate() {
            let mut before = self.leaves.iter().take(at);
            if let Some(other) = before.find(|other| other.tool == leaf.tool) {
                let (tool, one, other) = (leaf.tool.clone(), other.spaced(), leaf.spaced());
                return Err(Error::SameName { tool, one, other });
            }
        }
        Ok(())
    }
}

/// A walk through the commands of a program.
struct Walk<'a> {
    built: &'a Command,
    policy: &'a Policy,
    /// The prefix of all tool names.
    prefix: &'a str,
}

impl Walk<'_> {
    /// Adds a command and its subcommands, if they are offered. `levels` are the commands that lead to it and
    /// itself; `original` is the author's definition, without what clap adds.
    fn visit(
        &self,
        tree: &mut Tree,
        original: &Command,
        levels: &[&Command],
        path: &mut Vec<String>,
        inherited: Option<Effect>,
    ) {
        let Some(command) = levels.last() else { return };
        if command.is_hide_set() {
            return;
        }
        let own = effect::declared(command);
        let declared = match inherited {
            // All subcommands of a secret command are secret.
            Some(Effect::Secret) => inherited,
            _ => own.or(inherited),
        };
        let below: Vec<(&Command, &Command)> = command
            .get_subcommands()
            .filter_map(|built| Some((original.find_subcommand(built.get_name())?, built)))
            .collect();
        // A command with subcommands is a tool itself only if it declares an effect.
        let effect = if below.is_empty() { declared } else { own };
        self.take(tree, levels, path, effect, below.is_empty());
        for (original, built) in below {
            path.push(built.get_name().to_owned());
            let levels: Vec<&Command> = levels.iter().copied().chain([built]).collect();
            self.visit(tree, original, &levels, path, declared);
            path.pop();
        }
    }

    /// Adds a command itself, if it is offered.
    fn take(
        &self,
        tree: &mut Tree,
        levels: &[&Command],
        path: &[String],
        declared: Option<Effect>,
        is_leaf: bool,
    ) {
        let Some(command) = levels.last() else { return };
        if !is_leaf && command.is_subcommand_required_set() {
            return;
        }
        if command.is_allow_external_subcommands_set() {
            // It runs external programs, whose effect cannot be declared.
            tree.withheld += 1;
            return;
        }
        let known_as = spellings(levels);
        let effect = self.policy.effect(&known_as, declared);
        if effect.is_none() && !is_leaf {
            return;
        }
        let offered = match effect.filter(|_| self.policy.offers(&known_as, effect)) {
            Some(effect) => self.leaf(levels, path, &known_as, effect),
            None => None,
        };
        match offered {
            Some(leaf) => tree.leaves.push(leaf),
            None => {
                tree.withheld += 1;
                let is_open = effect.is_none() && self.policy.considers(&known_as);
                tree.undeclared
                    .extend(known_as.first().filter(|_| is_open).map(|one| one.join(" ")));
            }
        }
    }

    /// A command as a tool; none if it requires something that is not offered.
    fn leaf(
        &self,
        levels: &[&Command],
        path: &[String],
        known_as: &[Path],
        effect: Effect,
    ) -> Option<Leaf> {
        let mut arguments = self.arguments(levels, known_as)?;
        let known_as = known_as.first()?;
        let rules = rules::rules(&mut arguments, levels)?;
        let said: Vec<(usize, String)> =
            rules.iter().flat_map(|rule| beside(rule, &arguments)).collect();
        for (at, sentence) in said {
            if let Some(argument) = arguments.get_mut(at) {
                argument.say(&sentence);
            }
        }
        let description = description(levels.last()?, known_as, &rules, &arguments);
        let mut parser = self.built.clone();
        keep_only(&mut parser, path);
        let (path, tool) = (path.to_vec(), tool_name(self.prefix, known_as));
        Some(Leaf { tool, description, effect, arguments, rules, parser, path })
    }

    /// The arguments of a tool, those of its own command first.
    fn arguments(&self, levels: &[&Command], known_as: &[Path]) -> Option<Vec<Argument>> {
        let depth = levels.len().checked_sub(1)?;
        let mut arguments = Vec::new();
        let mut names = BTreeSet::new();
        for (level, command) in levels.iter().enumerate().rev() {
            if level < depth && command.is_args_conflicts_with_subcommands_set() {
                continue;
            }
            let mut is_reachable = true;
            for arg in ordered(command, level == depth) {
                let is_offered =
                    is_offered(arg) && self.policy.offers_argument(known_as, &all_names(arg));
                let is_needed = arg.is_required_set()
                    && !argument::is_filled(arg)
                    && (level == depth || !command.is_subcommand_negates_reqs_set());
                let is_placed = arg.is_positional() && !arg.is_last_set();
                let argument = match is_offered && (is_reachable || !is_placed) {
                    true => Argument::of(arg, name(arg, &names), level, depth, command),
                    false => None,
                };
                match argument {
                    Some(mut argument) => {
                        argument.required &= is_needed;
                        names.insert(argument.name.clone());
                        arguments.push(argument);
                    }
                    None if is_needed => return None,
                    // Positional arguments after one that cannot be filled cannot be filled either.
                    None => is_reachable &= !is_placed,
                }
            }
        }
        Some(arguments)
    }
}

/// All paths of a command by its aliases, its own first: a pattern of an alias matches the command. The
/// program itself has no path, and is known by its name.
fn spellings(levels: &[&Command]) -> Vec<Path> {
    let named = if levels.len() > 1 { levels.get(1..).unwrap_or_default() } else { levels };
    let mut paths: Vec<Path> = vec![Vec::new()];
    for command in named {
        let names = [command.get_name()].into_iter().chain(command.get_all_aliases());
        let names: Vec<&str> = names.collect();
        let longer = |path: &Path| {
            let path = path.clone();
            names.iter().map(move |name| [path.clone(), vec![(*name).to_owned()]].concat())
        };
        paths = paths.iter().flat_map(longer).collect();
    }
    paths
}

/// The name of a tool, of characters that every client accepts.
fn tool_name(prefix: &str, path: &[String]) -> String {
    let name = format!("{prefix}{}", path.join("_"));
    let is_legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    name.chars().map(|c| if is_legal(c) { c } else { '_' }).collect()
}

/// The arguments of a command: positional ones, options, then global options.
fn ordered(command: &Command, is_last: bool) -> Vec<&Arg> {
    let mut args: Vec<&Arg> =
        command.get_arguments().filter(|arg| is_last || !arg.is_global_set()).collect();
    args.sort_by_key(|arg| (arg.is_global_set(), arg.get_index().unwrap_or(usize::MAX)));
    args
}

/// Whether an argument is for callers: not hidden, not one that only prints, and not one with a hidden value
/// from the environment.
fn is_offered(arg: &Arg) -> bool {
    let prints = matches!(
        arg.get_action(),
        ArgAction::Help | ArgAction::HelpShort | ArgAction::HelpLong | ArgAction::Version
    );
    let is_secret = arg.get_env().is_some() && arg.is_hide_env_values_set();
    !arg.is_hide_set() && !prints && !is_secret
}

fn all_names(arg: &Arg) -> Vec<String> {
    let longs = arg.get_long().map(str::to_owned).into_iter();
    let aliases = arg.get_all_aliases().unwrap_or_default().into_iter().map(str::to_owned);
    let shorts = arg.get_short().into_iter().chain(arg.get_all_short_aliases().unwrap_or_default());
    let id = [arg.get_id().as_str().to_owned()];
    longs.chain(aliases).chain(shorts.map(String::from)).chain(id).collect()
}

/// The name of an argument as a property: as on the command line, with underscores.
fn name(arg: &Arg, taken: &BTreeSet<String>) -> String {
    let id = arg.get_id().as_str();
    let name = arg.get_long().unwrap_or(id).replace('-', "_");
    let names = [name.clone(), id.replace('-', "_")].into_iter();
    let mut names = names.chain((2..).map(|count| format!("{name}_{count}")));
    names.find(|name| !taken.contains(name)).unwrap_or_default()
}

/// Adds a rule to the descriptions of its arguments.
fn beside(rule: &Rule, arguments: &[Argument]) -> Vec<(usize, String)> {
    let name = |at: &usize| arguments.get(*at).map_or("", |argument| argument.name.as_str());
    match rule {
        Rule::Conflict(one, other) => vec![
            (*one, format!("Not together with \"{}\".", name(other))),
            (*other, format!("Not together with \"{}\".", name(one))),
        ],
        Rule::Needs { given, needed } => {
            vec![(*given, format!("Only with \"{}\".", name(needed)))]
        }
        Rule::OneOf(_) => Vec::new(),
    }
}

fn description(
    command: &Command,
    path: &[String],
    rules: &[Rule],
    arguments: &[Argument],
) -> String {
    let short = command.get_about().map(ToString::to_string);
    let long = command.get_long_about().map(ToString::to_string);
    let long = long.filter(|long| long.chars().count() <= DESCRIPTION_CHARS_MAX);
    let said = long.or(short).unwrap_or_else(|| format!("Runs \"{}\"", path.join(" ")));
    let sentences = rules.iter().filter_map(|rule| rule.sentence(arguments));
    let parts: Vec<String> = [said.trim().to_owned()].into_iter().chain(sentences).collect();
    parts.join("\n")
}

/// Reduces a program to the commands of a path and their subcommands, so that a call is parsed without
/// copying the whole program. Other commands keep their position but lose their name and content. Only words
/// that cannot be a command's name precede them: see [`Shape`].
fn keep_only(command: &mut Command, path: &[String]) {
    let Some((next, rest)) = path.split_first() else { return };
    for below in command.get_subcommands_mut() {
        match below.get_name() == next {
            true => keep_only(below, rest),
            // A name that no word of a command line can have.
            false => *below = Command::new("\0"),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::CommandExt;

    fn tools(command: &Command, policy: serde_json::Value) -> Vec<String> {
        let policy = serde_json::from_value(policy).unwrap();
        let tree = Tree::new(command, &policy, "").unwrap();
        tree.leaves.into_iter().map(|leaf| leaf.tool).collect()
    }

    fn golem() -> Command {
        let profile = Command::new("profile").alias("prof").subcommands([
            Command::new("list").effect(Effect::Read),
            Command::new("switch").visible_alias("use").effect(Effect::Write),
        ]);
        let component = Command::new("component")
            .effect(Effect::Read)
            .subcommands([Command::new("list"), Command::new("new").effect(Effect::Write)]);
        let hidden = Command::new("debug").hide(true).effect(Effect::Read);
        Command::new("golem").subcommands([profile, component, hidden])
    }

    #[test]
    fn effects_are_taken_over_and_hidden_commands_are_not_there() {
        assert_eq!(tools(&golem(), json!({})), ["profile_list", "component", "component_list"]);
        let all =
            ["profile_list", "profile_switch", "component", "component_list", "component_new"];
        assert_eq!(tools(&golem(), json!({ "allow": ["write"] })), all);
    }

    #[test]
    fn a_pattern_of_an_alias_is_one_of_the_command() {
        for deny in ["profile *", "prof", "PROF *", "prof list"] {
            let left = tools(&golem(), json!({ "deny": [deny] }));
            assert_eq!(left, ["component", "component_list"], "{deny}");
        }
        let left = tools(&golem(), json!({ "allow": ["write", "prof use"] }));
        assert_eq!(left, ["profile_switch"]);
        let left = tools(&golem(), json!({ "secret": ["prof"], "allow": ["destructive"] }));
        assert_eq!(left, ["component", "component_list", "component_new"]);
    }

    #[test]
    fn what_needs_something_that_is_not_offered_is_not_offered() {
        let login = Command::new("login").effect(Effect::Read).arg(
            Arg::new("token")
                .long("token")
                .required(true)
                .env("NO_SUCH_TOKEN")
                .hide_env_values(true),
        );
        let other = Command::new("other")
            .effect(Effect::Read)
            .arg(Arg::new("key").long("key").hide(true))
            .arg(Arg::new("name").long("name"));
        let program = Command::new("program").subcommands([login, other]);
        let tree = Tree::new(&program, &Policy::default(), "").unwrap();
        let names: Vec<&str> =
            tree.leaves[0].arguments.iter().map(|one| one.name.as_str()).collect();
        assert_eq!((tree.leaves.len(), names), (1, vec!["name"]));
    }

    #[test]
    fn what_runs_other_programs_is_not_offered() {
        let exec = Command::new("exec").effect(Effect::Read).allow_external_subcommands(true);
        let list = Command::new("list").effect(Effect::Read);
        let program = Command::new("program").subcommands([exec, list]);
        assert_eq!(tools(&program, json!({})), ["list"]);
        // Subcommands of a program with external subcommands are offered, the program itself is not.
        let program = program.effect(Effect::Read).allow_external_subcommands(true);
        assert_eq!(tools(&program, json!({ "allow": ["destructive"] })), ["list"]);
    }

    #[test]
    fn two_commands_of_one_name_stop_the_start() {
        let read = |name: &'static str| Command::new(name).effect(Effect::Read);
        let program = Command::new("program")
            .subcommands([read("a_b"), Command::new("a").subcommand(read("b"))]);
        let error = Tree::new(&program, &Policy::default(), "").unwrap_err();
        assert!(matches!(error, Error::SameName { .. }), "{error}");
    }
}
