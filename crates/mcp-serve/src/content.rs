//! Content of results, prompts and resources.

use serde_json::{Map, Value};

use crate::Icon;

/// A content block of a result or a prompt message.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// Text for the model.
    Text(String),
    /// An image.
    Image {
        /// Its bytes.
        data: Vec<u8>,
        /// Its media type, such as `image/png`.
        mime_type: String,
    },
    /// An audio clip.
    Audio {
        /// Its bytes.
        data: Vec<u8>,
        /// Its media type, such as `audio/wav`.
        mime_type: String,
    },
    /// A link to a resource.
    Link(Link),
    /// A resource with its content.
    Embedded(ResourceContent),
}

impl Content {
    /// Text for the model.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }
}

/// A link to a resource, or an entry of `resources/list`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Link {
    /// Its URI.
    pub uri: String,
    /// Its name.
    pub name: String,
    /// Its display name.
    pub title: Option<String>,
    /// Its description: one sentence.
    pub description: Option<String>,
    /// Its media type, such as `text/csv`.
    pub mime_type: Option<String>,
    /// Its size in bytes.
    pub size: Option<u64>,
    /// Icons for a list of resources.
    pub icons: Vec<Icon>,
}

impl Link {
    /// A link to the resource with this URI.
    pub fn new(uri: impl Into<String>, name: impl Into<String>) -> Self {
        Self { uri: uri.into(), name: name.into(), ..Self::default() }
    }
}

/// The content of a resource.
#[derive(Clone, Debug, PartialEq)]
pub struct ResourceContent {
    /// Its URI.
    pub uri: String,
    /// Its media type, such as `application/json`.
    pub mime_type: Option<String>,
    /// The text, or the bytes.
    pub body: Body,
    /// Extension data, sent as `_meta`.
    pub meta: Map<String, Value>,
}

impl ResourceContent {
    /// A text resource.
    pub fn text(
        uri: impl Into<String>,
        mime_type: impl Into<String>,
        text: impl Into<String>,
    ) -> Self {
        Self::new(uri, mime_type, Body::Text(text.into()))
    }

    /// A binary resource.
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
    /// Bytes, sent as base64.
    Bytes(Vec<u8>),
}
