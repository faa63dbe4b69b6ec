//! The lengths that an Arrow stream declares, checked before it is decoded: the decoder allocates by
//! them, and an allocation that fails ends the process.

use arrow::ipc::{CompressionType, Message, MessageHeader, RecordBatch, root_as_message};

use super::{Error, Limits};

/// What stands before the length of a message.
const CONTINUATION: u32 = u32::MAX;

/// How many messages a stream may have.
const MESSAGES_MAX: usize = 100_000;

/// The most bytes that a block of LZ4 becomes for each of its own.
const LZ4_GROWTH_MAX: usize = 255;

/// Refuses a stream whose lengths do not fit in it, or whose rows would be larger than an input may
/// be. What is compressed counts as what it becomes.
pub(super) fn check(bytes: &[u8], limits: &Limits) -> Result<(), Error> {
    let mut rest = bytes;
    let mut inflated = 0_usize;
    for _ in 0..MESSAGES_MAX {
        let Some((mut length, after)) = number(rest) else { return Ok(()) };
        rest = after;
        if length == CONTINUATION {
            let (next, after) = number(rest).ok_or_else(|| wrong("it ends in a message"))?;
            (length, rest) = (next, after);
        }
        if length == 0 {
            return Ok(());
        }
        let (header, after) = split(rest, i64::from(length))?;
        let message = root_as_message(header).map_err(|error| wrong(&error.to_string()))?;
        let (body, after) = split(after, message.bodyLength())?;
        rest = after;
        if let Some(batch) = batch(&message) {
            let body = Body { length: body.len(), bytes: body };
            let bytes = body_bytes(&batch, body, limits)?;
            inflated = inflated.saturating_add(bytes);
            if inflated > limits.bytes_max {
                return Err(Error::too_large("bytes", limits.bytes_max));
            }
        }
    }
    Err(Error::too_large("messages", MESSAGES_MAX))
}

/// Refuses a single message of a peer whose lengths do not fit in its body, or whose values would have
/// more bytes than `bytes_max`.
pub fn check_message(header: &[u8], body: Body<'_>, bytes_max: usize) -> Result<(), Error> {
    let message = root_as_message(header).map_err(|error| wrong(&error.to_string()))?;
    let length = usize::try_from(message.bodyLength()).ok();
    if length.is_none_or(|length| length > body.length) {
        return Err(wrong("a message is longer than what is there"));
    }
    let limits = Limits { bytes_max, cells_max: bytes_max, ..Limits::default() };
    batch(&message).map_or(Ok(()), |batch| body_bytes(&batch, body, &limits).map(drop))
}

/// Whether a message has compressed buffers, so that its body has to be there to be checked.
pub fn is_compressed(header: &[u8]) -> bool {
    let message = root_as_message(header).ok();
    let batch = message.as_ref().and_then(batch);
    batch.is_some_and(|batch| batch.compression().is_some())
}

/// The body of a message: how long it is, and what is there of it.
#[derive(Clone, Copy, Debug)]
pub struct Body<'a> {
    /// How many bytes the header announces.
    pub length: usize,
    /// The bytes that have come.
    pub bytes: &'a [u8],
}

/// The rows or the dictionary of a message.
fn batch<'a>(message: &Message<'a>) -> Option<RecordBatch<'a>> {
    match message.header_type() {
        MessageHeader::RecordBatch => message.header_as_record_batch(),
        MessageHeader::DictionaryBatch => message.header_as_dictionary_batch()?.data(),
        _ => None,
    }
}

/// Checks the lengths of a batch, and tells how many bytes its values have.
fn body_bytes(batch: &RecordBatch<'_>, body: Body<'_>, limits: &Limits) -> Result<usize, Error> {
    let cells = i64::try_from(limits.cells_max).unwrap_or(i64::MAX);
    let is_count = |count: i64| (0..=cells).contains(&count);
    if !is_count(batch.length()) {
        return Err(Error::too_large("rows", limits.rows_max));
    }
    for node in batch.nodes().into_iter().flatten() {
        if !is_count(node.length()) || !is_count(node.null_count()) {
            return Err(wrong("a column has a length that it cannot have"));
        }
    }
    let codec = batch.compression().map(|compression| compression.codec());
    let mut bytes = 0_usize;
    for buffer in batch.buffers().into_iter().flatten() {
        let wrong = || wrong("a buffer lies outside of its message");
        let from = usize::try_from(buffer.offset()).map_err(|_| wrong())?;
        let length = usize::try_from(buffer.length()).map_err(|_| wrong())?;
        let until = from.checked_add(length).ok_or_else(wrong)?;
        if until > body.length {
            return Err(wrong());
        }
        bytes = bytes.saturating_add(match codec {
            Some(codec) => inflated_bytes(codec, body.bytes.get(from..until).ok_or_else(wrong)?)?,
            None => length,
        });
        if bytes > limits.bytes_max {
            return Err(Error::too_large("bytes", limits.bytes_max));
        }
    }
    Ok(bytes)
}

/// What a buffer becomes, by what it says and by what it could.
fn inflated_bytes(codec: CompressionType, values: &[u8]) -> Result<usize, Error> {
    let Some((declared, packed)) = values.split_first_chunk::<8>() else {
        // An empty buffer has no length before it.
        return if values.is_empty() { Ok(0) } else { Err(wrong("a buffer has no length")) };
    };
    match i64::from_le_bytes(*declared) {
        // Not compressed after all.
        -1 => Ok(packed.len()),
        declared => {
            let bytes = usize::try_from(declared)
                .map_err(|_| wrong("a buffer has a length that it cannot have"))?;
            // The decoder of LZ4 goes by what is there, and not by what was declared.
            let most = packed.len().saturating_mul(LZ4_GROWTH_MAX).saturating_add(64);
            let most =
                if codec == CompressionType::LZ4_FRAME { lz4_bytes(packed, most) } else { 0 };
            Ok(bytes.max(most.saturating_sub(LZ4_BLOCK_SLACK)))
        }
    }
}

/// The last block of a frame may be shorter than the others.
const LZ4_BLOCK_SLACK: usize = 8 << 20;

/// What a frame of LZ4 becomes at most: as much as its blocks may have, and no more than `most`.
fn lz4_bytes(frame: &[u8], most: usize) -> usize {
    let block_max = match frame.get(5).map(|sizes| sizes >> 4 & 7) {
        Some(4) => 64 << 10,
        Some(5) => 256 << 10,
        Some(6) => 1 << 20,
        Some(7) => 4 << 20,
        Some(8) => 8 << 20,
        _ => return most,
    };
    let flags = frame.get(4).copied().unwrap_or_default();
    let (has_size, has_dictionary, has_sums) = (flags & 8 != 0, flags & 1 != 0, flags & 16 != 0);
    let header = 7 + if has_size { 8 } else { 0 } + if has_dictionary { 4 } else { 0 };
    let (mut rest, mut bytes) = (frame.get(header..).unwrap_or_default(), 0_usize);
    while let Some((size, after)) = number(rest) {
        let (size, is_plain) = ((size & 0x7fff_ffff) as usize, size >> 31 == 1);
        if size == 0 {
            // What comes after the end of a frame may be another.
            let after = after.len().saturating_mul(LZ4_GROWTH_MAX);
            return if after <= 64 * LZ4_GROWTH_MAX { bytes } else { most };
        }
        let block = if is_plain { size } else { size.saturating_mul(LZ4_GROWTH_MAX) };
        bytes = bytes.saturating_add(block.min(block_max));
        rest = after.get(size + if has_sums { 4 } else { 0 }..).unwrap_or_default();
    }
    bytes
}

fn number(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let (number, rest) = bytes.split_first_chunk::<4>()?;
    Some((u32::from_le_bytes(*number), rest))
}

fn split(bytes: &[u8], length: i64) -> Result<(&[u8], &[u8]), Error> {
    let length = usize::try_from(length).ok();
    length
        .and_then(|length| bytes.split_at_checked(length))
        .ok_or_else(|| wrong("a message is longer than what is there"))
}

fn wrong(reason: &str) -> Error {
    Error::Arrow { reason: reason.to_owned() }
}
