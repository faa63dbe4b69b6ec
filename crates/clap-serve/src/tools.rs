//! The tools of a command line, for a catalog.

use std::{collections::BTreeSet, ffi::OsString, sync::Arc};

use clap::Command;
use mcp_serve::{Annotations, BoxFuture, Call, CallTool, Catalog, Fault, Outcome, Tool};

use crate::{
    Effect, Error, Invocation, Options, call,
    handler::Handler,
    help::Help,
    program::Program,
    tree::{Leaf, Tree},
};

/// The name and the alias of the tool that returns the program's version.
const VERSION: (&str, &str) = ("version", "--version");

/// A command line as tools, for a host that has a server already. [`serve`](crate::serve) serves a command
/// line on its own.
#[derive(Debug)]
pub struct Tools {
    command: Command,
    leaves: Vec<Arc<Leaf>>,
    options: Options,
    runner: Arc<Program>,
    /// Commands without a declared effect, which are not offered.
    pub undeclared: Vec<String>,
    /// The number of commands that are not offered.
    pub withheld: usize,
}

impl Tools {
    /// The tools of a command line. Runs nothing.
    pub fn new(command: Command, options: Options) -> Result<Self, Error> {
        if let Some(message) = &options.mistake {
            return Err(Error::Options { message: message.clone() });
        }
        let tree = Tree::new(&command, &options.policy, &options.prefix)?;
        check_handlers(&command, &options)?;
        let runner = Arc::new(runner(&command, &options)?);
        let Tree { leaves, undeclared, withheld } = tree;
        let leaves = leaves.into_iter().map(Arc::new).collect();
        Ok(Self { command, leaves, options, runner, undeclared, withheld })
    }

    /// The names of the tools, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.leaves.iter().map(|leaf| leaf.tool.as_str())
    }

    /// Adds the tools to a catalog, each with its typed path as an alias, and the help of their commands as
    /// resources.
    #[must_use]
    pub fn add_to(&self, mut catalog: Catalog) -> Catalog {
        for leaf in &self.leaves {
            let handler = self.options.handlers.iter().find(|(path, _)| *path == leaf.spaced());
            let handler = handler.map(|(_, handler)| handler.clone());
            let tool = describe(leaf, handler.as_ref());
            let run = Run { leaf: leaf.clone(), handler, runner: self.runner.clone() };
            if !leaf.path.is_empty() {
                let alias = format!("{}{}", self.options.prefix, leaf.spaced());
                catalog = catalog.alias(alias, &leaf.tool);
            }
            catalog = catalog.tool(tool, run);
        }
        catalog = self.add_version(catalog);
        let shown: Vec<&Leaf> = self.leaves.iter().map(AsRef::as_ref).collect();
        catalog.resources(Help::new(&self.command, &shown))
    }

    /// Adds a tool for the version, which is harmless and often called first.
    fn add_version(&self, catalog: Catalog) -> Catalog {
        let (name, alias) = VERSION;
        let path = [vec![name.to_owned()]];
        let tool = format!("{}{name}", self.options.prefix);
        let is_offered = self.options.policy.offers(&path, Some(Effect::Read));
        let is_taken = self.command.find_subcommand(name).is_some();
        let version = self.command.get_version().or(self.command.get_long_version());
        if version.is_none() || is_taken || !is_offered {
            return catalog;
        }
        let text = self.command.render_long_version().trim().to_owned();
        let program = self.command.get_name();
        let alias = format!("{}{alias}", self.options.prefix);
        let catalog = catalog.alias(alias, &tool);
        let tool = Tool::new(tool, format!("The version of {program}")).read_only();
        catalog.tool(tool, move |call: Call| {
            let outcome = match call.arguments.is_empty() {
                true => Outcome::text(text.clone()),
                false => Outcome::error("the tool takes no arguments"),
            };
            async move { Ok(outcome) }
        })
    }
}

/// The result for an unknown tool, and for one that is not offered: a caller cannot distinguish them.
pub(crate) async fn missing(call: Call) -> Result<Outcome, Fault> {
    let name: String = call.tool.chars().take(128).collect();
    Ok(Outcome::error(format!("Error: Tool '{name}' not found")))
}

/// The implementation of a tool.
struct Run {
    leaf: Arc<Leaf>,
    handler: Option<Handler>,
    runner: Arc<Program>,
}

impl CallTool for Run {
    fn call<'a>(&'a self, call: &'a Call) -> BoxFuture<'a, Result<Outcome, Fault>> {
        Box::pin(async move {
            let parsed = match call::parse(&self.leaf, &call.arguments) {
                Ok(parsed) => parsed,
                Err(problems) => return Ok(Outcome::error(problems)),
            };
            match &self.handler {
                Some(handler) => {
                    let (path, matches) = (self.leaf.path.clone(), parsed.matches);
                    handler.run(Invocation { path, matches, call: call.clone() }).await
                }
                None => {
                    let program = Program::clone(&self.runner).args(parsed.argv);
                    let ran = program.run(&call.context).await;
                    Ok(ran.map_or_else(|error| error.outcome(), |ran| ran.outcome()))
                }
            }
        })
    }
}

fn describe(leaf: &Leaf, handler: Option<&Handler>) -> Tool {
    let tool = Tool {
        title: Some(leaf.spaced()).filter(|title| !title.is_empty()),
        annotations: Annotations {
            read_only: Some(leaf.effect == Effect::Read),
            destructive: (leaf.effect != Effect::Read)
                .then_some(leaf.effect == Effect::Destructive),
            ..Annotations::default()
        },
        ..Tool::new(&leaf.tool, &leaf.description)
    };
    let tool = tool.input(leaf.input_schema());
    match handler.and_then(|handler| handler.output.clone()) {
        Some(schema) => tool.output(schema),
        None => tool,
    }
}

/// Refuses a handler for an unknown path: the author's command would run as a program instead.
fn check_handlers(command: &Command, options: &Options) -> Result<(), Error> {
    for (path, _) in &options.handlers {
        let mut words = path.split_whitespace();
        let found = words.try_fold(command, |command, word| command.find_subcommand(word));
        if found.is_none() {
            return Err(Error::Handler { path: path.clone() });
        }
    }
    Ok(())
}

/// The program that runs calls, without arguments.
fn runner(command: &Command, options: &Options) -> Result<Program, Error> {
    let path = match &options.program {
        Some(path) => path.clone(),
        None => std::env::current_exe().map_err(Error::Executable)?,
    };
    let mut names = BTreeSet::new();
    variables(command, &mut names);
    let environment =
        names.into_iter().fold(options.environment.clone(), |all, name| all.or_pass(name));
    let (folder, limits) = (options.folder.clone(), options.run_limits.clone());
    Ok(Program { folder, environment, limits, ..Program::new(path) })
}

/// The environment variables that a command line takes values from.
fn variables(command: &Command, names: &mut BTreeSet<OsString>) {
    names.extend(command.get_arguments().filter_map(|arg| arg.get_env()).map(OsString::from));
    command.get_subcommands().for_each(|below| variables(below, names));
}
