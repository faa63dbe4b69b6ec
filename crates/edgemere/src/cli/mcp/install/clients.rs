//! The clients: where the file of each is, and what an entry looks like there.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::launch::Launch;
use crate::failure::Failure;

/// A client that Edgemere can be added to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Client {
    /// Claude Desktop
    Claude,
    /// Claude Code, for the project in the current folder
    ClaudeCode,
    /// Cursor, for all projects
    Cursor,
    /// VS Code, for all workspaces
    #[value(name = "vscode")]
    VsCode,
    /// Zed
    Zed,
}

/// What is known of a client.
pub(super) struct Form {
    /// What people call it.
    pub(super) title: &'static str,
    /// Its file.
    pub(super) file: fn(&Folders) -> PathBuf,
    /// The key of the file that has the servers.
    pub(super) key: &'static str,
    /// The entry; none when the client has no such.
    pub(super) entry: fn(&Launch) -> Option<Value>,
    /// The client's own command that does the same, where it has one.
    pub(super) command: Option<fn(&str, &Launch) -> String>,
    /// The next step.
    pub(super) after: &'static str,
}

impl Client {
    pub(super) fn form(self) -> &'static Form {
        match self {
            Self::Claude => &CLAUDE,
            Self::ClaudeCode => &CLAUDE_CODE,
            Self::Cursor => &CURSOR,
            Self::VsCode => &VSCODE,
            Self::Zed => &ZED,
        }
    }
}

static CLAUDE: Form = Form {
    title: "Claude Desktop",
    file: |folders| folders.settings.join("Claude").join("claude_desktop_config.json"),
    key: "mcpServers",
    entry: |launch| match launch {
        Launch::Program { command, args } => Some(json!({ "command": command, "args": args })),
        // Servers at URLs are connectors there, which belong to the account and not to a file.
        Launch::Url(_) => None,
    },
    command: None,
    after: "Quit Claude Desktop and start it again.",
};

static CLAUDE_CODE: Form = Form {
    title: "Claude Code",
    file: |folders| folders.current.join(".mcp.json"),
    key: "mcpServers",
    entry: typed,
    command: Some(|name, launch| match launch {
        Launch::Program { command, args } => {
            let words = std::iter::once(command).chain(args).map(|word| quoted(word));
            format!("claude mcp add {name} -- {}", words.collect::<Vec<_>>().join(" "))
        }
        Launch::Url(url) => format!("claude mcp add --transport http {name} {url}"),
    }),
    after: "Start \"claude\" in this folder and allow the server; /mcp shows it.",
};

static CURSOR: Form = Form {
    title: "Cursor",
    file: |folders| folders.home.join(".cursor").join("mcp.json"),
    key: "mcpServers",
    entry: plain,
    command: None,
    after: "Cursor's settings list it under MCP; start Cursor again if they do not.",
};

static VSCODE: Form = Form {
    title: "VS Code",
    file: |folders| folders.settings.join("Code").join("User").join("mcp.json"),
    key: "servers",
    entry: typed,
    command: None,
    after: "Run \"MCP: List Servers\" in VS Code and start it.",
};

static ZED: Form = Form {
    title: "Zed",
    file: |folders| folders.zed.join("settings.json"),
    key: "context_servers",
    entry: plain,
    command: None,
    after: "Zed takes it at once; its settings list it under AI.",
};

/// A word as shells read it.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

/// An entry that is known by its keys.
fn plain(launch: &Launch) -> Option<Value> {
    Some(match launch {
        Launch::Program { command, args } => json!({ "command": command, "args": args }),
        Launch::Url(url) => json!({ "url": url }),
    })
}

/// An entry that says of what type it is.
fn typed(launch: &Launch) -> Option<Value> {
    Some(match launch {
        Launch::Program { command, args } => {
            json!({ "type": "stdio", "command": command, "args": args })
        }
        Launch::Url(url) => json!({ "type": "http", "url": url }),
    })
}

/// The folders that files of clients are in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Folders {
    home: PathBuf,
    /// Where programs keep their settings.
    settings: PathBuf,
    /// Zed has a folder of its own on some systems.
    zed: PathBuf,
    current: PathBuf,
}

/// A kind of operating system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum System {
    Linux,
    MacOs,
    Windows,
}

impl Folders {
    /// Those of the user of this machine.
    pub(super) fn of_this_machine() -> anyhow::Result<Self> {
        let system = match std::env::consts::OS {
            "windows" => System::Windows,
            "macos" => System::MacOs,
            _ => System::Linux,
        };
        let variable = |name: &str| {
            std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute())
        };
        let folders = Self::of(system, std::env::current_dir()?, variable);
        Ok(folders.ok_or_else(|| {
            Failure::input("it is not known where your files are").with_hint("set HOME")
        })?)
    }

    fn of(
        system: System,
        current: PathBuf,
        variable: impl Fn(&str) -> Option<PathBuf>,
    ) -> Option<Self> {
        let home = match system {
            System::Windows => variable("USERPROFILE").or_else(|| variable("HOME"))?,
            _ => variable("HOME")?,
        };
        let xdg = variable("XDG_CONFIG_HOME").unwrap_or_else(|| home.join(".config"));
        let roaming =
            || variable("APPDATA").unwrap_or_else(|| home.join("AppData").join("Roaming"));
        let (settings, zed) = match system {
            System::Linux => (xdg.clone(), xdg.join("zed")),
            System::MacOs => {
                (home.join("Library").join("Application Support"), home.join(".config").join("zed"))
            }
            System::Windows => (roaming(), roaming().join("Zed")),
        };
        Some(Self { home, settings, zed, current })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(system: System, variables: &[(&str, &str)]) -> [String; 5] {
        let variable = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| PathBuf::from(value))
        };
        let folders = Folders::of(system, "/project".into(), variable).unwrap();
        [&CLAUDE, &CLAUDE_CODE, &CURSOR, &VSCODE, &ZED]
            .map(|form| (form.file)(&folders).display().to_string())
    }

    #[test]
    fn the_files_are_where_each_client_looks_on_each_system() {
        assert_eq!(
            files(System::Linux, &[("HOME", "/h")]),
            [
                "/h/.config/Claude/claude_desktop_config.json",
                "/project/.mcp.json",
                "/h/.cursor/mcp.json",
                "/h/.config/Code/User/mcp.json",
                "/h/.config/zed/settings.json",
            ]
        );
        assert_eq!(
            files(System::Linux, &[("HOME", "/h"), ("XDG_CONFIG_HOME", "/x")])[3..],
            ["/x/Code/User/mcp.json", "/x/zed/settings.json"]
        );
        assert_eq!(
            files(System::MacOs, &[("HOME", "/Users/u")]),
            [
                "/Users/u/Library/Application Support/Claude/claude_desktop_config.json",
                "/project/.mcp.json",
                "/Users/u/.cursor/mcp.json",
                "/Users/u/Library/Application Support/Code/User/mcp.json",
                "/Users/u/.config/zed/settings.json",
            ]
        );
        assert_eq!(
            files(System::Windows, &[("USERPROFILE", "/u"), ("APPDATA", "/roaming")]),
            [
                "/roaming/Claude/claude_desktop_config.json",
                "/project/.mcp.json",
                "/u/.cursor/mcp.json",
                "/roaming/Code/User/mcp.json",
                "/roaming/Zed/settings.json",
            ]
        );
    }

    #[test]
    fn the_clients_own_command_is_one_that_shells_read() {
        let args = vec!["mcp".to_owned(), "--data".into(), "/it's here".into()];
        let launch = Launch::Program { command: "/bin/edgemere".into(), args };
        let command = CLAUDE_CODE.command.unwrap();
        let expected = "claude mcp add e -- /bin/edgemere mcp --data '/it'\\''s here'";
        assert_eq!(command("e", &launch), expected);
    }

    #[test]
    fn only_claude_desktop_takes_no_url() {
        let url = Launch::Url("http://127.0.0.1:1/mcp".into());
        let takes = |form: &Form| (form.entry)(&url).is_some();
        let all = [&CLAUDE, &CLAUDE_CODE, &CURSOR, &VSCODE, &ZED].map(takes);
        assert_eq!(all, [false, true, true, true, true]);
    }
}
