//! `get disk usage`: how full the disk is that the node's data is on.

use std::fmt;

use serde_json::json;

use crate::commands::Declared;
use crate::commands::get::memory_info::with_commas;
use crate::declaration::Declaration;
use crate::dispatch::Context;
use crate::error::Error;
use crate::language::cursor::Cursor;
use crate::language::options::{Options, Output};
use crate::reply::Reply;
use edgemere_service::Kind;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct DiskUsage(Options);

impl Declared for DiskUsage {
    const DECLARATION: &'static Declaration = &Declaration {
        name: "get disk usage",
        usage: "get disk usage [.] [where format = FORMAT]",
        about: "Shows how full the disk of the node's data folder is, in bytes.",
        details: "It shows no other folders than the node's own.",
        examples: &["get disk usage", "get disk usage where format = json"],
        ..Declaration::READ
    };

    fn parse(cursor: &mut Cursor<'_>) -> Result<Self, Error> {
        cursor.keyword(".");
        Options::parse(cursor, Self::DECLARATION).map(Self)
    }

    fn print(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }

    fn output(&self) -> &Output {
        &self.0.output
    }

    async fn run(&self, context: &Context<'_>) -> Result<Reply, Error> {
        let settings = context.node.settings();
        let disk = context.node.host.disk(&settings.data).map_err(|error| Error::File {
            path: settings.data.display().to_string(),
            reason: error.to_string(),
            kind: Kind::Unavailable,
            hint: None,
        })?;
        let node = settings.network.ip().to_string();
        let used = disk.total.saturating_sub(disk.free);
        let people = json!([{
            "node": node,
            "total": with_commas(disk.total),
            "used": with_commas(used),
            "free": with_commas(disk.free),
        }]);
        let numbers = json!([{
            "node": node, "total": disk.total, "used": used, "free": disk.free,
        }]);
        Ok(Reply::json(people).with_json(numbers))
    }
}
