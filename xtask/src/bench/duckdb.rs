//! DuckDB, asked the same questions about the same files: from Python, as most people use it.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use anyhow::{Context, Result, bail};
use serde_json::json;

use crate::cargo;

/// Reads what to ask from its arguments, and prints the median of each query in seconds.
const SCRIPT: &str = include_str!("duckdb.py");

/// Asks each query so many times, and gives the medians.
pub(super) fn ask(
    files: &Path,
    table: &str,
    queries: &[String],
    runs: usize,
) -> Result<Vec<Duration>> {
    let question = json!({
        "files": format!("{}/*.parquet", files.display()),
        "table": table,
        "queries": queries,
        "runs": runs,
    });
    let mut python = Command::new(python()?);
    let text = cargo::output(python.args(["-c", SCRIPT]).arg(question.to_string()))?;
    let seconds: Vec<f64> = serde_json::from_str(&text).context("DuckDB's times are not JSON")?;
    if seconds.len() != queries.len() {
        bail!("DuckDB answered {} of {} queries", seconds.len(), queries.len());
    }
    Ok(seconds.into_iter().map(Duration::from_secs_f64).collect())
}

/// A Python that has DuckDB, in an environment of our own beside the build.
fn python() -> Result<PathBuf> {
    let folder = cargo::target_folder()?.join("bench-python");
    let python = folder.join("bin/python");
    if Command::new(&python)
        .args(["-c", "import duckdb"])
        .output()
        .is_ok_and(|o| o.status.success())
    {
        return Ok(python);
    }
    fs::create_dir_all(&folder)?;
    cargo::output(Command::new("python3").args(["-m", "venv"]).arg(&folder))
        .context("python3 with venv is needed to measure DuckDB beside the node")?;
    cargo::output(Command::new(&python).args(["-m", "pip", "install", "--quiet", "duckdb"]))?;
    Ok(python)
}
