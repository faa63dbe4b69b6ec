//! Lines to statements: SQL goes on until its `;`, an empty line, or a line that begins something else after
//! SQL that is whole. Every other command is a line, or a block `< … >` of several.

use edgemere_command::script;
use edgemere_query::sql;

/// Something to do, and the line where it begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Statement {
    pub(super) text: Text,
    pub(super) line: usize,
}

/// What a statement is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Text {
    /// SQL, without its `;`.
    Sql(String),
    /// `use DATABASE`.
    Use(String),
    /// `\name argument`.
    Shell(String),
    /// `exit` or `quit`.
    Leave,
    /// A command of the node.
    Command(String),
}

/// The words that SQL begins with. No command of a node begins with one of them.
const SQL_WORDS: [&str; 7] = ["select", "with", "show", "describe", "desc", "explain", "values"];

/// Takes lines and gives statements.
#[derive(Debug, Default)]
pub(super) struct Statements {
    open: String,
    /// The line where what is open begins, and the one that was taken last.
    begun: usize,
    line: usize,
}

impl Statements {
    /// What has begun and not ended.
    pub(super) fn open(&self) -> &str {
        &self.open
    }

    /// Forgets what has begun.
    pub(super) fn clear(&mut self) {
        self.open.clear();
    }

    /// Takes a line, and gives what has ended with it.
    pub(super) fn push(&mut self, line: &str) -> Vec<Statement> {
        self.line += 1;
        let mut ended = Vec::new();
        if is_sql(&self.open) && (line.trim().is_empty() || is_next(&self.open, line)) {
            ended.extend(self.take());
        }
        if self.open.is_empty() {
            self.begun = self.line;
        } else {
            self.open.push('\n');
        }
        self.open.push_str(line);
        loop {
            let open = self.open.trim_start();
            if open.is_empty()
                || open.starts_with('#')
                || open.starts_with("--") && !open.contains('\n')
            {
                self.open.clear();
                return ended;
            }
            if is_sql(open) || is_use(open) {
                let Some(end) = end_of_sql(open) else {
                    if is_use(open) {
                        ended.extend(self.take());
                    }
                    return ended;
                };
                let (text, rest) = (open.get(..end).unwrap_or(open), open.get(end + 1..));
                let (text, rest) = (text.to_owned(), rest.unwrap_or_default().to_owned());
                self.open = text;
                ended.extend(self.take());
                self.begun = self.line;
                self.open = rest;
                continue;
            }
            if script::is_complete(open) {
                ended.extend(self.take());
            }
            return ended;
        }
    }

    /// What is open, as if it had ended.
    pub(super) fn take(&mut self) -> Option<Statement> {
        let open = std::mem::take(&mut self.open);
        let text = open.trim();
        let (line, word) = (self.begun, first_word(text));
        let text = match word.as_str() {
            _ if text.is_empty() => return None,
            _ if text.starts_with('\\') => {
                Text::Shell(text.trim_end_matches(';').trim().to_owned())
            }
            _ if is_sql(text) => Text::Sql(text.to_owned()),
            "use" if is_use(text) => Text::Use(text.get(3..).unwrap_or_default().trim().to_owned()),
            _ => match text.trim_end_matches(';').trim() {
                "" => return None,
                text if ["exit", "quit"].contains(&text.to_lowercase().as_str()) => Text::Leave,
                text => Text::Command(text.to_owned()),
            },
        };
        Some(Statement { text, line })
    }
}

/// Whether a text begins as SQL does.
pub(super) fn is_sql(text: &str) -> bool {
    let text = text.trim_start();
    let word = first_word(text);
    // A variable of that name is given a value: `desc = pump 1`.
    let is_assignment =
        text.get(word.len()..).is_some_and(|rest| rest.trim_start().starts_with('='));
    (SQL_WORDS.contains(&word.as_str()) && !is_assignment) || text.starts_with('(')
}

fn is_use(text: &str) -> bool {
    let rest = text.trim_start().get(3..).unwrap_or_default();
    first_word(text) == "use" && !rest.trim_start().starts_with('=')
}

fn first_word(text: &str) -> String {
    let text = text.trim_start();
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len());
    text.get(..end).unwrap_or_default().to_lowercase()
}

/// Whether a line begins another statement after SQL without a `;`: the SQL is whole, and the line is
/// something of its own.
fn is_next(open: &str, line: &str) -> bool {
    let begins = line.trim_start().starts_with('\\')
        || is_sql(line)
        || is_use(line)
        || edgemere_command::parse(line.trim().trim_end_matches(';')).is_ok();
    begins
        && !matches!(sql::template::check(open), Err(sql::Error::Syntax { .. } | sql::Error::Empty))
}

/// Where the first `;` is that ends SQL: not in quotes, and not in a comment.
fn end_of_sql(text: &str) -> Option<usize> {
    let mut characters = text.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        let next = characters.peek().map(|(_, next)| *next);
        match (character, next) {
            (';', _) => return Some(at),
            ('\'' | '"' | '`', _) => {
                characters.find(|(_, c)| *c == character)?;
            }
            ('-', Some('-')) => {
                characters.find(|(_, c)| *c == '\n')?;
            }
            ('/', Some('*')) => {
                characters.next();
                let mut before = ' ';
                characters.find(|(_, c)| {
                    let is_end = before == '*' && *c == '/';
                    before = *c;
                    is_end
                })?;
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The statements of a script, with the lines where they begin.
    fn of(script: &str) -> Vec<(usize, Text)> {
        let mut statements = Statements::default();
        let mut found: Vec<_> = script.lines().flat_map(|line| statements.push(line)).collect();
        found.extend(statements.take());
        found.into_iter().map(|statement| (statement.line, statement.text)).collect()
    }

    fn sql(text: &str) -> Text {
        Text::Sql(text.into())
    }

    fn command(text: &str) -> Text {
        Text::Command(text.into())
    }

    #[test]
    fn sql_goes_on_until_its_end() {
        assert_eq!(of("select 1;"), [(1, sql("select 1"))]);
        assert_eq!(of("select\n  1\n;"), [(1, sql("select\n  1"))]);
        assert_eq!(
            of("SELECT ';' as \"a;b\" -- ;\n, 2 /* ; */;"),
            [(1, sql("SELECT ';' as \"a;b\" -- ;\n, 2 /* ; */"))]
        );
        assert_eq!(of("select 1; select 2;"), [(1, sql("select 1")), (1, sql("select 2"))]);
        assert_eq!(
            of("use water; select 1"),
            [(1, Text::Use("water".into())), (1, sql("select 1"))]
        );
        assert_eq!(
            of("select 'it''s;' ;\nget status"),
            [(1, sql("select 'it''s;'")), (2, command("get status"))]
        );
        assert_eq!(of(";;\n;"), []);
    }

    #[test]
    fn without_a_semicolon_the_next_statement_ends_it() {
        let two = [(1, sql("select 1")), (2, sql("select 2"))];
        assert_eq!(of("select 1\nselect 2\n"), two);
        assert_eq!(of("select 1\n\nselect 2"), [(1, sql("select 1")), (3, sql("select 2"))]);
        let union = "select 1\nunion all\nselect 2";
        assert_eq!(of(union), [(1, sql(union))]);
        let with = "with x as (select 1 as a)\nselect a\nfrom x\nwhere a in (\nselect 1)";
        assert_eq!(of(with), [(1, sql(with))]);
        assert_eq!(
            of("select 1\nget status\n\\dt\nuse d"),
            [
                (1, sql("select 1")),
                (2, command("get status")),
                (3, Text::Shell("\\dt".into())),
                (4, Text::Use("d".into())),
            ]
        );
    }

    #[test]
    fn commands_are_lines_and_blocks() {
        assert_eq!(
            of("# a comment\n-- another\n\na = 1\n<b =\n  two>\nget !a;"),
            [(4, command("a = 1")), (5, command("<b =\n  two>")), (7, command("get !a")),]
        );
        assert_eq!(of("print a;b"), [(1, command("print a;b"))]);
        assert_eq!(of("exit\nQUIT;"), [(1, Text::Leave), (2, Text::Leave)]);
        assert_eq!(of("exit node"), [(1, command("exit node"))]);
        for assignment in ["user = 1", "use = 1", "desc = pump 1", "show=a"] {
            assert_eq!(of(assignment), [(1, command(assignment))]);
        }
    }
}
