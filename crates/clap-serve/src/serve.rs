//! A command line as a server, from its flags to its end.

use std::{
    ffi::OsString,
    io::{self, Write},
    process::ExitCode,
};

use clap::{Arg, ArgAction, Command, error::ErrorKind};
use mcp_serve::{Access, Catalog, Identity, Server};
use tokio::net::TcpListener;

use crate::{
    Allow, Error, Options, Transport,
    manifests::Manifests,
    program,
    tools::{Tools, missing},
};

/// What to say in a program's own help: `#[command(after_help = clap_serve::HELP)]`.
pub const HELP: &str = "Agents:\n  --serve[=PORT|ADDRESS:PORT|stdio]  \
     Serve the commands to AI agents over MCP; --serve --help says more";

/// Serves a command line until the program is asked to end, or until stdin ends on [`Transport::Stdio`].
///
/// ```no_run
/// # async fn example() -> Result<(), clap_serve::Error> {
/// let command = clap::Command::new("notes");
/// clap_serve::serve(command, clap_serve::Options::new()).await
/// # }
/// ```
pub async fn serve(command: Command, options: Options) -> Result<(), Error> {
    let identity = identity(&command);
    let server = Server::new(identity, options.limits.clone());
    let (transport, manifests) = (options.transport, manifests(&options)?);
    let program = command.get_name().to_owned();
    let tools = Tools::new(command, options)?;
    let mut catalog = tools.add_to(Catalog::new()).missing(missing);
    let mut watching = None;
    if let Some(manifests) = manifests {
        catalog = catalog.resources(manifests.clone());
        watching = Some(manifests.watch(&server).await);
    }
    server.offer(catalog);
    let served = match transport {
        Transport::Stdio => serve_stdio(&server, &program, &tools).await,
        Transport::Http(address) => {
            let listener = TcpListener::bind(address).await;
            let listener = listener.map_err(|source| Error::Listen { address, source })?;
            let address = listener.local_addr()?;
            tell(&program, &tools, &format!("at http://{address}/mcp"));
            let router = server.router(Access::loopback());
            let ending = end_when_asked(server.clone());
            let served = mcp_serve::serve_http(&server, listener, router).await;
            ending.abort();
            served
        }
    };
    drop(watching);
    // What was ended with the server has a moment to do so by itself.
    program::all_ended().await;
    Ok(served?)
}

/// Serves when `--serve` is among the program's arguments, and says with which code to end; does nothing
/// otherwise. It is the one line to put before `Cli::parse()`:
///
/// ```no_run
/// use clap::{CommandFactory, Parser};
/// use std::process::ExitCode;
///
/// #[derive(Parser)]
/// struct Cli {}
///
/// fn main() -> ExitCode {
///     if let Some(code) = clap_serve::serve_if_asked(Cli::command(), clap_serve::Options::new()) {
///         return code;
///     }
///     let _cli = Cli::parse();
///     ExitCode::SUCCESS
/// }
/// ```
///
/// What else may stand there: `--allow write`, `--allow PATTERN` and `--deny PATTERN`, any number of
/// times, `--help`, and the words of a command: then only it and those below it are offered. A line that
/// the program itself understands with a `--serve` in it, because an argument or a value of it is called
/// so, is the program's own unless it begins with it.
pub fn serve_if_asked(command: Command, options: Options) -> Option<ExitCode> {
    let asked = asked(&command, options)?;
    Some(asked.map_or_else(|code| code, |options| serve_to_end(command, options)))
}

/// The options with what `--serve` and the flags after it say, when that is how the program was started;
/// or the code to end with, when they are wrong or ask for help. For programs that decide more by what
/// is allowed; then [`serve_to_end`] serves.
pub fn asked(command: &Command, options: Options) -> Option<Result<Options, ExitCode>> {
    let args: Vec<OsString> = std::env::args_os().skip(1).collect();
    is_asked(command, &args)
        .then(|| with_flags(command, options, args).map_err(|wrong| wrong.tell()))
}

/// Serves as [`serve`] does, in a program that has no runtime of its own, and says with which code to
/// end.
pub fn serve_to_end(command: Command, options: Options) -> ExitCode {
    let is_stdio = options.transport == Transport::Stdio;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let served = match runtime {
        Ok(runtime) => {
            let served = runtime.block_on(serve(command, options));
            if is_stdio {
                // A read of stdin that is under way must not keep the program.
                runtime.shutdown_background();
            }
            served
        }
        Err(error) => Err(Error::Io(error)),
    };
    served.map_or_else(|error| fail(&error, 1), |()| ExitCode::SUCCESS)
}

/// Whether the arguments of a program ask for serving. What stands after two dashes is data.
fn is_asked(command: &Command, args: &[OsString]) -> bool {
    let is_serve = |arg: &OsString| {
        arg.to_str().is_some_and(|arg| arg == "--serve" || arg.starts_with("--serve="))
    };
    let mut before = args.iter().take_while(|arg| *arg != "--");
    match before.position(is_serve) {
        None => false,
        Some(0) => true,
        Some(_) => !is_own(command, args),
    }
}

/// Whether a program understands its arguments itself, or shows its help for them.
fn is_own(command: &Command, args: &[OsString]) -> bool {
    let mut command = command.clone();
    let name = (!command.is_no_binary_name_set()).then(|| OsString::from(command.get_name()));
    let line = name.into_iter().chain(args.iter().cloned());
    match command.try_get_matches_from_mut(line) {
        Ok(_) => true,
        Err(error) => matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion),
    }
}

/// Why the flags cannot be followed.
enum Wrong {
    /// They are wrong for clap, or ask for help.
    Clap(clap::Error),
    Options(Error),
}

impl Wrong {
    /// Says so, and gives the code to end with.
    fn tell(self) -> ExitCode {
        match self {
            Self::Clap(error) => {
                // When nobody reads what is wrong the code still says so.
                let _ = error.print();
                ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
            }
            Self::Options(error) => fail(&error, 2),
        }
    }
}

/// The options, with what who starts the program says.
fn with_flags(
    command: &Command,
    mut options: Options,
    args: Vec<OsString>,
) -> Result<Options, Wrong> {
    let matches = flags(command).try_get_matches_from(args).map_err(Wrong::Clap)?;
    let texts = |id: &str| matches.get_many::<String>(id).into_iter().flatten();
    if let Some(given) = matches.get_one::<String>("serve").filter(|given| !given.is_empty()) {
        options.transport = Transport::new(given).map_err(Wrong::Options)?;
    }
    for allow in texts("allow") {
        options.policy.allow.push(Allow::new(allow).map_err(Wrong::Options)?);
    }
    if let Some(only) = only(command, texts("command").map(String::as_str))? {
        options.policy.only = Some(only.parse().map_err(Wrong::Options)?);
    }
    for deny in texts("deny") {
        options.policy.deny.push(deny.parse().map_err(Wrong::Options)?);
    }
    Ok(options)
}

/// A pattern of the command that words lead to, with all below it; none when there are no words.
fn only<'a>(
    command: &Command,
    words: impl Iterator<Item = &'a str>,
) -> Result<Option<String>, Wrong> {
    let (mut here, mut path) = (command, Vec::new());
    for word in words {
        path.push(word);
        let Some(below) = here.find_subcommand(word) else {
            let given = path.join(" ");
            return Err(Wrong::Options(Error::Command { given }));
        };
        here = below;
    }
    Ok((!path.is_empty()).then(|| format!("{} *", path.join(" "))))
}

/// The flags of serving, as a command line of their own.
fn flags(command: &Command) -> Command {
    let serve = Arg::new("serve")
        .long("serve")
        .value_name("PORT|ADDRESS:PORT|stdio")
        .num_args(0..=1)
        .require_equals(true)
        .default_missing_value("")
        .help("Where agents come in: a port or an address of this machine, or stdin and stdout");
    let allow = Arg::new("allow")
        .long("allow")
        .value_name("EFFECT|PATTERN")
        .action(ArgAction::Append)
        .help("Offer more than reading: write, destructive; or only commands like \"component *\"");
    let deny = Arg::new("deny")
        .long("deny")
        .value_name("PATTERN")
        .action(ArgAction::Append)
        .help("Withhold commands like \"cloud token *\", or arguments like \"deploy --force\"");
    let only = Arg::new("command")
        .value_name("COMMAND")
        .action(ArgAction::Append)
        .num_args(0..)
        .help("Offer only this command and those below it");
    let name = command.get_name().to_owned();
    Command::new("serve")
        .no_binary_name(true)
        .override_usage(format!(
            "{name} --serve[=WHERE] [--allow EFFECT|PATTERN]... [--deny PATTERN]... [COMMAND]..."
        ))
        .about("Serves the commands to AI agents over MCP")
        .args([serve, allow, deny, only])
}

fn identity(command: &Command) -> Identity {
    let long = || command.get_long_version().and_then(|version| version.lines().next());
    let version = command.get_version().or_else(long).unwrap_or("0.0.0");
    let about = command.get_about().map(ToString::to_string);
    let program = command.get_name();
    Identity {
        description: about.clone(),
        instructions: Some(format!(
            "Each tool is a command of {program}. The resources help://… say more about them."
        )),
        ..Identity::new(program, version)
    }
}

fn manifests(options: &Options) -> Result<Option<Manifests>, Error> {
    if options.manifests.is_empty() {
        return Ok(None);
    }
    let folder = options.folder.clone().unwrap_or_else(|| ".".into());
    let manifests = Manifests::around(folder, &options.manifests)?;
    Ok(Some(match options.view {
        Some(view) => manifests.viewed(view),
        None => manifests,
    }))
}

async fn serve_stdio(server: &Server, program: &str, tools: &Tools) -> io::Result<()> {
    tell(program, tools, "on stdin and stdout");
    let ending = end_when_asked(server.clone());
    let served = server.serve_stdio().await;
    ending.abort();
    server.close().await;
    served
}

/// Ends the server in order when the program is asked to end.
fn end_when_asked(server: Server) -> tokio::task::JoinHandle<()> {
    tokio::spawn(async move {
        asked_to_end().await;
        server.close().await;
    })
}

#[cfg(unix)]
async fn asked_to_end() {
    use tokio::signal::unix::{SignalKind, signal};
    let Ok(mut terminate) = signal(SignalKind::terminate()) else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        _ = terminate.recv() => {}
    }
}

#[cfg(not(unix))]
async fn asked_to_end() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending().await
    }
}

/// Says on stderr what is served: stdout may be the protocol's.
fn tell(program: &str, tools: &Tools, place: &str) {
    let count = tools.names().count();
    let all = count + tools.withheld;
    let mut text = format!("{program} serves {count} of its {all} commands to agents {place}\n");
    if !tools.undeclared.is_empty() {
        let names = tools.undeclared.join(", ");
        text.push_str(&format!(
            "not offered, because nothing says what they do (see clap_serve::CommandExt): {names}\n"
        ));
    }
    // A server whose stderr is closed serves all the same.
    let _ = io::stderr().write_all(text.as_bytes());
}

fn fail(error: &Error, code: u8) -> ExitCode {
    let _ = writeln!(io::stderr(), "error: {error}");
    ExitCode::from(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(line: &str) -> Vec<OsString> {
        line.split_whitespace().map(OsString::from).collect()
    }

    fn program() -> Command {
        let add = Command::new("add").arg(Arg::new("text").allow_hyphen_values(true));
        let docs = Command::new("docs").arg(Arg::new("serve").long("serve").num_args(0));
        let exec = Command::new("exec").allow_external_subcommands(true);
        let list = Command::new("list").subcommand(Command::new("all"));
        let profile = Arg::new("profile").long("profile");
        Command::new("notes").version("1").arg(profile).subcommands([add, docs, exec, list])
    }

    #[test]
    fn serve_may_stand_anywhere_but_where_it_is_the_programs_own() {
        for line in
            ["--serve", "--serve=stdio list", "list --serve", "list all --serve=0", "-x --serve"]
        {
            assert!(is_asked(&program(), &args(line)), "{line}");
        }
        let own = ["", "list", "add -- --serve", "add --serve", "docs --serve", "exec a --serve"];
        for line in own.into_iter().chain(["--help --serve", "list --servers"]) {
            assert!(!is_asked(&program(), &args(line)), "{line}");
        }
    }

    #[test]
    fn words_beside_it_narrow_what_is_offered() {
        let only = |line: &str| {
            let options = with_flags(&program(), Options::new().allow(["* all"]), args(line));
            options.map(|options| options.policy.only).map_err(|wrong| match wrong {
                Wrong::Options(error) => error.to_string(),
                Wrong::Clap(error) => error.kind().to_string(),
            })
        };
        let pattern = |text: &str| Some(text.parse().unwrap());
        assert_eq!(only("list --serve --deny all"), Ok(pattern("list *")));
        assert_eq!(only("list --serve all"), Ok(pattern("list all *")));
        assert_eq!(only("--serve"), Ok(None));
        assert!(only("lst --serve").unwrap_err().starts_with("there is no command \"lst\""));
        assert_eq!(only("--serve --profile x").unwrap_err(), "unexpected argument found");
    }

    #[test]
    fn the_version_is_the_first_line_of_the_long_one_when_there_is_no_other() {
        let version = |command: Command| identity(&command).version;
        assert_eq!(version(Command::new("a").long_version("1.2\ncommit c")), "1.2");
        assert_eq!(version(Command::new("a").version("3").long_version("1.2\nc")), "3");
    }
}
