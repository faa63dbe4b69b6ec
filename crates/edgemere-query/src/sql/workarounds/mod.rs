//! What DataFusion 55.2 and sqlparser 0.62 do wrongly or too slowly, and what we do about it, one fault a file.
//! Each file names the upstream issue, or says that none was found, and has a test that fails when the fault is gone.

pub(crate) mod cooperative;
pub(crate) mod filter_pushdown;
pub(crate) mod not_in;
pub(crate) mod plan_size;
pub(crate) mod topk_union;
