//! Who calls.

use std::{fmt, sync::Arc};

/// Who calls. The host's middleware puts one into the extensions of a request when it knows who asks;
/// without one the request is everybody's: [`Principal::default`].
///
/// Sessions, limits and cursors belong to a principal: no other can use them, nor learn that they
/// exist. What the principal may do is the host's business: what it needs for that can be in the
/// request's extensions too, and reaches the tools in [`Context::extensions`](crate::Context).
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Principal(Arc<str>);

impl Principal {
    /// The principal of this name. Two of the same name are the same.
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        Self(name.into())
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.0
    }
}

impl Default for Principal {
    fn default() -> Self {
        Self("anonymous".into())
    }
}

impl fmt::Debug for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Principal({:?})", &*self.0)
    }
}

impl fmt::Display for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
