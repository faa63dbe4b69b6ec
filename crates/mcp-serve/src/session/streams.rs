//! The event streams of a session over Streamable HTTP: one per request, and the listeners, which get the
//! messages that belong to no request. No stream waits for another.

use std::{
    collections::{HashMap, hash_map::Entry},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use futures_util::{Stream as Messages, stream};
use parking_lot::Mutex;
use rmcp::{
    model::{
        CancelledNotification, CancelledNotificationParam, ClientJsonRpcMessage,
        ClientNotification, Extensions, GetExtensions, JsonRpcMessage, RequestId,
        ServerJsonRpcMessage,
    },
    service::OriginatingRequestId,
    transport::streamable_http_server::session::ServerSseMessage,
};
use tokio::sync::{Notify, mpsc};

use super::{DuplicateRequestId, channel::ReceiverGone, stream::Stream};
use crate::{Limits, metrics::Counters};

/// The maximum number of listeners of a session. Clients open one, and a second one while the server has
/// not noticed that the connection of the first is gone.
const LISTENERS_MAX: usize = 4;

/// The event streams of a session.
#[derive(Debug)]
pub(crate) struct Streams {
    unread_messages_max: usize,
    unread_time_max: Duration,
    stream_after: Duration,
    counters: Arc<Counters>,
    keys: AtomicU64,
    requests: Mutex<HashMap<RequestId, Arc<Stream>>>,
    listeners: Mutex<Vec<mpsc::Sender<ServerJsonRpcMessage>>>,
    listener_added: Notify,
}

impl Streams {
    pub(crate) fn new(limits: &Limits, counters: Arc<Counters>) -> Arc<Self> {
        Arc::new(Self {
            unread_messages_max: limits.unread_messages_max,
            unread_time_max: limits.unread_time_max,
            stream_after: limits.stream_after,
            counters,
            keys: AtomicU64::new(1),
            requests: Mutex::default(),
            listeners: Mutex::default(),
            listener_added: Notify::new(),
        })
    }

    /// After what time a response is sent as a stream.
    pub(crate) fn stream_after(&self) -> Duration {
        self.stream_after
    }

    /// Whether the client reads a stream, or may resume one.
    pub(crate) fn have_reader(&self) -> bool {
        let has_listener = self.listeners.lock().iter().any(|listener| !listener.is_closed());
        has_listener || !self.requests.lock().is_empty()
    }

    /// Sends a message to the stream of its request, or to a listener.
    pub(crate) async fn send(&self, message: ServerJsonRpcMessage) -> Result<(), ReceiverGone> {
        let is_last = matches!(message, JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_));
        let Some(request) = request_of(&message) else {
            return self.send_to_listener(message).await;
        };
        let stream = self.requests.lock().get(&request).cloned();
        let stream = stream.ok_or(ReceiverGone)?;
        let written = stream.write(message, is_last, self.unread_time_max).await;
        if written.is_err() && self.requests.lock().remove(&request).is_some() {
            self.counters.streams_cut.add(1);
        }
        written
    }

    /// Adds the stream of a new request.
    pub(crate) fn add(&self, id: &RequestId) -> Result<Arc<Stream>, DuplicateRequestId> {
        match self.requests.lock().entry(id.clone()) {
            Entry::Occupied(_) => Err(DuplicateRequestId),
            Entry::Vacant(vacant) => {
                let key = self.keys.fetch_add(1, Relaxed);
                Ok(vacant.insert(Stream::new(key, self.unread_messages_max)).clone())
            }
        }
    }

    /// The messages of a request's stream, from the first one on.
    pub(crate) fn read(
        self: &Arc<Self>,
        id: RequestId,
        stream: Arc<Stream>,
    ) -> impl Messages<Item = ServerSseMessage> + Send + Sync + use<> {
        let streams = self.clone();
        stream.reader(0, move || streams.remove(&id))
    }

    /// Cancels a request and removes its stream.
    pub(crate) fn cancel(&self, id: &RequestId) {
        let stream = self.requests.lock().remove(id);
        stream.into_iter().for_each(|stream| stream.close());
    }

    /// Disconnects the reader of a request's stream, which may resume.
    pub(crate) fn disconnect(&self, request: &RequestId) {
        if let Some(stream) = self.requests.lock().get(request) {
            stream.disconnect();
        }
    }

    /// Resumes the stream of an event id after that event.
    pub(crate) fn resume(
        self: &Arc<Self>,
        event: &str,
    ) -> Option<impl Messages<Item = ServerSseMessage> + Send + Sync + use<>> {
        let (key, number) = event.split_once('-')?;
        let (key, number) = (key.parse::<u64>().ok()?, number.parse::<u64>().ok()?);
        let requests = self.requests.lock();
        let (id, stream) = requests.iter().find(|(_, stream)| stream.key() == key)?;
        let (streams, id) = (self.clone(), id.clone());
        Some(stream.clone().reader(number, move || streams.remove(&id)))
    }

    /// A new listener, or none at the limit.
    pub(crate) fn listener(
        &self,
    ) -> Option<impl Messages<Item = ServerSseMessage> + Send + Sync + use<>> {
        let (sender, receiver) = mpsc::channel(1);
        {
            let mut listeners = self.listeners.lock();
            listeners.retain(|listener| !listener.is_closed());
            if listeners.len() >= LISTENERS_MAX {
                return None;
            }
            listeners.push(sender);
        }
        self.listener_added.notify_waiters();
        Some(stream::unfold(receiver, |mut receiver| async move {
            let message = receiver.recv().await?;
            Some((ServerSseMessage::from_message(message), receiver))
        }))
    }

    /// Whether another listener may be added.
    pub(crate) fn may_listen(&self) -> bool {
        let mut listeners = self.listeners.lock();
        listeners.retain(|listener| !listener.is_closed());
        listeners.len() < LISTENERS_MAX
    }

    /// Removes the streams that no client has resumed in time. Returns the notifications that cancel their
    /// requests.
    pub(crate) fn remove_abandoned(&self, now: Instant) -> Vec<ClientJsonRpcMessage> {
        let mut requests = self.requests.lock();
        let is_abandoned = |stream: &Stream| stream.is_abandoned(self.unread_time_max, now);
        let abandoned = requests.extract_if(|_, stream| is_abandoned(stream));
        abandoned
            .map(|(id, stream)| {
                stream.close();
                self.counters.streams_cut.add(1);
                cancelled(id)
            })
            .collect()
    }

    /// Removes the stream of a request.
    pub(crate) fn remove(&self, id: &RequestId) {
        self.requests.lock().remove(id);
    }

    /// Sends a message to a listener, and waits for one if need be. At most one message waits at a time.
    async fn send_to_listener(
        &self,
        mut message: ServerJsonRpcMessage,
    ) -> Result<(), ReceiverGone> {
        loop {
            let added = self.listener_added.notified();
            let listener = self.listeners.lock().iter().find(|one| !one.is_closed()).cloned();
            let Some(listener) = listener else {
                added.await;
                continue;
            };
            match listener.send(message).await {
                Ok(()) => return Ok(()),
                Err(unsent) => message = unsent.0,
            }
        }
    }
}

/// Marks a message with the request it belongs to, for [`Streams::send`]. The mark is not sent.
pub(crate) fn mark(extensions: &mut Extensions, request: &RequestId) {
    extensions.insert(OriginatingRequestId(request.clone()));
}

/// The request that a message belongs to.
fn request_of(message: &ServerJsonRpcMessage) -> Option<RequestId> {
    let origin = |marks: &Extensions| {
        marks.get::<OriginatingRequestId>().map(|OriginatingRequestId(id)| id.clone())
    };
    match message {
        JsonRpcMessage::Response(response) => Some(response.id.clone()),
        JsonRpcMessage::Error(error) => error.id.clone(),
        JsonRpcMessage::Request(request) => origin(request.request.extensions()),
        JsonRpcMessage::Notification(message) => origin(message.notification.extensions()),
    }
}

fn cancelled(request: RequestId) -> ClientJsonRpcMessage {
    let reason = Some("the client does not read the response".to_owned());
    let params = CancelledNotificationParam::new(Some(request), reason);
    let notification = CancelledNotification::new(params);
    ClientJsonRpcMessage::notification(ClientNotification::CancelledNotification(notification))
}
