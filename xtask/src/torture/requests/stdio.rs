//! Hostile messages to `edgemere mcp` on its standard input: it answers or ends with an error of its
//! own, and never by a signal.

use std::{
    io::{Read, Write},
    os::unix::process::ExitStatusExt,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result};

use super::Run;
use crate::torture::{
    dice::Dice,
    scene::folder,
    score::{Fault, Score},
};

/// How long the program may take to end once its input has.
const END_MAX: Duration = Duration::from_secs(90);

pub(super) fn run(run: &Run, score: &Score, lines: u64, dice: &mut Dice) -> Result<()> {
    let root = folder()?;
    let hello = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;
    let ready = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    let mut input = format!("{hello}\n{ready}\n").into_bytes();
    for index in 0..lines {
        input.extend(line(index, dice));
        input.push(b'\n');
        score.tried();
    }
    input.extend_from_slice(br#"{"jsonrpc":"2.0","id":"last","method":"ping"}"#);
    input.push(b'\n');
    let mut command = Command::new(&run.setting.binary);
    command
        .args(["mcp", "--data"])
        .arg(root.path().join("data"))
        .current_dir(root.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut child = command.spawn().context("cannot start \"edgemere mcp\"")?;
    let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
    let writer = thread::spawn(move || stdin.map(|mut stdin| stdin.write_all(&input)));
    let reader = thread::spawn(move || {
        let mut text = Vec::new();
        stdout.map(|mut stdout| stdout.read_to_end(&mut text));
        String::from_utf8_lossy(&text).into_owned()
    });
    let begin = Instant::now();
    let end = loop {
        if let Some(end) = child.try_wait()? {
            break Some(end);
        }
        if begin.elapsed() > END_MAX {
            child.kill()?;
            child.wait()?;
            break None;
        }
        thread::sleep(Duration::from_millis(20));
    };
    let _ = writer.join();
    let told = reader.join().unwrap_or_default();
    match end {
        None => score.violation(Fault::Died, format!("edgemere mcp did not end in {END_MAX:?}")),
        Some(end) if end.signal().is_some() || end.code() == Some(101) => {
            score.violation(Fault::Died, format!("edgemere mcp ended with {end}"));
        }
        // It may give up on a client that sends no messages, with an error of its own.
        Some(end) if !end.success() => score.refused(),
        Some(_) if told.contains("\"last\"") => score.right(),
        Some(_) => score.violation(Fault::Died, "edgemere mcp did not answer after hostile lines"),
    }
    Ok(())
}

fn line(index: u64, dice: &mut Dice) -> Vec<u8> {
    let call = |arguments: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":{index},"method":"tools/call","params":{{"name":"sql","arguments":{arguments}}}}}"#
        )
    };
    match index % 8 {
        0 => dice.bytes(300).into_iter().filter(|byte| *byte != b'\n').collect(),
        1 => format!("{}1{}", "[".repeat(50_000), "]".repeat(50_000)).into_bytes(),
        2 => call(r#"{"database":"d","sql":"select rpad('x', 2000000000)"}"#).into_bytes(),
        3 => call(r#"{"database":1,"sql":[]}"#).into_bytes(),
        4 => {
            format!(r#"{{"jsonrpc":"2.0","id":{},"method":"ping"}}"#, "9".repeat(400)).into_bytes()
        }
        5 => call(&format!(r#"{{"database":"d","sql":"{}"}}"#, "x".repeat(500_000))).into_bytes(),
        6 => br#"{"jsonrpc":"2.0","id":null,"method":"tools/list"}"#.to_vec(),
        _ => br#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"x"}}"#
            .to_vec(),
    }
}
