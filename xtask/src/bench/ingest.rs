//! Rows over REST in batches of 1,000, each durable and visible before its answer.

use std::{
    path::Path,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};

use super::{
    Args, SPEC, connection::Connection, median, milliseconds, process, row, rows, thousands,
};
use crate::{interrupt, node::Node};

const BATCH: usize = 1_000;
/// How many different batches there are; they are sent again and again.
const BATCHES: usize = 50;
const CONNECTIONS: &[usize] = &[1, 4];
/// What EdgeLake takes in at best, until visible, on the same kind of machine.
const EDGELAKE: f64 = 18_600.0;

pub(super) fn run(binary: &Path, args: &Args) -> Result<()> {
    let node = Node::start(binary, SPEC)?;
    let mut sent = 0;
    for &connections in CONNECTIONS {
        let measured = measure(&node, connections, Duration::from_secs(args.seconds))?;
        sent += measured.rows;
        measured.tell(connections);
        let seen = rows::count(&mut Connection::open(node.bound.http)?)?;
        if seen != sent {
            bail!("{sent} rows were acknowledged and {seen} are there");
        }
    }
    row("memory after it", &process::memory(node.pid()).to_string());
    Ok(())
}

struct Measured {
    rows: usize,
    elapsed: Duration,
    /// Of the node, settling in the background included.
    cpu: Duration,
    latencies: Vec<Duration>,
}

impl Measured {
    fn tell(mut self, connections: usize) {
        let s = if connections == 1 { "" } else { "s" };
        let rate = self.rows as f64 / self.elapsed.as_secs_f64();
        let per_core = self.rows as f64 / self.cpu.as_secs_f64();
        let value = format!(
            "{} rows/s, p50 of a batch {}; {} rows for each second of one core; {:.0} × EdgeLake",
            thousands(rate),
            milliseconds(median(&mut self.latencies)),
            thousands(per_core),
            rate / EDGELAKE,
        );
        row(&format!("JSON in batches of 1,000, {connections} connection{s}"), &value);
    }
}

fn measure(node: &Node, connections: usize, time: Duration) -> Result<Measured> {
    let cpu = process::cpu(node.pid())?;
    let begin = Instant::now();
    let latencies = thread::scope(|scope| -> Result<Vec<Duration>> {
        let send = || send_until(node, begin + time);
        let threads: Vec<_> = (0..connections).map(|_| scope.spawn(send)).collect();
        let mut all = Vec::new();
        for thread in threads {
            all.extend(thread.join().ok().context("a thread that sends rows failed")??);
        }
        Ok(all)
    })?;
    let (elapsed, cpu) = (begin.elapsed(), process::cpu(node.pid())? - cpu);
    Ok(Measured { rows: latencies.len() * BATCH, elapsed, cpu, latencies })
}

fn send_until(node: &Node, end: Instant) -> Result<Vec<Duration>> {
    let mut connection = Connection::open(node.bound.http)?;
    let request = |batch: usize| rows::put(&connection, batch * BATCH..(batch + 1) * BATCH);
    let requests: Vec<_> = (0..BATCHES).map(request).collect();
    let mut latencies = Vec::new();
    for request in requests.iter().cycle() {
        interrupt::check()?;
        let begin = Instant::now();
        if begin >= end {
            break;
        }
        connection.ask(request)?;
        latencies.push(begin.elapsed());
    }
    Ok(latencies)
}
