//! How far an import is: a bar on a terminal, nothing in a pipe.

use std::time::Instant;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::tally::Tally;
use crate::terminal::{self, grouped};

const OF_KNOWN_SIZE: &str =
    "{prefix} [{bar:24}] {percent:>3}%  {bytes} of {total_bytes}, {msg}, {eta} left";
const OF_UNKNOWN_SIZE: &str = "{prefix} {spinner} {bytes}, {msg}";

/// How far the import of a file is.
pub(super) struct Progress {
    bar: ProgressBar,
    start: Instant,
}

impl Progress {
    /// The start of a file, with its size if that is known.
    pub(super) fn new(name: &str, bytes: Option<u64>, is_quiet: bool) -> Self {
        let target = match is_quiet {
            true => ProgressDrawTarget::hidden(),
            false => ProgressDrawTarget::stderr(),
        };
        let bar = ProgressBar::with_draw_target(bytes, target)
            .with_prefix(name.to_owned())
            .with_message("0 rows");
        let template = if bytes.is_some() { OF_KNOWN_SIZE } else { OF_UNKNOWN_SIZE };
        // The templates are ours; without one the bar looks plain.
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("=> "));
        }
        Self { bar, start: Instant::now() }
    }

    /// So much is done.
    pub(super) fn set(&self, bytes: u64, tally: &Tally) {
        let rate = grouped(tally.rate(self.start.elapsed()));
        self.bar.set_message(format!("{} rows, {rate} rows/s", grouped(tally.rows())));
        self.bar.set_position(bytes);
    }

    /// Says a line above the bar.
    pub(super) fn say(&self, line: &str) {
        self.bar.suspend(|| terminal::say(line));
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
