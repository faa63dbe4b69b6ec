//! Checksums of a file: one XXH3 for each block of it, kept in the manifest and not in the file.
//!
//! Blocks are small, so that a query that needs little of a file reads and checks little of it, and
//! cover every byte whatever it means. It knows bytes, and nothing of what is in them.

use std::fmt::Write as _;
use std::hash::Hasher;
use std::io::{self, Write};
use std::ops::Range;

use serde::{Deserialize, Serialize};
use twox_hash::XxHash3_64;

/// How many bytes a block has: a quarter of what the system reads ahead at once, and a two-thousandth
/// of it in memory.
pub(crate) const BLOCK_BYTES: u64 = 16 * 1024;

/// How many characters the checksum of a block has in the manifest.
const DIGITS: usize = 16;

/// The checksums of a file's blocks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub(crate) struct Checksums {
    block_bytes: u64,
    blocks: Box<[u64]>,
}

/// Checksums as the manifest has them.
#[derive(Serialize, Deserialize)]
struct Written {
    block_bytes: u64,
    xxh3: String,
}

impl Checksums {
    /// Of bytes that are there as a whole.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        let size = usize::try_from(BLOCK_BYTES).unwrap_or(usize::MAX);
        Self {
            block_bytes: BLOCK_BYTES,
            blocks: bytes.chunks(size).map(XxHash3_64::oneshot).collect(),
        }
    }

    /// Whether these are the checksums of so many bytes.
    pub(crate) fn are_of(&self, bytes: u64) -> bool {
        bytes.div_ceil(self.block_bytes) == self.blocks.len() as u64
    }

    /// A part of a file of so many bytes, made larger until it is made of whole blocks.
    pub(crate) fn widen(&self, part: &Range<u64>, bytes: u64) -> Range<u64> {
        let start = part.start - part.start % self.block_bytes;
        let end = part.end.div_ceil(self.block_bytes).saturating_mul(self.block_bytes);
        start..end.min(bytes)
    }

    /// Compares whole blocks from a place on, and tells the place of the first that is another.
    pub(crate) fn check(&self, start: u64, bytes: &[u8]) -> Result<(), u64> {
        let size = usize::try_from(self.block_bytes).unwrap_or(usize::MAX);
        let first = start / self.block_bytes;
        for (index, block) in bytes.chunks(size).enumerate() {
            let number = first + index as u64;
            let expected = usize::try_from(number).ok().and_then(|at| self.blocks.get(at));
            if expected != Some(&XxHash3_64::oneshot(block)) {
                return Err(number * self.block_bytes);
            }
        }
        Ok(())
    }
}

impl From<Checksums> for Written {
    fn from(checksums: Checksums) -> Self {
        let mut xxh3 = String::with_capacity(checksums.blocks.len() * DIGITS);
        for block in &checksums.blocks {
            // Writing to a text does not fail.
            _ = write!(xxh3, "{block:016x}");
        }
        Self { block_bytes: checksums.block_bytes, xxh3 }
    }
}

impl TryFrom<Written> for Checksums {
    type Error = String;

    fn try_from(written: Written) -> Result<Self, String> {
        let Written { block_bytes, xxh3 } = written;
        if block_bytes == 0 || !xxh3.len().is_multiple_of(DIGITS) {
            return Err("these are no checksums".to_owned());
        }
        let block = |digits: &[u8]| {
            let digits = str::from_utf8(digits).map_err(|error| error.to_string())?;
            u64::from_str_radix(digits, 16).map_err(|error| error.to_string())
        };
        let blocks = xxh3.as_bytes().chunks(DIGITS).map(block).collect::<Result<_, _>>()?;
        Ok(Self { block_bytes, blocks })
    }
}

/// Writes, and takes the checksums of all that is written.
pub(crate) struct Summing<W> {
    inner: W,
    /// Of the block that is not whole yet.
    hasher: XxHash3_64,
    in_block: u64,
    blocks: Vec<u64>,
}

impl<W: Write> Summing<W> {
    pub(crate) fn new(inner: W) -> Self {
        Self { inner, hasher: XxHash3_64::new(), in_block: 0, blocks: Vec::new() }
    }

    /// What was written to, and the checksums of all that was.
    pub(crate) fn finish(mut self) -> (W, Checksums) {
        self.end_block();
        let blocks = self.blocks.into_boxed_slice();
        (self.inner, Checksums { block_bytes: BLOCK_BYTES, blocks })
    }

    fn add(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let room = usize::try_from(BLOCK_BYTES - self.in_block).unwrap_or(usize::MAX);
            let (now, later) = bytes.split_at(room.min(bytes.len()));
            self.hasher.write(now);
            self.in_block += now.len() as u64;
            if self.in_block == BLOCK_BYTES {
                self.end_block();
            }
            bytes = later;
        }
    }

    fn end_block(&mut self) {
        if self.in_block > 0 {
            self.blocks.push(self.hasher.finish());
            self.hasher = XxHash3_64::new();
            self.in_block = 0;
        }
    }
}

impl<W: Write> Write for Summing<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.add(bytes.get(..written).unwrap_or(bytes));
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(length: u64) -> Vec<u8> {
        (0..length).map(|at| (at * at % 251) as u8).collect()
    }

    #[test]
    fn what_is_written_in_any_pieces_has_the_same_checksums() {
        for length in [0, 1, BLOCK_BYTES - 1, BLOCK_BYTES, BLOCK_BYTES + 1, 5 * BLOCK_BYTES + 77] {
            let bytes = bytes(length);
            for piece in [1, 1000, BLOCK_BYTES as usize, 3 * BLOCK_BYTES as usize + 1] {
                let mut summing = Summing::new(Vec::new());
                bytes.chunks(piece).for_each(|piece| summing.write_all(piece).unwrap());
                let (written, checksums) = summing.finish();
                assert_eq!(written, bytes);
                assert_eq!(checksums, Checksums::of(&bytes));
                assert!(checksums.are_of(length));
                assert_eq!(checksums.check(0, &bytes), Ok(()));
            }
        }
    }

    #[test]
    fn every_changed_bit_is_found_in_its_block() {
        let mut bytes = bytes(3 * BLOCK_BYTES + 500);
        let checksums = Checksums::of(&bytes);
        for at in (0..bytes.len()).step_by(997).chain([bytes.len() - 1]) {
            bytes[at] ^= 1 << (at % 8);
            let block = at as u64 / BLOCK_BYTES * BLOCK_BYTES;
            assert_eq!(checksums.check(0, &bytes), Err(block));
            let own = checksums.widen(&(at as u64..at as u64 + 1), bytes.len() as u64);
            let own = own.start as usize..own.end as usize;
            assert_eq!(checksums.check(own.start as u64, &bytes[own]), Err(block));
            bytes[at] ^= 1 << (at % 8);
        }
        assert_eq!(checksums.check(0, &bytes[..bytes.len() - 1]), Err(3 * BLOCK_BYTES));
        bytes.push(0);
        assert_eq!(checksums.check(0, &bytes), Err(3 * BLOCK_BYTES));
    }

    #[test]
    fn a_part_is_widened_to_whole_blocks_of_the_file() {
        let checksums = Checksums::of(&[]);
        let widen = |part: Range<u64>| checksums.widen(&part, 2 * BLOCK_BYTES + 10);
        assert_eq!(widen(0..1), 0..BLOCK_BYTES);
        assert_eq!(widen(BLOCK_BYTES - 1..BLOCK_BYTES + 1), 0..2 * BLOCK_BYTES);
        assert_eq!(widen(BLOCK_BYTES..2 * BLOCK_BYTES), BLOCK_BYTES..2 * BLOCK_BYTES);
        assert_eq!(
            widen(2 * BLOCK_BYTES..2 * BLOCK_BYTES + 1),
            2 * BLOCK_BYTES..2 * BLOCK_BYTES + 10
        );
    }

    #[test]
    fn the_manifest_keeps_them() {
        let checksums = Checksums::of(&bytes(2 * BLOCK_BYTES + 3));
        let json = serde_json::to_string(&checksums).unwrap();
        assert_eq!(serde_json::from_str::<Checksums>(&json).unwrap(), checksums);
        for wrong in [
            r#"{"block_bytes":0,"xxh3":""}"#,
            r#"{"block_bytes":16384,"xxh3":"0"}"#,
            r#"{"block_bytes":16384,"xxh3":"000000000000000g"}"#,
            r#"{"block_bytes":16384,"xxh3":"00000000000000é"}"#,
        ] {
            assert!(serde_json::from_str::<Checksums>(wrong).is_err(), "{wrong}");
        }
    }
}
