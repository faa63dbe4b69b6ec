//! What is wrong with a file of tools, all of it at once, each with its place, the line that it
//! stands on, and the next step.

use std::fmt;

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The file, as it was named.
    pub file: String,
    /// The line, from 1; 0 when it is about the whole file.
    pub line: usize,
    /// The column, from 1, in characters.
    pub column: usize,
    /// How many characters it is about.
    pub length: usize,
    /// What is wrong.
    pub message: String,
    /// The next step.
    pub hint: Option<String>,
    /// The line as it is written.
    pub source: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, line, column, message, .. } = self;
        match line {
            0 => write!(f, "{file}: {message}")?,
            _ => write!(f, "{file}:{line}:{column}: {message}")?,
        }
        if *line > 0 && !self.source.trim().is_empty() {
            self.show_source(f)?;
        }
        match &self.hint {
            Some(hint) => write!(f, "\n  hint: {hint}"),
            None => Ok(()),
        }
    }
}

impl Problem {
    /// The line, and a caret below what is wrong with it.
    fn show_source(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = self.line.to_string();
        // Tabs stay tabs, so that the caret stands where the reader's terminal puts the text.
        let before = self.source.chars().take(self.column.saturating_sub(1));
        let indent: String = before.map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
        let left = self.source.chars().count().saturating_sub(self.column.saturating_sub(1));
        let carets = "^".repeat(self.length.clamp(1, left.max(1)));
        let margin = " ".repeat(number.len());
        write!(f, "\n  {number} | {}\n  {margin} | {indent}{carets}", self.source.trim_end())
    }
}

/// All that is wrong with a file and those that it includes, in the order of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problems(Vec<Problem>);

impl Problems {
    /// All of them, sorted by place; the same is said once.
    pub(crate) fn new(mut problems: Vec<Problem>) -> Self {
        let mut seen = Vec::new();
        problems.retain(|problem| {
            let is_new = !seen.contains(problem);
            if is_new {
                seen.push(problem.clone());
            }
            is_new
        });
        problems.sort_by(|a, b| (&a.file, a.line, a.column).cmp(&(&b.file, b.line, b.column)));
        Self(problems)
    }

    /// One that is about a whole file.
    pub(crate) fn of_file(file: &str, message: &str) -> Self {
        Self(vec![Problem {
            file: file.to_owned(),
            line: 0,
            column: 0,
            length: 0,
            message: message.to_owned(),
            hint: None,
            source: String::new(),
        }])
    }

    /// One after the other.
    pub fn iter(&self) -> impl Iterator<Item = &Problem> {
        self.0.iter()
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.len()
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.0.iter().enumerate() {
            let separator = if index == 0 { "" } else { "\n\n" };
            write!(f, "{separator}{problem}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(line: usize, column: usize, length: usize) -> Problem {
        Problem {
            file: "tools.yaml".into(),
            line,
            column,
            length,
            message: "unknown key \"nmae\"".into(),
            hint: Some("did you mean \"name\"?".into()),
            source: "  - nmae: x".into(),
        }
    }

    #[test]
    fn a_problem_shows_its_line_and_points_at_the_place() {
        let shown = problem(12, 5, 4).to_string();
        let expected = "tools.yaml:12:5: unknown key \"nmae\"\n  12 |   - nmae: x\n     |     ^^^^\n  \
                        hint: did you mean \"name\"?";
        assert_eq!(shown, expected);
    }

    #[test]
    fn a_caret_never_runs_out_of_its_line() {
        assert!(problem(1, 5, 400).to_string().contains("|     ^^^^^^^\n"));
        assert!(problem(1, 90, 0).to_string().contains('^'));
    }

    #[test]
    fn problems_are_told_once_and_in_the_order_of_the_text() {
        let problems = Problems::new(vec![problem(3, 1, 1), problem(1, 1, 1), problem(3, 1, 1)]);
        let lines: Vec<_> = problems.iter().map(|problem| problem.line).collect();
        assert_eq!(lines, [1, 3]);
    }
}
