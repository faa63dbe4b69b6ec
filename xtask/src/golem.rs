//! `cargo xtask golem`: the golem-shaped example of clap-serve, served to agents' own clients.
//!
//! ```text
//! 1  demo      a session with curl: crates/clap-serve/examples/demo.sh
//! 2  services  the whole stack with curl: crates/clap-serve/examples/demo-with-services.sh
//! 3  python    both lines of the official package, over stdio and HTTP: every tool and every resource
//! ```
//!
//! What is called and what must be answered is in `xtask/clients/python/golem.py`.

use std::{
    fs,
    io::{self, BufRead, BufReader, Read},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{cargo, install, interrupt, packages};

const DEMOS: [&str; 2] =
    ["crates/clap-serve/examples/demo.sh", "crates/clap-serve/examples/demo-with-services.sh"];
/// The variable that says where the services are.
const SERVICES_URL: &str = "GOLEM_SERVICES_URL";
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
    for demo in DEMOS {
        println!("-- {demo}");
        cargo::run(Command::new("sh").arg(cargo::root().join(demo)).arg(golem))?;
    }
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

/// A folder with manifests, in which the example is served, and the services that it asks.
struct Stage<'a> {
    golem: &'a Path,
    services: Running,
    folder: TempDir,
}

impl<'a> Stage<'a> {
    fn new(golem: &'a Path) -> Result<Self> {
        let folder = TempDir::new()?;
        let beside = folder.path().join("services");
        fs::create_dir(&beside)?;
        let mut run = Command::new(golem);
        run.args(["server", "run", "--port", "0"]).current_dir(beside).stdout(Stdio::piped());
        let stage = Self { golem, services: Running::start(run)?, folder };
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

    fn serve(&self) -> Result<Running> {
        let mut command = Command::new(self.golem);
        command.arg("--serve=0").args(ALLOW).current_dir(self.app()).stderr(Stdio::piped());
        command.env(SERVICES_URL, &self.services.url);
        Running::start(command)
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
            "env": { SERVICES_URL: self.services.url },
            "manifests": manifests,
        })
    }
}

/// The example, running. It ends when it is dropped.
struct Running {
    child: Child,
    url: String,
    /// Kept open: who writes to a pipe that nobody has fails.
    output: BufReader<Box<dyn Read>>,
}

impl Running {
    /// Starts it, and reads in its first line where it is.
    fn start(mut command: Command) -> Result<Self> {
        let mut child = command.stdin(Stdio::null()).spawn()?;
        let stdout = child.stdout.take().map(|stdout| Box::new(stdout) as Box<dyn Read>);
        let stderr = child.stderr.take().map(|stderr| Box::new(stderr) as Box<dyn Read>);
        let output = BufReader::new(stdout.or(stderr).unwrap_or_else(|| Box::new(io::empty())));
        // From here on it is ended, whatever comes.
        let mut running = Self { child, url: String::new(), output };
        let mut said = String::new();
        running.output.read_line(&mut said)?;
        let url = said.trim().rsplit_once(" at ").map(|(_, url)| url.to_owned());
        running.url = url.with_context(|| format!("the example does not say its URL: {said}"))?;
        Ok(running)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
