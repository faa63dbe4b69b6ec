//! Commands of tools, carried out by a running node of EdgeLake, with its ways: an error with the status
//! of success, JSON between the words of its command line, rows as objects, no cursors.

mod error;
mod http;
mod noise;
mod one;
mod rows;

use std::time::{Duration, Instant};

use edgemere_command::foreign::{self, Expected, Foreign, Nodes, Unsendable};
use edgemere_command::results::{Budget, ResultRows};
use edgemere_command::sql::ResultColumn;
use edgemere_command::{
    Command, Effect, Error, Kind, Method as CommandMethod, Principal, Rendered, Request,
};
use edgemere_tools::{Answer, Commands, Failure, Wanted};
use futures_util::{StreamExt, stream};
use mcp_serve::BoxFuture;
use reqwest::{Method, RequestBuilder, StatusCode};
use serde_json::Value;

use self::http::{Call, Reply, Trouble};
use self::rows::Asked;
use super::permitted;
use crate::client::Client;

/// How many nodes are asked at once.
const NODES_AT_ONCE: usize = 16;

/// How much longer than the nodes that it asks the node has to answer.
const ANSWER_MARGIN: Duration = Duration::from_secs(15);

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
        let request = request.header("User-Agent", AGENT).header("command", "get node name");
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
        let (command, foreign) = self.understood(request)?;
        if foreign.expected() != Expected::Rows {
            return self.shaped(request, command, &foreign).await.map(Answer::Reply);
        }
        let asked = Asked { node: &self.name, started: Instant::now() };
        let reply = self.rows(request, command, &foreign).await?;
        rows::given(&foreign, reply, budget, &asked).map(|given| Answer::Given(Box::new(given)))
    }

    async fn looks(&self, request: &Request) -> Result<Rendered, Failure> {
        let (command, foreign) = self.understood(request)?;
        self.shaped(request, command, &foreign).await
    }

    /// The command of a request, and what it is to EdgeLake.
    fn understood<'a>(&self, request: &'a Request) -> Result<(&'a Command, Foreign), Failure> {
        let command = permitted(request)?;
        // EdgeLake does not know who asked for a job, so only who may write may end one.
        if command.declaration().name == "job stop" {
            request.principal.authorize("job stop", Effect::Write).map_err(Error::from)?;
        }
        Ok((command, Foreign::of(command, &request.command).map_err(unsendable)?))
    }

    async fn shaped(
        &self,
        request: &Request,
        command: &Command,
        foreign: &Foreign,
    ) -> Result<Rendered, Failure> {
        if foreign.expected() == Expected::Rows {
            let reply = self.rows(request, command, foreign).await?;
            return rows::looks(foreign, reply, command.format(), &self.name);
        }
        let nodes = Nodes::of(request.destination.as_deref()).map_err(unsendable)?;
        match nodes {
            Nodes::Here => {
                let reply = self.reply_to(request, command, foreign, None).await?;
                Ok(foreign.shaped(reply).await?)
            }
            Nodes::Network => {
                let message = "the destination \"network\" is for queries";
                let hint = "name the nodes by address, or leave the destination out";
                Err(Failure::new(Kind::Input, message, Some(hint.into())))
            }
            nodes => self.of_nodes(request, command, foreign, &nodes).await,
        }
    }

    /// The reply to a query, which EdgeLake puts together of those of the operators.
    async fn rows(
        &self,
        request: &Request,
        command: &Command,
        foreign: &Foreign,
    ) -> Result<Value, Failure> {
        let nodes = Nodes::of(request.destination.as_deref()).map_err(unsendable)?;
        let destination = match &nodes {
            Nodes::Here => None,
            Nodes::Network => Some("network".to_owned()),
            nodes => Some(self.addresses(request, nodes).await?.join(",")),
        };
        self.reply_to(request, command, foreign, destination.as_deref()).await
    }

    /// What each of several nodes says. Each is asked by itself: when EdgeLake asks several at once and one
    /// is down, it leaves out others too, and who they are.
    async fn of_nodes(
        &self,
        request: &Request,
        command: &Command,
        foreign: &Foreign,
        nodes: &Nodes,
    ) -> Result<Rendered, Failure> {
        let addresses = self.addresses(request, nodes).await?;
        let calls =
            addresses.into_iter().map(|address| self.one(request, command, foreign, address));
        let calls = stream::iter(calls.collect::<Vec<_>>());
        let replies: Vec<_> = calls.buffered(NODES_AT_ONCE).collect().await;
        let mut answers = Vec::with_capacity(replies.len());
        for (address, reply) in replies {
            let answer = match reply {
                Ok(reply) => Ok(reply),
                Err(failure) if request.subset && failure.kind == Kind::Unavailable => {
                    Err("Not responding".to_owned())
                }
                Err(failure) => {
                    let message = format!("{address}: {}", failure.message);
                    return Err(Failure { message, ..failure });
                }
            };
            answers.push((address, answer));
        }
        Ok(foreign.of_nodes(answers)?)
    }

    /// What one node says, and its address.
    async fn one(
        &self,
        request: &Request,
        command: &Command,
        foreign: &Foreign,
        address: String,
    ) -> (String, Result<Value, Failure>) {
        let reply = self.reply_to(request, command, foreign, Some(&address)).await;
        let answer = reply.and_then(|reply| one::answer(reply, &address));
        (address, answer)
    }

    /// The addresses of nodes, by what EdgeLake has in its ledger.
    async fn addresses(&self, request: &Request, nodes: &Nodes) -> Result<Vec<String>, Failure> {
        let reply = match nodes.question() {
            Some(text) => {
                // Who is asked is known for all, or not at all.
                let request = Request { subset: false, ..request.clone() };
                let reply =
                    self.ask(&request, CommandMethod::Get, &text, Expected::Policies, None).await?;
                self.checked(&request, reply, None).await?
            }
            None => Value::Null,
        };
        Ok(nodes.addresses(reply).await?)
    }

    /// Policies, where the node has any. While it loads its ledger EdgeLake has none, and says so as if
    /// that were the answer.
    async fn checked(
        &self,
        request: &Request,
        reply: Value,
        destination: Option<&str>,
    ) -> Result<Value, Failure> {
        let is_empty = |reply: &Value| reply.as_array().is_none_or(Vec::is_empty);
        if !is_empty(&reply) {
            return Ok(reply);
        }
        let expected = Expected::Policies;
        let all =
            self.ask(request, CommandMethod::Get, foreign::ALL, expected, destination).await?;
        match is_empty(&all) {
            false => Ok(reply),
            true => {
                let message = "the node of EdgeLake has no policies at all";
                let hint = "it may be loading its ledger: ask again";
                Err(Failure::new(Kind::Unavailable, message, Some(hint.into())))
            }
        }
    }

    /// The reply as a value; of the texts that a command may have there, the first that is understood.
    async fn reply_to(
        &self,
        request: &Request,
        command: &Command,
        foreign: &Foreign,
        destination: Option<&str>,
    ) -> Result<Value, Failure> {
        let (mut first, mut text_only) = (None, None);
        let (method, expected) = (command.declaration().method, foreign.expected());
        for text in foreign.texts() {
            let reply = self.ask(request, method, text, expected, destination).await;
            match reply {
                Ok(value) if expected == Expected::Policies => {
                    return self.checked(request, value, destination).await;
                }
                // What has no JSON in one form may have it in another.
                Ok(value) if expected == Expected::Json && value.is_string() => {
                    text_only = text_only.or(Some(value));
                }
                Ok(value) => return Ok(value),
                // Another form of the same may be understood.
                Err(failure) if failure.kind == Kind::Input => first = first.or(Some(failure)),
                Err(failure) => return Err(failure),
            }
        }
        if let Some(text) = text_only {
            return Ok(text);
        }
        Err(first.unwrap_or_else(|| super::strange(self.client.address(), "was asked nothing")))
    }

    async fn ask(
        &self,
        request: &Request,
        method: CommandMethod,
        text: &str,
        expected: Expected,
        destination: Option<&str>,
    ) -> Result<Value, Failure> {
        let call = call(request, method, text, destination);
        let Reply { status, body } = self.exchange(&call).await?;
        let value = match expected {
            Expected::Text => None,
            Expected::Policies => noise::picked(&body, noise::Prefer::Lists),
            Expected::Rows | Expected::Json => noise::picked(&body, noise::Prefer::Longest),
        };
        // An error is an object also where a text is expected.
        let error = match body.contains("err_code") {
            true => noise::picked(&body, noise::Prefer::Longest).unwrap_or_default(),
            false => Value::Null,
        };
        let status = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_GATEWAY);
        match error::of(status, &error, &body) {
            Some(failure) => Err(failure),
            None => Ok(value.unwrap_or_else(|| noise::without_prompts(&body).trim().into())),
        }
    }

    /// Sends a call: by hand where that is possible, since EdgeLake's errors are no HTTP.
    async fn exchange(&self, call: &Call) -> Result<Reply, Failure> {
        if self.client.url().scheme() == "http" {
            let reply = http::send(self.client.url(), call).await;
            return reply.map_err(|trouble| self.told(trouble));
        }
        let method = if call.method == "GET" { Method::GET } else { Method::POST };
        let sent = self.client.request(method, "/");
        let sent = call.headers.iter().fold(sent, |sent, (key, value)| sent.header(*key, value));
        let sent = call.time.into_iter().fold(sent, RequestBuilder::timeout);
        let response = self.client.response(sent).await?;
        let status = response.status().as_u16();
        Ok(Reply { status, body: self.client.body(response).await? })
    }

    fn told(&self, trouble: Trouble) -> Failure {
        let hint = match trouble {
            Trouble::NoNode => "start it, or name another node with --node URL",
            Trouble::Late => "ask for less, or give more time",
            Trouble::Silent => "it hangs up on what it does not understand: ask in another way",
            Trouble::CutOff => "what came before is not the whole answer: ask again",
            Trouble::TooLong => "ask for fewer rows or columns",
            Trouble::NotHttp => "name a node's HTTP port, as http://127.0.0.1:32349",
        };
        let message = format!("{trouble} {}", self.client.address());
        Failure::new(Kind::Unavailable, message, Some(hint.into()))
    }
}

/// A command in headers, as EdgeLake's own clients send it. There is nothing but ASCII in it.
fn call(request: &Request, method: CommandMethod, text: &str, destination: Option<&str>) -> Call {
    let timeout = request.timeout.map(|time| time.as_secs().max(1).to_string());
    let fields = [
        ("command", Some(text.to_owned())),
        ("destination", destination.map(ToOwned::to_owned)),
        ("subset", request.subset.then(|| "true".to_owned())),
        ("timeout", timeout),
    ];
    let fields = fields.into_iter().filter_map(|(key, value)| Some((key, value?)));
    let mut headers = vec![("User-Agent", AGENT.to_owned())];
    headers.extend(fields);
    let method = match method {
        CommandMethod::Get => "GET",
        CommandMethod::Post => "POST",
    };
    // The nodes that it asks have their time; it needs a little more.
    let time = request.timeout.map(|time| time + ANSWER_MARGIN);
    Call { method, headers, time }
}

fn unsendable(unsendable: Unsendable) -> Failure {
    Failure::new(unsendable.kind, unsendable.message, unsendable.hint)
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

    /// EdgeLake plans nothing that it does not run, keeps no cursors, and does not know who asked for a
    /// job, so that only who may write may end one.
    fn has(&self, command: &str, principal: &Principal) -> bool {
        Foreign::knows(command) && (command != "job stop" || principal.may(Effect::Write))
    }

    fn node_name(&self) -> String {
        self.name.clone()
    }
}
