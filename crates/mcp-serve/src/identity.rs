//! The server's identity.

/// The server's identity. `initialize` and `server/discover` send all of it, results its name, title and
/// version.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// The program's name.
    pub name: String,
    /// Its display name.
    pub title: Option<String>,
    /// Its version.
    pub version: String,
    /// Its description: one sentence.
    pub description: Option<String>,
    /// The URL of its documentation.
    pub website: Option<String>,
    /// How a model should use the server. Clients add this to the model's context.
    pub instructions: Option<String>,
    /// Icons for a list of servers.
    pub icons: Vec<Icon>,
}

impl Identity {
    /// The identity of a program with this name and version.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self { name: name.into(), version: version.into(), ..Self::default() }
    }
}

/// An icon that a client may show.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Icon {
    /// An `https:` or `data:` URL.
    pub src: String,
    /// Its media type, such as `image/png`.
    pub mime_type: Option<String>,
    /// Its sizes, such as `48x48` or `any`.
    pub sizes: Vec<String>,
    /// The background it is designed for.
    pub theme: Option<Theme>,
}

/// The background that an icon is designed for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Theme {
    /// A light background.
    Light,
    /// A dark background.
    Dark,
}
