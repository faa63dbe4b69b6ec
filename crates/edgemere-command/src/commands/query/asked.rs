//! Commands on queries that were asked: `query status`, `query status all`, `query status 8`. Their
//! files say only what they are called and what they tell; the rest is the same for all and is here.

use std::fmt;
use std::marker::PhantomData;

use edgemere_query::sql::Status;

use super::Which;
use crate::commands::Declared;
use crate::declaration::Declaration;
use crate::dispatch::Context;
use crate::error::Error;
use crate::language::cursor::Cursor;
use crate::language::options::{Options, Output};
use crate::reply::Reply;

/// What the file of such a command says.
pub(crate) trait OnQueries {
    /// All that is known of it without running it.
    const DECLARATION: &'static Declaration;

    /// What it tells of these queries, the oldest first.
    fn report(queries: &[Status]) -> Reply;
}

/// A command on queries.
pub(crate) struct Asked<C> {
    which: Which,
    options: Options,
    command: PhantomData<fn() -> C>,
}

impl<C: OnQueries> Declared for Asked<C> {
    const DECLARATION: &'static Declaration = C::DECLARATION;

    fn parse(cursor: &mut Cursor<'_>) -> Result<Self, Error> {
        let which = Which::parse(cursor)?;
        let options = Options::parse(cursor, C::DECLARATION)?;
        Ok(Self { which, options, command: PhantomData })
    }

    fn print(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.which, self.options)
    }

    fn output(&self) -> &Output {
        &self.options.output
    }

    async fn run(&self, context: &Context<'_>) -> Result<Reply, Error> {
        let queries = self.which.find(context)?;
        Ok(C::report(&queries))
    }
}

// Derived, these would ask the same of `C`, which is only a name.

impl<C> Clone for Asked<C> {
    fn clone(&self) -> Self {
        Self { which: self.which, options: self.options.clone(), command: PhantomData }
    }
}

impl<C> PartialEq for Asked<C> {
    fn eq(&self, other: &Self) -> bool {
        (self.which, &self.options) == (other.which, &other.options)
    }
}

impl<C> fmt::Debug for Asked<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {:?}", self.which, self.options)
    }
}
