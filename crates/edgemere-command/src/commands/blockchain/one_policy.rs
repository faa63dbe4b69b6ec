//! The commands whose only argument is a policy. Their files say what they are called and what
//! they do with it.

use std::fmt;
use std::marker::PhantomData;

use crate::commands::Declared;
use crate::declaration::Declaration;
use crate::dispatch::Context;
use crate::error::Error;
use crate::language::cursor::Cursor;
use crate::language::term::Term;
use crate::reply::Reply;

/// What the file of such a command says.
pub(in crate::commands) trait TakesPolicy {
    /// All that is known of it without running it.
    const DECLARATION: &'static Declaration;

    /// What it does with the policy.
    fn apply(
        policy: &Term,
        context: &Context<'_>,
    ) -> impl Future<Output = Result<Reply, Error>> + Send;
}

/// Such a command.
pub(in crate::commands) struct OnePolicy<C> {
    policy: Term,
    command: PhantomData<fn() -> C>,
}

impl<C: TakesPolicy> Declared for OnePolicy<C> {
    const DECLARATION: &'static Declaration = C::DECLARATION;

    fn parse(cursor: &mut Cursor<'_>) -> Result<Self, Error> {
        Ok(Self { policy: cursor.term("a policy")?, command: PhantomData })
    }

    fn print(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, " {}", self.policy)
    }

    async fn run(&self, context: &Context<'_>) -> Result<Reply, Error> {
        C::apply(&self.policy, context).await
    }
}

// Derived, these would ask the same of `C`, which is only a name.

impl<C> Clone for OnePolicy<C> {
    fn clone(&self) -> Self {
        Self { policy: self.policy.clone(), command: PhantomData }
    }
}

impl<C> PartialEq for OnePolicy<C> {
    fn eq(&self, other: &Self) -> bool {
        self.policy == other.policy
    }
}

impl<C> fmt::Debug for OnePolicy<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.policy)
    }
}
