//! What fuzz targets do with their bytes, one module each: libFuzzer calls it for hours
//! (`cargo xtask fuzz`), and `short.rs` for a moment, with inputs that a seed makes.

pub mod data_folder;
pub mod flight;
pub mod ingest;
pub mod json_rpc;
pub mod ledger_open;
pub mod ledger_page;
pub mod parse;
pub mod plan;
#[cfg(test)]
mod short;
pub mod sql_parse;
pub mod tools_yaml;
pub mod worker_request;

/// True bytes with bits changed: of each three bytes of the input two say where, the third says which
/// bits. What is left of the input is appended.
pub(crate) fn damaged(bytes: &[u8], input: &[u8]) -> Vec<u8> {
    let mut damaged = bytes.to_vec();
    let (edits, tail) = input.as_chunks::<3>();
    for &[high, low, bits] in edits {
        // Far places too, in files of more than 64 KiB.
        let step = damaged.len().div_ceil(1 << 16).max(1);
        let place = usize::from(u16::from_be_bytes([high, low])) * step % damaged.len().max(1);
        if let Some(byte) = damaged.get_mut(place) {
            *byte ^= bits;
        }
    }
    damaged.extend_from_slice(tail);
    damaged
}
