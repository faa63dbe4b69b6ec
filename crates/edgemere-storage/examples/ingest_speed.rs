//! Prints how many rows a second are decoded: `cargo run --release --example speed`.
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a measurement, not a library")]

use std::fmt::Write;
use std::hint::black_box;
use std::time::{Duration, Instant};

use edgemere_storage::decode::{Input, Limits, decode};

const ROWS: usize = 1_000;
const RUN: Duration = Duration::from_millis(400);
const RUNS: usize = 5;

fn main() {
    let objects = || (0..ROWS).map(object).collect::<Vec<_>>();
    let inputs = [
        ("JSON list", Input::Json, format!("[{}]", objects().join(", "))),
        ("NDJSON", Input::Json, objects().join("\n")),
        ("CSV", Input::Csv, csv()),
    ];
    for (name, input, text) in inputs {
        let schema = decode(input, text.as_bytes(), None, &Limits::default()).unwrap().schema;
        for (table, known) in [("known", Some(&schema)), ("unknown", None)] {
            let rate = (0..RUNS).map(|_| {
                let start = Instant::now();
                let mut rows = 0;
                while start.elapsed() < RUN {
                    let decoded =
                        decode(input, text.as_bytes(), known, &Limits::default()).unwrap();
                    rows += black_box(decoded).accepted;
                }
                rows as f64 / start.elapsed().as_secs_f64()
            });
            let best = rate.fold(0.0, f64::max);
            println!(
                "{name:10} {table:8} {:6.2} M rows/s {:6.0} MB/s",
                best / 1e6,
                best * text.len() as f64 / ROWS as f64 / 1e6
            );
        }
    }
}

fn fields(row: usize) -> (String, String, String) {
    let time = format!("2026-01-01T{:02}:{:02}:{:02}Z", row / 3600, row / 60 % 60, row % 60);
    let value = format!("{:.3}", (row * 7919 + 104_729) as f64 % 100_000.0 / 1000.0 + 0.001);
    (time, value, format!("sensor-{}", row % 10))
}

fn object(row: usize) -> String {
    let (time, value, device) = fields(row);
    format!(r#"{{"timestamp": "{time}", "value": {value}, "device_name": "{device}"}}"#)
}

fn csv() -> String {
    let mut text = "timestamp,value,device_name\n".to_owned();
    for row in 0..ROWS {
        let (time, value, device) = fields(row);
        writeln!(text, "{time},{value},{device}").unwrap();
    }
    text
}
