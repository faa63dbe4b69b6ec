//! An operator of a test: an engine in a folder, and its service on a socket, with threads of its own
//! so that it can be killed.

use std::net::SocketAddr;
use std::sync::Arc;

use edgemere_query::Engine;
use edgemere_query::distributed::{Caller, Credentials, Operator, Own, Shard, Worker};
use futures_util::future::BoxFuture;
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;

/// What callers have to show.
pub(crate) fn token() -> (String, String) {
    ("authorization".into(), "Bearer of the tests".into())
}

/// Shows it.
#[derive(Debug)]
pub(crate) struct Key;

impl Credentials for Key {
    fn headers<'a>(
        &'a self,
        _: &'a Operator,
        _: bool,
    ) -> BoxFuture<'a, Result<Vec<(String, String)>, String>> {
        Box::pin(async { Ok(vec![token()]) })
    }
}

/// An operator.
pub(crate) struct Node {
    pub(crate) engine: Engine,
    pub(crate) operator: Operator,
    pub(crate) worker: Worker,
    threads: Option<Runtime>,
    _folder: tempfile::TempDir,
}

impl Node {
    pub(crate) async fn start(number: usize) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (engine, _) = Engine::open(folder.path()).unwrap();
        let id = format!("id-{number}");
        let (known, storage) = (id.clone(), engine.storage().clone());
        let own = move || {
            let (id, node) = (known.clone(), format!("node of {known}"));
            Some(Own { id, node, history: storage.history() })
        };
        let worker = Worker::new(Arc::new(own), engine.sql(), Arc::new(admit));
        let (threads, address) = serve(&worker, "127.0.0.1:0".parse().unwrap());
        let operator = Operator {
            id,
            name: format!("operator-{number}"),
            address: address.to_string(),
            ..Operator::default()
        };
        Self { engine, operator, worker, threads: Some(threads), _folder: folder }
    }

    /// The part of a table that only this operator holds.
    pub(crate) fn part(&self, rows: Option<u64>) -> Shard {
        Shard { operators: vec![self.operator.clone()], rows }
    }

    /// Ends the operator's process, as far as anybody outside can tell.
    pub(crate) fn kill(&mut self) {
        if let Some(threads) = self.threads.take() {
            threads.shutdown_background();
        }
    }

    /// Starts it again, at the same address.
    pub(crate) fn restart(&mut self) {
        self.kill();
        let (threads, _) = serve(&self.worker, self.operator.address.parse().unwrap());
        self.threads = Some(threads);
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.kill();
    }
}

fn admit(caller: &Caller<'_>) -> Result<(), String> {
    let (name, value) = token();
    match caller.header(&name) == Some(value.as_str()) {
        true => Ok(()),
        false => Err("it does not know the key".into()),
    }
}

fn serve(worker: &Worker, address: SocketAddr) -> (Runtime, SocketAddr) {
    let threads = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let service = worker.service();
    let (send, bound) = std::sync::mpsc::channel();
    threads.spawn(async move {
        let socket = tokio::net::TcpSocket::new_v4().unwrap();
        socket.set_reuseaddr(true).unwrap();
        let listener = loop {
            match TcpListener::bind(address).await {
                Ok(listener) => break listener,
                // The one before is still going.
                Err(_) => tokio::task::yield_now().await,
            }
        };
        send.send(listener.local_addr().unwrap()).unwrap();
        let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
        let server = Server::builder().max_concurrent_streams(Some(1000)).add_routes(service);
        server.serve_with_incoming(incoming).await.unwrap();
    });
    let address = bound.recv().unwrap();
    (threads, address)
}
