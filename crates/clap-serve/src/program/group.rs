//! A program that runs, and its end: by itself, when it is asked to, or when nobody holds this any more.

#[cfg_attr(unix, path = "processes_unix.rs")]
#[cfg_attr(not(unix), path = "processes_other.rs")]
mod processes;

use std::{process::ExitStatus, sync::LazyLock, time::Duration};

use tokio::{process::Child, runtime::Handle, sync::watch, time::timeout};

use self::processes::Processes;

/// How long a program that was killed may take to be gone. One that waits for a disk that does not
/// answer can take for ever.
const GONE_TIME_MAX: Duration = Duration::from_secs(1);

/// How many programs are on their way to the end, with nobody who waits for them.
static ENDING: LazyLock<watch::Sender<usize>> = LazyLock::new(|| watch::Sender::new(0));

/// Ends when no program is left whose run was dropped. Whoever ends the process awaits this first: a
/// program has its [`grace_time`](super::RunLimits::grace_time) after its run was dropped, and is killed
/// by this process or by nobody.
pub async fn all_ended() {
    // The sender is never dropped.
    let _ = ENDING.subscribe().wait_for(|count| *count == 0).await;
}

/// Counts for as long as it is there.
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

/// A program that runs, with all that it has started. Dropping it ends them all.
#[derive(Debug)]
pub(super) struct Group {
    /// None when it has ended and its end was taken.
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

    /// Ends when the program itself has ended.
    pub(super) async fn ended(&mut self) {
        if let Some(child) = &mut self.child {
            self.processes.ended(child).await;
        }
    }

    /// Asks all of them to end.
    pub(super) fn ask_to_end(&mut self) {
        self.is_asked = true;
        self.processes.ask_to_end();
    }

    /// Kills all of them. After the program has ended by itself, what it left running.
    pub(super) fn kill(&mut self) {
        self.is_asked = true;
        self.processes.kill();
    }

    /// How the program ended. None when it was killed and is not gone yet.
    pub(super) async fn end(&mut self) -> Option<ExitStatus> {
        let child = self.child.as_mut()?;
        let status = timeout(GONE_TIME_MAX, child.wait()).await.ok()?;
        self.child = None;
        status.ok()
    }

    /// The way to the end of one for which nobody waits.
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
            // When the runtime ends before the time of grace, this is dropped once more.
            Some(runtime) => {
                rest.ask_to_end();
                runtime.spawn(rest.end_alone(Ending::begin()));
            }
            None => {
                rest.kill();
                // Tokio takes the end of a child that nobody waits for.
                rest.child = None;
            }
        }
    }
}
