//! The keys as clap arguments: a flag each, which the environment variable may stand in for.

use std::marker::PhantomData;

use clap::builder::PossibleValuesParser;
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};

use super::form::Form;
use super::key::Key;
use super::{Entry, Source, keys};

/// The keys that a command takes as flags.
pub(crate) trait Group {
    /// The keys.
    fn keys() -> Vec<&'static Key>;
    /// The heading that they stand under in the help of every command, when they belong to all.
    const GLOBAL: Option<&'static str> = None;
}

/// What a node is started with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NodeKeys;

/// The node to ask.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClientKeys;

/// The folder of a node's data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DataKeys;

/// The tools to look at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ToolKeys;

/// The tools to call, and the node that carries them out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallKeys;

/// The log, which every command has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LogKeys;

impl Group for NodeKeys {
    fn keys() -> Vec<&'static Key> {
        let others = [&keys::NODE, &keys::LOG, &keys::LOG_FORMAT];
        keys::ALL.into_iter().filter(|key| !others.contains(key)).collect()
    }
}

impl Group for ClientKeys {
    fn keys() -> Vec<&'static Key> {
        vec![&keys::NODE]
    }
}

impl Group for DataKeys {
    fn keys() -> Vec<&'static Key> {
        vec![&keys::DATA]
    }
}

impl Group for ToolKeys {
    fn keys() -> Vec<&'static Key> {
        vec![&keys::TOOLS]
    }
}

impl Group for CallKeys {
    fn keys() -> Vec<&'static Key> {
        vec![&keys::TOOLS, &keys::NODE]
    }
}

impl Group for LogKeys {
    const GLOBAL: Option<&'static str> = Some(crate::cli::GLOBAL_HEADING);

    fn keys() -> Vec<&'static Key> {
        vec![&keys::LOG, &keys::LOG_FORMAT]
    }
}

/// What the command line and the environment give for the keys of a group.
#[derive(Clone, Debug)]
pub(crate) struct Flags<G> {
    entries: Vec<Entry>,
    group: PhantomData<G>,
}

impl<G> Flags<G> {
    /// The keys that were given, with their values.
    pub(crate) fn entries(&self) -> Vec<Entry> {
        self.entries.clone()
    }
}

impl<G: Group> Args for Flags<G> {
    fn augment_args(command: Command) -> Command {
        let arg = |key| match G::GLOBAL {
            Some(heading) => arg(key).global(true).help_heading(heading),
            None => arg(key),
        };
        command.args(G::keys().into_iter().map(arg))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<G: Group> FromArgMatches for Flags<G> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let entries = G::keys().into_iter().filter_map(|key| entry(key, matches)).collect();
        Ok(Self { entries, group: PhantomData })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

fn arg(key: &'static Key) -> Arg {
    let help = format!("{} [default: {}]", key.help, key.default.words());
    let arg = Arg::new(key.name)
        .long(key.name)
        .env(key.variable)
        .hide_env_values(matches!(key.form, Form::Secret))
        .value_name(key.value_name)
        .help(help)
        .action(ArgAction::Set);
    let arg = match key.form.words() {
        Some(words) => arg.value_parser(PossibleValuesParser::new(words)),
        None => arg.value_parser(move |text: &str| key.form.check(text).map(|()| text.to_owned())),
    };
    match key.form {
        form if form.is_list() => arg.value_delimiter(','),
        _ => arg,
    }
}

fn entry(key: &'static Key, matches: &ArgMatches) -> Option<Entry> {
    let source = match matches.value_source(key.name)? {
        ValueSource::EnvVariable => Source::Environment(key.variable),
        ValueSource::CommandLine => Source::Flag(key.flag()),
        _ => return None,
    };
    let words: Vec<&str> = matches.get_many::<String>(key.name)?.map(String::as_str).collect();
    Some(Entry { key, text: Some(words.join(",")), source })
}
