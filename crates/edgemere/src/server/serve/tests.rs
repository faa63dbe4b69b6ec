//! Ports from outside: who may stay, how many, which protocols, and the end.

use std::net::SocketAddr;

use axum::routing::get;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::task::JoinHandle;

use super::*;

/// A port whose strangers have no patience to count on.
struct Served {
    address: SocketAddr,
    shutdown: CancellationToken,
    ended: JoinHandle<io::Result<()>>,
}

const SHORT: Duration = Duration::from_millis(50);

/// Longer than any test takes.
const LONG: Duration = Duration::from_secs(60);

async fn start(router: Router, connections_max: usize, patience: Patience) -> Served {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let shutdown = CancellationToken::new();
    let port = Port { name: "test", router, connections_max, patience, permits: None };
    let ended = tokio::spawn(serve(listener, port, shutdown.clone()));
    Served { address, shutdown, ended }
}

fn hello() -> Router {
    let took = |_: axum::body::Bytes| async { "took" };
    Router::new().route("/", get(|| async { "hello" }).post(took))
}

/// Sends something and reads until the other end closes.
async fn exchange(address: SocketAddr, sent: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(sent.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    // A connection that is reset is closed as well.
    let _ = stream.read_to_end(&mut answer).await;
    String::from_utf8_lossy(&answer).into_owned()
}

/// What an honest client is answered. It asks again when a busy machine had it ask too late.
async fn answer(address: SocketAddr, sent: &str, expected: &str) {
    let answered = async { while !exchange(address, sent).await.ends_with(expected) {} };
    tokio::time::timeout(LONG, answered).await.unwrap();
}

const GET: &str = "GET / HTTP/1.1\r\nhost: x\r\n\r\n";
const GET_AND_CLOSE: &str = "GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";

#[tokio::test]
async fn who_says_nothing_or_half_of_something_is_closed() {
    let patience = Patience { ask: SHORT, prove: LONG, ..Patience::OPEN };
    let served = start(hello(), 10, patience).await;
    for sent in ["", "G", "GET / HTTP/1.1\r\nhost: x\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"] {
        let answer = exchange(served.address, sent).await;
        assert!(!answer.contains("hello"), "{answer}");
    }
    answer(served.address, GET_AND_CLOSE, "hello").await;
}

#[tokio::test]
async fn who_asks_and_proves_nothing_is_closed_and_who_may_stay_is_not() {
    let patience = Patience { ask: SHORT, prove: SHORT * 2, ..Patience::GUARDED };
    let router = Router::new().route("/", get(|| async { "who are you?" })).route(
        "/known",
        get(|request: axum::extract::Request| async move {
            request.extensions().get::<Visitor>().unwrap().stays();
            "stay"
        }),
    );
    let served = start(router, 10, patience).await;
    let mut known = known(served.address).await;
    // It ends because it is closed: the stranger does not close.
    answer(served.address, GET, "who are you?").await;
    known.write_all(GET.as_bytes()).await.unwrap();
    read_until(&mut known, "who are you?").await;
}

/// A connection that may stay. A busy machine may close some that ask too late before.
async fn known(address: SocketAddr) -> TcpStream {
    let connected = async {
        loop {
            let mut stream = TcpStream::connect(address).await.unwrap();
            let sent = stream.write_all(GET.replace("/ ", "/known ").as_bytes()).await;
            let mut answer = Vec::new();
            while sent.is_ok() && !answer.ends_with(b"stay") {
                if matches!(stream.read_buf(&mut answer).await, Ok(0) | Err(_)) {
                    break;
                }
            }
            if answer.ends_with(b"stay") {
                return stream;
            }
        }
    };
    tokio::time::timeout(LONG, connected).await.unwrap()
}

async fn read_until(stream: &mut TcpStream, end: &str) {
    let mut answer = Vec::new();
    while !answer.ends_with(end.as_bytes()) {
        let count = stream.read_buf(&mut answer).await.unwrap();
        assert_ne!(count, 0, "closed after {}", String::from_utf8_lossy(&answer));
    }
}

#[tokio::test]
async fn who_only_holds_connections_keeps_nobody_out() {
    let patience = Patience { ask: LONG, prove: LONG, ..Patience::OPEN };
    for is_open in [true, false] {
        let served = start(hello(), 4, Patience { is_open, ..patience }).await;
        let mut held = Vec::new();
        for number in 0..100 {
            let sent = match number % 5 {
                0 => "",
                1 => "GET / HTTP/1.1\r\nhost: x\r\n",
                2 => "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\nhalf",
                3 => GET,
                _ => "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0",
            };
            let mut stream = TcpStream::connect(served.address).await.unwrap();
            // One that came before may have been closed for it, and this one for another.
            let _ = stream.write_all(sent.as_bytes()).await;
            held.push(stream);
            if number % 10 == 9 {
                let answer = exchange(served.address, GET_AND_CLOSE).await;
                assert!(answer.ends_with("hello"), "{number}: {answer:?}");
            }
        }
    }
}

#[tokio::test]
async fn what_is_being_answered_is_not_closed_for_others() {
    let patience = Patience { ask: LONG, prove: LONG, ..Patience::OPEN };
    let (go, goes) = tokio::sync::watch::channel(false);
    let (begun, mut begins) = tokio::sync::mpsc::unbounded_channel();
    let slow = move || {
        let (begun, mut goes) = (begun.clone(), goes.clone());
        async move {
            begun.send(()).unwrap();
            goes.wait_for(|goes| *goes).await.unwrap();
            "done"
        }
    };
    let served = start(hello().route("/slow", get(slow)), 2, patience).await;
    let mut held = Vec::new();
    for _ in 0..2 {
        let mut stream = TcpStream::connect(served.address).await.unwrap();
        stream.write_all(GET.replace("/ ", "/slow ").as_bytes()).await.unwrap();
        begins.recv().await.unwrap();
        held.push(stream);
    }
    // Nothing is idle: there is no room.
    assert_eq!(exchange(served.address, GET_AND_CLOSE).await, "");
    go.send(true).unwrap();
    for stream in &mut held {
        read_until(stream, "done").await;
    }
    let answered = async {
        while exchange(served.address, GET_AND_CLOSE).await.is_empty() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(LONG, answered).await.unwrap();
}

#[tokio::test]
async fn who_does_not_read_what_it_is_given_is_not_waited_for() {
    let patience = Patience { read: Some(SHORT), ..Patience::OPEN };
    let (given, mut gives) = tokio::sync::mpsc::unbounded_channel();
    let (go, goes) = tokio::sync::watch::channel(false);
    let endless = move || {
        let given = given.clone();
        let pieces = futures_util::stream::repeat_with(move || {
            let _ = given.send(());
            Ok::<_, io::Error>(axum::body::Bytes::from_static(&[b'x'; 64 << 10]))
        });
        async { axum::body::Body::from_stream(pieces) }
    };
    let slow = move || {
        let mut goes = goes.clone();
        async move {
            goes.wait_for(|goes| *goes).await.unwrap();
            "done"
        }
    };
    let router = hello().route("/endless", get(endless)).route("/slow", get(slow));
    let served = start(router, 10, patience).await;
    let mut waits = TcpStream::connect(served.address).await.unwrap();
    waits.write_all(GET.replace("/ ", "/slow ").as_bytes()).await.unwrap();
    let mut deaf = TcpStream::connect(served.address).await.unwrap();
    deaf.write_all(GET.replace("/ ", "/endless ").as_bytes()).await.unwrap();
    // It is given as much as the system takes for it, and then it is closed: less than it would read.
    gives.recv().await.unwrap();
    let closed = async {
        let mut sink = vec![0; 1 << 20];
        tokio::time::sleep(SHORT * 10).await;
        while !matches!(deaf.read(&mut sink).await, Ok(0) | Err(_)) {
            tokio::time::sleep(SHORT * 4).await;
        }
    };
    tokio::time::timeout(LONG, closed).await.unwrap();
    // Who waits for us is waited for.
    go.send(true).unwrap();
    read_until(&mut waits, "done").await;
}

#[tokio::test]
async fn http_2_is_spoken_with_who_begins_with_it() {
    let served = start(hello(), 10, Patience::OPEN).await;
    let mut stream = TcpStream::connect(served.address).await.unwrap();
    // The preface and an empty frame of settings.
    stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0").await.unwrap();
    let mut head = [0; 9];
    stream.read_exact(&mut head).await.unwrap();
    assert_eq!(head[3], 4, "the first frame of the answer is not its settings: {head:?}");
    let mut settings = vec![0; usize::from(head[2])];
    stream.read_exact(&mut settings).await.unwrap();
    let streams: Vec<_> = settings.chunks(6).filter(|one| one[..2] == [0, 3]).collect();
    assert_eq!(streams, [[&[0, 3], &STREAMS_MAX.to_be_bytes()[..]].concat()]);
}

#[tokio::test]
async fn the_end_waits_for_what_is_under_way_and_closes_the_rest() {
    let (begun, begins) = tokio::sync::oneshot::channel();
    let (go, goes) = tokio::sync::oneshot::channel::<()>();
    let slow = std::sync::Mutex::new(Some((begun, goes)));
    let slow = std::sync::Arc::new(slow);
    let router = hello().route(
        "/slow",
        get(move || {
            let (begun, goes) = slow.lock().unwrap().take().unwrap();
            async move {
                begun.send(()).unwrap();
                goes.await.unwrap();
                "done"
            }
        }),
    );
    let served = start(router, 10, Patience::OPEN).await;
    let mut idle = TcpStream::connect(served.address).await.unwrap();
    idle.write_all(GET.as_bytes()).await.unwrap();
    read_until(&mut idle, "hello").await;
    let mut slow = TcpStream::connect(served.address).await.unwrap();
    slow.write_all(GET.replace("/ ", "/slow ").as_bytes()).await.unwrap();
    begins.await.unwrap();
    served.shutdown.cancel();
    assert_eq!(idle.read(&mut [0; 1]).await.unwrap(), 0, "the idle connection is closed");
    assert!(!served.ended.is_finished());
    go.send(()).unwrap();
    read_until(&mut slow, "done").await;
    served.ended.await.unwrap().unwrap();
}
