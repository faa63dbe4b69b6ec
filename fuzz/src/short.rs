//! A moment of every target, with inputs that a seed makes: what libFuzzer does for hours, so that a
//! target that fails at once, or does nothing, is known by the next test run.

use std::fs;

use crate::{
    data_folder, flight, ingest, json_rpc, ledger_open, ledger_page, parse, plan, sql_parse,
    tools_yaml, worker_request,
};

/// Random numbers (splitmix64).
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn bytes(&mut self, most: u64) -> Vec<u8> {
        let length = self.next() % most;
        (0..length).map(|_| self.next().to_le_bytes()[0]).collect()
    }
}

/// Runs a target on so many inputs: most are a few places of damage, some are long.
fn throw(seed: u64, inputs: usize, target: fn(&[u8])) {
    let mut dice = Dice(seed);
    target(&[]);
    for index in 0..inputs {
        let most = if index % 8 == 7 { 400 } else { 16 };
        target(&dice.bytes(most));
    }
}

#[test]
fn plans() {
    assert!(plan::is_sound());
    throw(1, 2000, plan::run);
}

#[test]
fn files_of_tools() {
    throw(2, 60, tools_yaml::run);
}

#[test]
fn messages_of_clients() {
    throw(3, 200, json_rpc::run);
}

#[test]
fn pages_of_the_ledger() {
    throw(4, 300, ledger_page::run);
}

#[test]
fn data_folders() {
    assert!(data_folder::is_sound());
    throw(5, 40, data_folder::run);
}

#[test]
fn rows_of_operators() {
    assert!(flight::is_sound());
    throw(6, 3000, flight::run);
}

#[test]
fn requests_of_query_nodes() {
    assert!(worker_request::is_sound());
    throw(7, 3000, worker_request::run);
}

#[test]
fn histories_of_ledgers() {
    throw(8, 200, ledger_open::run);
}

#[test]
fn commands() {
    throw(9, 2000, parse::run);
}

#[test]
fn rows_that_come_in() {
    assert!(ingest::is_sound());
    throw(10, 500, ingest::run_json);
    throw(11, 500, ingest::run_csv);
    throw(12, 500, ingest::run_arrow);
}

#[test]
fn statements() {
    throw(13, 150, sql_parse::run);
}

/// A target that is not run here would be run by nobody for months.
#[test]
fn every_target_is_run() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/fuzz_targets");
    let run = include_str!("short.rs");
    let mut targets = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let text = fs::read_to_string(entry.unwrap().path()).unwrap();
        let called = text.split("edgemere_fuzz::").nth(1).unwrap().split('(').next().unwrap();
        assert!(run.contains(&format!(", {called});")), "{called} is not run");
        targets += 1;
    }
    assert!(targets >= 13, "{targets}");
}
