//! One task: what it does now, what it asks, and what came of it.

use std::{
    collections::BTreeMap,
    sync::Mutex,
    time::{Duration, Instant},
};

use rmcp::model::{DetailedTask, InputRequests, JsonObject, TaskPayload, TaskStatus};
use rmcp::task_manager::current_timestamp;
use serde_json::Value;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::{Answer, Fault, Principal, Question, asking, lock::lock};

/// How often a client should ask.
const POLL_MS: u64 = 500;

/// One task.
#[derive(Debug)]
pub(crate) struct Task {
    pub(crate) id: String,
    pub(crate) principal: Principal,
    /// Cancelled when the client no longer wants the result.
    pub(crate) stop: CancellationToken,
    begun: Instant,
    ttl: Duration,
    state: Mutex<State>,
    answered: Notify,
}

#[derive(Debug)]
struct State {
    created: String,
    updated: String,
    message: Option<String>,
    /// What it asks, by name.
    open: BTreeMap<String, Question>,
    answers: BTreeMap<String, Value>,
    end: Option<TaskPayload>,
}

impl Task {
    pub(super) fn new(id: String, principal: Principal, ttl: Duration) -> Self {
        let created = current_timestamp();
        Self {
            id,
            principal,
            stop: CancellationToken::new(),
            begun: Instant::now(),
            ttl,
            state: Mutex::new(State {
                updated: created.clone(),
                created,
                message: None,
                open: BTreeMap::new(),
                answers: BTreeMap::new(),
                end: None,
            }),
            answered: Notify::new(),
        }
    }

    /// Whether its time is over and nothing runs any more.
    pub(super) fn is_over(&self) -> bool {
        self.begun.elapsed() > self.ttl && lock(&self.state).end.is_some()
    }

    /// Says how far it is.
    pub(crate) fn progress(&self, done: f64, total: Option<f64>, message: Option<String>) {
        let counted = match total {
            Some(total) => format!("{done} of {total}"),
            None => done.to_string(),
        };
        self.update(|state| state.message = Some(message.unwrap_or(counted)));
    }

    /// What came of it. Only the first end counts.
    pub(crate) fn finish(&self, end: TaskPayload) {
        self.update(|state| {
            state.open.clear();
            state.end.get_or_insert(end);
        });
    }

    /// Asks, and waits for all answers.
    pub(crate) async fn ask(
        &self,
        questions: Vec<(String, Question)>,
    ) -> Result<Vec<Answer>, Fault> {
        self.update(|state| {
            let unanswered = questions.iter().filter(|(name, _)| !state.answers.contains_key(name));
            state.open.extend(unanswered.cloned());
        });
        loop {
            let answered = self.answered.notified();
            if let Some(answers) = self.answers(&questions) {
                return Ok(answers);
            }
            answered.await;
        }
    }

    /// Takes answers. Those that nobody asked for, or that do not fit, are left out.
    pub(crate) fn answer(&self, answers: BTreeMap<String, Value>) {
        self.update(|state| {
            for (name, answer) in answers {
                let is_asked =
                    state.open.get(&name).is_some_and(|question| asking::fits(question, &answer));
                if is_asked {
                    state.open.remove(&name);
                    state.answers.insert(name, answer);
                }
            }
        });
        self.answered.notify_waiters();
    }

    /// The client no longer wants the result.
    pub(crate) fn cancel(&self) {
        self.stop.cancel();
    }

    /// What it is when it begins, however far it may be by now.
    pub(crate) fn seed(&self) -> rmcp::model::Task {
        let mut task = self.detail().task;
        task.status = TaskStatus::Working;
        task.status_message = None;
        task.last_updated_at.clone_from(&task.created_at);
        task
    }

    /// What it is now.
    pub(crate) fn detail(&self) -> DetailedTask {
        let state = lock(&self.state);
        let payload = match (&state.end, asked(&state.open)) {
            (Some(end), _) => end.clone(),
            (None, Some(input_requests)) => TaskPayload::InputRequired { input_requests },
            (None, None) => TaskPayload::Working,
        };
        let mut task = rmcp::model::Task::default();
        task.task_id.clone_from(&self.id);
        task.created_at.clone_from(&state.created);
        task.last_updated_at.clone_from(&state.updated);
        task.status_message.clone_from(&state.message);
        task.ttl_ms = Some(u64::try_from(self.ttl.as_millis()).unwrap_or(u64::MAX));
        task.poll_interval_ms = Some(POLL_MS);
        DetailedTask::new(task, payload)
    }

    fn answers(&self, questions: &[(String, Question)]) -> Option<Vec<Answer>> {
        let state = lock(&self.state);
        let answer = |name: &String| state.answers.get(name).cloned().map(Answer);
        questions.iter().map(|(name, _)| answer(name)).collect()
    }

    fn update(&self, change: impl FnOnce(&mut State)) {
        let mut state = lock(&self.state);
        change(&mut state);
        state.updated = current_timestamp();
    }
}

/// The open questions as they are sent.
fn asked(open: &BTreeMap<String, Question>) -> Option<InputRequests> {
    let requests = open.iter().map(|(name, question)| {
        asking::input_request(question).map(|request| (name.clone(), request))
    });
    let requests = requests.collect::<Option<InputRequests>>();
    requests.filter(|requests| !requests.is_empty())
}

/// The end of a task that has a result.
pub(crate) fn completed(result: &impl serde::Serialize) -> TaskPayload {
    match object(result) {
        Some(result) => TaskPayload::Completed { result },
        None => TaskPayload::Failed { error: JsonObject::new() },
    }
}

/// The end of a task that failed.
pub(crate) fn failed(error: &impl serde::Serialize) -> TaskPayload {
    TaskPayload::Failed { error: object(error).unwrap_or_default() }
}

fn object(value: &impl serde::Serialize) -> Option<JsonObject> {
    match serde_json::to_value(value) {
        Ok(Value::Object(object)) => Some(object),
        _ => None,
    }
}
