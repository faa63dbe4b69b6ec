//! `cargo xtask guides`: README.md and every guide, carried out as they are written.
//!
//! ```text
//! 1  page     a page becomes steps: commands, what they print, files to write
//! 2  stage    an empty folder, `edgemere` on the path, ports of its own
//! 3  compare  what was printed is what the page says
//! ```
//!
//! A page that cannot be followed to its end fails. So does one without a single step, unless it says
//! why nothing of it can be run.

mod compare;
mod page;
mod stage;

use std::{
    fs,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};

use self::{
    page::{Action, Expect, Step},
    stage::{Ended, Network, Stage},
};
use crate::{cargo, install, interrupt};

/// How long a command is repeated until it prints what the page says, on a machine that is very busy.
const RETRY_MAX: Duration = Duration::from_secs(120);
/// How long to wait between two tries.
const RETRY_EVERY: Duration = Duration::from_millis(200);

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only the pages whose path contains this
    page: Option<String>,
    /// Use this program instead of building one
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
    /// Print every command and what it printed
    #[arg(long)]
    verbose: bool,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    for tool in [install::CURL, install::PYTHON] {
        install::ensure(&tool)?;
    }
    let binary = match &args.binary {
        Some(binary) => std::path::absolute(binary)?,
        None => cargo::build_dev()?,
    };
    let pages = pages(args.page.as_deref())?;
    if pages.is_empty() {
        bail!("no page is called so");
    }
    all(&binary, &pages, args.verbose)
}

/// The step of `cargo xtask test`.
pub(crate) fn run_all() -> Result<()> {
    all(&cargo::build_dev()?, &pages(None)?, false)
}

/// README.md and the guides.
fn pages(only: Option<&str>) -> Result<Vec<PathBuf>> {
    let root = cargo::root();
    let mut pages = vec![root.join("README.md")];
    for entry in fs::read_dir(root.join("docs/guides"))? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "md") {
            pages.push(path);
        }
    }
    pages.sort();
    let wanted = |page: &PathBuf| only.is_none_or(|only| page.to_string_lossy().contains(only));
    Ok(pages.into_iter().filter(wanted).collect())
}

fn all(binary: &Path, pages: &[PathBuf], verbose: bool) -> Result<()> {
    interrupt::watch()?;
    let network = Network::new();
    if !network.is_own() {
        println!("   no network namespace can be made here: the pages use this machine's ports");
    }
    let mut failed = 0;
    for page in pages {
        let name = page.strip_prefix(cargo::root()).unwrap_or(page).display();
        let begin = Instant::now();
        match carry_out(binary, &network, page, verbose) {
            Ok(count) => println!("   {name}: {count} in {:.1} s", begin.elapsed().as_secs_f64()),
            Err(error) => {
                interrupt::check()?;
                println!("   {name}: {error:#}");
                failed += 1;
            }
        }
    }
    println!("{} passed, {failed} failed", pages.len() - failed);
    if failed > 0 {
        bail!("{failed} of {} pages cannot be followed as they are written", pages.len());
    }
    Ok(())
}

/// Carries a page out, and says how much of it.
fn carry_out(binary: &Path, network: &Network, page: &Path, verbose: bool) -> Result<String> {
    let steps = page::steps(&fs::read_to_string(page)?)?;
    if steps.is_empty() {
        bail!("nothing of the page is run: mark its blocks \"sh\" or \"console\", or say why not");
    }
    let mut stage = Stage::new(network, binary)?;
    let mut skipped = 0;
    for step in &steps {
        interrupt::check()?;
        if matches!(step.action, Action::Skip { .. }) {
            skipped += 1;
        }
        one(&mut stage, step, verbose).with_context(|| format!("line {}", step.line))?;
    }
    Ok(match skipped {
        0 => format!("{} steps", steps.len()),
        _ => format!("{} steps, {skipped} blocks not run", steps.len() - skipped),
    })
}

fn one(stage: &mut Stage<'_>, step: &Step, verbose: bool) -> Result<()> {
    match &step.action {
        Action::Write { file, text } => stage.write(file, text),
        Action::Stop => {
            stage.stop();
            Ok(())
        }
        Action::Example { name, program, text } => stage.example(name, program, text),
        Action::Packages { list, packages } => stage.install(list, packages),
        Action::Skip { reason } => {
            if verbose {
                println!("     not run: {reason}");
            }
            Ok(())
        }
        Action::Serve { command, ready } => {
            stage.serve(command, ready).with_context(|| format!("`{command}`"))
        }
        Action::Run { command, expect } => {
            let ended = patient(stage, command, expect).with_context(|| format!("`{command}`"))?;
            if verbose {
                println!("     $ {command}\n{}", ended.printed);
            }
            Ok(())
        }
    }
}

/// Runs a command until it does what the page says, which only readers do more than once.
fn patient(stage: &Stage<'_>, command: &str, expect: &Expect) -> Result<Ended> {
    let begin = Instant::now();
    loop {
        let ended = stage.run(command)?;
        let Err(error) = check(&ended, expect) else { return Ok(ended) };
        let again = matches!(expect, Expect::Output { retry: true, .. });
        if !again || begin.elapsed() > RETRY_MAX {
            return Err(error);
        }
        thread::sleep(RETRY_EVERY);
    }
}

fn check(ended: &Ended, expect: &Expect) -> Result<()> {
    let Ended { printed, success } = ended;
    match expect {
        Expect::Success if !success => bail!("it failed:\n{printed}"),
        Expect::Failure if *success => bail!("it did not fail:\n{printed}"),
        Expect::Output { lines, .. } if !compare::matches(lines, printed) => {
            bail!("the page says\n{}\nit printed\n{printed}", lines.join("\n"))
        }
        _ => Ok(()),
    }
}
