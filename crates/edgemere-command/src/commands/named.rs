//! Commands on one thing by its name: `drop table NAME where dbms = …`. Their files say only what
//! they are called and what they do; the rest is the same for all and is here.

use std::fmt;
use std::marker::PhantomData;

use super::Declared;
use crate::declaration::Declaration;
use crate::dispatch::Context;
use crate::error::Error;
use crate::language::cursor::Cursor;
use crate::language::options::{Options, Output};
use crate::language::term::Term;
use crate::reply::Reply;

/// What the file of such a command says.
pub(super) trait OnName {
    /// All that is known of it without running it.
    const DECLARATION: &'static Declaration;

    /// Carries it out. The name is in lower case, as all names of tables are.
    fn run(
        name: &str,
        options: &Options,
        context: &Context<'_>,
    ) -> impl Future<Output = Result<Reply, Error>> + Send;
}

/// A command on a name.
pub(super) struct Named<C> {
    name: Term,
    options: Options,
    command: PhantomData<fn() -> C>,
}

impl<C: OnName> Declared for Named<C> {
    const DECLARATION: &'static Declaration = C::DECLARATION;

    fn parse(cursor: &mut Cursor<'_>) -> Result<Self, Error> {
        if cursor.peek_keyword().as_deref() == Some("where") {
            let usage = format!("usage: {}", C::DECLARATION.usage);
            return Err(cursor.expected_with_hint("a name", Some(usage)));
        }
        let name = cursor.term("a name")?;
        let options = Options::parse(cursor, C::DECLARATION)?;
        Ok(Self { name, options, command: PhantomData })
    }

    fn print(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, " {}{}", self.name, self.options)
    }

    fn output(&self) -> &Output {
        &self.options.output
    }

    async fn run(&self, context: &Context<'_>) -> Result<Reply, Error> {
        let name = name(&self.name, context)?;
        C::run(&name, &self.options, context).await
    }
}

/// The name that a term stands for.
pub(super) fn name(term: &Term, context: &Context<'_>) -> Result<String, Error> {
    Ok(term.text(context.variables())?.trim().to_lowercase())
}

/// The name under a key that must be there.
pub(super) fn required(
    options: &Options,
    key: &str,
    declaration: &Declaration,
    context: &Context<'_>,
) -> Result<String, Error> {
    name(options.require(key, declaration)?, context)
}

/// The name under a key, if there is one and it does not mean all.
pub(super) fn optional(
    options: &Options,
    key: &str,
    context: &Context<'_>,
) -> Result<Option<String>, Error> {
    let name = options.get(key).map(|term| name(term, context)).transpose()?;
    Ok(name.filter(|name| name != "*"))
}

// Derived, these would ask the same of `C`, which is only a name.

impl<C> Clone for Named<C> {
    fn clone(&self) -> Self {
        Self { name: self.name.clone(), options: self.options.clone(), command: PhantomData }
    }
}

impl<C> PartialEq for Named<C> {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && self.options == other.options
    }
}

impl<C> fmt::Debug for Named<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {:?}", self.name, self.options)
    }
}
