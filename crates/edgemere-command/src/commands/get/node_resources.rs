//! `get node resources`: what the machine has of processors, memory and disk.

use serde_json::{Map, Value, json};

use crate::commands::report::Report;
use crate::declaration::Declaration;
use crate::dispatch::Context;
use crate::error::Error;
use crate::format::table::Table;
use crate::language::options::Options;
use crate::reply::Reply;

pub(crate) struct NodeResources;

impl Report for NodeResources {
    const DECLARATION: &'static Declaration = &Declaration {
        name: "get node resources",
        usage: "get node resources [where format = FORMAT]",
        about: "Shows the machine's processors, memory and disk at a glance.",
        examples: &["get node resources", "get node resources where format = json"],
        ..Declaration::READ
    };

    async fn report(_options: &Options, context: &Context<'_>) -> Result<Reply, Error> {
        let node = context.node;
        let usage = node.host.cpu_usage();
        let memory = node.host.memory();
        let disk = node.host.disk(&node.settings().data).ok();
        let gigabytes = |bytes: u64| json!((bytes as f64 / BYTES_PER_GB * 10.0).round() / 10.0);
        let resources = [
            ("CPU cores", json!(usage.len())),
            ("CPU percent", json!(usage.iter().sum::<f32>().round() / usage.len().max(1) as f32)),
            ("Memory total (GB)", gigabytes(memory.total)),
            ("Memory available (GB)", gigabytes(memory.available)),
            ("Disk total (GB)", disk.map_or(Value::Null, |disk| gigabytes(disk.total))),
            ("Disk free (GB)", disk.map_or(Value::Null, |disk| gigabytes(disk.free))),
        ];
        let mut table = Table::new(["Resource", "Value"]);
        let mut json = Map::new();
        for (name, value) in resources {
            table.push([json!(name), value.clone()]);
            json.insert(name.into(), value);
        }
        Ok(Reply::table(table).with_json(Value::Object(json)))
    }
}

const BYTES_PER_GB: f64 = (1_u64 << 30) as f64;
