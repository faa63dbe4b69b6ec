//! Replies over HTTP: what a command answered, or EdgeLake's error object with an honest status.

use std::path::Path;

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use edgemere_command::{
    Content, Door, Error, Hint, INTERNAL_MESSAGE, Kind, Media, Rendered, Sources,
};
use futures_util::{Stream, TryStreamExt};
use serde_json::{Map, Value, json};

use super::auth::PROTOCOL;

/// EdgeLake's codes of failures that are the service's own.
const CODE_REST_HEADERS: (u16, &str) = (110, "Error in REST headers");
const CODE_RESOURCES: (u16, &str) = (108, "Failed to allocate resources for task");
const CODE_UNAUTHORIZED: (u16, &str) = (212, "Unauthorized command");
const CODE_JSON: (u16, &str) = (6, "Error in JSON Structure");
const CODE_LARGE: (u16, &str) = (230, "Error large command");
const CODE_PROCESS: (u16, &str) = (3, "Error Process Failure");

/// When to come back to a node that is busy.
const RETRY_AFTER_S: u64 = 1;

/// Why there is no answer.
#[derive(Debug)]
pub(super) struct Failure {
    kind: Kind,
    code: u16,
    text: String,
    message: String,
    hint: Option<Box<Hint>>,
    column: Option<usize>,
    /// The HTTP status, where the kind alone says too little a closer one.
    status: u16,
    /// When to come back, of somebody who sends more than the node can take.
    retry_after_s: Option<u64>,
}

impl Failure {
    /// EdgeLake's text of it.
    pub(super) fn edgelake_text(&self) -> &str {
        &self.text
    }

    /// The request says too little or contradicts itself.
    pub(super) fn bad_request(message: impl Into<String>, hint: &str) -> Self {
        Self::own(Kind::Input, CODE_REST_HEADERS, message.into(), Some(hint))
    }

    /// The request brings more than a node takes at once.
    pub(super) fn too_large(message: String, hint: &str) -> Self {
        let status = StatusCode::PAYLOAD_TOO_LARGE.as_u16();
        Self { status, ..Self::own(Kind::Input, CODE_LARGE, message, Some(hint)) }
    }

    /// There is no room for the body now.
    pub(super) fn no_room() -> Self {
        let message =
            "the node is already reading as many bytes as it may; nothing was stored".to_owned();
        let status = StatusCode::TOO_MANY_REQUESTS.as_u16();
        let hint = "send the rows again in a second, or in smaller parts";
        Self { status, ..Self::own(Kind::Unavailable, CODE_RESOURCES, message, Some(hint)) }
    }

    /// The body does not come on.
    pub(super) fn too_slow() -> Self {
        let message =
            "the body came too slowly and was not waited for; nothing was stored".to_owned();
        let status = StatusCode::REQUEST_TIMEOUT.as_u16();
        let hint = "send it in smaller parts";
        Self { status, ..Self::own(Kind::Input, CODE_REST_HEADERS, message, Some(hint)) }
    }

    /// The body is of a type, or in an encoding, that the node does not know.
    pub(super) fn unsupported(message: String, hint: &str) -> Self {
        let status = StatusCode::UNSUPPORTED_MEDIA_TYPE.as_u16();
        Self { status, ..Self::own(Kind::Input, CODE_REST_HEADERS, message, Some(hint)) }
    }

    /// The body is not JSON.
    pub(super) fn bad_json(message: String) -> Self {
        Self::own(Kind::Input, CODE_JSON, message, None)
    }

    /// The node has as much to do as it may have.
    pub(super) fn busy() -> Self {
        let message = "the node has too many commands under way".to_owned();
        Self::own(Kind::Unavailable, CODE_RESOURCES, message, Some("try again in a second"))
    }

    /// The request is refused: it comes from a foreign page, or for a foreign host.
    pub(super) fn foreign(message: String, hint: &str) -> Self {
        Self::own(Kind::Denied, CODE_UNAUTHORIZED, message, Some(hint))
    }

    /// A caller of the network port that does not speak our protocol.
    pub(super) fn other_protocol(version: Option<&str>) -> Self {
        let message = match version {
            Some(version) => format!(
                "this node speaks version {PROTOCOL} of the nodes' protocol, the caller {version}"
            ),
            None => "this port is for nodes; people and programs use the HTTP port".to_owned(),
        };
        let hint = "run the same version of Edgemere on both";
        Self::own(Kind::Conflict, CODE_REST_HEADERS, message, version.map(|_| hint))
    }

    /// A fault of ours that no code of ours told about.
    pub(super) fn fault() -> Self {
        Self::own(Kind::Internal, CODE_PROCESS, "the node failed".into(), None)
    }

    fn own(kind: Kind, (code, text): (u16, &str), message: String, hint: Option<&str>) -> Self {
        let hint = hint.map(|hint| Box::new(Hint::from(hint)));
        let (status, text) = (kind.http_status(), text.into());
        let (column, retry_after_s) = (None, None);
        Self { kind, code, text, message, hint, column, status, retry_after_s }
    }

    /// The same, with the absolute path of a folder as `DATA`.
    pub(super) fn without_folder(mut self, folder: &Path) -> Self {
        let path = folder.display().to_string();
        if folder.is_absolute() && folder.parent().is_some() {
            self.message = self.message.replace(&path, "DATA");
            if let Some(Hint::Text { text }) = self.hint.as_deref_mut() {
                *text = text.replace(&path, "DATA");
            }
        }
        self
    }

    /// The HTTP status.
    #[cfg(test)]
    pub(super) fn status(&self) -> u16 {
        self.status
    }

    /// What kind of failure it is.
    pub(super) fn kind(&self) -> Kind {
        self.kind
    }

    /// Why, in words.
    pub(super) fn message(&self) -> &str {
        &self.message
    }

    /// EdgeLake's error object. What an internal error is about is only in the log.
    pub(super) fn into_reply(self, method: &str, node: &str, request_id: Option<&str>) -> Response {
        let message = match self.kind {
            Kind::Internal => INTERNAL_MESSAGE.into(),
            _ => self.message,
        };
        let mut object = Map::new();
        let mut add = |key: &str, value: Value| object.insert(key.into(), value);
        add("method", method.to_lowercase().into());
        add("node", node.into());
        add("err_code", self.code.into());
        add("err_text", self.text.into());
        add("local_msg", message.into());
        if let Some(hint) = &self.hint {
            add("hint", hint.at(Door::Rest).into());
            if !hint.is_text() {
                add("next", json!(hint));
            }
        }
        self.column.map(|column| add("column", column.into()));
        request_id.map(|id| add("request_id", id.into()));
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut reply = (status, json_body(&Value::Object(object))).into_response();
        if self.kind == Kind::Unavailable {
            let seconds = self.retry_after_s.unwrap_or(RETRY_AFTER_S);
            reply.headers_mut().insert(header::RETRY_AFTER, seconds.into());
        }
        reply
    }
}

/// What an agent is reported of it.
impl From<Failure> for edgemere_tools::Failure {
    fn from(failure: Failure) -> Self {
        let hint = failure.hint.map(|hint| hint.at(Door::Agent));
        Self::new(failure.kind, failure.message, hint)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let code = error.code();
        Self {
            kind: error.kind(),
            code: code.number,
            text: code.text.into_owned(),
            message: error.message(),
            hint: error.hint().map(Box::new),
            column: error.at().map(|at| at.start + 1),
            status: error.http_status(),
            retry_after_s: error.retry_after().map(|time| time.as_secs().max(1)),
        }
    }
}

/// The header of a reply that other nodes gave: which they are.
pub(crate) const ASKED_HEADER: &str = "edgemere-asked";

/// How many bytes of their names there may be: clients refuse a reply with too many before it begins.
const NAMES_BYTES_MAX: usize = 4096;

/// The header of a reply without the rows of some operators: which they are.
pub(crate) const MISSING_HEADER: &str = "edgemere-missing";

/// The header of every reply of a node that follows a master: how old its copy of the ledger is, in
/// seconds.
pub(super) const LEDGER_AGE_HEADER: &str = "edgemere-ledger-age";

/// A command's answer.
pub(super) fn answer(rendered: Rendered) -> Response {
    let body = match rendered.content {
        Content::Whole(text) => Body::from(text),
        Content::Value(value) => Body::from(value.to_string()),
        Content::Stream(pieces) => Body::from_stream(cut_off(pieces)),
    };
    head(rendered.media, &rendered.sources, body)
}

/// The pieces of a reply, which is cut off where one of them fails, so that it does not look whole. What
/// came before is sent first, which happens when there is nothing more for a moment.
pub(super) fn cut_off(
    pieces: impl Stream<Item = Result<Vec<u8>, Error>>,
) -> impl Stream<Item = Result<Vec<u8>, Error>> {
    pieces.or_else(async |error| {
        tracing::warn!(error = error.message(), "a reply was cut off");
        tokio::task::yield_now().await;
        Err(error)
    })
}

/// A reply with what it is, and whose rows are in it.
pub(super) fn head(media: Media, sources: &Sources, body: Body) -> Response {
    let content_type = match media {
        Media::Text => "text/plain; charset=utf-8",
        Media::Json => "application/json",
        Media::Ndjson => "application/x-ndjson",
        Media::Csv => "text/csv; charset=utf-8",
        Media::EventStream => "text/event-stream",
        Media::ArrowStream => "application/vnd.apache.arrow.stream",
        Media::Parquet => "application/vnd.apache.parquet",
    };
    let (asked, missing) = (sources.asked(), sources.missing());
    let content_type = [(header::CONTENT_TYPE, HeaderValue::from_static(content_type))];
    let mut reply = (content_type, body).into_response();
    for (header, names) in [(ASKED_HEADER, asked), (MISSING_HEADER, missing)] {
        if let Some(names) = names_header(&names) {
            reply.headers_mut().insert(header, names);
        }
    }
    reply
}

/// Names of nodes as a header. They are anybody's: what cannot be in a header is left out of it.
fn names_header(names: &[String]) -> Option<HeaderValue> {
    let mut bytes = 0;
    let fits = |name: &&String| {
        bytes += name.len() + 2;
        bytes <= NAMES_BYTES_MAX
    };
    let mut shown: Vec<_> = names.iter().take_while(fits).cloned().collect();
    if shown.len() < names.len() {
        shown.push(format!("and {} more", names.len() - shown.len()));
    }
    let text = shown.join(", ").replace(|c: char| !(' '..='~').contains(&c), "?");
    HeaderValue::from_str(&text).ok().filter(|_| !text.is_empty())
}

/// JSON as a body.
pub(super) fn json_body(value: &Value) -> impl IntoResponse + use<> {
    let content_type = HeaderValue::from_static("application/json");
    ([(header::CONTENT_TYPE, content_type)], value.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_learns_where_the_node_keeps_its_data() {
        let failure = |folder: &str| {
            let message = "cannot write \"/srv/n1/rows/fresh.redb\"".to_owned();
            let hint = "scripts are read from \"/srv/n1/scripts\"";
            let failure = Failure::own(Kind::Unavailable, CODE_PROCESS, message, Some(hint));
            let Failure { message, hint, .. } = failure.without_folder(Path::new(folder));
            (message, hint.unwrap().at(Door::Rest))
        };
        let (message, hint) = failure("/srv/n1");
        assert_eq!(message, "cannot write \"DATA/rows/fresh.redb\"");
        assert_eq!(hint, "scripts are read from \"DATA/scripts\"");
        assert!(failure("/").0.contains("/srv/n1"));
        assert!(failure("srv").0.contains("/srv/n1"));
    }
}
