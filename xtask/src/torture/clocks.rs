//! The wall clock of one operator jumps, at a start and while it runs, with rules of retention: nothing
//! that is young is dropped. The clocks of the other nodes are right, and all of them go on.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::Duration,
};

use anyhow::{Context, Result, ensure};

use super::{
    Run,
    ask::{self, Of, Refusal},
    crowd::{HEALING, whole},
    dice::Dice,
    member::{Member, Start},
    model::{self, Books, Library},
    scene::Scene,
    score::{Fault, Score},
};

/// The clock that is wrong, as a library that is loaded before all others.
const SHIM: &str = include_str!("clock.c");
const DAY: i64 = 86_400;
/// How long a pass of retention gets after a start. Nothing depends on whether it comes.
const PASS: Duration = Duration::from_millis(1500);

pub(super) fn run(run: &Run, score: &Score) -> Result<()> {
    let mut scene = Scene::prepare(&run.setting, &[])?;
    let clock = scene.root().join("clock");
    set(&clock, 0)?;
    let library = match build(&scene.root()) {
        Ok(library) => library,
        Err(error) => {
            score.note(format!("no clock was set wrong: {error:#}"));
            return Ok(());
        }
    };
    let env = &mut scene.two.spec.env;
    env.push(("LD_PRELOAD".into(), library.into()));
    env.push(("TORTURE_CLOCK".into(), clock.clone().into()));
    scene.begin()?;
    let (operator, query) = (scene.two.http(), scene.query.http());
    let mut books = prepare(&scene.two)?;
    let mut dice = Dice::of(run.seed, "clocks");
    ensure!(is_shifted(&scene.two, &clock)?, "the clock of the node cannot be set");
    let crowd = scene.crowd(score, run.seed);
    crowd.around(|| {
        for index in 0..run.count(24, 4) {
            let shift = DAY * pick_days(&mut dice, index);
            let what = format!("jump {index}, by {} days", shift / DAY);
            jump(&mut scene.two, &clock, shift, index % 2 == 0, &mut books, score, &what)?;
            for (table, books) in &books {
                whole(score, operator, Of::Node, table, books, HEALING)?;
                whole(score, query, Of::Network, table, books, HEALING)?;
            }
            if !score.is_clean() {
                // What was dropped is gone: there is nothing more to learn.
                break;
            }
        }
        Ok(())
    })?;
    crowd.settle()?;
    scene.revive(score, "jumps of a clock")?;
    scene.end(score);
    Ok(())
}

/// Forward by more than the age first, then anywhere, also back.
fn pick_days(dice: &mut Dice, index: u64) -> i64 {
    let days = [60, -60, 400, 31, 3650, -3650, 1, 90];
    let at = if index == 0 { 0 } else { dice.index(days.len()) };
    days.get(at).copied().unwrap_or(60)
}

/// One jump: while the node runs, or while it is down; and back.
fn jump(
    member: &mut Member,
    clock: &Path,
    shift: i64,
    restarts: bool,
    books: &mut Library,
    score: &Score,
    what: &str,
) -> Result<()> {
    score.tried();
    set(clock, shift)?;
    if restarts {
        member.stop()?;
        match member.start()? {
            Start::Ready => {}
            Start::Refused(_) => {
                // A clock that cannot be right is a reason not to start, as long as it starts again.
                score.refused();
                set(clock, 0)?;
                return member.must_start();
            }
            Start::Died(told) => {
                score.violation(Fault::Died, format!("{what}: {told}"));
                set(clock, 0)?;
                return member.must_start();
            }
        }
    }
    // Asks for a pass of retention at once.
    let _ = ask::command(member.http(), RETENTION);
    thread::sleep(PASS);
    let (table, batch) =
        ("c0", books.values().map(|books| books.sent.len() as u64).max().unwrap_or(0));
    if let Some(books) = books.get_mut(table) {
        books.sent.insert(batch);
        if ask::put(member.http(), table, &model::csv(batch), &format!("{table}-{batch}")).is_ok() {
            books.acknowledged.insert(batch);
        }
    }
    if let Some(told) = member.died()? {
        score.violation(Fault::Died, format!("{told}, after {what}"));
        member.must_start()?;
    }
    set(clock, 0)
}

const RETENTION: &str = "set retention where dbms = d and age = \"30 days\"";

/// A table that has the time of its rows, and one that has only that of their insert.
fn prepare(member: &Member) -> Result<Library> {
    let mut library = Library::new();
    let node = member.http();
    for (table, has_time) in [("c0", true), ("c1", false)] {
        let books: &mut Books = library.entry(table.to_owned()).or_default();
        for batch in 0..4 {
            let csv = if has_time { model::csv(batch) } else { model::csv_without_time(batch) };
            ask::put(node, table, &csv, &format!("{table}-{batch}")).map_err(failed)?;
            books.sent.insert(batch);
            books.acknowledged.insert(batch);
        }
    }
    ask::command(node, "flush buffers where dbms = d").map_err(failed)?;
    ask::command(node, RETENTION).map_err(failed)?;
    Ok(library)
}

fn failed(refusal: Refusal) -> anyhow::Error {
    anyhow::anyhow!("a node that is well refused: {refusal}")
}

/// Whether the shim sets the node's clock.
fn is_shifted(member: &Member, clock: &Path) -> Result<bool> {
    let year = |node| -> Result<String> {
        let answer = ask::sql(node, Of::Node, "select now() as t").map_err(failed)?;
        Ok(format!("{:?}", answer.rows).chars().filter(char::is_ascii_digit).take(4).collect())
    };
    let before = year(member.http())?;
    set(clock, 800 * DAY)?;
    let after = year(member.http())?;
    set(clock, 0)?;
    Ok(before != after)
}

/// Sets the clock wrong by so many seconds, in place: the node has the file mapped.
fn set(clock: &Path, seconds: i64) -> Result<()> {
    use std::os::unix::fs::FileExt;
    let file = fs::OpenOptions::new().create(true).truncate(false).write(true).open(clock)?;
    Ok(file.write_all_at(&seconds.to_ne_bytes(), 0)?)
}

/// Compiles the clock. A machine with Rust has a C compiler: it links.
fn build(folder: &Path) -> Result<PathBuf> {
    ensure!(cfg!(target_os = "linux"), "only Linux loads a library before others");
    let (source, library) = (folder.join("clock.c"), folder.join("clock.so"));
    fs::write(&source, SHIM)?;
    let mut cc = Command::new("cc");
    cc.args(["-shared", "-fPIC", "-O1", "-o"]).arg(&library).arg(&source).arg("-ldl");
    let output = cc.output().context("there is no C compiler")?;
    ensure!(output.status.success(), "cc: {}", String::from_utf8_lossy(&output.stderr));
    Ok(library)
}
