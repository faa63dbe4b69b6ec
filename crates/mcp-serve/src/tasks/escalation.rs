//! How a running call becomes a task.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;

use super::{Task, Tasks};
use crate::Principal;

/// A call that may become a task.
#[derive(Debug)]
pub(crate) struct Escalation {
    tasks: Arc<Tasks>,
    principal: Principal,
    phase: Mutex<Phase>,
    changed: Notify,
}

/// The phase of a call.
#[derive(Clone, Debug)]
pub(crate) enum Phase {
    /// Its client waits for the result.
    Waiting,
    /// It runs as a task.
    Task(Arc<Task>),
    /// It ended before it became a task.
    Ended,
}

impl Escalation {
    pub(crate) fn new(tasks: Arc<Tasks>, principal: Principal) -> Self {
        Self { tasks, principal, phase: Mutex::new(Phase::Waiting), changed: Notify::new() }
    }

    /// Makes the call a task if its client still waits. Returns whether it is a task now.
    pub(crate) fn escalate(&self) -> bool {
        let mut phase = self.phase.lock();
        if let Phase::Waiting = *phase {
            let Some(task) = self.tasks.create(&self.principal) else { return false };
            *phase = Phase::Task(task);
            self.changed.notify_one();
        }
        matches!(*phase, Phase::Task(_))
    }

    /// Marks the call as ended, and returns the phase it was in.
    pub(crate) fn end(&self) -> Phase {
        let mut phase = self.phase.lock();
        match &*phase {
            Phase::Task(task) => Phase::Task(task.clone()),
            _ => std::mem::replace(&mut *phase, Phase::Ended),
        }
    }

    /// The task that the call has become.
    pub(crate) fn task(&self) -> Option<Arc<Task>> {
        match &*self.phase.lock() {
            Phase::Task(task) => Some(task.clone()),
            _ => None,
        }
    }

    /// Waits until the call becomes a task.
    pub(crate) async fn escalated(&self) -> Arc<Task> {
        loop {
            let changed = self.changed.notified();
            if let Some(task) = self.task() {
                return task;
            }
            changed.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Limits;

    fn escalation(tasks_max: usize) -> Escalation {
        let tasks = Tasks::new(&Limits { tasks_max, ..Limits::default() });
        Escalation::new(tasks, Principal::default())
    }

    #[tokio::test]
    async fn a_call_becomes_one_task_and_stays_it() {
        let escalation = escalation(8);
        assert!(escalation.task().is_none());
        assert!(escalation.escalate() && escalation.escalate());
        let task = escalation.escalated().await;
        assert_eq!(escalation.task().unwrap().id, task.id);
        assert_eq!(escalation.tasks.len(), 1);
        assert!(matches!(escalation.end(), Phase::Task(ended) if ended.id == task.id));
    }

    #[tokio::test]
    async fn a_call_that_has_ended_becomes_no_task() {
        let escalation = escalation(8);
        assert!(matches!(escalation.end(), Phase::Waiting));
        assert!(!escalation.escalate());
        assert_eq!(escalation.tasks.len(), 0);
    }

    #[tokio::test]
    async fn a_call_goes_on_as_it_is_when_there_is_no_room_for_a_task() {
        let escalation = escalation(0);
        assert!(!escalation.escalate());
        assert!(matches!(escalation.end(), Phase::Waiting));
    }
}
