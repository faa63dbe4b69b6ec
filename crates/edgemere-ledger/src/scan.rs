//! Reads a log from its beginning: the entries that hold, and the first record that does not.
//!
//! 1. Each line is checked against the chain and applied to a view, until one does not hold.
//! 2. The lines after that one are searched for an intact one. If there is one, something changed
//!    the middle of the file and nothing may be cut on its own; if not, a write was cut short by a
//!    crash.
//!
//! It changes nothing on disk.

use std::io::{self, BufRead};
use std::sync::Arc;

use crate::entry::{self, Change};
use crate::ledger::Base;
use crate::log::End;
use crate::view::View;
use crate::{Policy, Position};

/// What a log holds.
#[derive(Debug, Default)]
pub(crate) struct Scan {
    /// What the entries add up to.
    pub(crate) view: View,
    /// The snapshot that they follow.
    pub(crate) base: Base,
    /// Where each of them begins, in bytes from the start of the file.
    pub(crate) starts: Vec<u64>,
    /// How many lines hold.
    pub(crate) lines: u64,
    /// Whether the last of them is a part of a snapshot, and not its last.
    in_snapshot: bool,
    /// Where they end.
    pub(crate) end: End,
    /// The first record that does not hold, and begins where the entries end.
    pub(crate) bad: Option<Bad>,
}

/// A record that does not hold.
#[derive(Debug)]
pub(crate) struct Bad {
    /// What is wrong with it.
    pub(crate) reason: String,
    /// Whether it is what a crash leaves of the last write, and may be cut.
    pub(crate) torn: bool,
}

/// Why a line is not the next entry.
enum Refused {
    /// The bytes are not what was written.
    Broken(&'static str),
    /// The bytes are what was written, but not by this version, or not after these entries.
    Strange(String),
}

/// Reads a whole log.
pub(crate) fn scan(reader: &mut impl BufRead) -> io::Result<Scan> {
    let mut scan = Scan::default();
    let mut line = Vec::new();
    while next_line(reader, &mut line)? {
        match scan.accept(&line) {
            Ok(()) => {}
            Err(Refused::Strange(reason)) => {
                scan.bad = Some(Bad { reason, torn: false });
                break;
            }
            Err(Refused::Broken(reason)) => {
                let begins_snapshot = || contains(&line, br#""op":"snapshot""#);
                scan.in_snapshot |= scan.lines == 0 && begins_snapshot();
                // A snapshot is there whole or not at all: no crash leaves a part of one.
                let torn = !scan.in_snapshot && is_torn(reader, &scan, &line)?;
                scan.bad = Some(Bad { reason: reason.to_owned(), torn });
                break;
            }
        }
    }
    if scan.in_snapshot && scan.bad.is_none() {
        let reason = "the snapshot at the begin is cut short".to_owned();
        scan.bad = Some(Bad { reason, torn: false });
    }
    Ok(scan)
}

impl Scan {
    fn accept(&mut self, line: &[u8]) -> Result<(), Refused> {
        let (seq, change, head) = check(&self.end.head, line)?;
        if seq != self.end.entries + 1 {
            let reason = format!("the entry has the number {seq}, not {}", self.end.entries + 1);
            return Err(Refused::Strange(reason));
        }
        self.fits(&change).map_err(Refused::Strange)?;
        let start = self.end.length;
        let length = start + line.len() as u64;
        self.end = End { entries: seq, head, length };
        match &change {
            Change::Snapshot(part) => {
                self.in_snapshot = part.rest.is_none();
                self.base.parts.push((start, self.end.head.clone()));
                if let Some(rest) = &part.rest {
                    let Position { entries, head } = rest.end.clone();
                    self.end = End { entries, head: head.clone(), length };
                    (self.base.entries, self.base.head, self.base.length) = (entries, head, length);
                }
            }
            _ => self.starts.push(start),
        }
        self.lines += 1;
        self.view.apply(change);
        Ok(())
    }

    /// Whether the file ends, as far as it holds, inside of a snapshot.
    pub(crate) fn is_in_snapshot(&self) -> bool {
        self.in_snapshot
    }

    /// Asks before the view changes, so that after a refusal it is still what the entries before
    /// add up to.
    fn fits(&self, change: &Change) -> Result<(), String> {
        match change {
            Change::Snapshot(part) if self.in_snapshot || self.lines == 0 => {
                have_ids(&part.policies)
            }
            Change::Snapshot(_) => Err("a snapshot is not at the begin of the file".to_owned()),
            _ if self.in_snapshot => Err("the snapshot at the begin has no end".to_owned()),
            Change::Put(policies) | Change::Send(policies) | Change::Adopt { policies, .. } => {
                have_ids(policies)
            }
            Change::Drop(ids) => self.are_there(ids),
            Change::Follow { drop, put, .. } => self.are_there(drop).and_then(|()| have_ids(put)),
            Change::Network(_) | Change::Promote(_) | Change::Accept => Ok(()),
        }
    }

    fn are_there(&self, ids: &[String]) -> Result<(), String> {
        match ids.iter().find(|id| self.view.get(id).is_none()) {
            None => Ok(()),
            Some(id) => Err(format!("there is no policy \"{id}\" to drop")),
        }
    }
}

fn have_ids(policies: &[Arc<Policy>]) -> Result<(), String> {
    match policies.iter().all(|policy| policy.id().is_some()) {
        true => Ok(()),
        false => Err("a policy has no id".to_owned()),
    }
}

fn check(head: &str, line: &[u8]) -> Result<(u64, Change, String), Refused> {
    let (hash, json) = entry::split(line)
        .ok_or(Refused::Broken("the line is cut short or is not of the form HASH JSON"))?;
    if hash != entry::hash(head, json) {
        return Err(Refused::Broken("the hash does not fit the entry and the one before it"));
    }
    let (seq, change) = entry::decode(json).map_err(Refused::Strange)?;
    Ok((seq, change, hash.to_owned()))
}

/// Whether a bad line is what a crash leaves: nothing intact comes after it, and it is not all
/// there is, unless it looks like the first entry cut short. A file of something else is not
/// emptied.
fn is_torn(reader: &mut impl BufRead, scan: &Scan, bad: &[u8]) -> io::Result<bool> {
    let (end, at_end) = (&scan.end, !bad.ends_with(b"\n"));
    if scan.lines == 0 && !(at_end && entry::is_torn_first(bad)) {
        return Ok(false);
    }
    Ok(!intact_follows(reader, &end.head, bad)?)
}

/// Whether any line after a bad one fits the line before it.
fn intact_follows(reader: &mut impl BufRead, head: &str, bad: &[u8]) -> io::Result<bool> {
    let mut before = Before::of(head, bad);
    let mut line = Vec::new();
    while next_line(reader, &mut line)? {
        if before.fits(&line) {
            return Ok(true);
        }
        before = Before::of(&before.stated, &line);
    }
    Ok(false)
}

/// The hash that a line must be tied to: the one that stands in the line before it, or, as this may
/// be what is damaged, the one that should stand there.
struct Before {
    stated: String,
    computed: Option<String>,
}

impl Before {
    fn of(previous: &str, line: &[u8]) -> Self {
        let (hash, rest) = line.split_at(line.len().min(entry::GENESIS.len()));
        let json = str::from_utf8(rest).ok().and_then(|rest| rest.get(1..)?.strip_suffix('\n'));
        Self {
            stated: String::from_utf8_lossy(hash).into_owned(),
            computed: json.map(|json| entry::hash(previous, json)),
        }
    }

    fn fits(&self, line: &[u8]) -> bool {
        entry::split(line).is_some_and(|(hash, json)| {
            let tied = |before: &str| entry::hash(before, json) == hash;
            tied(&self.stated) || self.computed.as_deref().is_some_and(tied)
        })
    }
}

fn contains(line: &[u8], text: &[u8]) -> bool {
    line.windows(text.len()).any(|window| window == text)
}

fn next_line(reader: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<bool> {
    line.clear();
    Ok(reader.read_until(b'\n', line)? > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PUT: &str = r#"{"seq":1,"time":"t","op":"put","policy":{"device":{"id":"a"}}}"#;

    /// A log of these entries, with hashes that fit.
    fn scan_of(entries: &[&str]) -> Scan {
        let mut head = entry::GENESIS.to_owned();
        let mut log = String::new();
        for json in entries {
            head = entry::hash(&head, json);
            log.push_str(&format!("{head} {json}\n"));
        }
        scan(&mut log.as_bytes()).unwrap()
    }

    #[test]
    fn entries_add_up() {
        let drop = r#"{"seq":2,"time":"t","op":"drop","ids":["a"]}"#;
        assert_eq!(scan_of(&[]).view.len(), 0);
        assert_eq!(scan_of(&[PUT]).view.len(), 1);
        let both = scan_of(&[PUT, drop]);
        assert_eq!((both.view.len(), both.end.entries, both.bad.is_none()), (0, 2, true));
    }

    #[test]
    fn an_entry_that_was_written_but_is_not_understood_is_never_cut() {
        for strange in [
            r#"{"seq":2,"time":"t","op":"merge","ids":["a"]}"#,
            r#"{"seq":2,"time":"t","op":"drop","ids":["a"],"why":"new"}"#,
            r#"{"seq":3,"time":"t","op":"drop","ids":["a"]}"#,
            r#"{"seq":2,"time":"t","op":"drop","ids":["b"]}"#,
            r#"{"seq":2,"time":"t","op":"put","policy":{"device":{}}}"#,
            r#"{"seq":2,"time":"t","op":"put","policy":{}}"#,
            "[]",
        ] {
            let scan = scan_of(&[PUT, strange]);
            assert_eq!((scan.view.len(), scan.end.entries), (1, 1), "{strange}");
            assert!(!scan.bad.unwrap().torn, "{strange}");
        }
    }
}
