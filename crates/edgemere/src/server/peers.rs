//! The way to other nodes: their network port, over HTTP, with the proof that this node is of their
//! network.

mod credentials;
mod reply;

use std::sync::Arc;
use std::time::Duration;

use edgemere_command::{Error, Peers, Principal, Published, Rendered};
use edgemere_ledger::{Changes, Policy, Position};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use reqwest::{Client, Method, RequestBuilder, Response, header};
use serde_json::{Value, json};

use self::reply::{Body, failed, policy_of, read, refused, told, wrong};
use super::auth::{
    Caller, NetworkKey, PROTOCOL, PROTOCOL_HEADER, REPLY_HEADER, Reply, is_same_major,
};

/// How long a connection may take.
const CONNECT_TIMEOUT: Duration = Duration::from_millis(1500);

/// How often a machine is asked whether it still has the connection on which an answer is awaited. One
/// that was switched off cannot say that it has not.
const KEEPALIVE: Duration = Duration::from_secs(5);

/// How much a node may answer to a command, and how much of a history at once.
const REPLY_BYTES_MAX: usize = 64 << 20;
const LEDGER_BYTES_MAX: usize = 512 << 20;

/// A node reads no body whose proof it does not take, and who still sends may not hear why. So before a
/// body as long as this, it is asked for which challenge it wants a proof.
const LARGE_BODY_BYTES: usize = 64 << 10;

/// How long a master has beyond the time that it may wait.
const LEDGER_TIMEOUT: Duration = Duration::from_secs(10);

/// Where the network port takes commands.
pub(super) const COMMAND_PATH: &str = "/v1/command";

/// Where it says that it is there.
pub(super) const HEALTH_PATH: &str = "/health";

/// Where it has the ledger.
pub(super) const LEDGER_PATH: &str = "/v1/ledger";

/// Other nodes, over HTTP.
#[derive(Debug)]
pub(super) struct HttpPeers {
    client: Client,
    caller: Caller,
}

/// A request to a node's network port.
struct Call<'a> {
    address: &'a str,
    method: Method,
    /// The path with the query.
    path: String,
    body: Vec<u8>,
    timeout: Duration,
    /// How much may be answered.
    bytes_max: usize,
}

impl HttpPeers {
    pub(super) fn new(key: Option<NetworkKey>) -> anyhow::Result<Self> {
        let builder = Client::builder().connect_timeout(CONNECT_TIMEOUT).no_proxy();
        let builder = builder.redirect(reqwest::redirect::Policy::none()).tcp_nodelay(true);
        let builder = builder.tcp_keepalive(KEEPALIVE).tcp_keepalive_interval(KEEPALIVE);
        Ok(Self { client: builder.build()?, caller: Caller::new(key) })
    }

    /// Sends a call. A node that wants a proof says for which challenge; then it is sent again.
    async fn send(&self, call: &Call<'_>) -> Result<Body, Error> {
        let start = tokio::time::Instant::now();
        let sent = async {
            if self.caller.has_key() && call.body.len() > LARGE_BODY_BYTES {
                // Why it is refused, if it is, comes back with the call itself.
                let _ = Box::pin(self.meet(call.address)).await;
            }
            match self.send_once(call).await? {
                Sent::Done(body) => Ok(body),
                Sent::Challenged if self.caller.has_key() => match self.send_once(call).await? {
                    Sent::Done(body) => Ok(body),
                    Sent::Challenged => Err(denied(call.address, OTHER_KEY)),
                },
                Sent::Challenged => Err(denied(call.address, NO_KEY)),
            }
        };
        let late = || Error::PeerTimeout { address: call.address.into(), timeout: call.timeout };
        tokio::time::timeout_at(start + call.timeout, sent).await.map_err(|_| late())?
    }

    async fn send_once(&self, call: &Call<'_>) -> Result<Sent, Error> {
        let Call { address, method, path, body, .. } = call;
        let signed = self.caller.sign(address, method.as_str(), path, body);
        let mut request = self.client.request(method.clone(), format!("http://{address}{path}"));
        request = request.header(PROTOCOL_HEADER, PROTOCOL);
        if let Some(signed) = &signed {
            request = request.header(header::AUTHORIZATION, &signed.header);
        }
        if !body.is_empty() {
            request = request.header(header::CONTENT_TYPE, "application/json").body(body.clone());
        }
        let response = self.receive(request, call).await?;
        let status = response.status().as_u16();
        if status == 401 {
            let challenge = header_text(&response, header::WWW_AUTHENTICATE.as_str());
            self.caller.remember(address, challenge.as_deref());
            return Ok(Sent::Challenged);
        }
        let headers = response.headers().clone();
        if status == 403 && signed.is_some() && !headers.contains_key(REPLY_HEADER) {
            return Err(denied(address, OTHER_NAME));
        }
        let body = read(response, address, call.timeout, call.bytes_max).await?;
        let is_json = reply::is_json(&headers);
        let reply = Reply { status, headers, body };
        let body = self.caller.checked(signed.as_ref(), reply);
        let body = Body::new(body.ok_or_else(|| denied(address, UNPROVED))?, is_json, address)?;
        match status {
            200 => Ok(Sent::Done(body)),
            _ => Err(told(address, status, &body.text)),
        }
    }

    async fn receive(&self, request: RequestBuilder, call: &Call<'_>) -> Result<Response, Error> {
        let response = request.timeout(call.timeout).send().await;
        let response = response.map_err(|error| failed(&error, call.address, call.timeout))?;
        match header_text(&response, PROTOCOL_HEADER) {
            Some(version) if is_same_major(&version) => Ok(response),
            Some(theirs) => {
                Err(Error::PeerVersion { address: call.address.into(), theirs, ours: PROTOCOL })
            }
            None => Err(wrong(call.address, "what answers there is not a node's network port")),
        }
    }
}

/// What came of a request.
enum Sent {
    Done(Body),
    /// The node wants another proof.
    Challenged,
}

/// Why a node does not take this one for one of its network, and what to do.
struct Denial(&'static str, &'static str);

const NO_KEY: Denial = Denial(
    "it wants the network key",
    "copy network.key from the master's data folder and start the node with --network-key FILE",
);
const OTHER_KEY: Denial = Denial(
    "its network key is another",
    "start both with the same --network-key FILE; the master's is network.key in its data folder",
);
const UNPROVED: Denial = Denial(
    "it does not prove to have the network key",
    "start it with the same --network-key FILE as this node, or this one without",
);

const OTHER_NAME: Denial = Denial(
    "it is not known to itself under this name",
    "ask for its IP address, or start it with --allow-host NAME",
);

fn denied(address: &str, Denial(reason, hint): Denial) -> Error {
    Error::PeerDenied { address: address.to_owned(), reason: reason.to_owned(), hint }
}

impl Peers for HttpPeers {
    fn call_as<'a>(
        &'a self,
        address: &'a str,
        command: &'a str,
        caller: &'a Principal,
        timeout: Duration,
    ) -> BoxFuture<'a, Result<Rendered, Error>> {
        // The caller is part of the body, and so of what the proof covers.
        let caller = json!({ "name": caller.name(), "access": caller.access().name() });
        let body = json!({ "command": command, "caller": caller });
        let call = Call {
            address,
            method: Method::POST,
            path: COMMAND_PATH.into(),
            body: body.to_string().into_bytes(),
            timeout,
            bytes_max: REPLY_BYTES_MAX,
        };
        async move { Ok(self.send(&call).await?.rendered()) }.boxed()
    }

    fn changes<'a>(
        &'a self,
        address: &'a str,
        after: &'a Position,
        wait: Duration,
    ) -> BoxFuture<'a, Result<Changes, Error>> {
        let Position { entries, head } = after;
        let wait_ms = wait.as_millis();
        let call = Call {
            address,
            method: Method::GET,
            path: format!("{LEDGER_PATH}?entries={entries}&head={head}&wait_ms={wait_ms}"),
            body: Vec::new(),
            timeout: wait + LEDGER_TIMEOUT,
            bytes_max: LEDGER_BYTES_MAX,
        };
        async move {
            let body = self.send(&call).await?;
            serde_json::from_str(&body.text)
                .map_err(|error| wrong(address, &format!("it answered what is no ledger: {error}")))
        }
        .boxed()
    }

    fn publish<'a>(
        &'a self,
        address: &'a str,
        policies: &'a [Arc<Policy>],
        by: &'a str,
    ) -> BoxFuture<'a, Result<Published, Error>> {
        let policies: Vec<_> = policies.iter().map(|policy| policy.to_value()).collect();
        let call = Call {
            address,
            method: Method::POST,
            path: LEDGER_PATH.into(),
            body: json!({ "policies": policies, "by": by }).to_string().into_bytes(),
            timeout: LEDGER_TIMEOUT,
            bytes_max: REPLY_BYTES_MAX,
        };
        async move {
            let body = self.send(&call).await?;
            let answers: Value = serde_json::from_str(&body.text).unwrap_or_default();
            let end = answers.get("end").cloned().unwrap_or_default();
            let end = serde_json::from_value(end)
                .map_err(|_| wrong(address, "it answered something else than was asked"))?;
            let answers = answers.get("answers").and_then(Value::as_array).into_iter().flatten();
            let answers = answers.map(|answer| match answer.get("error") {
                Some(error) => Err(refused(address, error)),
                None => policy_of(address, answer),
            });
            Ok(Published { answers: answers.collect(), end })
        }
        .boxed()
    }

    fn rest_status<'a>(
        &'a self,
        address: &'a str,
        timeout: Duration,
    ) -> BoxFuture<'a, Result<String, Error>> {
        let request = self.client.get(format!("http://{address}/")).header("command", "get status");
        async move {
            let response = request.timeout(timeout).send().await;
            let response = response.map_err(|error| failed(&error, address, timeout))?;
            let status = response.status().as_u16();
            let body = read(response, address, timeout, REPLY_BYTES_MAX).await?;
            let body = Body::new(body, false, address)?;
            match status {
                200 => Ok(body.text),
                _ => Err(told(address, status, &body.text)),
            }
        }
        .boxed()
    }
}

fn header_text(response: &Response, name: &str) -> Option<String> {
    response.headers().get(name)?.to_str().ok().map(String::from)
}
