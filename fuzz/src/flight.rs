//! Rows of operators, as a query node reads them.

use std::sync::LazyLock;

use edgemere_query::distributed::fuzzing;

use crate::damaged;

/// No fuzzer would find these by itself: as they are, and compressed.
static ANSWERS: LazyLock<[Vec<u8>; 2]> =
    LazyLock::new(|| [false, true].map(|packed| fuzzing::answers(packed).expect("rows")));

/// Reads the bytes as answers to every call, and as damage to rows.
pub fn run(bytes: &[u8]) {
    for call in fuzzing::CALLS {
        fuzzing::reads_answers(call, bytes);
    }
    for answer in &*ANSWERS {
        fuzzing::reads_answers("ExecuteTask", &damaged(answer, bytes));
    }
}

/// Whether the rows that are damaged are read when they are not.
pub fn is_sound() -> bool {
    ANSWERS.iter().all(|answer| fuzzing::reads_answers("ExecuteTask", answer))
}
