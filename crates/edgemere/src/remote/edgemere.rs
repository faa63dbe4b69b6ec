//! Commands of tools, carried out by a running node of Edgemere.

use edgemere_command::results::ResultRows;
use edgemere_command::sql::ResultColumn;
use edgemere_command::{Content, Media, Principal, Rendered, Request, Sources};
use edgemere_tools::{Answer, Commands, Failure, Given, Wanted};
use mcp_serve::BoxFuture;
use reqwest::header::{CONTENT_TYPE, HeaderMap};
use reqwest::{Method, Response};

use super::{events, permitted, strange};
use crate::client::Client;
use crate::server::http::answers::{Column, EVENTS, PAGE, PATH, Question};
use crate::server::http::limit::ACCESS_HEADER;
use crate::server::{ASKED_HEADER, MISSING_HEADER};

/// A running node.
pub(super) struct Edgemere {
    client: Client,
    name: String,
}

impl Edgemere {
    pub(super) fn new(client: Client, name: String) -> Self {
        Self { client, name }
    }

    async fn ask(&self, request: &Request, wanted: Option<Wanted>) -> Result<Response, Failure> {
        permitted(request)?;
        let budget = wanted.map(Wanted::budget);
        let question = Question {
            command: request.command.to_string(),
            destination: request.destination.clone(),
            subset: request.subset,
            timeout_s: request.timeout.map(|time| time.as_secs_f64()),
            rows: budget.map(|budget| budget.rows),
            bytes: budget.map(|budget| budget.bytes),
            stream: matches!(wanted, Some(Wanted::Events(_))),
        };
        let access = request.principal.access().name();
        let request = self.client.request(Method::POST, PATH).json(&question);
        Ok(self.client.response(request.header(ACCESS_HEADER, access)).await?)
    }

    async fn answered(&self, request: &Request, wanted: Wanted) -> Result<Answer, Failure> {
        let response = self.ask(request, Some(wanted)).await?;
        match content_type(response.headers()) {
            PAGE => {}
            EVENTS => return events::read(response, self.client.address()).await,
            _ => return self.rendered(response).await.map(Answer::Reply),
        }
        let text = self.client.text(response).await?;
        let given: Given = serde_json::from_str(&text)
            .map_err(|_| strange(self.client.address(), "gave rows in another form"))?;
        Ok(Answer::Given(Box::new(given)))
    }

    async fn rendered(&self, response: Response) -> Result<Rendered, Failure> {
        let media = match content_type(response.headers()) {
            "application/json" => Media::Json,
            "application/x-ndjson" => Media::Ndjson,
            "text/csv" => Media::Csv,
            _ => Media::Text,
        };
        let (asked, missing) =
            (names(response.headers(), ASKED_HEADER), names(response.headers(), MISSING_HEADER));
        let sources = match asked.is_empty() {
            true => Sources::Here,
            false => Sources::Nodes { asked, missing },
        };
        let content = Content::Whole(self.client.text(response).await?);
        Ok(Rendered { sources, ..Rendered::new(media, content) })
    }

    /// A reply with its looks, by the same way as everybody's commands.
    async fn looks(&self, request: &Request) -> Result<Rendered, Failure> {
        let command = permitted(request)?;
        let question = crate::client::Question {
            command: request.command.to_string(),
            destination: request.destination.clone(),
            subset: request.subset,
            // A part of a second is rounded up: none at all would be no time.
            timeout_s: request.timeout.map(|time| time.as_millis().div_ceil(1000) as u64),
            for_programs: true,
        };
        let access = request.principal.access().name();
        let request = self.client.prepared(command.declaration().method, &question);
        let request = request.header(ACCESS_HEADER, access);
        self.rendered(self.client.response(request).await?).await
    }

    async fn planned(&self, request: &Request) -> Result<Option<Vec<ResultColumn>>, Failure> {
        let text = self.client.text(self.ask(request, None).await?).await?;
        let columns: Option<Vec<Column>> = serde_json::from_str(&text)
            .map_err(|_| strange(self.client.address(), "gave columns in another form"))?;
        let column = |Column { name, type_name }| ResultColumn { name, type_name };
        Ok(columns.map(|columns| columns.into_iter().map(column).collect()))
    }
}

/// The nodes that a header names: by their names, where an address stands beside them.
fn names(headers: &HeaderMap, header: &str) -> Vec<String> {
    let names = headers.get(header).and_then(|names| names.to_str().ok()).unwrap_or_default();
    let names = names.split(", ").map(|name| name.split_once(" (").map_or(name, |(name, _)| name));
    names.filter(|name| !name.is_empty()).map(ToOwned::to_owned).collect()
}

/// The type of an answer without what is said beside it.
fn content_type(headers: &HeaderMap) -> &str {
    let whole = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    whole.unwrap_or_default().split(';').next().unwrap_or_default().trim()
}

impl Commands for Edgemere {
    fn answer<'a>(
        &'a self,
        request: &'a Request,
        wanted: Wanted,
    ) -> BoxFuture<'a, Result<Answer, Failure>> {
        Box::pin(self.answered(request, wanted))
    }

    fn reply<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Result<Rendered, Failure>> {
        Box::pin(self.looks(request))
    }

    fn columns<'a>(
        &'a self,
        request: &'a Request,
    ) -> BoxFuture<'a, Result<Option<Vec<ResultColumn>>, Failure>> {
        Box::pin(self.planned(request))
    }

    /// The node that has the rows keeps them: what it gives has the cursor already.
    fn keep_rest(&self, _: &Principal, _: ResultRows) -> String {
        String::new()
    }

    /// What the node gives has the link already.
    fn link(&self, _: &Request) -> Option<String> {
        None
    }

    fn node_name(&self) -> String {
        self.name.clone()
    }
}
