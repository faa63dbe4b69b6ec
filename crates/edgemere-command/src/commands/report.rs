//! Reports: the commands that have no arguments but options. Their files say only what they are
//! called and what they tell; the rest is the same for all and is here.

use std::fmt;
use std::marker::PhantomData;

use super::Declared;
use crate::declaration::Declaration;
use crate::dispatch::Context;
use crate::error::Error;
use crate::language::cursor::Cursor;
use crate::language::options::{Options, Output};
use crate::reply::Reply;

/// What the file of such a command says.
pub(super) trait Report {
    /// All that is known of it without running it.
    const DECLARATION: &'static Declaration;

    /// What it tells.
    fn report(
        options: &Options,
        context: &Context<'_>,
    ) -> impl Future<Output = Result<Reply, Error>> + Send;
}

/// A report as a command.
pub(super) struct Plain<R> {
    options: Options,
    report: PhantomData<fn() -> R>,
}

impl<R: Report> Declared for Plain<R> {
    const DECLARATION: &'static Declaration = R::DECLARATION;

    fn parse(cursor: &mut Cursor<'_>) -> Result<Self, Error> {
        let options = Options::parse(cursor, R::DECLARATION)?;
        Ok(Self { options, report: PhantomData })
    }

    fn print(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.options)
    }

    fn output(&self) -> &Output {
        &self.options.output
    }

    async fn run(&self, context: &Context<'_>) -> Result<Reply, Error> {
        R::report(&self.options, context).await
    }
}

// Derived, these would ask the same of `R`, which is only a name.

impl<R> Clone for Plain<R> {
    fn clone(&self) -> Self {
        Self { options: self.options.clone(), report: PhantomData }
    }
}

impl<R> PartialEq for Plain<R> {
    fn eq(&self, other: &Self) -> bool {
        self.options == other.options
    }
}

impl<R> fmt::Debug for Plain<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.options)
    }
}
