//! Bodies: what fits, what waits, what is refused, and what is too slow.

use std::io;

use futures_util::stream;

use super::*;

const SHORT: Duration = Duration::from_millis(20);

/// Longer than any test takes.
const LONG: Duration = Duration::from_secs(120);

fn limits(total_bytes: u64) -> Limits {
    Limits { arrive_wait: SHORT, work_wait: SHORT, grace: LONG, ..Limits::of(total_bytes) }
}

/// A body whose length nobody knows before.
fn pieces(count: usize, bytes: usize) -> Body {
    let piece = move |_| Ok::<_, io::Error>(Bytes::from(vec![b'x'; bytes]));
    Body::from_stream(stream::iter(0..count).map(piece))
}

#[tokio::test]
async fn a_body_comes_back_as_it_was_sent_and_its_room_with_it() {
    let bodies = Bodies::new(limits(64 << 20));
    for (body, length) in [
        (Body::empty(), 0),
        (Body::from("x"), 1),
        (Body::from(vec![b'x'; 3 << 20]), 3 << 20),
        (pieces(300, 10_000), 3_000_000),
        (pieces(3, 1), 3),
    ] {
        let arrived = bodies.read(body, 4 << 20).await.unwrap();
        assert_eq!(arrived.bytes, vec![b'x'; length]);
        assert!(bodies.taken_bytes() >= length.min(STEP_BYTES), "{length}");
        let work = bodies.work_on(&arrived).await.unwrap();
        assert!(bodies.taken_bytes() >= length, "{length}");
        drop((arrived, work));
        assert_eq!(bodies.taken_bytes(), 0);
    }
}

#[tokio::test]
async fn what_is_too_long_is_refused_whether_it_says_so_or_not() {
    let bodies = Bodies::new(limits(64 << 20));
    for body in [Body::from(vec![0; 1001]), pieces(11, 100)] {
        assert_eq!(bodies.read(body, 1000).await.unwrap_err(), Unread::TooLong);
    }
    assert_eq!(bodies.taken_bytes(), 0);
    assert_eq!(bodies.bytes_max(), (64 << 20) / 8 * 5 / GROWTH);
    assert_eq!(Bodies::new(limits(16 << 30)).bytes_max(), BODY_BYTES_MAX);
}

#[tokio::test]
async fn more_than_there_is_room_for_is_refused_and_small_ones_go_on() {
    let bodies = Bodies::new(limits(16 << 20));
    // There is room for four megabytes that arrive.
    let first = bodies.read(Body::from(vec![0; 3 << 20]), 4 << 20).await.unwrap();
    let rest = |bytes: usize| bodies.read(pieces(bytes >> 10, 1 << 10), 4 << 20);
    assert_eq!(rest(4 << 20).await.unwrap_err(), Unread::Busy);
    let known = bodies.read(Body::from(vec![0; 4 << 20]), 4 << 20).await;
    assert_eq!(known.unwrap_err(), Unread::Busy);
    for _ in 0..100 {
        bodies.read(Body::from(vec![0; 100 << 10]), 4 << 20).await.unwrap();
    }
    assert_eq!(bodies.refused.get(), 2);
    drop(first);
    rest(3 << 20).await.unwrap();
    // Of what there is work for, one has more than all the room, and has all of it.
    let work = bodies.work(4 << 20).await.unwrap();
    assert_eq!(bodies.work(1).await.unwrap_err(), Unread::Busy);
    drop(work);
    bodies.work(1).await.unwrap();
}

#[tokio::test]
async fn who_waits_gets_the_room_that_another_gives_back() {
    let bodies = Arc::new(Bodies::new(Limits { work_wait: LONG, ..limits(16 << 20) }));
    let work = bodies.work(4 << 20).await.unwrap();
    let waits = tokio::spawn({
        let bodies = Arc::clone(&bodies);
        async move { bodies.work(1 << 20).await.map(drop) }
    });
    tokio::task::yield_now().await;
    drop(work);
    waits.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_body_has_a_time_that_grows_with_what_has_come() {
    let limits = Limits::of(64 << 20);
    let mut arriving = Arriving::new(Body::empty().into_data_stream(), limits);
    assert_eq!(arriving.until() - arriving.start, limits.grace);
    arriving.received = 5 * limits.bytes_per_second;
    assert_eq!(arriving.until() - arriving.start, limits.grace + Duration::from_secs(5));
}

#[tokio::test]
async fn a_body_that_comes_too_slowly_is_not_waited_for() {
    let limits = Limits { grace: SHORT, bytes_per_second: 1 << 20, ..limits(64 << 20) };
    let bodies = Bodies::new(limits);
    let silent = Body::from_stream(stream::pending::<Result<Bytes, io::Error>>());
    assert_eq!(bodies.read(silent, 10).await.unwrap_err(), Unread::Late);
    // A byte now and then, without an end.
    let drops = stream::unfold((), |()| async {
        tokio::time::sleep(SHORT / 4).await;
        Some((Ok::<_, io::Error>(Bytes::from("x")), ()))
    });
    let read = bodies.read(Body::from_stream(drops), usize::MAX).await;
    assert_eq!(read.unwrap_err(), Unread::Late);
    assert_eq!((bodies.late.get(), bodies.taken_bytes()), (2, 0));
}

#[tokio::test]
async fn a_body_that_breaks_off_is_none() {
    let bodies = Bodies::new(limits(64 << 20));
    let pieces = stream::iter([Ok(Bytes::from("x")), Err(io::Error::other("gone"))]);
    let read = bodies.read(Body::from_stream(pieces), 10).await;
    assert!(matches!(read.unwrap_err(), Unread::Broken(why) if why.contains("gone")));
    assert_eq!(bodies.taken_bytes(), 0);
}
