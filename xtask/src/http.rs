//! One HTTP request, one answer. Knows nothing of what is asked.

use std::{io::Read, time::Duration};

use anyhow::{Context, Result};
use ureq::{
    Agent, RequestExt,
    http::{HeaderMap, Method, Request, StatusCode, request::Builder},
};

/// No exchange waits longer than this, not even one that EdgeLake needed 24 s for.
const TIMEOUT: Duration = Duration::from_secs(30);

/// How much of an answer is read. No captured one is near; a join of all rows is far beyond.
const BODY_BYTES_MAX: u64 = 1 << 20;

/// What a node answered.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) body: String,
    headers: HeaderMap,
}

impl Answer {
    /// One without headers.
    #[cfg(test)]
    pub(crate) fn new(status: StatusCode, body: String) -> Self {
        Self { status, body, headers: HeaderMap::new() }
    }

    /// A header, when it is there and is text.
    pub(crate) fn header(&self, name: &str) -> Option<String> {
        self.headers.get(name)?.to_str().ok().map(str::to_owned)
    }
}

/// A client that keeps its connections and adds no header of its own.
#[derive(Clone)]
pub(crate) struct Client(Agent);

impl Client {
    pub(crate) fn new() -> Self {
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(TIMEOUT))
            .user_agent("")
            .accept("")
            .proxy(None)
            .build();
        Self(config.into())
    }

    /// Sends a request; a body is sent with POST and PUT only.
    pub(crate) fn send(
        &self,
        method: &str,
        url: &str,
        headers: &[(String, String)],
        body: &str,
    ) -> Result<Answer> {
        let parsed = Method::from_bytes(method.as_bytes()).context("not an HTTP method")?;
        let has_body = matches!(parsed, Method::POST | Method::PUT);
        let mut request = Request::builder().method(parsed).uri(url);
        for (name, value) in headers {
            request = request.header(name, value);
        }
        let told = || format!("{method} {url} got no answer");
        let answer = if has_body { self.run(request, body) } else { self.run_empty(request) };
        answer.with_context(told)
    }

    /// A command as its users send it: in a header.
    pub(crate) fn command(&self, method: &str, url: &str, command: &str) -> Result<Answer> {
        let headers = [
            ("User-Agent".to_owned(), "AnyLog/1.23".to_owned()),
            ("command".to_owned(), command.to_owned()),
        ];
        self.send(method, url, &headers, "")
    }

    fn run(&self, request: Builder, body: &str) -> Result<Answer> {
        read(request.body(body.to_owned())?.with_agent(&self.0).run()?)
    }

    fn run_empty(&self, request: Builder) -> Result<Answer> {
        read(request.body(())?.with_agent(&self.0).run()?)
    }
}

fn read(mut response: ureq::http::Response<ureq::Body>) -> Result<Answer> {
    let mut body = Vec::new();
    response.body_mut().as_reader().take(BODY_BYTES_MAX).read_to_end(&mut body)?;
    // What is cut off may be so in the middle of a character.
    let body = String::from_utf8_lossy(&body).into_owned();
    let (status, headers) = (response.status(), std::mem::take(response.headers_mut()));
    Ok(Answer { status, body, headers })
}
