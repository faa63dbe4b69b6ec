//! Operators that are not what the ledger says: back with an empty disk, from an older copy, and a
//! stranger under an operator's name. The network's answers are whole, or say that they are not.

use std::{fs, path::Path, time::Duration};

use anyhow::{Context, Result};

use super::{
    Run,
    ask::{self, DBMS, Of},
    crowd::{HEALING, judge, whole},
    member::{Member, Start, copy_folder, restore_folder},
    model::{self, Books},
    scene::{Scene, until},
    score::{Fault, Score},
};

/// How long a changed operator is asked about, and how often in that time at most.
const ASKING: Duration = Duration::from_secs(8);
const QUESTIONS: usize = 12;

/// What an operator may be instead of itself.
#[derive(Clone, Copy, Debug)]
enum Wrong {
    /// The same node with an empty disk.
    Wiped,
    /// The same node with the disk of some time ago.
    Older,
    /// Another node under its name and at its address.
    Stranger,
    /// Another node under its name, elsewhere.
    Double,
}

pub(super) fn run(run: &Run, score: &Score) -> Result<()> {
    let mut rounds = Vec::new();
    for _ in 0..run.count(3, 1) {
        rounds.extend([Wrong::Wiped, Wrong::Older, Wrong::Stranger, Wrong::Double]);
    }
    for (index, wrong) in rounds.into_iter().enumerate() {
        // A network each: what one of them does to it must not be what the next one finds.
        let mut scene = Scene::start(&run.setting)?;
        one(&mut scene, wrong, run, score, &format!("round {index}, {wrong:?}"))?;
        scene.end(score);
    }
    Ok(())
}

fn one(scene: &mut Scene, wrong: Wrong, run: &Run, score: &Score, what: &str) -> Result<()> {
    let crowd = scene.crowd(score, run.seed);
    crowd.introduce("o")?;
    let older = scene.root().join("older");
    scene.two.stop()?;
    copy_folder(&scene.two.data, &older)?;
    scene.two.must_start()?;
    for batch in 1000..1010 {
        crowd.store(if batch % 2 == 0 { scene.one.http() } else { scene.two.http() }, "o", batch);
    }
    let books = super::score::locked(&crowd.library).get("o").cloned().unwrap_or_default();
    let flush = format!("flush buffers where dbms = {DBMS}");
    let _ = ask::command(scene.two.http(), &flush);
    whole(score, scene.query.http(), Of::Network, "o", &books, HEALING)?;

    crowd.beside(|| replaced(scene, wrong, run, &books, score, what))?;
    crowd.settle()
}

/// The second operator is something else for a while, and then itself again.
fn replaced(
    scene: &mut Scene,
    wrong: Wrong,
    run: &Run,
    books: &Books,
    score: &Score,
    what: &str,
) -> Result<()> {
    let (own, older) = (scene.root().join("own"), scene.root().join("older"));
    score.tried();
    let is_stopped = scene.two.stop()?;
    if !is_stopped {
        score.violation(
            Fault::Died,
            format!("{what}: an operator did not end when it was asked to"),
        );
    }
    let mut impostor = disguise(scene, wrong, run, &own, &older)?;
    let started = impostor.as_mut().unwrap_or(&mut scene.two).start()?;
    match started {
        Start::Ready => {}
        // An operator that knows that it is not itself may say so by not starting.
        Start::Refused(_) => score.refused(),
        Start::Died(told) => score.violation(Fault::Died, format!("{what}: {told}")),
    }
    question(scene, books, score, what)?;
    drop(impostor.take());
    back(scene, wrong, &own)?;
    match scene.two.start()? {
        Start::Ready => whole(score, scene.query.http(), Of::Network, "o", books, HEALING)?,
        Start::Refused(told) | Start::Died(told) => {
            let told = format!("{what}: the true operator does not start any more: {told}");
            score.violation(Fault::Lost, told);
        }
    }
    Ok(())
}

/// Makes the second operator what it is not. Another node than it is given back.
fn disguise(
    scene: &mut Scene,
    wrong: Wrong,
    run: &Run,
    own: &Path,
    older: &Path,
) -> Result<Option<Member>> {
    match wrong {
        Wrong::Wiped => fs::rename(&scene.two.data, own)?,
        Wrong::Older => {
            fs::rename(&scene.two.data, own)?;
            restore_folder(older, &scene.two.data)?;
        }
        Wrong::Stranger | Wrong::Double => {
            let mut spec = scene.two.spec.clone();
            if matches!(wrong, Wrong::Double) {
                spec.http = super::member::free_address()?;
                spec.network = super::member::free_address()?;
            }
            let folder = scene.root().join("impostor");
            return Ok(Some(Member::new(&run.setting, spec, folder)?));
        }
    }
    Ok(None)
}

/// Makes it what it was.
fn back(scene: &mut Scene, wrong: Wrong, own: &Path) -> Result<()> {
    scene.two.end_now();
    if matches!(wrong, Wrong::Wiped | Wrong::Older) {
        if scene.two.data.exists() {
            fs::remove_dir_all(&scene.two.data)?;
        }
        fs::rename(own, &scene.two.data).context("the operator's own folder is gone")?;
    }
    Ok(())
}

/// Asks the network, for a while: through REST, and as an agent.
fn question(scene: &Scene, books: &Books, score: &Score, what: &str) -> Result<()> {
    let (query, mut asked, before) = (scene.query.http(), 0, score.count(Fault::Short));
    until(ASKING, || {
        let statement = model::statement("o");
        for of in [Of::Network, Of::Subset] {
            let answer = ask::sql(query, of, &statement);
            judge(score, answer, &books.acknowledged, &books.sent, &format!("{what}: {of:?}"));
        }
        let answer = ask::agent(query, &statement);
        judge(score, answer, &books.acknowledged, &books.sent, &format!("{what}: agent"));
        asked += 1;
        // One wrong answer is as good as twelve.
        Ok(asked >= QUESTIONS || score.count(Fault::Short) > before)
    })
    .map(drop)
}
