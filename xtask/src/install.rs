//! What the chores need besides cargo, and how a machine gets it.
//!
//! A step of `cargo xtask test` names its tools; whatever is missing is installed before the step
//! runs. A later step of the project that needs Node, PostgreSQL or a browser adds a `Tool` here.

use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// A program outside this repository.
pub(crate) struct Tool {
    pub(crate) name: &'static str,
    /// Ends with success when the tool is there.
    pub(crate) check: &'static [&'static str],
    pub(crate) remedy: Remedy,
}

/// What to do when a tool is missing.
pub(crate) enum Remedy {
    /// Install it ourselves, with this command.
    Run(&'static [&'static str]),
    /// It belongs to the person's toolchain: say what to type.
    Say(&'static str),
}

pub(crate) const RUSTFMT: Tool = Tool {
    name: "rustfmt",
    check: &["cargo", "fmt", "--version"],
    remedy: Remedy::Say("rustup component add rustfmt"),
};

pub(crate) const CLIPPY: Tool = Tool {
    name: "clippy",
    check: &["cargo", "clippy", "--version"],
    remedy: Remedy::Say("rustup component add clippy"),
};

/// Used when it is there, never asked for: `cargo test` does the same, slower.
pub(crate) const NEXTEST: Tool = Tool {
    name: "cargo-nextest",
    check: &["cargo", "nextest", "--version"],
    remedy: Remedy::Run(&["cargo", "install", "cargo-nextest", "--locked"]),
};

pub(crate) const CARGO_FUZZ: Tool = Tool {
    name: "cargo-fuzz",
    check: &["cargo", "fuzz", "--version"],
    remedy: Remedy::Run(&["cargo", "install", "cargo-fuzz", "--locked"]),
};

/// Installs packages of JavaScript, and the Node that they need.
pub(crate) const NPM: Tool = Tool {
    name: "npm",
    check: &["npm", "--version"],
    remedy: Remedy::Run(&["apt-get", "install", "--yes", "npm"]),
};

/// Talks to servers by hand.
pub(crate) const CURL: Tool = Tool {
    name: "curl",
    check: &["curl", "--version"],
    remedy: Remedy::Run(&["apt-get", "install", "--yes", "curl"]),
};

/// Makes the namespaces in which tests cut the network.
#[cfg(target_os = "linux")]
pub(crate) const IPROUTE2: Tool = Tool {
    name: "iproute2",
    check: &["ip", "netns", "list"],
    remedy: Remedy::Run(&["apt-get", "install", "--yes", "iproute2"]),
};

/// Makes environments for packages of Python.
pub(crate) const PYTHON: Tool = Tool {
    name: "python3-venv",
    check: &["python3", "-c", "import venv, ensurepip"],
    remedy: Remedy::Run(&["apt-get", "install", "--yes", "python3-venv"]),
};

/// Makes sure that a tool is there, or says how to get it.
pub(crate) fn ensure(tool: &Tool) -> Result<()> {
    if installed(tool) {
        return Ok(());
    }
    match tool.remedy {
        Remedy::Say(advice) => bail!("{} is missing: run `{advice}`", tool.name),
        Remedy::Run(install) => {
            println!("   {} is missing: {}", tool.name, install.join(" "));
            let status = command(install)?.status().context("cannot start the installation")?;
            if !status.success() || !installed(tool) {
                bail!("{} could not be installed with `{}`", tool.name, install.join(" "));
            }
            Ok(())
        }
    }
}

/// Whether a tool answers its check.
pub(crate) fn installed(tool: &Tool) -> bool {
    command(tool.check).is_ok_and(|mut check| {
        let quiet = check.stdout(Stdio::null()).stderr(Stdio::null());
        quiet.status().is_ok_and(|status| status.success())
    })
}

fn command(words: &[&str]) -> Result<Command> {
    let (program, args) = words.split_first().context("a tool has no command")?;
    let mut command = Command::new(program);
    command.args(args);
    Ok(command)
}
