//! How a client is to reach Edgemere.

use std::path::Path;

use anyhow::Context;
use edgemere_tools::Origin;

use crate::config::{self, Config, keys};
use crate::failure::Failure;

/// How a client is to reach Edgemere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Launch {
    /// It starts a program. Its folder may be any, so all paths are whole.
    Program { command: String, args: Vec<String> },
    /// It connects to a node that runs.
    Url(String),
}

impl Launch {
    /// As the configuration says.
    pub(super) fn of(config: &Config, is_http: bool) -> anyhow::Result<Self> {
        let mut url = config::node_url(config.text(&keys::NODE)).map_err(Failure::input)?;
        if is_http {
            url.set_path("/mcp");
            return Ok(Self::Url(url.to_string()));
        }
        let command = std::env::current_exe().context("cannot tell where this program is")?;
        let mut args = vec!["mcp".to_owned()];
        // A client starts it in any folder, where another file may lie: it is named.
        if let Some(file) = config.file() {
            args.extend(["--config".into(), whole_path(file)?]);
        }
        match config.is_default(&keys::NODE) {
            false => args.extend(["--node".into(), url.as_str().trim_end_matches('/').to_owned()]),
            true => args.extend(["--data".into(), whole(config.text(&keys::DATA))?]),
        }
        if let Some(tools) = config.get(&keys::TOOLS) {
            let tools = match Origin::of(Some(tools)) {
                Origin::File(file) => whole_path(&file)?,
                Origin::Builtin | Origin::Edgelake => tools.to_owned(),
            };
            args.extend(["--tools".into(), tools]);
        }
        Ok(Self::Program { command: text(&command)?, args })
    }
}

fn whole(path: &str) -> anyhow::Result<String> {
    whole_path(Path::new(path))
}

fn whole_path(path: &Path) -> anyhow::Result<String> {
    text(&std::path::absolute(path).with_context(|| format!("where is \"{}\"?", path.display()))?)
}

/// A path as JSON can have it.
fn text(path: &Path) -> anyhow::Result<String> {
    let text = path.to_str().map(ToOwned::to_owned);
    Ok(text.ok_or_else(|| Failure::input(format!("{path:?} is not UTF-8")))?)
}
