//! How far each operator is with its part of a query: written while it runs, and read at any time.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::error::Error;
use super::shards::Operator;

/// What an operator does for a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It has its task, and has sent nothing yet.
    Waiting,
    /// It sends rows.
    Running,
    /// It has sent everything.
    Done,
    /// It failed, and the query with it.
    Failed,
    /// It is away, and the answer is without its rows.
    Missing,
}

/// One operator's part in a query.
#[derive(Clone, Debug)]
pub struct OperatorProgress {
    /// The operator.
    pub operator: Operator,
    /// What it does.
    pub state: State,
    /// How many rows came from it: results of its part, not rows that it read.
    pub rows: u64,
    /// How many bytes these are.
    pub bytes: u64,
    /// How many rows it read of its tables, as far as its tasks are done.
    pub rows_read: u64,
    /// Whether it has told how many these are.
    pub has_told_read: bool,
    /// How long it has worked, or worked in all.
    pub time: Duration,
    /// Why it failed or is missing.
    pub error: Option<Error>,
}

/// How far a query of the network is. Clones are the same.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    entries: Arc<Mutex<Vec<Entry>>>,
    /// The rows that the query goes on without, because their files are damaged.
    missing_rows: Arc<Mutex<Vec<String>>>,
}

#[derive(Debug)]
struct Entry {
    share: OperatorProgress,
    begun: Instant,
    ended: Option<Instant>,
    /// How many tasks it has not done yet.
    tasks: usize,
}

impl Progress {
    /// The operators that are asked, in the order in which they were.
    pub fn shares(&self) -> Vec<OperatorProgress> {
        let entries = self.lock();
        let share = |entry: &Entry| OperatorProgress {
            time: entry.ended.unwrap_or_else(Instant::now).duration_since(entry.begun),
            ..entry.share.clone()
        };
        entries.iter().map(share).collect()
    }

    /// The rows that the query goes on without, because their files are damaged.
    pub fn missing_rows(&self) -> Vec<String> {
        self.missing_rows.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The query goes on without rows: of this node, or of an operator.
    pub(crate) fn note_missing_rows(&self, operator: Option<&Operator>, rows: String) {
        let rows = operator.map_or(rows.clone(), |operator| format!("{operator}: {rows}"));
        let mut missing = self.missing_rows.lock().unwrap_or_else(PoisonError::into_inner);
        // Several steps of a query may read the same table.
        if !missing.contains(&rows) {
            missing.push(rows);
        }
    }

    /// The query is planned again from the start, before any of its rows were used.
    pub(crate) fn begin_again(&self) {
        self.lock().clear();
        self.missing_rows.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// The query has ended. Who still sends rows was stopped, since no more are wanted.
    pub(crate) fn query_ended(&self, is_complete: bool) {
        for entry in self.lock().iter_mut().filter(|entry| entry.ended.is_none()) {
            entry.ended = Some(Instant::now());
            if is_complete && entry.share.state == State::Running {
                entry.share.state = State::Done;
            }
        }
    }

    /// That all of the operators are missing, when they are.
    pub(super) fn missing_all(&self) -> Option<Error> {
        let shares = self.shares();
        let all = shares.iter().all(|share| share.state == State::Missing);
        let first = shares.into_iter().next().filter(|_| all)?.error?;
        Some(Error::NoneLeft { first: Box::new(first) })
    }

    /// An operator gets a task more.
    pub(super) fn begin(&self, operator: &Operator) {
        self.with(operator, |entry| {
            entry.tasks += 1;
            entry.ended = None;
        });
    }

    /// Rows of an operator are about to be used. Not when it is missing: the answer is without any
    /// of its rows, or with all.
    pub(super) fn use_rows(&self, operator: &Operator, rows: usize, bytes: usize) -> bool {
        self.with(operator, |entry| {
            if entry.share.state == State::Missing {
                return false;
            }
            entry.share.state = State::Running;
            entry.share.rows += rows as u64;
            entry.share.bytes += bytes as u64;
            true
        })
    }

    /// An operator has read so many rows for a task.
    pub(super) fn note_read(&self, operator: &Operator, rows: u64) {
        self.with(operator, |entry| {
            entry.share.rows_read += rows;
            entry.share.has_told_read = true;
        });
    }

    /// An operator has done a task.
    pub(super) fn end(&self, operator: &Operator) {
        self.with(operator, |entry| {
            entry.tasks = entry.tasks.saturating_sub(1);
            if entry.tasks == 0 && !matches!(entry.share.state, State::Failed | State::Missing) {
                entry.share.state = State::Done;
                entry.ended = Some(Instant::now());
            }
        });
    }

    /// The answer shall be without an operator's rows. Not when some of them were used.
    pub(super) fn leave_out(&self, operator: &Operator, error: &Error) -> bool {
        self.with(operator, |entry| {
            if entry.share.rows > 0 || entry.share.state == State::Done {
                return false;
            }
            entry.fail(State::Missing, error);
            true
        })
    }

    /// Whether the answer is without an operator's rows.
    pub(super) fn is_left_out(&self, operator: &Operator) -> bool {
        self.with(operator, |entry| entry.share.state == State::Missing)
    }

    /// An operator failed.
    pub(super) fn fail(&self, operator: &Operator, error: &Error) {
        self.with(operator, |entry| entry.fail(State::Failed, error));
    }

    fn with<T>(&self, operator: &Operator, change: impl FnOnce(&mut Entry) -> T) -> T {
        let mut entries = self.lock();
        let known = entries.iter().position(|entry| entry.share.operator.id == operator.id);
        if let Some(entry) = known.and_then(|at| entries.get_mut(at)) {
            return change(entry);
        }
        let share = OperatorProgress {
            operator: operator.clone(),
            state: State::Waiting,
            rows: 0,
            bytes: 0,
            rows_read: 0,
            has_told_read: false,
            time: Duration::ZERO,
            error: None,
        };
        let mut entry = Entry { share, begun: Instant::now(), ended: None, tasks: 0 };
        let result = change(&mut entry);
        entries.push(entry);
        result
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Entry {
    fn fail(&mut self, state: State, error: &Error) {
        self.share.state = state;
        self.share.error = Some(error.clone());
        self.ended = Some(Instant::now());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operator() -> Operator {
        let (id, name) = ("1".into(), "a".into());
        Operator { id, name, address: "127.0.0.1:1".into(), ..Operator::default() }
    }

    fn lost() -> Error {
        Error::Lost { operator: operator(), reason: "gone".into() }
    }

    #[test]
    fn an_operator_is_left_out_only_with_all_of_its_rows() {
        let (progress, operator) = (Progress::default(), operator());
        progress.begin(&operator);
        assert!(progress.use_rows(&operator, 3, 24));
        assert!(!progress.leave_out(&operator, &lost()));

        let progress = Progress::default();
        progress.begin(&operator);
        assert!(progress.leave_out(&operator, &lost()));
        assert!(!progress.use_rows(&operator, 3, 24));
        progress.end(&operator);
        assert_eq!(progress.shares()[0].state, State::Missing);
    }

    #[test]
    fn it_is_known_when_nobody_is_left() {
        let (progress, first) = (Progress::default(), operator());
        assert!(progress.missing_all().is_none());
        let second = Operator { id: "2".into(), ..first.clone() };
        progress.leave_out(&first, &lost());
        progress.begin(&second);
        assert!(progress.missing_all().is_none());
        progress.leave_out(&second, &lost());
        let error = progress.missing_all().unwrap();
        assert!(error.to_string().starts_with("none of the operators "), "{error}");
        assert!(!error.hint().unwrap().contains("subset"), "there is nothing that it could give");
    }

    #[test]
    fn an_operator_is_done_when_all_of_its_tasks_are() {
        let (progress, operator) = (Progress::default(), operator());
        progress.begin(&operator);
        progress.begin(&operator);
        progress.use_rows(&operator, 1, 8);
        progress.end(&operator);
        assert_eq!(progress.shares()[0].state, State::Running);
        progress.end(&operator);
        assert_eq!(progress.shares()[0].state, State::Done);
        assert_eq!(progress.shares()[0].rows, 1);
    }

    #[test]
    fn an_operator_of_a_query_that_has_enough_is_done() {
        let (progress, operator) = (Progress::default(), operator());
        progress.begin(&operator);
        progress.use_rows(&operator, 1, 8);
        progress.query_ended(true);
        let [first] = progress.shares().try_into().unwrap();
        assert_eq!(first.state, State::Done);
        assert_eq!(progress.shares()[0].time, first.time, "its time has ended, too");

        let progress = Progress::default();
        progress.begin(&operator);
        progress.use_rows(&operator, 1, 8);
        progress.query_ended(false);
        assert_eq!(progress.shares()[0].state, State::Running);
    }
}
