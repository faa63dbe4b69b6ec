//! Connections to operators: one for each, kept, and made again when it is lost.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tonic::transport::{Channel, Endpoint};

use super::error::Error;
use super::shards::Operator;

/// How many connections are kept. With more operators than this they are made again.
const CHANNELS_MAX: usize = 4096;

/// What one result may have under way, in bytes, before its reader takes it.
const STREAM_WINDOW_BYTES: u32 = 1 << 20;

/// What all results of one operator may have under way. A result that nobody reads must not hold up
/// the others.
const CONNECTION_WINDOW_BYTES: u32 = 64 << 20;

/// How long operators are waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectTimeouts {
    /// For a connection.
    pub connect: Duration,
    /// For an answer to a task, which is given before any work is done.
    pub accept: Duration,
    /// How often an operator is asked whether it is still there.
    pub ping: Duration,
    /// How long it may take to answer that.
    pub pong: Duration,
}

impl Default for ConnectTimeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_millis(1500),
            accept: Duration::from_secs(5),
            ping: Duration::from_secs(1),
            pong: Duration::from_secs(3),
        }
    }
}

/// The connections of a node. Clones are the same.
#[derive(Clone, Debug)]
pub(super) struct Channels {
    patience: ConnectTimeouts,
    by_address: Arc<Mutex<HashMap<String, Channel>>>,
}

impl Channels {
    pub(super) fn new(patience: ConnectTimeouts) -> Self {
        Self { patience, by_address: Arc::default() }
    }

    pub(super) fn patience(&self) -> &ConnectTimeouts {
        &self.patience
    }

    /// The connection to an operator. It is made when it is first used.
    pub(super) fn to(&self, operator: &Operator) -> Result<Channel, Error> {
        let mut channels = self.by_address.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(channel) = channels.get(&operator.address) {
            return Ok(channel.clone());
        }
        let channel = self.endpoint(operator)?.connect_lazy();
        if channels.len() >= CHANNELS_MAX {
            channels.clear();
        }
        channels.insert(operator.address.clone(), channel.clone());
        Ok(channel)
    }

    fn endpoint(&self, operator: &Operator) -> Result<Endpoint, Error> {
        let wrong = |error: tonic::transport::Error| Error::Unreachable {
            operator: operator.clone(),
            reason: format!("the address is not one: {error}"),
        };
        let endpoint =
            Endpoint::from_shared(format!("http://{}", operator.address)).map_err(wrong)?;
        Ok(endpoint
            .connect_timeout(self.patience.connect)
            .tcp_nodelay(true)
            .initial_stream_window_size(STREAM_WINDOW_BYTES)
            .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
            // Without this an operator that hangs hangs the query.
            .http2_keep_alive_interval(self.patience.ping)
            .keep_alive_timeout(self.patience.pong)
            .keep_alive_while_idle(true))
    }
}
