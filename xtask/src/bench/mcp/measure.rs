//! What is measured of every server alike: calls one after the other, from one client or from several.

use std::{
    net::SocketAddr,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::client::{Client, Message};
use crate::{
    bench::{median, milliseconds, process, thousands},
    interrupt,
};

/// How often a tool is called before it is measured.
const WARM_UP: usize = 3;

/// How often each question is measured.
const ROUNDS: usize = 3;

/// A tool and its arguments.
pub(super) struct Call {
    pub(super) tool: &'static str,
    pub(super) arguments: Value,
}

/// What came of it.
pub(super) struct Measured {
    pub(super) p50: Duration,
    pub(super) p99: Duration,
    pub(super) calls_per_second: f64,
    /// Of the server with all of its processes, for one call.
    pub(super) cpu: Duration,
    /// The length of an answer.
    pub(super) bytes: usize,
}

impl Measured {
    /// The rate of calls, and what one of them takes.
    pub(super) fn rate(&self) -> String {
        format!(
            "p50 {}, p99 {}, {} calls/s, {} of a core each",
            milliseconds(self.p50),
            milliseconds(self.p99),
            thousands(self.calls_per_second),
            milliseconds(self.cpu),
        )
    }

    /// The time and the length of an answer.
    pub(super) fn answer(&self) -> String {
        format!("p50 {}, {} KB", milliseconds(self.p50), thousands(self.bytes as f64 / 1000.0))
    }
}

/// Calls a tool from so many clients, each of which calls again when it has the answer, and tells the
/// best of some rounds: the machine does other things too, and they are not the server's.
pub(super) fn measure(
    address: SocketAddr,
    pid: u32,
    call: &Call,
    clients: usize,
    how_long: Duration,
) -> Result<Measured> {
    let mut ready = Vec::new();
    for _ in 0..clients {
        let mut client = Client::open(address)?;
        let message = client.call(call.tool, &call.arguments);
        for _ in 0..WARM_UP {
            client.result(&message).with_context(|| format!("\"{}\" fails", call.tool))?;
        }
        ready.push((client, message));
    }
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        rounds.push(round(pid, &mut ready, how_long).with_context(|| call.tool)?);
    }
    let best = rounds.into_iter().max_by(|a, b| a.calls_per_second.total_cmp(&b.calls_per_second));
    best.context("nothing was measured")
}

/// Calls from all clients for a while. Each has its message.
fn round(pid: u32, ready: &mut [(Client, Message)], how_long: Duration) -> Result<Measured> {
    let cpu = process::tree_cpu(pid)?;
    let begin = Instant::now();
    let (mut latencies, bytes) = thread::scope(|scope| -> Result<(Vec<Duration>, usize)> {
        let threads: Vec<_> = ready
            .iter_mut()
            .map(|(client, message)| {
                scope.spawn(move || repeat(begin, how_long, || client.ask(message)))
            })
            .collect();
        let (mut all, mut longest) = (Vec::new(), 0);
        for thread in threads {
            let (latencies, bytes) = thread.join().ok().context("a client's thread failed")??;
            all.extend(latencies);
            longest = longest.max(bytes);
        }
        Ok((all, longest))
    })?;
    let elapsed = begin.elapsed();
    let cpu = process::tree_cpu(pid)?.saturating_sub(cpu);
    let calls = u32::try_from(latencies.len())?;
    if calls == 0 {
        bail!("nothing was answered");
    }
    let p50 = median(&mut latencies);
    let p99 = latencies.get(latencies.len() * 99 / 100).copied().unwrap_or_default();
    let calls_per_second = f64::from(calls) / elapsed.as_secs_f64();
    Ok(Measured { p50, p99, calls_per_second, cpu: cpu / calls, bytes })
}

/// Asks again and again, and gives how long each answer took and how long it was.
fn repeat(
    begin: Instant,
    how_long: Duration,
    mut ask: impl FnMut() -> Result<usize>,
) -> Result<(Vec<Duration>, usize)> {
    let (mut latencies, mut bytes) = (Vec::new(), 0);
    while begin.elapsed() < how_long {
        interrupt::check()?;
        let begin = Instant::now();
        bytes = ask()?;
        latencies.push(begin.elapsed());
    }
    Ok((latencies, bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_counted() {
        let mut asked = 0;
        let counted = repeat(Instant::now(), Duration::from_millis(1), || {
            asked += 1;
            Ok(asked * 10)
        });
        let (latencies, bytes) = counted.unwrap();
        assert_eq!((latencies.len(), bytes), (asked, asked * 10));
    }

    #[test]
    fn figures_are_told() {
        let measured = Measured {
            p50: Duration::from_micros(250),
            p99: Duration::from_millis(2),
            calls_per_second: 12_345.6,
            cpu: Duration::from_micros(70),
            bytes: 388_500,
        };
        let rate = "p50 0.250 ms, p99 2.000 ms, 12,346 calls/s, 0.070 ms of a core each";
        assert_eq!(measured.rate(), rate);
        assert_eq!(measured.answer(), "p50 0.250 ms, 388 KB");
    }
}
