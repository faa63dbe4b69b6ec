//! The threads that queries run on, apart from those that answer: however much queries have to do,
//! the node has a thread for everything else.
//!
//! A query gives its thread back after each batch. One that does not, because a single evaluation
//! takes very long, would keep it for ever; when all threads are kept so, no query runs any more. So
//! they are probed, and when they do not answer, others take their place. Those that are stuck go
//! when their work does.

use std::future::Future;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak, mpsc};
use std::thread::{self, available_parallelism};
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinSet;
use tracing::Instrument;

use crate::sql::STACK_BYTES;

/// How often the threads are probed.
const PROBE_PAUSE: Duration = Duration::from_millis(500);

/// How long they may take to answer.
const PROBE_TIME: Duration = Duration::from_secs(3);

/// How many times others take the place of threads that are still stuck.
const REPLACED_MAX: usize = 8;

/// The threads of all queries.
#[derive(Debug)]
pub(crate) struct Workers {
    pools: Mutex<Pools>,
    /// Whether they answered the last probe.
    answer: AtomicBool,
    threads: usize,
}

#[derive(Debug)]
struct Pools {
    /// None only while it is dropped.
    current: Option<Runtime>,
    /// Those whose threads did not answer, and have not ended yet.
    stuck: Vec<Runtime>,
}

impl Workers {
    /// A thread for each of the machine's.
    pub(crate) fn start() -> io::Result<Arc<Self>> {
        let threads = available_parallelism().map_or(1, std::num::NonZero::get);
        let pools = Pools { current: Some(pool(threads)?), stuck: Vec::new() };
        let workers =
            Arc::new(Self { pools: Mutex::new(pools), answer: AtomicBool::new(true), threads });
        let watched = Arc::downgrade(&workers);
        thread::Builder::new().name("edgemere-probe".into()).spawn(move || watch(&watched))?;
        Ok(workers)
    }

    /// Runs something here. Who drops what is returned stops it.
    pub(crate) fn run<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> JoinSet<T> {
        let mut running = JoinSet::new();
        if let Some(runtime) = &self.pools().current {
            running.spawn_on(work.in_current_span(), runtime.handle());
        }
        running
    }

    /// Whether queries run: whether the threads have answered lately.
    pub(crate) fn answer(&self) -> bool {
        self.answer.load(Ordering::Relaxed)
    }

    /// How many threads were given up because they did not answer, and have not ended.
    pub(crate) fn stuck_threads(&self) -> usize {
        self.pools().stuck.len() * self.threads
    }

    fn pools(&self) -> MutexGuard<'_, Pools> {
        self.pools.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has the threads answer.
    fn probe(&self) -> mpsc::Receiver<()> {
        let (answer, answered) = mpsc::channel();
        if let Some(runtime) = &self.pools().current {
            runtime.spawn(async move { answer.send(()) });
        }
        answered
    }

    /// Takes note of an answer, or of none.
    fn note(&self, answered: bool) {
        self.answer.store(answered, Ordering::Relaxed);
        let mut pools = self.pools();
        let stuck = std::mem::take(&mut pools.stuck);
        let (stuck, ended): (Vec<_>, Vec<_>) =
            stuck.into_iter().partition(|pool| pool.metrics().num_alive_tasks() > 0);
        pools.stuck = stuck;
        ended.into_iter().for_each(Runtime::shutdown_background);
        if answered || pools.stuck.len() >= REPLACED_MAX {
            return;
        }
        match pool(self.threads) {
            Ok(other) => {
                tracing::warn!("the threads of queries do not answer; others take their place");
                let stuck = pools.current.replace(other);
                pools.stuck.extend(stuck);
            }
            Err(error) => tracing::warn!(%error, "the threads of queries do not answer"),
        }
    }
}

/// Threads of queries.
fn pool(threads: usize) -> io::Result<Runtime> {
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(threads).thread_name("edgemere-sql").enable_all();
    builder.thread_stack_size(STACK_BYTES).build()
}

/// Probes the threads for as long as they are there.
fn watch(workers: &Weak<Workers>) {
    loop {
        thread::sleep(PROBE_PAUSE);
        let Some(answer) = workers.upgrade().map(|workers| workers.probe()) else { return };
        let answered = answer.recv_timeout(PROBE_TIME).is_ok();
        let Some(workers) = workers.upgrade() else { return };
        workers.note(answered);
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        // The usual way waits for the threads, which is not allowed where this may be dropped.
        let mut pools = self.pools();
        let (current, stuck) = (pools.current.take(), std::mem::take(&mut pools.stuck));
        current.into_iter().chain(stuck).for_each(Runtime::shutdown_background);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    /// Work that holds its thread until the test releases it.
    fn block(workers: &Workers, go_on: &Arc<AtomicBool>) -> JoinSet<()> {
        let go_on = Arc::clone(go_on);
        workers.run(async move {
            while !go_on.load(Ordering::Relaxed) {
                thread::sleep(Duration::from_millis(5));
            }
        })
    }

    fn wait(what: &str, is_so: impl Fn() -> bool) {
        let begun = Instant::now();
        while !is_so() {
            assert!(begun.elapsed() < Duration::from_secs(120), "{what}");
            thread::sleep(Duration::from_millis(20));
        }
    }

    #[test]
    fn threads_that_do_not_answer_are_replaced_and_go_when_their_work_does() {
        let workers = Workers::start().unwrap();
        let go_on = Arc::new(AtomicBool::new(false));
        let stuck: Vec<_> = (0..workers.threads).map(|_| block(&workers, &go_on)).collect();
        wait("nothing was replaced", || workers.stuck_threads() > 0);
        let ran = Arc::new(AtomicBool::new(false));
        let run = Arc::clone(&ran);
        let _other = workers.run(async move { run.store(true, Ordering::Relaxed) });
        wait("the others do not run", || ran.load(Ordering::Relaxed));
        wait("they do not answer", || workers.answer());
        go_on.store(true, Ordering::Relaxed);
        wait("they are still there", || workers.stuck_threads() == 0);
        drop(stuck);
    }
}
