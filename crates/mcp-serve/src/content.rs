//! What tools, prompts and resources give back.

use serde_json::{Map, Value};

use crate::Icon;

/// A piece of a result or of a prompt.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// Text for the model.
    Text(String),
    /// A picture.
    Image {
        /// Its bytes.
        data: Vec<u8>,
        /// What it is, such as `image/png`.
        mime_type: String,
    },
    /// A sound.
    Audio {
        /// Its bytes.
        data: Vec<u8>,
        /// What it is, such as `audio/wav`.
        mime_type: String,
    },
    /// A resource that the client may read, or not.
    Link(Link),
    /// A resource with what it holds.
    Embedded(ResourceContent),
}

impl Content {
    /// Text for the model.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }
}

/// A resource that a client may read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Link {
    /// Where it is.
    pub uri: String,
    /// What it is called.
    pub name: String,
    /// Its name for people.
    pub title: Option<String>,
    /// What it holds, in a sentence.
    pub description: Option<String>,
    /// What it is, such as `text/csv`.
    pub mime_type: Option<String>,
    /// Its length in bytes.
    pub size: Option<u64>,
    /// Pictures for a list of resources.
    pub icons: Vec<Icon>,
}

impl Link {
    /// The resource at this address.
    pub fn new(uri: impl Into<String>, name: impl Into<String>) -> Self {
        Self { uri: uri.into(), name: name.into(), ..Self::default() }
    }
}

/// What a resource holds.
#[derive(Clone, Debug, PartialEq)]
pub struct ResourceContent {
    /// Where it is.
    pub uri: String,
    /// What it is, such as `application/json`.
    pub mime_type: Option<String>,
    /// The text, or the bytes.
    pub body: Body,
    /// What the protocol does not know of, in `_meta`.
    pub meta: Map<String, Value>,
}

impl ResourceContent {
    /// A resource of text.
    pub fn text(
        uri: impl Into<String>,
        mime_type: impl Into<String>,
        text: impl Into<String>,
    ) -> Self {
        Self::new(uri, mime_type, Body::Text(text.into()))
    }

    /// A resource of bytes.
    pub fn bytes(
        uri: impl Into<String>,
        mime_type: impl Into<String>,
        bytes: impl Into<Vec<u8>>,
    ) -> Self {
        Self::new(uri, mime_type, Body::Bytes(bytes.into()))
    }

    fn new(uri: impl Into<String>, mime_type: impl Into<String>, body: Body) -> Self {
        Self { uri: uri.into(), mime_type: Some(mime_type.into()), body, meta: Map::new() }
    }
}

/// Text or bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// Text.
    Text(String),
    /// Bytes, which are sent as base64.
    Bytes(Vec<u8>),
}
