//! Files in pieces: the pieces have the rows of the whole, in their order, and know their places.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
#![allow(clippy::indexing_slicing, reason = "a test that cannot go on should stop")]

mod shown;

use std::io::{Read, Write};

use edgemere_storage::chunking::{Chunk, ChunkOptions, Chunks, Error, Format};
use edgemere_storage::decode::{Input, Limits, decode};
use edgemere_storage::schema::{Kind, Schema};
use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;
use serde_json::{Value, json};

fn cut(rows_max: usize) -> ChunkOptions {
    ChunkOptions { rows_max, bytes_max: 1 << 20, skip: 0 }
}

/// A text that comes a few bytes at a time, so that rows and quotes are torn everywhere.
struct Drops {
    text: Vec<u8>,
    at: usize,
    size: usize,
}

impl Read for Drops {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let size = self.size.min(buffer.len()).min(self.text.len() - self.at);
        buffer[..size].copy_from_slice(&self.text[self.at..self.at + size]);
        self.at += size;
        Ok(size)
    }
}

fn pieces_in_drops(
    text: &str,
    format: Format,
    cut: ChunkOptions,
    size: usize,
) -> Result<Vec<Chunk>, Error> {
    Chunks::of_text(Drops { text: text.into(), at: 0, size }, format, cut)?.collect()
}

fn pieces(text: &str, format: Format, cut: ChunkOptions) -> Result<Vec<Chunk>, Error> {
    pieces_in_drops(text, format, cut, 7)
}

fn texts() -> Schema {
    shown::schema(&[("a", Kind::Varchar), ("b", Kind::Varchar)])
}

/// The rows and the rejected rows of an input, with row numbers that begin at one.
fn rows(input: Input, body: &[u8], first_row: u64) -> (Vec<String>, Vec<(u64, String)>) {
    let decoded = decode(input, body, Some(&texts()), &Limits::default()).unwrap();
    let rejected = decoded.rejected.iter();
    let rejected = rejected.map(|row| (first_row + row.row as u64 - 1, row.reason.clone()));
    (shown::rows(&decoded), rejected.collect())
}

/// The same of all pieces together.
fn rows_of(pieces: &[Chunk]) -> (Vec<String>, Vec<(u64, String)>) {
    let mut all = (Vec::new(), Vec::new());
    let mut next = 1;
    for piece in pieces {
        assert_eq!(piece.first_row, next);
        assert!(piece.lines.is_sorted() && piece.lines.len() == piece.rows);
        let (stored, rejected) = rows(piece.input, &piece.body, piece.first_row);
        assert_eq!(stored.len() + rejected.len(), piece.rows, "{piece:?}");
        next += piece.rows as u64;
        all.0.extend(stored);
        all.1.extend(rejected);
    }
    all
}

proptest! {
    /// Quotes, commas and line ends in any order.
    #[test]
    fn a_csv_in_pieces_has_the_rows_of_the_whole(
        text in "[xé1,\"\n\r ]{0,60}", rows_max in 1..5usize, size in 1..9usize,
    ) {
        let text = format!("a,b\n{text}");
        let whole = decode(Input::Csv, text.as_bytes(), Some(&texts()), &Limits::default());
        let cut = pieces_in_drops(&text, Format::Csv, cut(rows_max), size);
        match whole {
            Ok(_) => prop_assert_eq!(rows_of(&cut.unwrap()), rows(Input::Csv, text.as_bytes(), 1)),
            Err(error) => prop_assert!(cut.is_err(), "{text:?}: {error}"),
        }
    }

    #[test]
    fn a_json_list_in_pieces_has_the_rows_of_the_whole(
        values in prop::collection::vec(("[a\"\\\\,\\[\\]{}é\n]{0,6}", any::<Option<i64>>()), 0..12),
        space in "[ \n\r\t]{0,2}", rows_max in 1..5usize, size in 1..9usize,
    ) {
        let row = |(a, b): &(String, Option<i64>)| json!({ "a": a, "b": { "c": [b, a] } });
        let values: Vec<Value> = values.iter().map(row).collect();
        let items: Vec<_> = values.iter().map(ToString::to_string).collect();
        let list = format!("{space}[{space}{}{space}]{space}", items.join(&format!("{space},{space}")));
        let pretty = serde_json::to_string_pretty(&values).unwrap();
        let sequence = items.join(&space);
        for text in [list, pretty, sequence] {
            let cut = pieces_in_drops(&text, Format::Json, cut(rows_max), size).unwrap();
            let bodies = cut.iter().map(|piece| serde_json::from_slice::<Vec<Value>>(&piece.body));
            let found: Vec<Value> = bodies.flat_map(Result::unwrap).collect();
            prop_assert_eq!(&found, &values, "{}", text);
        }
    }

    /// A text is cut when it is JSON to its end, and only then.
    #[test]
    fn what_is_no_json_is_never_cut_to_its_end(
        text in r#"[\[\]{}",:\\1 a\n]{0,16}"#, size in 1..9usize,
    ) {
        let is_list = text.trim_ascii_start().starts_with('[');
        let expected: Result<Vec<Value>, _> = match is_list {
            true => serde_json::from_str(&text),
            false => serde_json::Deserializer::from_str(&text).into_iter().collect(),
        };
        let cut = pieces_in_drops(&text, Format::Json, cut(2), size);
        match (expected, cut) {
            (Ok(values), Ok(pieces)) => {
                prop_assert_eq!(pieces.iter().map(|piece| piece.rows).sum::<usize>(), values.len());
            }
            (Err(_), Err(_)) => {}
            (expected, cut) => prop_assert!(false, "{text:?}: {expected:?} and {cut:?}"),
        }
    }

    #[test]
    fn lines_in_pieces_are_the_lines(
        text in "[{}\"a:1\n\r \\[\\]]{0,60}", rows_max in 1..5usize, size in 1..9usize,
    ) {
        let cut = pieces_in_drops(&text, Format::Ndjson, cut(rows_max), size).unwrap();
        let lines = text.split('\n').enumerate().filter(|(_, line)| !line.trim_ascii().is_empty());
        let expected: Vec<_> = lines.map(|(number, line)| (number as u64 + 1, line.trim_ascii_end())).collect();
        let bodies: String = cut.iter().map(|piece| str::from_utf8(&piece.body).unwrap()).collect();
        let numbers = cut.iter().flat_map(|piece| piece.lines.clone());
        let found: Vec<_> = numbers.zip(bodies.lines()).collect();
        prop_assert_eq!(found, expected);
        rows_of(&cut);
    }
}

#[test]
fn every_csv_piece_has_the_header_and_knows_its_lines() {
    let text = "\u{feff}a,b\r\n1,\"x\ny\"\r\n\r\n2,\"\"\"\n\"\"\"\r\n3,z";
    let pieces = pieces(text, Format::Csv, cut(2)).unwrap();
    let bodies: Vec<_> = pieces.iter().map(|piece| str::from_utf8(&piece.body).unwrap()).collect();
    assert_eq!(bodies, ["a,b\r\n1,\"x\ny\"\r\n2,\"\"\"\n\"\"\"\r\n", "a,b\r\n3,z"]);
    assert_eq!(pieces[0].lines, [2, 5]);
    assert_eq!((pieces[1].first_row, &pieces[1].lines[..]), (3, &[7][..]));
    assert_eq!(pieces[1].place(1), (3, Some(7)));
    assert_eq!(pieces[1].bytes_read, text.len() as u64);
}

#[test]
fn rows_at_the_start_can_be_left_out() {
    for (format, text) in [
        (Format::Csv, "a\n1\n2\n3\n"),
        (Format::Json, "[{\"a\": 1}, {\"a\": 2}, {\"a\": 3}]"),
        (Format::Ndjson, "{\"a\": 1}\n{\"a\": 2}\n{\"a\": 3}"),
    ] {
        let from = |skip| {
            let pieces = pieces(text, format, ChunkOptions { skip, ..cut(10) }).unwrap();
            pieces.first().map(|piece| (piece.first_row, piece.rows))
        };
        assert_eq!([from(0), from(2), from(3), from(9)], [Some((1, 3)), Some((3, 1)), None, None]);
    }
}

#[test]
fn nothing_gives_no_pieces() {
    for (format, text) in [
        (Format::Csv, ""),
        (Format::Csv, "a,b"),
        (Format::Csv, "a,b\r\n\r\n"),
        (Format::Json, " \n"),
        (Format::Json, "[ ]\n"),
        (Format::Ndjson, "\n \r\n"),
    ] {
        assert_eq!(pieces(text, format, cut(1)).unwrap(), [], "{text:?}");
    }
}

#[test]
fn what_is_wrong_is_told_with_its_place() {
    for (format, text, expected) in [
        (Format::Csv, "a\n1\n\"2\n3", "a quote in the row at line 3 is never closed"),
        (Format::Json, "[{\"a\": 1},\n {\"a\" 2}]", "not JSON at line 2, column 7: expected \":\""),
        (Format::Json, "[1,\n]", "not JSON at line 2, column 1: expected a value"),
        (Format::Json, "[1, 2", "not JSON at line 1, column 6: the list is not closed"),
        (Format::Json, "[1,", "not JSON at line 1, column 4: the list is not closed"),
        (Format::Json, "[1]\n2", "not JSON at line 2, column 1: unexpected text after the list"),
        (
            Format::Json,
            "{\"a\": 1}\n{\"a\": ",
            "not JSON at line 2, column 7: the input ends too early",
        ),
    ] {
        assert_eq!(pieces(text, format, cut(1)).unwrap_err().to_string(), expected, "{text}");
    }
    let latin = Chunks::of_text(&b"a\nok\ncaf\xe9\n"[..], Format::Csv, cut(9)).unwrap();
    let error = latin.collect::<Result<Vec<_>, _>>().unwrap_err();
    assert_eq!(error.to_string(), "not UTF-8 at line 3, column 4");
    let endless = format!("a\n\"{}", "x".repeat(17 << 20));
    let error = pieces_in_drops(&endless, Format::Csv, cut(1), 1 << 20).unwrap_err();
    assert_eq!(error.to_string(), "the row at line 2 is longer than 16 MiB");
}

/// What comes before a fault is cut as it would be without it, so that a repaired file goes on where
/// the broken one stopped.
#[test]
fn a_fault_changes_no_piece_before_it() {
    let good = "[1, 2, 3, 4, 5, 6]";
    let before_fault = |text: &str| {
        let pieces = Chunks::of_text(std::io::Cursor::new(text.to_owned()), Format::Json, cut(2));
        let pieces = pieces.unwrap().map_while(Result::ok);
        pieces.map(|piece| piece.key("x.json")).collect::<Vec<_>>()
    };
    assert_eq!(before_fault(good).len(), 3);
    assert_eq!(before_fault("[1, 2, 3, 4, 5, x]"), before_fault(good)[..2]);
}

#[test]
fn a_piece_is_full_with_its_bytes_too() {
    let text = format!("a\n{}", "0123456789\n".repeat(100));
    let few = ChunkOptions { rows_max: 1000, bytes_max: 100, skip: 0 };
    let pieces = pieces(&text, Format::Csv, few).unwrap();
    assert!(pieces.iter().all(|piece| piece.body.len() < 100 + 11), "{}", pieces.len());
    assert_eq!(pieces.iter().map(|piece| piece.rows).sum::<usize>(), 100);
}

#[test]
fn gzip_is_read_as_what_is_in_it() {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(b"a\n1\n2\n").unwrap();
    let bytes = gzip.finish().unwrap();
    let length = bytes.len() as u64;
    let cut_short = bytes[..bytes.len() - 9].to_vec();
    let pieces = Chunks::of_text(std::io::Cursor::new(bytes), Format::Csv, cut(9)).unwrap();
    let pieces: Vec<_> = pieces.collect::<Result<_, _>>().unwrap();
    assert_eq!((pieces[0].rows, pieces[0].bytes_read), (2, length));
    let torn = Chunks::of_text(std::io::Cursor::new(cut_short), Format::Csv, cut(9));
    assert!(torn.and_then(Iterator::collect::<Result<Vec<_>, _>>).is_err());
}
