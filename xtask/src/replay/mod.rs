//! `cargo xtask replay`: EdgeLake's captured exchanges, sent again and compared.
//!
//! ```text
//! 1  exchange     the captures, in the order they are replayed in
//! 2  class        which of them are sent and compared now
//! 3  stage        the nodes: five of our own, or others by their address
//! 4  cues         what must happen first: policies seeded, rows stored, a node stopped
//! 5  ports        captured ports to bound ones, in requests, seeds and replies
//! 6  form, masks  what a reply says, without layout and without what depends on the run
//! 7  asked        what a query leaves open: the order of its rows, and which they are
//! 8  compare      ours against theirs; same: but for the last digits of numbers
//! 9  differences  where we differ on purpose, and what is right where EdgeLake is wrong
//! 10 report       `N of M match`, and what does not
//! ```

mod asked;
mod class;
mod compare;
mod cues;
mod differences;
mod exchange;
mod form;
mod masks;
pub(crate) mod mcp;
pub(crate) mod page;
mod ports;
mod report;
mod rows;
mod same;
mod stage;

use anyhow::{Result, bail};

use crate::{
    cargo, interrupt,
    replay::{
        class::{Class, class},
        compare::{Rules, compare, dishonest, settled},
        cues::CUES,
        differences::Differences,
        exchange::Exchange,
        masks::Masks,
        report::{Mismatch, Report},
        stage::Stage,
    },
};

/// The captured requests, which are also a start for the fuzzer.
pub(crate) fn captured_commands() -> Result<Vec<(String, String)>> {
    let exchanges = exchange::load()?.into_iter();
    Ok(exchanges.filter_map(|exchange| Some((exchange.command()?, exchange.id))).collect())
}

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Ask nodes that run already, instead of five of our own: URL for the query node, or NODE=URL
    #[arg(long, value_name = "[NODE=]URL")]
    url: Vec<String>,
    /// Show replies whole, and what is masked in them
    #[arg(long, short)]
    verbose: bool,
    /// Compare only these; the others are sent all the same, because the ledger remembers them
    #[arg(long, value_delimiter = ',', value_name = "IDS")]
    only: Vec<String>,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    interrupt::watch()?;
    let replay = Replay::load(args)?;
    let stage = if args.url.is_empty() {
        Stage::start(&cargo::build_dev()?)?
    } else {
        Stage::remote(&args.url)?
    };
    let report = replay.play(stage)?;
    report.print(&replay.differences, args.verbose);
    match report.mismatches.len() {
        0 => Ok(()),
        wrong => bail!("{wrong} exchanges differ: see above, whole with --verbose"),
    }
}

/// What `cargo xtask test` runs.
pub(crate) fn run_all() -> Result<()> {
    run(&Args { url: Vec::new(), verbose: false, only: Vec::new() })
}

struct Replay<'a> {
    exchanges: Vec<Exchange>,
    differences: Differences,
    masks: Masks,
    only: &'a [String],
}

impl<'a> Replay<'a> {
    fn load(args: &'a Args) -> Result<Self> {
        let exchanges = exchange::load()?;
        let find = |id: &str| exchanges.iter().find(|exchange| exchange.id == id);
        let differences = Differences::load()?;
        differences.check(|id| find(id).is_some_and(|found| class(found) == Class::Compared))?;
        let wrong = exchanges.iter().filter(|exchange| class(exchange) == Class::MarkedWrong);
        differences.check_right(&wrong.map(|exchange| exchange.id.as_str()).collect::<Vec<_>>())?;
        for id in &args.only {
            if !exchanges.iter().any(|exchange| chosen(exchange, id)) {
                bail!("no exchange \"{id}\"");
            }
        }
        Ok(Self { exchanges, differences, masks: Masks::new()?, only: &args.only })
    }

    fn play(&self, mut stage: Stage) -> Result<Report> {
        let mut report = Report::default();
        for exchange in &self.exchanges {
            interrupt::check()?;
            if stage.is_ours() {
                for cue in CUES.iter().filter(|cue| cue.before == exchange.id) {
                    stage.take(cue, &self.exchanges)?;
                }
            }
            self.exchange(exchange, &stage, &mut report);
        }
        Ok(report)
    }

    fn exchange(&self, exchange: &Exchange, stage: &Stage, report: &mut Report) {
        let counted = self.only.is_empty() || self.only.iter().any(|id| chosen(exchange, id));
        // With others' nodes nothing is sent that was not asked for.
        if !counted && !stage.is_ours() {
            return;
        }
        let mut ignored = Report::default();
        let report = if counted { report } else { &mut ignored };
        match class(exchange) {
            Class::Later => report.later += 1,
            Class::MarkedWrongLater => report.marked_wrong += 1,
            _ if !stage.has(&exchange.node) => report.skipped += 1,
            Class::MarkedWrong => self.send_and_check(exchange, stage, report),
            Class::Compared => self.send_and_compare(exchange, stage, report),
        }
    }

    fn send_and_check(&self, exchange: &Exchange, stage: &Stage, report: &mut Report) {
        report.marked_wrong += 1;
        let mismatch = match stage.send(exchange) {
            Ok(answer) if stage.is_ours() => {
                let ours = settled(exchange, &answer.body, &self.masks);
                let right = self.differences.right(&exchange.id);
                let wrong = || {
                    let right = right?;
                    right.broken_by(&settled(exchange, &right.ours, &self.masks), &ours)
                };
                let why = dishonest(&answer, &ours).or_else(wrong);
                why.map(|why| Mismatch::with_answer(exchange, why, &ours))
            }
            Ok(_) => None,
            Err(error) => Some(Mismatch::without_answer(exchange, format!("{error:#}"))),
        };
        report.mismatches.extend(mismatch);
    }

    fn rules<'b>(&'b self, stage: &'b Stage) -> Rules<'b> {
        Rules { ports: &stage.ports, masks: &self.masks, honest: stage.is_ours() }
    }

    fn send_and_compare(&self, exchange: &Exchange, stage: &Stage, report: &mut Report) {
        let answer = match stage.send(exchange) {
            Ok(answer) => answer,
            Err(error) => {
                let mismatch = Mismatch::without_answer(exchange, format!("{error:#}"));
                return report.mismatches.push(mismatch);
            }
        };
        let sides = compare(exchange, &answer, &self.rules(stage));
        let declared = self.differences.find(&exchange.id);
        let why = match (&sides.difference, declared) {
            // A real EdgeLake does not differ from itself.
            (None, Some(_)) if stage.is_ours() => Some("on the list, but it matches".to_owned()),
            (None, _) => None,
            (Some(why), None) => Some(why.clone()),
            (Some(_), Some(entry)) => {
                dishonest(&answer, &sides.ours).or_else(|| entry.broken_by(&sides.ours))
            }
        };
        match why {
            Some(why) => report.mismatches.push(Mismatch::new(exchange, why, &sides)),
            None if sides.difference.is_some() => report.deliberate.push(exchange.id.clone()),
            None => report.matched += 1,
        }
    }
}

/// Whether `--only` means this exchange: by its id, or by the number in front.
fn chosen(exchange: &Exchange, id: &str) -> bool {
    exchange.id == id || exchange.id.split('_').next() == Some(id)
}
