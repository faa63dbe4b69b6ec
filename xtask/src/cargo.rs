//! Running cargo and finding what it built.

use std::{
    env,
    ffi::OsString,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context, Result, bail};
use serde::Deserialize;

/// The root of the workspace.
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}

/// The cargo that runs this chore, at the root of the workspace.
pub(crate) fn cargo(args: &[&str]) -> Command {
    let program = env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let mut command = Command::new(program);
    command.args(args).current_dir(root());
    command
}

/// Runs a command with its output on the terminal.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let line = line(command);
    println!("   $ {line}");
    let status = command.status().with_context(|| format!("cannot run \"{line}\""))?;
    if !status.success() {
        bail!("\"{line}\" ended with {status}");
    }
    Ok(())
}

/// Runs a command and gives its stdout; its stderr stays on the terminal.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let line = line(command);
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("cannot run \"{line}\""))?;
    if !output.status.success() {
        bail!("\"{line}\" ended with {}", output.status);
    }
    String::from_utf8(output.stdout).with_context(|| format!("\"{line}\" wrote no text"))
}

/// The folder that cargo builds into, wherever flags and variables put it.
pub(crate) fn target_folder() -> Result<PathBuf> {
    #[derive(Deserialize)]
    struct Metadata {
        target_directory: PathBuf,
    }
    let text = output(&mut cargo(&["metadata", "--no-deps", "--format-version", "1"]))?;
    let metadata: Metadata = serde_json::from_str(&text).context("cargo metadata is not JSON")?;
    Ok(metadata.target_directory)
}

/// Builds the `edgemere` binary as users do, and says where it is.
pub(crate) fn build_release() -> Result<PathBuf> {
    run(&mut cargo(&["build", "--quiet", "--release", "--package", "edgemere"]))?;
    Ok(target_folder()?.join("release").join(executable("edgemere")))
}

/// Builds the `edgemere` binary in the dev profile, and says where it is.
pub(crate) fn build_dev() -> Result<PathBuf> {
    Ok(build_beside_tests()?.join(executable("edgemere")))
}

/// Builds an example of one crate alone, in the dev profile, and says where it is.
pub(crate) fn build_example_of(package: &str, name: &str) -> Result<PathBuf> {
    run(&mut cargo(&["build", "--quiet", "--package", package, "--example", name]))?;
    Ok(target_folder()?.join("debug/examples").join(executable(name)))
}

/// Builds one of the workspace's examples in the dev profile, and says where it is.
pub(crate) fn build_example(name: &str) -> Result<PathBuf> {
    Ok(build_beside_tests()?.join("examples").join(executable(name)))
}

/// Asks for all that the chores run, of the whole workspace: only then does cargo choose the same
/// features of every dependency as for the tests, and builds nothing twice.
fn build_beside_tests() -> Result<PathBuf> {
    let examples = ["reference", "conformance", "golem"].map(|name| ["--example", name]);
    let what = ["--bin", "edgemere"].into_iter().chain(examples.into_iter().flatten());
    run(cargo(&["build", "--quiet", "--workspace"]).args(what))?;
    Ok(target_folder()?.join("debug"))
}

fn executable(name: &str) -> String {
    format!("{name}{}", env::consts::EXE_SUFFIX)
}

/// A command as a person would type it.
fn line(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_stem().unwrap_or_default();
    let mut words = vec![program.to_string_lossy().into_owned()];
    words.extend(command.get_args().map(|arg| arg.to_string_lossy().into_owned()));
    words.join(" ")
}
