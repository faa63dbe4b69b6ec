//! What stops a process that runs until a signal: SIGINT and SIGTERM ask it to stop, a second
//! SIGINT does not wait for it, and where it is wanted the end of stdin asks, too.

use std::io;
use std::process::ExitCode;

use anyhow::Context;
#[cfg(unix)]
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::server::Running;

/// The exit code of a process that was interrupted, as shells count it.
pub(super) const INTERRUPTED: u8 = 130;

/// The exit code of a process that was terminated.
pub(super) const TERMINATED: u8 = 143;

/// The signals, from when this is made.
pub(super) struct Signals {
    of_system: OfSystem,
    /// Cancelled when stdin has ended, if that is looked at.
    stdin_ended: CancellationToken,
}

impl Signals {
    /// Listens for them. Before a node says that it is ready, so that none ends it the hard way.
    pub(super) fn listen() -> anyhow::Result<Self> {
        let of_system = OfSystem::listen()?;
        Ok(Self { of_system, stdin_ended: CancellationToken::new() })
    }

    /// Takes the end of stdin for a signal. Who starts a process with a pipe there, and keeps the
    /// other end, stops it by closing that end; when he is killed, the system closes it.
    pub(super) fn listen_to_stdin(&self) -> anyhow::Result<()> {
        let ended = self.stdin_ended.clone();
        let read = move || {
            // What cannot be read has ended as well.
            let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
            ended.cancel();
        };
        let thread = std::thread::Builder::new().name("stdin".into()).spawn(read);
        thread.map(drop).context("cannot start a thread")
    }

    /// Waits for one that asks to stop.
    pub(super) async fn any(&mut self) {
        tokio::select! {
            _ = self.of_system.any() => {}
            () = self.stdin_ended.cancelled() => {}
        }
    }

    /// Waits for a signal of the system that asks to stop, and gives the exit code for it.
    pub(super) async fn any_code(&mut self) -> u8 {
        self.of_system.any().await
    }

    /// Waits for somebody who does not want to wait.
    pub(super) async fn interrupt(&mut self) {
        self.of_system.interrupt().await;
    }

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

/// The system's own signals.
#[cfg(unix)]
struct OfSystem {
    interrupt: Signal,
    terminate: Signal,
}

#[cfg(unix)]
impl OfSystem {
    fn listen() -> anyhow::Result<Self> {
        let listen = |kind| signal(kind).context("cannot listen for signals");
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
        })
    }

    async fn any(&mut self) -> u8 {
        tokio::select! {
            _ = self.interrupt.recv() => INTERRUPTED,
            _ = self.terminate.recv() => TERMINATED,
        }
    }

    async fn interrupt(&mut self) {
        self.interrupt.recv().await;
    }
}

/// The system's own signals.
#[cfg(not(unix))]
struct OfSystem;

#[cfg(not(unix))]
impl OfSystem {
    fn listen() -> anyhow::Result<Self> {
        Ok(Self)
    }

    async fn any(&mut self) -> u8 {
        self.interrupt().await;
        INTERRUPTED
    }

    async fn interrupt(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
