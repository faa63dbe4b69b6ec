//! Answers that are sent whole: with their length, and with ranges of their bytes, as programs want them
//! that read a file from a URL.
//!
//! 1. [`reply`] collects an answer. One that is longer than [`ANSWER_BYTES_MAX`], or for which there is no
//!    room, is streamed instead, without a length.
//! 2. What was collected is kept for a minute after its last use, so that the ranges of one reader are of
//!    one answer. A request for a range is answered from there ([`Whole::again`]); every other request
//!    runs its query again.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use edgemere_command::{Content, Error, Media, Rendered, Sources};
use futures_util::StreamExt;
use futures_util::stream::{BoxStream, iter};
use sha2::{Digest, Sha256};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::ranges::{self, Wanted};
use crate::server::reply::{Failure, cut_off, head};

/// How long an answer may be that is sent whole.
const ANSWER_BYTES_MAX: usize = 64 << 20;

/// How many bytes of answers are held in all: those that are collected, kept or being sent.
const BYTES_MAX: usize = 128 << 20;

/// The room is counted in pieces of so many bytes.
const PIECE_BYTES: usize = 4 << 10;

/// How long an answer is kept after its last use.
const KEPT: Duration = Duration::from_secs(60);

/// The answers that are kept, by what was asked.
#[derive(Debug)]
pub(in crate::server) struct Whole {
    room: Arc<Semaphore>,
    kept: Mutex<HashMap<String, Kept>>,
}

/// An answer that is kept.
#[derive(Clone, Debug)]
struct Kept {
    bytes: Bytes,
    etag: String,
    media: Media,
    sources: Sources,
    used: Instant,
}

/// The bytes of an answer, and the room that they take for as long as anybody has them.
struct Held {
    bytes: Vec<u8>,
    _room: OwnedSemaphorePermit,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Default for Whole {
    fn default() -> Self {
        let room = Arc::new(Semaphore::new(BYTES_MAX / PIECE_BYTES));
        Self { room, kept: Mutex::default() }
    }
}

impl Whole {
    /// The answer to a request for a range, when what it asks was answered a moment ago.
    pub(super) fn again(&self, asked: &str, headers: &HeaderMap) -> Option<Response> {
        if !ranges::is_asked(headers) {
            return None;
        }
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = kept.get_mut(asked).filter(|kept| kept.used.elapsed() < KEPT)?;
        kept.used = Instant::now();
        Some(kept.reply(headers))
    }

    /// Keeps an answer in the place of an older one.
    fn keep(self: &Arc<Self>, asked: &str, kept: Kept) {
        let mut all = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(asked.to_owned(), kept);
        drop(all);
        forget_later(Arc::downgrade(self));
    }

    /// Forgets what nobody has used for a while.
    fn forget(&self) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|_, kept| kept.used.elapsed() < KEPT);
    }

    /// Forgets the answer that was used least recently; whether there was one.
    fn forget_oldest(&self) -> bool {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let oldest = kept.iter().min_by_key(|(_, kept)| kept.used).map(|(asked, _)| asked.clone());
        oldest.is_some_and(|asked| kept.remove(&asked).is_some())
    }

    /// Room for so many bytes more, if need be in the place of answers that are kept.
    fn take(&self, bytes: usize) -> Option<OwnedSemaphorePermit> {
        let pieces = u32::try_from(bytes.div_ceil(PIECE_BYTES)).ok()?;
        loop {
            match Arc::clone(&self.room).try_acquire_many_owned(pieces) {
                Ok(room) => return Some(room),
                Err(_) if self.forget_oldest() => {}
                Err(_) => return None,
            }
        }
    }
}

/// Looks after a while whether there is something to forget, for as long as there is.
fn forget_later(whole: Weak<Whole>) {
    tokio::spawn(async move {
        loop {
            tokio::time::sleep(KEPT).await;
            let Some(whole) = whole.upgrade() else { return };
            whole.forget();
            if whole.kept.lock().unwrap_or_else(PoisonError::into_inner).is_empty() {
                return;
            }
        }
    });
}

impl Kept {
    /// The answer, or the part of it that is wanted.
    fn reply(&self, headers: &HeaderMap) -> Response {
        let length = self.bytes.len();
        if ranges::is_of_another(headers, &self.etag) {
            return StatusCode::PRECONDITION_FAILED.into_response();
        }
        let (status, bytes, range) = match ranges::wanted(headers, length, &self.etag) {
            Wanted::Whole => (StatusCode::OK, self.bytes.clone(), None),
            Wanted::Part(first, last) => {
                let part = self.bytes.slice(first..=last);
                (StatusCode::PARTIAL_CONTENT, part, Some(format!("bytes {first}-{last}/{length}")))
            }
            Wanted::Nothing => {
                let range = Some(format!("bytes */{length}"));
                (StatusCode::RANGE_NOT_SATISFIABLE, Bytes::new(), range)
            }
        };
        let sent = bytes.len();
        let mut reply = head(self.media, &self.sources, Body::from(bytes));
        *reply.status_mut() = status;
        let headers = reply.headers_mut();
        headers.insert(header::CONTENT_LENGTH, sent.into());
        headers.insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
        for (name, value) in
            [(header::ETAG, Some(self.etag.clone())), (header::CONTENT_RANGE, range)]
        {
            if let Some(value) = value.and_then(|value| HeaderValue::from_str(&value).ok()) {
                headers.insert(name, value);
            }
        }
        reply
    }
}

/// Whether a request is of a program that reads a file: it wants to know the length, or a part.
pub(super) fn is_of_file(method: &Method, headers: &HeaderMap) -> bool {
    *method == Method::HEAD || ranges::is_asked(headers)
}

/// An answer that was collected, or what came of one that is too long for it.
enum Collected {
    Whole(Vec<u8>, OwnedSemaphorePermit),
    Streamed(BoxStream<'static, Result<Vec<u8>, Error>>),
}

/// Sends an answer whole, or the part of it that is wanted, where there is room for it.
pub(super) async fn reply(
    whole: &Arc<Whole>,
    asked: &str,
    headers: &HeaderMap,
    rendered: Rendered,
) -> Result<Response, Failure> {
    let Rendered { media, content, sources } = rendered;
    let pieces = match content {
        Content::Whole(text) => iter([Ok(text.into_bytes())]).boxed(),
        Content::Value(value) => iter([Ok(value.to_string().into_bytes())]).boxed(),
        Content::Stream(pieces) => pieces,
    };
    let (bytes, room) = match collect(whole, pieces).await? {
        Collected::Whole(bytes, room) => (bytes, room),
        Collected::Streamed(pieces) => {
            return Ok(head(media, &sources, Body::from_stream(cut_off(pieces))));
        }
    };
    let etag = etag(&bytes);
    let bytes = Bytes::from_owner(Held { bytes, _room: room });
    let kept = Kept { bytes, etag, media, sources, used: Instant::now() };
    let reply = kept.reply(headers);
    whole.keep(asked, kept);
    Ok(reply)
}

/// Collects an answer as far as there is room for it.
async fn collect(
    whole: &Whole,
    mut pieces: BoxStream<'static, Result<Vec<u8>, Error>>,
) -> Result<Collected, Failure> {
    let mut bytes: Vec<u8> = Vec::new();
    let Some(mut room) = whole.take(1) else { return Ok(Collected::Streamed(pieces)) };
    while let Some(piece) = pieces.next().await {
        let piece = piece?;
        let length = bytes.len() + piece.len();
        let needed = length.div_ceil(PIECE_BYTES).saturating_sub(room.num_permits());
        let more = (length <= ANSWER_BYTES_MAX).then(|| whole.take(needed * PIECE_BYTES)).flatten();
        let Some(more) = more else {
            let begun = iter([Ok(bytes), Ok(piece)]);
            return Ok(Collected::Streamed(begun.chain(pieces).boxed()));
        };
        room.merge(more);
        bytes.extend(piece);
    }
    Ok(Collected::Whole(bytes, room))
}

/// A name for these bytes.
fn etag(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    let hex: String = digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    format!("\"{hex}\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(pieces: Vec<Vec<u8>>) -> Rendered {
        Rendered::new(Media::Csv, Content::Stream(iter(pieces.into_iter().map(Ok)).boxed()))
    }

    fn range(range: &str) -> HeaderMap {
        HeaderMap::from_iter([(header::RANGE, range.parse().unwrap())])
    }

    async fn body(reply: Response) -> Vec<u8> {
        axum::body::to_bytes(reply.into_body(), usize::MAX).await.unwrap().to_vec()
    }

    #[tokio::test]
    async fn ranges_are_of_the_answer_that_was_sent() {
        let whole = Arc::new(Whole::default());
        let answer = rendered(vec![b"a,b\n".to_vec(), b"1,2\n".to_vec()]);
        let first = reply(&whole, "q", &HeaderMap::new(), answer).await.unwrap();
        assert_eq!(first.headers()[header::CONTENT_LENGTH], "8");
        assert_eq!(first.headers()[header::ACCEPT_RANGES], "bytes");
        assert_eq!(body(first).await, b"a,b\n1,2\n");
        assert!(
            whole.again("q", &HeaderMap::new()).is_none(),
            "only ranges are of the same answer"
        );
        assert!(whole.again("other", &range("bytes=0-1")).is_none());
        let part = whole.again("q", &range("bytes=4-")).unwrap();
        assert_eq!(part.status(), StatusCode::PARTIAL_CONTENT);
        assert_eq!(part.headers()[header::CONTENT_RANGE], "bytes 4-7/8");
        assert_eq!(body(part).await, b"1,2\n");
        let none = whole.again("q", &range("bytes=8-")).unwrap();
        assert_eq!(none.status(), StatusCode::RANGE_NOT_SATISFIABLE);
    }

    #[tokio::test]
    async fn an_answer_that_is_too_long_is_streamed_to_its_end() {
        let whole = Arc::new(Whole::default());
        let pieces = vec![vec![b'x'; ANSWER_BYTES_MAX], vec![b'y'; 10]];
        let long = reply(&whole, "q", &range("bytes=0-1"), rendered(pieces)).await.unwrap();
        assert_eq!(long.status(), StatusCode::OK);
        assert!(!long.headers().contains_key(header::ACCEPT_RANGES));
        assert_eq!(body(long).await.len(), ANSWER_BYTES_MAX + 10);
        assert_eq!(whole.room.available_permits(), BYTES_MAX / PIECE_BYTES);
    }

    #[tokio::test]
    async fn what_is_kept_makes_room_for_what_comes() {
        let whole = Arc::new(Whole::default());
        for number in 0..5 {
            let answer = rendered(vec![vec![b'x'; ANSWER_BYTES_MAX / 2]]);
            let sent = reply(&whole, &number.to_string(), &HeaderMap::new(), answer).await.unwrap();
            assert!(sent.headers().contains_key(header::ACCEPT_RANGES), "{number}");
        }
        assert!(whole.again("0", &range("bytes=0-1")).is_none());
        assert!(whole.again("4", &range("bytes=0-1")).is_some());
        // Bytes that are being sent hold their room.
        let sent: Vec<_> = (0..4).map(|_| whole.take(BYTES_MAX / 4).unwrap()).collect();
        let answer = rendered(vec![b"a\n".to_vec()]);
        let streamed = reply(&whole, "q", &HeaderMap::new(), answer).await.unwrap();
        assert!(!streamed.headers().contains_key(header::ACCEPT_RANGES));
        drop(sent);
        assert_eq!(whole.room.available_permits(), BYTES_MAX / PIECE_BYTES);
    }
}
