//! Runs a program for a call: with an argv and never a shell, within limits, and only as long as the caller
//! waits. This module does not know the purpose of the program or the origin of its arguments.
//!
//! 1. [`Program::run`] starts it (`start`) with an empty stdin, its own process group (`group`) and the
//!    configured environment ([`Environment`]).
//! 2. While it runs (`run`), its output is buffered within the limits (`output_buffer`) and reported line by
//!    line as progress (`progress_lines`).
//! 3. When it has ended, the rest of its process group is killed, its pipes are drained, and a [`Ran`]
//!    reports the result. Its text is cleaned for a model (`clean`).
//! 4. [`Ran::outcome`] converts it to a tool's result, with JSON output as structured content (`json`).
//!
//! Dropping the future of a run ends the program and everything that it has started.
//!
//! ```
//! use clap_serve::program::{End, Program};
//! use mcp_serve::{Context, Principal};
//!
//! # #[cfg(unix)]
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), clap_serve::program::RunError> {
//! let program = Program::new("echo").args(["hello", "--not-a-flag; not a shell"]);
//! let ran = program.run(&Context::detached(Principal::default())).await?;
//! assert_eq!(ran.end, End::Code(0));
//! assert_eq!(ran.stdout.text, "hello --not-a-flag; not a shell\n");
//! # Ok(())
//! # }
//! # #[cfg(not(unix))]
//! # fn main() {}
//! ```

mod clean;
mod environment;
mod group;
mod json;
mod outcome;
mod output_buffer;
mod progress_lines;
mod run;
mod start;
mod trust;

use std::{ffi::OsString, path::PathBuf, time::Duration};

use mcp_serve::Context;

pub use self::{
    environment::Environment,
    group::all_ended,
    outcome::META,
    output_buffer::Output,
    start::RunError,
    trust::{Untrusted, trusted},
};

/// A program to run.
#[derive(Clone, Debug)]
pub struct Program {
    /// The program: a path, or a name that is looked up in `PATH`. A relative path starts at the server's
    /// working directory, also if [`Program::folder`] is another one.
    pub path: PathBuf,
    /// Its arguments. No shell sees them.
    pub args: Vec<OsString>,
    /// Its working directory; by default the server's.
    pub folder: Option<PathBuf>,
    /// Its environment variables.
    pub environment: Environment,
    /// Limits on its time and output.
    pub limits: RunLimits,
}

impl Program {
    /// A program without arguments, in the server's working directory, with default environment and limits.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            args: Vec::new(),
            folder: None,
            environment: Environment::default(),
            limits: RunLimits::default(),
        }
    }

    /// Adds arguments.
    #[must_use]
    pub fn args(mut self, args: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Runs the program to its end, or until a limit ends it. Its lines are reported as progress, if the
    /// client wants progress.
    ///
    /// Dropping the future ends the program and everything that it has started: with `SIGTERM`, so that it
    /// can clean up, and after [`RunLimits::grace_time`] with `SIGKILL`. Await [`all_ended`] before the
    /// process exits.
    ///
    /// A descendant with a session of its own (`setsid`) whose parent has ended is out of reach: it is a
    /// daemon and goes on. The call does not wait for it.
    pub async fn run(&self, context: &Context) -> Result<Ran, RunError> {
        run::run(self, context).await
    }

    /// The name for messages to agents, without its directory.
    pub(crate) fn name(&self) -> String {
        let name = self.path.file_name().unwrap_or(self.path.as_os_str());
        name.to_string_lossy().into_owned()
    }
}

/// Limits on a program's time and output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunLimits {
    /// The maximum duration.
    pub time_max: Duration,
    /// The time between `SIGTERM` and `SIGKILL`.
    pub grace_time: Duration,
    /// How much of stdout, and of stderr, is returned. Longer output is cut in the middle: its subject is at
    /// the beginning, its errors are at the end.
    pub output_bytes_max: usize,
    /// How much the program may write before it is killed.
    pub flood_bytes_max: u64,
    /// The maximum length of a line that is reported as progress.
    pub line_bytes_max: usize,
}

impl Default for RunLimits {
    fn default() -> Self {
        Self {
            time_max: Duration::from_secs(60),
            grace_time: Duration::from_millis(500),
            output_bytes_max: 256 << 10,
            flood_bytes_max: 64 << 20,
            line_bytes_max: 1 << 10,
        }
    }
}

/// The result of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ran {
    /// Its output on stdout.
    pub stdout: Output,
    /// Its output on stderr.
    pub stderr: Output,
    /// How it ended.
    pub end: End,
    /// Its duration.
    pub time: Duration,
    /// Its limits.
    pub limits: RunLimits,
}

impl Ran {
    /// The result with at most this many bytes of stdout and of stderr.
    #[must_use]
    pub fn within(self, output_bytes_max: usize) -> Self {
        let within = |output: Output| output.within(output_bytes_max);
        Self { stdout: within(self.stdout), stderr: within(self.stderr), ..self }
    }
}

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It exited with this code.
    Code(i32),
    /// Another process's signal ended it.
    Signal(i32),
    /// It exceeded its time and was killed.
    OutOfTime,
    /// It exceeded its output limit and was killed.
    Flood,
}

impl End {
    /// Whether it exited with code 0.
    pub fn is_success(self) -> bool {
        self == Self::Code(0)
    }
}
