//! Serves a command line: `--serve` and its flags, the server, and its shutdown.

use std::{
    ffi::OsString,
    io::{self, Write},
    process::ExitCode,
};

use clap::{Arg, ArgAction, Command, error::ErrorKind};
use mcp_serve::{AllowedOrigins, Catalog, Identity, Server};
use tokio::net::TcpListener;

use crate::{
    Allow, Error, Options, Transport,
    manifests::Manifests,
    program,
    tools::{Tools, missing},
};

/// A section for the program's own help: `#[command(after_help = clap_serve::HELP)]`.
pub const HELP: &str = "Agents:\n  --serve[=PORT|ADDRESS:PORT|stdio]  \
     Serve the commands to AI agents over MCP; --serve --help says more";

/// Serves a command line until the program gets SIGINT or SIGTERM, or until stdin ends on
/// [`Transport::Stdio`].
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
    server.publish(catalog);
    let served = match transport {
        Transport::Stdio => serve_stdio(&server, &program, &tools).await,
        Transport::Http(address) => {
            let listener = TcpListener::bind(address).await;
            let listener = listener.map_err(|source| Error::Listen { address, source })?;
            let address = listener.local_addr()?;
            announce(&program, &tools, &format!("at http://{address}/mcp"));
            let router = server.router(AllowedOrigins::loopback());
            let closing = close_on_signal(server.clone());
            let served = mcp_serve::serve_http(&server, listener, router).await;
            closing.abort();
            served
        }
    };
    drop(watching);
    // Programs that were running have their grace time.
    program::all_ended().await;
    Ok(served?)
}

/// Serves if `--serve` is among the program's arguments, and returns the exit code; otherwise does nothing.
/// Put it before `Cli::parse()`:
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
/// It also takes `--allow write`, `--allow PATTERN` and `--deny PATTERN`, any number of times, `--help`, and
/// the path of a command, to offer only this command and its subcommands. A command line that the program
/// itself can parse, because it has an argument or a value `--serve`, is the program's own, unless it begins
/// with `--serve`.
pub fn serve_if_asked(command: Command, options: Options) -> Option<ExitCode> {
    let options = options_from_args(&command, options)?;
    Some(options.map_or_else(|code| code, |options| serve_to_end(command, options)))
}

/// The options with the program's arguments applied, if `--serve` is among them; or the exit code, if they are
/// invalid or request help. For programs that adapt to what is allowed; [`serve_to_end`] then serves.
pub fn options_from_args(command: &Command, options: Options) -> Option<Result<Options, ExitCode>> {
    let args: Vec<OsString> = std::env::args_os().skip(1).collect();
    is_serve(command, &args)
        .then(|| with_flags(command, options, args).map_err(|error| error.report()))
}

/// Serves as [`serve`] does, for a program without a runtime, and returns the exit code.
pub fn serve_to_end(command: Command, options: Options) -> ExitCode {
    let is_stdio = options.transport == Transport::Stdio;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let served = match runtime {
        Ok(runtime) => {
            let served = runtime.block_on(serve(command, options));
            if is_stdio {
                // A pending read of stdin must not block the exit.
                runtime.shutdown_background();
            }
            served
        }
        Err(error) => Err(Error::Io(error)),
    };
    served.map_or_else(|error| fail(&error, 1), |()| ExitCode::SUCCESS)
}

/// Whether the arguments of a program request serving. Arguments after `--` are data.
fn is_serve(command: &Command, args: &[OsString]) -> bool {
    let is_flag = |arg: &OsString| {
        arg.to_str().is_some_and(|arg| arg == "--serve" || arg.starts_with("--serve="))
    };
    let mut before = args.iter().take_while(|arg| *arg != "--");
    match before.position(is_flag) {
        None => false,
        Some(0) => true,
        Some(_) => !is_own(command, args),
    }
}

/// Whether the program itself can parse the arguments, or shows its help for them.
fn is_own(command: &Command, args: &[OsString]) -> bool {
    let mut command = command.clone();
    let name = (!command.is_no_binary_name_set()).then(|| OsString::from(command.get_name()));
    let line = name.into_iter().chain(args.iter().cloned());
    match command.try_get_matches_from_mut(line) {
        Ok(_) => true,
        Err(error) => matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion),
    }
}

/// Why the flags are invalid.
enum FlagError {
    /// clap refuses them, or they request help.
    Clap(clap::Error),
    Options(Error),
}

impl FlagError {
    /// Prints the error and returns the exit code.
    fn report(self) -> ExitCode {
        match self {
            Self::Clap(error) => {
                // If stderr is closed, the exit code still reports the error.
                let _ = error.print();
                ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
            }
            Self::Options(error) => fail(&error, 2),
        }
    }
}

/// The options with the flags applied.
fn with_flags(
    command: &Command,
    mut options: Options,
    args: Vec<OsString>,
) -> Result<Options, FlagError> {
    let matches = flags(command).try_get_matches_from(args).map_err(FlagError::Clap)?;
    let texts = |id: &str| matches.get_many::<String>(id).into_iter().flatten();
    if let Some(given) = matches.get_one::<String>("serve").filter(|given| !given.is_empty()) {
        options.transport = Transport::new(given).map_err(FlagError::Options)?;
    }
    for allow in texts("allow") {
        options.policy.allow.push(Allow::new(allow).map_err(FlagError::Options)?);
    }
    if let Some(only) = only(command, texts("command").map(String::as_str))? {
        options.policy.only = Some(only.parse().map_err(FlagError::Options)?);
    }
    for deny in texts("deny") {
        options.policy.deny.push(deny.parse().map_err(FlagError::Options)?);
    }
    Ok(options)
}

/// The pattern of a command and its subcommands; none without words.
fn only<'a>(
    command: &Command,
    words: impl Iterator<Item = &'a str>,
) -> Result<Option<String>, FlagError> {
    let (mut here, mut path) = (command, Vec::new());
    for word in words {
        path.push(word);
        let Some(below) = here.find_subcommand(word) else {
            let given = path.join(" ");
            return Err(FlagError::Options(Error::Command { given }));
        };
        here = below;
    }
    Ok((!path.is_empty()).then(|| format!("{} *", path.join(" "))))
}

/// The flags of `--serve`, as a command line of their own.
fn flags(command: &Command) -> Command {
    let serve = Arg::new("serve")
        .long("serve")
        .value_name("PORT|ADDRESS:PORT|stdio")
        .num_args(0..=1)
        .require_equals(true)
        .default_missing_value("")
        .help("Where agents connect: a port or a loopback address, or stdin and stdout");
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
        .help("Offer only this command and its subcommands");
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
    announce(program, tools, "on stdin and stdout");
    let closing = close_on_signal(server.clone());
    let served = server.serve_stdio().await;
    closing.abort();
    server.close().await;
    served
}

/// Closes the server on SIGINT or SIGTERM.
fn close_on_signal(server: Server) -> tokio::task::JoinHandle<()> {
    tokio::spawn(async move {
        signalled().await;
        server.close().await;
    })
}

#[cfg(unix)]
async fn signalled() {
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
async fn signalled() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending().await
    }
}

/// Prints on stderr what is served: stdout may belong to the protocol.
fn announce(program: &str, tools: &Tools, place: &str) {
    let count = tools.names().count();
    let all = count + tools.withheld;
    let mut text = format!("{program} serves {count} of its {all} commands to agents {place}\n");
    if !tools.undeclared.is_empty() {
        let names = tools.undeclared.join(", ");
        text.push_str(&format!(
            "not offered, because they declare no effect (see clap_serve::CommandExt): {names}\n"
        ));
    }
    // A closed stderr is no reason to stop.
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
            assert!(is_serve(&program(), &args(line)), "{line}");
        }
        let own = ["", "list", "add -- --serve", "add --serve", "docs --serve", "exec a --serve"];
        for line in own.into_iter().chain(["--help --serve", "list --servers"]) {
            assert!(!is_serve(&program(), &args(line)), "{line}");
        }
    }

    #[test]
    fn words_beside_it_narrow_what_is_offered() {
        let only = |line: &str| {
            let options = with_flags(&program(), Options::new().allow(["* all"]), args(line));
            options.map(|options| options.policy.only).map_err(|error| match error {
                FlagError::Options(error) => error.to_string(),
                FlagError::Clap(error) => error.kind().to_string(),
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
