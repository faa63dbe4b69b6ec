//! The threads that queries run on, apart from those that answer: however much queries have to do,
//! the node has a thread for everything else.

use std::future::Future;
use std::io;
use std::thread::available_parallelism;

use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinSet;
use tracing::Instrument;

use super::STACK_BYTES;

/// The threads of all queries.
#[derive(Debug)]
pub(crate) struct Workers {
    /// None only while it is dropped.
    runtime: Option<Runtime>,
}

impl Workers {
    /// A thread for each of the machine's.
    pub(super) fn start() -> io::Result<Self> {
        let threads = available_parallelism().map_or(1, std::num::NonZero::get);
        let mut builder = Builder::new_multi_thread();
        builder.worker_threads(threads).thread_name("edgemere-sql").enable_all();
        builder.thread_stack_size(STACK_BYTES);
        Ok(Self { runtime: Some(builder.build()?) })
    }

    /// Runs something here. Who drops what is returned stops it.
    pub(crate) fn run<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> JoinSet<T> {
        let mut running = JoinSet::new();
        if let Some(runtime) = &self.runtime {
            running.spawn_on(work.in_current_span(), runtime.handle());
        }
        running
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        // The usual way waits for the threads, which is not allowed where this may be dropped.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
