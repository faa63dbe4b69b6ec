//! A call of a tool: what is called, by whom, and the way back to the client while it runs.

use std::{ops::Deref, sync::Arc};

use axum::http::Extensions;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use crate::{Answer, Fault, Principal, Question, client::ClientLink};

/// A call of a tool. It is also its [`Context`]: `call.principal`, `call.progress(…)`.
#[derive(Clone, Debug)]
pub struct Call {
    /// The tool's name.
    pub tool: String,
    /// What it is called with. Nothing has been checked against the tool's schema.
    pub arguments: Map<String, Value>,
    /// Who calls, and how to reach it.
    pub context: Context,
}

impl Call {
    /// A call that no client made: from a command line, or in a test.
    pub fn new(tool: impl Into<String>, arguments: Map<String, Value>, context: Context) -> Self {
        Self { tool: tool.into(), arguments, context }
    }
}

impl Deref for Call {
    type Target = Context;

    fn deref(&self) -> &Context {
        &self.context
    }
}

/// Who asks, and how to reach it while it waits.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Context {
    /// Who asks.
    pub principal: Principal,
    /// What the host's middleware put into the HTTP request; empty on stdio.
    pub extensions: Arc<Extensions>,
    /// The program that asks, when it said so.
    pub client: Option<Client>,
    /// The revision of the protocol, such as `2025-11-25`.
    pub protocol: String,
    /// The toolset that is used, from `/mcp/<toolset>`.
    pub toolset: Option<String>,
    pub(crate) cancelled: CancellationToken,
    pub(crate) link: Option<Arc<ClientLink>>,
}

/// A program that asks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Client {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// How grave a message for the client's log is (RFC 5424).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Of interest while looking for a fault.
    Debug,
    /// Of interest.
    Info,
    /// Normal, but worth a look.
    Notice,
    /// Something may go wrong.
    Warning,
    /// Something went wrong.
    Error,
    /// A part does not work.
    Critical,
    /// Somebody must act at once.
    Alert,
    /// Nothing works.
    Emergency,
}

impl Context {
    /// A context without a client, for calls from a command line and in tests: progress and log go
    /// nowhere, and questions have no answer.
    pub fn detached(principal: Principal) -> Self {
        Self {
            principal,
            extensions: Arc::default(),
            client: None,
            protocol: String::new(),
            toolset: None,
            cancelled: CancellationToken::new(),
            link: None,
        }
    }

    /// Whether the client wants to hear of progress.
    pub fn wants_progress(&self) -> bool {
        self.link.as_ref().is_some_and(|link| link.wants_progress())
    }

    /// Tells the client how far the call is; nothing when it does not want to hear of it. Waits while
    /// the client reads too slowly, which is the back-pressure for streams of progress. `done` must
    /// grow from one to the next.
    pub async fn progress(&self, done: f64, total: Option<f64>, message: Option<String>) {
        if let Some(link) = &self.link {
            link.progress(done, total, message).await;
        }
    }

    /// Ends when nobody waits for the answer any more: cancelled, gone, or out of time.
    pub async fn cancelled(&self) {
        self.cancelled.cancelled().await;
    }

    /// The token behind [`Context::cancelled`], for work that runs elsewhere.
    pub fn cancellation(&self) -> &CancellationToken {
        &self.cancelled
    }

    /// Sends a message to the client's log, when it asked for messages as grave as this.
    pub async fn log(&self, level: Level, logger: &str, value: Value) {
        if let Some(link) = &self.link {
            link.log(level, logger, value).await;
        }
    }

    /// Asks the client something, under a name that is the question's own within this tool. See
    /// [`Question`] for what a tool must know when it asks. Hand the fault on with `?`: it may be
    /// the way in which the question reaches the client.
    pub async fn ask(&self, name: &str, question: Question) -> Result<Answer, Fault> {
        let mut answers = self.ask_all([(name, question)]).await?;
        answers.pop().ok_or_else(|| Fault::internal("the client gave no answer"))
    }

    /// Whether the client has said that it can answer such a question.
    pub fn can_ask(&self, question: &Question) -> bool {
        self.link.as_ref().is_some_and(|link| link.can_answer(question))
    }

    /// Ends the connection on which the client waits, where it can come back for the answer: over
    /// Streamable HTTP with a session. For calls that take so long that connections break anyway.
    pub fn close_stream(&self) {
        if let Some(link) = &self.link {
            link.close_stream();
        }
    }

    /// Lets the call go on as a task, where its tool may be one and the client knows tasks: the client
    /// is answered at once, and comes back for the result. Questions that are asked after this are
    /// the task's. Says whether it is one now; when not, the client goes on waiting.
    pub fn become_task(&self) -> bool {
        self.link.as_ref().is_some_and(|link| link.become_task())
    }

    /// Asks the client several things at once. The answers are in the order of the questions.
    pub async fn ask_all(
        &self,
        questions: impl IntoIterator<Item = (impl Into<String>, Question)>,
    ) -> Result<Vec<Answer>, Fault> {
        let questions = questions.into_iter().map(|(name, one)| (name.into(), one)).collect();
        match &self.link {
            Some(link) => link.ask(questions).await,
            None => Err(Fault::invalid_params("there is no client that could be asked")),
        }
    }
}
