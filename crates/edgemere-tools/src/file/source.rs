//! The text of one file, and the places in it.

use std::ops::Range;

use crate::problem::Problem;

/// The text of a file, under the name that it is reported by.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) name: String,
    pub(crate) text: String,
    /// Whether it comes with Edgemere: that it is right is proven by a test, and not again by every node
    /// that starts.
    pub(crate) is_proven: bool,
}

/// A place, in lines and columns from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) line: usize,
    pub(crate) column: usize,
    pub(crate) length: usize,
}

impl Source {
    /// The place of a range of characters: its first line of it.
    pub(crate) fn place(&self, range: &Range<usize>) -> Place {
        let (mut line, mut column) = (1, 1);
        for character in self.text.chars().take(range.start) {
            match character {
                '\n' => (line, column) = (line + 1, 1),
                _ => column += 1,
            }
        }
        let rest = self.text.chars().skip(range.start).take(range.len());
        let length = rest.take_while(|character| *character != '\n').count().max(1);
        Place { line, column, length }
    }

    /// A part of the text, in characters.
    pub(crate) fn part(&self, range: &Range<usize>) -> String {
        self.text.chars().skip(range.start).take(range.len()).collect()
    }

    /// Something that is wrong at a range of characters.
    pub(crate) fn problem(&self, range: &Range<usize>, message: String) -> Problem {
        let Place { line, column, length } = self.place(range);
        let source = self.text.lines().nth(line - 1).unwrap_or_default().to_owned();
        let file = self.name.clone();
        Problem { file, line, column, length, message, hint: None, source }
    }

    /// Something that is wrong with the whole file.
    pub(crate) fn problem_of_file(name: &str, message: String, hint: Option<String>) -> Problem {
        let file = name.to_owned();
        Problem { file, line: 0, column: 0, length: 0, message, hint, source: String::new() }
    }
}

impl Problem {
    /// The same with a next step.
    pub(crate) fn with_hint(self, hint: Option<String>) -> Self {
        Self { hint, ..self }
    }
}
