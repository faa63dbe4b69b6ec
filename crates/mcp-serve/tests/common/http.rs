//! Requests to a router in this process. Dropping a reply is what a lost connection is.

use axum::{
    Router,
    body::{Body, BodyDataStream},
    http::{Request, StatusCode, header},
    response::Response,
};
use futures_util::StreamExt;
use mcp_serve::Principal;
use serde_json::{Value, json};
use tower::ServiceExt;

/// A request with what every request has.
pub(crate) fn request(method: &str, path: &str) -> axum::http::request::Builder {
    Request::builder()
        .method(method)
        .uri(path)
        .header(header::HOST, "127.0.0.1:1")
        .header(header::ACCEPT, "application/json, text/event-stream")
        .header(header::CONTENT_TYPE, "application/json")
}

/// A message in a session.
pub(crate) fn in_session(path: &str, session: Option<&str>, message: &Value) -> Request<Body> {
    let mut request = request("POST", path);
    if let Some(session) = session {
        request = request.header("mcp-session-id", session);
    }
    request.body(Body::from(message.to_string())).unwrap()
}

/// A message of 2026-07-28, with the headers and the metadata that it must have.
pub(crate) fn stateless(path: &str, mut message: Value) -> Request<Body> {
    add_meta(&mut message);
    let method = message["method"].as_str().unwrap().to_owned();
    let params = &message["params"];
    let name = [&params["name"], &params["uri"], &params["taskId"]];
    let name = name.into_iter().find_map(Value::as_str);
    let mut request = request("POST", path)
        .header("mcp-protocol-version", "2026-07-28")
        .header("mcp-method", method);
    if let Some(name) = name {
        request = request.header("mcp-name", name);
    }
    request.body(Body::from(message.to_string())).unwrap()
}

/// The metadata that a message of 2026-07-28 must have.
pub(crate) fn add_meta(message: &mut Value) {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {
            "elicitation": {}, "extensions": { "io.modelcontextprotocol/tasks": {} }
        },
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" }
    });
    if message["params"].is_null() {
        message["params"] = json!({});
    }
    let params = message["params"].as_object_mut().unwrap();
    let all = params.entry("_meta").or_insert_with(|| json!({})).as_object_mut().unwrap();
    for (key, value) in meta.as_object().unwrap() {
        all.entry(key).or_insert_with(|| value.clone());
    }
}

pub(crate) fn initialize(protocol: &str) -> Value {
    json!({
        "jsonrpc": "2.0",
        "id": 0,
        "method": "initialize",
        "params": {
            "protocolVersion": protocol,
            "capabilities": { "elicitation": {} },
            "clientInfo": { "name": "test", "version": "1" }
        }
    })
}

pub(crate) async fn ask(router: &Router, request: Request<Body>) -> Response {
    super::soon(router.clone().oneshot(request)).await.unwrap()
}

/// Asks as a principal.
pub(crate) async fn ask_as(router: &Router, who: &str, mut request: Request<Body>) -> Response {
    request.extensions_mut().insert(Principal::new(who));
    ask(router, request).await
}

/// The status and the whole JSON of a reply.
pub(crate) async fn json_of(response: Response) -> (StatusCode, Value) {
    let status = response.status();
    let body = axum::body::to_bytes(response.into_body(), usize::MAX).await.unwrap();
    let value = serde_json::from_slice(&body)
        .unwrap_or_else(|_| panic!("{status}: {}", String::from_utf8_lossy(&body)));
    (status, value)
}

/// Opens a session as a principal.
pub(crate) async fn open(router: &Router, path: &str, who: &str) -> String {
    let begin = in_session(path, None, &initialize("2025-11-25"));
    let response = ask_as(router, who, begin).await;
    assert_eq!(response.status(), StatusCode::OK);
    let id = response.headers()["mcp-session-id"].to_str().unwrap().to_owned();
    let mut events = Events::of(response);
    assert_eq!(events.message().await["result"]["serverInfo"]["name"], "tested");
    let begun = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    let response = ask_as(router, who, in_session(path, Some(&id), &begun)).await;
    assert_eq!(response.status(), StatusCode::ACCEPTED);
    id
}

/// The events of a reply. An answer that comes alone, as JSON, is one event.
pub(crate) struct Events {
    body: BodyDataStream,
    text: String,
    is_json: bool,
}

/// One event.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) name: String,
    pub(crate) id: String,
    pub(crate) data: String,
}

impl Events {
    pub(crate) fn of(response: Response) -> Self {
        let is_json = is_json(&response);
        Self { body: response.into_body().into_data_stream(), text: String::new(), is_json }
    }

    /// The next event; none at the end.
    pub(crate) async fn next(&mut self) -> Option<Event> {
        if self.is_json {
            return self.whole().await;
        }
        loop {
            if let Some((event, rest)) = self.text.split_once("\n\n") {
                let event = parse(event);
                self.text = rest.to_owned();
                match event {
                    Some(event) => return Some(event),
                    None => continue,
                }
            }
            let bytes = super::soon(self.body.next()).await?.ok()?;
            self.text.push_str(std::str::from_utf8(&bytes).unwrap());
        }
    }

    /// The whole body, once.
    async fn whole(&mut self) -> Option<Event> {
        let mut data = String::new();
        while let Some(bytes) = super::soon(self.body.next()).await {
            data.push_str(std::str::from_utf8(&bytes.unwrap()).unwrap());
        }
        (!data.is_empty()).then(|| Event { data, ..Event::default() })
    }

    /// The next message.
    pub(crate) async fn message(&mut self) -> Value {
        self.try_message().await.expect("the stream has ended")
    }

    /// The next message; none at the end.
    pub(crate) async fn try_message(&mut self) -> Option<Value> {
        loop {
            let event = self.next().await?;
            if !event.data.is_empty() {
                return Some(serde_json::from_str(&event.data).unwrap());
            }
        }
    }
}

/// Whether a reply is JSON, and so one message.
pub(crate) fn is_json(response: &Response) -> bool {
    response.headers().get(header::CONTENT_TYPE).is_some_and(|kind| kind == "application/json")
}

/// An event; none where there is no line of data, as clients read it.
fn parse(text: &str) -> Option<Event> {
    let (mut event, mut has_data) = (Event::default(), false);
    for line in text.lines() {
        match line.split_once(':').map(|(key, value)| (key, value.trim_start())) {
            Some(("event", name)) => event.name = name.to_owned(),
            Some(("id", id)) => event.id = id.to_owned(),
            Some(("data", data)) => {
                event.data.push_str(data);
                has_data = true;
            }
            _ => {}
        }
    }
    has_data.then_some(event)
}
