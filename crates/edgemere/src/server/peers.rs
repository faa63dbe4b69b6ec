//! The way to other nodes: their network port, over HTTP.

use std::time::Duration;

use edgemere_command::{Code, Content, Error, Kind, Media, Peers, Rendered};
use futures_util::future::BoxFuture;
use futures_util::{FutureExt, StreamExt};
use reqwest::{Client, RequestBuilder, Response, header};
use serde_json::{Value, json};

/// How long a connection may take.
const CONNECT_TIMEOUT: Duration = Duration::from_millis(1500);

/// How much a node may answer.
const REPLY_BYTES_MAX: usize = 64 << 20;

/// Where the network port takes commands.
pub(super) const COMMAND_PATH: &str = "/v1/command";

/// Other nodes, over HTTP.
#[derive(Debug)]
pub(super) struct HttpPeers {
    client: Client,
}

impl HttpPeers {
    pub(super) fn new() -> anyhow::Result<Self> {
        let builder = Client::builder().connect_timeout(CONNECT_TIMEOUT).no_proxy();
        let builder = builder.redirect(reqwest::redirect::Policy::none()).tcp_nodelay(true);
        Ok(Self { client: builder.build()? })
    }
}

impl Peers for HttpPeers {
    fn call<'a>(
        &'a self,
        address: &'a str,
        command: &'a str,
        timeout: Duration,
    ) -> BoxFuture<'a, Result<Rendered, Error>> {
        let url = format!("http://{address}{COMMAND_PATH}");
        let request = self.client.post(url).json(&json!({ "command": command }));
        send(request, address, timeout).boxed()
    }

    fn rest_status<'a>(
        &'a self,
        address: &'a str,
        timeout: Duration,
    ) -> BoxFuture<'a, Result<String, Error>> {
        let request = self.client.get(format!("http://{address}/")).header("command", "get status");
        async move { send(request, address, timeout).await?.into_text().await }.boxed()
    }
}

async fn send(
    request: RequestBuilder,
    address: &str,
    timeout: Duration,
) -> Result<Rendered, Error> {
    let failed = |error: reqwest::Error| match error.is_timeout() && !error.is_connect() {
        true => Error::PeerTimeout { address: address.to_owned(), timeout },
        false => unreachable_because(address, root_cause(&error)),
    };
    let response = request.timeout(timeout).send().await.map_err(failed)?;
    let status = response.status().as_u16();
    let is_json = has_json(&response);
    let body = read(response, address).await.map_err(|error| error.unwrap_or_else(failed))?;
    if status != 200 {
        return Err(told(address, status, &body));
    }
    let media = if is_json { Media::Json } else { Media::Text };
    Ok(Rendered { media, content: Content::Whole(body) })
}

fn has_json(response: &Response) -> bool {
    let content_type = response.headers().get(header::CONTENT_TYPE);
    content_type.is_some_and(|value| value.as_bytes().starts_with(b"application/json"))
}

async fn read(response: Response, address: &str) -> Result<String, ReadError> {
    let mut body = Vec::new();
    let mut chunks = response.bytes_stream();
    while let Some(chunk) = chunks.next().await {
        body.extend_from_slice(&chunk.map_err(ReadError::Http)?);
        if body.len() > REPLY_BYTES_MAX {
            let reason = format!("it answered more than {REPLY_BYTES_MAX} bytes");
            return Err(ReadError::Other(unreachable_because(address, reason)));
        }
    }
    String::from_utf8(body).map_err(|_| {
        ReadError::Other(unreachable_because(address, "it answered what is no text".into()))
    })
}

enum ReadError {
    Http(reqwest::Error),
    Other(Error),
}

impl ReadError {
    fn unwrap_or_else(self, http: impl FnOnce(reqwest::Error) -> Error) -> Error {
        match self {
            Self::Http(error) => http(error),
            Self::Other(error) => error,
        }
    }
}

/// The error that a node told.
fn told(address: &str, status: u16, body: &str) -> Error {
    let object: Value = serde_json::from_str(body).unwrap_or_default();
    let text = |key| object.get(key).and_then(Value::as_str).map(String::from);
    let number = object.get("err_code").and_then(Value::as_u64);
    Error::PeerFailed {
        address: address.to_owned(),
        kind: Kind::from_http_status(status),
        code: Code {
            number: number.and_then(|number| number.try_into().ok()).unwrap_or(3),
            text: text("err_text").unwrap_or_else(|| "Error Process Failure".into()).into(),
        },
        message: text("local_msg").unwrap_or_else(|| format!("it answered with status {status}")),
    }
}

fn unreachable_because(address: &str, reason: String) -> Error {
    Error::PeerUnreachable { address: address.to_owned(), reason }
}

/// The innermost reason, which is the one that says something: "connection refused".
fn root_cause(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string().to_lowercase()
}
