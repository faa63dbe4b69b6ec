//! Wrong masters at the right address: an empty one, an older copy, one of another network. No node
//! that follows loses a policy by it, and with the right one back all goes on.

use std::{fs, net::SocketAddr, path::PathBuf, thread, time::Duration};

use anyhow::{Context, Result};
use serde_json::json;

use super::{
    Run,
    ask::{self, Refusal},
    crowd::HEALING,
    dice::Dice,
    member::{Member, Start, copy_folder, restore_folder},
    scene::{Scene, until},
    score::{Fault, Score},
};

/// How long nodes get to meet a wrong master. Nothing depends on whether they do.
const MEETING: Duration = Duration::from_secs(4);

/// What a master may be instead of itself.
#[derive(Clone, Copy, Debug)]
enum Wrong {
    Empty,
    Older,
    Foreign,
}

pub(super) fn run(run: &Run, score: &Score) -> Result<()> {
    let mut scene = Scene::start(&run.setting)?;
    let mut dice = Dice::of(run.seed, "masters");
    let crowd = scene.crowd(score, run.seed);
    crowd.introduce("w0")?;
    let root = scene.root();
    let foreign = foreign(&mut scene, &root)?;
    let mut names = Vec::new();
    push(&mut names, "before", &scene, score)?;
    let older = root.join("older");
    scene.master.stop()?;
    copy_folder(&scene.master.data, &older)?;
    scene.master.must_start()?;
    push(&mut names, "after", &scene, score)?;
    crowd.around(|| {
        for index in 0..run.count(9, 3) {
            crate::interrupt::check()?;
            let wrong = [Wrong::Empty, Wrong::Older, Wrong::Foreign];
            let wrong =
                wrong.get(usize::try_from(index % 3)?).copied().context("no such master")?;
            let folder = match wrong {
                Wrong::Empty => None,
                Wrong::Older => Some(&older),
                Wrong::Foreign => Some(&foreign),
            };
            replace(&mut scene, folder, &names, score, &format!("{index}: {wrong:?}"), &mut dice)?;
            push(&mut names, &format!("round{index}"), &scene, score)?;
        }
        Ok(())
    })?;
    crowd.settle()?;
    scene.end(score);
    Ok(())
}

/// A master of another network, at the same address, with policies of its own.
fn foreign(scene: &mut Scene, root: &std::path::Path) -> Result<PathBuf> {
    let (own, foreign) = (root.join("own"), root.join("foreign"));
    scene.master.stop()?;
    fs::rename(&scene.master.data, &own)?;
    // The others must not meet it while it is made.
    let address = scene.master.spec.network;
    scene.master.spec.network = super::member::free_address()?;
    scene.master.must_start()?;
    for index in 0..3 {
        let policy = json!({ "device": { "name": format!("foreign{index}") } });
        ask::command(scene.master.http(), &format!("blockchain push {policy}"))
            .map_err(|refusal| anyhow::anyhow!("a foreign master refused: {refusal}"))?;
    }
    scene.master.stop()?;
    scene.master.spec.network = address;
    copy_folder(&scene.master.data, &foreign)?;
    fs::remove_dir_all(&scene.master.data)?;
    fs::rename(&own, &scene.master.data)?;
    scene.master.must_start()?;
    Ok(foreign)
}

/// Pushes policies on an operator, and waits until all nodes have all that were ever acknowledged.
fn push(names: &mut Vec<String>, what: &str, scene: &Scene, score: &Score) -> Result<()> {
    for index in 0..3 {
        let name = format!("{what}-{index}");
        let policy = json!({ "device": { "name": name, "serial": index } });
        if ask::command(scene.one.http(), &format!("blockchain push {policy}")).is_ok() {
            names.push(name);
        }
    }
    let nodes = [&scene.master, &scene.one, &scene.two, &scene.query];
    for node in nodes {
        let mut missing = Vec::new();
        let is_whole = until(HEALING, || {
            let Ok(lost) = without(node.http(), names) else { return Ok(false) };
            missing = lost;
            Ok(missing.is_empty())
        })?;
        if is_whole {
            score.right();
        } else {
            let name = &node.spec.name;
            score.violation(
                Fault::Lost,
                format!("{what}: \"{name}\" is without {missing:?} in {HEALING:?}"),
            );
        }
    }
    Ok(())
}

/// The acknowledged policies that a node does not have.
fn without(node: SocketAddr, names: &[String]) -> Result<Vec<String>, Refusal> {
    let text = ask::command(node, "blockchain get device")?;
    Ok(names.iter().filter(|name| !text.contains(&format!("\"{name}\""))).cloned().collect())
}

/// Has a wrong master for a while, and then the right one again.
fn replace(
    scene: &mut Scene,
    folder: Option<&PathBuf>,
    names: &[String],
    score: &Score,
    what: &str,
    dice: &mut Dice,
) -> Result<()> {
    score.tried();
    let own = scene.root().join("own");
    scene.master.stop()?;
    fs::rename(&scene.master.data, &own)?;
    if let Some(folder) = folder {
        restore_folder(folder, &scene.master.data)?;
    }
    if let Start::Died(told) = scene.master.start()? {
        score.violation(Fault::Died, format!("{what}: {told}"));
    }
    // One that starts while the wrong master is there must not lose anything either.
    if dice.below(2) == 0 {
        scene.two.stop()?;
        if let Start::Refused(told) | Start::Died(told) = scene.two.start()? {
            score.violation(Fault::Died, format!("{what}: an operator does not start: {told}"));
        }
    }
    thread::sleep(MEETING);
    for node in [&scene.one, &scene.two, &scene.query] {
        kept(node, names, score, what);
    }
    scene.master.stop()?;
    fs::remove_dir_all(&scene.master.data)?;
    fs::rename(&own, &scene.master.data)?;
    scene.master.must_start()?;
    scene.revive(score, what).map(drop)
}

fn kept(node: &Member, names: &[String], score: &Score, what: &str) {
    match without(node.http(), names) {
        Ok(missing) if missing.is_empty() => score.right(),
        Ok(missing) => {
            let (name, missing, all) = (&node.spec.name, missing.len(), names.len());
            let told = format!("master {what}: \"{name}\" is without {missing} of {all} policies");
            score.violation(Fault::Lost, told);
        }
        Err(_) => score.refused(),
    }
}
