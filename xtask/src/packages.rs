//! Packages of other languages that the chores run: installed by name, in the versions that a file of
//! this repository pins, into the user's cache folder, where they outlive the clone and the build.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result};

use crate::cargo::run;

/// Installs what a `package.json` names, as its lock says if it has one, and gives the folder it is in.
pub(crate) fn npm(name: &str, manifest: &str, lock: Option<&str>) -> Result<PathBuf> {
    installed(name, &format!("{manifest}{}", lock.unwrap_or_default()), |folder| {
        fs::write(folder.join("package.json"), manifest)?;
        lock.map_or(Ok(()), |lock| fs::write(folder.join("package-lock.json"), lock))?;
        let mut npm = Command::new("npm");
        // Not `npm ci`, which wants packages of every other platform in the lock too.
        npm.args(["install", "--no-save", "--no-audit", "--no-fund", "--loglevel=error"]);
        run(npm.current_dir(folder))
    })
}

/// Makes a Python environment with what a file of requirements names, and gives its `python`.
pub(crate) fn python(name: &str, requirements: &str) -> Result<PathBuf> {
    let folder = installed(name, requirements, |folder| {
        fs::write(folder.join("requirements.txt"), requirements)?;
        run(Command::new("python3").args(["-m", "venv", "."]).current_dir(folder))
            .context("python3 with venv is needed")?;
        let mut pip = Command::new(folder.join("bin/python"));
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
        run(pip.args(["--requirement", "requirements.txt"]).current_dir(folder))
    })?;
    Ok(folder.join("bin/python"))
}

/// The folder of that name, with what `wanted` describes in it: installed anew when it has another.
fn installed(
    name: &str,
    wanted: &str,
    install: impl FnOnce(&Path) -> Result<()>,
) -> Result<PathBuf> {
    let folder = cache()?.join(name);
    let stamp = folder.join("installed");
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(folder);
    }
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    install(&folder).with_context(|| format!("{name} could not be installed"))?;
    // Only what was installed to its end counts.
    fs::write(stamp, wanted)?;
    Ok(folder)
}

/// Our own folder in the user's cache.
fn cache() -> Result<PathBuf> {
    let given = |name: &str| env::var_os(name).filter(|path| !path.is_empty()).map(PathBuf::from);
    let base = given("XDG_CACHE_HOME").or_else(|| Some(given("HOME")?.join(".cache")));
    Ok(base.context("neither XDG_CACHE_HOME nor HOME is set")?.join("edgemere-xtask"))
}
