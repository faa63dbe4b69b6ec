//! Stands in for `tasks` without the feature: no call becomes a task, so neither type has a value.

use std::sync::Arc;

/// A task.
#[derive(Debug)]
pub(crate) enum Task {}

/// A call that may become a task.
#[derive(Debug)]
pub(crate) enum Escalation {}

impl Task {
    pub(crate) fn progress(&self, _: f64, _: Option<f64>, _: Option<String>) {
        match *self {}
    }

    pub(crate) async fn cancelled(&self) {
        match *self {}
    }
}

impl Escalation {
    pub(crate) fn task(&self) -> Option<Arc<Task>> {
        match *self {}
    }

    pub(crate) async fn escalated(&self) -> Arc<Task> {
        match *self {}
    }
}
