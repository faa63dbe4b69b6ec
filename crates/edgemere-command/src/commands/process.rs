//! `process`: runs a script of the node's scripts folder, a command after the other.

use std::fmt;
use std::path::{Path, PathBuf};

use futures_util::future::BoxFuture;

use super::exit::Exit;
use super::{Any, Command, Declared};
use crate::declaration::Declaration;
use crate::dispatch::Context;
use crate::error::Error;
use crate::format::render;
use crate::language::cursor::Cursor;
use crate::language::script;
use crate::language::term::Term;
use crate::reply::Reply;
use edgemere_service::Effect;
use edgemere_service::Kind;

/// How large a script may be.
const SCRIPT_BYTES_MAX: u64 = 1 << 20;

/// How many scripts may run each other.
const SCRIPTS_MAX: usize = 8;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Process(Term);

impl Declared for Process {
    const DECLARATION: &'static Declaration = &Declaration {
        name: "process",
        usage: "process FILE",
        about: "Runs a script: a file of commands in the folder \"scripts\" of the node's data.",
        details: "\
A script has one command per line; < and > enclose a command over several lines; # begins a \
comment. Every command is checked as if it had been sent alone, and a script with a command that \
the caller may not run does not start. The first failure ends the script. Other folders cannot \
be read. A script that is sent to another node needs the access of the most dangerous command.",
        examples: &["process setup.al"],
        effect: Effect::Destructive,
        ..Declaration::WRITE
    };

    fn parse(cursor: &mut Cursor<'_>) -> Result<Self, Error> {
        cursor.term("a file").map(Self)
    }

    fn print(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, " {}", self.0)
    }

    /// A script needs what its commands need, which this node can read.
    async fn check(&self, context: &Context<'_>) -> Result<(), Error> {
        let file = self.0.text(context.variables())?;
        check_script(context, file, context.scripts).await
    }

    async fn run(&self, context: &Context<'_>) -> Result<Reply, Error> {
        if context.scripts == SCRIPTS_MAX {
            return Err(Error::Limit { what: "the nesting of scripts", limit: SCRIPTS_MAX });
        }
        let file = self.0.text(context.variables())?;
        let text = read(context.node.scripts(), file.clone()).await?;
        let inner = Context { scripts: context.scripts + 1, ..*context };
        let mut said = Vec::new();
        for line in script::lines(&text) {
            let in_line = |error| in_line(&file, line.number, error);
            let command = Command::from_text(&line.text).map_err(in_line)?;
            if command.0 == Any::Exit(Exit::Script) {
                break;
            }
            let reply = command.run(&inner).await.map_err(in_line)?;
            said.push(render(reply, command.output())?.into_text().await?);
        }
        said.retain(|reply| !reply.is_empty());
        Ok(Reply::text(said.join("\n")))
    }
}

/// That a line of a script failed.
fn in_line(file: &str, line: usize, error: Error) -> Error {
    Error::ScriptLine { file: file.to_owned(), line, source: Box::new(error) }
}

/// Refuses a script with a command that the caller may not run, wherever in it and in the scripts that
/// it runs. Other errors appear when a line runs, and end the script.
fn check_script<'a>(
    context: &'a Context<'a>,
    file: String,
    depth: usize,
) -> BoxFuture<'a, Result<(), Error>> {
    Box::pin(async move {
        if depth >= SCRIPTS_MAX {
            return Ok(());
        }
        let text = read(context.node.scripts(), file.clone()).await?;
        for line in script::lines(&text) {
            let Ok(command) = Command::from_text(&line.text) else { break };
            let checked = match &command.0 {
                Any::Exit(Exit::Script) => break,
                Any::Process(Process(inner)) => match inner.literal() {
                    Some(inner) => check_script(context, inner.to_owned(), depth + 1).await,
                    // Which one it is depends on what the script does before.
                    None => context
                        .principal
                        .authorize(command.declaration().name, command.effect())
                        .map_err(Error::from),
                },
                _ => context
                    .principal
                    .authorize(command.declaration().name, command.effect())
                    .map_err(Error::from),
            };
            checked.map_err(|error| in_line(&file, line.number, error))?;
        }
        Ok(())
    })
}

/// Reads a file that lies in the folder, wherever links and `..` in its name may point.
async fn read(folder: PathBuf, file: String) -> Result<String, Error> {
    let read = move || read_inside(&folder, &file);
    tokio::task::spawn_blocking(read).await.unwrap_or_else(|error| {
        Err(Error::Internal { what: "reading the script failed", source: Box::new(error) })
    })
}

fn read_inside(folder: &Path, file: &str) -> Result<String, Error> {
    let refuse = |kind, reason: String| Error::File {
        path: file.to_owned(),
        reason,
        kind,
        hint: Some(format!("scripts are read from \"{}\"", folder.display())),
    };
    let missing = |error: std::io::Error| refuse(Kind::NotFound, error.to_string());
    let path = folder.join(file).canonicalize().map_err(missing)?;
    if !path.starts_with(folder.canonicalize().map_err(missing)?) {
        return Err(refuse(Kind::Denied, "it is not in the node's scripts folder".into()));
    }
    let size = path.metadata().map_err(missing)?.len();
    if size > SCRIPT_BYTES_MAX {
        return Err(refuse(Kind::Input, format!("it is larger than {SCRIPT_BYTES_MAX} bytes")));
    }
    std::fs::read_to_string(path).map_err(missing)
}
