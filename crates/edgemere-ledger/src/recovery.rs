//! From a folder to the state of a ledger: reads the log and, when a crash cut its last write
//! short, cuts the rest off.
//!
//! Damage in the middle is an error; `repair` is the only way to cut intact entries, and a person
//! must ask for it.

use std::path::{Path, PathBuf};

use crate::Error;
use crate::folder::Folder;
use crate::scan::{Bad, Scan, scan};

/// What opening a ledger found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recovery {
    /// How many entries were read.
    pub entries: u64,
    /// How many policies live after them.
    pub policies: usize,
    /// What was cut from the end of the file; `None` when nothing was.
    pub cut: Option<Cut>,
}

/// What was cut from the end of a ledger's file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    /// The line where the cut begins, from 1.
    pub line: u64,
    /// Where that line begins, in bytes from the start of the file.
    pub offset: u64,
    /// How many bytes were cut.
    pub bytes: u64,
    /// The file that the bytes were saved to before.
    pub saved: PathBuf,
    /// What is wrong with the first record that was cut.
    pub reason: String,
}

/// Cuts a damaged ledger: keeps the entries before the first bad record and saves the rest to
/// `ledger.cut-…`.
///
/// A ledger without damage is left as it is.
pub fn repair(folder: &Path) -> Result<Recovery, Error> {
    let folder = Folder::lock(folder)?;
    let mut scan = scan_log(&folder)?;
    let cut = match scan.bad.take() {
        None => None,
        // What is left of a snapshot is no history.
        Some(bad) if scan.is_in_snapshot() => return Err(corrupt(&folder, &scan, bad)),
        Some(bad) => Some(cut(&folder, &scan, bad)?),
    };
    Ok(recovery(&scan, cut))
}

/// Reads the log of a folder, and cuts off what a crash left of the last write.
pub(crate) fn recover(folder: &Folder) -> Result<(Scan, Recovery), Error> {
    let mut scan = scan_log(folder)?;
    let cut = match scan.bad.take() {
        None => None,
        Some(bad) if bad.torn => Some(cut(folder, &scan, bad)?),
        Some(bad) => return Err(corrupt(folder, &scan, bad)),
    };
    let recovery = recovery(&scan, cut);
    Ok((scan, recovery))
}

/// Reads the log of a folder.
pub(crate) fn scan_log(folder: &Folder) -> Result<Scan, Error> {
    scan(&mut folder.read_log()?).map_err(|error| Error::io("read", folder.log(), error))
}

/// The error for a bad record that may not be cut.
pub(crate) fn corrupt(folder: &Folder, scan: &Scan, bad: Bad) -> Error {
    Error::Corrupt {
        file: folder.log().to_owned(),
        line: scan.lines + 1,
        offset: scan.end.length,
        entries: scan.end.entries,
        reason: bad.reason,
    }
}

fn recovery(scan: &Scan, cut: Option<Cut>) -> Recovery {
    Recovery { entries: scan.end.entries, policies: scan.view.len(), cut }
}

fn cut(folder: &Folder, scan: &Scan, bad: Bad) -> Result<Cut, Error> {
    let (line, offset) = (scan.lines + 1, scan.end.length);
    let (saved, bytes) = folder.cut_log(line, offset)?;
    tracing::warn!(
        log = %folder.log().display(),
        line,
        offset,
        bytes,
        saved = %saved.display(),
        reason = bad.reason,
        "the end of the ledger did not hold and was cut"
    );
    Ok(Cut { line, offset, bytes, saved, reason: bad.reason })
}
