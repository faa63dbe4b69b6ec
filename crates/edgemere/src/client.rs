//! Sends commands and rows to a node over REST. A text that is not a command is not sent.

mod ingest;

use std::time::Duration;

use anyhow::Context;
use edgemere_command::{Access, Door, Hint, Kind, Media, Method};
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderValue};
use reqwest::{RequestBuilder, Response, StatusCode, Url};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::server::MISSING_HEADER;
use crate::server::http::limit::ACCESS_HEADER;
use crate::terminal;

pub(crate) use self::ingest::{Column, Note, Rejected, Stored, Trouble, Upload};

/// How long a node has to take the call.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// How much longer than the nodes that it asks a node has to answer.
const ANSWER_MARGIN: Duration = Duration::from_secs(5);

/// How much is shown of an answer that is not a node's.
const STRANGE_CHARS_MAX: usize = 200;

/// What to do when there is no node.
const START_HINT: &str =
    "start one with \"edgemere node\" or \"edgemere demo\", or name another with --node URL";

/// What to do when an answer ends in the middle.
const CUT_HINT: &str = "what came before is not the whole answer; the node's log says why";

/// In the environment of a command that is run for an agent: the most that the agent may do. The node
/// that is asked allows no more.
pub(crate) const ACCESS_VARIABLE: &str = "EDGEMERE_CALLER_ACCESS";

/// Whether this process is run for an agent.
pub(crate) fn is_run_for_agent() -> bool {
    std::env::var_os(ACCESS_VARIABLE).is_some()
}

/// What the environment says that this process is run for. What makes no sense is the least.
fn callers_access() -> Option<Access> {
    let said = std::env::var_os(ACCESS_VARIABLE)?;
    Some(said.to_str().and_then(|said| said.parse().ok()).unwrap_or(Access::Read))
}

/// A way to a node.
#[derive(Debug)]
pub(crate) struct Client {
    http: reqwest::Client,
    url: Url,
    /// In whose words the next step after a failure is said.
    door: Door,
}

/// What a node answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    /// What the body is.
    pub(crate) media: Media,
    /// The body.
    pub(crate) body: String,
}

/// What is asked.
#[derive(Clone, Debug, Default)]
pub(crate) struct Question {
    /// The command's text.
    pub(crate) command: String,
    /// The nodes that it is for, when it is not the one that is asked.
    pub(crate) destination: Option<String>,
    /// Whether the answers of some of them will do.
    pub(crate) subset: bool,
    /// How many seconds each of them has.
    pub(crate) timeout_s: Option<u64>,
    /// Whether a program reads the answer, and not a person: rows without a format are JSON then, and
    /// a table otherwise.
    pub(crate) for_programs: bool,
}

impl Client {
    /// A way to the node at a URL, for the user of this process.
    pub(crate) fn new(url: Url) -> anyhow::Result<Self> {
        Self::within(url, callers_access())
    }

    /// A way to the node at a URL, for a caller with at most this access there.
    pub(crate) fn limited_to(url: Url, access: Access) -> anyhow::Result<Self> {
        Self::within(url, Some(callers_access().map_or(access, |limit| limit.min(access))))
    }

    fn within(url: Url, access: Option<Access>) -> anyhow::Result<Self> {
        let limit = access.map(|access| (ACCESS_HEADER, HeaderValue::from_static(access.name())));
        // Nodes are asked directly: a proxy would not reach this machine's own addresses.
        let http = reqwest::Client::builder().no_proxy().connect_timeout(CONNECT_TIMEOUT);
        let http = http.default_headers(limit.into_iter().collect());
        let http = http.build().context("cannot make an HTTP client")?;
        Ok(Self { http, url, door: Door::Cli })
    }

    /// The same, for callers who come through another door than the command line.
    pub(crate) fn at_door(self, door: Door) -> Self {
        Self { door, ..self }
    }

    /// Asks, and gives the answer.
    pub(crate) async fn ask(&self, question: &Question) -> anyhow::Result<Answer> {
        let response = self.send(question).await?;
        self.read(response).await
    }

    /// Asks, and writes the answer piece by piece as it comes.
    pub(crate) async fn stream(
        &self,
        question: &Question,
        mut write: impl FnMut(&[u8]) -> std::io::Result<()>,
    ) -> anyhow::Result<()> {
        let mut response = self.send(question).await?;
        if !response.status().is_success() {
            return self.read(response).await.map(drop);
        }
        while let Some(piece) = response.chunk().await.map_err(|error| self.unreachable(&error))? {
            write(&piece)?;
        }
        Ok(())
    }

    async fn send(&self, question: &Question) -> anyhow::Result<Response> {
        let command = edgemere_command::parse(&question.command)
            .map_err(|error| Failure::of_command(error, &question.command))?;
        let request = self.prepared(command.declaration().method, question);
        let response = self.response(request).await?;
        if let Some(missing) = response.headers().get(MISSING_HEADER).and_then(|v| v.to_str().ok())
        {
            terminal::say(&format!("warning: without the rows of {missing}"));
        }
        Ok(response)
    }

    /// Sends a request that was made by hand, whatever is answered.
    pub(crate) async fn response(&self, request: RequestBuilder) -> Result<Response, Failure> {
        request.send().await.map_err(|error| self.unreachable(&error))
    }

    /// The request of a question.
    pub(crate) fn prepared(&self, method: Method, question: &Question) -> RequestBuilder {
        let request = match method {
            Method::Get => self.get(question),
            Method::Post => self.post(question),
        };
        let request = match question.for_programs {
            true => request,
            false => request.header(ACCEPT, "text/plain, */*"),
        };
        let timeout = question.timeout_s.map(|s| Duration::from_secs(s) + ANSWER_MARGIN);
        timeout.into_iter().fold(request, RequestBuilder::timeout)
    }

    /// A request for another path of the node.
    pub(crate) fn request(&self, method: reqwest::Method, path: &str) -> RequestBuilder {
        let mut url = self.url.clone();
        url.set_path(path);
        self.http.request(method, url)
    }

    /// Where the node is.
    pub(crate) fn url(&self) -> &Url {
        &self.url
    }

    /// The node's address as people write it.
    pub(crate) fn address(&self) -> &str {
        shown(&self.url)
    }

    fn get(&self, question: &Question) -> RequestBuilder {
        let mut url = self.url.clone();
        url.query_pairs_mut()
            .append_pair("command", &question.command)
            .extend_pairs(question.destination.iter().map(|value| ("destination", value)))
            .extend_pairs(question.subset.then_some(("subset", "true")))
            .extend_pairs(question.timeout_s.map(|s| ("timeout", s.to_string())));
        // A plus stands for a space only in forms; %20 is one everywhere.
        let query = url.query().map(|query| query.replace('+', "%20"));
        url.set_query(query.as_deref());
        self.http.get(url)
    }

    fn post(&self, question: &Question) -> RequestBuilder {
        let mut body = json!({ "command": question.command });
        if let Value::Object(body) = &mut body {
            body.extend(question.destination.iter().map(|d| ("destination".into(), json!(d))));
            body.extend(question.subset.then(|| ("subset".into(), json!(true))));
            body.extend(question.timeout_s.map(|s| ("timeout".into(), json!(s))));
        }
        self.http.post(self.url.clone()).json(&body)
    }

    fn unreachable(&self, error: &reqwest::Error) -> Failure {
        let what = match (error.is_timeout(), error.is_connect()) {
            (_, true) => "no node answers at",
            (true, false) => "no answer in time from the node at",
            (false, false) => "the call was cut off by the node at",
        };
        let failure = Failure::new(Kind::Unavailable, format!("{what} {}", shown(&self.url)));
        match (error.is_timeout(), error.is_connect()) {
            (_, true) => failure.with_hint(START_HINT),
            (true, false) => failure,
            (false, false) => failure.with_hint(CUT_HINT),
        }
    }

    async fn read(&self, response: Response) -> anyhow::Result<Answer> {
        let content_type = response.headers().get(CONTENT_TYPE).and_then(|v| v.to_str().ok());
        let is_json = content_type.is_some_and(|kind| kind.starts_with("application/json"));
        let body = self.text(response).await?;
        let media = if is_json { Media::Json } else { Media::Text };
        Ok(Answer { media, body })
    }

    /// The text of an answer, or why there is none.
    pub(crate) async fn text(&self, response: Response) -> Result<String, Failure> {
        let status = response.status();
        let body = self.body(response).await?;
        match status.is_success() {
            true => Ok(body),
            false => Err(self.refused(status, &body)),
        }
    }

    /// The text of an answer, also of one that says what is wrong.
    pub(crate) async fn body(&self, response: Response) -> Result<String, Failure> {
        response.text().await.map_err(|error| self.unreachable(&error))
    }

    /// What the node says is wrong, or what was answered by something that is not a node.
    fn refused(&self, status: StatusCode, body: &str) -> Failure {
        let error: Value = serde_json::from_str(body).unwrap_or_default();
        let text = |key: &str| error.get(key).and_then(Value::as_str).map(String::from);
        let kind = Kind::from_http_status(status.as_u16());
        let Some(message) = text("local_msg").or_else(|| text("err_text")) else {
            let start: String = body.trim().chars().take(STRANGE_CHARS_MAX).collect();
            let message = format!("{} answered {status}: {start}", shown(&self.url));
            return Failure::new(kind, message.trim_end_matches([':', ' ']))
                .with_hint("is it a node? \"edgemere run 'get status' --node URL\" asks another");
        };
        // The id is what finds the details in the node's log.
        let id = text("request_id").filter(|_| kind == Kind::Internal);
        let id_hint = id.map(|id| format!("the node's log has it under the request {id}"));
        // A step that doors say differently is said in the words of this one.
        let next = error.get("next").and_then(|next| Hint::deserialize(next).ok());
        let next = next.map(|next| next.at(self.door));
        Failure { hint: next.or(text("hint")).or(id_hint), ..Failure::new(kind, message) }
    }
}

/// A URL as people write it.
fn shown(url: &Url) -> &str {
    url.as_str().trim_end_matches('/')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client() -> Client {
        Client::new(Url::parse("http://127.0.0.1:9").unwrap()).unwrap()
    }

    #[test]
    fn the_url_form_encodes_everything_that_could_be_taken_for_something_else() {
        let question = Question {
            command: "get x where a = \"é+&?%\"".into(),
            destination: Some("a:1,b:2".into()),
            subset: true,
            timeout_s: Some(3),
            for_programs: false,
        };
        let url = client().get(&question).build().unwrap().url().to_string();
        assert_eq!(
            url,
            "http://127.0.0.1:9/?command=get%20x%20where%20a%20%3D%20%22%C3%A9%2B%26%3F%25%22\
             &destination=a%3A1%2Cb%3A2&subset=true&timeout=3"
        );
    }

    #[test]
    fn a_nodes_own_words_are_passed_on() {
        let body = r#"{"err_code": 113, "local_msg": "no such policy", "hint": "look"}"#;
        let failure = client().refused(StatusCode::NOT_FOUND, body);
        assert_eq!(failure, Failure::new(Kind::NotFound, "no such policy").with_hint("look"));
    }

    #[test]
    fn an_answer_that_is_not_a_nodes_is_told_as_such() {
        let failure = client().refused(StatusCode::NOT_FOUND, "<h1>nginx</h1>");
        assert_eq!(failure.message, "http://127.0.0.1:9 answered 404 Not Found: <h1>nginx</h1>");
    }
}
