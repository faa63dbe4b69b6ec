//! The identity of a caller.

use std::{fmt, sync::Arc};

/// The identity of a caller. The host's middleware adds it to the extensions of an authenticated
/// request; without one the request is anonymous: [`Principal::default`].
///
/// Sessions, limits and cursors belong to a principal: no other one can use them, or learn that they
/// exist. Permissions are up to the host: data for them can be in the request's extensions too, which
/// tools find in [`Context::extensions`](crate::Context).
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Principal(Arc<str>);

impl Principal {
    /// The principal with this name. The name is its identity.
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
