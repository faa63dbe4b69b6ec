//! The declaration of a command: the one place that says what it is called, how it is used, what
//! it does to the node, how it is asked over REST and how it may be answered. `help`, the method
//! check, the permission check, completion in the shell and the reference are all made from it.

use std::fmt;

use edgemere_service::Effect;

use crate::format::Format;

/// All that is known of a command without running it.
#[derive(Debug)]
pub struct Declaration {
    /// How it begins: `get status`. A word in capitals stands for any word, `!NAME` for a
    /// variable.
    pub name: &'static str,
    /// Other ways to begin it.
    pub aliases: &'static [&'static str],
    /// How it is written, on one line.
    pub usage: &'static str,
    /// What it does, in one sentence.
    pub about: &'static str,
    /// What there is to know beyond that; may be empty.
    pub details: &'static str,
    /// Commands that can be tried.
    pub examples: &'static [&'static str],
    /// What it does to the node.
    pub effect: Effect,
    /// The REST method that it is asked with.
    pub method: Method,
    /// The formats that it can be answered in.
    pub formats: &'static [Format],
    /// The keys of its `where`, without `format` and `extract`.
    pub keys: &'static [&'static str],
    /// Whether it can be asked of all operators at once, as one database: `run client () …`.
    pub asks_network: bool,
}

impl Declaration {
    /// A command that reads, to be completed.
    pub(crate) const READ: Self = Self {
        name: "",
        aliases: &[],
        usage: "",
        about: "",
        details: "",
        examples: &[],
        effect: Effect::Read,
        method: Method::Get,
        formats: &[Format::Table, Format::Json, Format::Mcp],
        keys: &[],
        asks_network: false,
    };

    /// A command that changes something and answers only that it is done, to be completed.
    pub(crate) const WRITE: Self =
        Self { effect: Effect::Write, method: Method::Post, formats: &[], ..Self::READ };

    /// The name and the aliases.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> {
        std::iter::once(self.name).chain(self.aliases.iter().copied())
    }
}

/// The words of a command's name that are written as they stand.
pub(crate) fn keywords(name: &str) -> impl Iterator<Item = &str> {
    name.split(' ').take_while(|word| word.chars().all(|c| c.is_ascii_lowercase()))
}

/// Whether a command's name has nothing but words that are written as they stand.
pub(crate) fn is_all_keywords(name: &str) -> bool {
    keywords(name).count() == name.split(' ').count()
}

/// The REST method that a command is sent with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// `GET`, for what only reads. `POST` does too.
    Get,
    /// Only `POST`, for all else.
    Post,
}

impl Method {
    /// The method as HTTP has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
        }
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
