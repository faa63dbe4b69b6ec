//! Functions of DataFusion that queries do not have: those that make a list or a text as long as a
//! number says, of which one short query could fill the memory, and those that stand in FROM.

use datafusion::prelude::SessionContext;

/// Functions that make lists of any length.
const SCALAR: [&str; 8] = [
    "range",
    "gen_series",
    "generate_series",
    "array_repeat",
    "list_repeat",
    "array_resize",
    "list_resize",
    "repeat",
];

/// Functions that stand in FROM.
const TABLE: [&str; 2] = ["range", "generate_series"];

/// Takes the functions away from a session.
pub(super) fn take_away(context: &SessionContext) {
    SCALAR.iter().for_each(|name| context.deregister_udf(name));
    TABLE.iter().for_each(|name| context.deregister_udtf(name));
}
