//! Who the server says it is.

/// Who the server says it is, in `initialize` and in `server/discover`; results have its name, title and
/// version.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// The program's name, for machines.
    pub name: String,
    /// Its name for people.
    pub title: Option<String>,
    /// Its version.
    pub version: String,
    /// What it is, in a sentence.
    pub description: Option<String>,
    /// Where to read about it.
    pub website: Option<String>,
    /// How a model should use the server: clients put this into its context.
    pub instructions: Option<String>,
    /// Pictures for a list of servers.
    pub icons: Vec<Icon>,
}

impl Identity {
    /// A program of this name and version.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self { name: name.into(), version: version.into(), ..Self::default() }
    }
}

/// A picture that a client may show.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Icon {
    /// An `https:` or a `data:` address.
    pub src: String,
    /// What it is, such as `image/png`.
    pub mime_type: Option<String>,
    /// Its sizes, such as `48x48` or `any`.
    pub sizes: Vec<String>,
    /// The background that it is made for.
    pub theme: Option<Theme>,
}

/// The background that an icon is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Theme {
    /// A light one.
    Light,
    /// A dark one.
    Dark,
}
