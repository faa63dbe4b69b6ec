//! What agents see of the files around a folder: configuration, tools and scripts without the secrets in
//! them. The value after a name that speaks of a secret is hidden; a file in which that cannot be done for
//! sure is not shown at all.

use edgemere_command::is_secret_name;

/// What is shown in place of a secret.
const HIDDEN: &str = "********";

/// How long a run of hexadecimal digits is that is a key, whatever its name.
const HEX_MIN: usize = 32;

/// The text of a file as agents see it; none when it is not to be shown.
pub(super) fn view(_name: &str, text: &str) -> Option<String> {
    let mut shown = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        shown.push_str(&without_keys(&without_values(line)?));
    }
    Some(shown)
}

/// A line without the values of what is named like a secret.
fn without_values(line: &str) -> Option<String> {
    let mut shown = String::new();
    let mut rest = line;
    while let Some(at) = rest.find(['=', ':']) {
        let (before, after) = rest.split_at(at);
        let (sign, after) = after.split_at(1);
        shown.push_str(before);
        shown.push_str(sign);
        rest = after;
        if is_secret_name(last_name(before)) {
            let space = after.len() - after.trim_start_matches([' ', '\t']).len();
            let (space, value) = after.split_at(space);
            let length = value_length(value)?;
            shown.push_str(space);
            shown.push_str(HIDDEN);
            rest = value.get(length..).unwrap_or_default();
        }
    }
    shown.push_str(rest);
    Some(shown)
}

/// The name that stands at the end of a text, before its sign.
fn last_name(text: &str) -> &str {
    let text = text.trim_end().trim_end_matches(['"', '\'']);
    let is_name = |c: char| c.is_alphanumeric() || "_-.".contains(c);
    text.rsplit(|c: char| !is_name(c)).next().unwrap_or_default()
}

/// How long the value is that a text begins with; none when it does not end on its line.
fn value_length(value: &str) -> Option<usize> {
    let first = value.chars().next()?;
    match first {
        '"' | '\'' if value.starts_with("\"\"\"") || value.starts_with("'''") => None,
        '"' | '\'' => Some(value.get(1..)?.find(first)? + 2),
        '|' | '>' | '<' | '{' | '[' | '&' | '*' | '\r' | '\n' => None,
        _ => {
            // A value without quotes may have spaces: the rest of the line is no one's loss.
            Some(value.trim_end_matches(['\r', '\n']).len())
        }
    }
}

/// A line without long runs of hexadecimal digits.
fn without_keys(line: &str) -> String {
    let mut shown = String::with_capacity(line.len());
    let mut run = String::new();
    for c in line.chars().map(Some).chain([None]) {
        match c {
            Some(c) if c.is_ascii_hexdigit() => run.push(c),
            other => {
                shown.push_str(if run.len() >= HEX_MIN { HIDDEN } else { &run });
                run.clear();
                shown.extend(other);
            }
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_secrets_are_hidden_in_every_kind_of_file() {
        let shown = |text: &str| view("f", text);
        for text in [
            "network-key = \"s3cret\"\n",
            "db_password = s3cret\n",
            "  API_TOKEN: s3cret # mine\n",
            "env: {TOKEN: s3cret, A: b}\n",
            "connect dbms d where user = u and password = s3cret and ip = x\n",
            "\"secret\": 's3cret', \"a\": 1",
            "pwd=s3cret",
            "set db_password = \"s3cret x\"\nnext = 1\n",
        ] {
            let shown = shown(text).unwrap();
            assert!(!shown.contains("s3cret") && shown.contains(HIDDEN), "{shown}");
        }
        let plain = "company = \"Acme\"\ntools:\n  - name: x\n";
        assert_eq!(shown(plain).as_deref(), Some(plain));
        assert_eq!(
            shown("a = 1\npassword = s\nb = 2\n").unwrap(),
            "a = 1\npassword = ********\nb = 2\n"
        );
        let key = "a1".repeat(32);
        assert_eq!(shown(&format!("x {key} y")).unwrap(), "x ******** y");
    }

    #[test]
    fn a_secret_over_several_lines_withholds_the_file() {
        for text in [
            "password: |\n  s3cret\n",
            "token = \"\"\"\ns3cret\"\"\"",
            "key:\n  s3cret",
            "secret: [\n a]",
        ] {
            assert_eq!(view("f", text), None, "{text}");
        }
    }
}
