//! Running a plan: threads, memory, deadline, progress and the stream of its batches.
//!
//! `stream` is a running query; `registry` lists all of them. `workers` are the threads that queries run on, `memory` what
//! one may take, `memory_watch` what the process may take, `spill` what goes to disk, `deadline` when it ends.
//! `page_cache_reader` reads Parquet files and `scan_metrics` counts what was read.

pub(crate) mod buffered_rows;
pub(crate) mod deadline;
pub(crate) mod memory;
pub(crate) mod memory_watch;
pub(crate) mod page_cache_reader;
pub(crate) mod registry;
pub(crate) mod rows;
pub(crate) mod scan_metrics;
pub(crate) mod spill;
pub(crate) mod stream;
pub(crate) mod workers;
