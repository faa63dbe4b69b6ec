//! Hashes of content: EdgeLake's of what is put, and ours of a piece.

use md5::{Digest, Md5};

use super::text::Rows;
use super::{Chunk, ChunkOptions, Format, Source};
use crate::decode::Input;

/// The hash that EdgeLake gives to content put with `mode: file`: the MD5 of the database, the table
/// and every row on a line of its own.
#[must_use]
pub fn content_hash(dbms: &str, table: &str, input: Input, bytes: &[u8]) -> String {
    let start = Md5::new().chain_update(dbms).chain_update(".").chain_update(table);
    let rows = match input {
        Input::Json => json_rows(bytes, start.clone()),
        _ => None,
    };
    hex(rows.unwrap_or_else(|| start.chain_update(bytes)))
}

/// The hash after all rows of a JSON text; none when it is not one.
fn json_rows(bytes: &[u8], mut hash: Md5) -> Option<Md5> {
    let cut = ChunkOptions { rows_max: 1, bytes_max: 1, skip: 0 };
    let source = Source::new(Box::new(std::io::Cursor::new(bytes.to_vec()))).ok()?;
    let mut rows = Rows::new(source, Format::Json, cut, Default::default()).ok()?;
    let mut row = Vec::new();
    while rows.row(&mut row).ok()?.is_some() {
        hash.update(&row);
        hash.update("\n");
        row.clear();
    }
    Some(hash)
}

/// The key of a piece of a file.
pub(super) fn key(piece: &Chunk, file: &str) -> String {
    let hash = Md5::new()
        .chain_update((file.len() as u64).to_le_bytes())
        .chain_update(file)
        .chain_update(piece.first_row.to_le_bytes())
        .chain_update(&piece.body);
    hex(hash)
}

fn hex(hash: Md5) -> String {
    format!("{:032x}", u128::from_be_bytes(hash.finalize().into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The hash that EdgeLake gave to this body.
    #[test]
    fn content_has_the_hash_that_edgelake_gives_it() {
        let row =
            r#"{"timestamp": "2026-02-01T00:00:05Z", "value": 9.5, "device_name": "filemode"}"#;
        let hash =
            |body: &str| content_hash("new_company", "rand_small", Input::Json, body.as_bytes());
        let expected = "4d444298b4ba5dcbe02bfede2a4c1375";
        assert_eq!(hash(&format!("[{row}]")), expected);
        assert_eq!(hash(&format!(" [ {row} ]\n")), expected);
        assert_eq!(hash(row), expected);
        assert_ne!(hash(&format!("[{row}, {row}]")), expected);
        assert_ne!(hash("not json"), hash("not JSON"));
    }

    #[test]
    fn keys_tell_pieces_apart_by_content_place_and_file() {
        let piece = |body: &str, first_row| Chunk {
            input: Input::Csv,
            body: body.into(),
            first_row,
            rows: 1,
            lines: vec![1],
            bytes_read: 0,
        };
        let key = piece("a\n1\n", 1).key("x.csv");
        assert_eq!(key, piece("a\n1\n", 1).key("x.csv"));
        assert_ne!(key, piece("a\n2\n", 1).key("x.csv"));
        assert_ne!(key, piece("a\n1\n", 2).key("x.csv"));
        assert_ne!(key, piece("a\n1\n", 1).key("y.csv"));
    }
}
