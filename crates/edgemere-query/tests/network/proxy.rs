//! Stands between a query node and an operator, and can be told to cut or to hang, after so many
//! bytes of what the operator sends.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use edgemere_query::distributed::Operator;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// What happens when enough bytes have passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Then {
    PassOn = 0,
    Cut = 1,
    Hang = 2,
}

/// A way to an operator that can go bad.
pub(crate) struct Proxy {
    pub(crate) operator: Operator,
    state: Arc<State>,
    _work: JoinSet<()>,
}

#[derive(Default)]
struct State {
    then: AtomicU8,
    after: AtomicU64,
    passed: AtomicU64,
}

impl Proxy {
    pub(crate) async fn to(operator: &Operator) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (state, target) = (Arc::new(State::default()), operator.address.clone());
        let (shared, mut work) = (Arc::clone(&state), JoinSet::new());
        work.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((near, _)) = listener.accept().await {
                let Ok(far) = TcpStream::connect(&target).await else { continue };
                near.set_nodelay(true).unwrap();
                far.set_nodelay(true).unwrap();
                connections.spawn(pass(near, far, Arc::clone(&shared)));
            }
        });
        Self { operator: Operator { address, ..operator.clone() }, state, _work: work }
    }

    /// From now on, and so many bytes later.
    pub(crate) fn after(&self, bytes: u64, then: Then) {
        self.state.passed.store(0, Ordering::SeqCst);
        self.state.after.store(bytes, Ordering::SeqCst);
        self.state.then.store(then as u8, Ordering::SeqCst);
    }
}

impl State {
    fn then(&self) -> Then {
        let enough = self.passed.load(Ordering::SeqCst) >= self.after.load(Ordering::SeqCst);
        match self.then.load(Ordering::SeqCst) {
            1 if enough => Then::Cut,
            2 if enough => Then::Hang,
            _ => Then::PassOn,
        }
    }
}

async fn pass(near: TcpStream, far: TcpStream, state: Arc<State>) {
    let (mut from_near, mut to_near) = near.into_split();
    let (mut from_far, mut to_far) = far.into_split();
    let there = async {
        tokio::io::copy(&mut from_near, &mut to_far).await.ok();
    };
    let back = async {
        let mut buffer = vec![0; 4096];
        while let Ok(length @ 1..) = from_far.read(&mut buffer).await {
            match state.then() {
                Then::Cut => return,
                Then::Hang => std::future::pending::<()>().await,
                Then::PassOn => {}
            }
            state.passed.fetch_add(length as u64, Ordering::SeqCst);
            if to_near.write_all(&buffer[..length]).await.is_err() {
                return;
            }
        }
    };
    tokio::select! {
        () = there => {}
        () = back => {}
    }
}
