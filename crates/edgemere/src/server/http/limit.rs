//! The header `edgemere-access`, which limits a request to less than its caller may do. A program that
//! calls a node on behalf of another caller, as the tools of agents do, sends that caller's access, and
//! the node allows no more. The header only ever lowers the access, on every route of the port.

use std::future::{Ready, ready};
use std::task::{Context, Poll};

use axum::http::{HeaderMap, HeaderName, Request};
use axum::response::Response;
use edgemere_command::{Access, Principal};
use futures_util::future::Either;
use tokio::task::futures::TaskLocalFuture;
use tower::Service;

use super::rest::request_id;
use crate::server::reply::Failure;

/// The header.
pub(crate) const ACCESS_HEADER: HeaderName = HeaderName::from_static("edgemere-access");

tokio::task_local! {
    /// What the request that is being answered is limited to.
    static LIMIT: Access;
}

/// The principal within the limit of the request that is being answered.
pub(in crate::server) fn limited(principal: Principal) -> Principal {
    match LIMIT.try_with(|limit| *limit) {
        Ok(limit) => principal.limited_to(limit),
        Err(_) => principal,
    }
}

/// The access that the headers of a request ask for: the least, when they ask more than once.
pub(in crate::server) fn asked(headers: &HeaderMap) -> Result<Option<Access>, Failure> {
    let mut least = None;
    for value in headers.get_all(ACCESS_HEADER) {
        let access = value.to_str().ok().and_then(|text| text.trim().parse::<Access>().ok());
        let access = access.ok_or_else(|| {
            let message = "the header \"edgemere-access\" is none of read, write, admin";
            Failure::bad_request(message, "send the access that the request needs at most")
        })?;
        least = Some(least.map_or(access, |least: Access| least.min(access)));
    }
    Ok(least)
}

/// Answers each request within the access that it asks for.
#[derive(Clone, Debug)]
pub(super) struct Limited<S>(pub(super) S);

/// The answer as it would be, or within a limit, or a refusal. No box: every request comes here.
type Answer<F, E> = Either<F, Either<TaskLocalFuture<Access, F>, Ready<Result<Response, E>>>>;

impl<S, B> Service<Request<B>> for Limited<S>
where
    S: Service<Request<B>, Response = Response>,
{
    type Response = Response;
    type Error = S::Error;
    type Future = Answer<S::Future, S::Error>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        match asked(request.headers()) {
            Ok(None) => Either::Left(self.0.call(request)),
            Ok(Some(access)) => {
                // Also what is done before the first wait is within the limit.
                let answer = LIMIT.sync_scope(access, || self.0.call(request));
                Either::Right(Either::Left(LIMIT.scope(access, answer)))
            }
            Err(failure) => {
                let id = request_id(request.headers());
                let reply = failure.into_reply(request.method().as_str(), "", id);
                Either::Right(Either::Right(ready(Ok(reply))))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_access_counts_and_nonsense_is_refused() {
        let headers = |values: &[&str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(ACCESS_HEADER, value.parse().unwrap());
            }
            headers
        };
        let least = |values: &[&str]| asked(&headers(values)).ok();
        assert_eq!(least(&[]), Some(None));
        assert_eq!(least(&["write"]), Some(Some(Access::Write)));
        assert_eq!(least(&["admin", "read", "write"]), Some(Some(Access::Read)));
        for wrong in ["", "root", "read,admin", "0"] {
            assert_eq!(least(&["read", wrong]), None, "{wrong}");
        }
    }

    #[test]
    fn the_limit_only_lowers() {
        let user = |access| Principal::new("u", access);
        let within = |limit, access| LIMIT.sync_scope(limit, || limited(user(access)).access());
        assert_eq!(within(Access::Read, Access::Admin), Access::Read);
        assert_eq!(within(Access::Admin, Access::Read), Access::Read);
        assert_eq!(limited(user(Access::Write)).access(), Access::Write);
    }
}
