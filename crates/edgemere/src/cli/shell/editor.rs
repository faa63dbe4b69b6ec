//! The line that is typed: editing, completion, and history in the user's state folder. Without a place to
//! keep it, history lasts as long as the shell.

use std::path::PathBuf;

use rustyline::completion::{Completer, Pair};
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::DefaultHistory;
use rustyline::validate::Validator;
use rustyline::{CompletionType, Config, Context, Helper};

use super::catalog::Catalog;
use super::{completion, meta, sql_completion, statements};
use crate::config::state_folder;

/// How many lines are remembered.
const HISTORY_MAX: usize = 10_000;

/// What was typed.
pub(super) enum Typed {
    /// A line, or several that were pasted.
    Line(String),
    /// Ctrl-C: what was begun is forgotten.
    Cleared,
    /// Ctrl-D.
    Leave,
}

/// Reads what is typed.
pub(super) struct Editor {
    line: rustyline::Editor<Assistant, DefaultHistory>,
    history: Option<PathBuf>,
    /// The lines of what is being typed, which are remembered as one.
    typed: Vec<String>,
}

impl Editor {
    /// An editor on the terminal, with the history of the shells before.
    pub(super) fn new(catalog: Catalog) -> rustyline::Result<Self> {
        let config = Config::builder()
            .completion_type(CompletionType::List)
            .max_history_size(HISTORY_MAX)?
            .history_ignore_dups(true)?
            .history_ignore_space(true)
            .build();
        let mut line = rustyline::Editor::with_config(config)?;
        line.set_helper(Some(Assistant { catalog, open: String::new(), dbms: None }));
        let history = history_file();
        if let Some(file) = &history {
            // The first time there is none.
            let _ = line.load_history(file);
        }
        Ok(Self { line, history, typed: Vec::new() })
    }

    /// Waits for a line, after those that are open.
    pub(super) fn next(
        &mut self,
        prompt: &str,
        open: &str,
        dbms: Option<&str>,
    ) -> rustyline::Result<Typed> {
        if let Some(assistant) = self.line.helper_mut() {
            open.clone_into(&mut assistant.open);
            assistant.dbms = dbms.map(ToOwned::to_owned);
        }
        match self.line.readline(prompt) {
            Ok(text) => {
                self.typed.push(text.clone());
                Ok(Typed::Line(text))
            }
            Err(ReadlineError::Interrupted) => {
                self.typed.clear();
                Ok(Typed::Cleared)
            }
            Err(ReadlineError::Eof) => Ok(Typed::Leave),
            Err(error) => Err(error),
        }
    }

    /// Remembers what was typed since it was last remembered.
    pub(super) fn remember(&mut self) {
        let text = std::mem::take(&mut self.typed).join("\n");
        let text = text.trim_end();
        if text.is_empty() || !matches!(self.line.add_history_entry(text), Ok(true)) {
            return;
        }
        if let Some(file) = &self.history {
            // A history that cannot be kept is no reason to stop.
            let _ = self.line.append_history(file);
        }
    }
}

fn history_file() -> Option<PathBuf> {
    let folder = state_folder()?;
    std::fs::create_dir_all(&folder).ok()?;
    Some(folder.join("history"))
}

/// What helps while typing.
struct Assistant {
    catalog: Catalog,
    /// The lines before.
    open: String,
    dbms: Option<String>,
}

impl Assistant {
    /// Where the word at the end of a line begins, and what it can become.
    fn candidates(&self, line: &str, position: usize) -> (usize, Vec<(String, &'static str)>) {
        let text = line.get(..position).unwrap_or(line);
        let statement = format!("{}\n{line}", self.open);
        let dbms = self.dbms.as_deref();
        let first = text.split_whitespace().next().unwrap_or_default().to_lowercase();
        let has_more = text.trim_start().contains(char::is_whitespace);
        let (start, found) = match first.as_str() {
            "use" | "\\c" | "\\use" if has_more => sql_completion::databases(text, &self.catalog),
            "\\d" if has_more => sql_completion::tables(text, dbms, &self.catalog),
            _ if statements::is_sql(&statement) => {
                sql_completion::complete(text, &statement, dbms, &self.catalog)
            }
            _ => return self.words(text, &first, has_more),
        };
        (start, found.into_iter().map(|one| (one.word, one.end)).collect())
    }

    /// The words of commands, and at the beginning those that SQL and the shell's own begin with.
    fn words(
        &self,
        text: &str,
        first: &str,
        has_more: bool,
    ) -> (usize, Vec<(String, &'static str)>) {
        const BEGINNINGS: [&str; 6] = ["describe", "explain", "select", "show", "use", "with"];
        let (start, words) = completion::complete(text);
        let mut words: Vec<_> = words.into_iter().map(|word| (word.to_owned(), " ")).collect();
        if !has_more && self.open.is_empty() {
            let own = BEGINNINGS.iter().chain(&meta::NAMES).filter(|word| word.starts_with(first));
            words.extend(own.map(|word| ((*word).to_owned(), " ")));
        }
        (start, words)
    }
}

impl Completer for Assistant {
    type Candidate = Pair;

    fn complete(
        &self,
        line: &str,
        position: usize,
        _context: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<Pair>)> {
        let (start, words) = self.candidates(line, position);
        let pair = |(word, end): (String, &str)| Pair {
            replacement: format!("{word}{end}"),
            display: word,
        };
        Ok((start, words.into_iter().map(pair).collect()))
    }
}

impl Validator for Assistant {}

impl Hinter for Assistant {
    type Hint = String;
}

impl Highlighter for Assistant {}

impl Helper for Assistant {}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(open: &str, line: &str) -> Vec<String> {
        let catalog =
            Catalog::fixed(&[("water", "pumps")], &[("water", "pumps", &["pressure", "pump"])]);
        let assistant = Assistant { catalog, open: open.into(), dbms: Some("water".into()) };
        let (_, found) = assistant.candidates(line, line.len());
        found.into_iter().map(|(word, end)| format!("{word}{end}")).collect()
    }

    #[test]
    fn each_beginning_has_its_own_words() {
        assert_eq!(words("", "use w"), ["water"]);
        assert_eq!(words("", "\\d p"), ["pumps"]);
        assert_eq!(words("", "get sta"), ["status "]);
        assert_eq!(words("", "sel"), ["select "]);
        assert_eq!(words("", "\\ti"), ["\\timeout ", "\\timing "]);
        assert_eq!(words("", "select count(*) from pu"), ["pumps "]);
    }

    #[test]
    fn the_lines_before_count() {
        assert_eq!(words("select count(*)\nfrom pumps", "where pres"), ["pressure "]);
        assert_eq!(words("select *", "from pu"), ["pumps "]);
    }
}
