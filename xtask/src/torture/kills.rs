//! kill -9 at any moment: while rows come in, are flushed and merged, while a node starts.

use std::{thread, time::Duration};

use anyhow::Result;

use super::{
    Run,
    dice::Dice,
    member::{Member, Start},
    scene::Scene,
    score::{Fault, Score},
};

pub(super) fn run(run: &Run, score: &Score) -> Result<()> {
    let kills = run.count(330, 16);
    let mut scene = Scene::start(&run.setting)?;
    let crowd = scene.crowd(score, run.seed);
    let Scene { master, one, two, query, .. } = &mut scene;
    let shares =
        [(one, kills * 4 / 10), (two, kills * 4 / 10), (master, kills / 10), (query, kills / 10)];
    crowd.around(|| {
        thread::scope(|scope| {
            let killers = shares.map(|(member, kills)| {
                let dice = Dice::of(run.seed, &format!("kills of {}", member.spec.role));
                scope.spawn(move || kill(member, kills, dice, score))
            });
            killers.into_iter().try_for_each(|killer| match killer.join() {
                Ok(result) => result,
                Err(_) => anyhow::bail!("a thread that kills has panicked"),
            })
        })
    })?;
    crowd.settle()?;
    scene.end(score);
    Ok(())
}

fn kill(member: &mut Member, kills: u64, mut dice: Dice, score: &Score) -> Result<()> {
    for index in 0..kills {
        crate::interrupt::check()?;
        // The master and the query node are killed more seldom, and all of them at any moment.
        let most = if member.spec.role == "operator" { 500 } else { 2000 };
        thread::sleep(Duration::from_millis(dice.below(most)));
        if let Some(told) = member.died()? {
            score.violation(Fault::Died, format!("{told}, before kill {index}"));
        }
        member.end_now();
        score.tried();
        if dice.below(4) == 0 {
            // Once more while it starts, and has something to put right.
            member.begin()?;
            thread::sleep(Duration::from_millis(dice.below(200)));
            member.end_now();
            score.tried();
        }
        match member.start()? {
            Start::Ready => {}
            Start::Refused(told) | Start::Died(told) => {
                let name = &member.spec.name;
                score.violation(
                    Fault::Died,
                    format!("\"{name}\" does not start after kill {index}: {told}"),
                );
                return Ok(());
            }
        }
    }
    Ok(())
}
