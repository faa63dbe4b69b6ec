//! Commands.

use crate::damaged;

/// Commands of every shape.
const TRUE: [&str; 5] = [
    "get tables where dbms = * and format = json",
    "sql d timezone = utc and format = csv \"select n, s from t where s = 'it''s' limit 5\"",
    "blockchain insert where policy = {\"device\": {\"name\": \"a\", \"list\": [1, null]}} and local = true",
    "run client (127.0.0.1:32148, subset = true) get status where format = json",
    "x = if !a == 5 then \"b c\"",
];

/// Parses the bytes as a command, and as damage to true ones. What is understood is printed so that it
/// is understood again.
pub fn run(bytes: &[u8]) {
    parse(&String::from_utf8_lossy(bytes));
    for command in TRUE {
        parse(&String::from_utf8_lossy(&damaged(command.as_bytes(), bytes)));
    }
}

/// Parses a text.
fn parse(text: &str) {
    if let Ok(command) = edgemere_command::parse(text) {
        let printed = command.to_string();
        match edgemere_command::parse(&printed) {
            Ok(again) => assert_eq!(again, command, "printed as {printed:?}"),
            Err(error) => panic!("{printed:?} does not parse again: {error}"),
        }
    }
}
