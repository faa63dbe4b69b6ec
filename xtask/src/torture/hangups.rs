//! Writers and readers who hang up at any byte and at any moment. What a writer left behind is in the
//! answers of the network or nowhere, and what a reader left behind ends.

use std::{
    io::{Read, Write},
    net::{Shutdown, SocketAddr},
    sync::Mutex,
    thread,
    time::{Duration, Instant},
};

use anyhow::Result;

use super::{
    Run,
    ask::{self, DBMS, Of},
    crowd::{HEALING, whole},
    dice::Dice,
    model::{self, Books, Found, Library},
    scene::{Scene, until},
    score::{Fault, Score, locked},
    wire::{connect, request},
};

/// How many hang up at the same time: the more there are, the longer each of them takes.
const AT_ONCE: u64 = 12;

/// The batch that an honest writer stores on the first operator, and that of the one who hangs up.
const HONEST: u64 = 1;
const HUNG_UP: u64 = 2;

pub(super) fn run(run: &Run, score: &Score) -> Result<()> {
    let mut scene = Scene::start(&run.setting)?;
    let nodes = [scene.one.http(), scene.two.http(), scene.query.http()];
    let [one, two, query] = nodes;
    let crowd = scene.crowd(score, run.seed);
    let library = Mutex::new(Library::new());
    let (writers, readers) = (run.count(600, 60), run.count(120, 24));
    crowd.around(|| {
        thread::scope(|scope| {
            let threads: Vec<_> = (0..AT_ONCE)
                .map(|thread| {
                    let library = &library;
                    scope.spawn(move || -> Result<()> {
                        let mut dice = Dice::of(run.seed, &format!("hang-ups {thread}"));
                        for index in (thread..writers).step_by(AT_ONCE as usize) {
                            crate::interrupt::check()?;
                            write(&format!("h{index}"), [one, two], &mut dice, library, score);
                        }
                        for _ in 0..readers / AT_ONCE {
                            crate::interrupt::check()?;
                            read(query, &mut dice, score);
                        }
                        Ok(())
                    })
                })
                .collect();
            threads.into_iter().try_for_each(|thread| match thread.join() {
                Ok(result) => result,
                Err(_) => anyhow::bail!("a thread that hangs up has panicked"),
            })
        })
    })?;
    for (table, mut books) in std::mem::take(&mut *locked(&library)) {
        left_behind(two, &table, &mut books)?;
        announced(score, query, &table, &books)?;
    }
    ended(score, [("one", one), ("two", two), ("q", query)])?;
    crowd.settle()?;
    scene.revive(score, "hang-ups")?;
    scene.end(score);
    Ok(())
}

/// An honest writer stores a batch of a new table on one operator; another hangs up on the other one.
fn write(
    table: &str,
    [one, two]: [SocketAddr; 2],
    dice: &mut Dice,
    library: &Mutex<Library>,
    score: &Score,
) {
    let mut books = Books::default();
    books.sent.extend([HONEST, HUNG_UP]);
    let begun = Instant::now();
    if ask::put(one, table, &model::csv(HONEST), &format!("{table}-1")).is_ok() {
        books.acknowledged.insert(HONEST);
    }
    // How long a new table takes on this machine now, from the first byte until it is announced: who hangs
    // up within that time does so before, while and after the rows are stored and the table is announced.
    let whole = u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX);
    let key = format!("{table}-2");
    let body = model::csv(HUNG_UP);
    let headers = [("content-type", "text/csv"), ("idempotency-key", key.as_str())];
    let path = format!("POST /api/v1/ingest/{DBMS}/{table}");
    let bytes = request(&path, &two.to_string(), &headers, body.as_bytes());
    // Mostly after the whole request: that is when there is something to be left behind.
    let sent = if dice.below(4) == 0 { dice.index(bytes.len()) } else { bytes.len() };
    if let Ok(mut stream) = connect(two) {
        let _ = stream.write_all(bytes.get(..sent).unwrap_or(&bytes));
        let most = if dice.below(3) == 0 { 2_000 } else { whole.clamp(2_000, 1_000_000) };
        thread::sleep(Duration::from_micros(dice.below(most)));
        let _ = stream.shutdown(Shutdown::Both);
    }
    score.tried();
    // Some come back, as a writer does who did not hear the answer.
    if dice.below(3) == 0 && ask::put(two, table, &body, &key).is_ok() {
        books.acknowledged.insert(HUNG_UP);
    }
    locked(library).insert(table.to_owned(), books);
}

/// What the operator has of the writer who hung up must be in the network's answers as well.
fn left_behind(two: SocketAddr, table: &str, books: &mut Books) -> Result<()> {
    let mut is_there = false;
    until(HEALING, || {
        // A table that was never made has no rows; one that cannot be asked now is asked again.
        let answer = ask::sql(two, Of::Node, &model::statement(table));
        let all = [HUNG_UP].into();
        is_there = answer
            .as_ref()
            .is_ok_and(|answer| model::check(answer, &all, &books.sent) == Found::Right);
        Ok(answer.is_ok() || matches!(answer, Err(ask::Refusal::Said(400..=499, _))))
    })?;
    if is_there {
        books.acknowledged.insert(HUNG_UP);
    }
    Ok(())
}

/// The network has all that its operators have, soon, and until then it does not say that it has.
fn announced(score: &Score, query: SocketAddr, table: &str, books: &Books) -> Result<()> {
    let mut last = None;
    let is_whole = until(ANNOUNCED, || {
        last = ask::sql(query, Of::Network, &model::statement(table)).ok();
        Ok(last.as_ref().is_some_and(|answer| {
            model::check(answer, &books.acknowledged, &books.sent) == Found::Right
        }))
    })?;
    match last {
        _ if is_whole => score.right(),
        Some(answer) if !answer.is_partial => {
            let what = format!(
                "table \"{table}\": the operators have {:?}, the network answers {:?} \
                                and names nothing missing, after {ANNOUNCED:?}",
                books.acknowledged, answer.rows
            );
            score.violation(Fault::Short, what);
        }
        _ => whole(score, query, Of::Network, table, books, HEALING)?,
    }
    Ok(())
}

/// How long the announcement of a table may take: far longer than it does.
const ANNOUNCED: Duration = Duration::from_secs(20);

/// A reader takes some bytes of many rows, and is gone.
fn read(query: SocketAddr, dice: &mut Dice, score: &Score) {
    let statement = "select a.id, b.s, c.v from w0 a, w0 b, w0 c";
    let command = format!("sql {DBMS} format = ndjson and stat = false {statement}");
    let headers = [("command", command.as_str()), ("destination", "network")];
    let bytes = request("GET /", &query.to_string(), &headers, b"");
    if let Ok(mut stream) = connect(query) {
        let _ = stream.write_all(&bytes);
        let _ = stream.set_read_timeout(Some(Duration::from_millis(1 + dice.below(400))));
        let mut some = vec![0; 1 + dice.index(100_000)];
        let _ = stream.read(&mut some);
    }
    score.tried();
}

/// No query goes on whose reader is gone.
fn ended(score: &Score, nodes: [(&str, SocketAddr); 3]) -> Result<()> {
    for (name, node) in nodes {
        let mut last = String::new();
        let is_idle = until(HEALING, || {
            let metrics = ask::get(node, "/metrics").map(|reply| reply.text()).unwrap_or_default();
            let line = metrics.lines().find(|line| line.starts_with("edgemere_queries_running"));
            last = line.unwrap_or("no figure").to_owned();
            Ok(last.ends_with(" 0"))
        })?;
        if is_idle {
            score.right();
        } else {
            let what = format!("\"{name}\" goes on with queries that nobody reads: {last}");
            score.violation(Fault::Died, what);
        }
    }
    Ok(())
}
