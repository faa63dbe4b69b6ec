//! `cargo xtask test`: everything that a change must pass, in order. `.ci/run` calls it too.

use std::time::Instant;

use anyhow::{Result, bail};

use crate::{
    cargo::{cargo, run as run_command},
    clients, conformance, docs, golem, guides,
    install::{self, Tool},
    replay, torture,
};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Run only these steps
    #[arg(long, value_delimiter = ',', value_name = "STEPS")]
    only: Vec<String>,
    /// List the steps
    #[arg(long)]
    list: bool,
}

/// A part of the test run.
struct Step {
    name: &'static str,
    about: &'static str,
    /// What to do when it fails.
    advice: &'static str,
    tools: &'static [Tool],
    run: fn() -> Result<()>,
}

/// Where there are namespaces, tests use them.
#[cfg(target_os = "linux")]
const TEST_TOOLS: &[Tool] = &[install::IPROUTE2];
#[cfg(not(target_os = "linux"))]
const TEST_TOOLS: &[Tool] = &[];

/// What readers of the guides have, and a network of their own where there are namespaces.
#[cfg(target_os = "linux")]
const GUIDE_TOOLS: &[Tool] = &[install::CURL, install::PYTHON, install::IPROUTE2];
#[cfg(not(target_os = "linux"))]
const GUIDE_TOOLS: &[Tool] = &[install::CURL, install::PYTHON];

const STEPS: &[Step] = &[
    Step {
        name: "fmt",
        about: "the code is formatted",
        advice: "run `cargo fmt --all`",
        tools: &[install::RUSTFMT],
        run: fmt,
    },
    Step {
        name: "clippy",
        about: "no lint complains; the fuzz targets compile",
        advice: "fix what clippy names; an `allow` needs a reason",
        tools: &[install::CLIPPY],
        run: clippy,
    },
    Step {
        name: "test",
        about: "unit tests, golden scripts, end-to-end tests, repo rules, examples in the docs",
        advice: "for golden scripts run `UPDATE_GOLDENFILES=1 cargo test -p edgemere-command` and \
                 review the diff",
        tools: TEST_TOOLS,
        run: test,
    },
    Step {
        name: "doc",
        about: "the API documentation builds without a warning",
        advice: "fix the links that rustdoc names",
        tools: &[],
        run: doc,
    },
    Step {
        name: "reference",
        about: "the generated reference is current",
        advice: "run `cargo xtask docs` and commit what it writes",
        tools: &[],
        run: reference,
    },
    Step {
        name: "replay",
        about: "EdgeLake's captured exchanges get the captured answers",
        advice: "see `cargo xtask replay --verbose`; a difference on purpose goes to \
                 xtask/replay/differences.toml with its reason",
        tools: &[],
        run: replay::run_all,
    },
    Step {
        name: "replay-mcp",
        about: "what agents asked EdgeLake is answered at least as well",
        advice: "see `cargo xtask replay-mcp`; what is right stands in xtask/replay/mcp.toml",
        tools: &[],
        run: replay::mcp::run_all,
    },
    Step {
        name: "conformance",
        about: "MCP's own conformance suite passes, in both eras of the protocol",
        advice: "see `cargo xtask conformance`; the fixtures are in \
                 crates/mcp-serve/examples/conformance",
        tools: &[install::NPM],
        run: conformance::run_all,
    },
    Step {
        name: "clients",
        about: "agents' own clients walk through all that a node offers them",
        advice: "see `cargo xtask clients NAME --transport TRANSPORT`; the walks are in xtask/clients",
        tools: &[install::NPM, install::PYTHON],
        run: clients::run_all,
    },
    Step {
        name: "golem",
        about: "every tool and resource of a served command line, with curl and the official clients",
        advice: "see `cargo xtask golem`; the walk is in xtask/clients/python/golem.py",
        tools: &[install::CURL, install::PYTHON],
        run: golem::run_all,
    },
    Step {
        name: "guides",
        about: "README.md and every guide work as they are written, and print what they say",
        advice: "see `cargo xtask guides PAGE --verbose`; how a page is read is in \
                 xtask/src/guides/page.rs",
        tools: GUIDE_TOOLS,
        run: guides::run_all,
    },
    Step {
        name: "torture",
        about: "nothing is lost, wrong, short or dead, whatever is done to nodes; the short form",
        advice: "the seed and what was thrown are told above: `cargo xtask torture --short --seed N`",
        tools: &[],
        run: torture::run_short,
    },
];

pub(crate) fn run(args: &Args) -> Result<()> {
    if args.list {
        for Step { name, about, .. } in STEPS {
            println!("{name:<12} {about}");
        }
        return Ok(());
    }
    let begin = Instant::now();
    let steps = chosen(&args.only)?;
    for (index, step) in steps.iter().enumerate() {
        println!("\n== {}/{} {}: {}", index + 1, steps.len(), step.name, step.about);
        one(step)?;
    }
    println!("\nall passed in {:.1} s", begin.elapsed().as_secs_f64());
    Ok(())
}

fn chosen(only: &[String]) -> Result<Vec<&'static Step>> {
    for name in only {
        if !STEPS.iter().any(|step| step.name == name) {
            bail!("no step \"{name}\": see `cargo xtask test --list`");
        }
    }
    let wanted = |step: &&Step| only.is_empty() || only.iter().any(|name| name == step.name);
    Ok(STEPS.iter().filter(wanted).collect())
}

fn one(step: &Step) -> Result<()> {
    let begin = Instant::now();
    step.tools.iter().try_for_each(install::ensure)?;
    let Step { name, advice, .. } = step;
    if let Err(error) = (step.run)() {
        let again = format!("again: `cargo xtask test --only {name}`");
        bail!("step \"{name}\" failed: {error:#}\n  {advice}\n  {again}");
    }
    println!("   ok in {:.1} s", begin.elapsed().as_secs_f64());
    Ok(())
}

fn fmt() -> Result<()> {
    run_command(&mut cargo(&["fmt", "--all", "--check"]))
}

fn clippy() -> Result<()> {
    run_command(&mut cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]))
}

fn test() -> Result<()> {
    if !install::installed(&install::NEXTEST) {
        return run_command(&mut cargo(&["test", "--workspace"]));
    }
    run_command(&mut cargo(&["nextest", "run", "--workspace"]))?;
    // Nextest leaves the examples in the documentation to cargo.
    run_command(&mut cargo(&["test", "--workspace", "--doc"]))
}

fn doc() -> Result<()> {
    // With the examples the dependencies have the features that clippy compiled them with, and
    // need not be checked again.
    let mut command = cargo(&["doc", "--workspace", "--no-deps", "--lib", "--bins", "--examples"]);
    run_command(command.env("RUSTDOCFLAGS", "-Dwarnings"))
}

fn reference() -> Result<()> {
    docs::check()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_chosen_by_name_in_their_own_order() {
        let names = |only: &[&str]| -> Vec<&str> {
            let only: Vec<String> = only.iter().map(|&name| name.to_owned()).collect();
            chosen(&only).unwrap().iter().map(|step| step.name).collect()
        };
        assert_eq!(names(&["test", "fmt"]), ["fmt", "test"]);
        assert_eq!(names(&[]).len(), STEPS.len());
        assert!(chosen(&["nope".to_owned()]).is_err());
    }
}
