//! `cargo xtask golem`: the golem-shaped example of clap-serve, served to agents' own clients.
//!
//! ```text
//! 1  demo     a session with curl: crates/clap-serve/examples/demo.sh
//! 2  python   both lines of the official package, over stdio and HTTP: every tool and every resource
//! ```
//!
//! What is called and what must be answered is in `xtask/clients/python/golem.py`.

use std::{
    fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, ChildStderr, Command, Stdio},
};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{cargo, install, interrupt, packages};

const DEMO: &str = "crates/clap-serve/examples/demo.sh";
/// All that is not blocked is offered.
const ALLOW: [&str; 2] = ["--allow", "destructive"];

/// The lines of the official package, with what they need and the revision that they speak.
const LINES: [(&str, &str, &str); 2] = [
    ("v1", include_str!("../clients/python/v1.txt"), "2025-11-25"),
    ("v2", include_str!("../clients/python/v2.txt"), "2026-07-28"),
];

/// Where manifests are, as seen from the folder that is served, and what they hold.
const MANIFESTS: [(&str, &str); 5] = [
    ("golem.yaml", "app: shop\n"),
    ("golem-dev ü%#.yaml", "profile: dev\n"),
    ("cart/golem.yaml", "component: cart\n"),
    ("cart/deep er/golem-x.yaml", "component: x\n"),
    ("../golem.yaml", "apps: all\n"),
];

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Serve this program instead of building one
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    for tool in [install::CURL, install::PYTHON] {
        install::ensure(&tool)?;
    }
    match &args.binary {
        Some(binary) => all(&std::path::absolute(binary)?),
        None => all(&cargo::build_example_of("clap-serve", "golem")?),
    }
}

/// The step of `cargo xtask test`.
pub(crate) fn run_all() -> Result<()> {
    all(&cargo::build_example("golem")?)
}

fn all(golem: &Path) -> Result<()> {
    interrupt::watch()?;
    println!("-- the demo");
    cargo::run(Command::new("sh").arg(cargo::root().join(DEMO)).arg(golem))?;
    for (line, requirements, protocol) in LINES {
        let python = packages::python(&format!("clients-python-{line}"), requirements)?;
        let script = cargo::root().join("xtask/clients/python").join(format!("{line}.py"));
        for transport in ["stdio", "http"] {
            interrupt::check()?;
            println!("-- python {line} over {transport}");
            let stage = Stage::new(golem)?;
            // It ends with the walk.
            let server = (transport == "http").then(|| stage.serve()).transpose()?;
            let url = server.as_ref().map(|server| server.url.as_str());
            let settings = stage.settings(transport, url, protocol);
            let mut walk = Command::new(&python);
            let status = walk.arg("-B").arg(&script).arg(settings.to_string()).status();
            if !status.context("the walk does not begin")?.success() {
                bail!("a check failed: see above");
            }
        }
    }
    Ok(())
}

/// A folder with manifests, in which the example is served.
struct Stage<'a> {
    golem: &'a Path,
    folder: TempDir,
}

impl<'a> Stage<'a> {
    fn new(golem: &'a Path) -> Result<Self> {
        let stage = Self { golem, folder: TempDir::new()? };
        fs::create_dir(stage.app())?;
        let hidden = [(".env", "TOKEN=x\n"), ("node_modules/golem.yaml", "app: theirs\n")];
        for (name, text) in MANIFESTS.into_iter().chain(hidden) {
            let path = stage.app().join(name);
            path.parent().map_or(Ok(()), fs::create_dir_all)?;
            fs::write(path, text)?;
        }
        Ok(stage)
    }

    fn app(&self) -> PathBuf {
        self.folder.path().join("app")
    }

    fn serve(&self) -> Result<Server> {
        let mut command = Command::new(self.golem);
        command.arg("--serve=0").args(ALLOW).current_dir(self.app());
        let mut child = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn()?;
        let stderr = child.stderr.take().context("the example has no stderr")?;
        // From here on it is ended, whatever comes.
        let mut server = Server { child, url: String::new(), stderr: BufReader::new(stderr) };
        let mut said = String::new();
        server.stderr.read_line(&mut said)?;
        let url = said.trim().rsplit_once(" at ").map(|(_, url)| url.to_owned());
        server.url = url.with_context(|| format!("the example does not say its URL: {said}"))?;
        Ok(server)
    }

    /// What a script needs to know to walk over a transport.
    fn settings(&self, transport: &str, url: Option<&str>, protocol: &str) -> Value {
        let manifests: serde_json::Map<String, Value> =
            MANIFESTS.iter().map(|(name, text)| ((*name).to_owned(), json!(text))).collect();
        let args: Vec<&str> = ["--serve=stdio"].into_iter().chain(ALLOW).collect();
        json!({
            "walk": "golem",
            "transport": transport,
            "protocol": protocol,
            "url": url,
            "command": self.golem,
            "args": args,
            "cwd": self.app(),
            "manifests": manifests,
        })
    }
}

/// The example, running. It ends when it is dropped.
struct Server {
    child: Child,
    url: String,
    /// Kept open: who writes to a pipe that nobody has fails.
    stderr: BufReader<ChildStderr>,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
