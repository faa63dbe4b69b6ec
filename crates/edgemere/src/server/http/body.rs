//! The body of a request that brings rows: whole, within the limit, and without its compression.

use std::io::Read;

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::http::{HeaderMap, StatusCode, header};
use flate2::read::MultiGzDecoder;

use super::BODY_BYTES_MAX;
use crate::server::reply::Failure;

const PARTS_HINT: &str = "send the rows in several parts; \"edgemere import\" does";

/// The rows in a body, or why there are none.
pub(super) fn rows(
    headers: &HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Bytes, Failure> {
    let body = body.map_err(|error| match error.status() {
        StatusCode::PAYLOAD_TOO_LARGE => too_large(),
        _ => {
            let message = format!("the rows did not all arrive: {error}; nothing was stored");
            Failure::bad_request(message, "send them again")
        }
    })?;
    let encoding = headers.get(header::CONTENT_ENCODING).map(|value| value.as_bytes());
    match encoding.map(|encoding| encoding.trim_ascii().to_ascii_lowercase()).as_deref() {
        None | Some(b"" | b"identity") => Ok(body),
        Some(b"gzip" | b"x-gzip") => inflate(&body),
        Some(other) => {
            let other = String::from_utf8_lossy(other);
            let message = format!("rows cannot be encoded as \"{other}\"; nothing was stored");
            Err(Failure::unsupported(message, "send them as they are, or with gzip"))
        }
    }
}

fn inflate(body: &[u8]) -> Result<Bytes, Failure> {
    let mut rows = Vec::new();
    // One byte more than may be there tells that there are more.
    let read = MultiGzDecoder::new(body).take(BODY_BYTES_MAX as u64 + 1).read_to_end(&mut rows);
    read.map_err(|error| {
        let message = format!("the rows are not gzip to their end: {error}; nothing was stored");
        Failure::bad_request(message, "send them again, or without content-encoding")
    })?;
    if rows.len() > BODY_BYTES_MAX {
        return Err(too_large());
    }
    Ok(rows.into())
}

fn too_large() -> Failure {
    let mib = BODY_BYTES_MAX >> 20;
    let message =
        format!("a request may bring {mib} MiB, and this brings more; nothing was stored");
    Failure::too_large(message, PARTS_HINT)
}
