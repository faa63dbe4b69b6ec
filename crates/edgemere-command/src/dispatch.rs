//! The one dispatch: REST, the shell, agents and other nodes all come in here, with a text, who
//! asks, and how. It parses, checks the method and the permission, runs, and gives the reply its
//! looks.

use std::fmt;
use std::ops::Deref;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use edgemere_query::sql::Sql;

use crate::commands::Command;
use crate::declaration::Method;
use crate::destination::{Delivery, Destination};
use crate::error::Error;
use crate::format::{Format, Rendered, render};
use crate::language::options::Output;
use crate::language::script;
use crate::node::Node;
use crate::peers::TIMEOUT;
use crate::placement::{Places, is_elsewhere};
use crate::reply::{Body, Reply};
use crate::variables::{RequestVariables, Scope};
use edgemere_service::Principal;

/// How long a command's text may be.
pub const COMMAND_BYTES_MAX: usize = 4 << 20;

/// A command's text, which is parsed once however often it is needed. Clones share what was parsed.
#[derive(Clone, Debug)]
pub struct CommandText(Arc<Written>);

#[derive(Debug)]
struct Written {
    text: String,
    parsed: OnceLock<Command>,
}

impl CommandText {
    /// The command.
    pub fn parsed(&self) -> Result<&Command, Error> {
        match self.0.parsed.get() {
            Some(command) => Ok(command),
            None => {
                let command = parse(&self.0.text)?;
                Ok(self.0.parsed.get_or_init(|| command))
            }
        }
    }
}

impl<T: Into<String>> From<T> for CommandText {
    fn from(text: T) -> Self {
        Self(Arc::new(Written { text: text.into(), parsed: OnceLock::new() }))
    }
}

impl Deref for CommandText {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0.text
    }
}

impl fmt::Display for CommandText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self)
    }
}

impl PartialEq for CommandText {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

/// A command that somebody sends.
#[derive(Clone, Debug)]
pub struct Request {
    /// The command's text.
    pub command: CommandText,
    /// Who asks.
    pub principal: Principal,
    /// The REST method it came with, when it came over REST.
    pub method: Option<Method>,
    /// The nodes that it is for. Without any it is for this node, and a query on a database that this node
    /// has nothing of is for the network.
    pub destination: Option<String>,
    /// Whether the answers of some nodes will do when others do not answer.
    pub subset: bool,
    /// How long each node has.
    pub timeout: Option<Duration>,
    /// Assignments, `<name = value>` one after the other: the variables of this request, which lie over
    /// the node's. Nobody else sees them.
    pub assignments: Option<String>,
    /// Whether a person reads the reply: the rows of a query that names no format are a table then, and
    /// JSON otherwise, as EdgeLake's.
    pub for_people: bool,
    /// Whether it comes from a client of EdgeLake's, which wants EdgeLake's answers to the letter.
    pub edgelake: bool,
}

impl Request {
    /// A command for this node.
    pub fn new(command: impl Into<CommandText>, principal: Principal) -> Self {
        Self {
            command: command.into(),
            principal,
            method: None,
            destination: None,
            subset: false,
            timeout: None,
            assignments: None,
            for_people: false,
            edgelake: false,
        }
    }
}

/// A command's result and the name of the command that gave it, for logs and metrics.
#[derive(Debug)]
pub struct Outcome<T = Rendered> {
    /// The name of the command, or none when the text is not a command.
    pub command: Option<&'static str>,
    /// The reply, mostly with its looks.
    pub result: Result<T, Error>,
}

/// What a command has while it runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Context<'a> {
    pub(crate) node: &'a Arc<Node>,
    pub(crate) principal: &'a Principal,
    pub(crate) delivery: Delivery,
    /// Whether queries are asked of all operators of the network, and not of this node.
    pub(crate) on_network: bool,
    /// The operators that alone are asked then, by their addresses; none is all of them.
    pub(crate) nodes: Option<&'a [String]>,
    /// How many scripts are running inside each other.
    pub(crate) scripts: usize,
    /// The variables of the request, where it can have some.
    pub(crate) own: Option<&'a RequestVariables>,
}

impl<'a> Context<'a> {
    /// The variables that the command sees.
    pub(crate) fn variables(&self) -> Scope<'a> {
        Scope::new(&self.node.variables, self.own)
    }

    /// How long another node has to answer.
    pub(crate) fn timeout(&self) -> Duration {
        self.delivery.timeout.unwrap_or(TIMEOUT)
    }

    /// SQL where the command is to ask, on behalf of who sent it.
    pub(crate) fn sql(&self) -> Sql {
        let sql = match (self.on_network, self.nodes) {
            (false, _) => self.node.engine().sql().clone(),
            (true, None) => self.node.network_sql().clone(),
            (true, Some(nodes)) => {
                let places = Places::among(self.node.ledger().clone(), nodes);
                self.node.network_sql().on_tables_of(Arc::new(places))
            }
        };
        sql.asked_by(&self.principal.label())
    }

    /// Who a command is for that is sent to another node: the caller, whose name the other node knows
    /// by this one's.
    pub(crate) fn forwarded(&self) -> Principal {
        let name = format!("{}@{}", self.principal.name(), self.node.name());
        Principal::new(name, self.principal.access())
    }
}

/// Carries out a request.
pub async fn execute(node: &Arc<Node>, request: &Request) -> Outcome {
    let (command, result) = reply_to(node, request).await;
    let result = match result {
        Ok((reply, output)) => begun(reply, output, request.for_people).await,
        Err(error) => Err(error),
    };
    Outcome { command, result }
}

/// A reply with its looks. The rows of a query have begun to come: what fails at once is an error
/// and no broken reply.
async fn begun(mut reply: Reply, mut output: Output, for_people: bool) -> Result<Rendered, Error> {
    if let Body::Rows(rows) = &mut reply.body {
        rows.query.begin().await?;
        output.format = output.format.or(for_people.then_some(Format::Table));
    }
    render(reply, &output)
}

/// Carries out a request. The reply has no looks yet; those that were asked for are beside it.
pub(crate) async fn reply_to(
    node: &Arc<Node>,
    request: &Request,
) -> (Option<&'static str>, Result<(Reply, Output), Error>) {
    let (command, result) = match request.command.parsed() {
        Ok(command) => (Some(command.declaration().name), run(node, request, command).await),
        Err(error) => (None, Err(error)),
    };
    node.activity.commands.fetch_add(1, Ordering::Relaxed);
    if result.is_err() {
        node.activity.errors.fetch_add(1, Ordering::Relaxed);
    }
    if let Some(method) = request.method {
        let error = result.as_ref().err().map(|error| error.code().text);
        node.note_rest_call(request.principal.name(), method.name(), error.as_deref());
    }
    (command, result)
}

/// Parses a command's text.
pub fn parse(text: &str) -> Result<Command, Error> {
    if text.len() > COMMAND_BYTES_MAX {
        return Err(Error::Limit { what: "the command", limit: COMMAND_BYTES_MAX });
    }
    Command::from_text(text)
}

/// Whether a command that names no nodes asks the network: a query on a database that only others have.
pub(crate) fn is_for_network(node: &Node, command: &Command) -> bool {
    command.database().is_some_and(|dbms| is_elsewhere(node, dbms))
}

async fn run(
    node: &Arc<Node>,
    request: &Request,
    command: &Command,
) -> Result<(Reply, Output), Error> {
    let declaration = command.declaration();
    if request.method == Some(Method::Get) && declaration.method == Method::Post {
        return Err(Error::WrongMethod { command: declaration.name });
    }
    let Request { subset, timeout, edgelake, .. } = *request;
    let delivery = Delivery { subset, timeout, edgelake };
    let principal = &request.principal;
    let own = RequestVariables::default();
    let on_network = request.destination.is_none() && is_for_network(node, command);
    let context =
        Context { node, principal, delivery, on_network, nodes: None, scripts: 0, own: Some(&own) };
    for line in request.assignments.iter().flat_map(|text| script::lines(text)) {
        Command::assignment(&line.text)?.assign_to(&own, &context).await?;
    }
    let reply = match request.destination.as_deref().map(Destination::from_text).transpose()? {
        None => command.run(&context).await?,
        Some(destination) => {
            request.principal.authorize(declaration.name, command.effect())?;
            destination.run(command, &context, delivery).await?
        }
    };
    Ok((reply, command.output().clone()))
}
