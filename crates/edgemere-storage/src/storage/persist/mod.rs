//! The key-value file and the folder: `store` and its `keyspace`s, the `record`s in them, and what makes a restart safe
//! (`recovery`, `strays`, `witness`, `epochs`, `free_space`).

pub(crate) mod epochs;
pub(crate) mod folder;
pub(crate) mod free_space;
pub(crate) mod keyspace;
pub(crate) mod record;
pub(crate) mod recovery;
pub(crate) mod store;
pub(crate) mod strays;
pub(crate) mod witness;
