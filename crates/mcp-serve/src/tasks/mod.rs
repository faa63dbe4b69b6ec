//! Tasks: calls that go on after they were answered, and whose result the client comes back for
//! (the extension `io.modelcontextprotocol/tasks`).
//!
//! A call begins as any other. It becomes a task when its tool says so, or when it takes long; from
//! then on its progress, its questions and its result are the task's.

mod escalation;
mod task;

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};

pub(crate) use self::{
    escalation::{Escalation, Turn},
    task::{Task, completed, failed},
};
use crate::{Limits, Principal, lock::lock, session::random_id};

/// How often tasks are looked at whose time is over.
const SWEEP: Duration = Duration::from_secs(5);

/// The tasks of all principals.
pub(crate) struct Tasks {
    max: usize,
    per_principal_max: usize,
    ttl: Duration,
    all: Mutex<HashMap<String, Arc<Task>>>,
    is_swept: AtomicBool,
}

impl Tasks {
    pub(crate) fn new(limits: &Limits) -> Arc<Self> {
        Arc::new(Self {
            max: limits.tasks_max,
            per_principal_max: limits.tasks_per_principal_max,
            ttl: limits.task_ttl,
            all: Mutex::default(),
            is_swept: AtomicBool::new(false),
        })
    }

    /// A new task, when there is room for one. Who finds it by its id finds it from now on.
    pub(crate) fn begin(self: &Arc<Self>, principal: &Principal) -> Option<Arc<Task>> {
        let mut all = lock(&self.all);
        all.retain(|_, task| !task.is_over());
        let own = all.values().filter(|task| task.principal == *principal).count();
        if all.len() >= self.max || own >= self.per_principal_max {
            return None;
        }
        let task = Arc::new(Task::new(random_id()?, principal.clone(), self.ttl));
        all.insert(task.id.clone(), task.clone());
        drop(all);
        self.begin_to_sweep();
        Some(task)
    }

    /// The task of this id, when it is this principal's.
    pub(crate) fn find(&self, id: &str, principal: &Principal) -> Option<Arc<Task>> {
        let all = lock(&self.all);
        all.get(id).filter(|task| task.principal == *principal && !task.is_over()).cloned()
    }

    pub(crate) fn len(&self) -> usize {
        lock(&self.all).len()
    }

    /// Forgets what is over, as long as there are tasks.
    fn begin_to_sweep(self: &Arc<Self>) {
        if self.is_swept.swap(true, Relaxed) {
            return;
        }
        let (tasks, pause) = (Arc::downgrade(self), SWEEP.min(self.ttl));
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(pause).await;
                let Some(tasks) = tasks.upgrade() else { return };
                let mut all = lock(&tasks.all);
                all.retain(|_, task| !task.is_over());
                if all.is_empty() {
                    tasks.is_swept.store(false, Relaxed);
                    return;
                }
            }
        });
    }
}

/// Without the ids: they are secrets.
impl std::fmt::Debug for Tasks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tasks").field("kept", &self.len()).finish_non_exhaustive()
    }
}
