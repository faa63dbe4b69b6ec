//! `cargo xtask torture`: throws at real nodes what no node should be thrown at, checks every answer
//! against a model of what was stored, and counts what was lost, wrong, short or dead.
//!
//! One seed throws the same things again. All of it is bounded, and nothing is left behind: no process,
//! no mount, no folder, except those of a violation. It knows a node only from outside: its program,
//! its ports, its folder.

mod ask;
mod clocks;
mod crowd;
mod dice;
mod disk;
mod docs;
mod flips;
mod hangups;
mod kills;
mod masters;
mod member;
mod model;
mod operators;
mod requests;
mod scene;
mod score;
mod wire;

use std::{
    path::PathBuf,
    process::Command,
    time::{Instant, SystemTime, UNIX_EPOCH},
};

use anyhow::{Result, bail};

use self::{
    member::Setting,
    score::{Line, Score},
};
use crate::{cargo, interrupt};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The seed of a run that is to come again
    #[arg(long)]
    seed: Option<u64>,
    /// The same with much smaller numbers, as `cargo xtask test` runs it
    #[arg(long)]
    short: bool,
    /// Run only these parts
    #[arg(long, value_delimiter = ',', value_name = "PARTS")]
    only: Vec<String>,
    /// A program to torment instead of building one
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
    /// How much memory a node may have
    #[arg(long, value_name = "MIB", default_value_t = 1536)]
    memory: u64,
    /// Write the table to docs/reliability.md
    #[arg(long)]
    write_docs: bool,
    /// List the parts
    #[arg(long)]
    list: bool,
}

/// What all parts of a run have in common.
struct Run {
    setting: Setting,
    seed: u64,
    is_short: bool,
}

impl Run {
    /// How often something is tried.
    fn count(&self, full: u64, short: u64) -> u64 {
        if self.is_short { short } else { full }
    }
}

/// A part of a run.
struct Part {
    name: &'static str,
    about: &'static str,
    /// How much of it is tried at least, unless the run is a short one.
    least: u64,
    run: fn(&Run, &Score) -> Result<()>,
}

const PARTS: &[Part] = &[
    Part {
        name: "requests",
        about: "hostile requests over every door, nodes under a memory limit",
        least: 500,
        run: requests::run,
    },
    Part {
        name: "flips",
        about: "bits flipped in every kind of file",
        least: 1000,
        run: flips::run,
    },
    Part {
        name: "kills",
        about: "kill -9 of operators, master and query node",
        least: 300,
        run: kills::run,
    },
    Part {
        name: "hangups",
        about: "writers and readers who hang up",
        least: 300,
        run: hangups::run,
    },
    Part {
        name: "clocks",
        about: "a wall clock that jumps, with retention",
        least: 24,
        run: clocks::run,
    },
    Part { name: "disk", about: "a disk that fills up", least: 300, run: disk::run },
    Part {
        name: "masters",
        about: "wrong masters at the right address",
        least: 9,
        run: masters::run,
    },
    Part {
        name: "operators",
        about: "wiped, older and foreign operators",
        least: 12,
        run: operators::run,
    },
];

/// The seed of the short form, so that a change is judged by what it changed.
const SHORT_SEED: u64 = 14;

/// The short form, which throws the same things every time.
pub(crate) fn run_short() -> Result<()> {
    run(&Args {
        seed: Some(SHORT_SEED),
        short: true,
        only: Vec::new(),
        binary: None,
        memory: 1536,
        write_docs: false,
        list: false,
    })
}

pub(crate) fn run(args: &Args) -> Result<()> {
    if args.list {
        PARTS.iter().for_each(|part| println!("{:<10} {}", part.name, part.about));
        return Ok(());
    }
    let parts = chosen(&args.only)?;
    interrupt::watch()?;
    let binary = match &args.binary {
        Some(binary) => binary.canonicalize()?,
        None => cargo::build_dev()?,
    };
    let setting = Setting {
        memory_bytes: args.memory << 20,
        memory_flags: memory_flags(&binary, args.memory),
        binary,
    };
    let run = Run { setting, seed: args.seed.unwrap_or_else(any_seed), is_short: args.short };
    println!("seed {}, {} MiB for each node", run.seed, args.memory);
    let mut lines = Vec::new();
    for part in parts {
        println!("\n-- {}: {}", part.name, part.about);
        let (begin, score) = (Instant::now(), Score::default());
        (part.run)(&run, &score)?;
        let (tried, least) = (score.tries(), part.least);
        if !run.is_short && score.is_clean() && tried < least {
            score.note(format!("{tried} of the {least} that there should be were tried"));
        }
        lines.push(Line { part: part.name, about: part.about, time: begin.elapsed(), score });
    }
    let table = score::table(&lines);
    println!("\n{table}\n{}", score::told(&lines, run.seed));
    if args.write_docs {
        docs::write(&table, &run, args.memory)?;
    }
    match lines.iter().all(|line| line.score.is_clean()) {
        true => Ok(()),
        false => bail!("something was lost, wrong, short or dead; the seed was {}", run.seed),
    }
}

fn chosen(only: &[String]) -> Result<Vec<&'static Part>> {
    for name in only {
        if !PARTS.iter().any(|part| part.name == name) {
            bail!("no part \"{name}\": see `cargo xtask torture --list`");
        }
    }
    let wanted = |part: &&Part| only.is_empty() || only.iter().any(|name| name == part.name);
    Ok(PARTS.iter().filter(wanted).collect())
}

fn any_seed() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    dice::mix(u64::try_from(now.as_nanos()).unwrap_or_default()) % 1_000_000
}

/// The flags that set how much memory a node of this program has. A flag that it does not
/// have is not given.
fn memory_flags(binary: &PathBuf, mib: u64) -> Vec<String> {
    let help = Command::new(binary).args(["node", "--help"]).output();
    let help =
        help.map(|help| String::from_utf8_lossy(&help.stdout).into_owned()).unwrap_or_default();
    let wanted = [
        ("--memory", mib),
        ("--query-memory", mib / 8),
        ("--query-memory-total", mib / 4),
        ("--fresh-memory", mib / 16),
        ("--body-memory", mib / 8),
        ("--compact-memory", mib / 16),
    ];
    let has = |flag: &str| help.split_whitespace().any(|word| word == flag);
    let given = wanted.iter().filter(|(flag, _)| has(flag));
    given.flat_map(|(flag, mib)| [(*flag).to_owned(), format!("{mib}MiB")]).collect()
}
