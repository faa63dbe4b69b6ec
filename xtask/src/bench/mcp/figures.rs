//! The figures of a server, taken in the same way of all of them.

use std::{net::SocketAddr, thread, time::Duration};

use anyhow::Result;

use super::measure::{Call, Measured, measure};
use crate::bench::{
    median, milliseconds,
    process::{self, Memory},
    row, thousands,
};

/// How often a server is started; the median is reported.
pub(super) const STARTS: usize = 5;
/// How long a server is left alone before its idle memory is read.
const IDLE: Duration = Duration::from_secs(2);

/// A server that runs, and what it is asked.
pub(super) struct Server {
    pub(super) address: SocketAddr,
    pub(super) pid: u32,
    /// How long it took each time until it listed its tools.
    pub(super) starts: Vec<Duration>,
    pub(super) calls: Calls,
}

/// What it is asked.
pub(super) struct Calls {
    /// What asks for nothing, where there is something simpler than `SELECT 1`.
    pub(super) simplest: Option<Call>,
    /// `SELECT 1`.
    pub(super) ping: Call,
    /// Count, mean, least and most of each of 50 devices, over 100,000 rows.
    pub(super) group: Call,
    /// 10,000 rows in one answer.
    pub(super) rows: Call,
}

/// What came of it.
pub(super) struct Figures {
    start: Duration,
    memory: Memory,
    one: Measured,
    many: Measured,
    group: Measured,
    rows: Measured,
    /// Of the simplest tool, from one client and from sixteen.
    simplest: Option<(Measured, Measured)>,
}

impl Figures {
    pub(super) fn take(server: &Server, seconds: u64) -> Result<Self> {
        let memory = idle_memory(server.pid);
        let ask =
            |call, clients, how_long| measure(server.address, server.pid, call, clients, how_long);
        let time = Duration::from_secs(seconds);
        let simplest = match &server.calls.simplest {
            Some(call) => Some((ask(call, 1, time)?, ask(call, 16, time)?)),
            None => None,
        };
        Ok(Self {
            simplest,
            memory,
            one: ask(&server.calls.ping, 1, time)?,
            many: ask(&server.calls.ping, 16, time)?,
            group: ask(&server.calls.group, 1, time)?,
            rows: ask(&server.calls.rows, 1, time)?,
            start: median(&mut server.starts.clone()),
        })
    }

    /// Our own figures, a line each.
    pub(super) fn tell(&self) {
        row("start until tools/list", &milliseconds(self.start));
        row("idle memory, with tools of SQL", &self.memory.to_string());
        row("`SELECT 1`, 1 client", &self.one.rate());
        row("`SELECT 1`, 16 clients", &self.many.rate());
        row("GROUP BY over 100,000 rows", &self.group.answer());
        row("10,000 rows in one answer", &self.rows.answer());
        if let Some((alone, many)) = &self.simplest {
            row("simplest tool, 1 client", &alone.rate());
            row("simplest tool, 16 clients", &many.rate());
        }
    }

    /// Those of a peer in one line, and how many times ours each is.
    pub(super) fn tell_beside(&self, ours: &Self, name: &str) {
        let times = |theirs: Duration, ours: Duration| {
            format!("{} ({:.1} ×)", milliseconds(theirs), theirs.as_secs_f64() / ours.as_secs_f64())
        };
        let rate = |theirs: &Measured, ours: &Measured| {
            let ratio = ours.calls_per_second / theirs.calls_per_second;
            format!("{} calls/s ({ratio:.1} ×)", thousands(theirs.calls_per_second))
        };
        let simplest = ours.simplest.as_ref().map_or(&ours.many, |(_, many)| many);
        let value = format!(
            "start {}; memory {}; `SELECT 1` {}, {}, with 16 clients {}, of our simplest tool {:.1} ×; \
             GROUP BY {}; 10,000 rows {}, {} KB",
            times(self.start, ours.start),
            self.memory,
            times(self.one.p50, ours.one.p50),
            rate(&self.one, &ours.one),
            rate(&self.many, &ours.many),
            simplest.calls_per_second / self.many.calls_per_second,
            times(self.group.p50, ours.group.p50),
            times(self.rows.p50, ours.rows.p50),
            thousands(self.rows.bytes as f64 / 1000.0),
        );
        row(&format!("{name}, and how many times ours is better"), &value);
    }
}

/// What a server takes that is left alone.
pub(super) fn idle_memory(pid: u32) -> Memory {
    thread::sleep(IDLE);
    process::tree_memory(pid)
}
