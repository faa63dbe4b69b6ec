//! Requests of query nodes, as an operator reads them.

use std::sync::LazyLock;

use edgemere_query::distributed::fuzzing;

use crate::damaged;

static REQUESTS: LazyLock<Vec<u8>> = LazyLock::new(fuzzing::requests);

/// Reads the bytes as requests of every call, and as damage to true ones.
pub fn run(bytes: &[u8]) {
    for call in fuzzing::CALLS {
        fuzzing::reads_requests(call, bytes);
        fuzzing::reads_requests(call, &damaged(&REQUESTS, bytes));
    }
}

/// Whether the requests that are damaged are read when they are not.
pub fn is_sound() -> bool {
    fuzzing::reads_requests("ExecuteTask", &REQUESTS)
}
