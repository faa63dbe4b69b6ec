//! `cargo xtask conformance`: the official conformance suite of MCP, against the example of mcp-serve
//! that has the suite's fixtures, or against any server for what needs no fixtures.

use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use tempfile::TempDir;

use crate::{
    cargo::{build_example, build_example_of},
    install, packages,
};

/// The suite, and a Node that is new enough for it.
const PACKAGES: &str = r#"{
  "private": true,
  "dependencies": { "@modelcontextprotocol/conformance": "0.2.0-alpha.12", "node": "24.21.0" }
}
"#;

/// The revisions whose requirements are checked, and the checks that there are: fewer mean that the
/// suite found a fixture missing and looked no further.
const REVISIONS: [(&str, usize); 2] = [("2025-11-25", 84), ("2026-07-28", 197)];

/// What needs no fixtures, by revision.
const PLAIN: [(&str, &[&str]); 2] = [
    (
        "2025-11-25",
        &[
            "server-initialize",
            "ping",
            "logging-set-level",
            "tools-list",
            "resources-list",
            "prompts-list",
            "dns-rebinding-protection",
            "server-session-lifecycle",
        ],
    ),
    (
        "2026-07-28",
        &[
            "tools-list",
            "resources-list",
            "prompts-list",
            "dns-rebinding-protection",
            "caching",
            "http-header-validation",
            "sep-2164-resource-not-found",
        ],
    ),
];

#[derive(clap::Args)]
pub(crate) struct Args {
    /// A server that runs already: only what needs no fixtures is checked
    #[arg(long, value_name = "URL")]
    url: Option<String>,
}

/// A check of the suite, as it writes it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Check {
    id: String,
    status: String,
    error_message: Option<String>,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    install::ensure(&install::NPM)?;
    match &args.url {
        Some(url) => plain(url),
        None => with_fixtures(&build_example_of("mcp-serve", "conformance")?),
    }
}

/// The step of `cargo xtask test`.
pub(crate) fn run_all() -> Result<()> {
    with_fixtures(&build_example("conformance")?)
}

/// Every scenario of every revision, against the example.
fn with_fixtures(example: &Path) -> Result<()> {
    let suite = Suite::install()?;
    for (revision, checks) in REVISIONS {
        let server = Server::start(example)?;
        let passed = suite.check(&server.url, revision, &["--requirements", revision])?;
        if passed < checks {
            bail!("{revision}: only {passed} of {checks} checks were made");
        }
    }
    Ok(())
}

/// What needs no fixtures, against a server that runs.
pub(crate) fn plain(url: &str) -> Result<()> {
    let suite = Suite::install()?;
    for (revision, scenarios) in PLAIN {
        for scenario in scenarios {
            let what = ["--scenario", scenario, "--spec-version", revision, "--force"];
            suite.check(url, &format!("{revision} {scenario}"), &what)?;
        }
    }
    Ok(())
}

/// The suite, where it is installed.
struct Suite {
    node: PathBuf,
    program: PathBuf,
}

impl Suite {
    fn install() -> Result<Self> {
        let modules = packages::npm("conformance", PACKAGES, None)?.join("node_modules");
        Ok(Self {
            node: modules.join(".bin/node"),
            program: modules.join("@modelcontextprotocol/conformance/dist/index.js"),
        })
    }

    /// Runs scenarios, and counts the checks that were passed. One that was not is an error.
    fn check(&self, url: &str, name: &str, what: &[&str]) -> Result<usize> {
        let results = TempDir::new()?;
        let mut suite = Command::new(&self.node);
        suite.arg(&self.program).args(["server", "--url", url]).args(what);
        suite.arg("--output-dir").arg(results.path());
        // It ends with an error when a check fails: the checks themselves say which.
        let said = suite.output().context("the suite does not run")?;
        let checks = read(results.path())?;
        if checks.is_empty() {
            bail!("{name}: nothing was checked: {}", String::from_utf8_lossy(&said.stderr));
        }
        report(name, &checks)
    }
}

/// Says what was passed and what was not.
fn report(name: &str, checks: &BTreeMap<String, Vec<Check>>) -> Result<usize> {
    let all = || {
        checks.iter().flat_map(|(scenario, checks)| checks.iter().map(move |one| (scenario, one)))
    };
    let passed = all().filter(|(_, check)| check.status == "SUCCESS").count();
    let bad = |check: &Check| check.status == "FAILURE" || check.status == "WARNING";
    let failed: Vec<String> = all()
        .filter(|(_, check)| bad(check))
        .map(|(scenario, check)| {
            let why = check.error_message.as_deref().unwrap_or_default();
            format!("\n  {scenario}: {} {}: {why}", check.status, check.id)
        })
        .collect();
    println!("   {name}: {passed} passed, {} not", failed.len());
    match failed.is_empty() {
        true => Ok(passed),
        false => bail!("{name}: {} checks were not passed:{}", failed.len(), failed.concat()),
    }
}

/// The checks of all scenarios, by the folder that the suite has put them in.
fn read(folder: &Path) -> Result<BTreeMap<String, Vec<Check>>> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let file = path.join("checks.json");
        if !file.is_file() {
            all.extend(match path.is_dir() {
                true => read(&path)?,
                false => BTreeMap::new(),
            });
            continue;
        }
        let checks = serde_json::from_str(&fs::read_to_string(&file)?)
            .with_context(|| format!("{} is not what the suite used to write", file.display()))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        all.insert(name, checks);
    }
    Ok(all)
}

/// The example, running. It ends when it is dropped.
struct Server {
    url: String,
    child: Child,
}

impl Server {
    fn start(example: &Path) -> Result<Self> {
        let mut child = Command::new(example)
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {}", example.display()))?;
        let stdout = child.stdout.take().context("the example has no stdout")?;
        let mut url = String::new();
        BufReader::new(stdout).read_line(&mut url).context("the example does not say its URL")?;
        Ok(Self { url: url.trim().to_owned(), child })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checks(statuses: &[&str]) -> BTreeMap<String, Vec<Check>> {
        let check = |status: &&str| Check {
            id: "an-id".to_owned(),
            status: (*status).to_owned(),
            error_message: Some("because".to_owned()),
        };
        BTreeMap::from([("ping".to_owned(), statuses.iter().map(check).collect())])
    }

    #[test]
    fn warnings_are_failures_and_notes_are_nothing() {
        assert_eq!(report("x", &checks(&["SUCCESS", "INFO", "SUCCESS"])).unwrap(), 2);
        for bad in ["WARNING", "FAILURE"] {
            let error = report("x", &checks(&["SUCCESS", bad])).unwrap_err().to_string();
            assert!(error.contains(&format!("ping: {bad} an-id: because")), "{error}");
        }
    }

    #[test]
    fn the_checks_of_all_scenarios_are_found() {
        let folder = TempDir::new().unwrap();
        let inner = folder.path().join("2025-11-25/server-ping");
        fs::create_dir_all(&inner).unwrap();
        fs::write(inner.join("checks.json"), r#"[{"id": "a", "status": "SUCCESS"}]"#).unwrap();
        let read = read(folder.path()).unwrap();
        assert_eq!(read["server-ping"].len(), 1);
    }
}
