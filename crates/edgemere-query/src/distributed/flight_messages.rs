//! What an operator answers, checked before anything is made of it: a message declares how long it is, how
//! long its buffers are and what they become, and who decodes it allocates by that.

use bytes::{Buf, Bytes, BytesMut};
use prost::Message;
use prost::encoding::decode_varint;
use tonic::Status;

use edgemere_storage::decode::{self, Body};

/// What stands before a message: whether it is compressed, and its length.
const PREFIX_BYTES: usize = 5;

/// How large a message with rows may be, and what is in it once it is not compressed any more.
pub(super) const ROWS_BYTES_MAX: usize = 512 << 20;

/// How large any other message may be.
const OTHER_BYTES_MAX: usize = 16 << 20;

/// The fields of `FlightData`, as they begin: all of them are bytes.
const DESCRIPTOR_TAG: u64 = 1 << 3 | 2;
const HEADER_TAG: u64 = 2 << 3 | 2;
const METADATA_TAG: u64 = 3 << 3 | 2;
const BODY_TAG: u64 = 1000 << 3 | 2;

/// `FlightData`, as far as it is looked at.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Flight {
    #[prost(bytes = "bytes", tag = "2")]
    pub(super) header: Bytes,
    #[prost(bytes = "bytes", tag = "1000")]
    pub(super) body: Bytes,
}

/// Reads along with an answer.
#[derive(Debug)]
pub(super) struct Answers {
    has_rows: bool,
    /// What has come of a message that is not checked yet.
    unread: BytesMut,
    /// How many bytes are still to come of one that is.
    checked: usize,
}

impl Answers {
    /// The answers to a call, by its path.
    pub(super) fn of(path: &str) -> Self {
        let has_rows = path.ends_with("/ExecuteTask");
        Self { has_rows, unread: BytesMut::new(), checked: 0 }
    }

    /// Refuses a message as soon as enough of it is there, before anybody else has all of it.
    pub(super) fn read(&mut self, bytes: &Bytes) -> Result<(), Status> {
        let mut rest = bytes.clone();
        while !rest.is_empty() {
            let known = self.checked.min(rest.len());
            rest.advance(known);
            self.checked -= known;
            if rest.is_empty() {
                break;
            }
            // Most of a message is its body, which need not be here: only what comes before it is kept.
            self.unread.extend_from_slice(&rest);
            rest.clear();
            if let Some(length) = self.check()? {
                let whole = PREFIX_BYTES + length;
                match self.unread.len().checked_sub(whole) {
                    Some(_) => rest = self.unread.split_off(whole).freeze(),
                    None => self.checked = whole - self.unread.len(),
                }
                self.unread.clear();
            }
        }
        Ok(())
    }

    /// Checks the message at hand, and tells its length; none when too little of it is there.
    fn check(&self) -> Result<Option<usize>, Status> {
        let Some((prefix, message)) = self.unread.split_first_chunk::<PREFIX_BYTES>() else {
            return Ok(None);
        };
        let [is_compressed, length @ ..] = *prefix;
        let length = usize::try_from(u32::from_be_bytes(length)).unwrap_or(usize::MAX);
        let most = if self.has_rows { ROWS_BYTES_MAX } else { OTHER_BYTES_MAX };
        if is_compressed != 0 || length > most {
            return Err(refused(&format!("a message of {length} bytes, and {most} are the most")));
        }
        if !self.has_rows {
            return Ok(Some(length));
        }
        if let Some((header, body)) = beginning(message, length) {
            if decode::is_compressed(header) && message.len() < length {
                return Ok(None);
            }
            let checked = decode::check_message(header, body, ROWS_BYTES_MAX);
            return checked.map(|()| Some(length)).map_err(|error| refused(&error.to_string()));
        }
        let Some(message) = message.get(..length) else { return Ok(None) };
        let message = Flight::decode(message).map_err(|error| refused(&error.to_string()))?;
        if message.header.is_empty() {
            return Ok(Some(length));
        }
        let body = Body { length: message.body.len(), bytes: &message.body };
        let checked = decode::check_message(&message.header, body, ROWS_BYTES_MAX);
        checked.map(|()| Some(length)).map_err(|error| refused(&error.to_string()))
    }
}

/// The header of a message of so many bytes and what is there of its body, when it is written as usual:
/// the header first, and the body last. What has them more than once is read as a whole.
fn beginning(message: &[u8], length: usize) -> Option<(&[u8], Body<'_>)> {
    let mut rest = message;
    let mut header = None;
    loop {
        let tag = decode_varint(&mut rest).ok()?;
        let field = usize::try_from(decode_varint(&mut rest).ok()?).ok()?;
        match tag {
            BODY_TAG => {
                let begins = message.len() - rest.len();
                let bytes = rest.get(..field.min(rest.len()))?;
                let is_last = begins.checked_add(field)? == length;
                return header
                    .filter(|_| is_last)
                    .map(|header| (header, Body { length: field, bytes }));
            }
            HEADER_TAG if header.is_none() => header = Some(rest.get(..field)?),
            DESCRIPTOR_TAG | METADATA_TAG => {}
            _ => return None,
        }
        rest = rest.get(field..)?;
    }
}

fn refused(reason: &str) -> Status {
    Status::data_loss(format!("it sends what cannot be rows: {reason}"))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
    use arrow::ipc::CompressionType;

    use super::super::fuzzing::encoded;
    use super::*;

    const PATH: &str = "/worker.WorkerService/ExecuteTask";

    fn flight(compression: Option<CompressionType>) -> Flight {
        let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..1000));
        let texts: ArrayRef = Arc::new(StringArray::from(vec!["the same text"; 1000]));
        let batch = RecordBatch::try_from_iter([("n", numbers), ("s", texts)]).unwrap();
        encoded(&batch, compression).unwrap()
    }

    fn framed(message: &Flight) -> Bytes {
        framed_bytes(&message.encode_to_vec())
    }

    fn framed_bytes(message: &[u8]) -> Bytes {
        let mut bytes = vec![0];
        bytes.extend(u32::try_from(message.len()).unwrap().to_be_bytes());
        bytes.extend(message);
        bytes.into()
    }

    fn is_refused(bytes: &Bytes) -> bool {
        let whole = Answers::of(PATH).read(bytes).is_err();
        // The same in pieces, and twice in one.
        let mut answers = Answers::of(PATH);
        let mut starts = (0..bytes.len()).step_by(97);
        let piecewise =
            starts.any(|at| answers.read(&bytes.slice(at..bytes.len().min(at + 97))).is_err());
        let twice = Answers::of(PATH).read(&[&bytes[..], bytes].concat().into()).is_err();
        assert_eq!((whole, whole), (piecewise, twice));
        whole
    }

    #[test]
    fn rows_pass_and_lengths_that_do_not_fit_are_refused() {
        for compression in [None, Some(CompressionType::LZ4_FRAME)] {
            let rows = flight(compression);
            assert!(!is_refused(&framed(&rows)), "{compression:?}");
            // A body that is shorter than it is said to be.
            let short = Flight { body: rows.body.slice(..rows.body.len() / 2), ..rows.clone() };
            assert!(is_refused(&framed(&short)), "{compression:?}");
            // The body before the header, and the header twice.
            let (body, header) = (&rows.body, &rows.header);
            let only = |header: &Bytes, body: &Bytes| {
                Flight { header: header.clone(), body: body.clone() }.encode_to_vec()
            };
            let turned = [only(&Bytes::new(), body), only(header, &Bytes::new())].concat();
            assert!(!is_refused(&framed_bytes(&turned)));
            let twice = [only(header, &Bytes::new()), only(header, body)].concat();
            assert!(!is_refused(&framed_bytes(&twice)));
            // The length of the rows, in the header.
            let length = 1000_i64.to_le_bytes();
            let at = rows.header.windows(8).position(|bytes| bytes == length).unwrap();
            let mut header = rows.header.to_vec();
            header[at..at + 8].copy_from_slice(&(1_i64 << 62).to_le_bytes());
            let wrong = Flight { header: header.into(), ..rows.clone() };
            assert!(is_refused(&framed(&wrong)));
            let hidden = [only(&rows.header, &Bytes::new()), wrong.encode_to_vec()].concat();
            assert!(is_refused(&framed_bytes(&hidden)), "the last of two headers holds");
        }
    }

    /// What is compressed says before its bytes what it becomes.
    #[test]
    fn what_would_become_too_large_is_refused_before_it_does() {
        let rows = flight(Some(CompressionType::LZ4_FRAME));
        let declared = 8000_i64.to_le_bytes();
        let at = rows.body.windows(8).position(|bytes| bytes == declared).unwrap();
        for length in [1_i64 << 40, i64::MAX, -7] {
            let mut body = rows.body.to_vec();
            body[at..at + 8].copy_from_slice(&length.to_le_bytes());
            assert!(is_refused(&framed(&Flight { body: body.into(), ..rows.clone() })), "{length}");
        }
    }

    #[test]
    fn no_message_is_longer_than_it_may_be() {
        let long = Bytes::from_static(&[0, 255, 255, 255, 255]);
        assert!(is_refused(&long));
        assert!(Answers::of("/worker.WorkerService/CoordinatorChannel").read(&long).is_err());
        assert!(is_refused(&Bytes::from_static(&[1, 0, 0, 0, 1, 7])), "compressed");
    }
}
