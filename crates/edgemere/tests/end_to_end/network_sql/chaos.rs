//! Random faults on a network that takes rows and answers queries all the while: every answer that
//! looks whole is right for a moment of its query, and no acknowledged row is lost.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use reqwest::{Client, RequestBuilder};
use serde_json::Value;

use super::dice::Dice;
use super::net::{Net, store, until};
use crate::member::Member;

/// How long faults come.
const TIME: Duration = Duration::from_secs(25);

/// How many rows are sent at once.
const BATCH: u64 = 50;

/// How long a request may take before it is given up, so that a hanging node holds nothing up.
const REQUEST: Duration = Duration::from_secs(8);

/// What was sent, and what of it was acknowledged.
#[derive(Default)]
struct Books {
    sent: AtomicU64,
    acknowledged: AtomicU64,
    is_over: AtomicBool,
    whole: AtomicU64,
    refused: AtomicU64,
    partial: AtomicU64,
}

impl Books {
    fn goes_on(&self) -> bool {
        !self.is_over.load(Ordering::SeqCst)
    }

    fn count(counter: &AtomicU64) {
        counter.fetch_add(1, Ordering::SeqCst);
    }
}

/// A batch of the table "c": every row says which batch it is of, and has the value 1.
fn batch(number: u64) -> String {
    let mut csv = String::from("batch,v\n");
    (0..BATCH).for_each(|_| csv.push_str(&format!("{number},1\n")));
    csv
}

/// Sends batches to an operator, wherever it is by then, and gives the numbers of those that it
/// acknowledged. None is sent twice.
async fn ingest(books: Arc<Books>, url: Arc<std::sync::Mutex<String>>, first: u64) -> Vec<u64> {
    let mut acknowledged = Vec::new();
    let mut numbers = (first..).step_by(2);
    while books.goes_on() {
        let number = numbers.next().unwrap();
        let url = format!("{}/api/v1/ingest/d/c", url.lock().unwrap());
        let request = Client::new().post(url).header("content-type", "text/csv");
        books.sent.fetch_add(BATCH, Ordering::SeqCst);
        let request = request.timeout(REQUEST).body(batch(number));
        match request.send().await {
            Ok(reply) if reply.status() == 200 => {
                books.acknowledged.fetch_add(BATCH, Ordering::SeqCst);
                acknowledged.push(number);
            }
            // Not to fill the disk with what nobody takes.
            _ => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
    acknowledged
}

/// Asks all the time, and checks what looks whole.
async fn check(books: Arc<Books>, request: impl Fn() -> RequestBuilder, read: fn(&str) -> Answer) {
    while books.goes_on() {
        let least = books.acknowledged.load(Ordering::SeqCst);
        let reply = async {
            let reply = request().timeout(REQUEST).send().await?;
            let status = reply.status();
            Ok::<_, reqwest::Error>((status, reply.text().await?))
        };
        let reply = reply.await;
        let most = books.sent.load(Ordering::SeqCst);
        let Ok((status, text)) = reply else {
            Books::count(&books.refused);
            continue;
        };
        if status != 200 {
            assert!(text.contains("operator ") || text.contains("max_time"), "{status}: {text}");
            Books::count(&books.refused);
            continue;
        }
        match read(&text) {
            Answer::Failed => Books::count(&books.refused),
            Answer::Whole(rows) => {
                assert!((least..=most).contains(&rows), "{least} <= {rows} <= {most}: {text}");
                Books::count(&books.whole);
            }
            Answer::Partial(rows) => {
                assert!(rows <= most, "{rows} <= {most}: {text}");
                Books::count(&books.partial);
            }
        }
    }
}

/// What an answer says.
enum Answer {
    /// There are so many rows.
    Whole(u64),
    /// Without those of operators that it names.
    Partial(u64),
    /// It is none.
    Failed,
}

const SUMS: &str =
    "select count(*) as rows, sum(v) as sum, count(distinct batch) as batches from c";

/// Reads an answer to [`SUMS`]. A batch is there with all of its rows or with none.
fn read_sums(text: &str) -> Answer {
    let reply: Value = serde_json::from_str(text).unwrap_or_else(|_| panic!("{text}"));
    let row = &reply["Query"][0];
    let number = |key: &str| row[key].as_u64().unwrap_or_else(|| panic!("{text}"));
    assert_eq!(number("rows"), number("sum"), "{text}");
    assert_eq!(number("rows"), number("batches") * BATCH, "{text}");
    match reply["Statistics"][0].get("Missing") {
        None => Answer::Whole(number("rows")),
        Some(_) => Answer::Partial(number("rows")),
    }
}

/// Reads rows that were passed through, as lines. What is cut off is no answer at all.
fn read_lines(text: &str) -> Answer {
    Answer::Whole(text.lines().count() as u64)
}

/// Reads rows that were passed through, as events.
fn read_events(text: &str) -> Answer {
    let events: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (last, data) = events.split_last().unwrap();
    let rows: u64 = data.iter().map(|event| event["row_count"].as_u64().unwrap()).sum();
    if last["type"] == "error" {
        return Answer::Failed;
    }
    assert_eq!((&last["type"], last["total_rows"].as_u64()), (&"complete".into(), Some(rows)));
    match last.get("missing") {
        None => Answer::Whole(rows),
        Some(_) => Answer::Partial(rows),
    }
}

/// One fault, for a while, and its end.
async fn fault(net: &mut Net, urls: &[Arc<std::sync::Mutex<String>>], dice: &mut Dice) -> String {
    let moment = |dice: &mut Dice, most| Duration::from_millis(50 + dice.below(most));
    let kind = dice.below(5);
    let at = usize::try_from(dice.below(2)).unwrap();
    let operator = if at == 0 { &mut net.one } else { &mut net.two };
    let name = operator.name;
    let told = match kind {
        0 => {
            net.master.kill();
            tokio::time::sleep(moment(dice, 1000)).await;
            start(&mut net.master).await;
            "the master was killed".to_owned()
        }
        1 | 2 => {
            operator.kill();
            tokio::time::sleep(moment(dice, 1000)).await;
            start(operator).await;
            *urls[at].lock().unwrap() = operator.up().url();
            format!("{name} was killed")
        }
        3 => {
            operator.hang();
            tokio::time::sleep(moment(dice, 5000)).await;
            operator.go_on();
            format!("{name} hung")
        }
        _ => {
            operator.kill();
            net.master.kill();
            tokio::time::sleep(moment(dice, 500)).await;
            let operator = if at == 0 { &mut net.one } else { &mut net.two };
            start(operator).await;
            *urls[at].lock().unwrap() = operator.up().url();
            start(&mut net.master).await;
            format!("{name} and the master were killed")
        }
    };
    tokio::time::sleep(moment(dice, 1500)).await;
    told
}

/// Starts a node while others go on.
async fn start(member: &mut Member) {
    tokio::task::block_in_place(|| member.start());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_wrong_answer_and_no_lost_row() {
    let mut dice = Dice::of("EDGEMERE_CHAOS_SEED");
    let mut net = Net::start();
    let books = Arc::new(Books::default());
    for (number, member) in [&net.one, &net.two].into_iter().enumerate() {
        store(member.up(), "c", &batch(number as u64)).await;
    }
    books.sent.store(2 * BATCH, Ordering::SeqCst);
    books.acknowledged.store(2 * BATCH, Ordering::SeqCst);
    net.knows("c").await;

    let urls =
        [&net.one, &net.two].map(|member| Arc::new(std::sync::Mutex::new(member.up().url())));
    let first = [2, 3];
    let ingests: Vec<_> = urls
        .iter()
        .zip(first)
        .map(|(url, first)| tokio::spawn(ingest(Arc::clone(&books), Arc::clone(url), first)))
        .collect();
    let query = net.query.up().url();
    let asks = [
        (format!("sql d format = json {SUMS}"), "false", read_sums as fn(&str) -> Answer),
        (format!("sql d format = json {SUMS}"), "true", read_sums),
        ("sql d format = ndjson select batch from c".to_owned(), "false", read_lines),
        (
            "sql d format = events and batch_rows = 1000 select batch from c".to_owned(),
            "true",
            read_events,
        ),
    ];
    let checks: Vec<_> = asks
        .into_iter()
        .map(|(command, subset, read)| {
            let url = query.clone();
            let request = move || {
                let request = Client::new().get(&url).header("command", &command);
                request.header("destination", "network").header("subset", subset)
            };
            tokio::spawn(check(Arc::clone(&books), request, read))
        })
        .collect();

    let begin = Instant::now();
    let mut history = Vec::new();
    while begin.elapsed() < TIME && checks.iter().all(|check| !check.is_finished()) {
        history.push(fault(&mut net, &urls, &mut dice).await);
    }
    books.is_over.store(true, Ordering::SeqCst);
    for check in checks {
        check.await.unwrap_or_else(|error| panic!("{error} after {history:?}"));
    }
    let mut acknowledged = vec![0, 1];
    for ingest in ingests {
        acknowledged.extend(ingest.await.unwrap());
    }
    let counts = [&books.whole, &books.partial, &books.refused].map(|c| c.load(Ordering::SeqCst));
    eprintln!("{history:?}: {} batches; whole, partial, refused: {counts:?}", acknowledged.len());
    assert!(counts[0] > 0 && counts[2] > 0, "nothing was tried: {counts:?}");
    nothing_is_lost(&net, &acknowledged, &books, &history).await;
}

/// All acknowledged batches are there, whole, once.
async fn nothing_is_lost(net: &Net, acknowledged: &[u64], books: &Books, history: &[String]) {
    let rows = until("a whole answer", async || {
        let sql = "select batch, count(*) as rows from c group by batch";
        let reply = net.sql("json:list", sql).send().await.ok()?;
        let (status, text) = (reply.status(), reply.text().await.ok()?);
        (status == 200).then(|| serde_json::from_str::<Vec<Value>>(&text).unwrap())
    })
    .await;
    let number = |row: &Value, key: &str| row[key].as_u64().unwrap();
    let found: BTreeMap<u64, u64> =
        rows.iter().map(|row| (number(row, "batch"), number(row, "rows"))).collect();
    assert!(found.values().all(|&rows| rows == BATCH), "{found:?} after {history:?}");
    let lost: Vec<_> = acknowledged.iter().filter(|batch| !found.contains_key(batch)).collect();
    assert!(lost.is_empty(), "{lost:?} are lost after {history:?}");
    assert!(found.len() as u64 * BATCH <= books.sent.load(Ordering::SeqCst));
}
