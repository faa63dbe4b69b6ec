//! Bounds on what expressions make: no statement may fill the memory, however it is written.
//!
//! DataFusion's memory pool counts what sorts, joins and groups hold. It does not count what an
//! expression makes of a batch, and one call of `lpad` can make more than any machine has. A failed
//! allocation ends the process, so sizes are estimated before anything is allocated:
//!
//! 1. `growth` declares for every function how far its result can outgrow its arguments. A function
//!    that is not declared is not offered.
//! 2. `registry` wraps those that can grow or are slow, wherever a plan gets them from.
//! 3. `function` is the wrapper: it estimates (`estimate`), asks the `meter`, and evaluates slow
//!    functions in blocks of rows.
//! 4. `steps` puts a `metered` step around every step of a plan whose expressions may grow. It hands
//!    batches over in pieces that are small enough, and looks whether the query is to stop.

mod estimate;
mod function;
mod growth;
mod meter;
mod metered;
mod registry;
mod steps;

pub(super) use self::estimate::value_bytes;
pub use self::meter::Excess;
pub(super) use self::meter::{check_stop, planning};
pub(super) use self::registry::{bounded_plan, install};
pub(super) use self::steps::{longest_copied, metered};
