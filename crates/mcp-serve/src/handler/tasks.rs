//! Calls that may become tasks. They run in a task of the runtime, beside their request, which ends when
//! the call ends or becomes a task. Also the methods `tasks/*`.

use std::sync::Arc;

use rmcp::{
    RoleServer,
    model::{
        CancelTaskParams, CreateTaskResult, ErrorData, GetTaskParams, GetTaskResult, TaskPayload,
        UpdateTaskParams,
    },
    service::RequestContext,
};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::{
    Caller, Handler,
    run::{CallEnd, RunEnd, Waiter, cancelled, needs_tasks},
};
use crate::{
    Call, CallTool, Fault, Outcome, TaskSupport,
    tasks::{Escalation, Phase, Task, completed, failed},
    wire,
};

impl Handler {
    /// Decides whether a call may become a task. A fault if the tool requires tasks and the client does
    /// not support them.
    pub(super) fn escalation(
        &self,
        caller: &Caller,
        cx: &RequestContext<RoleServer>,
        support: TaskSupport,
    ) -> Result<Option<Arc<Escalation>>, Fault> {
        let is_supported = || {
            let capabilities = cx.client_capabilities();
            caller.is_modern() && capabilities.is_some_and(|can| can.supports_tasks())
        };
        match support {
            TaskSupport::Never => Ok(None),
            TaskSupport::Optional | TaskSupport::Required if is_supported() => {
                let (tasks, principal) = (self.state.tasks.clone(), caller.principal.clone());
                Ok(Some(Arc::new(Escalation::new(tasks, principal))))
            }
            TaskSupport::Optional => Ok(None),
            TaskSupport::Required => Err(needs_tasks()),
        }
    }

    /// Runs a call until it ends or becomes a task.
    pub(super) async fn run_until_task(
        &self,
        caller: &Caller,
        cx: &RequestContext<RoleServer>,
        code: Arc<dyn CallTool>,
        call: Call,
        escalation: Arc<Escalation>,
    ) -> CallEnd {
        let (ends, mut ended) = oneshot::channel();
        let stop = CancellationToken::new();
        let running = self.clone().run_detached(
            caller.clone(),
            code,
            call,
            escalation.clone(),
            stop.clone(),
            ends,
        );
        tokio::spawn(running);
        // A client that disconnects before the call has become a task cancels it.
        let stops = stop.drop_guard();
        let long = tokio::time::sleep(self.state.limits.task_after);
        tokio::pin!(long);
        let mut may_escalate = true;
        loop {
            tokio::select! {
                biased;
                task = escalation.escalated() => {
                    stops.disarm();
                    let mut result = CreateTaskResult::new(task.initial());
                    self.sign(&mut result.meta, caller);
                    return CallEnd::Task(Box::new(result));
                }
                end = &mut ended => return CallEnd::Ended(end.unwrap_or_else(|_| Err(cancelled()))),
                () = &mut long, if may_escalate => may_escalate = escalation.escalate(),
                () = cx.ct.cancelled() => return CallEnd::Ended(Ok(RunEnd::Cancelled)),
            }
        }
    }

    async fn run_detached(
        self,
        caller: Caller,
        code: Arc<dyn CallTool>,
        call: Call,
        escalation: Arc<Escalation>,
        stop: CancellationToken,
        ends: oneshot::Sender<Result<RunEnd<Outcome>, Fault>>,
    ) {
        let waiter =
            Waiter { stop, escalation: Some(escalation.clone()), session: caller.session.clone() };
        let end = self.run_while(&caller, &waiter, &call.context, code.call(&call)).await;
        match escalation.end() {
            Phase::Task(task) => self.finish(&task, end),
            _ => _ = ends.send(end),
        }
    }

    /// Stores the result of a task.
    fn finish(&self, task: &Task, end: Result<RunEnd<Outcome>, Fault>) {
        let payload = match self.counted(end) {
            Ok(Ok(outcome)) => completed(&self.bounded(outcome)),
            Ok(Err(_)) => TaskPayload::Cancelled,
            Err(fault) => failed(&wire::fault(fault)),
        };
        task.finish(payload);
    }

    pub(super) fn task_get(
        &self,
        caller: &Caller,
        request: &GetTaskParams,
    ) -> Result<GetTaskResult, ErrorData> {
        let task = self.task(caller, &request.task_id)?;
        let mut result = GetTaskResult::new(task.detail());
        self.sign(&mut result.meta, caller);
        Ok(result)
    }

    pub(super) fn task_update(
        &self,
        caller: &Caller,
        request: UpdateTaskParams,
    ) -> Result<(), ErrorData> {
        self.task(caller, &request.task_id)?.respond(request.input_responses);
        Ok(())
    }

    pub(super) fn task_cancel(
        &self,
        caller: &Caller,
        request: &CancelTaskParams,
    ) -> Result<(), ErrorData> {
        self.task(caller, &request.task_id)?.cancel();
        Ok(())
    }

    fn task(&self, caller: &Caller, id: &str) -> Result<Arc<Task>, ErrorData> {
        let task = self.state.tasks.find(id, &caller.principal);
        task.ok_or_else(|| wire::fault(Fault::invalid_params(format!("no task \"{id}\""))))
    }
}
