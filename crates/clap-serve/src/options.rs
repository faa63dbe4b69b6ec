//! How a command line is served: what its author decides, and who starts it may widen or narrow.

use std::{fmt, future::Future, net::SocketAddr, path::PathBuf};

use mcp_serve::{Fault, Limits, Outcome};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    Allow, Effect, Error, Invocation, Policy,
    handler::Handler,
    manifests::View,
    program::{Environment, RunLimits},
};

/// The port of `--serve` without one.
const PORT: u16 = 8088;

/// How a command line is served. [`Options::default`] offers the commands that declare
/// [`Effect::Read`], and runs them as processes of the same program.
///
/// ```
/// use clap_serve::{Effect, Options};
///
/// let options = Options::new()
///     .effect(Effect::Read, ["* list", "* get"])
///     .deny(["profile *", "cloud token *", "* --token"])
///     .manifests(["golem.yaml"]);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Which commands and arguments are offered.
    pub policy: Policy,
    /// Where clients come in.
    pub transport: Transport,
    /// The program that is run for calls. None is the one that serves.
    pub program: Option<PathBuf>,
    /// The folder in which calls run, and around which manifests are looked for. None is the current
    /// one.
    pub folder: Option<PathBuf>,
    /// The variables that a run sees. Those that the command line itself takes values from are passed
    /// on too.
    pub environment: Environment,
    /// How long a run may take and how much it may write.
    pub run_limits: RunLimits,
    /// What clients may use.
    pub limits: Limits,
    /// What the names of all tools begin with, such as `cli_`: for tools beside those of others.
    pub prefix: String,
    /// The names of files that are offered as resources.
    pub manifests: Vec<String>,
    /// What is shown of such a file; none is all of it.
    pub view: Option<View>,
    pub(crate) handlers: Vec<(String, Handler)>,
    /// Patterns of the author's that are none.
    pub(crate) mistake: Option<String>,
}

/// Where clients come in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// Streamable HTTP at `/mcp` and the older HTTP+SSE, at an address of this machine.
    Http(SocketAddr),
    /// The program's own stdin and stdout.
    Stdio,
}

impl Default for Transport {
    fn default() -> Self {
        Self::Http(SocketAddr::from(([127, 0, 0, 1], PORT)))
    }
}

impl Transport {
    /// What is given to `--serve`: `stdio`, a port, or an address and a port. Port 0 is any free one.
    pub fn new(given: &str) -> Result<Self, Error> {
        let local = |port: u16| SocketAddr::from(([127, 0, 0, 1], port));
        let address = match given {
            "stdio" => return Ok(Self::Stdio),
            "" => return Ok(Self::default()),
            given => given
                .strip_prefix(':')
                .unwrap_or(given)
                .parse()
                .map(local)
                .or_else(|_| given.replacen("localhost", "127.0.0.1", 1).parse()),
        };
        let address = address.map_err(|_| Error::Address { given: given.to_owned() })?;
        match address.ip().is_loopback() {
            true => Ok(Self::Http(address)),
            false => Err(Error::NotLoopback { address }),
        }
    }
}

impl Options {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Declares the effect of commands by patterns, beside what they declare themselves. A pattern that
    /// is none stops the start.
    #[must_use]
    pub fn effect(
        mut self,
        effect: Effect,
        patterns: impl IntoIterator<Item = impl AsRef<str>>,
    ) -> Self {
        for pattern in patterns {
            let parsed = self.parsed(pattern.as_ref(), str::parse);
            let list = match effect {
                Effect::Read => &mut self.policy.read,
                Effect::Write => &mut self.policy.write,
                Effect::Destructive => &mut self.policy.destructive,
                Effect::Secret => &mut self.policy.secret,
            };
            list.extend(parsed);
        }
        self
    }

    /// Offers more than reading, `write` or `destructive`; or, with patterns, only some commands.
    #[must_use]
    pub fn allow(mut self, allowed: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        for one in allowed {
            let parsed = self.parsed(one.as_ref(), Allow::new);
            self.policy.allow.extend(parsed);
        }
        self
    }

    /// Withholds commands, with all below them, and arguments.
    #[must_use]
    pub fn deny(mut self, patterns: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        for pattern in patterns {
            let parsed = self.parsed(pattern.as_ref(), str::parse);
            self.policy.deny.extend(parsed);
        }
        self
    }

    /// Offers files with such names, in the folder, above and below it, as resources.
    #[must_use]
    pub fn manifests(mut self, patterns: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.manifests.extend(patterns.into_iter().map(Into::into));
        self
    }

    /// Serves there.
    #[must_use]
    pub fn transport(mut self, transport: Transport) -> Self {
        self.transport = transport;
        self
    }

    /// Carries a command out in the serving process. The answer is structured, and its type is the
    /// tool's output schema; an error is one that the model reads.
    ///
    /// ```
    /// use clap_serve::{Invocation, Options};
    ///
    /// let options = Options::new().handler("add", |invocation: Invocation| async move {
    ///     let numbers = invocation.own_matches().get_many::<i64>("numbers").into_iter().flatten();
    ///     Ok::<i64, std::convert::Infallible>(numbers.sum())
    /// });
    /// ```
    #[must_use]
    pub fn handler<F, R, T, E>(mut self, path: &str, run: F) -> Self
    where
        F: Fn(Invocation) -> R + Send + Sync + 'static,
        R: Future<Output = Result<T, E>> + Send + 'static,
        T: Serialize + JsonSchema,
        E: fmt::Display,
    {
        self.handlers.push((path.to_owned(), Handler::typed(run)));
        self
    }

    /// Carries a command out in the serving process, with an answer of any kind.
    #[must_use]
    pub fn tool<F, R>(mut self, path: &str, run: F) -> Self
    where
        F: Fn(Invocation) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Outcome, Fault>> + Send + 'static,
    {
        self.handlers.push((path.to_owned(), Handler::new(run)));
        self
    }

    /// Takes a pattern, or remembers that it is none: builders do not fail, the start does.
    fn parsed<T>(&mut self, text: &str, parse: impl Fn(&str) -> Result<T, Error>) -> Option<T> {
        let parsed = parse(text);
        if let Err(error) = &parsed {
            self.mistake.get_or_insert(error.to_string());
        }
        parsed.ok()
    }
}

impl fmt::Debug for Handler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handler").field("output", &self.output).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_to_serve_is_read_in_every_usual_form() {
        let http = |address: &str| Transport::Http(address.parse().unwrap());
        for (given, expected) in [
            ("", http("127.0.0.1:8088")),
            ("stdio", Transport::Stdio),
            ("9000", http("127.0.0.1:9000")),
            (":9000", http("127.0.0.1:9000")),
            ("0", http("127.0.0.1:0")),
            ("localhost:9000", http("127.0.0.1:9000")),
            ("127.0.0.1:9000", http("127.0.0.1:9000")),
            ("[::1]:9000", http("[::1]:9000")),
        ] {
            assert_eq!(Transport::new(given).unwrap(), expected, "{given}");
        }
        for wrong in ["70000", "example.com:80", "127.0.0.1", "sse", "-1"] {
            assert!(matches!(Transport::new(wrong), Err(Error::Address { .. })), "{wrong}");
        }
        for open in ["0.0.0.0:80", "[::]:80", "10.0.0.1:80"] {
            assert!(matches!(Transport::new(open), Err(Error::NotLoopback { .. })), "{open}");
        }
    }
}
