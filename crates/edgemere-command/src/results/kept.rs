//! What is kept of answers for a while: the rest of a result under a cursor, and questions under ids.
//! Both are random, end by themselves, and are only for who asked.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use edgemere_service::Error as ServiceError;
use edgemere_service::jobs::Jobs;
use tokio::sync::oneshot;
use tokio::time::timeout;
use uuid::Uuid;

use crate::dispatch::Request;
use crate::error::Error;
use crate::format::rows::Rows;
use crate::format::source::Idle;

/// How long the rest of a result is kept. It is a query that waits, with what it has open.
const REST_TIME: Duration = Duration::from_secs(300);

/// How long it may hold memory: then its rows go to disk.
const REST_MEMORY_TIME: Duration = Duration::from_secs(3);

/// How many rests are kept for one principal, and for all. The oldest goes first.
const RESTS_OF_ONE: usize = 32;
const RESTS: usize = 128;

/// How long a question is kept: a text and a few words.
const QUESTION_TIME: Duration = Duration::from_secs(3600);

/// How many questions are kept for one principal, and for all. The oldest goes first.
const QUESTIONS_OF_ONE: usize = 200;
const QUESTIONS: usize = 2000;

/// What is kept.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    rests: Mutex<Shelf<Rest>>,
    questions: Mutex<Shelf<Request>>,
    counts: Arc<Counts>,
}

/// The rest of a result: who wants it sends where to. Dropping it ends the query.
type Rest = oneshot::Sender<oneshot::Sender<Rows>>;

/// What became of rests that nobody wanted soon.
#[derive(Debug, Default)]
struct Counts {
    spilled: AtomicU64,
    dropped: AtomicU64,
}

/// How many rests of results there are, and what became of those that nobody wanted soon.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CursorFigures {
    /// How many are kept.
    pub kept: usize,
    /// How many went to disk since the node started,
    pub spilled: u64,
    /// and how many were dropped because there was no room for them.
    pub dropped: u64,
}

impl Kept {
    pub(super) fn keep_rest(&self, owner: &str, rows: Rows, jobs: &Jobs) -> String {
        self.keep_rest_for(owner, rows, jobs, REST_MEMORY_TIME)
    }

    fn keep_rest_for(&self, owner: &str, rows: Rows, jobs: &Jobs, memory_time: Duration) -> String {
        let (rest, wanted) = oneshot::channel();
        tokio::spawn(hold(rows, wanted, jobs.clone(), memory_time, Arc::clone(&self.counts)));
        lock(&self.rests).put(owner, rest, REST_TIME, (RESTS_OF_ONE, RESTS))
    }

    /// Takes the rest of a result: whoever reads on gets a cursor of its own.
    pub(crate) async fn take_rest(&self, owner: &str, cursor: &str) -> Result<Rows, Error> {
        let none = || Error::from(ServiceError::NoCursor { cursor: cursor.to_owned() });
        let rest = lock(&self.rests).take(owner, cursor).ok_or_else(none)?;
        let (to, rows) = oneshot::channel();
        rest.send(to).map_err(|_| none())?;
        rows.await.map_err(|_| none())
    }

    pub(crate) fn cursors(&self) -> CursorFigures {
        let mut rests = lock(&self.rests);
        rests.throw_away_old();
        let count = |count: &AtomicU64| count.load(Ordering::Relaxed);
        CursorFigures {
            kept: rests.0.len(),
            spilled: count(&self.counts.spilled),
            dropped: count(&self.counts.dropped),
        }
    }

    pub(super) fn keep_question(&self, request: &Request) -> String {
        let limits = (QUESTIONS_OF_ONE, QUESTIONS);
        let owner = request.principal.name();
        lock(&self.questions).put(owner, request.clone(), QUESTION_TIME, limits)
    }

    pub(super) fn question(&self, owner: &str, id: &str) -> Result<Request, Error> {
        let mut questions = lock(&self.questions);
        let found = questions.find(owner, id).map(|at| questions.0.get(at));
        let question = found.flatten().map(|item| item.thing.clone());
        question.ok_or_else(|| Error::NoResult { id: id.to_owned() })
    }
}

/// Holds the rest of a result until a client resumes it or its time is over. It gives the memory back
/// that its query has, when that takes long.
async fn hold(
    mut rows: Rows,
    mut wanted: oneshot::Receiver<oneshot::Sender<Rows>>,
    jobs: Jobs,
    memory_time: Duration,
    counts: Arc<Counts>,
) {
    let to = match timeout(memory_time, &mut wanted).await {
        Ok(to) => to.ok(),
        Err(_) => {
            let (query, idle) = rows.query.without_memory(&jobs).await;
            rows.query = query;
            match idle {
                Idle::Waits => {}
                Idle::Spilled => _ = counts.spilled.fetch_add(1, Ordering::Relaxed),
                Idle::Dropped => _ = counts.dropped.fetch_add(1, Ordering::Relaxed),
            }
            timeout(REST_TIME, wanted).await.ok().and_then(Result::ok)
        }
    };
    if let Some(to) = to {
        // The client may have gone away, and the rest with it.
        let _ = to.send(rows);
    }
}

fn lock<T>(shelf: &Mutex<Shelf<T>>) -> MutexGuard<'_, Shelf<T>> {
    shelf.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Things that are kept, the oldest first.
#[derive(Debug)]
struct Shelf<T>(VecDeque<Item<T>>);

#[derive(Debug)]
struct Item<T> {
    id: String,
    owner: String,
    until: Instant,
    thing: T,
}

impl<T> Default for Shelf<T> {
    fn default() -> Self {
        Self(VecDeque::new())
    }
}

impl<T> Shelf<T> {
    /// Keeps a thing in the place of the oldest when there are too many, of its owner or in all.
    fn put(&mut self, owner: &str, thing: T, time: Duration, (own, all): (usize, usize)) -> String {
        self.throw_away_old();
        if self.0.iter().filter(|item| item.owner == owner).count() >= own {
            let oldest = self.0.iter().position(|item| item.owner == owner);
            oldest.and_then(|at| self.0.remove(at));
        }
        if self.0.len() >= all {
            self.0.pop_front();
        }
        let id = Uuid::new_v4().simple().to_string();
        let until = Instant::now() + time;
        self.0.push_back(Item { id: id.clone(), owner: owner.to_owned(), until, thing });
        id
    }

    fn take(&mut self, owner: &str, id: &str) -> Option<T> {
        let at = self.find(owner, id)?;
        self.0.remove(at).map(|item| item.thing)
    }

    fn find(&mut self, owner: &str, id: &str) -> Option<usize> {
        self.throw_away_old();
        self.0.iter().position(|item| item.id == id && item.owner == owner)
    }

    fn throw_away_old(&mut self) {
        let now = Instant::now();
        self.0.retain(|item| item.until > now);
    }
}

#[cfg(test)]
mod tests {
    use edgemere_query::Engine;
    use edgemere_query::sql::{Limits, Rows as _, Sql};
    use edgemere_service::jobs;
    use edgemere_storage::decode::Input;
    use edgemere_storage::storage;

    use super::*;
    use crate::format::source::Source;

    const LONG: Duration = Duration::from_secs(60);

    /// An engine, and the jobs of its node.
    struct Scene {
        engine: Engine,
        jobs: Jobs,
    }

    impl Scene {
        fn sql(&self) -> &Sql {
            self.engine.sql()
        }

        fn jobs(&self) -> &Jobs {
            &self.jobs
        }
    }

    async fn engine(folder: &std::path::Path, job_bytes: u64) -> Scene {
        let limits = jobs::Limits { job_bytes, ..jobs::Limits::default() };
        let options = storage::Options { background: false, ..storage::Options::default() };
        let (engine, _) = Engine::open_with(folder, options, Limits::default()).unwrap();
        let rows: Vec<_> = (0..30_000).map(|n| format!("{{\"n\": {n}}}")).collect();
        let rows = format!("[{}]", rows.join(","));
        engine.put("d", "t", Input::Json, rows.as_bytes()).await.unwrap();
        let jobs = Jobs::open(&folder.join("jobs"), limits).unwrap();
        Scene { engine, jobs }
    }

    /// The rest of a sorted result of which some rows were taken: how many, and its cursor.
    async fn kept(kept: &Kept, engine: &Scene, sql: &str) -> (usize, String) {
        let query = engine.sql().query("d", sql, None).await.unwrap();
        let mut rows = Rows::new(query.into(), 10);
        let first = rows.query.next().await.unwrap().unwrap();
        let taken = first.clone().take_front(10);
        let mut left = first;
        left.take_front(10);
        rows.query.put_back(left);
        let cursor = kept.keep_rest_for("ann", rows, engine.jobs(), Duration::ZERO);
        (taken.rows(), cursor)
    }

    async fn wait(what: &str, is_so: impl Fn() -> bool) {
        let begun = Instant::now();
        while !is_so() {
            assert!(begun.elapsed() < Duration::from_secs(120), "{what}");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn rows_that_nobody_reads_take_no_memory_and_are_there_when_somebody_does() {
        let folder = tempfile::tempdir().unwrap();
        let engine = engine(folder.path(), 1 << 30).await;
        let rests = Kept::default();
        let mut cursors = Vec::new();
        for _ in 0..3 {
            cursors.push(kept(&rests, &engine, "select n from t order by n desc").await);
        }
        wait("they hold memory", || engine.sql().memory_used_bytes() == 0).await;
        wait("they run", || engine.sql().running() == 0).await;
        assert_eq!(rests.cursors(), CursorFigures { kept: 3, spilled: 3, dropped: 0 });
        assert!(engine.jobs().bytes() > 0 && engine.jobs().all("ann").is_empty());
        for (mut count, cursor) in cursors {
            let mut rows = rests.take_rest("ann", &cursor).await.unwrap();
            while let Some(batch) = rows.query.next().await {
                count += batch.unwrap().rows();
            }
            assert_eq!(count, 30_000);
            assert!(rests.take_rest("ann", &cursor).await.is_err());
        }
        wait("their files are left", || engine.jobs().bytes() == 0).await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn rows_without_room_on_disk_are_dropped_with_the_reason() {
        let folder = tempfile::tempdir().unwrap();
        let engine = engine(folder.path(), 10_000).await;
        let rests = Kept::default();
        let (_, cursor) = kept(&rests, &engine, "select n from t order by n").await;
        wait("they hold memory", || engine.sql().memory_used_bytes() == 0).await;
        let mut rows = rests.take_rest("ann", &cursor).await.unwrap();
        let error = loop {
            match rows.query.next().await.unwrap() {
                Ok(batch) => assert!(batch.rows() > 0),
                Err(error) => break error,
            }
        };
        assert!(matches!(error, Error::Service(ServiceError::CursorDropped { .. })), "{error:?}");
        assert!(format!("{:?}", error.hint()).contains("job"), "{error}");
    }

    /// What passes rows on holds none: it waits, and writes nothing to disk.
    #[tokio::test(flavor = "multi_thread")]
    async fn rows_that_are_only_read_wait_where_they_are() {
        let folder = tempfile::tempdir().unwrap();
        let engine = engine(folder.path(), 1 << 30).await;
        let query =
            engine.sql().query("d", "select n + 1 from t where n >= 0", None).await.unwrap();
        let (mut rows, idle) = Source::from(query).without_memory(engine.jobs()).await;
        assert_eq!((idle, engine.jobs().bytes()), (Idle::Waits, 0));
        let mut count = 0;
        while let Some(batch) = rows.next().await {
            count += batch.unwrap().rows();
        }
        assert_eq!(count, 30_000);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_rest_that_is_thrown_away_ends_its_query() {
        let folder = tempfile::tempdir().unwrap();
        let engine = engine(folder.path(), 1 << 30).await;
        let rests = Kept::default();
        kept(&rests, &engine, "select a.n from t a, t b").await;
        kept(&rests, &engine, "select n from t order by n").await;
        drop(rests);
        wait("they run", || engine.sql().running() == 0 && engine.jobs().bytes() == 0).await;
    }

    #[test]
    fn a_thing_is_for_its_owner_alone_and_once() {
        let mut shelf = Shelf::default();
        let id = shelf.put("ann", 1, LONG, (2, 3));
        assert_eq!(shelf.take("bob", &id), None);
        assert_eq!(shelf.take("ann", &id), Some(1));
        assert_eq!(shelf.take("ann", &id), None);
    }

    #[test]
    fn the_oldest_of_an_owner_goes_before_those_of_others() {
        let mut shelf = Shelf::default();
        let bob = shelf.put("bob", 0, LONG, (2, 4));
        let ids: Vec<_> = (1..=3).map(|n| shelf.put("ann", n, LONG, (2, 4))).collect();
        let found: Vec<_> = ids.iter().map(|id| shelf.take("ann", id)).collect();
        assert_eq!(found, [None, Some(2), Some(3)]);
        assert_eq!(shelf.take("bob", &bob), Some(0));
    }

    #[test]
    fn there_are_never_more_than_there_may_be() {
        let mut shelf = Shelf::default();
        for n in 0..100 {
            shelf.put(&format!("owner {n}"), n, LONG, (2, 3));
        }
        assert_eq!(shelf.0.iter().map(|item| item.thing).collect::<Vec<_>>(), [97, 98, 99]);
    }

    #[test]
    fn what_is_old_is_gone() {
        let mut shelf = Shelf::default();
        let id = shelf.put("ann", 1, Duration::ZERO, (2, 3));
        assert_eq!(shelf.take("ann", &id), None);
    }
}
