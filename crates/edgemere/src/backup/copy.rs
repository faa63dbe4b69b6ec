//! Copies files durably, with their checksums.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use edgemere_command::Kind;
use edgemere_storage::private;
use sha2::{Digest, Sha256};

use super::Listed;
use crate::failure::Failure;

/// How much is read at once.
const PIECE_BYTES: usize = 1 << 20;

/// Copies at most so many bytes of a file, and returns how many there were, and their checksum. What was
/// written is read again, and compared.
pub(super) fn copy(from: &Path, to: &Path, bytes_max: u64) -> anyhow::Result<(u64, String)> {
    let cannot = || format!("cannot copy \"{}\" to \"{}\"", from.display(), to.display());
    if let Some(above) = to.parent() {
        private::create_dir_all(above).with_context(cannot)?;
    }
    let mut source = File::open(from).with_context(cannot)?.take(bytes_max);
    let mut target = private::create(to).with_context(cannot)?;
    let written = digest(&mut source, |piece| target.write_all(piece)).with_context(cannot)?;
    target.sync_all().with_context(cannot)?;
    let again = checksum(to)?;
    if again != written {
        let message = format!("the copy \"{}\" does not hold what was written", to.display());
        return Err(Failure::new(Kind::Internal, message).with_hint("check the disk").into());
    }
    Ok(written)
}

/// The size and the checksum of a file.
pub(super) fn checksum(path: &Path) -> anyhow::Result<(u64, String)> {
    let cannot = || format!("cannot read \"{}\"", path.display());
    let mut file = File::open(path).with_context(cannot)?;
    digest(&mut file, |_| Ok(())).with_context(cannot)
}

/// Says what is wrong with a file of a backup, if anything is.
pub(super) fn check(path: &Path, listed: &Listed) -> Result<(), String> {
    match checksum(path) {
        Ok((bytes, _)) if bytes != listed.bytes => {
            Err(format!("it has {bytes} bytes, and {} were written", listed.bytes))
        }
        Ok((_, sha256)) if sha256 != listed.sha256 => Err("its checksum is another".to_owned()),
        Ok(_) => Ok(()),
        Err(error) => Err(format!("{error:#}")),
    }
}

fn digest(
    from: &mut impl Read,
    mut each: impl FnMut(&[u8]) -> std::io::Result<()>,
) -> std::io::Result<(u64, String)> {
    let (mut hash, mut bytes) = (Sha256::new(), 0);
    let mut piece = vec![0; PIECE_BYTES];
    loop {
        let length = from.read(&mut piece)?;
        let read = piece.get(..length).unwrap_or_default();
        if read.is_empty() {
            break;
        }
        hash.update(read);
        each(read)?;
        bytes += length as u64;
    }
    let hash: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    Ok((bytes, hash))
}

/// All files below a folder, as paths from there, in order. Links are left out.
pub(super) fn files(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut open = vec![PathBuf::new()];
    while let Some(place) = open.pop() {
        for entry in fs::read_dir(folder.join(&place))? {
            let entry = entry?;
            let (kind, path) = (entry.file_type()?, place.join(entry.file_name()));
            if kind.is_dir() {
                open.push(path);
            } else if kind.is_file() {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Makes the names in a folder durable, and in those below it.
pub(super) fn sync_folders(folder: &Path) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            sync_folders(&entry.path())?;
        }
    }
    File::open(folder)?.sync_all()
}
