//! Starting a program: what it gets, and why it could not be started.

use std::{io, path::Path, process::Stdio};

use tokio::process::{Child, Command};

use super::Program;

/// Why a program could not be started, in words for an agent: its name, and never where it is.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// It is not there.
    #[error("the program \"{program}\" was not found: whoever runs the server must install it")]
    NotFound {
        /// Its name.
        program: String,
    },
    /// The server's user may not run it.
    #[error("the program \"{program}\" cannot be run: the server may not execute it")]
    Denied {
        /// Its name.
        program: String,
    },
    /// The folder in which it should run is not there.
    #[error("the folder in which \"{program}\" should run is not there")]
    NoFolder {
        /// The program's name.
        program: String,
    },
    /// An argument has a NUL character in it, which no program can be given.
    #[error("an argument of \"{program}\" has a NUL character in it: leave it out")]
    Nul {
        /// The program's name.
        program: String,
    },
    /// The arguments are longer than the system hands on.
    #[error("the arguments of \"{program}\" are too long: give less at once")]
    TooLong {
        /// The program's name.
        program: String,
    },
    /// Something else.
    #[error("the program \"{program}\" could not be started")]
    Other {
        /// Its name.
        program: String,
        /// What the system says.
        source: io::Error,
    },
}

/// Starts it, with pipes for what it writes.
pub(super) fn start(program: &Program) -> Result<Child, RunError> {
    let name = program.name();
    let is_missing = |folder: &Path| !folder.is_dir();
    if program.folder.as_deref().is_some_and(is_missing) {
        return Err(RunError::NoFolder { program: name });
    }
    let mut command = command(program);
    command.spawn().map_err(|error| why(name, error))
}

fn command(program: &Program) -> Command {
    // From the folder of the program a path would lead elsewhere.
    let is_name = program.path.components().count() == 1;
    let path = std::path::absolute(&program.path).ok().filter(|_| !is_name);
    let mut command = Command::new(path.as_ref().unwrap_or(&program.path));
    command
        .args(&program.args)
        .env_clear()
        .envs(program.environment.variables())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    if let Some(folder) = &program.folder {
        command.current_dir(folder);
    }
    #[cfg(unix)]
    command.process_group(0);
    command
}

fn why(program: String, source: io::Error) -> RunError {
    match source.kind() {
        io::ErrorKind::NotFound => RunError::NotFound { program },
        io::ErrorKind::PermissionDenied => RunError::Denied { program },
        io::ErrorKind::InvalidInput => RunError::Nul { program },
        io::ErrorKind::ArgumentListTooLong => RunError::TooLong { program },
        _ => RunError::Other { program, source },
    }
}
