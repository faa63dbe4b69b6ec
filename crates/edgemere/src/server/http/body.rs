//! The body of a request that brings rows: whole, within the room for bodies, and without its
//! compression.

use std::io::{self, Read};

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, header};
use flate2::read::MultiGzDecoder;

use crate::server::bodies::{Bodies, Held, Unread};
use crate::server::reply::Failure;

/// Rows that have arrived, and the room that they hold until they are stored.
#[derive(Debug)]
pub(super) struct Rows {
    pub(super) bytes: Bytes,
    _held: (Held, Held),
}

/// The rows in a body, or why there are none.
pub(super) async fn rows(
    bodies: &Bodies,
    headers: &HeaderMap,
    body: Body,
) -> Result<Rows, Failure> {
    let is_gzip = is_gzip(headers)?;
    let bytes_max = bodies.bytes_max();
    let unread = |unread: Unread| unread.failure(bytes_max);
    let arrived = bodies.read(body, bytes_max).await.map_err(unread)?;
    if !is_gzip {
        let work = bodies.work_on(&arrived).await.map_err(unread)?;
        return Ok(Rows { bytes: arrived.bytes, _held: (arrived.held, work) });
    }
    let (bytes, work) = inflate(bodies, arrived.bytes).await?;
    Ok(Rows { bytes, _held: (arrived.held, work) })
}

fn is_gzip(headers: &HeaderMap) -> Result<bool, Failure> {
    let encoding = headers.get(header::CONTENT_ENCODING).map(|value| value.as_bytes());
    match encoding.map(|encoding| encoding.trim_ascii().to_ascii_lowercase()).as_deref() {
        None | Some(b"" | b"identity") => Ok(false),
        Some(b"gzip" | b"x-gzip") => Ok(true),
        Some(other) => {
            let other = String::from_utf8_lossy(other);
            let message = format!("rows cannot be encoded as \"{other}\"; nothing was stored");
            Err(Failure::unsupported(message, "send them as they are, or with gzip"))
        }
    }
}

/// Inflates rows, on a thread beside those that answer. Room is taken for the length that the body
/// itself says it has; when it has more, it is counted first and then inflated in the room that it
/// needs.
async fn inflate(bodies: &Bodies, body: Bytes) -> Result<(Bytes, Held), Failure> {
    let bytes_max = bodies.bytes_max();
    let mut expected = claimed(&body).min(bytes_max);
    let mut is_counted = false;
    loop {
        let unread = |unread: Unread| unread.failure(bytes_max);
        let work = bodies.work(expected).await.map_err(unread)?;
        let given = body.clone();
        let rows = bodies.apart(move || inflated(&given, expected)).await;
        if let Some(rows) = rows.ok_or_else(Failure::fault)?.map_err(not_gzip)? {
            return Ok((rows.into(), work));
        }
        drop(work);
        if is_counted || expected == bytes_max {
            return Err(Unread::TooLong.failure(bytes_max));
        }
        let given = body.clone();
        let length = bodies.apart(move || length_of(&given, bytes_max)).await;
        expected = length.ok_or_else(Failure::fault)?.map_err(not_gzip)?;
        if expected > bytes_max {
            return Err(Unread::TooLong.failure(bytes_max));
        }
        is_counted = true;
    }
}

fn not_gzip(error: io::Error) -> Failure {
    let message = format!("the rows are not gzip to their end: {error}; nothing was stored");
    Failure::bad_request(message, "send them again, or without content-encoding")
}

/// How long the last part of a body says that it was before it was compressed.
fn claimed(body: &[u8]) -> usize {
    let last = body.last_chunk::<4>().map_or(0, |bytes| u32::from_le_bytes(*bytes));
    usize::try_from(last).unwrap_or(usize::MAX)
}

/// What is compressed in a body, when it is not longer than this.
fn inflated(body: &[u8], bytes_max: usize) -> io::Result<Option<Vec<u8>>> {
    let mut rows = Vec::with_capacity(bytes_max);
    // One byte more than may be there tells that there are more.
    MultiGzDecoder::new(body).take(bytes_max as u64 + 1).read_to_end(&mut rows)?;
    Ok((rows.len() <= bytes_max).then_some(rows))
}

/// How long what is compressed in a body is, as far as it counts.
fn length_of(body: &[u8], bytes_max: usize) -> io::Result<usize> {
    let mut rows = MultiGzDecoder::new(body).take(bytes_max as u64 + 1);
    let length = io::copy(&mut rows, &mut io::sink())?;
    Ok(usize::try_from(length).unwrap_or(usize::MAX))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;
    use crate::server::bodies::Limits;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    async fn sent(bodies: &Bodies, body: Vec<u8>) -> Result<usize, u16> {
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_ENCODING, "gzip".parse().unwrap());
        let rows = rows(bodies, &headers, Body::from(body)).await;
        let rows = rows.map_err(|failure| failure.status())?;
        assert!(bodies.taken_bytes() >= rows.bytes.len());
        Ok(rows.bytes.len())
    }

    #[tokio::test]
    async fn rows_are_inflated_in_the_room_that_they_need() {
        let bodies = Bodies::new(Limits::of(32 << 20));
        let max = bodies.bytes_max();
        let whole = gzip(&vec![b' '; max]);
        assert_eq!(sent(&bodies, whole.clone()).await, Ok(max));
        assert_eq!(sent(&bodies, gzip(b"")).await, Ok(0));
        // Several parts, of which the last says that it is short.
        let parts = [gzip(&[b' '; 1000]), gzip(&[b' '; 2000]), gzip(b" ")].concat();
        assert_eq!(sent(&bodies, parts).await, Ok(3001));
        let parts = [whole.clone(), gzip(b" ")].concat();
        assert_eq!(sent(&bodies, parts).await, Err(413));
        assert_eq!(sent(&bodies, gzip(&vec![b' '; max + 1])).await, Err(413));
        // One that says that it is longer, or shorter, than it is.
        for claim in [u32::MAX, 0, 1] {
            let mut lying = gzip(&[b' '; 5000]);
            let end = lying.len() - 4;
            lying[end..].copy_from_slice(&claim.to_le_bytes());
            assert_eq!(sent(&bodies, lying).await, Err(400), "{claim}");
        }
        assert_eq!(sent(&bodies, whole[..whole.len() - 10].to_vec()).await, Err(400));
        assert_eq!(sent(&bodies, b"no gzip at all".to_vec()).await, Err(400));
        assert_eq!(bodies.taken_bytes(), 0);
    }
}
