//! The nodes that the exchanges are sent to: our own, started for the run, or somebody else's.

use std::{collections::BTreeMap, ffi::OsString, path::Path};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::{
    http::{Answer, Client},
    interrupt,
    node::{Joining, Node, Plan, Spec},
    replay::{
        cues::{Cue, What},
        exchange::Exchange,
        ports::Ports,
        rows,
    },
};

/// A node of the captures.
struct Captured {
    name: &'static str,
    spec: Spec,
    network: u16,
    http: u16,
    /// The tools that agents have; without, those that come with the program.
    tools: Option<&'static str>,
}

const NODES: &[Captured] = &[
    Captured {
        name: "master",
        spec: Spec { name: "Master", role: "master" },
        network: 33048,
        http: 33049,
        tools: None,
    },
    Captured {
        name: "operator1",
        spec: Spec { name: "Operator1", role: "operator" },
        network: 33148,
        http: 33149,
        tools: None,
    },
    Captured {
        name: "operator2",
        spec: Spec { name: "Operator2", role: "operator" },
        network: 33158,
        http: 33159,
        tools: None,
    },
    Captured {
        name: "query",
        spec: Spec { name: "Query", role: "query" },
        network: 33348,
        http: 33349,
        tools: Some("edgelake"),
    },
    Captured {
        name: "fork-query",
        spec: Spec { name: "ForkQuery", role: "query" },
        network: 33448,
        http: 33449,
        tools: None,
    },
];

/// The nodes of a run.
pub(crate) struct Stage {
    urls: BTreeMap<String, String>,
    pub(crate) ports: Ports,
    client: Client,
    /// Empty when the nodes are not ours.
    running: BTreeMap<&'static str, Node>,
}

impl Stage {
    /// Starts every node of the captures.
    pub(crate) fn start(binary: &Path) -> Result<Self> {
        let mut stage = Self::empty();
        for captured in NODES {
            let tools = captured.tools.map(OsString::from);
            let plan = Plan { spec: captured.spec, joining: Joining::Alone, tools };
            let node = Node::run(binary, plan)?;
            stage.ports.set(captured.network, node.bound.network.port());
            stage.ports.set(captured.http, node.bound.http.port());
            stage.urls.insert(captured.name.to_owned(), node.url());
            stage.running.insert(captured.name, node);
        }
        Ok(stage)
    }

    /// Uses nodes that run already: `NODE=URL`, or a URL alone for the query node.
    pub(crate) fn remote(addresses: &[String]) -> Result<Self> {
        let mut stage = Self::empty();
        for address in addresses {
            let (name, url) = match address.split_once('=') {
                Some((name, url)) if !name.contains("://") => (name, url),
                _ => ("query", address.as_str()),
            };
            let captured = NODES.iter().find(|captured| captured.name == name);
            let captured = captured.with_context(|| unknown_node(name))?;
            let url = url.trim_end_matches('/').to_owned();
            stage.learn_ports(captured, &url);
            stage.urls.insert(name.to_owned(), url);
        }
        Ok(stage)
    }

    fn empty() -> Self {
        Self {
            urls: BTreeMap::new(),
            ports: Ports::default(),
            client: Client::new(),
            running: BTreeMap::new(),
        }
    }

    /// Whether the nodes were started by us, and may be seeded and stopped.
    pub(crate) fn is_ours(&self) -> bool {
        !self.running.is_empty()
    }

    pub(crate) fn has(&self, node: &str) -> bool {
        self.urls.contains_key(node)
    }

    /// Sends an exchange to its node.
    pub(crate) fn send(&self, exchange: &Exchange) -> Result<Answer> {
        let url = format!("{}{}", self.url(&exchange.node)?, self.ports.rewrite(&exchange.path));
        let rewrite = |(name, value): (&str, &str)| (name.to_owned(), self.ports.rewrite(value));
        let headers: Vec<_> = exchange.headers().map(rewrite).collect();
        self.client.send(&exchange.method, &url, &headers, &self.ports.rewrite(exchange.body()))
    }

    /// Does what a cue says.
    pub(crate) fn take(&mut self, cue: &Cue, exchanges: &[Exchange]) -> Result<()> {
        for (node, operator) in cue.nodes.iter().zip(1..) {
            match &cue.what {
                What::Rows => self.store(node, operator)?,
                What::Stop => drop(self.running.remove(node)),
                What::Seed(policies) => {
                    for policy in policies.find(exchanges)? {
                        let told =
                            || format!("seeding {node} before {}: {}", cue.before, cue.reason);
                        self.seed(node, &policy).with_context(told)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn seed(&self, node: &str, policy: &Value) -> Result<()> {
        let policy = self.ports.rewrite(&policy.to_string());
        let command = format!("blockchain insert where policy = {policy} and local = true");
        let answer = self.client.command("POST", self.url(node)?, &command)?;
        if !answer.status.is_success() {
            bail!("{}: {}\n   {command}", answer.status, answer.body.trim());
        }
        Ok(())
    }

    fn store(&self, node: &str, operator: u64) -> Result<()> {
        let headers = [("type", "json"), ("dbms", rows::DBMS), ("table", rows::TABLE)]
            .map(|(name, value)| (name.to_owned(), value.to_owned()));
        for body in rows::bodies(operator) {
            interrupt::check()?;
            let answer = self.client.send("PUT", self.url(node)?, &headers, &body)?;
            if !answer.status.is_success() {
                bail!("storing rows on {node}: {}: {}", answer.status, answer.body.trim());
            }
        }
        Ok(())
    }

    /// Where a node is.
    pub(crate) fn url(&self, node: &str) -> Result<&str> {
        self.urls.get(node).map(String::as_str).with_context(|| format!("no node \"{node}\""))
    }

    /// Somebody else's node says itself which ports it has; if it does not, the captured ones stay.
    fn learn_ports(&mut self, captured: &Captured, url: &str) {
        let asked = self.client.command("GET", url, "get connections where format = json");
        let Ok(answer) = asked else { return };
        let told: Value = serde_json::from_str(&answer.body).unwrap_or_default();
        for (kind, port) in [("TCP", captured.network), ("REST", captured.http)] {
            if let Some(bound) = told.get(kind).and_then(port_of) {
                self.ports.set(port, bound);
            }
        }
    }
}

fn port_of(connection: &Value) -> Option<u16> {
    connection.get("local")?.as_str()?.rsplit_once(':')?.1.parse().ok()
}

fn unknown_node(name: &str) -> String {
    let names: Vec<&str> = NODES.iter().map(|captured| captured.name).collect();
    format!("no node \"{name}\" in the captures, only {}", names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::exchange;

    #[test]
    fn every_exchange_is_for_a_node() {
        for exchange in exchange::load().unwrap() {
            assert!(NODES.iter().any(|captured| captured.name == exchange.node));
        }
    }

    #[test]
    fn a_connection_has_a_port() {
        let connection = serde_json::json!({"external": "1.2.3.4:5", "local": "127.0.0.1:33348"});
        assert_eq!(port_of(&connection), Some(33348));
        assert_eq!(port_of(&serde_json::json!({"local": "Not declared"})), None);
    }

    #[test]
    fn an_address_without_a_name_is_the_query_nodes() {
        // Nobody listens there: the captured ports stay.
        let stage = Stage::remote(&["http://127.0.0.1:9/".to_owned()]).unwrap();
        assert_eq!(stage.url("query").unwrap(), "http://127.0.0.1:9");
        assert!(!stage.has("master") && !stage.is_ours());
        assert!(Stage::remote(&["nope=http://127.0.0.1:9".to_owned()]).is_err());
    }
}
