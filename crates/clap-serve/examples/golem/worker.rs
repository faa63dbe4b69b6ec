//! `golem worker`, or `golem agent`: workers, with three commands that behave as badly as a program can.

use std::{
    io::Write,
    process::{Command, Stdio},
    thread,
    time::Duration,
};

use clap::{Args, Subcommand, ValueEnum};
use clap_serve::{CommandExt, Effect};
use serde_json::{Value, json};

use crate::{
    app::{Mode, word},
    component::pair,
    store::{Answer, Store},
};

const KIND: &str = "worker";

#[derive(Debug, Subcommand)]
pub(crate) enum Worker {
    /// Makes a new worker
    #[command(effect = Effect::Write)]
    New {
        #[command(flatten)]
        worker: Name,
        /// What it is started with
        arguments: Vec<String>,
        /// Its variables
        #[arg(long, short, value_parser = pair, value_name = "ENV=VAL")]
        env: Vec<(String, String)>,
    },
    /// Calls a function of a worker
    #[command(effect = Effect::Write)]
    Invoke {
        #[command(flatten)]
        worker: Name,
        /// The function
        function_name: String,
        /// What it is called with
        arguments: Vec<String>,
        /// Do not wait for it
        #[arg(long, short)]
        enqueue: bool,
        /// Calls with the same key are one call
        #[arg(long, short)]
        idempotency_key: Option<String>,
    },
    /// Shows a worker
    #[command(effect = Effect::Read)]
    Get(Name),
    /// Removes a worker
    #[command(effect = Effect::Destructive)]
    Delete(Name),
    /// Lists workers
    #[command(effect = Effect::Read)]
    List {
        /// Only those of this component
        component_name: Option<String>,
        /// Only those of which this is true
        #[arg(long)]
        filter: Vec<String>,
        /// Where to begin, as LAYER/POSITION
        #[arg(long, value_parser = cursor)]
        scan_cursor: Option<(u64, u64)>,
        /// At most so many
        #[arg(long, short, value_parser = clap::value_parser!(u64).range(1..=1000))]
        max_count: Option<u64>,
        /// Ask each one how it is
        #[arg(long)]
        precise: bool,
    },
    /// Shows what a worker writes
    #[command(effect = Effect::Read)]
    Stream {
        #[command(flatten)]
        worker: Name,
        /// How many lines
        #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u8).range(1..=100))]
        lines: u8,
    },
    /// Moves a worker to another version
    #[command(effect = Effect::Write)]
    Update {
        #[command(flatten)]
        worker: Name,
        /// How it moves
        #[arg(value_enum)]
        mode: Option<Mode>,
        /// The version; the newest when none is given
        target_version: Option<u64>,
    },
    /// Stops a worker for a while
    #[command(effect = Effect::Write)]
    Interrupt(Name),
    /// Lets a stopped worker go on
    #[command(effect = Effect::Write)]
    Resume(Name),
    /// Lets a worker fail, to see how it comes back
    #[command(effect = Effect::Destructive)]
    SimulateCrash(Name),
    /// Shows all that a worker did
    #[command(effect = Effect::Read)]
    Oplog {
        #[command(flatten)]
        worker: Name,
        /// From this entry on
        #[arg(long, conflicts_with = "query")]
        from: Option<u64>,
        /// Only entries with this in them
        #[arg(long)]
        query: Option<String>,
    },
    /// Takes back what a worker did
    #[command(effect = Effect::Destructive)]
    Revert {
        #[command(flatten)]
        worker: Name,
        #[command(flatten)]
        to: RevertTo,
    },
    /// Takes back a call that has not begun
    #[command(effect = Effect::Destructive)]
    CancelInvocation {
        #[command(flatten)]
        worker: Name,
        /// The key of the call
        idempotency_key: String,
    },
    /// Lists the files of a worker
    #[command(effect = Effect::Read)]
    Files {
        #[command(flatten)]
        worker: Name,
        /// The folder
        #[arg(default_value = "/")]
        path: String,
    },
    /// Switches a plugin of a worker on
    #[command(effect = Effect::Write)]
    ActivatePlugin {
        #[command(flatten)]
        worker: Name,
        /// The plugin
        #[arg(long)]
        plugin_name: String,
    },
    /// Switches a plugin of a worker off
    #[command(effect = Effect::Write)]
    DeactivatePlugin {
        #[command(flatten)]
        worker: Name,
        /// The plugin
        #[arg(long)]
        plugin_name: String,
    },
    /// Writes without an end
    #[command(effect = Effect::Read)]
    Flood {
        /// Where to
        #[arg(long, value_enum, default_value_t = Stream::Stdout)]
        to: Stream,
    },
    /// Starts a process that outlives it and holds its output open, and says which
    #[command(effect = Effect::Read)]
    Fork,
    /// Says nothing and does not end
    #[command(effect = Effect::Read)]
    Hang,
}

/// Which worker is meant.
#[derive(Debug, Args)]
pub(crate) struct Name {
    /// Its name, perhaps as COMPONENT/NAME
    worker_name: String,
}

/// How far back: one of these.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct RevertTo {
    /// To this entry
    #[arg(long)]
    last_oplog_index: Option<u64>,
    /// By so many calls
    #[arg(long)]
    number_of_invocations: Option<u64>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Stream {
    Stdout,
    Stderr,
}

impl Worker {
    pub(crate) fn run(self, sensitive: bool) -> Answer {
        match self {
            Self::Flood { to } => flood(to),
            Self::Fork => fork(),
            Self::Hang => loop {
                thread::sleep(Duration::from_secs(3600));
            },
            Self::Stream { worker, lines } => {
                let oplog = oplog(&Store::open()?, &worker.worker_name)?;
                let from = oplog.len().saturating_sub(usize::from(lines));
                Ok(oplog.iter().skip(from).map(line).collect())
            }
            other => other.asked(&Store::open()?, sensitive),
        }
    }

    /// Those that ask the services.
    fn asked(self, store: &Store, sensitive: bool) -> Answer {
        let status = |status: &str| json!({ "status": status });
        match self {
            Self::New { worker, arguments, env } => {
                let env: serde_json::Map<String, Value> =
                    env.into_iter().map(|(key, value)| (key, Value::String(value))).collect();
                let fields = json!({ "arguments": arguments, "env": env, "status": "running" });
                store.put(KIND, &worker.worker_name, fields)
            }
            Self::Invoke { worker, function_name, arguments, enqueue, idempotency_key } => {
                let call = json!({
                    "function": function_name,
                    "arguments": arguments,
                    "idempotency_key": idempotency_key,
                });
                invoke(store, &worker.worker_name, &call, enqueue)
            }
            Self::Get(worker) => {
                let mut record = store.get(KIND, &worker.worker_name)?;
                if let Some(record) = record.as_object_mut().filter(|_| !sensitive) {
                    record.remove("env");
                }
                Ok(record)
            }
            Self::Delete(worker) => store.delete(KIND, &worker.worker_name),
            Self::List { component_name, filter, scan_cursor, max_count, precise } => {
                let prefix = component_name.map(|name| format!("{name}/")).unwrap_or_default();
                let from = scan_cursor.map_or(0, |(_, position)| position);
                let found = list(store, &prefix, &filter)?.into_iter();
                let found = found.skip(usize::try_from(from).unwrap_or(usize::MAX));
                let max = max_count.and_then(|max| usize::try_from(max).ok());
                let workers: Vec<Value> = found.take(max.unwrap_or(usize::MAX)).collect();
                Ok(json!({ "workers": workers, "precise": precise }))
            }
            Self::Update { worker, mode, target_version } => {
                let mode = mode.as_ref().map_or("auto".to_owned(), word);
                let fields = json!({ "mode": mode, "version": target_version });
                store.change(KIND, &worker.worker_name, fields)
            }
            Self::Interrupt(worker) => {
                store.change(KIND, &worker.worker_name, status("interrupted"))
            }
            Self::Resume(worker) => store.change(KIND, &worker.worker_name, status("running")),
            Self::SimulateCrash(worker) => {
                store.change(KIND, &worker.worker_name, status("crashed"))
            }
            Self::Oplog { worker, from, query } => {
                entries(store, &worker.worker_name, from, query.as_ref())
            }
            Self::Revert { worker, to } => revert(store, &worker.worker_name, to),
            Self::CancelInvocation { worker, idempotency_key } => {
                store.change(KIND, &worker.worker_name, json!({ "cancelled": idempotency_key }))
            }
            Self::Files { worker, path } => {
                store.get(KIND, &worker.worker_name)?;
                Ok(json!({ "path": path, "files": [] }))
            }
            Self::ActivatePlugin { worker, plugin_name } => {
                store.change(KIND, &worker.worker_name, json!({ "plugin": plugin_name }))
            }
            Self::DeactivatePlugin { worker, plugin_name: _ } => {
                store.change(KIND, &worker.worker_name, json!({ "plugin": null }))
            }
            Self::Flood { .. } | Self::Fork | Self::Hang | Self::Stream { .. } => Ok(Value::Null),
        }
    }
}

/// Calls a function of a worker. Who does not wait is not told what it gave.
fn invoke(store: &Store, worker: &str, call: &Value, enqueue: bool) -> Answer {
    let mut done = store.worker("POST", worker, "invoke", call)?;
    if let Some(done) = done.as_object_mut() {
        done.insert("worker".to_owned(), json!(worker));
        done.insert("enqueued".to_owned(), json!(enqueue));
        done.retain(|key, _| !enqueue || key != "result");
    }
    Ok(done)
}

/// What a worker did, from an entry on, or of entries that contain a text.
fn entries(store: &Store, worker: &str, from: Option<u64>, query: Option<&String>) -> Answer {
    let is_wanted = |entry: &&Value| {
        let index = entry.get("index").and_then(Value::as_u64);
        let text = entry.to_string();
        index >= from && query.is_none_or(|part| text.contains(part))
    };
    let oplog = oplog(store, worker)?;
    let entries: Vec<&Value> = oplog.iter().filter(is_wanted).collect();
    Ok(json!({ "entries": entries, "from": from, "query": query }))
}

fn revert(store: &Store, worker: &str, to: RevertTo) -> Answer {
    let RevertTo { last_oplog_index, number_of_invocations } = to;
    let to = json!({
        "last_oplog_index": last_oplog_index,
        "number_of_invocations": number_of_invocations,
    });
    store.worker("POST", worker, "revert", &to)
}

/// The workers whose name begins with this and has all of those in it.
fn list(store: &Store, prefix: &str, parts: &[String]) -> Result<Vec<Value>, String> {
    let is_wanted = |one: &Value| {
        let name = one.get("name").and_then(Value::as_str).unwrap_or_default();
        name.starts_with(prefix) && parts.iter().all(|part| name.contains(part))
    };
    Ok(store.list(KIND)?.into_iter().filter(is_wanted).collect())
}

/// All that a worker did.
fn oplog(store: &Store, name: &str) -> Result<Vec<Value>, String> {
    match store.worker("GET", name, "oplog", &Value::Null)? {
        Value::Array(entries) => Ok(entries),
        other => Err(format!("the services answer {other} instead of a list")),
    }
}

/// A line of what a worker writes.
fn line(entry: &Value) -> String {
    let part = |key: &str| entry.get(key).cloned().unwrap_or_default();
    let function = part("function");
    format!("{}({}) = {}", function.as_str().unwrap_or_default(), part("arguments"), part("result"))
}

fn flood(to: Stream) -> Answer {
    let line = format!("{}\n", "flood ".repeat(100));
    loop {
        let written = match to {
            Stream::Stdout => std::io::stdout().write_all(line.as_bytes()),
            Stream::Stderr => std::io::stderr().write_all(line.as_bytes()),
        };
        written.map_err(|error| error.to_string())?;
    }
}

fn fork() -> Answer {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut command = Command::new(program);
    let child = command.args(["worker", "hang"]).stdin(Stdio::null()).spawn();
    let child = child.map_err(|error| error.to_string())?;
    Ok(json!({ "left_running": child.id() }))
}

/// `LAYER/POSITION`
fn cursor(text: &str) -> Result<(u64, u64), String> {
    let (layer, position) = text.split_once('/').ok_or("write it as LAYER/POSITION")?;
    let number = |text: &str| text.parse().map_err(|_| format!("\"{text}\" is no number"));
    Ok((number(layer)?, number(position)?))
}
