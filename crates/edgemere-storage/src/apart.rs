//! Work that takes long, apart from the threads that answer: decoding and encoding rows must not keep
//! a node from its health, its ledger and the pings of its connections.

use tokio::runtime::{Handle, RuntimeFlavor};

/// Less than this is done before another thread would have begun.
const LITTLE_BYTES: usize = 64 << 10;

/// Runs work on so many bytes. Where the runtime has several threads and the work takes its time,
/// another thread takes over what else this one has to do.
pub(crate) fn apart<T>(bytes: usize, work: impl FnOnce() -> T) -> T {
    let flavor = Handle::try_current().map(|handle| handle.runtime_flavor());
    match flavor {
        Ok(RuntimeFlavor::MultiThread) if bytes > LITTLE_BYTES => tokio::task::block_in_place(work),
        _ => work(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;

    #[test]
    fn others_go_on_while_the_only_thread_works() {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
        let (done, is_done) = mpsc::channel();
        let worked = runtime.spawn(async move {
            tokio::spawn(async move { done.send(()).unwrap() });
            apart(1 << 20, || is_done.recv_timeout(Duration::from_secs(60)))
        });
        assert_eq!(runtime.block_on(worked).unwrap(), Ok(()));
    }

    #[tokio::test]
    async fn where_there_is_one_thread_it_does_the_work() {
        assert_eq!(apart(1 << 20, || 7), 7);
    }
}
