//! What becomes of a result's batches: values as text and JSON, Arrow and Parquet streams, collected rows.

pub(crate) mod arrow_stream;
pub(crate) mod batch;
pub(crate) mod collect;
pub(crate) mod parquet_stream;
pub(crate) mod portable_types;
pub(crate) mod times;
pub(crate) mod type_names;
pub(crate) mod zone;
