//! HTTP that is not quite HTTP, on both ports.

use super::{Attack, Door, Places};
use crate::torture::dice::Dice;

pub(super) fn attacks(places: &Places, dice: &mut Dice) -> Vec<Attack> {
    let mut all = Vec::new();
    for door in [Door::Query, Door::OperatorPeers] {
        let host = places.of(door).to_string();
        for (name, text) in frames(&host) {
            all.push(Attack::new(format!("{name}, at {door:?}"), door, text.into_bytes()));
        }
        for index in 0..12 {
            let bytes = dice.bytes(1 + dice.clone().index(2000));
            // A server that reads garbage waits for more of it: the connection ends here.
            let bytes = [bytes, b"\r\n\r\n\r\n\r\n".to_vec()].concat();
            all.push(Attack::new(format!("random bytes {index}, at {door:?}"), door, bytes));
        }
        let mut http2 = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
        http2.extend([0, 0, 0, 4, 0, 0, 0, 0, 0]);
        for index in 0..12 {
            let mut frames = http2.clone();
            for _ in 0..200 {
                let length = dice.below(40) as u8;
                frames.extend([0, 0, length, dice.below(12) as u8, dice.below(256) as u8]);
                frames.extend([0, 0, 0, dice.below(8) as u8]);
                frames.extend(dice.bytes(usize::from(length)));
            }
            all.push(Attack::new(
                format!("HTTP/2 of no meaning {index}, at {door:?}"),
                door,
                frames,
            ));
        }
        // Opened and reset at once, thousands of times.
        let mut resets = http2;
        for stream in (1_u32..8000).step_by(2) {
            let [a, b, c, d] = stream.to_be_bytes();
            resets.extend([0, 0, 3, 1, 5, a, b, c, d, 0x82, 0x86, 0x84]);
            resets.extend([0, 0, 4, 3, 0, a, b, c, d, 0, 0, 0, 8]);
        }
        all.push(Attack::new(format!("HTTP/2 resets, at {door:?}"), door, resets));
    }
    all
}

#[allow(clippy::too_many_lines, reason = "a list, which is read line by line")]
fn frames(host: &str) -> Vec<(&'static str, String)> {
    let get = "GET /?command=get%20status HTTP/1.1";
    vec![
        (
            "two lengths",
            format!(
                "POST / HTTP/1.1\r\nhost: {host}\r\ncontent-length: 3\r\ncontent-length: 5\r\nconnection: close\r\n\r\nabcde"
            ),
        ),
        (
            "a length and chunks",
            format!(
                "POST / HTTP/1.1\r\nhost: {host}\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n0\r\n\r\n"
            ),
        ),
        (
            "a negative length",
            format!("POST / HTTP/1.1\r\nhost: {host}\r\ncontent-length: -1\r\n\r\n"),
        ),
        (
            "a length beyond all",
            format!(
                "POST / HTTP/1.1\r\nhost: {host}\r\ncontent-length: 99999999999999999999\r\n\r\n"
            ),
        ),
        (
            "a chunk beyond all",
            format!(
                "POST / HTTP/1.1\r\nhost: {host}\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\nffffffffffffffff\r\nx"
            ),
        ),
        (
            "a chunk of no number",
            format!(
                "POST / HTTP/1.1\r\nhost: {host}\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\nzz\r\nx\r\n0\r\n\r\n"
            ),
        ),
        (
            "two hidden words",
            format!(
                "POST / HTTP/1.1\r\nhost: {host}\r\ntransfer-encoding: chunked, identity\r\nconnection: close\r\n\r\n0\r\n\r\n"
            ),
        ),
        (
            "a header of 2 MB",
            format!("{get}\r\nhost: {host}\r\nx: {}\r\n\r\n", "a".repeat(2 << 20)),
        ),
        ("10,000 headers", format!("{get}\r\nhost: {host}\r\n{}\r\n", "a: b\r\n".repeat(10_000))),
        (
            "an address of 1 MB",
            format!("GET /{} HTTP/1.1\r\nhost: {host}\r\n\r\n", "a".repeat(1 << 20)),
        ),
        ("no host", format!("{get}\r\nconnection: close\r\n\r\n")),
        (
            "a foreign address in the line",
            format!(
                "GET http://evil.example/?command=get%20status HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n"
            ),
        ),
        ("a line feed alone", format!("GET / HTTP/1.1\nhost: {host}\nconnection: close\n\n")),
        ("a space before the colon", format!("{get}\r\nhost : {host}\r\n\r\n")),
        ("a header of nothing", format!("{get}\r\nhost: {host}\r\n: x\r\n\r\n")),
        ("an old version", format!("GET / HTTP/0.9\r\nhost: {host}\r\n\r\n")),
        ("a new version", format!("GET / HTTP/9.9\r\nhost: {host}\r\n\r\n")),
        (
            "CONNECT",
            "CONNECT evil.example:80 HTTP/1.1\r\nhost: evil.example\r\nconnection: close\r\n\r\n"
                .to_owned(),
        ),
        ("TRACE", format!("TRACE / HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n")),
        (
            "a method of a megabyte",
            format!("{} / HTTP/1.1\r\nhost: {host}\r\n\r\n", "A".repeat(1 << 20)),
        ),
        (
            "an upgrade",
            format!(
                "{get}\r\nhost: {host}\r\nconnection: upgrade, close\r\nupgrade: websocket\r\n\r\n"
            ),
        ),
        (
            "an expectation",
            format!(
                "PUT / HTTP/1.1\r\nhost: {host}\r\nexpect: 100-continue\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
            ),
        ),
        (
            "percent signs",
            format!("GET /%%%?command=%zz%f HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n"),
        ),
        (
            "a command of newlines",
            format!(
                "GET /?command=get%20status%0d%0ax:%20y HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n"
            ),
        ),
    ]
}
