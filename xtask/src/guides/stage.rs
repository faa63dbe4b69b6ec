//! Where a page is carried out: an empty folder, `edgemere` on the path, a terminal for output, and, as
//! root on Linux, a network of its own, in which the ports that the pages name are free.

use std::{
    env,
    ffi::OsString,
    fs::{self, File, OpenOptions},
    io::{ErrorKind, Read},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex, PoisonError},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use rustix::{
    process::{Pid, Signal, kill_process},
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
    termios::{Winsize, tcsetwinsize},
};
use tempfile::TempDir;

use crate::{cargo, interrupt, packages};

/// How long a command may take, or a server until it is ready, on a machine that is very busy.
const COMMAND_MAX: Duration = Duration::from_secs(300);
/// How long a server may take to end by itself.
const STOP_MAX: Duration = Duration::from_secs(30);
/// How often a process is looked at.
const POLL: Duration = Duration::from_millis(10);
/// The terminal of the reader.
const SIZE: Winsize = Winsize { ws_row: 50, ws_col: 120, ws_xpixel: 0, ws_ypixel: 0 };

/// A network namespace, so that fixed ports are free. It is removed when it is dropped.
pub(crate) struct Network {
    name: Option<String>,
}

impl Network {
    /// One of our own where this machine allows it; otherwise the machine's.
    pub(crate) fn new() -> Self {
        let name = format!("edgemere-guides-{}", std::process::id());
        let ip = |args: &[&str]| {
            let mut ip = Command::new("ip");
            ip.args(args).stdout(Stdio::null()).stderr(Stdio::null());
            ip.status().is_ok_and(|status| status.success())
        };
        if !ip(&["netns", "add", &name]) {
            return Self { name: None };
        }
        let network = Self { name: Some(name.clone()) };
        if ip(&["-n", &name, "link", "set", "lo", "up"]) { network } else { Self { name: None } }
    }

    pub(crate) fn is_own(&self) -> bool {
        self.name.is_some()
    }

    /// A command of bash in this network.
    fn bash(&self, line: &str) -> Command {
        let mut words: Vec<&str> = Vec::new();
        if let Some(name) = &self.name {
            words.extend(["ip", "netns", "exec", name]);
        }
        words.extend(["bash", "-c", line]);
        let mut command = Command::new(words.remove(0));
        command.args(words);
        command
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        if let Some(name) = &self.name {
            let _ = Command::new("ip").args(["netns", "delete", name]).status();
        }
    }
}

/// What a command printed, stdout first, and how it ended.
pub(crate) struct Ended {
    pub(crate) printed: String,
    pub(crate) success: bool,
}

/// The folder of a page, and the servers that it has started.
pub(crate) struct Stage<'a> {
    network: &'a Network,
    folder: TempDir,
    path: OsString,
    servers: Vec<Server>,
}

impl<'a> Stage<'a> {
    pub(crate) fn new(network: &'a Network, binary: &Path) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("edgemere-guide-").tempdir()?;
        let programs = folder.path().join("bin");
        fs::create_dir(&programs)?;
        fs::create_dir(folder.path().join("home"))?;
        fs::create_dir(folder.path().join("work"))?;
        std::os::unix::fs::symlink(binary, programs.join("edgemere"))?;
        let others = env::var_os("PATH").unwrap_or_default();
        let path = env::join_paths([programs].into_iter().chain(env::split_paths(&others)))?;
        Ok(Self { network, folder, path, servers: Vec::new() })
    }

    fn work(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    pub(crate) fn write(&self, file: &str, text: &str) -> Result<()> {
        let path = self.work().join(file);
        path.parent().map_or(Ok(()), fs::create_dir_all)?;
        fs::write(&path, text).with_context(|| format!("cannot write \"{file}\""))
    }

    /// Builds an example of clap-serve, whose source ends with what a page says, and has it on the path.
    pub(crate) fn example(&self, name: &str, program: &str, text: &str) -> Result<()> {
        let file = cargo::root().join("crates/clap-serve/examples").join(format!("{name}.rs"));
        let source = fs::read_to_string(&file).with_context(|| format!("no example \"{name}\""))?;
        if !source.ends_with(text) {
            bail!("{} does not end with this block", file.display());
        }
        let built = cargo::build_example_of("clap-serve", name)?;
        std::os::unix::fs::symlink(built, self.folder.path().join("bin").join(program))?;
        Ok(())
    }

    /// Has packages of Python as of a pinned list, which must name them. The network of a page reaches
    /// nobody else, so they are installed outside of it, once for all runs.
    pub(crate) fn install(&mut self, list: &str, wanted: &[String]) -> Result<()> {
        let file = cargo::root().join("xtask/clients/python").join(format!("{list}.txt"));
        let pinned = fs::read_to_string(&file).with_context(|| format!("no list \"{list}\""))?;
        let is_pinned =
            |name: &String| pinned.lines().any(|line| line.starts_with(&format!("{name}==")));
        if let Some(unknown) = wanted.iter().find(|name| !is_pinned(name)) {
            bail!("\"{unknown}\" is not in {}", file.display());
        }
        let python = packages::python(&format!("clients-python-{list}"), &pinned)?;
        let programs = python.parent().context("Python is in no folder")?.to_owned();
        let path = env::join_paths([programs].into_iter().chain(env::split_paths(&self.path)))?;
        self.path = path;
        Ok(())
    }

    /// Runs a command to its end.
    pub(crate) fn run(&self, line: &str) -> Result<Ended> {
        let mut process = Process::start(self.command(line))?;
        let begin = Instant::now();
        let status = loop {
            interrupt::check()?;
            if let Some(status) = process.child.try_wait()? {
                break status;
            }
            if begin.elapsed() > COMMAND_MAX {
                bail!("it was not done after {} s:\n{}", COMMAND_MAX.as_secs(), process.end());
            }
            thread::sleep(POLL);
        };
        Ok(Ended { printed: process.end(), success: status.success() })
    }

    /// Starts a command that goes on, and waits until it has printed a text.
    pub(crate) fn serve(&mut self, line: &str, ready: &str) -> Result<()> {
        let process = Process::start(self.command(&format!("exec {line}")))?;
        let mut server = Server { process };
        let begin = Instant::now();
        while !server.process.printed().contains(ready) {
            interrupt::check()?;
            if let Some(status) = server.process.child.try_wait()? {
                bail!("it ended with {status}:\n{}", server.process.end());
            }
            if begin.elapsed() > COMMAND_MAX {
                let printed = server.process.printed();
                bail!("it did not print \"{ready}\" in {} s:\n{printed}", COMMAND_MAX.as_secs());
            }
            thread::sleep(POLL);
        }
        self.servers.push(server);
        Ok(())
    }

    /// Ends the servers, the newest first.
    pub(crate) fn stop(&mut self) {
        while self.servers.pop().is_some() {}
    }

    fn command(&self, line: &str) -> Command {
        let mut command = self.network.bash(line);
        command
            .current_dir(self.work())
            .env("PATH", &self.path)
            .env("HOME", self.folder.path().join("home"))
            .env("NO_COLOR", "1")
            .env("PAGER", "cat")
            .env("TERM", "xterm")
            .env("TZ", "UTC")
            .stdin(Stdio::null());
        for (name, _) in env::vars_os() {
            if name.to_string_lossy().starts_with("EDGEMERE_") {
                command.env_remove(name);
            }
        }
        command
    }
}

impl Drop for Stage<'_> {
    fn drop(&mut self) {
        self.stop();
    }
}

/// A server that a page has started. It ends when it is dropped.
struct Server {
    process: Process,
}

impl Drop for Server {
    fn drop(&mut self) {
        let child = &mut self.process.child;
        if matches!(child.try_wait(), Ok(None)) {
            let _ = kill_process(Pid::from_child(child), Signal::TERM);
            let begin = Instant::now();
            while matches!(child.try_wait(), Ok(None)) && begin.elapsed() < STOP_MAX {
                thread::sleep(POLL);
            }
        }
        let _ = child.kill();
        let _ = child.wait();
    }
}

/// A process whose stdout is a terminal, as it is for the reader of a page, and whose stderr is a
/// pipe, on which no bar of progress moves.
struct Process {
    child: Child,
    stdout: Arc<Mutex<Vec<u8>>>,
    stderr: Arc<Mutex<Vec<u8>>>,
    readers: Vec<JoinHandle<()>>,
}

impl Process {
    fn start(mut command: Command) -> Result<Self> {
        let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).context("no terminal")?;
        grantpt(&terminal)?;
        unlockpt(&terminal)?;
        tcsetwinsize(&terminal, SIZE)?;
        let name = ptsname(&terminal, Vec::new())?;
        let name = name.to_str().context("the terminal has no name")?.to_owned();
        let inner = OpenOptions::new().read(true).write(true).open(name)?;
        let mut child = command.stdout(inner).stderr(Stdio::piped()).spawn()?;
        // The command still has the terminal's other end, which would keep it open.
        drop(command);
        let stdout = Arc::default();
        let stderr = Arc::default();
        let mut readers = vec![read(File::from(terminal), &stdout)];
        if let Some(pipe) = child.stderr.take() {
            readers.push(read(pipe, &stderr));
        }
        Ok(Self { child, stdout, stderr, readers })
    }

    /// All that was printed until now.
    fn printed(&self) -> String {
        let text = |bytes: &Mutex<Vec<u8>>| {
            let bytes = bytes.lock().unwrap_or_else(PoisonError::into_inner);
            String::from_utf8_lossy(&bytes).replace('\r', "")
        };
        text(&self.stdout) + &text(&self.stderr)
    }

    /// All that was printed by a process that has ended.
    fn end(&mut self) -> String {
        let _ = self.child.kill();
        let _ = self.child.wait();
        for reader in self.readers.drain(..) {
            let _ = reader.join();
        }
        self.printed()
    }
}

/// Reads to the end, which for a terminal is an error when its other end is closed.
fn read(mut from: impl Read + Send + 'static, into: &Arc<Mutex<Vec<u8>>>) -> JoinHandle<()> {
    let into = Arc::clone(into);
    thread::spawn(move || {
        let mut buffer = [0; 4096];
        loop {
            match from.read(&mut buffer) {
                Ok(0) => return,
                Ok(count) => {
                    let mut into = into.lock().unwrap_or_else(PoisonError::into_inner);
                    into.extend_from_slice(buffer.get(..count).unwrap_or_default());
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return,
            }
        }
    })
}
