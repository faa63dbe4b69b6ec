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
//! 4. `matching` has functions in the place of `LIKE`, `~` and the like, whose search (`pattern`) can be
//!    stopped inside one text; `windows` does the same for aggregates over windows.
//! 5. `scans` takes what is costly out of the scans of files, and `steps` puts a `metered` step around every step of a plan whose expressions may grow. It hands
//!    batches over in pieces that are small enough, and looks whether the query is to stop.
//! 6. `digits` refuses texts that are too long to be parsed as decimals, before they are.

mod digits;
mod estimate;
mod function;
mod growth;
mod matching;
mod meter;
mod metered;
mod pattern;
mod registry;
mod scans;
mod steps;
mod windows;

pub(super) use self::digits::short_texts;
pub(super) use self::estimate::value_bytes;
pub use self::meter::Excess;
pub(super) use self::meter::{check_stop, planning};
pub(super) use self::registry::{bounded_constants, bounded_plan, install};
pub(super) use self::scans::plain_scan;
pub(super) use self::steps::{longest_copied, metered};
