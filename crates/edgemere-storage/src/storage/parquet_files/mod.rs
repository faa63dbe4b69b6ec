//! Parquet files: written, named, verified at every read, and marked when they are damaged.

pub(crate) mod checksum;
pub(crate) mod damage;
pub(crate) mod data_file;
pub(crate) mod footer;
pub(crate) mod health;
pub(crate) mod sort;
pub(crate) mod verified;
pub(crate) mod verify;
