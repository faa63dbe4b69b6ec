//! Statements that go on for as long as they may, cancelled in the middle: how long each of them goes on
//! after that is measured.

use std::{
    net::SocketAddr,
    thread,
    time::{Duration, Instant},
};

use anyhow::Result;
use serde_json::{Value, json};

use super::{LATE_MAX, statements::statements, stopped};
use crate::torture::{
    ask::{self, DBMS, Refusal},
    dice::Dice,
    scene::{Scene, until},
    score::Score,
    wire::{PATIENCE, exchange, request},
};

/// The names of statements that compute or multiply for long, also within one expression and one batch.
const LONG: [&str; 16] = [
    "levenshtein",
    "levenshtein of a constant",
    "a costly regex",
    "a costly LIKE",
    "a costly NOT ILIKE",
    "a costly ~",
    "a costly SIMILAR TO",
    "a costly regexp_count",
    "an endless recursion",
    "a recursion that doubles",
    "cross join",
    "cross join in order",
    "string_agg",
    "count distinct",
    "14 tables multiplied",
    "CTEs that multiply",
];

/// How long a statement runs at most before it is cancelled: less than it has.
const RUNS_MS: u64 = 1_500;

pub(super) fn run(scene: &Scene, score: &Score, count: u64, dice: &mut Dice) -> Result<()> {
    let all = statements();
    let long: Vec<_> = all.iter().filter(|(name, _)| LONG.contains(&name.as_str())).collect();
    for index in 0..count {
        crate::interrupt::check()?;
        let Some((name, statement)) = dice.pick(&long) else { break };
        let is_local = dice.below(2) == 0;
        let node = if is_local { scene.one.http() } else { scene.query.http() };
        let what = format!("cancel {index}, of {name}");
        score.tried();
        match cancel(node, is_local, statement, Duration::from_millis(dice.below(RUNS_MS)))? {
            Some(late) => {
                score.right();
                stopped(late, score, &what);
            }
            None => score.refused(),
        }
    }
    let threads = [&scene.one, &scene.two, &scene.query].map(|node| stuck_threads(node.http()));
    score.note(format!("{} threads of SQL were replaced", threads.iter().sum::<u64>()));
    Ok(())
}

/// Runs a statement as a job, cancels it, and gives how long it went on then; nothing when it was
/// refused, or had ended before.
fn cancel(
    node: SocketAddr,
    is_local: bool,
    statement: &str,
    after: Duration,
) -> Result<Option<Duration>> {
    let destination = if is_local { "local" } else { "network" };
    let job = json!({ "dbms": DBMS, "sql": statement, "destination": destination }).to_string();
    let Ok(started) = ask::post(node, "/api/v1/jobs", "application/json", &[], job.as_bytes())
    else {
        return Ok(None);
    };
    let told: Value = serde_json::from_slice(&started.body).unwrap_or_default();
    let Some(id) = told.get("id").and_then(Value::as_str) else { return Ok(None) };
    thread::sleep(after);
    let path = format!("/api/v1/jobs/{id}");
    if state(node, &path)? != "running" {
        return Ok(None);
    }
    let begin = Instant::now();
    let _ =
        exchange(node, &request(&format!("DELETE {path}"), &node.to_string(), &[], b""), PATIENCE);
    until(LATE_MAX * 2, || Ok(state(node, &path)? != "running"))?;
    Ok(Some(begin.elapsed()))
}

/// The state of a job; that of one that is not known any more is "gone".
fn state(node: SocketAddr, path: &str) -> Result<String> {
    match ask::get(node, path) {
        Ok(reply) => {
            let told: Value = serde_json::from_slice(&reply.body).unwrap_or_default();
            Ok(told.get("state").and_then(Value::as_str).unwrap_or_default().to_owned())
        }
        Err(Refusal::Said(404 | 410, _)) => Ok("gone".to_owned()),
        // A node that is too busy to tell is asked again.
        Err(_) => Ok("running".to_owned()),
    }
}

/// How many threads a node has replaced because a statement did not let them go.
fn stuck_threads(node: SocketAddr) -> u64 {
    let metrics = ask::get(node, "/metrics").map(|reply| reply.text()).unwrap_or_default();
    let line = metrics.lines().find(|line| line.starts_with("edgemere_sql_stuck_threads"));
    line.and_then(|line| line.rsplit_once(' ')?.1.parse().ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_statement_that_is_cancelled_exists() {
        let all = statements();
        for name in LONG {
            assert!(all.iter().any(|(known, _)| known == name), "no statement \"{name}\"");
        }
    }
}
