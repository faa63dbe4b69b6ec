//! Why the process ends without success: the kind, which decides the exit code, and what people
//! are reported. Every error of every part becomes one of these, here and nowhere else.

use std::fmt;
use std::io;

use edgemere_command::{Door, Kind, Span};
use edgemere_storage::storage;

use crate::server::{BadKey, BadTools, CannotListen, NoAddress, NoKey, NotLoopback};

/// Why the process ends without success.
#[derive(Debug, PartialEq)]
pub(crate) struct Failure {
    /// What kind of failure it is.
    pub(crate) kind: Kind,
    /// What is wrong.
    pub(crate) message: String,
    /// The text that it is about, and the place in it.
    pub(crate) place: Option<(String, Span)>,
    /// The next step.
    pub(crate) hint: Option<String>,
}

impl Failure {
    /// A failure of a kind.
    pub(crate) fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), place: None, hint: None }
    }

    /// The caller gave something that cannot be done.
    pub(crate) fn input(message: impl Into<String>) -> Self {
        Self::new(Kind::Input, message)
    }

    /// With a next step.
    pub(crate) fn with_hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// That the text of a command is wrong, with the place in it.
    pub(crate) fn of_command(error: edgemere_command::Error, text: &str) -> Self {
        let place = error.at().map(|at| (text.to_owned(), at));
        let (kind, hint) = (error.kind(), said(&error));
        Self { kind, message: chain(&anyhow::Error::new(error)), place, hint }
    }

    /// That a tool was not carried out.
    pub(crate) fn of_tool(failure: edgemere_tools::Failure) -> Self {
        let edgemere_tools::Failure { kind, message, hint } = failure;
        Self { hint, ..Self::new(kind, message) }
    }

    /// What an error is to the outside.
    pub(crate) fn of(error: anyhow::Error) -> Self {
        let message = chain(&error);
        let (kind, hint) = match error.downcast::<Self>() {
            Ok(failure) => return Self { message, ..failure },
            Err(error) => classify(error),
        };
        Self { kind, message, place: None, hint }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

/// The error and its sources on one line. A source that its error repeats is left out.
fn chain(error: &anyhow::Error) -> String {
    let mut message = String::new();
    for part in error.chain().map(ToString::to_string) {
        if message.is_empty() {
            message = part;
        } else if !message.ends_with(&part) {
            message.push_str(": ");
            message.push_str(&part);
        }
    }
    message
}

fn classify(error: anyhow::Error) -> (Kind, Option<String>) {
    if let Some(error) = error.downcast_ref::<edgemere_command::Error>() {
        return (error.kind(), said(error));
    }
    if error.is::<NotLoopback>() {
        return (Kind::Input, Some(NOT_LOOPBACK_HINT.into()));
    }
    if error.is::<NoAddress>() {
        return (Kind::Input, Some(NO_ADDRESS_HINT.into()));
    }
    if error.is::<NoKey>() {
        return (Kind::Input, Some(NO_KEY_HINT.into()));
    }
    if error.is::<BadKey>() {
        return (Kind::Input, Some(BAD_KEY_HINT.into()));
    }
    if error.is::<BadTools>() {
        return (Kind::Input, Some(BAD_TOOLS_HINT.into()));
    }
    // Whatever it was that the system does not let this user do.
    let io = error.chain().find_map(|source| source.downcast_ref::<io::Error>());
    if let Some(io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem) =
        io.map(io::Error::kind)
        && !error.is::<CannotListen>()
    {
        return (Kind::Denied, Some(NO_PERMISSION_HINT.into()));
    }
    if error.is::<CannotListen>() {
        return (Kind::Unavailable, Some(listen_hint(&error)));
    }
    let error = match error.downcast::<edgemere_ledger::Error>() {
        Ok(error) => Ok(edgemere_command::Error::from(error)),
        Err(error) => match error.downcast::<edgemere_query::Error>() {
            Ok(error) => Ok(edgemere_command::Error::from(error)),
            Err(error) => error.downcast::<storage::Error>().map(edgemere_command::Error::from),
        },
    };
    error.map_or((Kind::Internal, None), |error| (error.kind(), said(&error)))
}

/// The next step, in the words of the command line.
fn said(error: &edgemere_command::Error) -> Option<String> {
    error.hint().map(|hint| hint.at(Door::Cli))
}

const NO_PERMISSION_HINT: &str =
    "run it as the user that the folder belongs to, or name another folder with --data DIR";

const NOT_LOOPBACK_HINT: &str = "use an address of this machine alone, as 127.0.0.1: a node has no way yet to tell callers \
     from other machines apart";

const NO_ADDRESS_HINT: &str =
    "say under which address other nodes reach this one: --advertise IP:PORT";

const NO_KEY_HINT: &str = "copy network.key from the master's data folder to this machine and add --network-key FILE; a \
     master makes the key when it first listens on such an address";

const BAD_KEY_HINT: &str = "copy network.key from the master's data folder; a new one is made with: \
     openssl rand -hex 32 > network.key";

const BAD_TOOLS_HINT: &str = "\"edgemere tools validate FILE\" checks it again";

fn listen_hint(error: &anyhow::Error) -> String {
    let io = error.chain().find_map(|error| error.downcast_ref::<io::Error>());
    let next = "choose another address with --http and --network; port 0 is any free one";
    match io.map(io::Error::kind) {
        Some(io::ErrorKind::AddrInUse) => format!("another node may be running there; {next}"),
        _ => next.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::Context;

    #[test]
    fn a_failure_keeps_its_kind_under_contexts() {
        let failure = Failure::new(Kind::NotFound, "no node").with_hint("start one");
        let error = anyhow::Error::new(failure).context("cannot ask");
        let failure = Failure::of(error);
        assert_eq!(failure.kind, Kind::NotFound);
        assert_eq!(failure.message, "cannot ask: no node");
        assert_eq!(failure.hint.as_deref(), Some("start one"));
    }

    #[test]
    fn a_ledger_in_use_is_unavailable_and_says_what_to_do() {
        let locked = edgemere_ledger::Error::Locked { folder: "data".into() };
        let failure = Failure::of(anyhow::Error::new(locked).context("cannot start"));
        assert_eq!(failure.kind, Kind::Unavailable);
        assert_eq!(failure.message, "cannot start: the ledger in \"data\" is in use");
        assert!(failure.hint.is_some());
    }

    #[test]
    fn what_the_system_does_not_let_the_user_do_is_denied() {
        let cause = io::Error::from(io::ErrorKind::PermissionDenied);
        let failure = Failure::of(anyhow::Error::new(cause).context("cannot create \"/x\""));
        assert_eq!(failure.kind, Kind::Denied);
        assert!(failure.hint.unwrap().contains("--data DIR"));
        let ledger = edgemere_ledger::Error::Io {
            action: "open",
            path: "/x".into(),
            source: io::ErrorKind::PermissionDenied.into(),
        };
        assert_eq!(Failure::of(ledger.into()).kind, Kind::Denied);
    }

    #[test]
    fn what_nobody_classified_is_internal_with_all_its_causes() {
        let cause = io::Error::other("disk on fire");
        let error = Err::<(), _>(cause).context("cannot write").unwrap_err();
        let failure = Failure::of(error);
        assert_eq!(failure, Failure::new(Kind::Internal, "cannot write: disk on fire"));
    }
}
