//! Rows that are not what they say: lengths that lie, bodies that grow, columns without end.

use std::{
    io::Write,
    process::{Command, Stdio},
};

use super::{Attack, Door, Places};
use crate::torture::{dice::Dice, model, wire::request};

/// 64 numbers as an Arrow stream, compressed; the length of the buffer is [`LENGTH`].
const LZ4: &[u8] = include_bytes!("lz4.arrows");
const ZSTD: &[u8] = include_bytes!("zstd.arrows");
const LENGTH: [u8; 8] = 512_i64.to_le_bytes();
/// 320 MB of zeros as an Arrow stream of 14 KB.
const BOMB: &[u8] = include_bytes!("bomb.arrows");

const ARROW: &str = "application/vnd.apache.arrow.stream";

#[allow(clippy::too_many_lines, reason = "a list, which is read line by line")]
pub(super) fn attacks(places: &Places, dice: &mut Dice) -> Vec<Attack> {
    let put = |name: &str, kind: &str, extra: &[(&str, &str)], body: &[u8]| {
        let headers = [&[("content-type", kind)], extra].concat();
        let host = places.operator.to_string();
        let bytes = request("POST /api/v1/ingest/d/hostile", &host, &headers, body);
        Attack::new(format!("rows: {name}"), Door::Operator, bytes)
    };
    let mut all = Vec::new();
    for (name, stream) in [("LZ4", LZ4), ("Zstd", ZSTD)] {
        for length in
            [1_i64 << 62, 1 << 50, 1 << 40, 1 << 34, 1 << 31, 513, 0, -1, -2, i64::MIN, i64::MAX]
        {
            all.push(put(
                &format!("{name} of {length} bytes"),
                ARROW,
                &[],
                &with_length(stream, length),
            ));
        }
        for index in 0..20 {
            let mut broken = stream.to_vec();
            let at = dice.index(broken.len());
            let bits = dice.bytes(1);
            broken.iter_mut().skip(at).zip(bits).for_each(|(byte, bits)| *byte ^= bits | 1);
            all.push(put(&format!("broken {name} stream {index}"), ARROW, &[], &broken));
            let cut = stream.get(..dice.index(stream.len())).unwrap_or_default();
            all.push(put(&format!("cut {name} stream {index}"), ARROW, &[], cut));
        }
    }
    all.push(put("an Arrow stream of 320 MB in 14 KB", ARROW, &[], BOMB));
    all.push(put("the same 12 times at once", ARROW, &[], BOMB).times(12));
    let gzip = [("content-encoding", "gzip")];
    if let Some(zeros) = gzipped(&vec![b'0'; 200 << 20]) {
        all.push(put("200 MB of zeros as gzip", "text/csv", &gzip, &zeros));
        all.push(put("200 MB of zeros as gzip, 12 at once", "text/csv", &gzip, &zeros).times(12));
    }
    if let Some(rows) = gzipped(many_rows().as_bytes()) {
        all.push(
            put("50 MB of rows as gzip, 16 at once", "application/json", &gzip, &rows).times(16),
        );
    }
    all.push(put("no gzip", "text/csv", &gzip, b"a,b\n1,2\n"));
    let deep = format!("[{{\"a\":{}1{}}}]", "[".repeat(200_000), "]".repeat(200_000));
    let wide: Vec<String> = (0..100_000).map(|index| format!("\"c{index}\":{index}")).collect();
    let wide = format!("[{{{}}}]", wide.join(","));
    let header: Vec<String> = (0..200_000).map(|index| format!("c{index}")).collect();
    let texts = [
        ("deep JSON", "application/json", deep),
        ("100,000 columns", "application/json", wide),
        ("200,000 columns of CSV", "text/csv", format!("{}\n", header.join(","))),
        ("a quote without end", "text/csv", format!("a\n\"{}", "x".repeat(1 << 20))),
        (
            "a number of a megabyte",
            "application/json",
            format!("[{{\"a\":{}}}]", "9".repeat(1 << 20)),
        ),
        (
            "an exponent",
            "application/json",
            "[{\"a\":1e999999999},{\"a\":-1e-999999999}]".to_owned(),
        ),
        (
            "a name of a megabyte",
            "application/json",
            format!("[{{\"{}\":1}}]", "n".repeat(1 << 20)),
        ),
        (
            "names alike",
            "application/json",
            "[{\"a\":1,\"A\":2,\"a \":3,\"\u{430}\":4}]".to_owned(),
        ),
        (
            "system columns",
            "application/json",
            "[{\"row_id\":-1,\"tsd_id\":\"x\",\"insert_timestamp\":0}]".to_owned(),
        ),
        ("nothing", "application/json", String::new()),
        ("an empty list", "application/json", "[]".to_owned()),
        ("a million empty rows", "application/json", format!("[{}{{}}]", "{},".repeat(1_000_000))),
        ("lines without end", "application/x-ndjson", "\n".repeat(1 << 20)),
        (
            "dates",
            "text/csv",
            "t\n9999-99-99\n0000-00-00 00:00:00\n-262144-01-01\n+999999-12-31T23:59:60Z\n"
                .to_owned(),
        ),
        ("half a character", "application/json", "[{\"a\":\"\\ud800\"}]".to_owned()),
        ("the same rows as others", "application/json", model::json(999_999_999)),
    ];
    all.extend(texts.iter().map(|(name, kind, text)| put(name, kind, &[], text.as_bytes())));
    all.push(put("no kind", "application/octet-stream", &[], b"x"));
    all.push(put("a key of 300", "text/csv", &[("idempotency-key", &"k".repeat(300))], b"a\n1\n"));
    all
}

/// A stream whose buffer says that it has another length.
fn with_length(stream: &[u8], length: i64) -> Vec<u8> {
    let mut bytes = stream.to_vec();
    for place in bytes.chunks_exact_mut(8).filter(|place| **place == LENGTH) {
        place.copy_from_slice(&length.to_le_bytes());
    }
    bytes
}

fn many_rows() -> String {
    let rows: Vec<String> =
        (0..600_000).map(|n| format!("{{\"a\":{n},\"b\":\"{n:060}\"}}")).collect();
    format!("[{}]", rows.join(","))
}

/// Compressed by the system's own program, when there is one.
fn gzipped(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut gzip = Command::new("gzip");
    gzip.args(["-1", "-c"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = gzip.spawn().ok()?;
    let mut stdin = child.stdin.take()?;
    let bytes = bytes.to_vec();
    let writer = std::thread::spawn(move || stdin.write_all(&bytes));
    let output = child.wait_with_output().ok()?;
    // One that does not read to its end has failed, which its status says.
    let _ = writer.join();
    output.status.success().then_some(output.stdout)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_length_of_a_buffer_is_changed_in_one_place() {
        for stream in [LZ4, ZSTD] {
            let changed = with_length(stream, 1 << 62);
            let differing = stream.iter().zip(&changed).filter(|(a, b)| a != b).count();
            assert_eq!(changed.len(), stream.len());
            assert!((1..=2).contains(&differing), "{differing}");
        }
    }
}
