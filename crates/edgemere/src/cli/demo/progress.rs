//! How far the demo's start is: a line that changes on a terminal, and a line now and then in a pipe.

use std::cell::Cell;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::terminal::{self, grouped};

const OF_STEPS: &str = "{msg} …";
const OF_ROWS: &str = "storing rows [{bar:24}] {percent:>3}%  {msg}, {eta} left";

/// How far apart lines in a pipe are.
const SAID_APART: Duration = Duration::from_secs(5);

/// The line.
pub(super) struct Progress {
    bar: ProgressBar,
    /// When something was said last, in a pipe.
    said: Cell<Instant>,
}

impl Progress {
    /// The start.
    pub(super) fn new() -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        set_style(&bar, OF_STEPS);
        Self { bar, said: Cell::new(Instant::now()) }
    }

    /// Something is done now.
    pub(super) fn step(&self, what: &str) {
        set_style(&self.bar, OF_STEPS);
        self.bar.set_message(what.to_owned());
        self.bar.tick();
    }

    /// So many rows are stored now.
    pub(super) fn rows(&self, total: u64) {
        self.bar.set_message("0 rows");
        self.bar.set_length(total);
        self.bar.reset();
        set_style(&self.bar, OF_ROWS);
        if self.bar.is_hidden() {
            terminal::say(&format!("Storing {} rows …", grouped(total)));
            self.said.set(Instant::now());
        }
    }

    /// So many more rows are stored.
    pub(super) fn stored(&self, rows: u64) {
        self.bar.inc(rows);
        let stored = grouped(self.bar.position());
        self.bar.set_message(format!("{stored} rows"));
        if self.bar.is_hidden() && self.said.get().elapsed() >= SAID_APART {
            let total = grouped(self.bar.length().unwrap_or_default());
            terminal::say(&format!("{stored} of {total} rows are stored …"));
            self.said.set(Instant::now());
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

fn set_style(bar: &ProgressBar, template: &str) {
    // The templates are ours; without one the line looks plain.
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style.progress_chars("=> "));
    }
}
