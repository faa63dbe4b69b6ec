//! The processes of a program on Unix: its process group, and on Linux also descendants that have left the
//! group.
//!
//! The id of a group may be reused once its first process has been waited for. So the end of that process is
//! observed without waiting for it, the rest of the group is killed, and only then its status is collected.
//!
//! No process escapes a signal to its group by forking at the same time, so one `SIGKILL` ends a fork bomb
//! too.

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::{
    process::Child,
    signal::unix::{Signal as Signals, SignalKind, signal},
};

/// The processes of a program.
#[derive(Debug, Default)]
pub(super) struct Processes {
    /// The first process. Its id is that of the group.
    first: Option<Pid>,
    /// Fires when any child of the server has ended.
    ends: Option<Signals>,
    #[cfg(target_os = "linux")]
    strays: linux::Strays,
}

impl Processes {
    pub(super) fn of(child: &Child) -> Self {
        let id = child.id().and_then(|id| i32::try_from(id).ok());
        Self {
            first: id.and_then(Pid::from_raw),
            ends: signal(SignalKind::child()).ok(),
            #[cfg(target_os = "linux")]
            strays: linux::Strays::default(),
        }
    }

    /// Returns when the first process has ended.
    pub(super) async fn ended(&mut self, child: &mut Child) {
        while let (Some(first), Some(ends)) = (self.first, &mut self.ends) {
            match waitid(WaitId::Pid(first), SEEN_AND_NOT_TAKEN) {
                Ok(Some(_)) => return,
                Ok(None) if ends.recv().await.is_some() => {}
                Ok(None) | Err(_) => break,
            }
        }
        let _ = child.wait().await;
    }

    pub(super) fn ask_to_end(&mut self) {
        self.signal(Signal::TERM);
        // A stopped process receives no other signal.
        self.signal(Signal::CONT);
    }

    pub(super) fn kill(&mut self) {
        self.signal(Signal::KILL);
    }

    fn signal(&mut self, signal: Signal) {
        let Some(first) = self.first else { return };
        #[cfg(target_os = "linux")]
        self.strays.find(first);
        // An error means that no process is left.
        let _ = kill_process_group(first, signal);
        #[cfg(target_os = "linux")]
        self.strays.signal(signal);
    }
}

/// Checks whether a process has ended, without collecting its status.
const SEEN_AND_NOT_TAKEN: WaitIdOptions =
    WaitIdOptions::EXITED.union(WaitIdOptions::NOHANG).union(WaitIdOptions::NOWAIT);

#[cfg(target_os = "linux")]
mod linux {
    //! Descendants, which Linux lists in `/proc`.

    use std::{fs, os::fd::OwnedFd};

    use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

    /// The maximum number of descendants. More are a fork bomb, which stays in its group.
    const DESCENDANTS_MAX: usize = 1000;

    /// The descendants of the first process, in any group. They are remembered, because nothing leads to them
    /// once their parents have ended.
    #[derive(Debug, Default)]
    pub(super) struct Strays(Vec<(Pid, OwnedFd)>);

    impl Strays {
        pub(super) fn find(&mut self, first: Pid) {
            for pid in descendants(first) {
                let is_new = self.0.iter().all(|(other, _)| *other != pid);
                if let (true, Ok(file)) = (is_new, pidfd_open(pid, PidfdFlags::empty())) {
                    self.0.push((pid, file));
                }
            }
        }

        pub(super) fn signal(&self, signal: Signal) {
            for (_, file) in &self.0 {
                let _ = pidfd_send_signal(file, signal);
            }
        }
    }

    /// All descendants of a process whose parents still run.
    fn descendants(first: Pid) -> Vec<Pid> {
        let mut found = children(first);
        let mut next = 0;
        while let Some(pid) = found.get(next).copied()
            && found.len() < DESCENDANTS_MAX
        {
            found.extend(children(pid));
            next += 1;
        }
        found.truncate(DESCENDANTS_MAX);
        found
    }

    fn children(parent: Pid) -> Vec<Pid> {
        let threads = fs::read_dir(format!("/proc/{}/task", parent.as_raw_nonzero()));
        let threads = threads.into_iter().flatten().flatten();
        let lists = threads.filter_map(|one| fs::read_to_string(one.path().join("children")).ok());
        let ids = |list: String| -> Vec<Pid> {
            let ids = list.split_whitespace().filter_map(|id| id.parse().ok());
            ids.filter_map(Pid::from_raw).collect()
        };
        lists.flat_map(ids).collect()
    }
}
