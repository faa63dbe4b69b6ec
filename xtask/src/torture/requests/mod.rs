//! Hostile requests over every door of a network under a memory limit, with honest users beside. A
//! request may be answered, refused or cut off; no node dies of it, and nobody else notices.

mod bodies;
mod cancels;
mod frames;
mod peers;
mod rest;
mod statements;
mod stdio;

use std::{
    net::SocketAddr,
    thread,
    time::{Duration, Instant},
};

use anyhow::Result;

use super::{
    Run,
    ask::{self, Of, Refusal},
    crowd::Crowd,
    dice::Dice,
    model,
    scene::{Scene, until},
    score::{Fault, Score, locked, shortened},
    wire::{self, Gone, exchange},
};

/// How long a hostile request may take: a query has its own deadline, and the machine is busy.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long a query may take on these nodes, so that those that would go on for ever end soon.
const QUERY_TIME: Duration = Duration::from_secs(3);
/// How long after its deadline, or after it was cancelled, a statement may go on before that counts as a
/// fault. A second is what is promised, and the table shows how long it was; this is for machines that are busy.
const LATE_MAX: Duration = Duration::from_secs(30);

/// How long honest SQL may be refused after a hostile request, on a machine that is busy.
const ANSWERED: Duration = Duration::from_secs(90);

/// Whose door a request is thrown at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Door {
    /// The HTTP port of the query node.
    Query,
    /// The HTTP port of an operator.
    Operator,
    /// The network port of an operator.
    OperatorPeers,
    /// The network port of the master.
    MasterPeers,
}

/// A hostile request.
struct Attack {
    name: String,
    door: Door,
    bytes: Vec<u8>,
    /// How many of it come at once.
    at_once: usize,
    /// It comes from where nobody may ask anything: it must not be done.
    is_forbidden: bool,
    /// It has [`QUERY_TIME`]: what takes longer must be stopped.
    is_timed: bool,
}

impl Attack {
    fn new(name: impl Into<String>, door: Door, bytes: Vec<u8>) -> Self {
        Self { name: name.into(), door, bytes, at_once: 1, is_forbidden: false, is_timed: false }
    }

    fn forbidden(self) -> Self {
        Self { is_forbidden: true, ..self }
    }

    fn timed(self) -> Self {
        Self { is_timed: true, ..self }
    }

    fn times(self, at_once: usize) -> Self {
        Self { at_once, ..self }
    }
}

/// The addresses that requests are made for.
#[derive(Clone, Copy)]
struct Places {
    query: SocketAddr,
    operator: SocketAddr,
    operator_peers: SocketAddr,
    master_peers: SocketAddr,
}

impl Places {
    fn of(&self, door: Door) -> SocketAddr {
        match door {
            Door::Query => self.query,
            Door::Operator => self.operator,
            Door::OperatorPeers => self.operator_peers,
            Door::MasterPeers => self.master_peers,
        }
    }
}

pub(super) fn run(run: &Run, score: &Score) -> Result<()> {
    let mut scene =
        Scene::start_with(&run.setting, &["--query-time", &QUERY_TIME.as_secs().to_string()])?;
    let places = Places {
        query: scene.query.http(),
        operator: scene.one.http(),
        operator_peers: scene.one.spec.network,
        master_peers: scene.master.spec.network,
    };
    let mut dice = Dice::of(run.seed, "requests");
    let mut attacks = all(&places, &mut dice);
    shuffle(&mut attacks, &mut dice);
    // A short run has some of everything: what is thrown is drawn by lot.
    attacks.truncate(usize::try_from(run.count(u64::MAX, 110)).unwrap_or(usize::MAX));
    let crowd = scene.crowd(score, run.seed);
    crowd.around(|| {
        for (index, attack) in attacks.iter().enumerate() {
            crate::interrupt::check()?;
            let what = format!("request {index}, {}", attack.name);
            throw(attack, &places, score, &what);
            let is_well = scene.revive(score, &what)?;
            if !is_well || index % 5 == 4 {
                control(&mut scene, &crowd, score, &what)?;
            }
        }
        stdio::run(run, score, run.count(60, 12), &mut dice)?;
        cancels::run(&scene, score, run.count(60, 12), &mut dice)?;
        idle(&mut scene, &crowd, score, run.count(400, 60))
    })?;
    crowd.settle()?;
    scene.end(score);
    Ok(())
}

fn all(places: &Places, dice: &mut Dice) -> Vec<Attack> {
    let mut attacks = statements::attacks(places);
    attacks.extend(rest::attacks(places, dice));
    attacks.extend(bodies::attacks(places, dice));
    attacks.extend(frames::attacks(places, dice));
    attacks.extend(peers::attacks(places, dice));
    attacks
}

fn shuffle<T>(items: &mut [T], dice: &mut Dice) {
    for index in (1..items.len()).rev() {
        items.swap(index, dice.index(index + 1));
    }
}

/// Sends a request, as often at once as it comes, and counts what is said to it.
fn throw(attack: &Attack, places: &Places, score: &Score, what: &str) {
    let address = places.of(attack.door);
    thread::scope(|scope| {
        for _ in 0..attack.at_once {
            scope.spawn(|| {
                score.tried();
                let begin = Instant::now();
                let reply = exchange(address, &attack.bytes, PATIENCE);
                count(attack, &reply, score, what);
                if attack.is_timed && begin.elapsed() > QUERY_TIME {
                    stopped(begin.elapsed() - QUERY_TIME, score, what);
                }
            });
        }
    });
}

/// Counts a statement that ended so long after it had to.
fn stopped(late: Duration, score: &Score, what: &str) {
    score.stopped(late);
    if late > LATE_MAX {
        score.violation(Fault::Died, format!("{what}: it went on for {late:?} after its end"));
    }
}

fn count(attack: &Attack, reply: &Result<wire::Reply, Gone>, score: &Score, what: &str) {
    let body = reply.as_ref().map(|reply| shortened(&reply.text(), 200)).unwrap_or_default();
    match reply.as_ref().map(|reply| reply.status) {
        Ok(status) if attack.is_forbidden && status < 400 => {
            score.violation(Fault::Wrong, format!("{what}: done for a stranger: {status} {body}"));
        }
        Ok(500) => score.violation(Fault::Wrong, format!("{what}: an internal error: {body}")),
        Ok(400..) => score.refused(),
        Ok(_) => score.right(),
        // A connection may be cut; whether the node lives is looked at next.
        Err(Gone::Cut(_)) => score.refused(),
        Err(Gone::Silent) => {
            score.violation(Fault::Died, format!("{what}: no answer in {PATIENCE:?}"));
        }
    }
}

/// An honest query is answered. A node that answers no more counts as dead, and is started again.
fn control(scene: &mut Scene, crowd: &Crowd<'_>, score: &Score, what: &str) -> Result<()> {
    let books = locked(&crowd.library).get("w0").cloned().unwrap_or_default();
    for (node, of) in [(scene.one.http(), Of::Node), (scene.query.http(), Of::Network)] {
        let is_answered = until(ANSWERED, || {
            let answer = ask::sql(node, of, &model::statement("w0"));
            Ok(match answer {
                Err(Refusal::Gone(Gone::Silent)) => false,
                Err(Refusal::Said(503, _)) => false,
                Err(_) => true,
                Ok(answer) => {
                    // One operator has its part only: the network's answers are what is compared.
                    if of == Of::Network {
                        super::crowd::judge(
                            score,
                            Ok(answer),
                            &books.acknowledged,
                            &sent(crowd),
                            what,
                        );
                    }
                    true
                }
            })
        })?;
        if !is_answered {
            score.violation(Fault::Died, format!("SQL is not answered any more, after {what}"));
            for member in scene.members() {
                member.end_now();
                member.must_start()?;
            }
        }
    }
    Ok(())
}

fn sent(crowd: &Crowd<'_>) -> std::collections::BTreeSet<u64> {
    locked(&crowd.library).get("w0").map(|books| books.sent.clone()).unwrap_or_default()
}

/// Many connections that say nothing, or half of something, while an honest query is asked.
fn idle(scene: &mut Scene, crowd: &Crowd<'_>, score: &Score, connections: u64) -> Result<()> {
    use std::io::Write;
    let node = scene.query.http();
    let halves: [&[u8]; 4] = [
        b"",
        b"GET / HTTP/1.1\r\nhost: x\r\ncomm",
        b"PUT / HTTP/1.1\r\nhost: 127.0.0.1\r\ndbms: d\r\ntable: t\r\ncontent-length: 100000\r\n\r\n[",
        b"POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 999\r\n\r\n{",
    ];
    let mut open = Vec::new();
    for index in 0..connections {
        score.tried();
        // Whom the node does not take has been refused.
        let Ok(mut stream) = wire::connect(node) else {
            score.refused();
            continue;
        };
        let half = halves.get(usize::try_from(index % 4)?).copied().unwrap_or_default();
        let _ = stream.write_all(half);
        score.right();
        open.push(stream);
    }
    let what = format!("{} idle connections", open.len());
    control(scene, crowd, score, &what)?;
    drop(open);
    scene.revive(score, &what).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_enough_requests_and_a_seed_makes_the_same_ones() {
        let place: SocketAddr = "127.0.0.1:1".parse().unwrap();
        let places =
            Places { query: place, operator: place, operator_peers: place, master_peers: place };
        let made = || all(&places, &mut Dice::new(5));
        let (first, again) = (made(), made());
        assert!(first.iter().map(|attack| attack.at_once).sum::<usize>() >= 500);
        assert!(first.iter().zip(&again).all(|(a, b)| a.bytes == b.bytes && a.name == b.name));
        let mut names: Vec<&str> = first.iter().map(|attack| attack.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), first.len(), "two requests have one name");
    }
}
