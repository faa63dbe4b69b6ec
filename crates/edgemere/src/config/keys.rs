//! Every key of the configuration, defined once: flags, the environment, `edgemere.toml`,
//! `config show` and `config init` are all made from this.

use super::Config;
use super::form::Form;
use super::key::{Default, Key};
use super::machine;

/// The least memory that something can be given, in bytes.
const MEMORY_MIN: u64 = 1 << 20;

/// The node's name.
pub(crate) static NAME: Key = Key {
    name: "name",
    variable: "EDGEMERE_NAME",
    value_name: "NAME",
    help: "The node's name; each node of a network needs its own",
    form: Form::Text,
    default: Default::Fixed("edgemere"),
};

/// The node's roles.
pub(crate) static ROLE: Key = Key {
    name: "role",
    variable: "EDGEMERE_ROLE",
    value_name: "ROLE,…",
    help: "The node's roles: master keeps the ledger, operator stores rows, query answers \
           queries for the network",
    form: Form::Words(&["master", "operator", "query"]),
    default: Default::Fixed("master,operator,query"),
};

/// The folder of the node's data.
pub(crate) static DATA: Key = Key {
    name: "data",
    variable: "EDGEMERE_DATA",
    value_name: "DIR",
    help: "The data folder; the node creates it if it does not exist",
    form: Form::Text,
    default: Default::Fixed("edgemere-data"),
};

/// Where REST is served.
pub(crate) static HTTP: Key = Key {
    name: "http",
    variable: "EDGEMERE_HTTP",
    value_name: "ADDR:PORT",
    help: "The address of the HTTP port, for people and programs; port 0 picks a free port",
    form: Form::Address,
    default: Default::Computed {
        words: "127.0.0.1:32349; port 32049 with the role master only, 32149 with operator only",
        of: |config| loopback(config, 49),
    },
};

/// Where other nodes are served.
pub(crate) static NETWORK: Key = Key {
    name: "network",
    variable: "EDGEMERE_NETWORK",
    value_name: "ADDR:PORT",
    help: "The address of the network port, for other nodes; port 0 picks a free port",
    form: Form::Address,
    default: Default::Computed {
        words: "127.0.0.1:32348; port 32048 with the role master only, 32148 with operator only",
        of: |config| loopback(config, 48),
    },
};

/// Under which address other nodes know the node.
pub(crate) static ADVERTISE: Key = Key {
    name: "advertise",
    variable: "EDGEMERE_ADVERTISE",
    value_name: "IP:PORT",
    help: "The address at which other nodes reach this node, if it differs from --network; port \
           0 means the same port",
    form: Form::Address,
    default: Default::Unset("the network address"),
};

/// The key of the network.
pub(crate) static NETWORK_KEY: Key = Key {
    name: "network-key",
    variable: "EDGEMERE_NETWORK_KEY",
    value_name: "FILE",
    help: "The file with the key that all nodes of the network share; the environment variable \
           also takes the key itself (64 hex digits)",
    form: Form::Secret,
    default: Default::Unset(
        "network.key in the data folder; a master that other machines can reach creates it",
    ),
};

/// The company that the node belongs to.
pub(crate) static COMPANY: Key = Key {
    name: "company",
    variable: "EDGEMERE_COMPANY",
    value_name: "COMPANY",
    help: "The company that the node belongs to",
    form: Form::Text,
    default: Default::Fixed("My Company"),
};

/// The cluster that the node's data belongs to.
pub(crate) static CLUSTER: Key = Key {
    name: "cluster",
    variable: "EDGEMERE_CLUSTER",
    value_name: "NAME",
    help: "The cluster that an operator's rows belong to",
    form: Form::Text,
    default: Default::Computed {
        words: "the node's name followed by \"-cluster\"",
        of: |config| format!("{}-cluster", config.text(&NAME)),
    },
};

/// The master of a node that is not one.
pub(crate) static MASTER: Key = Key {
    name: "master",
    variable: "EDGEMERE_MASTER",
    value_name: "ADDR:PORT",
    help: "The network address of the master, for a node without the role master",
    form: Form::Place,
    default: Default::Unset("none"),
};

/// Whether the node adds its own policies to the ledger.
pub(crate) static REGISTER: Key = Key {
    name: "register",
    variable: "EDGEMERE_REGISTER",
    value_name: "true|false",
    help: "Whether the node publishes policies about itself in the ledger",
    form: Form::Switch,
    default: Default::Fixed("true"),
};

/// What callers may do.
pub(crate) static ACCESS: Key = Key {
    name: "access",
    variable: "EDGEMERE_ACCESS",
    value_name: "ACCESS",
    help: "What callers of the node may do; each level includes the ones before it",
    form: Form::Word(&["read", "write", "admin"]),
    default: Default::Fixed("admin"),
};

/// Whose pages may ask.
pub(crate) static ALLOW_ORIGIN: Key = Key {
    name: "allow-origin",
    variable: "EDGEMERE_ALLOW_ORIGIN",
    value_name: "ORIGIN,…",
    help: "Origins whose web pages may send requests from a browser, such as \
           http://localhost:6274; the node's own page always may",
    form: Form::Origins,
    default: Default::Unset("none"),
};

/// Under which names the node is asked.
pub(crate) static ALLOW_HOST: Key = Key {
    name: "allow-host",
    variable: "EDGEMERE_ALLOW_HOST",
    value_name: "NAME,…",
    help: "Host names by which programs and other nodes reach the node, in addition to its \
           addresses and localhost",
    form: Form::Hosts,
    default: Default::Unset("none"),
};

/// What agents may do.
pub(crate) static AGENT_ACCESS: Key = Key {
    name: "agent-access",
    variable: "EDGEMERE_AGENT_ACCESS",
    value_name: "ACCESS",
    help: "What agents may do over MCP, within what their tools do; each level includes the ones \
           before it",
    form: Form::Word(&["read", "write", "admin"]),
    default: Default::Fixed("read"),
};

/// The calls of agents at once.
pub(crate) static AGENT_CALLS: Key = Key {
    name: "agent-calls",
    variable: "EDGEMERE_AGENT_CALLS",
    value_name: "N",
    help: "How many tool calls of one user's agents may run at once; the node refuses further \
           calls",
    form: Form::Count,
    default: Default::Fixed("64"),
};

/// The calls of agents in a second.
pub(crate) static AGENT_RATE: Key = Key {
    name: "agent-rate",
    variable: "EDGEMERE_AGENT_RATE",
    value_name: "N",
    help: "How many tool calls per second one user's agents may start, on average; a call above \
           the rate is refused with the time to wait",
    form: Form::Count,
    default: Default::Fixed("100000"),
};

/// The file of tools for agents.
pub(crate) static TOOLS: Key = Key {
    name: "tools",
    variable: "EDGEMERE_TOOLS",
    value_name: "FILE",
    help: "The tools file for agents over MCP, which the node reloads when it changes; \
           \"edgelake\" selects the tools with EdgeLake's names",
    form: Form::Text,
    default: Default::Unset("the tools that come with Edgemere"),
};

/// Whether agents have the command line, too.
pub(crate) static CLI_TOOLS: Key = Key {
    name: "cli-tools",
    variable: "EDGEMERE_CLI_TOOLS",
    value_name: "true|false",
    help: "Whether agents also get the commands of this program as tools, within their access; \
           \"edgemere --serve\" serves only those",
    form: Form::Switch,
    default: Default::Fixed("false"),
};

/// The memory of one query.
pub(crate) static QUERY_MEMORY: Key = Key {
    name: "query-memory",
    variable: "EDGEMERE_QUERY_MEMORY",
    value_name: "SIZE",
    help: "The memory of one query; a query that needs more spills to disk",
    form: Form::Size { min: MEMORY_MIN },
    default: Default::Computed {
        words: "an eighth of the memory, at most 512MiB",
        of: |_| machine::QUERY.text(),
    },
};

/// The memory of all queries.
pub(crate) static QUERY_MEMORY_TOTAL: Key = Key {
    name: "query-memory-total",
    variable: "EDGEMERE_QUERY_MEMORY_TOTAL",
    value_name: "SIZE",
    help: "The memory of all queries together",
    form: Form::Size { min: MEMORY_MIN },
    default: Default::Computed {
        words: "a quarter of the memory, at most 1GiB",
        of: |_| machine::QUERIES.text(),
    },
};

/// The disk space of queries.
pub(crate) static QUERY_SPILL: Key = Key {
    name: "query-spill",
    variable: "EDGEMERE_QUERY_SPILL",
    value_name: "SIZE",
    help: "The disk space that all queries together may spill to",
    form: Form::Size { min: 0 },
    default: Default::Fixed("16GiB"),
};

/// The time of a query.
pub(crate) static QUERY_TIME: Key = Key {
    name: "query-time",
    variable: "EDGEMERE_QUERY_TIME",
    value_name: "SECONDS",
    help: "The time limit of a query that does not set max_time",
    form: Form::Seconds,
    default: Default::Fixed("300"),
};

/// How old the copy of the ledger may be.
pub(crate) static LEDGER_AGE_MAX: Key = Key {
    name: "ledger-age-max",
    variable: "EDGEMERE_LEDGER_AGE_MAX",
    value_name: "SECONDS",
    help: "How long ago the master may have last confirmed this node's copy of the ledger; \
           results of the network that rely on an older copy are not marked complete",
    form: Form::Seconds,
    default: Default::Fixed("900"),
};

/// The disk space of one job.
pub(crate) static JOB_DISK: Key = Key {
    name: "job-disk",
    variable: "EDGEMERE_JOB_DISK",
    value_name: "SIZE",
    help: "The disk space for the rows of one job; a job with more rows fails",
    form: Form::Size { min: MEMORY_MIN },
    default: Default::Fixed("1GiB"),
};

/// The disk space of all jobs.
pub(crate) static JOB_DISK_TOTAL: Key = Key {
    name: "job-disk-total",
    variable: "EDGEMERE_JOB_DISK_TOTAL",
    value_name: "SIZE",
    help: "The disk space for the rows of all jobs; the node removes the jobs that ended first",
    form: Form::Size { min: MEMORY_MIN },
    default: Default::Fixed("4GiB"),
};

/// How long jobs are remembered.
pub(crate) static JOB_KEEP: Key = Key {
    name: "job-keep",
    variable: "EDGEMERE_JOB_KEEP",
    value_name: "SECONDS",
    help: "How long the node keeps a job and its rows after the job has ended",
    form: Form::Seconds,
    default: Default::Fixed("3600"),
};

/// The memory of requests' bodies.
pub(crate) static BODY_MEMORY: Key = Key {
    name: "body-memory",
    variable: "EDGEMERE_BODY_MEMORY",
    value_name: "SIZE",
    help: "The memory for request bodies and for what is decoded from them; the node refuses \
           further bodies until memory is free",
    form: Form::Size { min: 16 * MEMORY_MIN },
    default: Default::Computed {
        words: "an eighth of the memory, at most 1GiB",
        of: |_| machine::BODIES.text(),
    },
};

/// The memory of rows that have not settled.
pub(crate) static FRESH_MEMORY: Key = Key {
    name: "fresh-memory",
    variable: "EDGEMERE_FRESH_MEMORY",
    value_name: "SIZE",
    help: "The memory of the memtables: rows that are not yet flushed to Parquet files; writers \
           wait when it is full",
    form: Form::Size { min: MEMORY_MIN },
    default: Default::Computed {
        words: "a sixteenth of the memory, at most 256MiB",
        of: |_| machine::FRESH.text(),
    },
};

/// The memory of compaction.
pub(crate) static COMPACT_MEMORY: Key = Key {
    name: "compact-memory",
    variable: "EDGEMERE_COMPACT_MEMORY",
    value_name: "SIZE",
    help: "The largest size, in memory, of a Parquet file that compaction writes; compaction \
           uses three times as much",
    form: Form::Size { min: MEMORY_MIN },
    default: Default::Computed {
        words: "a 32nd of the memory, at most 128MiB",
        of: |_| machine::COMPACT.text(),
    },
};

/// What rows leave of the disk.
pub(crate) static DISK_RESERVE: Key = Key {
    name: "disk-reserve",
    variable: "EDGEMERE_DISK_RESERVE",
    value_name: "SIZE",
    help: "The disk space that rows leave free for deletes and for the rest of the node; below \
           it the node refuses rows",
    form: Form::Size { min: 0 },
    default: Default::Unset("1 % of the disk, at least 64MiB and at most 1GiB"),
};

/// The node that commands are sent to.
pub(crate) static NODE: Key = Key {
    name: "node",
    variable: "EDGEMERE_NODE",
    value_name: "URL",
    help: "The node that receives commands, as http://HOST:PORT or HOST:PORT",
    form: Form::Url,
    default: Default::Fixed("http://127.0.0.1:32349"),
};

/// What is logged.
pub(crate) static LOG: Key = Key {
    name: "log",
    variable: "EDGEMERE_LOG",
    value_name: "LEVEL|FILTER",
    help: "What to log on stderr: off, error, warn, info, debug, trace, or a filter such as \
           \"warn,edgemere=debug\"",
    form: Form::Filter,
    default: Default::Unset("info for \"edgemere node\", warn for every other command"),
};

/// How the log looks.
pub(crate) static LOG_FORMAT: Key = Key {
    name: "log-format",
    variable: "EDGEMERE_LOG_FORMAT",
    value_name: "FORMAT",
    help: "The format of the log",
    form: Form::Word(&["text", "json"]),
    default: Default::Fixed("text"),
};

/// Every key. A default may depend only on keys before.
pub(crate) static ALL: [&Key; 34] = [
    &NAME,
    &ROLE,
    &DATA,
    &HTTP,
    &NETWORK,
    &ADVERTISE,
    &NETWORK_KEY,
    &COMPANY,
    &CLUSTER,
    &MASTER,
    &REGISTER,
    &ACCESS,
    &ALLOW_ORIGIN,
    &ALLOW_HOST,
    &AGENT_ACCESS,
    &AGENT_CALLS,
    &AGENT_RATE,
    &TOOLS,
    &CLI_TOOLS,
    &QUERY_MEMORY,
    &QUERY_MEMORY_TOTAL,
    &QUERY_SPILL,
    &QUERY_TIME,
    &LEDGER_AGE_MAX,
    &JOB_DISK,
    &JOB_DISK_TOTAL,
    &JOB_KEEP,
    &BODY_MEMORY,
    &FRESH_MEMORY,
    &COMPACT_MEMORY,
    &DISK_RESERVE,
    &NODE,
    &LOG,
    &LOG_FORMAT,
];

/// EdgeLake's ports: of a master alone, of an operator alone, and of all else.
fn loopback(config: &Config, service: u16) -> String {
    let hundreds = match config.text(&ROLE) {
        "master" => 320,
        "operator" => 321,
        _ => 323,
    };
    format!("127.0.0.1:{}", hundreds * 100 + service)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_has_the_variable_of_its_name_and_a_default_of_its_form() {
        for key in ALL {
            let variable = format!("EDGEMERE_{}", key.name.to_uppercase().replace('-', "_"));
            assert_eq!(key.variable, variable);
            if let Default::Fixed(text) = key.default {
                key.form.check(text).unwrap();
            }
            if let (Default::Computed { of, .. }, Form::Size { .. }) = (&key.default, key.form) {
                key.form.check(&of(&Config::load(None, Vec::new()).unwrap())).unwrap();
            }
        }
    }
}
