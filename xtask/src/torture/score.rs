//! What a part of the run tried, and how it ended. Any number of threads count in one score.

use std::{
    fmt::Write,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

/// How many violations of one part are reported in full.
const TOLD_MAX: usize = 12;

/// What must never be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// What was acknowledged is gone.
    Lost,
    /// An answer, or a row of it, that is not what was stored.
    Wrong,
    /// An answer that is without some rows and says nothing of it.
    Short,
    /// A node that ended, was out of its memory, or answers no more.
    Died,
}

/// One of them, and how to see it again.
#[derive(Clone, Debug)]
pub(super) struct Violation {
    pub(super) fault: Fault,
    pub(super) what: String,
}

/// The counts of a part.
#[derive(Default)]
pub(super) struct Score {
    tried: AtomicU64,
    right: AtomicU64,
    refused: AtomicU64,
    stops: Mutex<Vec<Duration>>,
    violations: Mutex<Vec<Violation>>,
    notes: Mutex<Vec<String>>,
}

impl Score {
    /// One more thing was thrown at the nodes.
    pub(super) fn tried(&self) {
        self.tried.fetch_add(1, Ordering::SeqCst);
    }

    /// An answer was right.
    pub(super) fn right(&self) {
        self.right.fetch_add(1, Ordering::SeqCst);
    }

    /// An honest error, or an answer that names what is missing.
    pub(super) fn refused(&self) {
        self.refused.fetch_add(1, Ordering::SeqCst);
    }

    /// Work ended so long after it was to end: at its deadline, or when it was cancelled.
    pub(super) fn stopped(&self, late: Duration) {
        locked(&self.stops).push(late);
    }

    /// How late the latest end was, of how many; nothing where nothing had to be stopped.
    fn latest_stop(&self) -> String {
        let stops = locked(&self.stops);
        match stops.iter().max() {
            Some(latest) => format!("{:.2} s of {}", latest.as_secs_f64(), stops.len()),
            None => "–".to_owned(),
        }
    }

    pub(super) fn violation(&self, fault: Fault, what: impl Into<String>) {
        let violation = Violation { fault, what: what.into() };
        println!("   {:?}: {}", violation.fault, shortened(&violation.what, 240));
        locked(&self.violations).push(violation);
    }

    /// Something that a reader of the table should know, as what could not be tried here.
    pub(super) fn note(&self, note: impl Into<String>) {
        let note = note.into();
        println!("   note: {note}");
        locked(&self.notes).push(note);
    }

    pub(super) fn count(&self, fault: Fault) -> usize {
        locked(&self.violations).iter().filter(|violation| violation.fault == fault).count()
    }

    pub(super) fn is_clean(&self) -> bool {
        locked(&self.violations).is_empty()
    }

    pub(super) fn tries(&self) -> u64 {
        self.tried.load(Ordering::SeqCst)
    }
}

/// A part that has ended.
pub(super) struct Line {
    pub(super) part: &'static str,
    pub(super) about: &'static str,
    pub(super) time: Duration,
    pub(super) score: Score,
}

const FAULTS: [Fault; 4] = [Fault::Lost, Fault::Wrong, Fault::Short, Fault::Died];

/// The table of a run, in Markdown, which is easy enough to read on a terminal.
pub(super) fn table(lines: &[Line]) -> String {
    let mut text = String::from(
        "| part | what | tried | right | refused | lost | wrong | short but \"complete\" | died | latest stop | seconds |\n\
         |---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n",
    );
    for Line { part, about, time, score } in lines {
        let counts = FAULTS.map(|fault| score.count(fault).to_string()).join(" | ");
        let (right, refused) =
            (score.right.load(Ordering::SeqCst), score.refused.load(Ordering::SeqCst));
        // Writing to a text does not fail.
        let _ = writeln!(
            text,
            "| `{part}` | {about} | {} | {right} | {refused} | {counts} | {} | {:.0} |",
            score.tries(),
            score.latest_stop(),
            time.as_secs_f64(),
        );
    }
    text
}

/// What was violated and what could not be tried, with the way to see it again.
pub(super) fn told(lines: &[Line], seed: u64) -> String {
    let mut text = String::new();
    for Line { part, score, .. } in lines {
        for note in locked(&score.notes).iter() {
            let _ = writeln!(text, "{part}: {note}");
        }
        let violations = locked(&score.violations);
        for (index, violation) in violations.iter().take(TOLD_MAX).enumerate() {
            let what = shortened(&violation.what, 1000);
            let _ = writeln!(text, "{part} {}: {:?}: {what}", index + 1, violation.fault);
        }
        if violations.len() > TOLD_MAX {
            let _ = writeln!(text, "{part}: … and {} more", violations.len() - TOLD_MAX);
        }
        if !violations.is_empty() {
            let _ =
                writeln!(text, "{part}: again: `cargo xtask torture --seed {seed} --only {part}`");
        }
    }
    text
}

/// At most so many characters of a text.
pub(super) fn shortened(text: &str, max: usize) -> String {
    match text.char_indices().nth(max) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_a_line_for_each_part_and_counts_each_fault() {
        let score = Score::default();
        (0..3).for_each(|_| score.tried());
        score.right();
        score.refused();
        score.violation(Fault::Short, "1 of 2");
        assert_eq!(score.latest_stop(), "–");
        for ms in [250, 1250, 500] {
            score.stopped(Duration::from_millis(ms));
        }
        let line = Line { part: "kills", about: "kill -9", time: Duration::from_secs(2), score };
        assert!(!line.score.is_clean());
        let text = table(std::slice::from_ref(&line));
        assert!(
            text.ends_with("| `kills` | kill -9 | 3 | 1 | 1 | 0 | 0 | 1 | 0 | 1.25 s of 3 | 2 |\n"),
            "{text}"
        );
        let told = told(&[line], 9);
        assert!(told.contains("kills 1: Short: 1 of 2"), "{told}");
        assert!(told.contains("cargo xtask torture --seed 9 --only kills"), "{told}");
    }

    #[test]
    fn long_texts_are_cut_between_characters() {
        assert_eq!(shortened("äöü", 2), "äö…");
        assert_eq!(shortened("äö", 2), "äö");
    }
}
