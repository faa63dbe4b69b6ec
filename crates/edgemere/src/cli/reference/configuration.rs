//! The page of the configuration: every key with its flag, variable, values and default, from
//! [`crate::config::keys`].

use super::cell;
use crate::config::{Key, harmless, keys, lowered};

const INTRODUCTION: &str = "\
<!-- Written by `cargo xtask docs` from crates/edgemere/src/config/keys.rs. Edit the texts there. -->
# Configuration

Every setting is a flag, an environment variable and a key of `edgemere.toml`. The key `query-memory` is the
flag `--query-memory` and the variable `EDGEMERE_QUERY_MEMORY`. A flag overrides the environment, which
overrides the file, which overrides the default.

```sh
edgemere config show    # every key, its value and its source
edgemere config init    # write edgemere.toml with every key at its default
```

| configuration file | which keys apply |
|---|---|
| the file that `--config FILE` or `EDGEMERE_CONFIG` names | all |
| `edgemere/edgemere.toml` in the user's configuration folder (`$XDG_CONFIG_HOME`, or `~/.config`) | all |
";

/// The groups of the page. Every key is in one of them.
const GROUPS: [(&str, &[&Key]); 7] = [
    (
        "The node and its network",
        &[
            &keys::NAME,
            &keys::ROLE,
            &keys::DATA,
            &keys::HTTP,
            &keys::NETWORK,
            &keys::ADVERTISE,
            &keys::NETWORK_KEY,
            &keys::MASTER,
            &keys::CLUSTER,
            &keys::COMPANY,
            &keys::REGISTER,
            &keys::LEDGER_AGE_MAX,
        ],
    ),
    ("Access", &[&keys::ACCESS, &keys::ALLOW_ORIGIN, &keys::ALLOW_HOST]),
    (
        "Agents",
        &[
            &keys::AGENT_ACCESS,
            &keys::AGENT_CALLS,
            &keys::AGENT_RATE,
            &keys::TOOLS,
            &keys::CLI_TOOLS,
        ],
    ),
    (
        "Queries and jobs",
        &[
            &keys::QUERY_MEMORY,
            &keys::QUERY_MEMORY_TOTAL,
            &keys::QUERY_SPILL,
            &keys::QUERY_TIME,
            &keys::JOB_DISK,
            &keys::JOB_DISK_TOTAL,
            &keys::JOB_KEEP,
        ],
    ),
    (
        "Ingest and storage",
        &[&keys::BODY_MEMORY, &keys::FRESH_MEMORY, &keys::COMPACT_MEMORY, &keys::DISK_RESERVE],
    ),
    ("Clients", &[&keys::NODE]),
    ("Logs", &[&keys::LOG, &keys::LOG_FORMAT]),
];

const NOTES: &str = "
## Values

| value | written as |
|---|---|
| `SIZE` | bytes, with or without a unit: `512MiB`, `2GB`, `1048576` |
| `SECONDS` | a whole number from 1 to 86400 |
| a list (`ROLE,…`) | separated by commas in flags and variables, an array in the file: `role = [\"master\", \"query\"]` |
| `true\\|false` | without quotes in the file |

Defaults that are a share of \"the memory\" refer to the memory of the machine, or to the limit of the container or
service (cgroup) or of the process (`ulimit -v`) if that is lower. All shares together take at most 60 % of it.
";

pub(super) fn page() -> String {
    let names = |keys: &[&Key]| {
        keys.iter().map(|key| format!("`{}`", key.name)).collect::<Vec<_>>().join(", ")
    };
    let mut text = format!(
        "{INTRODUCTION}| `edgemere.toml` in the current folder, without `--config` | only {}; and {} if they \
         lower what applies without the file |\n\nThe file in the current folder overrides the user's file. It is \
         restricted because commands are also started in folders with files from other people, such as a cloned \
         repository. `edgemere node` does not start if that file sets another key to a different value.\n",
        names(harmless()),
        names(lowered()),
    );
    for (title, keys) in GROUPS {
        text.push_str(&format!(
            "\n## {title}\n\n| key | value | what it sets | default |\n|---|---|---|---|\n"
        ));
        keys.iter().for_each(|key| text.push_str(&line(key)));
    }
    text + NOTES
}

fn line(key: &Key) -> String {
    let Key { name, value_name, help, form, default, .. } = key;
    let words = form.words().map(|words| words.join(", "));
    let value = words.unwrap_or_else(|| (*value_name).to_owned());
    format!("| `{name}` | {} | {} | {} |\n", cell(&value), cell(help), cell(default.words()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_is_in_one_group() {
        let mut listed: Vec<_> =
            GROUPS.iter().flat_map(|(_, keys)| keys.iter().map(|key| key.name)).collect();
        let mut known: Vec<_> = keys::ALL.iter().map(|key| key.name).collect();
        listed.sort_unstable();
        known.sort_unstable();
        assert_eq!(listed, known);
    }
}
