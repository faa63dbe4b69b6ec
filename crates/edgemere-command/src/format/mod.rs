//! Formats: the one place where replies get their looks. Every reply can be shown in every format
//! that its command declares, over REST, in the shell and to agents alike.

mod binary;
pub(crate) mod mcp;
pub(crate) mod modes;
pub(crate) mod rows;
pub(crate) mod source;
mod sources;
pub(crate) mod table;

use std::cmp::Ordering;

use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use serde_json::{Map, Value, json};

pub use self::sources::Sources;
use crate::error::Error;
use crate::language::options::Output;
use crate::language::term::text_of;
use crate::reply::{Body, NodeReply, Reply};

/// How a reply may look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Text for people.
    Table,
    /// JSON as EdgeLake gives it.
    Json,
    /// The least that an agent needs.
    Mcp,
    /// A list of names.
    List,
    /// `json:list`: rows as a list of objects.
    JsonList,
    /// `json:output`: rows as an object a line.
    JsonOutput,
    /// `mcp:columns`: the columns once, and rows as lists.
    McpColumns,
    /// Comma-separated values.
    Csv,
    /// An object a line.
    Ndjson,
    /// An Arrow IPC stream.
    Arrow,
    /// A Parquet file.
    Parquet,
    /// `{"rows":[…],"total_rows":n}`: rows up to a limit, all at once.
    Batch,
    /// Events, one a line: some rows each, and at the end that it was all.
    Events,
    /// `events:sse`: the same as server-sent events.
    EventsSse,
}

impl Format {
    const ALL: [Self; 14] = [
        Self::Table,
        Self::Json,
        Self::Mcp,
        Self::List,
        Self::JsonList,
        Self::JsonOutput,
        Self::McpColumns,
        Self::Csv,
        Self::Ndjson,
        Self::Arrow,
        Self::Parquet,
        Self::Batch,
        Self::Events,
        Self::EventsSse,
    ];

    /// The name in `format = …`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Table => "table",
            Self::Json => "json",
            Self::Mcp => "mcp",
            Self::List => "list",
            Self::JsonList => "json:list",
            Self::JsonOutput => "json:output",
            Self::McpColumns => "mcp:columns",
            Self::Csv => "csv",
            Self::Ndjson => "ndjson",
            Self::Arrow => "arrow",
            Self::Parquet => "parquet",
            Self::Batch => "batch",
            Self::Events => "events",
            Self::EventsSse => "events:sse",
        }
    }

    /// The format of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.name().eq_ignore_ascii_case(name))
    }
}

/// A reply with its looks.
#[derive(Debug)]
pub struct Rendered {
    /// What the content is.
    pub media: Media,
    /// The content.
    pub content: Content,
    /// Where it comes from.
    pub sources: Sources,
}

/// The content of a reply.
pub enum Content {
    /// All of it.
    Whole(String),
    /// All of it, as JSON that nobody has written yet.
    Value(Value),
    /// Piece by piece, for as long as somebody takes them.
    Stream(BoxStream<'static, Result<Vec<u8>, Error>>),
}

impl std::fmt::Debug for Content {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Whole(text) => f.debug_tuple("Whole").field(text).finish(),
            Self::Value(value) => f.debug_tuple("Value").field(value).finish(),
            Self::Stream(_) => f.write_str("Stream"),
        }
    }
}

/// How much of a streamed reply is put together where it is wanted whole.
const WHOLE_BYTES_MAX: usize = 64 << 20;

/// What a rendered reply is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Media {
    /// Plain text.
    Text,
    /// JSON.
    Json,
    /// JSON, a value a line.
    Ndjson,
    /// Comma-separated values.
    Csv,
    /// Server-sent events.
    EventStream,
    /// An Arrow IPC stream, which is not text.
    ArrowStream,
    /// A Parquet file, which is not text.
    Parquet,
}

impl Rendered {
    /// What this node answers alone.
    pub fn new(media: Media, content: Content) -> Self {
        Self { media, content, sources: Sources::Here }
    }

    fn text(body: String) -> Self {
        Self::new(Media::Text, Content::Whole(body))
    }

    fn json(value: Value) -> Self {
        Self::new(Media::Json, Content::Value(value))
    }

    /// The whole content as text.
    pub async fn into_text(self) -> Result<String, Error> {
        let is_parquet = self.media == Media::Parquet;
        let mut stream = match self.content {
            Content::Whole(text) => return Ok(text),
            Content::Value(value) => return Ok(value.to_string()),
            Content::Stream(stream) => stream,
        };
        let mut bytes = Vec::new();
        while let Some(piece) = stream.next().await {
            bytes.extend_from_slice(&piece?);
            if bytes.len() > WHOLE_BYTES_MAX {
                return Err(Error::Limit { what: "the reply", limit: WHOLE_BYTES_MAX });
            }
        }
        String::from_utf8(bytes).map_err(|_| Error::BadValue {
            key: "format".into(),
            value: if is_parquet { Format::Parquet } else { Format::Arrow }.name().into(),
            expected: "a format that is text".into(),
            at: None,
        })
    }

    /// Keeps something until the content has been given, or nobody wants it any more.
    #[must_use]
    pub fn holding(self, kept: impl Send + 'static) -> Self {
        let content = match self.content {
            Content::Stream(pieces) => Content::Stream(
                pieces
                    .inspect(move |_| {
                        let _ = &kept;
                    })
                    .boxed(),
            ),
            whole => whole,
        };
        Self { content, ..self }
    }

    /// The whole content as a value: JSON as it is, all else as text.
    pub async fn into_value(self) -> Result<Value, Error> {
        if let Content::Value(value) = self.content {
            return Ok(value);
        }
        let is_json = self.media == Media::Json;
        let text = self.into_text().await?;
        let value = is_json.then(|| serde_json::from_str(&text).ok()).flatten();
        Ok(value.unwrap_or(Value::String(text)))
    }
}

/// Gives a reply the looks that were asked for.
pub(crate) fn render(reply: Reply, output: &Output) -> Result<Rendered, Error> {
    match reply.body {
        Body::Rows(rows) => Ok(rows::render(rows, output.format.unwrap_or(Format::Json))),
        Body::Collected(collected, times) => modes::batch(&collected, times),
        Body::Nodes(replies) => {
            let sources = Sources::of_nodes(&replies);
            let reply = Reply { body: Body::Nodes(replies), ..reply };
            Ok(Rendered { sources, ..render_small(reply, output) })
        }
        _ => Ok(render_small(reply, output)),
    }
}

/// The looks of a reply that is not a query's.
pub(crate) fn render_small(reply: Reply, output: &Output) -> Rendered {
    if let Some(attribute) = &output.extract {
        return Rendered::json(mcp::extract(reply, attribute));
    }
    match output.format {
        None => own_looks(reply),
        Some(Format::Table) => people(reply),
        Some(Format::List) => Rendered::json(to_list(to_json(reply))),
        Some(Format::Mcp | Format::McpColumns) => Rendered::json(mcp::to_mcp(reply)),
        Some(_) => Rendered::json(to_json(reply)),
    }
}

/// Without a format: text for people, but policies are JSON, as EdgeLake's users expect.
fn own_looks(reply: Reply) -> Rendered {
    match reply.body {
        Body::Policies(_) => Rendered::json(to_json(reply)),
        _ => people(reply),
    }
}

fn people(reply: Reply) -> Rendered {
    match reply.body {
        // Rows were shown before anything else was looked at.
        Body::Done | Body::Rows(_) | Body::Collected(..) => Rendered::text(String::new()),
        Body::Text(text) => Rendered::text(text),
        Body::Json(value) => Rendered::json(value),
        Body::Table(table) => Rendered::text(table.to_string()),
        Body::Policies(policies) => Rendered::text(table::of_policies(&policies).to_string()),
        Body::Nodes(replies) => people_of_nodes(&replies),
    }
}

/// `[From Node ADDRESS] reply`, a node after the other; JSON by node when they answer with JSON.
fn people_of_nodes(replies: &[NodeReply]) -> Rendered {
    let is_text = |reply: &NodeReply| !matches!(&reply.answer, Ok(value) if !value.is_string());
    if !replies.iter().all(is_text) {
        return Rendered::json(nodes_to_json(replies));
    }
    let mut text = String::new();
    for NodeReply { address, answer, .. } in replies {
        let answer = match answer {
            Ok(Value::String(answer)) => answer.as_str(),
            Ok(_) => "",
            Err(reason) => reason,
        };
        text.push_str(&format!("\n[From Node {address}] {answer}"));
    }
    Rendered::text(text)
}

/// What `format = json` gives.
pub(crate) fn to_json(reply: Reply) -> Value {
    if let Some(json) = reply.json {
        return json;
    }
    match reply.body {
        Body::Done | Body::Rows(_) | Body::Collected(..) => Value::Object(Map::new()),
        Body::Text(text) => Value::String(text),
        Body::Json(value) => value,
        Body::Table(table) => table.to_json(),
        Body::Policies(policies) => {
            Value::Array(policies.iter().map(|policy| policy.to_value()).collect())
        }
        Body::Nodes(replies) => nodes_to_json(&replies),
    }
}

fn nodes_to_json(replies: &[NodeReply]) -> Value {
    let mut nodes = Map::new();
    let mut messages = String::new();
    for NodeReply { address, answer, .. } in replies {
        match answer {
            Ok(answer) => {
                nodes.insert(address.clone(), answer.clone());
            }
            Err(reason) => messages.push_str(&format!("\n[From Node {address}] {reason}")),
        }
    }
    if !messages.is_empty() {
        nodes.insert("messages".into(), messages.into());
    }
    Value::Object(nodes)
}

/// The same for agents: by the nodes' names, with those that did not answer beside them.
pub(crate) fn nodes_to_mcp(replies: &[NodeReply]) -> Value {
    let mut nodes = Map::new();
    let mut missing = Vec::new();
    for NodeReply { address, name, answer } in replies {
        match answer {
            Ok(answer) => {
                // Two nodes of one name are distinguished.
                let is_new = !nodes.contains_key(name);
                nodes.insert(if is_new { name } else { address }.clone(), answer.clone());
            }
            Err(reason) => {
                missing.push(json!({ "node": name, "address": address, "error": reason }));
            }
        }
    }
    let mut all = Map::new();
    all.insert("nodes".into(), Value::Object(nodes));
    if !missing.is_empty() {
        all.insert("missing".into(), Value::Array(missing));
    }
    Value::Object(all)
}

/// The names of a thing's parts: the keys of an object, the elements of a list.
fn to_list(json: Value) -> Value {
    match json {
        Value::Object(object) => object.into_iter().map(|(key, _)| Value::String(key)).collect(),
        other => other,
    }
}

/// The order of values in sorted lists and tables: numbers by size, then all else by its text.
pub(crate) fn compare(a: &Value, b: &Value) -> Ordering {
    match (a.as_f64(), b.as_f64()) {
        (Some(a), Some(b)) => a.total_cmp(&b),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => text_of(a).cmp(&text_of(b)),
    }
}
