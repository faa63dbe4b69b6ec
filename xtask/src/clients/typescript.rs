//! The official TypeScript packages: the first line, which has sessions, and the second, which does
//! without where it can.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::Result;

use super::{
    script,
    stage::{Stage, Transport},
};
use crate::{cargo, packages};

const PACKAGES: &str = include_str!("../../clients/typescript/package.json");
const LOCK: &str = include_str!("../../clients/typescript/package-lock.json");

pub(super) fn first(stage: &Stage, transport: Transport) -> Result<()> {
    walk(stage, transport, "v1.mjs", "2025-11-25")
}

pub(super) fn second(stage: &Stage, transport: Transport) -> Result<()> {
    let protocol = match transport {
        // This transport was given up before there was a revision without sessions.
        Transport::Sse => "2025-11-25",
        Transport::Stdio | Transport::Remote | Transport::Http => "2026-07-28",
    };
    walk(stage, transport, "v2.mjs", protocol)
}

/// Where the packages are.
pub(super) struct Installed {
    pub(super) node: PathBuf,
    pub(super) modules: PathBuf,
    folder: PathBuf,
}

/// Installs the packages, once.
pub(super) fn installed() -> Result<Installed> {
    let folder = packages::npm("clients-typescript", PACKAGES, Some(LOCK))?;
    let modules = folder.join("node_modules");
    Ok(Installed { node: modules.join(".bin/node"), modules, folder })
}

fn walk(stage: &Stage, transport: Transport, name: &str, protocol: &str) -> Result<()> {
    let Installed { node, folder, .. } = installed()?;
    copy(&folder, &["walk.mjs", name])?;
    let settings = stage.settings(transport, protocol);
    script(Command::new(node).arg(folder.join(name)).arg(settings.to_string()))
}

/// Packages are looked for beside the script that names them.
fn copy(folder: &Path, names: &[&str]) -> Result<()> {
    let scripts = cargo::root().join("xtask/clients/typescript");
    for name in names {
        fs::copy(scripts.join(name), folder.join(name))?;
    }
    Ok(())
}
