//! `edgemere node`: a node in the foreground.

use std::net::SocketAddr;
use std::process::ExitCode;
use std::str::FromStr;
use std::time::Duration;

use edgemere_command::Role;
use edgemere_query::sql::Limits;
use edgemere_service::jobs;
use edgemere_storage::storage;
use edgemere_tools::Origin;

use super::node_runtime;
use super::signals::Signals;
use crate::config::{self, Config, Flags, Key, NodeKeys, keys, machine};
use crate::failure::Failure;
use crate::server::{self, Options, Running};
use crate::terminal;

/// Start a node; Ctrl-C stops it
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Start a node in the foreground. Ctrl-C or SIGTERM stops it.\n\nEvery flag is \
                  also a key of edgemere.toml, without the dashes. When the node is ready, it \
                  writes its addresses to node.json in the data folder.",
    after_help = "Examples:\n  edgemere node\n  edgemere node --name plant-1 --data /var/lib/plant-1\n  \
                  edgemere node --role master --network 0.0.0.0:32048 --advertise 10.0.0.5:32048\n  \
                  edgemere node --role operator --name plant-1 --cluster plants --master \
                  10.0.0.5:32048 --network 0.0.0.0:32148 --network-key network.key"
)]
pub(crate) struct Node {
    #[command(flatten)]
    pub(super) keys: Flags<NodeKeys>,

    /// Stop when stdin ends, so that the node does not outlive the process that started it
    #[arg(long, hide = true)]
    stop_with_stdin: bool,
}

impl Node {
    pub(super) fn run(self, config: &Config) -> anyhow::Result<ExitCode> {
        let options = options(config)?;
        log_memory(config);
        let is_json = config.text(&keys::LOG_FORMAT) == "json";
        let runtime = node_runtime()?;
        let result = runtime.block_on(async {
            let signals = Signals::listen()?;
            if self.stop_with_stdin {
                signals.listen_to_stdin()?;
            }
            let running = server::start(options).await?;
            announce(&running, is_json);
            signals.wait(running).await
        });
        // What was cut off by a second signal is not waited for.
        runtime.shutdown_background();
        result
    }
}

pub(super) fn options(config: &Config) -> anyhow::Result<Options> {
    let address = |key| config::address(config.text(key)).map_err(Failure::input);
    let optional = |key| config.get(key).map(config::address).transpose().map_err(Failure::input);
    let roles: Vec<Role> =
        config.text(&keys::ROLE).split(',').map(parse).collect::<Result<_, _>>()?;
    let master = config.get(&keys::MASTER).map(String::from);
    if master.is_some() && roles.contains(&Role::Master) {
        let message = "a node with the role master cannot have another master";
        let hint = "leave out --master, or give the other roles alone: --role operator,query";
        return Err(Failure::input(message).with_hint(hint).into());
    }
    let has_cli_tools = config.text(&keys::CLI_TOOLS) == "true";
    Ok(Options {
        name: config.text(&keys::NAME).into(),
        roles,
        data: config.text(&keys::DATA).into(),
        http: address(&keys::HTTP)?,
        network: address(&keys::NETWORK)?,
        advertise: optional(&keys::ADVERTISE)?,
        network_key: config.get(&keys::NETWORK_KEY).map(String::from),
        company: config.text(&keys::COMPANY).into(),
        cluster: config.text(&keys::CLUSTER).into(),
        master,
        register: config.text(&keys::REGISTER) == "true",
        allow_origins: list(config, &keys::ALLOW_ORIGIN),
        allow_hosts: list(config, &keys::ALLOW_HOST),
        access: parse(config.text(&keys::ACCESS))?,
        agent_access: parse(config.text(&keys::AGENT_ACCESS))?,
        agents: agents(config)?,
        tools: Origin::of(config.get(&keys::TOOLS)),
        beside: has_cli_tools.then_some(super::serve::beside),
        body_memory: size(config, &keys::BODY_MEMORY)?,
        storage: storage(config)?,
        limits: limits(config)?,
        jobs: jobs(config)?,
        ledger_age_max: Duration::from_secs(
            config::seconds(config.text(&keys::LEDGER_AGE_MAX)).map_err(Failure::input)?,
        ),
    })
}

fn storage(config: &Config) -> Result<storage::Options, Failure> {
    let defaults = storage::Options::default();
    let memtable_bytes_max = size(config, &keys::FRESH_MEMORY)?;
    let disk_reserve = config.get(&keys::DISK_RESERVE).map(config::size);
    Ok(storage::Options {
        memtable_bytes_max,
        // A table must settle long before all tables have taken what there is.
        flush_bytes: defaults.flush_bytes.min(memtable_bytes_max / 4),
        compact_bytes: size(config, &keys::COMPACT_MEMORY)?,
        disk_reserve: disk_reserve.transpose().map_err(Failure::input)?,
        ..defaults
    })
}

/// What agents may use.
pub(in crate::cli) fn agents(config: &Config) -> Result<mcp_serve::Limits, Failure> {
    let count = |key| config::count(config.text(key)).map_err(Failure::input);
    Ok(mcp_serve::Limits {
        concurrent_calls_max: usize::try_from(count(&keys::AGENT_CALLS)?).unwrap_or(usize::MAX),
        calls_per_second_max: count(&keys::AGENT_RATE)?,
        ..mcp_serve::Limits::default()
    })
}

fn limits(config: &Config) -> Result<Limits, Failure> {
    let memory = |key| Ok(usize::try_from(size(config, key)?).unwrap_or(usize::MAX));
    let seconds = config::seconds(config.text(&keys::QUERY_TIME)).map_err(Failure::input)?;
    Ok(Limits {
        memory_bytes: memory(&keys::QUERY_MEMORY)?,
        memory_total_bytes: memory(&keys::QUERY_MEMORY_TOTAL)?,
        process_bytes: Some(machine::memory()),
        spill_bytes: size(config, &keys::QUERY_SPILL)?,
        time: Duration::from_secs(seconds),
        ..Limits::default()
    })
}

fn jobs(config: &Config) -> Result<jobs::Limits, Failure> {
    let seconds = config::seconds(config.text(&keys::JOB_KEEP)).map_err(Failure::input)?;
    Ok(jobs::Limits {
        job_bytes: size(config, &keys::JOB_DISK)?,
        total_bytes: size(config, &keys::JOB_DISK_TOTAL)?,
        keep: Duration::from_secs(seconds),
        ..jobs::Limits::default()
    })
}

fn size(config: &Config, key: &Key) -> Result<u64, Failure> {
    config::size(config.text(key)).map_err(Failure::input)
}

fn list(config: &Config, key: &Key) -> Vec<String> {
    config.get(key).map(|text| text.split(',').map(String::from).collect()).unwrap_or_default()
}

fn parse<T: FromStr<Err = String>>(text: &str) -> Result<T, Failure> {
    text.parse().map_err(Failure::input)
}

/// Says how much memory the node takes for what, of how much.
fn log_memory(config: &Config) {
    tracing::info!(
        memory_mib = machine::memory() >> 20,
        queries = config.text(&keys::QUERY_MEMORY_TOTAL),
        bodies = config.text(&keys::BODY_MEMORY),
        fresh = config.text(&keys::FRESH_MEMORY),
        compact = config.text(&keys::COMPACT_MEMORY),
        "the memory that the node may take"
    );
}

/// Says that the node is ready. A log for programs has it as one of its own lines.
fn announce(running: &Running, is_json: bool) {
    let settings = running.node().settings();
    let roles: Vec<_> = settings.roles.iter().map(|role| role.name()).collect();
    let (name, roles) = (running.node().name(), roles.join(", "));
    let (http, network) = (running.http(), running.network());
    let data = settings.data.canonicalize().unwrap_or_else(|_| settings.data.clone());
    let data = data.display();
    if is_json {
        tracing::info!(name, roles, %http, %network, %data, "ready");
        return;
    }
    let ask = ask(http, "get status");
    terminal::say(&format!(
        "{name} is ready ({roles}): http://{http}, network {network}, data in {data}; try: {ask}"
    ));
}

/// The command line that asks a node something.
pub(super) fn ask(http: SocketAddr, command: &str) -> String {
    let url = format!("http://{http}");
    let node = match keys::NODE.is_default(&url) {
        true => String::new(),
        false => format!(" --node {url}"),
    };
    format!("{} run '{command}'{node}", program())
}

/// How this program was called.
pub(super) fn program() -> String {
    let called = std::env::args_os().next().and_then(|name| name.into_string().ok());
    let called = called.filter(|name| !name.contains(char::is_whitespace));
    called.unwrap_or_else(|| "edgemere".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use edgemere_command::Access;

    fn of(toml: &str) -> anyhow::Result<Options> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("edgemere.toml");
        std::fs::write(&file, toml).unwrap();
        options(&Config::load(Some(&file), Vec::new()).unwrap())
    }

    #[test]
    fn without_a_word_a_node_is_everything_on_this_machine() {
        let options = of("").unwrap();
        assert_eq!(options.name, "edgemere");
        assert_eq!(options.roles, Role::ALL);
        assert_eq!(options.http, "127.0.0.1:32349".parse().unwrap());
        assert_eq!(options.network, "127.0.0.1:32348".parse().unwrap());
        assert_eq!(options.cluster, "edgemere-cluster");
        assert_eq!(options.master, None);
        assert_eq!(options.access, Access::Admin);
        assert!(options.register);
        // On a machine with enough memory all is as the engine has it by itself.
        if machine::memory() >= 4 << 30 {
            let process_bytes = Some(machine::memory());
            assert_eq!(options.limits, Limits { process_bytes, ..Limits::default() });
            assert_eq!(options.jobs, jobs::Limits::default());
            assert_eq!(options.storage, storage::Options::default());
        }
        assert!(options.limits.memory_total_bytes as u64 <= machine::memory() / 2);
        assert!(options.body_memory <= machine::memory() / 4);
    }

    #[test]
    fn what_queries_and_fresh_rows_may_use_can_be_set() {
        let options = of(
            "query-memory = \"64MiB\"\nquery-memory-total = \"1GB\"\nquery-spill = \"0\"\n\
             query-time = 60\nfresh-memory = \"8MiB\"\ncompact-memory = \"4MiB\"\nbody-memory = \"32MiB\"\njob-disk = \"2MiB\"\n\
             job-disk-total = \"1GiB\"\njob-keep = 7",
        );
        let options = options.unwrap();
        let expected = Limits {
            memory_bytes: 64 << 20,
            memory_total_bytes: 1_000_000_000,
            process_bytes: Some(machine::memory()),
            spill_bytes: 0,
            time: Duration::from_secs(60),
            ..Limits::default()
        };
        assert_eq!(options.limits, expected);
        let expected = jobs::Limits {
            job_bytes: 2 << 20,
            total_bytes: 1 << 30,
            keep: Duration::from_secs(7),
            ..jobs::Limits::default()
        };
        assert_eq!(options.jobs, expected);
        assert_eq!(options.storage.memtable_bytes_max, 8 << 20);
        assert_eq!(options.storage.flush_bytes, 2 << 20);
        assert_eq!(options.storage.compact_bytes, 4 << 20);
        assert_eq!(options.body_memory, 32 << 20);
    }

    #[test]
    fn a_master_has_no_other_master() {
        let failure = Failure::of(of("master = \"127.0.0.1:32048\"").unwrap_err());
        assert_eq!(failure.kind.exit_code(), 2);
        assert!(failure.hint.unwrap().contains("--role operator,query"));
        of("master = \"127.0.0.1:32048\"\nrole = [\"operator\", \"query\"]").unwrap();
    }
}
