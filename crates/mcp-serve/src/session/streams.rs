//! The ways out of a session over Streamable HTTP: each request has its own stream, and what belongs
//! to no request goes to whoever listens. No stream waits for another.

use std::{
    collections::{HashMap, hash_map::Entry},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use futures_util::{Stream as Messages, stream};
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

use super::{channel::Unread, stream::Stream};
use crate::{Limits, figures::Counters, lock::lock};

/// The streams of one session that may listen at once. Clients open one, and a second one while the
/// first has not noticed that its connection is gone.
const LISTENERS_MAX: usize = 4;

/// The ways out of a session.
#[derive(Debug)]
pub(crate) struct Streams {
    unread_messages_max: usize,
    unread_time_max: Duration,
    begin_after: Duration,
    counters: Arc<Counters>,
    keys: AtomicU64,
    requests: Mutex<HashMap<RequestId, Arc<Stream>>>,
    listeners: Mutex<Vec<mpsc::Sender<ServerJsonRpcMessage>>>,
    listens: Notify,
}

impl Streams {
    pub(crate) fn new(limits: &Limits, counters: Arc<Counters>) -> Arc<Self> {
        Arc::new(Self {
            unread_messages_max: limits.unread_messages_max,
            unread_time_max: limits.unread_time_max,
            begin_after: limits.stream_after,
            counters,
            keys: AtomicU64::new(1),
            requests: Mutex::default(),
            listeners: Mutex::default(),
            listens: Notify::new(),
        })
    }

    /// How long an answer is waited for before its stream is begun.
    pub(crate) fn begin_after(&self) -> Duration {
        self.begin_after
    }

    /// Whether somebody reads, or may come back to read an answer.
    pub(crate) fn are_read(&self) -> bool {
        let listened = lock(&self.listeners).iter().any(|listener| !listener.is_closed());
        listened || !lock(&self.requests).is_empty()
    }

    /// Sends a message on its way: to the request that it belongs to, or to who listens.
    pub(crate) async fn send(&self, message: ServerJsonRpcMessage) -> Result<(), Unread> {
        let is_last = matches!(message, JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_));
        let Some(request) = request_of(&message) else {
            return self.send_to_listener(message).await;
        };
        let stream = lock(&self.requests).get(&request).cloned();
        let stream = stream.ok_or(Unread)?;
        let written = stream.write(message, is_last, self.unread_time_max).await;
        if written.is_err() && lock(&self.requests).remove(&request).is_some() {
            self.counters.streams_cut.add(1);
        }
        written
    }

    /// The stream of a new request, or none when there is one of this id.
    pub(crate) fn request(&self, id: &RequestId) -> Option<Arc<Stream>> {
        match lock(&self.requests).entry(id.clone()) {
            Entry::Occupied(_) => None,
            Entry::Vacant(vacant) => {
                let key = self.keys.fetch_add(1, Relaxed);
                Some(vacant.insert(Stream::new(key, self.unread_messages_max)).clone())
            }
        }
    }

    /// Reads the stream of a request from its beginning.
    pub(crate) fn read(
        self: &Arc<Self>,
        id: RequestId,
        stream: Arc<Stream>,
    ) -> impl Messages<Item = ServerSseMessage> + Send + Sync + use<> {
        let streams = self.clone();
        stream.reader(0, move || streams.forget(&id))
    }

    /// Nobody wants the answer to a request any more: it stops, and there is nothing left to read.
    pub(crate) fn cancel(&self, id: &RequestId) {
        let stream = lock(&self.requests).remove(id);
        stream.into_iter().for_each(|stream| stream.cut());
    }

    /// Ends the connection that reads the stream of a request. It can be resumed.
    pub(crate) fn close(&self, request: &RequestId) {
        if let Some(stream) = lock(&self.requests).get(request) {
            stream.close();
        }
    }

    /// The stream that an event id belongs to, from where it stopped.
    pub(crate) fn resume(
        self: &Arc<Self>,
        event: &str,
    ) -> Option<impl Messages<Item = ServerSseMessage> + Send + Sync + use<>> {
        let (key, number) = event.split_once('-')?;
        let (key, number) = (key.parse::<u64>().ok()?, number.parse::<u64>().ok()?);
        let requests = lock(&self.requests);
        let (id, stream) = requests.iter().find(|(_, stream)| stream.key() == key)?;
        let (streams, id) = (self.clone(), id.clone());
        Some(stream.clone().reader(number, move || streams.forget(&id)))
    }

    /// The stream of one who listens, or none when there are too many.
    pub(crate) fn listener(
        &self,
    ) -> Option<impl Messages<Item = ServerSseMessage> + Send + Sync + use<>> {
        let (sender, receiver) = mpsc::channel(1);
        {
            let mut listeners = lock(&self.listeners);
            listeners.retain(|listener| !listener.is_closed());
            if listeners.len() >= LISTENERS_MAX {
                return None;
            }
            listeners.push(sender);
        }
        self.listens.notify_waiters();
        Some(stream::unfold(receiver, |mut receiver| async move {
            let message = receiver.recv().await?;
            Some((ServerSseMessage::from_message(message), receiver))
        }))
    }

    /// Whether one more may listen.
    pub(crate) fn may_listen(&self) -> bool {
        let mut listeners = lock(&self.listeners);
        listeners.retain(|listener| !listener.is_closed());
        listeners.len() < LISTENERS_MAX
    }

    /// Ends the streams that nobody has come back to. What they were for is cancelled: these are the
    /// messages that say so.
    pub(crate) fn abandoned(&self) -> Vec<ClientJsonRpcMessage> {
        let mut requests = lock(&self.requests);
        let patience = self.unread_time_max;
        let gone = requests.extract_if(|_, stream| stream.is_abandoned(patience));
        gone.map(|(id, stream)| {
            stream.cut();
            self.counters.streams_cut.add(1);
            cancelled(id)
        })
        .collect()
    }

    pub(crate) fn forget(&self, id: &RequestId) {
        lock(&self.requests).remove(id);
    }

    /// Waits for somebody who listens: a change is told whenever that is. There is at most one such
    /// message at a time.
    async fn send_to_listener(&self, mut message: ServerJsonRpcMessage) -> Result<(), Unread> {
        loop {
            let listens = self.listens.notified();
            let listener = lock(&self.listeners).iter().find(|one| !one.is_closed()).cloned();
            let Some(listener) = listener else {
                listens.await;
                continue;
            };
            match listener.send(message).await {
                Ok(()) => return Ok(()),
                Err(unsent) => message = unsent.0,
            }
        }
    }
}

/// Says which request a message belongs to. It is never sent: [`Streams::send`] looks at it.
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
        JsonRpcMessage::Notification(told) => origin(told.notification.extensions()),
    }
}

fn cancelled(request: RequestId) -> ClientJsonRpcMessage {
    let reason = Some("nobody reads the answer".to_owned());
    let params = CancelledNotificationParam::new(Some(request), reason);
    let told = ClientNotification::CancelledNotification(CancelledNotification::new(params));
    ClientJsonRpcMessage::notification(told)
}
