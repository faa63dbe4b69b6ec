//! What a replay found, counted and told.

use std::fmt;

use crate::replay::{
    compare::Sides, differences::Differences, exchange::Exchange, form::Form, masks::Masks,
};

/// How much of a reply is shown without `--verbose`.
const SHOWN_MAX: usize = 200;

/// The results of a run.
#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(crate) matched: usize,
    /// The ids of the exchanges that differ on purpose.
    pub(crate) deliberate: Vec<String>,
    pub(crate) marked_wrong: usize,
    pub(crate) later: usize,
    /// Exchanges for nodes that this run does not have.
    pub(crate) skipped: usize,
    pub(crate) mismatches: Vec<Mismatch>,
}

/// An exchange that should have matched, and did not.
#[derive(Debug)]
pub(crate) struct Mismatch {
    id: String,
    request: String,
    why: String,
    theirs: String,
    ours: String,
}

impl Mismatch {
    pub(crate) fn new(exchange: &Exchange, why: String, sides: &Sides) -> Self {
        Self {
            theirs: sides.theirs.to_string(),
            ours: sides.ours.to_string(),
            ..Self::without_answer(exchange, why)
        }
    }

    pub(crate) fn with_answer(exchange: &Exchange, why: String, ours: &Form) -> Self {
        Self { ours: ours.to_string(), ..Self::without_answer(exchange, why) }
    }

    pub(crate) fn without_answer(exchange: &Exchange, why: String) -> Self {
        Self {
            id: exchange.id.clone(),
            request: request(exchange),
            why,
            theirs: exchange.reply.clone(),
            ours: String::new(),
        }
    }

    fn print(&self, verbose: bool) {
        let Self { id, request, why, theirs, ours } = self;
        println!("{id}: {why}\n   {request}");
        println!("   theirs: {}\n   ours:   {}", shown(theirs, verbose), shown(ours, verbose));
    }
}

impl Report {
    pub(crate) fn print(&self, differences: &Differences, verbose: bool) {
        for mismatch in &self.mismatches {
            mismatch.print(verbose);
        }
        println!("\nDeliberate differences:");
        for text in &differences.general {
            println!("- everywhere: {text}");
        }
        for entry in &differences.entries {
            let found = |id: &&String| self.deliberate.contains(id);
            let ids: Vec<&str> = entry.ids.iter().filter(found).map(String::as_str).collect();
            if !ids.is_empty() {
                println!("- {}: {}", ids.join(", "), entry.reason);
            }
        }
        if verbose {
            println!("\nNot compared, because it depends on the run:");
            Masks::reasons().for_each(|reason| println!("- {reason}"));
        }
        println!("\n{self}");
    }

    fn compared(&self) -> usize {
        self.matched + self.deliberate.len() + self.mismatches.len()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { matched, marked_wrong, later, skipped, .. } = self;
        let (compared, deliberate) = (self.compared(), self.deliberate.len());
        write!(f, "{matched} of {compared} match, {deliberate} deliberate differences, ")?;
        write!(f, "{marked_wrong} marked wrong and right here, {later} of later steps")?;
        if *skipped > 0 {
            write!(f, ", {skipped} for other nodes")?;
        }
        Ok(())
    }
}

fn request(exchange: &Exchange) -> String {
    let Exchange { node, method, path, .. } = exchange;
    let command = exchange.command().unwrap_or_default();
    format!("{node}: {method} {path} {command}").trim_end().to_owned()
}

/// A reply on one line, cut unless all of it is wanted.
fn shown(reply: &str, verbose: bool) -> String {
    if verbose {
        return format!("{reply:?}").replace("\\n", "\n           ").replace("\\\"", "\"");
    }
    let mut line: String = reply.replace("\r\n", "⏎").replace('\n', "⏎");
    if let Some((end, _)) = line.char_indices().nth(SHOWN_MAX) {
        line.truncate(end);
        line.push('…');
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_is_told_in_one_line() {
        let mut report = Report { matched: 3, marked_wrong: 2, later: 1, ..Report::default() };
        report.deliberate.push("a".to_owned());
        let told = "3 of 4 match, 1 deliberate differences, 2 marked wrong and right here, 1 of later steps";
        assert_eq!(report.to_string(), told);
        report.skipped = 5;
        assert_eq!(report.to_string(), format!("{told}, 5 for other nodes"));
    }

    #[test]
    fn a_long_reply_is_cut_between_characters() {
        assert_eq!(shown("a\r\nb", false), "a⏎b");
        assert_eq!(shown(&"é".repeat(300), false).chars().count(), SHOWN_MAX + 1);
        assert_eq!(shown(&"é".repeat(300), true).chars().count(), 302);
    }
}
