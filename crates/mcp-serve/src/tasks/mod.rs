//! Tasks: calls that go on after their response, and whose result the client fetches later (the
//! extension `io.modelcontextprotocol/tasks`).
//!
//! A call starts like any other. It becomes a task when its tool says so, or when it takes long; from
//! then on its progress, its input requests and its result belong to the task.

mod escalation;
mod task;

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use parking_lot::Mutex;

pub(crate) use self::{
    escalation::{Escalation, Phase},
    task::{Task, completed, failed},
};
use crate::{Limits, Principal, session::random_id};

/// The interval at which expired tasks are removed.
const SWEEP_INTERVAL: Duration = Duration::from_secs(5);

/// The tasks of all principals.
pub(crate) struct Tasks {
    max: usize,
    per_principal_max: usize,
    ttl: Duration,
    all: Mutex<HashMap<String, Arc<Task>>>,
    is_sweeping: AtomicBool,
}

impl Tasks {
    pub(crate) fn new(limits: &Limits) -> Arc<Self> {
        Arc::new(Self {
            max: limits.tasks_max,
            per_principal_max: limits.tasks_per_principal_max,
            ttl: limits.task_ttl,
            all: Mutex::default(),
            is_sweeping: AtomicBool::new(false),
        })
    }

    /// Creates a task, if the limits allow one more.
    pub(crate) fn create(self: &Arc<Self>, principal: &Principal) -> Option<Arc<Task>> {
        let task = self.create_at(principal, Instant::now())?;
        self.start_sweeper();
        Some(task)
    }

    fn create_at(&self, principal: &Principal, now: Instant) -> Option<Arc<Task>> {
        let mut all = self.all.lock();
        all.retain(|_, task| !task.is_expired(now));
        let own = all.values().filter(|task| task.principal == *principal).count();
        if all.len() >= self.max || own >= self.per_principal_max {
            return None;
        }
        let task = Arc::new(Task::new(random_id()?, principal.clone(), self.ttl, now));
        all.insert(task.id.clone(), task.clone());
        Some(task)
    }

    /// The task with this id, if it belongs to this principal.
    pub(crate) fn find(&self, id: &str, principal: &Principal) -> Option<Arc<Task>> {
        self.find_at(id, principal, Instant::now())
    }

    fn find_at(&self, id: &str, principal: &Principal, now: Instant) -> Option<Arc<Task>> {
        let all = self.all.lock();
        all.get(id).filter(|task| task.principal == *principal && !task.is_expired(now)).cloned()
    }

    pub(crate) fn len(&self) -> usize {
        self.all.lock().len()
    }

    /// Removes expired tasks in the background, as long as there are tasks.
    fn start_sweeper(self: &Arc<Self>) {
        if self.is_sweeping.swap(true, Relaxed) {
            return;
        }
        let (tasks, interval) = (Arc::downgrade(self), SWEEP_INTERVAL.min(self.ttl));
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(interval).await;
                let Some(tasks) = tasks.upgrade() else { return };
                let mut all = tasks.all.lock();
                all.retain(|_, task| !task.is_expired(Instant::now()));
                if all.is_empty() {
                    tasks.is_sweeping.store(false, Relaxed);
                    return;
                }
            }
        });
    }
}

/// Omits the ids: they are secrets.
impl std::fmt::Debug for Tasks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tasks").field("len", &self.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use rmcp::model::TaskPayload;

    use super::*;

    const TTL: Duration = Duration::from_secs(600);

    fn tasks(max: usize, per_principal_max: usize) -> Arc<Tasks> {
        let limits = Limits {
            tasks_max: max,
            tasks_per_principal_max: per_principal_max,
            task_ttl: TTL,
            ..Limits::default()
        };
        Tasks::new(&limits)
    }

    #[test]
    fn a_task_is_found_by_its_principal_alone() {
        let (tasks, now) = (tasks(8, 8), Instant::now());
        let (alice, bob) = (Principal::new("alice"), Principal::new("bob"));
        let task = tasks.create_at(&alice, now).unwrap();
        assert!(tasks.find_at(&task.id, &alice, now).is_some());
        assert!(tasks.find_at(&task.id, &bob, now).is_none());
        assert!(tasks.find_at("other", &alice, now).is_none());
    }

    #[test]
    fn tasks_are_limited_in_all_and_per_principal() {
        let (tasks, now) = (tasks(3, 2), Instant::now());
        let (alice, bob) = (Principal::new("alice"), Principal::new("bob"));
        assert!(tasks.create_at(&alice, now).is_some());
        assert!(tasks.create_at(&alice, now).is_some());
        assert!(tasks.create_at(&alice, now).is_none(), "alice has two");
        assert!(tasks.create_at(&bob, now).is_some());
        assert!(tasks.create_at(&bob, now).is_none(), "there are three");
    }

    #[test]
    fn a_task_expires_when_it_has_ended_and_its_time_is_over_and_makes_room() {
        let (tasks, now) = (tasks(1, 1), Instant::now());
        let (alice, last) = (Principal::new("alice"), now + TTL);
        let late = last + Duration::from_millis(1);
        let task = tasks.create_at(&alice, now).unwrap();
        assert!(tasks.find_at(&task.id, &alice, late).is_some(), "it is still running");
        assert!(tasks.create_at(&alice, late).is_none());
        task.finish(TaskPayload::Cancelled);
        assert!(tasks.find_at(&task.id, &alice, last).is_some());
        assert!(tasks.find_at(&task.id, &alice, late).is_none());
        assert!(tasks.create_at(&alice, last).is_none());
        assert!(tasks.create_at(&alice, late).is_some());
        assert_eq!(tasks.len(), 1);
    }
}
