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

use crate::Policy;
use crate::entry::{self, Change};
use crate::log::End;
use crate::view::View;

/// What a log holds.
#[derive(Debug, Default)]
pub(crate) struct Scan {
    /// What the entries add up to.
    pub(crate) view: View,
    /// Where each of them begins, in bytes from the start of the file.
    pub(crate) starts: Vec<u64>,
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
                let torn = is_torn(reader, &scan.end, &line)?;
                scan.bad = Some(Bad { reason: reason.to_owned(), torn });
                break;
            }
        }
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
        self.view.apply(change);
        self.starts.push(self.end.length);
        let length = self.end.length + line.len() as u64;
        self.end = End { entries: seq, head, length };
        Ok(())
    }

    /// Asks before the view changes, so that after a refusal it is still what the entries before
    /// add up to.
    fn fits(&self, change: &Change) -> Result<(), String> {
        match change {
            Change::Put(policies) | Change::Send(policies) => have_ids(policies),
            Change::Drop(ids) => self.are_there(ids),
            Change::Follow { drop, put, .. } => self.are_there(drop).and_then(|()| have_ids(put)),
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
fn is_torn(reader: &mut impl BufRead, end: &End, bad: &[u8]) -> io::Result<bool> {
    let at_end = !bad.ends_with(b"\n");
    if end.entries == 0 && !(at_end && entry::is_torn_first(bad)) {
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
