//! The process group of a program and its end: by itself, on request, or because its handle is dropped.

#[cfg_attr(unix, path = "processes_unix.rs")]
#[cfg_attr(not(unix), path = "processes_other.rs")]
mod processes;

use std::{process::ExitStatus, sync::LazyLock, time::Duration};

use tokio::{process::Child, runtime::Handle, sync::watch, time::timeout};

use self::processes::Processes;

/// How long a killed program may take to disappear. A process that waits for a broken disk may take for
/// ever.
const GONE_TIME_MAX: Duration = Duration::from_secs(1);

/// The number of programs that are being ended in the background.
static ENDING: LazyLock<watch::Sender<usize>> = LazyLock::new(|| watch::Sender::new(0));

/// Returns when no dropped run has a program left. Await this before the process exits: a program has its
/// [`grace_time`](super::RunLimits::grace_time) after its run was dropped, and only this process can kill it.
pub async fn all_ended() {
    // The sender is never dropped.
    let _ = ENDING.subscribe().wait_for(|count| *count == 0).await;
}

/// Counts a program as being ended, until it is dropped.
#[derive(Debug)]
struct Ending;

impl Ending {
    fn begin() -> Self {
        ENDING.send_modify(|count| *count += 1);
        Self
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        ENDING.send_modify(|count| *count -= 1);
    }
}

/// A running program with all its descendants. Dropping it ends them all.
#[derive(Debug)]
pub(super) struct Group {
    /// None once the exit status has been collected.
    child: Option<Child>,
    processes: Processes,
    grace_time: Duration,
    /// Whether it was asked to end: the next step is to kill it.
    is_asked: bool,
}

impl Group {
    pub(super) fn new(child: Child, grace_time: Duration) -> Self {
        let processes = Processes::of(&child);
        Self { child: Some(child), processes, grace_time, is_asked: false }
    }

    /// Returns when the program itself has ended.
    pub(super) async fn ended(&mut self) {
        if let Some(child) = &mut self.child {
            self.processes.ended(child).await;
        }
    }

    /// Asks all processes to end.
    pub(super) fn ask_to_end(&mut self) {
        self.is_asked = true;
        self.processes.ask_to_end();
    }

    /// Kills all processes. After the program has ended, kills what it left running.
    pub(super) fn kill(&mut self) {
        self.is_asked = true;
        self.processes.kill();
    }

    /// The exit status. None if it was killed and is not gone yet.
    pub(super) async fn end(&mut self) -> Option<ExitStatus> {
        let child = self.child.as_mut()?;
        let status = timeout(GONE_TIME_MAX, child.wait()).await.ok()?;
        self.child = None;
        status.ok()
    }

    /// Ends a program in the background.
    async fn end_alone(mut self, _counted: Ending) {
        let grace_time = self.grace_time;
        let _ = timeout(grace_time, self.ended()).await;
        self.kill();
        self.end().await;
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let Some(child) = self.child.take() else { return };
        let runtime = Handle::try_current().ok().filter(|_| !self.is_asked);
        let mut rest = Self {
            child: Some(child),
            processes: std::mem::take(&mut self.processes),
            grace_time: self.grace_time,
            is_asked: true,
        };
        match runtime {
            // If the runtime shuts down during the grace time, this is dropped again.
            Some(runtime) => {
                rest.ask_to_end();
                runtime.spawn(rest.end_alone(Ending::begin()));
            }
            None => {
                rest.kill();
                // Tokio collects the exit status of a dropped child.
                rest.child = None;
            }
        }
    }
}
