//! The ids of requests, under which the log has them: a number that counts up, after a beginning that is
//! another one at each start.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use axum::http::{HeaderValue, Request};
use tower_http::request_id::{MakeRequestId, RequestId};

/// Gives each request its id. Clones count on together.
#[derive(Clone, Debug)]
pub(super) struct Ids {
    start: u32,
    next: Arc<AtomicU64>,
}

impl Default for Ids {
    fn default() -> Self {
        // Without random numbers, ids are only distinct since the start.
        let start = getrandom::u32().unwrap_or_default();
        Self { start, next: Arc::new(AtomicU64::new(1)) }
    }
}

impl MakeRequestId for Ids {
    fn make_request_id<B>(&mut self, _: &Request<B>) -> Option<RequestId> {
        let (start, number) = (self.start, self.next.fetch_add(1, Relaxed));
        let id = HeaderValue::try_from(format!("{start:08x}-{number}")).ok()?;
        Some(RequestId::new(id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_requests_have_the_same_id() {
        let (ids, request) = (Ids::default(), Request::new(()));
        let all: std::collections::HashSet<_> = (0..100)
            .map(|_| ids.clone().make_request_id(&request).unwrap().into_header_value())
            .collect();
        assert_eq!(all.len(), 100);
    }
}
