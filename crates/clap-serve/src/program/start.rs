//! Starts a program.

use std::{io, path::Path, process::Stdio};

use tokio::process::{Child, Command};

use super::Program;

/// Why a program could not be started, for an agent: with the program's name, without its directory.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// It does not exist.
    #[error("the program \"{program}\" was not found: whoever runs the server must install it")]
    NotFound {
        /// Its name.
        program: String,
    },
    /// The server's user may not execute it.
    #[error("the program \"{program}\" cannot be run: the server may not execute it")]
    Denied {
        /// Its name.
        program: String,
    },
    /// Its working directory does not exist.
    #[error("the folder in which \"{program}\" should run is not there")]
    NoFolder {
        /// The program's name.
        program: String,
    },
    /// An argument contains a NUL character.
    #[error("an argument of \"{program}\" has a NUL character in it: leave it out")]
    Nul {
        /// The program's name.
        program: String,
    },
    /// The arguments exceed the system's limit.
    #[error("the arguments of \"{program}\" are too long: give less at once")]
    TooLong {
        /// The program's name.
        program: String,
    },
    /// Another error of the system.
    #[error("the program \"{program}\" could not be started")]
    Other {
        /// Its name.
        program: String,
        /// The system's error.
        source: io::Error,
    },
}

/// Starts a program with pipes for its output.
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
    // A relative path would be resolved in the program's working directory.
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
