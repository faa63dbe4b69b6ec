//! Commands of tools, carried out by a running node of EdgeLake, with its ways: an error with the status
//! of success, JSON between the words of its command line, rows as objects, no cursors.

mod error;
mod noise;
mod rows;

use std::time::Instant;

use edgemere_command::foreign::{Expected, Foreign, Unsendable};
use edgemere_command::results::{Budget, ResultRows};
use edgemere_command::sql::ResultColumn;
use edgemere_command::{
    Command, Content, Kind, Media, Method as CommandMethod, Principal, Rendered, Request,
};
use edgemere_tools::{Answer, Commands, Failure, Wanted};
use mcp_serve::BoxFuture;
use reqwest::header::USER_AGENT;
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

use self::rows::Asked;
use super::permitted;
use crate::client::Client;

/// What EdgeLake answers to: others get an empty reply.
const AGENT: &str = "AnyLog/1.23";

/// A node of EdgeLake.
pub(super) struct EdgeLake {
    client: Client,
    name: String,
}

impl EdgeLake {
    /// The node, which is asked for its name.
    pub(super) async fn connect(client: Client) -> Result<Self, crate::failure::Failure> {
        let request = client.request(Method::GET, "/");
        let request = request.header(USER_AGENT, AGENT).header("command", "get node name");
        let response = client.response(request).await?;
        let name = client.text(response).await?;
        let name = noise::without_prompts(&name).trim().to_owned();
        // A page of some other server is no name.
        let is_name = (1..=200).contains(&name.len()) && !name.contains(['<', '{', '\n']);
        if !is_name {
            let message = format!("{} is neither Edgemere nor EdgeLake", client.address());
            let hint = "name a node's HTTP port, as http://127.0.0.1:32349";
            return Err(crate::failure::Failure::new(Kind::Unavailable, message).with_hint(hint));
        }
        Ok(Self { client, name })
    }

    async fn answered(&self, request: &Request, budget: Budget) -> Result<Answer, Failure> {
        let command = permitted(request)?;
        let foreign = foreign(command, &request.command)?;
        if foreign.expected() != Expected::Rows {
            return self.shaped(request, command, &foreign).await.map(Answer::Reply);
        }
        let asked = Asked { node: &self.name, started: Instant::now() };
        let reply = self.reply_to(request, command, &foreign).await?;
        rows::given(reply, budget, &asked).map(|given| Answer::Given(Box::new(given)))
    }

    async fn looks(&self, request: &Request) -> Result<Rendered, Failure> {
        let command = permitted(request)?;
        let foreign = foreign(command, &request.command)?;
        self.shaped(request, command, &foreign).await
    }

    async fn shaped(
        &self,
        request: &Request,
        command: &Command,
        foreign: &Foreign,
    ) -> Result<Rendered, Failure> {
        let reply = self.reply_to(request, command, foreign).await?;
        match foreign.expected() {
            Expected::Rows => {
                let looks = rows::looks(reply, command.format())?;
                Ok(Rendered::new(Media::Json, Content::Whole(looks.to_string())))
            }
            _ => Ok(foreign.shaped(reply)),
        }
    }

    /// The reply as a value; of the texts that a command may have there, the first that is understood.
    async fn reply_to(
        &self,
        request: &Request,
        command: &Command,
        foreign: &Foreign,
    ) -> Result<Value, Failure> {
        let mut first = None;
        for text in foreign.texts() {
            let reply = self.ask(request, command, text, foreign.expected()).await;
            match reply {
                Ok(value) => return Ok(value),
                // Another form of the same may be understood.
                Err(failure) if failure.kind == Kind::Input => first = first.or(Some(failure)),
                Err(failure) => return Err(failure),
            }
        }
        Err(first.unwrap_or_else(|| super::strange(self.client.address(), "was asked nothing")))
    }

    async fn ask(
        &self,
        request: &Request,
        command: &Command,
        text: &str,
        expected: Expected,
    ) -> Result<Value, Failure> {
        let sent = self.request(request, command.declaration().method, text);
        let response = self.client.response(sent).await?;
        let status = response.status();
        let body = self.client.body(response).await?;
        let value = match expected {
            Expected::Text => None,
            Expected::Policies => noise::picked(&body, noise::Prefer::Lists),
            Expected::Rows | Expected::Json => noise::picked(&body, noise::Prefer::Longest),
        };
        let value = value.unwrap_or_else(|| noise::without_prompts(&body).trim().into());
        match error::of(status, &value, &body) {
            Some(failure) => Err(failure),
            None => Ok(value),
        }
    }

    /// A command in headers, as EdgeLake's own clients send it; in a body where headers cannot have it.
    fn request(&self, request: &Request, method: CommandMethod, text: &str) -> RequestBuilder {
        let timeout = request.timeout.map(|time| time.as_secs().max(1).to_string());
        let fields = [
            ("command", Some(text.to_owned())),
            ("destination", request.destination.clone()),
            ("subset", request.subset.then(|| "true".to_owned())),
            ("timeout", timeout),
        ];
        let fields = fields.into_iter().filter_map(|(key, value)| Some((key, value?)));
        let fields: Vec<_> = fields.collect();
        let is_header = |value: &str| value.chars().all(|c| (' '..='~').contains(&c));
        if !fields.iter().all(|(_, value)| is_header(value)) {
            let body: Value = fields.into_iter().map(|(key, value)| (key, json!(value))).collect();
            return self.client.request(Method::POST, "/").header(USER_AGENT, AGENT).json(&body);
        }
        let method = match method {
            CommandMethod::Get => Method::GET,
            CommandMethod::Post => Method::POST,
        };
        let bare = self.client.request(method, "/").header(USER_AGENT, AGENT);
        fields.into_iter().fold(bare, |sent, (key, value)| sent.header(key, value))
    }
}

fn foreign(command: &Command, text: &str) -> Result<Foreign, Failure> {
    Foreign::of(command, text).map_err(|error: Unsendable| {
        let hint = "leave those characters out of it";
        Failure::new(Kind::Input, error.to_string(), Some(hint.into()))
    })
}

impl Commands for EdgeLake {
    fn answer<'a>(
        &'a self,
        request: &'a Request,
        wanted: Wanted,
    ) -> BoxFuture<'a, Result<Answer, Failure>> {
        // EdgeLake sends no row before it has all of them.
        Box::pin(self.answered(request, wanted.budget()))
    }

    fn reply<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Result<Rendered, Failure>> {
        Box::pin(self.looks(request))
    }

    /// EdgeLake plans nothing that it does not run.
    fn columns<'a>(
        &'a self,
        _: &'a Request,
    ) -> BoxFuture<'a, Result<Option<Vec<ResultColumn>>, Failure>> {
        Box::pin(std::future::ready(Ok(None)))
    }

    /// Rows of EdgeLake come all at once, so nothing is left to keep.
    fn keep_rest(&self, _: &Principal, _: ResultRows) -> String {
        String::new()
    }

    fn link(&self, _: &Request) -> Option<String> {
        None
    }

    fn node_name(&self) -> String {
        self.name.clone()
    }
}
