//! How a call becomes a task while it runs.

use std::sync::{Arc, Mutex};

use tokio::sync::Notify;

use super::{Task, Tasks};
use crate::{Principal, lock::lock};

/// A call that may become a task.
#[derive(Debug)]
pub(crate) struct Escalation {
    tasks: Arc<Tasks>,
    principal: Principal,
    turn: Mutex<Turn>,
    turned: Notify,
}

/// What has become of a call.
#[derive(Clone, Debug)]
pub(crate) enum Turn {
    /// Its client waits for the result.
    Waits,
    /// It goes on as a task.
    Task(Arc<Task>),
    /// It has ended before it became a task.
    Ended,
}

impl Escalation {
    pub(crate) fn new(tasks: Arc<Tasks>, principal: Principal) -> Self {
        Self { tasks, principal, turn: Mutex::new(Turn::Waits), turned: Notify::new() }
    }

    /// Makes it a task, if its client still waits. Says whether it is one now.
    pub(crate) fn escalate(&self) -> bool {
        let mut turn = lock(&self.turn);
        if let Turn::Waits = *turn {
            let Some(task) = self.tasks.begin(&self.principal) else { return false };
            *turn = Turn::Task(task);
            self.turned.notify_one();
        }
        matches!(*turn, Turn::Task(_))
    }

    /// Notes that it has ended. Says what it was until then.
    pub(crate) fn end(&self) -> Turn {
        let mut turn = lock(&self.turn);
        match &*turn {
            Turn::Task(task) => Turn::Task(task.clone()),
            _ => std::mem::replace(&mut *turn, Turn::Ended),
        }
    }

    /// The task that it has become.
    pub(crate) fn task(&self) -> Option<Arc<Task>> {
        match &*lock(&self.turn) {
            Turn::Task(task) => Some(task.clone()),
            _ => None,
        }
    }

    /// Waits until it becomes a task.
    pub(crate) async fn becomes_task(&self) -> Arc<Task> {
        loop {
            let turned = self.turned.notified();
            if let Some(task) = self.task() {
                return task;
            }
            turned.await;
        }
    }
}
