//! The signals that stop a node: SIGINT and SIGTERM ask it to stop, and a second SIGINT does not
//! wait for it.

use std::process::ExitCode;

use anyhow::Context;
#[cfg(unix)]
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::server::Running;

/// The exit code of a process that was interrupted, as shells count it.
pub(super) const INTERRUPTED: u8 = 130;

/// The signals, from when this is made.
#[cfg(unix)]
pub(super) struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

#[cfg(unix)]
impl Signals {
    /// Listens for them. Before a node says that it is ready, so that none ends it the hard way.
    pub(super) fn listen() -> anyhow::Result<Self> {
        let listen = |kind| signal(kind).context("cannot listen for signals");
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
        })
    }

    async fn any(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }

    async fn interrupt(&mut self) {
        self.interrupt.recv().await;
    }
}

/// The signals, from when this is made.
#[cfg(not(unix))]
pub(super) struct Signals;

#[cfg(not(unix))]
impl Signals {
    /// Listens for them.
    pub(super) fn listen() -> anyhow::Result<Self> {
        Ok(Self)
    }

    async fn any(&mut self) {
        self.interrupt().await;
    }

    async fn interrupt(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

impl Signals {
    /// Waits until a node has stopped, because of a signal or because it was told to.
    pub(super) async fn wait(mut self, running: Running) -> anyhow::Result<ExitCode> {
        let asked = running.node().settings().shutdown.clone();
        tokio::select! {
            () = self.any() => {
                tracing::info!("stopping");
                running.shutdown();
            }
            () = asked.cancelled() => {}
        }
        tokio::select! {
            result = running.wait() => result.map(|()| ExitCode::SUCCESS),
            () = self.interrupt() => Ok(ExitCode::from(INTERRUPTED)),
        }
    }
}
