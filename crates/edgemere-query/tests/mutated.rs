//! The bodies of the fuzz targets on inputs that are the same in every run: true rows and true SQL,
//! with pieces taken out, doubled, swapped and made up. What `cargo xtask fuzz` finds over hours is
//! not found here; what it found once stays found.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
#![allow(clippy::indexing_slicing, reason = "a test that cannot go on should stop")]
#![allow(dead_code, reason = "the model has more than is used here")]

#[path = "sql_model/chance.rs"]
mod chance;
#[allow(clippy::expect_used, reason = "a test that cannot go on should stop")]
#[path = "../../../fuzz/ingest.rs"]
mod ingest;

use chance::Chance;
use edgemere_query::Engine;
use edgemere_query::sql::{Error, STACK_BYTES};
use edgemere_storage::decode::Input;
use tokio::runtime::Builder;

/// How many inputs there are of each kind.
const ROWS: usize = 20_000;
const QUERIES: usize = 1000;

const JSON: [&str; 6] = [
    r#"[{"a": 1, "d": 1.5e3, "e": true, "i": "it's", "j": null}, {"a": "x", "k": {"l": [1, "\u00fc"]}}]"#,
    r#"{"f": "2026-02-29", "g": "23:59:59.5", "h": "2026-01-01T00:00:00+02:00"}"#,
    "{\"c\": 123456789012345678901234567890}\n{\"c\": -0.0, \"C\": 1}\n{}",
    r#"[{"row_id": 1, "": "", "\ud83d\ude00": "\ud83d"}, {"b": 9223372036854775808}]"#,
    r#"[{"h": 1e400, "a": 1.0, "f": "0000-00-00", "g": "24:00:00"}, [], null, "x", {"a": []}]"#,
    "\u{feff}[{\"日本\": \"\\\\\\\"\", \"a\": -9223372036854775809}]",
];

const CSV: [&str; 4] = [
    "a,d,e,i\n1,1.5,true,\"it's, \"\"quoted\"\"\"\n,,,\n",
    "a,h\r\n1,2026-01-01 00:00:00\r\nx,y,z\r\n2\r\n",
    "\u{feff}a,A,row_id\n1,2,3",
    "f,g,c\n2026-01-01,12:00,99999999999999999999999999999999999999\n\"\n\",,",
];

const QUERY: [&str; 8] = [
    "select increments(hour, 6, timestamp), avg(f)::float(2), count(*) from t where s like '%a_' group by s order by 2 desc nulls last limit 10 offset 1",
    "with q as (select n, row_number() over (partition by b order by n rows between 1 preceding and current row) as k from t) select * from q where k in (1, 2, null)",
    "select n from t where period(day, 1, now(), timestamp, and s = 'x') and n not in (select n from u where u.b = t.b) or timestamp > -3d",
    "select distinct t.s, case t.n when 1 then 'x' else cast(t.n as varchar) || u.s end from t left join u on t.n = u.n",
    "select sum(n) + 1, max(timestamp) - 1 day, timestamp::datetime('%Y-%m-%d') from t group by timestamp having count(*) > 1 union all select 1, max(timestamp), 'x' from u",
    "select range(f), min(s)::ljust(10), max(n)::format(':,') from t where not (n between -1 and 5 or b is not true)",
    "select x.n from (values (1, 'a'), (2, $$b$$)) as x(n, s) where exists (select 1 from t where t.n = x.n) -- end",
    "select extract(year from timestamp), interval '1 month', substring(s from 2 for 3), E'\\n' from d.t /* c */",
];

/// Pieces that are put in by chance.
const PIECES: [&str; 30] = [
    "(",
    ")",
    ",",
    "'",
    "\"",
    "select ",
    " from t",
    "{",
    "}",
    "[",
    "]",
    ":",
    "::",
    "-3d",
    "\0",
    "é",
    "null",
    "1e309",
    "$$",
    "/*",
    "--",
    "\\",
    "\n",
    "period(",
    "increments(",
    " and ",
    "now()",
    "0",
    "*",
    "\u{feff}",
];

/// An input with a few changes.
fn changed(chance: &mut Chance, seeds: &[&str]) -> String {
    let mut text: Vec<char> = chance.pick(seeds).chars().collect();
    for _ in 0..chance.between(1, 3) {
        let (from, to) = range(chance, text.len());
        match chance.between(0, 4) {
            0 => drop(text.drain(from..to)),
            1 => {
                let piece = text[from..to].to_vec();
                text.splice(from..from, piece);
            }
            2 => {
                let other: Vec<char> = chance.pick(seeds).chars().collect();
                let (first, last) = range(chance, other.len());
                text.splice(from..to, other[first..last].iter().copied());
            }
            3 => drop(text.splice(from..from, chance.pick(&PIECES).chars())),
            _ => drop(text.splice(from..to, chance.pick(&PIECES).chars())),
        }
    }
    text.into_iter().collect()
}

/// Words that can stand for each other, so that a query with one changed is mostly still one.
const ALIKE: [&[&str]; 7] = [
    &["n", "f", "s", "b", "timestamp", "day", "no_such"],
    &["t", "u", "q", "none"],
    &["min", "max", "sum", "avg", "count", "range", "abs", "upper"],
    &["hour", "day", "week", "month", "year", "fortnight"],
    &["0", "1", "2", "3", "6", "10", "99999999999999999999"],
    &["and", "or", "and not"],
    &["left", "right", "full", "inner", "cross", "natural"],
];

/// A query with a few words changed for such that are like them.
fn reworded(chance: &mut Chance) -> String {
    let mut words = words(chance.pick(&QUERY));
    for _ in 0..chance.between(1, 3) {
        let place = chance.between(0, words.len() as i64 - 1) as usize;
        let alike = ALIKE.iter().find(|alike| alike.contains(&words[place].as_str()));
        if let Some(alike) = alike {
            words[place] = chance.pick(alike).to_owned();
        }
    }
    words.concat()
}

/// The words of a text, and what stands between them.
fn words(text: &str) -> Vec<String> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut words: Vec<String> = Vec::new();
    for c in text.chars() {
        match words.last_mut() {
            Some(last) if is_word(c) && last.ends_with(is_word) => last.push(c),
            _ => words.push(c.to_string()),
        }
    }
    words
}

/// A short range of so many.
fn range(chance: &mut Chance, length: usize) -> (usize, usize) {
    let from = chance.between(0, length as i64) as usize;
    (from, (from + chance.between(0, 12) as usize).min(length))
}

#[test]
fn changed_rows_are_read_or_refused() {
    let mut chance = Chance::new(11);
    for _ in 0..ROWS / 2 {
        ingest::decode(Input::Json, changed(&mut chance, &JSON).as_bytes());
        ingest::decode(Input::Csv, changed(&mut chance, &CSV).as_bytes());
        // Bytes that are no text.
        let mut bytes = changed(&mut chance, &JSON).into_bytes();
        if let Some(byte) = bytes.last_mut() {
            *byte ^= 0x80;
        }
        ingest::decode(Input::Json, &bytes);
    }
}

#[test]
fn changed_queries_are_planned_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .thread_stack_size(STACK_BYTES)
        .enable_all()
        .build()
        .unwrap();
    let (engine, _) = Engine::open(folder.path()).unwrap();
    let rows =
        br#"[{"n": 1, "f": 1.5, "s": "it's", "b": true, "timestamp": "2026-01-01 00:00:00"}]"#;
    for table in ["t", "u"] {
        runtime.block_on(engine.put("d", table, Input::Json, rows)).unwrap();
    }
    for sql in QUERY {
        runtime.block_on(engine.sql().explain("d", sql)).unwrap();
    }
    let mut chance = Chance::new(12);
    let (mut planned, mut parsed) = (0, 0);
    for _ in 0..QUERIES {
        let sql = match chance.one_in(2) {
            true => changed(&mut chance, &QUERY),
            false => reworded(&mut chance),
        };
        let (engine, asked) = (engine.clone(), sql.clone());
        let explained = runtime.spawn(async move { engine.sql().explain("d", &asked).await });
        match runtime.block_on(explained) {
            Ok(explained) => {
                planned += usize::from(explained.is_ok());
                parsed += usize::from(!matches!(explained, Err(Error::Syntax { .. })));
            }
            Err(error) => panic!("{error} of {sql:?}"),
        }
    }
    // Enough are still queries that more than the parser was tried.
    assert!(parsed > QUERIES / 5 && planned > QUERIES / 50, "{parsed} parsed, {planned} planned");
    assert_eq!(engine.storage().tables("d").len(), 2);
}
