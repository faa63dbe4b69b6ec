//! The run of a program: what it writes is read until it ends, or until a limit ends it.

use std::{
    pin::pin,
    process::ExitStatus,
    time::{Duration, Instant},
};

use mcp_serve::Context;
use tokio::{
    io::{AsyncRead, AsyncReadExt},
    process::{ChildStderr, ChildStdout},
    time::sleep,
};

use super::{
    End, Program, Ran, RunError, RunLimits,
    group::Group,
    kept::Kept,
    start::start,
    told::{self, Begun, Lines},
};

/// What is read at once: as much as a pipe holds.
const READ_BYTES: usize = 64 << 10;

/// The most that a pipe can hold after who wrote into it has ended.
const PIPE_BYTES_MAX: usize = 1 << 20;

/// The end of a program whose own end nobody knows.
const KILLED: End = End::Signal(9);

/// Runs a program to its end.
pub(super) async fn run(program: &Program, context: &Context) -> Result<Ran, RunError> {
    let (lines, mut teller) = told::way(context);
    let begin = Instant::now();
    let mut running = Running::start(program, lines)?;
    let end = {
        let mut end = pin!(running.until_end());
        tokio::select! {
            end = &mut end => end,
            () = teller.tell() => end.await,
        }
    };
    let time = begin.elapsed();
    teller.tell_rest().await;
    tracing::debug!(program = program.name(), ?end, ms = time.as_millis(), "a program was run");
    let (stdout, stderr) = (running.stdout.kept.output(), running.stderr.kept.output());
    Ok(Ran { stdout, stderr, end, time, limits: program.limits.clone() })
}

/// A program that runs, and what it has written.
struct Running {
    group: Group,
    stdout: Stream<ChildStdout>,
    stderr: Stream<ChildStderr>,
    lines: Lines,
    limits: RunLimits,
}

/// Why reading came to an end.
enum Why {
    Ended,
    Time,
    Flood,
}

impl Running {
    fn start(program: &Program, lines: Lines) -> Result<Self, RunError> {
        let limits = program.limits.clone();
        let mut child = start(program)?;
        let stdout = Stream::new(child.stdout.take(), &limits);
        let stderr = Stream::new(child.stderr.take(), &limits);
        let group = Group::new(child, limits.grace_time);
        Ok(Self { group, stdout, stderr, lines, limits })
    }

    /// Reads until the end, whatever it is.
    async fn until_end(&mut self) -> End {
        let stopped = match self.read(self.limits.time_max).await {
            Why::Ended => None,
            Why::Flood => Some(End::Flood),
            Why::Time => {
                self.group.ask_to_end();
                self.read(self.limits.grace_time).await;
                Some(End::OutOfTime)
            }
        };
        // What still runs would go on for nobody, and could hold the pipes open.
        self.group.kill();
        self.stdout.take_rest(&mut self.lines).await;
        self.stderr.take_rest(&mut self.lines).await;
        self.lines.end();
        let status = self.group.end().await;
        stopped.or_else(|| status.map(end_of)).unwrap_or(KILLED)
    }

    /// Reads until the program has ended, for so long at most.
    async fn read(&mut self, time_max: Duration) -> Why {
        let Self { group, stdout, stderr, lines, limits } = self;
        let mut time = pin!(sleep(time_max));
        loop {
            tokio::select! {
                () = stdout.fill() => stdout.take(lines),
                () = stderr.fill() => stderr.take(lines),
                () = group.ended() => return Why::Ended,
                () = &mut time => return Why::Time,
            }
            if stdout.kept.seen() + stderr.kept.seen() > limits.flood_bytes_max {
                return Why::Flood;
            }
        }
    }
}

/// One of the two streams of a program.
struct Stream<R> {
    /// None after its end.
    reader: Option<R>,
    /// What was read and not taken yet.
    buffer: Vec<u8>,
    kept: Kept,
    begun: Begun,
}

impl<R> Stream<R> {
    fn new(reader: Option<R>, limits: &RunLimits) -> Self {
        Self {
            reader,
            buffer: Vec::with_capacity(READ_BYTES),
            kept: Kept::new(limits.output_bytes_max),
            begun: Begun::new(limits.line_bytes_max),
        }
    }

    /// Takes what was read.
    fn take(&mut self, lines: &mut Lines) {
        self.kept.push(&self.buffer);
        self.begun.push(&self.buffer, lines);
        self.buffer.clear();
    }
}

impl<R: AsyncRead + Unpin> Stream<R> {
    /// Waits for more. Ends never after the end of the stream. Nothing is lost when it is dropped.
    async fn fill(&mut self) {
        let Some(reader) = &mut self.reader else { return std::future::pending().await };
        if !matches!(reader.read_buf(&mut self.buffer).await, Ok(1..)) {
            self.reader = None;
        }
    }
}

#[cfg(unix)]
impl<R: std::os::fd::AsFd> Stream<R> {
    /// Takes what is there after the program has ended, and waits for nothing: others may hold the pipe
    /// open, and even write into it.
    async fn take_rest(&mut self, lines: &mut Lines) {
        let mut room = PIPE_BYTES_MAX;
        while let Some(reader) = self.reader.as_ref().filter(|_| room > 0) {
            let mut piece = vec![0; READ_BYTES];
            match rustix::io::read(reader, &mut piece) {
                Ok(length @ 1..) => self.buffer.extend(piece.iter().take(length)),
                Err(rustix::io::Errno::INTR) => continue,
                Ok(0) | Err(_) => self.reader = None,
            }
            room = room.saturating_sub(self.buffer.len());
            self.take(lines);
        }
        self.reader = None;
        self.begun.end(lines);
    }
}

#[cfg(not(unix))]
impl<R: AsyncRead + Unpin> Stream<R> {
    /// Takes what is there after the program has ended, and does not wait long for it: others may hold
    /// the pipe open, and even write into it.
    async fn take_rest(&mut self, lines: &mut Lines) {
        let mut room = PIPE_BYTES_MAX;
        while self.reader.is_some() && room > 0 {
            let quiet = Duration::from_millis(50);
            if tokio::time::timeout(quiet, self.fill()).await.is_err() {
                self.reader = None;
            }
            room = room.saturating_sub(self.buffer.len());
            self.take(lines);
        }
        self.reader = None;
        self.begun.end(lines);
    }
}

#[cfg(unix)]
fn end_of(status: ExitStatus) -> End {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(code), _) => End::Code(code),
        (None, signal) => End::Signal(signal.unwrap_or_default()),
    }
}

#[cfg(not(unix))]
fn end_of(status: ExitStatus) -> End {
    End::Code(status.code().unwrap_or(1))
}
