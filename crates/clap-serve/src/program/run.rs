//! The run of a program: reads its output until it ends, or until a limit ends it.

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
    output_buffer::OutputBuffer,
    progress_lines::{self, Lines, PartialLine},
    start::start,
};

/// The size of a read: the capacity of a pipe.
const READ_BYTES: usize = 64 << 10;

/// The maximum capacity of a pipe, which may be full when the writer has ended.
const PIPE_BYTES_MAX: usize = 1 << 20;

/// The end of a program whose exit status is unknown.
const KILLED: End = End::Signal(9);

/// Runs a program to its end.
pub(super) async fn run(program: &Program, context: &Context) -> Result<Ran, RunError> {
    let (lines, mut reporter) = progress_lines::queue(context);
    let begin = Instant::now();
    let mut running = Running::start(program, lines)?;
    let end = {
        let mut end = pin!(running.until_end());
        tokio::select! {
            end = &mut end => end,
            () = reporter.run() => end.await,
        }
    };
    let time = begin.elapsed();
    reporter.flush().await;
    tracing::debug!(program = program.name(), ?end, ms = time.as_millis(), "a program was run");
    let (stdout, stderr) = (running.stdout.output.output(), running.stderr.output.output());
    Ok(Ran { stdout, stderr, end, time, limits: program.limits.clone() })
}

/// A running program and its output.
struct Running {
    group: Group,
    stdout: Stream<ChildStdout>,
    stderr: Stream<ChildStderr>,
    lines: Lines,
    limits: RunLimits,
}

/// Why reading ended.
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

    /// Reads until the program has ended, by itself or by a limit.
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
        // Processes that still run would work for nobody, and could hold the pipes open.
        self.group.kill();
        self.stdout.take_rest(&mut self.lines).await;
        self.stderr.take_rest(&mut self.lines).await;
        self.lines.close();
        let status = self.group.end().await;
        stopped.or_else(|| status.map(end_of)).unwrap_or(KILLED)
    }

    /// Reads until the program has ended, or for this time.
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
            if stdout.output.seen() + stderr.output.seen() > limits.flood_bytes_max {
                return Why::Flood;
            }
        }
    }
}

/// An output stream of a program.
struct Stream<R> {
    /// None after the end of the stream.
    reader: Option<R>,
    /// Bytes that were read but not processed.
    buffer: Vec<u8>,
    output: OutputBuffer,
    partial: PartialLine,
}

impl<R> Stream<R> {
    fn new(reader: Option<R>, limits: &RunLimits) -> Self {
        Self {
            reader,
            buffer: Vec::with_capacity(READ_BYTES),
            output: OutputBuffer::new(limits.output_bytes_max),
            partial: PartialLine::new(limits.line_bytes_max),
        }
    }

    /// Processes the bytes that were read.
    fn take(&mut self, lines: &mut Lines) {
        self.output.push(&self.buffer);
        self.partial.push(&self.buffer, lines);
        self.buffer.clear();
    }
}

impl<R: AsyncRead + Unpin> Stream<R> {
    /// Waits for more bytes, for ever after the end of the stream. Cancel-safe.
    async fn fill(&mut self) {
        let Some(reader) = &mut self.reader else { return std::future::pending().await };
        if !matches!(reader.read_buf(&mut self.buffer).await, Ok(1..)) {
            self.reader = None;
        }
    }
}

#[cfg(unix)]
impl<R: std::os::fd::AsFd> Stream<R> {
    /// Drains the pipe after the program has ended, without waiting: other processes may hold the pipe open
    /// and even write into it.
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
        self.partial.end(lines);
    }
}

#[cfg(not(unix))]
impl<R: AsyncRead + Unpin> Stream<R> {
    /// Drains the pipe after the program has ended, for a short time: other processes may hold the pipe open
    /// and even write into it.
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
        self.partial.end(lines);
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
