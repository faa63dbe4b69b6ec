//! How far the demo's start is: a line on a terminal, nothing in a pipe.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::terminal::grouped;

const OF_STEPS: &str = "{msg} …";
const OF_ROWS: &str = "storing rows [{bar:24}] {percent:>3}%  {msg}, {eta} left";

/// The line.
pub(super) struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// The start.
    pub(super) fn new() -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        set_style(&bar, OF_STEPS);
        Self { bar }
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
    }

    /// So many more rows are stored.
    pub(super) fn stored(&self, rows: u64) {
        self.bar.inc(rows);
        self.bar.set_message(format!("{} rows", grouped(self.bar.position())));
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
