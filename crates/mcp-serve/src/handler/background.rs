//! Calls that may become tasks: they run beside the request, which ends when they do or when they
//! have become one.

use std::sync::Arc;

use rmcp::{
    RoleServer,
    model::{
        CallToolResult, CancelTaskParams, CreateTaskResult, ErrorData, GetTaskParams,
        GetTaskResult, TaskPayload, UpdateTaskParams,
    },
    service::RequestContext,
};
use serde_json::json;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::{
    Asker, Handler,
    run::{End, Waits, cancelled},
};
use crate::{
    Call, CallTool, Fault, Outcome, TaskSupport,
    tasks::{Escalation, Task, Turn, completed, failed},
    wire,
};

/// What a call gave before, or instead of, becoming a task.
pub(super) enum Given {
    End(Result<End<Outcome>, Fault>),
    Task(Box<CreateTaskResult>),
}

impl Handler {
    /// Whether a call of this tool may become a task; a fault when it must and the client does not
    /// know of tasks.
    pub(super) fn escalation(
        &self,
        asker: &Asker,
        cx: &RequestContext<RoleServer>,
        support: TaskSupport,
    ) -> Result<Option<Arc<Escalation>>, Fault> {
        let is_known = || cx.client_capabilities().is_some_and(|can| can.supports_tasks());
        let is_known = support != TaskSupport::Never && is_known();
        match (support, is_known && asker.is_modern()) {
            (TaskSupport::Never, _) | (TaskSupport::Optional, false) => Ok(None),
            (TaskSupport::Required, false) => {
                let message = "this tool needs a client that knows tasks";
                let required = json!({ "extensions": { "io.modelcontextprotocol/tasks": {} } });
                Err(Fault::incapable(message, required))
            }
            (TaskSupport::Optional | TaskSupport::Required, true) => {
                let (tasks, principal) = (self.core.tasks.clone(), asker.principal.clone());
                Ok(Some(Arc::new(Escalation::new(tasks, principal))))
            }
        }
    }

    /// Runs a call beside the request, until it ends or becomes a task.
    pub(super) async fn run_beside(
        &self,
        asker: &Asker,
        cx: &RequestContext<RoleServer>,
        code: Arc<dyn CallTool>,
        call: Call,
        escalation: Arc<Escalation>,
    ) -> Given {
        let (ends, mut ended) = oneshot::channel();
        let stop = CancellationToken::new();
        let work =
            self.clone().work(asker.clone(), code, call, escalation.clone(), stop.clone(), ends);
        tokio::spawn(work);
        // Who leaves before the call has become a task does not want it.
        let stops = stop.drop_guard();
        let long = tokio::time::sleep(self.core.limits.task_after);
        tokio::pin!(long);
        let mut may_escalate = true;
        loop {
            tokio::select! {
                biased;
                task = escalation.becomes_task() => {
                    stops.disarm();
                    let mut result = CreateTaskResult::new(task.seed());
                    self.sign(&mut result.meta, asker);
                    return Given::Task(Box::new(result));
                }
                end = &mut ended => return Given::End(end.unwrap_or_else(|_| Err(cancelled()))),
                () = &mut long, if may_escalate => may_escalate = escalation.escalate(),
                () = cx.ct.cancelled() => return Given::End(Ok(End::Cancelled)),
            }
        }
    }

    async fn work(
        self,
        asker: Asker,
        code: Arc<dyn CallTool>,
        call: Call,
        escalation: Arc<Escalation>,
        stop: CancellationToken,
        ends: oneshot::Sender<Result<End<Outcome>, Fault>>,
    ) {
        let waits =
            Waits { stop, escalation: Some(escalation.clone()), session: asker.session.clone() };
        let end = self.run_while(&asker, &waits, &call.context, code.call(&call)).await;
        match escalation.end() {
            Turn::Task(task) => self.finish(&task, end),
            _ => _ = ends.send(end),
        }
    }

    /// Keeps what came of a task for the client to fetch.
    fn finish(&self, task: &Task, end: Result<End<Outcome>, Fault>) {
        let payload = match self.counted(end) {
            Ok(Ok(outcome)) => completed(&self.bounded(outcome)),
            Ok(Err(_)) => TaskPayload::Cancelled,
            Err(fault) => failed(&wire::fault(fault)),
        };
        task.finish(payload);
    }

    /// The result as it is sent, or that it is too long for it.
    pub(super) fn bounded(&self, outcome: Outcome) -> CallToolResult {
        let result = wire::outcome(outcome);
        let (bytes, max) = (super::calls::length(&result), self.core.limits.result_bytes_max);
        if bytes <= max {
            return result;
        }
        self.core.counters.results_too_long.add(1);
        let message =
            format!("the result has {bytes} bytes, and at most {max} are sent: ask for less of it");
        wire::outcome(Outcome::error(message))
    }

    pub(super) fn task_get(
        &self,
        asker: &Asker,
        request: &GetTaskParams,
    ) -> Result<GetTaskResult, ErrorData> {
        let task = self.task(asker, &request.task_id)?;
        let mut result = GetTaskResult::new(task.detail());
        self.sign(&mut result.meta, asker);
        Ok(result)
    }

    pub(super) fn task_update(
        &self,
        asker: &Asker,
        request: UpdateTaskParams,
    ) -> Result<(), ErrorData> {
        self.task(asker, &request.task_id)?.answer(request.input_responses);
        Ok(())
    }

    pub(super) fn task_cancel(
        &self,
        asker: &Asker,
        request: &CancelTaskParams,
    ) -> Result<(), ErrorData> {
        self.task(asker, &request.task_id)?.cancel();
        Ok(())
    }

    fn task(&self, asker: &Asker, id: &str) -> Result<Arc<Task>, ErrorData> {
        let task = self.core.tasks.find(id, &asker.principal);
        task.ok_or_else(|| wire::fault(Fault::invalid_params(format!("no task \"{id}\""))))
    }
}
