//! The place in a statement that a failure is about, as far as its message tells: a line and a column, or a
//! name in double quotes.

use edgemere_command::Span;

/// The place, in characters.
pub(in crate::cli) fn place(message: &str, sql: &str) -> Option<Span> {
    position(message, sql).or_else(|| name(message, sql))
}

/// `… at line 1, column 8 …`
fn position(message: &str, sql: &str) -> Option<Span> {
    let (_, after) = message.rsplit_once(" at line ")?;
    let (line, after) = after.split_once(", column ")?;
    let column: String = after.chars().take_while(char::is_ascii_digit).collect();
    let (line, column): (usize, usize) = (line.parse().ok()?, column.parse().ok()?);
    let before: usize = sql.lines().take(line.checked_sub(1)?).map(|l| l.chars().count() + 1).sum();
    let text = sql.lines().nth(line - 1)?;
    let column = column.checked_sub(1)?.min(text.chars().count());
    let start = before + column;
    let length = text.chars().skip(column).take_while(|c| is_of_name(*c)).count().max(1);
    Some(start..start + length)
}

/// The first name in double quotes that stands in the statement as a word.
fn name(message: &str, sql: &str) -> Option<Span> {
    let name = message.split('"').nth(1)?.to_lowercase();
    let name = name.rsplit('.').next().filter(|name| !name.is_empty())?;
    let characters: Vec<char> = sql.to_lowercase().chars().collect();
    // Letters that change their number in lower case would move the place.
    if characters.len() != sql.chars().count() {
        return None;
    }
    let word: Vec<char> = name.chars().collect();
    let at = characters.windows(word.len()).enumerate().find_map(|(at, window)| {
        let is_edge = |at: Option<usize>| {
            at.and_then(|at| characters.get(at)).is_none_or(|c| !is_of_name(*c))
        };
        let is_word = is_edge(at.checked_sub(1)) && is_edge(Some(at + word.len()));
        (window == word.as_slice() && is_word).then_some(at)
    })?;
    Some(at..at + word.len())
}

fn is_of_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_is_a_place() {
        let sql = "select é,\n  frum t";
        let message = "the SQL is not valid: … at line 2, column 3 of the SQL";
        assert_eq!(place(message, sql), Some(12..16));
        assert_eq!(place("x at line 9, column 3", sql), None);
        assert_eq!(place("x at line 0, column 0", sql), None);
        assert_eq!(place("x at line 2, column 99", sql), Some(18..19));
    }

    #[test]
    fn a_name_is_the_word_in_the_statement() {
        assert_eq!(place("no column \"pres\"", "select press, Pres from t"), Some(14..18));
        assert_eq!(
            place("no table \"nope\" in database \"d\"", "select 1 from nope"),
            Some(14..18)
        );
        assert_eq!(place("no column \"t.x\"", "select t.x from t"), Some(9..10));
        for message in ["no database \"d\"", "no quotes", "\"\"", "\""] {
            assert_eq!(place(message, "select 1"), None, "{message}");
        }
    }
}
