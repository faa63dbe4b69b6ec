//! How the bytes of a data file are read: whole blocks, each compared with its checksum, at every
//! read, since a disk may change them at any time. A file that is found damaged is marked.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use crate::storage::DataFile;
use crate::storage::Error;

/// How much is read at once of a whole file, in bytes. A multiple of every block.
const PIECE_BYTES: u64 = 1 << 20;

/// An open data file.
#[derive(Debug)]
pub struct Verified {
    file: Arc<DataFile>,
    open: File,
}

impl Verified {
    /// Opens a file. One that is not there, or not as long as it was written, is damaged.
    pub fn open(file: &Arc<DataFile>) -> Result<Self, Error> {
        let open = open(file)?;
        Ok(Self { file: Arc::clone(file), open })
    }

    /// Parts of the file, if they are there without waiting for the disk.
    pub fn at_once(&self, parts: &[Range<u64>]) -> Option<Result<Vec<Bytes>, Error>> {
        let read = |stretch: &Range<u64>| {
            let bytes = at_once(&self.open, stretch).ok_or(None)?;
            self.file.health.count_read(bytes.len());
            Ok(bytes)
        };
        match self.parts(parts, read) {
            Ok(parts) => Some(Ok(parts)),
            Err(Some(error)) => Some(Err(error)),
            Err(None) => None,
        }
    }

    /// Parts of the file. This waits for the disk.
    pub fn read(&self, parts: &[Range<u64>]) -> Result<Vec<Bytes>, Error> {
        let read = |stretch: &Range<u64>| {
            let bytes = read_exactly(&self.file, &self.open, stretch);
            bytes.map_err(|error| Some(self.file.unreadable("read", error)))
        };
        self.parts(parts, read).map_err(|error| error.unwrap_or(Error::Closed))
    }

    /// Reads parts as stretches of whole blocks, and checks these. What the reading fails with is
    /// passed on.
    fn parts(
        &self,
        parts: &[Range<u64>],
        read: impl Fn(&Range<u64>) -> Result<Vec<u8>, Option<Error>>,
    ) -> Result<Vec<Bytes>, Option<Error>> {
        let stretches = self.stretches(parts).map_err(Some)?;
        let mut loaded = Vec::with_capacity(stretches.len());
        for stretch in stretches {
            let bytes = read(&stretch)?;
            self.file.check(stretch.start, &bytes).map_err(Some)?;
            loaded.push((stretch, Bytes::from(bytes)));
        }
        let cut = |part: &Range<u64>| {
            let (stretch, bytes) = loaded.iter().find(|(stretch, _)| is_within(part, stretch))?;
            let from = usize::try_from(part.start - stretch.start).ok()?;
            let to = usize::try_from(part.end - stretch.start).ok()?;
            Some(bytes.slice(from..to))
        };
        let cut = |part: &Range<u64>| cut(part).ok_or_else(|| Some(self.beyond(part)));
        parts.iter().map(cut).collect()
    }

    /// The stretches of whole blocks that parts lie in, in order. Those that touch are one.
    fn stretches(&self, parts: &[Range<u64>]) -> Result<Vec<Range<u64>>, Error> {
        let bytes = self.file.bytes;
        let mut widened = Vec::with_capacity(parts.len());
        for part in parts {
            // What a damaged file says of itself is not believed.
            if part.start > part.end || part.end > bytes {
                return Err(self.beyond(part));
            }
            let checksums = self.file.health.checksums();
            widened.push(checksums.map_or(part.clone(), |sums| sums.widen(part, bytes)));
        }
        widened.sort_unstable_by_key(|stretch| stretch.start);
        let mut stretches: Vec<Range<u64>> = Vec::with_capacity(widened.len());
        for next in widened {
            match stretches.last_mut() {
                Some(last) if next.start <= last.end => last.end = last.end.max(next.end),
                _ => stretches.push(next),
            }
        }
        Ok(stretches)
    }

    fn beyond(&self, part: &Range<u64>) -> Error {
        let Range { start, end } = part;
        let bytes = self.file.bytes;
        self.file.damaged(&format!("it has {bytes} bytes, and {start} to {end} are to be read"))
    }
}

fn is_within(part: &Range<u64>, stretch: &Range<u64>) -> bool {
    stretch.start <= part.start && part.end <= stretch.end
}

/// Reads a whole file a piece at a time, checks each, and passes it on. It stops when that says so,
/// and returns whether it came to the end.
pub(crate) fn read_whole(
    file: &DataFile,
    mut each: impl FnMut(&[u8]) -> bool,
) -> Result<bool, Error> {
    let open = open(file)?;
    let mut start = 0;
    while start < file.bytes {
        let stretch = start..file.bytes.min(start + PIECE_BYTES);
        let bytes =
            read_exactly(file, &open, &stretch).map_err(|error| file.unreadable("read", error))?;
        file.check(start, &bytes)?;
        start = stretch.end;
        if !each(&bytes) {
            return Ok(false);
        }
    }
    Ok(true)
}

fn open(file: &DataFile) -> Result<File, Error> {
    let open = File::open(&file.path).map_err(|error| file.unreadable("open", error))?;
    let metadata = open.metadata().map_err(|error| file.unreadable("open", error))?;
    match metadata.len() == file.bytes {
        true => Ok(open),
        false => Err(file.wrong_length(metadata.len())),
    }
}

fn read_exactly(file: &DataFile, open: &File, stretch: &Range<u64>) -> io::Result<Vec<u8>> {
    let mut bytes = room(stretch)?;
    read_at(file, open, &mut bytes, stretch.start)?;
    file.health.count_read(bytes.len());
    Ok(bytes)
}

/// Reads what the system has in memory; none when that is not all.
fn at_once(open: &File, stretch: &Range<u64>) -> Option<Vec<u8>> {
    let mut bytes = room(stretch).ok()?;
    let (mut rest, mut at) = (bytes.as_mut_slice(), stretch.start);
    while !rest.is_empty() {
        let read = read_at_once(open, rest, at).filter(|read| *read > 0)?;
        rest = rest.get_mut(read..)?;
        at += read as u64;
    }
    Some(bytes)
}

fn room(stretch: &Range<u64>) -> io::Result<Vec<u8>> {
    let length = usize::try_from(stretch.end - stretch.start).map_err(io::Error::other)?;
    Ok(vec![0; length])
}

#[cfg(unix)]
fn read_at(_: &DataFile, open: &File, into: &mut [u8], at: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(open, into, at)
}

/// Elsewhere reading at a place moves the place of the file, which others read too.
#[cfg(not(unix))]
fn read_at(file: &DataFile, _: &File, into: &mut [u8], at: u64) -> io::Result<()> {
    use std::io::{Read, Seek, SeekFrom};

    let mut own = File::open(&file.path)?;
    own.seek(SeekFrom::Start(at))?;
    own.read_exact(into)
}

/// Reads what the system has in memory, and says how much that is.
#[cfg(target_os = "linux")]
fn read_at_once(file: &File, into: &mut [u8], at: u64) -> Option<usize> {
    use rustix::io::{ReadWriteFlags, preadv2};

    preadv2(file, &mut [io::IoSliceMut::new(into)], at, ReadWriteFlags::NOWAIT).ok()
}

/// Other systems do not tell whether they would wait.
#[cfg(not(target_os = "linux"))]
fn read_at_once(_: &File, _: &mut [u8], _: u64) -> Option<usize> {
    None
}
