//! Parquet files in pieces: every type that others write comes in, or is refused by name.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
#![allow(clippy::indexing_slicing, reason = "a test that cannot go on should stop")]

mod shown;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, DictionaryArray,
    Float32Array, Int16Array, LargeStringArray, ListArray, RecordBatch, StringArray,
    StringViewArray, StructArray, Time32MillisecondArray, TimestampMicrosecondArray,
    TimestampMillisecondArray, TimestampNanosecondArray, TimestampSecondArray, UInt64Array,
};
use arrow::datatypes::{DataType, Field, Int32Type};
use edgemere_storage::chunking::{Chunk, ChunkOptions, Chunks, Error, Format};
use edgemere_storage::decode::{Limits, decode};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, GzipLevel, ZstdLevel};
use parquet::file::properties::WriterProperties;

const CUT: ChunkOptions = ChunkOptions { rows_max: 1000, bytes_max: 8 << 20, skip: 0 };

fn write(folder: &Path, columns: Vec<(&str, ArrayRef)>, compression: Compression) -> PathBuf {
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let path = folder.join("x.parquet");
    let properties = WriterProperties::builder().set_compression(compression).build();
    let file = std::fs::File::create(&path).unwrap();
    let mut writer = ArrowWriter::try_new(file, batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    path
}

fn pieces(path: &Path, cut: ChunkOptions) -> Result<Vec<Chunk>, Error> {
    Chunks::open(path, Format::Parquet, cut)?.collect()
}

fn numbers(count: i16) -> ArrayRef {
    Arc::new(Int16Array::from_iter_values(0..count))
}

#[test]
fn all_types_come_in() {
    let folder = tempfile::tempdir().unwrap();
    let dictionary: DictionaryArray<Int32Type> = ["on", "off"].into_iter().collect();
    let list = ListArray::from_iter_primitive::<Int32Type, _, _>([Some([Some(1), None]), None]);
    let field = Arc::new(Field::new("x", DataType::Boolean, true));
    let inner: ArrayRef = Arc::new(BooleanArray::from(vec![Some(true), None]));
    let decimal = Decimal128Array::from(vec![150, -1]).with_precision_and_scale(20, 2).unwrap();
    let seconds = TimestampSecondArray::from(vec![1_769_904_000, 0]).with_timezone("+02:00");
    let millis = TimestampMillisecondArray::from(vec![1_769_904_000_001, 0]);
    let micros = TimestampMicrosecondArray::from(vec![1_769_904_000_000_001, 0]);
    let nanos = TimestampNanosecondArray::from(vec![1_769_904_000_000_001_000, 0]);
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("Small", Arc::new(Int16Array::from(vec![Some(1), None]))),
        ("huge", Arc::new(UInt64Array::from(vec![1, u64::MAX]))),
        ("f", Arc::new(Float32Array::from(vec![0.5, 2.0]))),
        ("dec", Arc::new(decimal)),
        ("day", Arc::new(Date32Array::from(vec![0, 20_485]))),
        ("clock", Arc::new(Time32MillisecondArray::from(vec![1, 2]))),
        ("s", Arc::new(seconds)),
        ("ms", Arc::new(millis)),
        ("us", Arc::new(micros.with_timezone("America/New_York"))),
        ("ns", Arc::new(nanos)),
        ("word", Arc::new(dictionary)),
        ("large", Arc::new(LargeStringArray::from(vec!["it's", "é"]))),
        ("view", Arc::new(StringViewArray::from(vec!["a", "longer than twelve bytes"]))),
        ("bytes", Arc::new(BinaryArray::from_vec(vec![b"text", b"too"]))),
        ("list", Arc::new(list)),
        ("object", Arc::new(StructArray::from(vec![(field, inner)]))),
    ];
    let path = write(folder.path(), columns, Compression::SNAPPY);
    let pieces = pieces(&path, CUT).unwrap();
    let [piece] = &pieces[..] else { panic!("{}", pieces.len()) };
    assert_eq!(piece.bytes_read, path.metadata().unwrap().len());
    let decoded = decode(piece.input, &piece.body, None, &Limits::default()).unwrap();
    assert_eq!(
        shown::types(&decoded),
        "small int, huge numeric(38,0), f decimal, dec numeric(20,2), day date, clock time, \
         s timestamptz, ms timestamp, us timestamptz, ns timestamp, word varchar, large varchar, \
         view varchar, bytes bytea, list varchar, object varchar"
    );
    assert_eq!(
        shown::rows(&decoded)[0],
        "1|1|0.5|1.50|1970-01-01|00:00:00.001|2026-02-01T00:00:00Z|2026-02-01T00:00:00.001|\
         2026-02-01T00:00:00.000001Z|2026-02-01T00:00:00.000001|on|it's|a|74657874|[1,null]|{\"x\":true}"
    );
}

#[test]
fn every_compression_is_read() {
    let folder = tempfile::tempdir().unwrap();
    for compression in [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::GZIP(GzipLevel::default()),
        Compression::LZ4,
        Compression::LZ4_RAW,
        Compression::ZSTD(ZstdLevel::default()),
    ] {
        let path = write(folder.path(), vec![("n", numbers(100))], compression);
        let rows: usize = pieces(&path, CUT).unwrap().iter().map(|piece| piece.rows).sum();
        assert_eq!(rows, 100, "{compression:?}");
    }
}

#[test]
fn a_file_is_cut_by_rows_and_by_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path(), vec![("n", numbers(1000))], Compression::UNCOMPRESSED);
    let of = |cut| {
        let pieces = pieces(&path, cut).unwrap();
        pieces.iter().map(|piece| (piece.first_row, piece.rows)).collect::<Vec<_>>()
    };
    assert_eq!(of(ChunkOptions { rows_max: 400, ..CUT }), [(1, 400), (401, 400), (801, 200)]);
    assert_eq!(of(ChunkOptions { rows_max: 400, skip: 700, ..CUT }), [(701, 300)]);
    assert_eq!(of(ChunkOptions { skip: 5000, ..CUT }), []);
    assert!(of(ChunkOptions { bytes_max: 100, ..CUT }).len() > 10);

    // One value says nothing of the others: what is too large after all is halved.
    let long = "x".repeat(6 << 20);
    let texts: Vec<_> = (0..16).map(|n| if n < 8 { "short" } else { long.as_str() }).collect();
    let columns = vec![("text", Arc::new(StringArray::from(texts)) as ArrayRef)];
    let path = write(folder.path(), columns, Compression::SNAPPY);
    let pieces = pieces(&path, ChunkOptions { bytes_max: 1 << 30, ..CUT }).unwrap();
    assert!(pieces.iter().all(|piece| piece.body.len() <= 32 << 20), "{}", pieces.len());
    assert_eq!(pieces.iter().map(|piece| piece.rows).sum::<usize>(), 16);
    assert!(pieces.is_sorted_by_key(|piece| piece.first_row) && pieces.len() > 1);
}

#[test]
fn what_is_no_file_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.parquet");
    std::fs::write(&path, "PAR1 is not enough PAR1").unwrap();
    assert!(matches!(pieces(&path, CUT).unwrap_err(), Error::Parquet { .. }));
    let whole = write(folder.path(), vec![("n", numbers(1000))], Compression::SNAPPY);
    let bytes = std::fs::read(&whole).unwrap();
    for cut in [0, 4, bytes.len() / 2, bytes.len() - 1] {
        std::fs::write(&whole, &bytes[..cut]).unwrap();
        assert!(pieces(&whole, CUT).is_err(), "{cut}");
    }
}
