//! A node that is killed, started again with what it has, and watched: its end, and the memory that it
//! takes. It is always at the same addresses, so that clients find it again.

use std::{
    ffi::OsString,
    fs::{self, File},
    hash::{BuildHasher, RandomState},
    net::{SocketAddr, TcpListener},
    os::unix::process::ExitStatusExt,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process};

use super::wire::{exchange, request};
use crate::interrupt;

/// How long a node may take until it answers, on a machine that does other things.
const START_MAX: Duration = Duration::from_secs(90);
/// How long a node may take to end by itself.
const STOP_MAX: Duration = Duration::from_secs(30);
/// How often a node is looked at.
const POLL: Duration = Duration::from_millis(10);
/// How often an address that another process took is tried again.
const TRIES: usize = 5;
/// Ports that no system hands out by itself. What is free there stays free while a node is down.
const PORTS: std::ops::Range<u64> = 10_000..30_000;

/// What all nodes of a run have in common.
#[derive(Clone)]
pub(super) struct Setting {
    pub(super) binary: PathBuf,
    /// How much memory a node may have: who takes more has died.
    pub(super) memory_bytes: u64,
    /// The flags that set that limit, as far as this binary has them.
    pub(super) memory_flags: Vec<String>,
}

/// How a node is started.
#[derive(Clone)]
pub(super) struct Spec {
    pub(super) name: String,
    pub(super) role: &'static str,
    pub(super) http: SocketAddr,
    pub(super) network: SocketAddr,
    pub(super) master: Option<SocketAddr>,
    pub(super) flags: Vec<String>,
    pub(super) env: Vec<(OsString, OsString)>,
}

impl Spec {
    pub(super) fn new(name: &str, role: &'static str, master: Option<SocketAddr>) -> Result<Self> {
        let (http, network) = (free_address()?, free_address()?);
        Ok(Self {
            name: name.to_owned(),
            role,
            http,
            network,
            master,
            flags: Vec::new(),
            env: Vec::new(),
        })
    }
}

/// How a start ended.
#[derive(Debug)]
pub(super) enum Start {
    Ready,
    /// It ended by itself, with what it said.
    Refused(String),
    /// It was ended by a signal, or ran without answering.
    Died(String),
}

/// A node, up or down, and its folder.
pub(super) struct Member {
    pub(super) spec: Spec,
    pub(super) folder: PathBuf,
    /// The folder of its data, which is in the other one unless it is said to be elsewhere.
    pub(super) data: PathBuf,
    setting: Setting,
    running: Option<Running>,
    starts: usize,
}

struct Running {
    child: Child,
    watch: Arc<Watch>,
}

/// What is seen of a process while it runs.
#[derive(Default)]
struct Watch {
    is_over: AtomicBool,
    is_beyond: AtomicBool,
    peak_bytes: AtomicU64,
}

impl Member {
    /// A node that is down, with its data in `folder`.
    pub(super) fn new(setting: &Setting, spec: Spec, folder: PathBuf) -> Result<Self> {
        fs::create_dir_all(&folder)?;
        let data = folder.join("data");
        Ok(Self { spec, folder, data, setting: setting.clone(), running: None, starts: 0 })
    }

    /// Where people and programs reach it.
    pub(super) fn http(&self) -> SocketAddr {
        self.spec.http
    }

    /// Starts it, and waits until it answers or has ended.
    pub(super) fn start(&mut self) -> Result<Start> {
        for _ in 0..TRIES {
            match self.start_once()? {
                Start::Refused(log) if is_about_addresses(&log) => thread::sleep(POLL * 20),
                other => return Ok(other),
            }
        }
        bail!("another process has the addresses of node \"{}\"", self.spec.name)
    }

    /// Starts it; that it does not is an error of the run itself.
    pub(super) fn must_start(&mut self) -> Result<()> {
        match self.start()? {
            Start::Ready => Ok(()),
            Start::Refused(log) | Start::Died(log) => {
                bail!("node \"{}\" did not start: {log}", self.spec.name)
            }
        }
    }

    /// Starts it and does not wait.
    pub(super) fn begin(&mut self) -> Result<()> {
        self.end_now();
        self.starts += 1;
        let child = self.spawn()?;
        let watch = Arc::new(Watch::default());
        watch_memory(child.id(), self.setting.memory_bytes, &watch);
        self.running = Some(Running { child, watch });
        Ok(())
    }

    fn start_once(&mut self) -> Result<Start> {
        self.begin()?;
        let begin = Instant::now();
        let health = request("GET /health", &self.spec.http.to_string(), &[], b"");
        while begin.elapsed() < START_MAX {
            interrupt::check()?;
            if let Some(end) = self.ended()? {
                let log = self.log_tail();
                self.running = None;
                return Ok(match end.signal() {
                    Some(signal) => Start::Died(format!("signal {signal}: {log}")),
                    None => Start::Refused(format!("{end}: {log}")),
                });
            }
            let reply = exchange(self.spec.http, &health, START_MAX);
            if reply.is_ok_and(|reply| reply.status == 200) && self.has_said_so() {
                return Ok(Start::Ready);
            }
            thread::sleep(POLL);
        }
        self.end_now();
        Ok(Start::Died(format!("it did not answer in {} s", START_MAX.as_secs())))
    }

    /// Whether `node.json`, which a node writes last, is of this very process.
    fn has_said_so(&self) -> bool {
        let text = fs::read_to_string(self.data.join("node.json")).unwrap_or_default();
        let told: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
        let own = self.running.as_ref().map(|running| u64::from(running.child.id()));
        told.get("pid").and_then(serde_json::Value::as_u64) == own
    }

    fn spawn(&self) -> Result<Child> {
        let Spec { name, role, http, network, master, flags, env } = &self.spec;
        let log = File::options().create(true).append(true).open(self.log())?;
        // Neither the person's settings nor those of a project around may change a run.
        File::create(self.folder.join("edgemere.toml"))?;
        // A hard stop far above what is watched, so that no allocation takes the machine with it. An
        // allocator reserves much more than it uses.
        let kib = self.setting.memory_bytes / 1024 * 4 + (8 << 20);
        let mut command = Command::new("sh");
        command
            .args(["-c", &format!("ulimit -v {kib}; ulimit -c 0; exec \"$0\" \"$@\"")])
            .arg(&self.setting.binary)
            .args(["node", "--name", name, "--role", role, "--company", "Torture", "--data"])
            .arg(&self.data)
            .args(["--http", &http.to_string(), "--network", &network.to_string()])
            .args(["--cluster", &format!("cluster-{name}")])
            .args(&self.setting.memory_flags)
            .args(flags)
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log);
        if let Some(master) = master {
            command.args(["--master", &master.to_string()]);
        }
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("EDGEMERE_") {
                command.env_remove(name);
            }
        }
        command.envs(env.iter().map(|(name, value)| (name, value)));
        let binary = self.setting.binary.display();
        command.spawn().with_context(|| format!("cannot start \"{binary}\""))
    }

    fn ended(&mut self) -> Result<Option<ExitStatus>> {
        match &mut self.running {
            Some(running) => Ok(running.child.try_wait()?),
            None => Ok(None),
        }
    }

    /// How it died, when it runs no more although nobody ended it. It is down then.
    pub(super) fn died(&mut self) -> Result<Option<String>> {
        let Some(end) = self.ended()? else { return Ok(None) };
        let told = match &self.running {
            Some(running) if running.watch.is_beyond.load(Ordering::SeqCst) => {
                let peak = running.watch.peak_bytes.load(Ordering::SeqCst) >> 20;
                format!("it took {peak} MiB of {} MiB", self.setting.memory_bytes >> 20)
            }
            _ => format!("{end}: {}", self.log_tail()),
        };
        self.end_now();
        Ok(Some(format!("node \"{}\" died: {told}", self.spec.name)))
    }

    pub(super) fn is_up(&self) -> bool {
        self.running.is_some()
    }

    /// Ends it as kill -9 does.
    pub(super) fn end_now(&mut self) {
        if let Some(mut running) = self.running.take() {
            running.watch.is_over.store(true, Ordering::SeqCst);
            // It may have ended by itself: then there is nothing left to kill.
            let _ = running.child.kill();
            let _ = running.child.wait();
        }
    }

    /// Asks it to end, and kills it when it does not: then it says so.
    pub(super) fn stop(&mut self) -> Result<bool> {
        let Some(running) = &mut self.running else { return Ok(true) };
        let begin = Instant::now();
        let pid = Pid::from_child(&running.child);
        // The id of a process that has ended may already be another's.
        let asked = running.child.try_wait()?.is_none() && kill_process(pid, Signal::TERM).is_ok();
        while asked && begin.elapsed() < STOP_MAX {
            if running.child.try_wait()?.is_some() {
                self.end_now();
                return Ok(true);
            }
            thread::sleep(POLL);
        }
        self.end_now();
        Ok(!asked)
    }

    fn log(&self) -> PathBuf {
        self.folder.join(format!("node-{}.log", self.starts))
    }

    /// All that it said since its last start.
    pub(super) fn log_text(&self) -> String {
        fs::read_to_string(self.log()).unwrap_or_default()
    }

    /// The end of that.
    pub(super) fn log_tail(&self) -> String {
        let log = self.log_text();
        let lines: Vec<&str> = log.lines().collect();
        lines.get(lines.len().saturating_sub(6)..).unwrap_or_default().join(" / ")
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        self.end_now();
    }
}

fn is_about_addresses(log: &str) -> bool {
    log.contains("in use")
}

/// Looks at the memory of a process until it is over, and ends the process when it is too much.
fn watch_memory(pid: u32, limit: u64, watch: &Arc<Watch>) {
    let watch = Arc::clone(watch);
    thread::spawn(move || {
        while !watch.is_over.load(Ordering::SeqCst) {
            let Some(bytes) = resident(pid) else { return };
            watch.peak_bytes.fetch_max(bytes, Ordering::SeqCst);
            if bytes > limit {
                watch.is_beyond.store(true, Ordering::SeqCst);
                // Its parent has not waited for it yet, so the id is still its own.
                let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
                let _ = pid.map(|pid| kill_process(pid, Signal::KILL));
                return;
            }
            thread::sleep(POLL);
        }
    });
}

/// What is resident of a process, in bytes.
fn resident(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
}

/// An address at which a node can be started again and again.
pub(super) fn free_address() -> Result<SocketAddr> {
    let random = RandomState::new();
    let ports = (0_u64..1000).map(|n| PORTS.start + random.hash_one(n) % (PORTS.end - PORTS.start));
    let mut addresses = ports.filter_map(|port| format!("127.0.0.1:{port}").parse().ok());
    addresses
        .find(|address: &SocketAddr| TcpListener::bind(address).is_ok())
        .context("no port is free")
}

/// Copies a folder with all that is in it.
pub(super) fn copy_folder(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_folder(&entry.path(), &target)?;
        } else if entry.file_type()?.is_file() {
            fs::copy(entry.path(), &target)?;
        }
    }
    Ok(())
}

/// Makes a folder what another one is.
pub(super) fn restore_folder(from: &Path, to: &Path) -> Result<()> {
    if to.exists() {
        fs::remove_dir_all(to)?;
    }
    copy_folder(from, to)
}
