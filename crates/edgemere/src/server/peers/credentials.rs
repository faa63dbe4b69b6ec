//! Proofs for the calls that the engine makes itself: gRPC, to the operators of a query.

use std::time::Duration;

use axum::http::HeaderMap;
use edgemere_query::distributed::{Credentials, Operator};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use reqwest::{Method, header};

use super::{Call, HEALTH_PATH, HttpPeers};

/// How long a node has to say for which challenge it wants a proof.
const CHALLENGE_TIMEOUT: Duration = Duration::from_millis(1500);

/// How much it may say.
const CHALLENGE_BYTES_MAX: usize = 1 << 10;

impl Credentials for HttpPeers {
    fn headers<'a>(
        &'a self,
        operator: &'a Operator,
        is_again: bool,
    ) -> BoxFuture<'a, Result<Vec<(String, String)>, String>> {
        self.call_headers(&operator.address, is_again).boxed()
    }

    fn trusts(&self, call: &HeaderMap, status: u16, answer: &HeaderMap) -> bool {
        self.caller.is_answer(call, status, answer)
    }
}

impl HttpPeers {
    /// The headers with which a node calls another. The other is asked for its challenge when that is
    /// not known, or `is_again` when it has refused the last proof: it was started again since. Then
    /// it also has to prove itself.
    async fn call_headers(
        &self,
        address: &str,
        is_again: bool,
    ) -> Result<Vec<(String, String)>, String> {
        if !self.caller.has_key() {
            return Ok(Vec::new());
        }
        let known = (!is_again).then(|| self.caller.sign_call(address)).flatten();
        let signed = match known {
            Some(signed) => signed,
            None => {
                self.meet(address).await?;
                let signed = self.caller.sign_call(address);
                signed.ok_or_else(|| "it does not say for what it wants a proof".to_owned())?
            }
        };
        Ok(vec![(header::AUTHORIZATION.to_string(), signed.header)])
    }

    pub(super) async fn meet(&self, address: &str) -> Result<(), String> {
        let call = Call {
            address,
            method: Method::GET,
            path: HEALTH_PATH.into(),
            body: Vec::new(),
            timeout: CHALLENGE_TIMEOUT,
            bytes_max: CHALLENGE_BYTES_MAX,
        };
        // Whom this node cannot come to terms with it does not call.
        self.send(&call).await.map(drop).map_err(|error| {
            self.caller.forget(address);
            error.message()
        })
    }
}

#[cfg(test)]
mod tests;
