//! The line that is typed: editing, completion, blocks of several lines, and history in the user's
//! state folder. Without a place to keep it, history lasts as long as the shell.

use std::path::PathBuf;

use edgemere_command::script;
use rustyline::completion::{Completer, Pair};
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::DefaultHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{CompletionType, Config, Context, Helper};

use super::completion;
use crate::config::state_folder;

const PROMPT: &str = "edgemere> ";

/// How many lines are remembered.
const HISTORY_MAX: usize = 10_000;

/// What was typed.
pub(super) enum Typed {
    /// A line, or a block of several.
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
}

impl Editor {
    /// An editor on the terminal, with the history of the shells before.
    pub(super) fn new() -> rustyline::Result<Self> {
        let config = Config::builder()
            .completion_type(CompletionType::List)
            .max_history_size(HISTORY_MAX)?
            .history_ignore_dups(true)?
            .history_ignore_space(true)
            .build();
        let mut line = rustyline::Editor::with_config(config)?;
        line.set_helper(Some(Assistant));
        let history = history_file();
        if let Some(file) = &history {
            // The first time there is none.
            let _ = line.load_history(file);
        }
        Ok(Self { line, history })
    }

    /// Waits for what is typed.
    pub(super) fn next(&mut self) -> rustyline::Result<Typed> {
        match self.line.readline(PROMPT) {
            Ok(text) => {
                self.remember(&text);
                Ok(Typed::Line(text))
            }
            Err(ReadlineError::Interrupted) => Ok(Typed::Cleared),
            Err(ReadlineError::Eof) => Ok(Typed::Leave),
            Err(error) => Err(error),
        }
    }

    fn remember(&mut self, text: &str) {
        if text.trim().is_empty() || !matches!(self.line.add_history_entry(text), Ok(true)) {
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
struct Assistant;

impl Completer for Assistant {
    type Candidate = Pair;

    fn complete(
        &self,
        line: &str,
        position: usize,
        _context: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<Pair>)> {
        let (start, words) = completion::complete(line.get(..position).unwrap_or(line));
        let pair = |word: &str| Pair { display: word.into(), replacement: format!("{word} ") };
        Ok((start, words.iter().map(|word| pair(word)).collect()))
    }
}

impl Validator for Assistant {
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        Ok(match script::is_complete(context.input()) {
            true => ValidationResult::Valid(None),
            false => ValidationResult::Incomplete,
        })
    }
}

impl Hinter for Assistant {
    type Hint = String;
}

impl Highlighter for Assistant {}

impl Helper for Assistant {}
