//! The official Python package: its first line, which has sessions, and its second, which does without
//! where it can; and the libraries for data frames, which read results from URLs.

use std::process::Command;

use anyhow::Result;
use serde_json::json;

use super::{
    rows::{DATABASE, ROWS, TABLE},
    script,
    stage::{Stage, Transport},
};
use crate::{cargo, packages};

const FIRST: &str = include_str!("../../clients/python/v1.txt");
const SECOND: &str = include_str!("../../clients/python/v2.txt");
const FRAMES: &str = include_str!("../../clients/python/frames.txt");
const FIRST_FRAMEWORKS: &str = include_str!("../../clients/python/frameworks_v1.txt");
const SECOND_FRAMEWORKS: &str = include_str!("../../clients/python/frameworks_v2.txt");

pub(super) fn first(stage: &Stage, transport: Transport) -> Result<()> {
    walk(stage, transport, "v1", FIRST, "2025-11-25")
}

pub(super) fn second(stage: &Stage, transport: Transport) -> Result<()> {
    walk(stage, transport, "v2", SECOND, "2026-07-28")
}

/// The libraries that read a result from a URL: pandas, polars, pyarrow and DuckDB.
pub(super) fn frames(stage: &Stage, _: Transport) -> Result<()> {
    let python = packages::python("clients-python-frames", FRAMES)?;
    let settings = json!({
        "url": stage.rest_url(), "database": DATABASE, "table": TABLE, "rows": ROWS,
    });
    let file = cargo::root().join("xtask/clients/python/frames.py");
    script(Command::new(python).arg("-B").arg(file).arg(settings.to_string()))
}

/// The frameworks that use the first line.
pub(super) fn first_frameworks(stage: &Stage, transport: Transport) -> Result<()> {
    walk(stage, transport, "frameworks_v1", FIRST_FRAMEWORKS, "2025-11-25")
}

/// The frameworks that use the second line.
pub(super) fn second_frameworks(stage: &Stage, transport: Transport) -> Result<()> {
    walk(stage, transport, "frameworks_v2", SECOND_FRAMEWORKS, "2026-07-28")
}

fn walk(
    stage: &Stage,
    transport: Transport,
    line: &str,
    requirements: &str,
    protocol: &str,
) -> Result<()> {
    let python = packages::python(&format!("clients-python-{line}"), requirements)?;
    let mut settings = stage.settings(transport, protocol);
    if let Some(settings) = settings.as_object_mut() {
        settings.insert("pyarrow".into(), json!(requirements.contains("pyarrow")));
    }
    let file = cargo::root().join("xtask/clients/python").join(format!("{line}.py"));
    script(Command::new(python).arg("-B").arg(file).arg(settings.to_string()))
}
