//! `get cpu usage`: how busy the machine's processors are.

use serde_json::{Map, Value, json};

use crate::commands::report::Report;
use crate::declaration::Declaration;
use crate::dispatch::Context;
use crate::error::Error;
use crate::format::table::Table;
use crate::language::options::Options;
use crate::reply::Reply;

pub(crate) struct CpuUsage;

impl Report for CpuUsage {
    const DECLARATION: &'static Declaration = &Declaration {
        name: "get cpu usage",
        usage: "get cpu usage [where format = FORMAT]",
        about: "Shows the load of each processor in per cent, since the last call.",
        examples: &["get cpu usage", "get cpu usage where format = json"],
        ..Declaration::READ
    };

    async fn report(_options: &Options, context: &Context<'_>) -> Result<Reply, Error> {
        let mut json = Map::new();
        let usage = context.node.host.cpu_usage();
        for (index, percent) in usage.iter().enumerate() {
            json.insert(format!("Core {}", index + 1), json!(rounded(*percent)));
        }
        let average = usage.iter().sum::<f32>() / usage.len().max(1) as f32;
        json.insert("Average".into(), json!(rounded(average)));
        let mut table = Table::new(["CPU", "Percent"]);
        for (name, percent) in &json {
            table.push([json!(name), percent.clone()]);
        }
        Ok(Reply::table(table).with_json(Value::Object(json)))
    }
}

fn rounded(percent: f32) -> f64 {
    (f64::from(percent) * 10.0).round() / 10.0
}
