//! Jobs: their rows are kept, read while they come and as often as wanted, within every limit; and
//! what ends a job early leaves nothing.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on should stop"
)]

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use edgemere_query::Engine;
use edgemere_query::sql::{self, Sql, Times};
use edgemere_service::jobs::{Error, Job, Jobs, Limits, Reader, State};
use edgemere_storage::decode::Input;
use edgemere_storage::storage::Options;

const ROWS: i64 = 20_000;

/// Gives no row for longer than anybody waits.
const SILENT: &str = "select count(a.n + b.n + c.n) from t a, t b, t c";

/// Gives rows at once, and more of them than anybody takes.
const MANY: &str = "select a.n, b.n as m, a.text from t a, t b, t c";

/// How long something has that takes a moment.
const PATIENCE: Duration = Duration::from_secs(60);

/// An engine whose table `d.t` has rows with the numbers from 0 in `n`, and the jobs of its node.
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

async fn engine(folder: &Path, limits: Limits) -> Scene {
    let options = Options { background: false, ..Options::default() };
    let (engine, _) = Engine::open_with(folder, options, sql::Limits::default()).unwrap();
    let row = |n| format!(r#"{{"n": {n}, "at": "2026-01-01 00:00:00", "text": "text {n}"}}"#);
    let rows: Vec<String> = (0..ROWS).map(row).collect();
    engine
        .put(
            "d",
            "t",
            Input::Lines,
            rows.join(
                "
",
            )
            .as_bytes(),
        )
        .await
        .unwrap();
    let jobs = Jobs::open(&folder.join("jobs"), limits).unwrap();
    Scene { engine, jobs }
}

/// Waits until nothing runs any more.
async fn wait_until_idle(engine: &Scene, sql: &str) {
    wait(sql, || (engine.sql().running() == 0).then_some(())).await;
    assert_eq!(engine.sql().memory_used_bytes(), 0);
}

async fn start(engine: &Scene, sql: &str) -> Result<Arc<Job>, Error> {
    let query = engine.sql().query("d", sql, None).await.unwrap();
    engine.jobs().start("ann", query).await
}

/// Waits until a job has ended, and gives how.
async fn ended(jobs: &Jobs, job: &Job) -> State {
    wait("the end of the job", || match jobs.status(job).state {
        State::Running => None,
        state => Some(state),
    })
    .await
}

async fn wait<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(start.elapsed() < PATIENCE, "waited too long for {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// How many files of rows there are.
fn files(folder: &Path) -> usize {
    std::fs::read_dir(folder.join("jobs")).unwrap().count()
}

async fn text(mut reader: Reader) -> Result<String, Error> {
    let mut text = String::new();
    while let Some(batch) = reader.next().await.transpose()? {
        text.push_str(&batch.json_objects(Times::Plain).unwrap());
    }
    Ok(text)
}

#[tokio::test]
async fn a_job_ends_with_nobody_reading_and_is_read_as_often_as_wanted() {
    let folder = tempfile::tempdir().unwrap();
    let engine = engine(folder.path(), Limits::default()).await;
    let sql = "select n, at, text from t order by n desc";
    let job = start(&engine, sql).await.unwrap();
    let State::Completed = ended(engine.jobs(), &job).await else { panic!("it failed") };
    wait_until_idle(&engine, sql).await;
    let status = engine.jobs().status(&job);
    assert_eq!((status.rows, status.query.rows), (ROWS as u64, ROWS as u64));
    assert!(status.kept_until.unwrap() > status.query.started);
    let length = std::fs::metadata(folder.path().join(format!("jobs/{}.arrows", job.id())));
    assert_eq!(length.unwrap().len(), status.bytes);
    assert_eq!(engine.jobs().bytes(), status.bytes);
    let mut query = engine.sql().query("d", sql, None).await.unwrap();
    let mut expected = String::new();
    while let Some(batch) = query.next().await {
        expected.push_str(&batch.unwrap().json_objects(Times::Plain).unwrap());
    }
    for _ in 0..2 {
        let reader = job.read().await.unwrap();
        assert_eq!(reader.no_rows().columns(), ["n", "at", "text"]);
        assert_eq!(text(reader).await.unwrap(), expected);
    }
    assert!(matches!(engine.jobs().get("bob", job.id()), Err(Error::Unknown { .. })));
    assert!(engine.jobs().all("bob").is_empty());
    assert!(!engine.jobs().remove(&job).await);
    assert!(matches!(engine.jobs().get("ann", job.id()), Err(Error::Unknown { .. })));
    assert_eq!((engine.jobs().bytes(), files(folder.path())), (0, 0));
}

#[tokio::test]
async fn a_result_without_rows_has_its_columns() {
    let folder = tempfile::tempdir().unwrap();
    let engine = engine(folder.path(), Limits::default()).await;
    let job = start(&engine, "select n, text from t where n < 0").await.unwrap();
    let mut reader = job.read().await.unwrap();
    reader.begin().await.unwrap();
    assert!(reader.next().await.is_none());
    assert!(reader.next().await.is_none());
    assert_eq!(reader.no_rows().columns(), ["n", "text"]);
}

#[tokio::test]
async fn readers_follow_a_job_that_runs_until_it_is_cancelled() {
    let folder = tempfile::tempdir().unwrap();
    let engine = engine(folder.path(), Limits::default()).await;
    let job = start(&engine, MANY).await.unwrap();
    let (mut first, mut second) = (job.read().await.unwrap(), job.read().await.unwrap());
    for _ in 0..20 {
        assert!(first.next().await.unwrap().unwrap().rows() > 0);
    }
    assert!(second.next().await.unwrap().unwrap().rows() > 0);
    let State::Running = engine.jobs().status(&job).state else { panic!("it does not run") };
    assert!(engine.jobs().remove(&job).await);
    for mut reader in [first, second] {
        let error = reader.next().await.unwrap().unwrap_err();
        assert!(matches!(error, Error::Cancelled), "{error}");
        assert!(reader.next().await.is_none());
    }
    wait_until_idle(&engine, MANY).await;
    // It is known that it was cancelled, and nothing else of it is left.
    let State::Cancelled = engine.jobs().status(&job).state else { panic!("not cancelled") };
    assert!(matches!(job.read().await, Err(Error::Cancelled)));
    wait("its file to go", || (files(folder.path()) == 0).then_some(())).await;
    assert_eq!(engine.jobs().bytes(), 0);
    assert_eq!(engine.jobs().all("ann").len(), 1);
}

#[tokio::test]
async fn a_job_that_gives_no_rows_is_cancelled_by_its_query_too() {
    let folder = tempfile::tempdir().unwrap();
    let engine = engine(folder.path(), Limits::default()).await;
    let job = start(&engine, SILENT).await.unwrap();
    let mut reader = job.read().await.unwrap();
    let number = engine.jobs().status(&job).query.id;
    assert_eq!(engine.sql().queries().cancel(number), Some(true));
    assert!(matches!(reader.begin().await, Err(Error::Cancelled)));
    wait_until_idle(&engine, SILENT).await;
    let State::Cancelled = ended(engine.jobs(), &job).await else { panic!("not cancelled") };
}

#[tokio::test]
async fn a_job_that_fails_tells_everybody_why_and_keeps_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let engine = engine(folder.path(), Limits::default()).await;
    let job = start(&engine, "select 10 / (n - 19990) as x from t").await.unwrap();
    let State::Failed(error) = ended(engine.jobs(), &job).await else { panic!("no failure") };
    assert!(matches!(&error, Error::Query(_)), "{error}");
    let again = job.read().await.unwrap_err();
    assert_eq!(again.to_string(), error.to_string());
    wait("its file to go", || (files(folder.path()) == 0).then_some(())).await;
    assert_eq!(engine.jobs().bytes(), 0);
}

#[tokio::test]
async fn one_job_has_so_much_room_and_no_more() {
    let folder = tempfile::tempdir().unwrap();
    let limits = Limits { job_bytes: 1 << 20, ..Limits::default() };
    let engine = engine(folder.path(), limits).await;
    let job = start(&engine, MANY).await.unwrap();
    let State::Failed(error) = ended(engine.jobs(), &job).await else { panic!("no failure") };
    assert!(matches!(error, Error::TooLarge { limit_bytes: 1_048_576 }), "{error}");
    assert!(error.hint().unwrap().contains("--job-disk"));
    wait_until_idle(&engine, MANY).await;
    assert!(engine.jobs().status(&job).bytes <= 1 << 20);
    assert_eq!(engine.jobs().bytes(), 0);
}

#[tokio::test]
async fn jobs_that_ended_first_make_room_and_those_that_run_do_not() {
    let folder = tempfile::tempdir().unwrap();
    let limits = Limits { total_bytes: 2 << 20, ..Limits::default() };
    let engine = engine(folder.path(), limits).await;
    let jobs = engine.jobs();
    // Somewhat more than half of the room.
    let large = "select n, n as a, n as b, n as c, n as d, n as e, n as f from t";
    let mut made = Vec::new();
    for _ in 0..3 {
        let job = start(&engine, large).await.unwrap();
        let State::Completed = ended(jobs, &job).await else { panic!("it failed") };
        assert!(jobs.status(&job).bytes > 1 << 20);
        made.push(job);
        let known: Vec<_> = jobs.all("ann").iter().map(|job| job.id().to_owned()).collect();
        assert_eq!(known, [made.last().unwrap().id()]);
    }
    assert!(matches!(made[0].read().await, Err(Error::Forgotten)));
    // One that has no end takes all of it, and then there is none.
    let endless = start(&engine, MANY).await.unwrap();
    let State::Failed(error) = ended(jobs, &endless).await else { panic!("no failure") };
    assert!(matches!(error, Error::NoRoom { .. }), "{error}");
    assert!(error.is_full() && error.hint().unwrap().contains("--job-disk-total"));
    assert_eq!(jobs.all("ann").len(), 1);
    let again = start(&engine, large).await.unwrap();
    let State::Completed = ended(jobs, &again).await else { panic!("it failed") };
}

#[tokio::test]
async fn so_many_jobs_are_remembered_and_run() {
    let folder = tempfile::tempdir().unwrap();
    let limits = Limits { jobs: 2, running: 1, ..Limits::default() };
    let engine = engine(folder.path(), limits).await;
    let jobs = engine.jobs();
    let mut ids = Vec::new();
    for _ in 0..3 {
        let job = start(&engine, "select 1 as a").await.unwrap();
        ended(jobs, &job).await;
        ids.push(job.id().to_owned());
    }
    let known: Vec<_> = jobs.all("ann").iter().map(|job| job.id().to_owned()).collect();
    assert_eq!(known, ids[1..]);
    let running = start(&engine, SILENT).await.unwrap();
    let refused = start(&engine, "select 1 as a").await.unwrap_err();
    assert!(matches!(refused, Error::TooMany { limit: 1 }), "{refused}");
    assert!(jobs.admit().is_err());
    assert!(jobs.remove(&running).await);
    jobs.admit().unwrap();
    wait_until_idle(&engine, SILENT).await;
}

#[tokio::test]
async fn the_time_of_a_job_is_over_with_nobody_looking() {
    let folder = tempfile::tempdir().unwrap();
    let engine = engine(folder.path(), Limits { keep: Duration::ZERO, ..Limits::default() }).await;
    start(&engine, "select n from t").await.unwrap();
    wait("the job to be forgotten", || engine.jobs().all("ann").is_empty().then_some(())).await;
    wait("its file to go", || (files(folder.path()) == 0).then_some(())).await;
    assert_eq!(engine.jobs().bytes(), 0);
}

#[tokio::test]
async fn who_reads_a_job_that_is_forgotten_gets_no_end() {
    let folder = tempfile::tempdir().unwrap();
    let engine = engine(folder.path(), Limits::default()).await;
    let job = start(&engine, "select n from t").await.unwrap();
    ended(engine.jobs(), &job).await;
    let mut reader = job.read().await.unwrap();
    assert!(reader.next().await.unwrap().is_ok());
    assert!(!engine.jobs().remove(&job).await);
    let error = reader.next().await.unwrap().unwrap_err();
    assert!(matches!(error, Error::Forgotten), "{error}");
}

#[tokio::test]
async fn what_a_crash_left_is_removed_and_a_closed_node_takes_no_more() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("jobs")).unwrap();
    std::fs::write(folder.path().join("jobs/left.arrows"), "half of a stream").unwrap();
    let engine = engine(folder.path(), Limits::default()).await;
    assert_eq!(files(folder.path()), 0);
    let job = start(&engine, SILENT).await.unwrap();
    let whole = start(&engine, "select n from t").await.unwrap();
    ended(engine.jobs(), &whole).await;
    engine.jobs().close().await;
    assert!(engine.jobs().all("ann").is_empty());
    assert_eq!(files(folder.path()), 0);
    let State::Cancelled = engine.jobs().status(&job).state else { panic!("not cancelled") };
    wait_until_idle(&engine, SILENT).await;
    let refused = start(&engine, "select 1 as a").await.unwrap_err();
    assert_eq!(refused.to_string(), "the query was stopped");
}
