//! A task: its progress, its open input requests and its result.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use rmcp::{
    model::{DetailedTask, InputRequests as WireRequests, JsonObject, TaskPayload, TaskStatus},
    task_manager::current_timestamp,
};
use serde_json::Value;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::{
    Fault, InputRequest, InputResponse, Principal,
    elicitation::{self, InputRequests},
};

/// The interval at which clients should poll.
const POLL_MS: u64 = 500;

/// A task.
#[derive(Debug)]
pub(crate) struct Task {
    pub(crate) id: String,
    pub(crate) principal: Principal,
    /// Cancelled when the client cancels the task.
    cancelled: CancellationToken,
    created: Instant,
    ttl: Duration,
    state: Mutex<TaskState>,
    answered: Notify,
}

#[derive(Debug)]
struct TaskState {
    created_at: String,
    updated_at: String,
    message: Option<String>,
    /// The input requests without a response.
    open: InputRequests,
    responses: BTreeMap<String, Value>,
    result: Option<TaskPayload>,
}

impl Task {
    pub(super) fn new(id: String, principal: Principal, ttl: Duration, created: Instant) -> Self {
        let created_at = current_timestamp();
        Self {
            id,
            principal,
            cancelled: CancellationToken::new(),
            created,
            ttl,
            state: Mutex::new(TaskState {
                updated_at: created_at.clone(),
                created_at,
                message: None,
                open: InputRequests::new(),
                responses: BTreeMap::new(),
                result: None,
            }),
            answered: Notify::new(),
        }
    }

    /// Whether it has ended and its time to live is over.
    pub(super) fn is_expired(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.created) > self.ttl && self.state.lock().result.is_some()
    }

    /// Reports progress.
    pub(crate) fn progress(&self, done: f64, total: Option<f64>, message: Option<String>) {
        let counted = match total {
            Some(total) => format!("{done} of {total}"),
            None => done.to_string(),
        };
        self.update(|state| state.message = Some(message.unwrap_or(counted)));
    }

    /// Sets the result. Only the first one counts.
    pub(crate) fn finish(&self, result: TaskPayload) {
        self.update(|state| {
            state.open.clear();
            state.result.get_or_insert(result);
        });
    }

    /// Opens input requests and waits for all responses.
    pub(crate) async fn request_inputs(
        &self,
        requests: Vec<(String, InputRequest)>,
    ) -> Result<Vec<InputResponse>, Fault> {
        self.update(|state| {
            let open = requests.iter().filter(|(name, _)| !state.responses.contains_key(name));
            state.open.extend(open.cloned());
        });
        loop {
            let answered = self.answered.notified();
            if let Some(responses) = self.responses(&requests) {
                return Ok(responses);
            }
            answered.await;
        }
    }

    /// Takes responses. Unrequested and invalid ones are ignored.
    pub(crate) fn respond(&self, responses: BTreeMap<String, Value>) {
        self.update(|state| {
            for (name, response) in responses {
                let is_valid = |request| elicitation::is_valid_response(request, &response);
                if state.open.get(&name).is_some_and(is_valid) {
                    state.open.remove(&name);
                    state.responses.insert(name, response);
                }
            }
        });
        self.answered.notify_waiters();
    }

    /// Cancels the task.
    pub(crate) fn cancel(&self) {
        self.cancelled.cancel();
    }

    /// Waits until the task is cancelled.
    pub(crate) async fn cancelled(&self) {
        self.cancelled.cancelled().await;
    }

    /// The task as it was created, whatever its state is now.
    pub(crate) fn initial(&self) -> rmcp::model::Task {
        let mut task = self.detail().task;
        task.status = TaskStatus::Working;
        task.status_message = None;
        task.last_updated_at.clone_from(&task.created_at);
        task
    }

    /// The task in its current state.
    pub(crate) fn detail(&self) -> DetailedTask {
        let state = self.state.lock();
        let payload = match (&state.result, wire_requests(&state.open)) {
            (Some(result), _) => result.clone(),
            (None, Some(input_requests)) => TaskPayload::InputRequired { input_requests },
            (None, None) => TaskPayload::Working,
        };
        let mut task = rmcp::model::Task::default();
        task.task_id.clone_from(&self.id);
        task.created_at.clone_from(&state.created_at);
        task.last_updated_at.clone_from(&state.updated_at);
        task.status_message.clone_from(&state.message);
        task.ttl_ms = Some(u64::try_from(self.ttl.as_millis()).unwrap_or(u64::MAX));
        task.poll_interval_ms = Some(POLL_MS);
        DetailedTask::new(task, payload)
    }

    fn responses(&self, requests: &[(String, InputRequest)]) -> Option<Vec<InputResponse>> {
        let state = self.state.lock();
        let response = |name: &String| state.responses.get(name).cloned().map(InputResponse);
        requests.iter().map(|(name, _)| response(name)).collect()
    }

    fn update(&self, change: impl FnOnce(&mut TaskState)) {
        let mut state = self.state.lock();
        change(&mut state);
        state.updated_at = current_timestamp();
    }
}

/// The open requests in rmcp's type; none if there are none.
fn wire_requests(open: &InputRequests) -> Option<WireRequests> {
    let requests = open.iter().map(|(name, request)| {
        elicitation::wire_request(request).map(|request| (name.clone(), request))
    });
    let requests = requests.collect::<Option<WireRequests>>();
    requests.filter(|requests| !requests.is_empty())
}

/// The payload of a task that completed.
pub(crate) fn completed(result: &impl serde::Serialize) -> TaskPayload {
    match object(result) {
        Some(result) => TaskPayload::Completed { result },
        None => TaskPayload::Failed { error: JsonObject::new() },
    }
}

/// The payload of a task that failed.
pub(crate) fn failed(error: &impl serde::Serialize) -> TaskPayload {
    TaskPayload::Failed { error: object(error).unwrap_or_default() }
}

fn object(value: &impl serde::Serialize) -> Option<JsonObject> {
    match serde_json::to_value(value) {
        Ok(Value::Object(object)) => Some(object),
        _ => None,
    }
}
