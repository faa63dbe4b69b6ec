//! The options of serving: set by the author, extended or narrowed by the flags of the user.

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
    /// Where clients connect.
    pub transport: Transport,
    /// The program that runs calls; by default the serving program itself.
    pub program: Option<PathBuf>,
    /// The working directory of calls, around which manifests are searched; by default the current one.
    pub folder: Option<PathBuf>,
    /// The environment variables of a run. Those that the command line takes values from are passed too.
    pub environment: Environment,
    /// Limits on the time and output of a run.
    pub run_limits: RunLimits,
    /// Limits on clients.
    pub limits: Limits,
    /// The prefix of all tool names, such as `cli_`, for a catalog that has other tools too.
    pub prefix: String,
    /// Patterns of file names that are served as resources.
    pub manifests: Vec<String>,
    /// Filters the content of these files; by default all of it is served.
    pub view: Option<View>,
    pub(crate) handlers: Vec<(String, Handler)>,
    /// The first invalid pattern.
    pub(crate) mistake: Option<String>,
}

/// Where clients connect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// Streamable HTTP at `/mcp`, and the older HTTP+SSE, at a loopback address.
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
    /// Parses the value of `--serve`: `stdio`, a port, or an address and a port. Port 0 is any free port.
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
    /// The default options.
    pub fn new() -> Self {
        Self::default()
    }

    /// Declares the effect of commands by patterns, in addition to their own declarations. An invalid pattern
    /// is an error at the start.
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

    /// Allows more than reading: `write` or `destructive`. Patterns restrict the offered commands.
    #[must_use]
    pub fn allow(mut self, allowed: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        for one in allowed {
            let parsed = self.parsed(one.as_ref(), Allow::new);
            self.policy.allow.extend(parsed);
        }
        self
    }

    /// Withholds commands with all subcommands, or arguments.
    #[must_use]
    pub fn deny(mut self, patterns: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        for pattern in patterns {
            let parsed = self.parsed(pattern.as_ref(), str::parse);
            self.policy.deny.extend(parsed);
        }
        self
    }

    /// Serves files with matching names, in the working directory, above and below it, as resources.
    #[must_use]
    pub fn manifests(mut self, patterns: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.manifests.extend(patterns.into_iter().map(Into::into));
        self
    }

    /// Sets where clients connect.
    #[must_use]
    pub fn transport(mut self, transport: Transport) -> Self {
        self.transport = transport;
        self
    }

    /// Runs a command in the serving process. Its type is the output schema of the tool; an error is an error
    /// result for the model.
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

    /// Runs a command in the serving process, with any kind of result.
    #[must_use]
    pub fn tool<F, R>(mut self, path: &str, run: F) -> Self
    where
        F: Fn(Invocation) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Outcome, Fault>> + Send + 'static,
    {
        self.handlers.push((path.to_owned(), Handler::new(run)));
        self
    }

    /// Parses a pattern, or records the error: builders do not fail, the start does.
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
