//! What is imported into what: the file, how its rows are written, and the table that they are for.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::ValueEnum;
use edgemere_storage::chunking::{ChunkOptions, Chunks, Error, Format, Live};

use super::confined;
use crate::failure::Failure;

/// The name that stands for stdin.
pub(super) const STDIN: &str = "-";

const NAME_TABLE_HINT: &str = "name the table with --table NAME";

/// How rows are written, as a flag says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum FormatFlag {
    /// Values with commas between them, after a line of names
    Csv,
    /// A list of objects, one object, or objects one after the other
    Json,
    /// An object a line
    Ndjson,
    /// Parquet
    Parquet,
}

impl From<FormatFlag> for Format {
    fn from(flag: FormatFlag) -> Self {
        match flag {
            FormatFlag::Csv => Self::Csv,
            FormatFlag::Json => Self::Json,
            FormatFlag::Ndjson => Self::Ndjson,
            FormatFlag::Parquet => Self::Parquet,
        }
    }
}

/// A file that is to be imported.
#[derive(Clone, Debug)]
pub(super) struct Target {
    /// The file; none for stdin.
    path: Option<PathBuf>,
    /// The same file opened, where what its path means could change.
    opened: Option<Arc<File>>,
    format: Format,
    /// The table that it goes to.
    pub(super) table: String,
    /// The file's size, where it has one.
    pub(super) bytes: Option<u64>,
}

impl Target {
    /// A file as it was named. It must be there and be readable.
    pub(super) fn new(
        file: &Path,
        table: Option<&str>,
        format: Option<FormatFlag>,
    ) -> Result<Self, Failure> {
        if file.as_os_str() == STDIN {
            return Self::stdin(table, format);
        }
        let name = file.display();
        let refused = |reason: String| Failure::input(format!("cannot read \"{name}\": {reason}"));
        // Opened already now, so that nothing is sent when a later one cannot be.
        let confined = confined::opened(file)?;
        let metadata = match &confined {
            Some(opened) => opened.metadata(),
            None => fs::metadata(file),
        };
        let metadata = metadata.map_err(|error| refused(error.to_string()))?;
        // A pipe is opened once: who writes into it takes the end of the first reader for the end.
        if confined.is_none() && metadata.is_file() {
            File::open(file).map_err(|error| refused(error.to_string()))?;
        }
        if metadata.is_dir() {
            let hint = format!("name the files in it, as {name}/*.csv");
            return Err(refused("it is a folder".into()).with_hint(hint));
        }
        let format = match format.map(Format::from).or_else(|| format_of(file)) {
            Some(format) => format,
            None => {
                let message = format!("cannot tell how the rows of \"{name}\" are written");
                let hint = "say it with --format csv, json, ndjson or parquet";
                return Err(Failure::input(message).with_hint(hint));
            }
        };
        let table = match table.map(String::from).or_else(|| table_of(file)) {
            Some(table) => table,
            None => {
                let message = format!("\"{name}\" gives no name for a table");
                return Err(Failure::input(message).with_hint(NAME_TABLE_HINT));
            }
        };
        let bytes = metadata.is_file().then_some(metadata.len());
        Ok(Self {
            path: Some(file.to_owned()),
            opened: confined.map(Arc::new),
            format,
            table,
            bytes,
        })
    }

    fn stdin(table: Option<&str>, format: Option<FormatFlag>) -> Result<Self, Failure> {
        let Some(format) = format else {
            let message = "what comes on stdin does not say how its rows are written";
            let hint = "say it with --format csv, json or ndjson";
            return Err(Failure::input(message).with_hint(hint));
        };
        if format == FormatFlag::Parquet {
            let message = "Parquet cannot be read from stdin: it begins at its end";
            return Err(Failure::input(message).with_hint("save it to a file first"));
        }
        let Some(table) = table else {
            let message = "what comes on stdin gives no name for a table";
            return Err(Failure::input(message).with_hint(NAME_TABLE_HINT));
        };
        let (format, table) = (format.into(), table.to_owned());
        Ok(Self { path: None, opened: None, format, table, bytes: None })
    }

    /// Whether it comes over time and can be read only once: stdin, or a pipe with a name.
    pub(super) fn is_live(&self) -> bool {
        self.bytes.is_none() && self.format != Format::Parquet
    }

    /// The name that people know it by.
    pub(super) fn name(&self) -> String {
        match &self.path {
            Some(path) => path.display().to_string(),
            None => "stdin".to_owned(),
        }
    }

    /// The file's own name, without its folder.
    pub(super) fn file_name(&self) -> String {
        let name = self.path.as_deref().and_then(Path::file_name);
        name.unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Its pieces; those of what comes over time as `live` says.
    pub(super) fn pieces(&self, cut: ChunkOptions, live: &Live) -> Result<Chunks, Error> {
        let opened = self.opened.as_deref().and_then(confined::path_of);
        match opened.or_else(|| self.path.clone()) {
            Some(path) if self.is_live() => {
                Chunks::of_live(move || File::open(path), self.format, cut, live)
            }
            Some(path) => Chunks::open(&path, self.format, cut),
            None => Chunks::of_live(|| Ok(std::io::stdin()), self.format, cut, live),
        }
    }
}

/// The format that a file's name tells, without what tells that it is compressed.
fn format_of(file: &Path) -> Option<Format> {
    let name = file.file_name()?.to_str()?.to_ascii_lowercase();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    match name.rsplit_once('.')?.1 {
        "csv" => Some(Format::Csv),
        "json" => Some(Format::Json),
        "ndjson" | "jsonl" => Some(Format::Ndjson),
        "parquet" | "pq" => Some(Format::Parquet),
        _ => None,
    }
}

/// The table that a file's name stands for: its part before the first dot, made plain.
fn table_of(file: &Path) -> Option<String> {
    let name = file.file_name()?.to_str()?;
    let stem = name.trim_start_matches('.').split('.').next()?;
    let plain = |char: char| if char.is_ascii_alphanumeric() { char } else { '_' };
    let table: String = stem.chars().map(|char| plain(char.to_ascii_lowercase())).collect();
    let table = table.trim_matches('_').to_owned();
    match table.chars().next() {
        None => None,
        Some(first) if first.is_ascii_digit() => Some(format!("t_{table}")),
        Some(_) => Some(table),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_files_name_tells_the_format_and_the_table() {
        for (name, format, table) in [
            ("pumps.csv", Some(Format::Csv), Some("pumps")),
            ("data/Pump Readings-2026.JSON", Some(Format::Json), Some("pump_readings_2026")),
            ("a.b.ndjson.gz", Some(Format::Ndjson), Some("a")),
            ("x.jsonl", Some(Format::Ndjson), Some("x")),
            ("2026-01.parquet", Some(Format::Parquet), Some("t_2026_01")),
            (".hidden.csv", Some(Format::Csv), Some("hidden")),
            ("README", None, Some("readme")),
            ("größe.txt", None, Some("gr__e")),
            ("日本.csv", Some(Format::Csv), None),
        ] {
            assert_eq!(format_of(Path::new(name)), format, "{name}");
            assert_eq!(table_of(Path::new(name)).as_deref(), table, "{name}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_refused_before_anything_is_sent() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("x.bin");
        let of = |file: &Path, table, format| Target::new(file, table, format).unwrap_err();
        assert!(of(&file, None, None).message.starts_with("cannot read \""));
        assert!(of(folder.path(), None, None).message.ends_with("it is a folder"));
        fs::write(&file, "a\n1\n").unwrap();
        assert!(of(&file, None, None).hint.unwrap().contains("--format"));
        assert!(Target::new(&file, None, Some(FormatFlag::Csv)).is_ok());
        let stdin = Path::new(STDIN);
        assert!(of(stdin, Some("t"), None).hint.unwrap().contains("--format"));
        assert!(of(stdin, None, Some(FormatFlag::Csv)).hint.unwrap().contains("--table"));
        assert!(of(stdin, Some("t"), Some(FormatFlag::Parquet)).message.contains("Parquet"));
        assert!(Target::new(stdin, Some("t"), Some(FormatFlag::Json)).unwrap().is_live());
    }
}
