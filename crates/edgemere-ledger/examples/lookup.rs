//! How fast lookups are among many policies: `cargo run --release -p edgemere-ledger --example
//! lookup [COUNT]`.

#![allow(clippy::print_stdout, reason = "an example prints what it measured")]

use std::error::Error;
use std::hint::black_box;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use edgemere_ledger::{Condition, Kinds, Ledger, Policy, Scope};
use serde_json::{Value, json};

const FOLDER: &str = "EDGEMERE_LEDGER_LOOKUP_FOLDER";
const LOOKUPS: usize = 100_000;
const INSERTS: usize = 200;

fn main() -> Result<(), Box<dyn Error>> {
    let count = std::env::args().nth(1).map_or(Ok(100_000), |count| count.parse())?;
    if let Ok(folder) = std::env::var(FOLDER) {
        return load(Path::new(&folder), count);
    }
    let folder = tempfile::tempdir_in(".")?;
    load_elsewhere(folder.path(), count)?;
    let rest = rss_mib();

    let begun = Instant::now();
    let (ledger, recovery) = Ledger::open(folder.path())?;
    println!("open:    {:?} for {} policies", begun.elapsed(), recovery.policies);
    println!("memory:  {} MiB resident, {rest} before the open", rss_mib());

    let operators = Kinds::one("operator");
    measure("name = x", count, |n| {
        ledger.select(&operators, &Condition::equal("name", name(n))).len()
    });
    measure("company = c and port = \"p\"", count, |n| {
        let port = Condition::equal("port", port(n).to_string());
        let company = Condition::equal("company", company(n));
        ledger.select(&operators, &Condition::All(vec![company, port])).len()
    });
    measure("any type, name = x", count, |n| {
        ledger.select(&Kinds::All, &Condition::equal("name", name(n))).len()
    });
    let begun = Instant::now();
    let found = ledger.select(&Kinds::All, &Condition::equal("nothing", "x")).len();
    println!("absent attribute, {found} found: {:?}", begun.elapsed());
    let begun = Instant::now();
    println!(
        "everything, {} found: {:?}",
        ledger.select(&Kinds::All, &Condition::True).len(),
        begun.elapsed()
    );
    insert(&ledger, count)?;
    let begun = Instant::now();
    ledger.verify()?;
    println!("verify:  {:?}", begun.elapsed());
    Ok(())
}

/// Loads in a process of its own, so that what the load leaves behind does not count as the
/// ledger's memory.
fn load_elsewhere(folder: &Path, count: usize) -> Result<(), Box<dyn Error>> {
    let mut child = Command::new(std::env::current_exe()?);
    let status = child.arg(count.to_string()).env(FOLDER, folder).status()?;
    if status.success() { Ok(()) } else { Err("the load failed".into()) }
}

fn load(folder: &Path, count: usize) -> Result<(), Box<dyn Error>> {
    let (ledger, _) = Ledger::open(folder)?;
    let policies = (0..count).map(|n| Policy::from_value(policy(n))).collect::<Result<_, _>>()?;
    let begun = Instant::now();
    ledger.insert_all(policies, Scope::Global)?;
    println!("load:    {:?} for {count} policies in one batch", begun.elapsed());
    println!("file:    {} MiB", std::fs::metadata(folder.join("ledger.log"))?.len() >> 20);
    Ok(())
}

/// Nine in ten are operators, as these have the most rules.
fn policy(n: usize) -> Value {
    match n % 10 {
        0 => json!({"device": {"name": name(n), "model": "m1", "rate": n}}),
        _ => json!({"operator": {
            "name": name(n),
            "company": company(n),
            "ip": format!("10.0.{}.{}", n / 250 % 250, n % 250),
            "port": port(n),
            "rest_port": 32149,
            "loc": "52.01,4.36",
            "country": "NL",
            "city": "Delft",
        }}),
    }
}

fn name(n: usize) -> String {
    format!("node-{n}")
}

fn company(n: usize) -> String {
    format!("Company {}", n % 7)
}

fn port(n: usize) -> usize {
    20000 + n / 10
}

fn measure(what: &str, count: usize, lookup: impl Fn(usize) -> usize) {
    let mut found = 0;
    let mut times: Vec<Duration> = (0..LOOKUPS)
        .map(|n| {
            // A stride without a common factor visits them in no order that a cache would like.
            let n = n * 7919 % count;
            let begun = Instant::now();
            found += black_box(lookup(n));
            begun.elapsed()
        })
        .collect();
    print_times(what, found, &mut times);
}

fn insert(ledger: &Ledger, count: usize) -> Result<(), Box<dyn Error>> {
    let mut times = Vec::new();
    for n in count..count + INSERTS {
        let policy = Policy::from_value(policy(n * 10))?;
        let begun = Instant::now();
        ledger.insert(policy, Scope::Global)?;
        times.push(begun.elapsed());
    }
    print_times("insert, durable", INSERTS, &mut times);
    Ok(())
}

fn print_times(what: &str, found: usize, times: &mut [Duration]) {
    times.sort_unstable();
    let at = |percent: usize| times.get(times.len() * percent / 100).copied().unwrap_or_default();
    println!("{what}: p50 {:?}, p99 {:?}, {found} found", at(50), at(99));
}

/// The memory that this process has, where the system tells.
fn rss_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or_default() / 1024
}
