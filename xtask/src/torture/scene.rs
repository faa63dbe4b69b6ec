//! The network that most parts torment: a master, two operators and a query node.

use std::{
    path::PathBuf,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result};
use tempfile::TempDir;

use super::{
    crowd::Crowd,
    member::{Member, Setting, Spec},
    score::{Fault, Score},
};

/// The nodes, in the order in which they start.
pub(super) struct Scene {
    pub(super) master: Member,
    pub(super) one: Member,
    pub(super) two: Member,
    pub(super) query: Member,
    root: Option<TempDir>,
}

impl Scene {
    /// Starts all nodes, without rows.
    pub(super) fn start(setting: &Setting) -> Result<Self> {
        Self::start_with(setting, &[])
    }

    /// The same with flags for all of them.
    pub(super) fn start_with(setting: &Setting, flags: &[&str]) -> Result<Self> {
        let mut scene = Self::prepare(setting, flags)?;
        scene.begin()?;
        Ok(scene)
    }

    /// All nodes, down, for a part that changes one of them before it starts.
    pub(super) fn prepare(setting: &Setting, flags: &[&str]) -> Result<Self> {
        let root = folder()?;
        let id = std::process::id();
        let member = |name: &str, role, master| {
            let mut spec = Spec::new(&format!("{name}-{id}"), role, master)?;
            spec.flags.extend(flags.iter().map(|&flag| flag.to_owned()));
            Member::new(setting, spec, root.path().join(name))
        };
        let master = member("m", "master", None)?;
        let at = Some(master.spec.network);
        let (one, two) = (member("one", "operator", at)?, member("two", "operator", at)?);
        let query = member("q", "query", at)?;
        Ok(Self { master, one, two, query, root: Some(root) })
    }

    /// Starts all nodes.
    pub(super) fn begin(&mut self) -> Result<()> {
        self.members().into_iter().try_for_each(Member::must_start)
    }

    /// Writers of both operators, and those who ask the query node.
    pub(super) fn crowd<'a>(&self, score: &'a Score, seed: u64) -> Crowd<'a> {
        Crowd::new(score, &[self.one.http(), self.two.http()], self.query.http(), seed)
    }

    /// The same without a writer of the second operator, whose folder is put back to what it was.
    pub(super) fn crowd_of_first<'a>(&self, score: &'a Score, seed: u64) -> Crowd<'a> {
        Crowd::new(score, &[self.one.http()], self.query.http(), seed)
    }

    pub(super) fn members(&mut self) -> [&mut Member; 4] {
        [&mut self.master, &mut self.one, &mut self.two, &mut self.query]
    }

    /// Counts the nodes that died, and starts them again.
    pub(super) fn revive(&mut self, score: &Score, after: &str) -> Result<bool> {
        let mut is_well = true;
        for member in self.members() {
            if let Some(told) = member.died()? {
                score.violation(Fault::Died, format!("{told}, after {after}"));
                is_well = false;
                member.must_start().context("it does not start again")?;
            }
        }
        Ok(is_well)
    }

    /// Where it keeps its folders.
    pub(super) fn root(&self) -> PathBuf {
        self.root.as_ref().map(|root| root.path().to_owned()).unwrap_or_default()
    }

    /// Ends all nodes. Their folders stay when they show a violation.
    pub(super) fn end(mut self, score: &Score) {
        self.members().into_iter().for_each(Member::end_now);
        if let Some(root) = self.root.take() {
            keep(root, score);
        }
    }
}

/// Throws a folder away, unless something in it was violated.
pub(super) fn keep(folder: TempDir, score: &Score) {
    if !score.is_clean() {
        score.note(format!("the data folders are kept in {}", folder.keep().display()));
    }
}

/// A folder for nodes.
pub(super) fn folder() -> Result<TempDir> {
    Ok(tempfile::Builder::new().prefix("edgemere-torture-").tempdir()?)
}

/// Looks until something is so, for at most as long as said.
pub(super) fn until(most: Duration, mut look: impl FnMut() -> Result<bool>) -> Result<bool> {
    let begin = Instant::now();
    loop {
        crate::interrupt::check()?;
        if look()? {
            return Ok(true);
        }
        if begin.elapsed() > most {
            return Ok(false);
        }
        thread::sleep(Duration::from_millis(50));
    }
}
