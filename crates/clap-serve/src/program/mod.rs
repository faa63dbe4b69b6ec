//! A program that is run for a call: argv and never a shell, within limits, and not a moment longer
//! than somebody waits for it. What it is run for, and how its arguments came to be, is not known here.
//!
//! 1. [`Program::run`] starts it (`start`) with nothing to read, its own group of processes (`group`)
//!    and the environment that was chosen ([`Environment`]).
//! 2. What it writes is read while it runs (`run`), kept within the limits (`kept`), and told line by
//!    line as progress (`told`).
//! 3. When it has ended, what it left running in its group is killed, what is still in its pipes is
//!    taken, and a [`Ran`] says what happened. Text is made fit for a model (`clean`).
//! 4. [`Ran::outcome`] makes the answer of a tool of it, with what it wrote as JSON for programs
//!    (`json`).
//!
//! Whoever drops the future of a run ends the program, with all that it has started.
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
mod kept;
mod outcome;
mod run;
mod start;
mod told;
mod trust;

use std::{ffi::OsString, path::PathBuf, time::Duration};

use mcp_serve::Context;

pub use self::{
    environment::Environment,
    group::all_ended,
    kept::Output,
    outcome::META,
    start::RunError,
    trust::{Untrusted, trusted},
};

/// A program and how it is run.
#[derive(Clone, Debug)]
pub struct Program {
    /// The program: a path, or a name that is looked up in `PATH`. A path that is not absolute is one
    /// from the server's own folder, also when [`Program::folder`] is another.
    pub path: PathBuf,
    /// Its arguments, a word each. No shell ever sees them.
    pub args: Vec<OsString>,
    /// The folder in which it runs; none is the server's own.
    pub folder: Option<PathBuf>,
    /// The variables that it sees.
    pub environment: Environment,
    /// How long it may run and how much it may write.
    pub limits: RunLimits,
}

impl Program {
    /// A program without arguments, in the server's folder, with the usual environment and limits.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            args: Vec::new(),
            folder: None,
            environment: Environment::default(),
            limits: RunLimits::default(),
        }
    }

    /// Adds arguments, a word each.
    #[must_use]
    pub fn args(mut self, args: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Runs it to its end, or to that of its limits. The lines that it writes are told as progress
    /// where the client wants that.
    ///
    /// Dropping the future ends the program and all that it has started: first with `SIGTERM`, so that
    /// it can take its locks away, and [`RunLimits::grace_time`] later with `SIGKILL`. Whoever ends the
    /// process meanwhile awaits [`all_ended`] first.
    ///
    /// One thing cannot be reached: what has made itself a session of its own (`setsid`) and whose
    /// parent has ended is a daemon like any other, and goes on. The call does not wait for it.
    pub async fn run(&self, context: &Context) -> Result<Ran, RunError> {
        run::run(self, context).await
    }

    /// What an agent is told that it is called: never where it is.
    pub(crate) fn name(&self) -> String {
        let name = self.path.file_name().unwrap_or(self.path.as_os_str());
        name.to_string_lossy().into_owned()
    }
}

/// How long a program may run and how much it may write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunLimits {
    /// How long it may run.
    pub time_max: Duration,
    /// How long it has between the request to end and the end.
    pub grace_time: Duration,
    /// How much of its stdout is kept, and of its stderr. Of what is longer the first and the last half
    /// are kept: what it is about stands at the beginning, what went wrong at the end.
    pub output_bytes_max: usize,
    /// How much it may write in all. Up to here what is too much is thrown away; after it the program
    /// is killed.
    pub flood_bytes_max: u64,
    /// How much of a line is told as progress.
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

/// What a program did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ran {
    /// What it wrote to stdout.
    pub stdout: Output,
    /// What it wrote to stderr.
    pub stderr: Output,
    /// How it ended.
    pub end: End,
    /// How long it ran.
    pub time: Duration,
    /// The limits that it ran in.
    pub limits: RunLimits,
}

impl Ran {
    /// With so much of stdout and of stderr at most.
    #[must_use]
    pub fn within(self, output_bytes_max: usize) -> Self {
        let within = |output: Output| output.within(output_bytes_max);
        Self { stdout: within(self.stdout), stderr: within(self.stderr), ..self }
    }
}

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// By itself, with this code.
    Code(i32),
    /// By a signal that was not ours.
    Signal(i32),
    /// It ran too long, and was stopped.
    OutOfTime,
    /// It wrote too much, and was stopped.
    Flood,
}

impl End {
    /// Whether it is the end that a program has when all went well.
    pub fn is_success(self) -> bool {
        self == Self::Code(0)
    }
}
