//! Ways into JSON: keys and places one after the other, or a JSON path as `$.a[0]."b c"`.

use datafusion::common::{Result, exec_err};

use crate::sql::functions::json::scan::Json;

/// A step into a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step<'a> {
    Key(std::borrow::Cow<'a, str>),
    Place(i64),
}

impl Step<'_> {
    pub(super) fn into(self, json: Json<'_>) -> Option<Json<'_>> {
        match self {
            Self::Key(key) => json.field(&key),
            Self::Place(place) => json.element(place),
        }
    }
}

/// The steps of a JSON path: `$`, then `.key`, `."any key"`, `["any key"]` and `[place]`.
pub(super) fn steps(path: &str) -> Result<Vec<Step<'_>>> {
    let wrong = || -> Result<Vec<Step<'_>>> {
        exec_err!(
            "\"{path}\" is not a JSON path: write one as $.key[0].\"another key\", without wildcards"
        )
    };
    let Some(mut rest) = path.trim().strip_prefix('$') else { return wrong() };
    let mut steps = Vec::new();
    while !rest.is_empty() {
        let read = match rest.strip_prefix('.') {
            Some(after) if after.starts_with('"') => quoted(after),
            Some(after) => {
                let end = after.find(['.', '[']).unwrap_or(after.len());
                let (key, after) = after.split_at(end);
                let is_key = !key.is_empty() && !key.contains(['*', ']', '"', '\'']);
                is_key.then(|| (Step::Key(key.into()), after))
            }
            None => bracket(rest),
        };
        let Some((step, after)) = read else { return wrong() };
        steps.push(step);
        rest = after;
    }
    Ok(steps)
}

/// `"any key"`, and what comes after it.
fn quoted(text: &str) -> Option<(Step<'_>, &str)> {
    let mut is_escaped = false;
    let end = text.bytes().skip(1).position(|byte| {
        let is_end = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        is_end
    })?;
    let (key, after) = text.split_at_checked(end + 2)?;
    Some((Step::Key(Json::of(key)?.string()?.into()), after))
}

/// `["any key"]` or `[place]`, and what comes after it.
fn bracket(text: &str) -> Option<(Step<'_>, &str)> {
    let inside = text.strip_prefix('[')?.trim_start();
    if inside.starts_with('"') {
        let (step, after) = quoted(inside)?;
        return Some((step, after.trim_start().strip_prefix(']')?));
    }
    let (place, after) = inside.split_once(']')?;
    Some((Step::Place(place.trim().parse().ok()?), after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_read_and_what_is_none_is_told() {
        let key = |key: &'static str| Step::Key(key.into());
        assert_eq!(steps("$").unwrap(), []);
        assert_eq!(steps("$.a[0].b").unwrap(), [key("a"), Step::Place(0), key("b")]);
        assert_eq!(steps(r#"$["a.b"][-1]."c \"d\"""#).unwrap()[0], key("a.b"));
        assert_eq!(steps(r#"$."c \"d\"""#).unwrap(), [key("c \"d\"")]);
        for wrong in ["", "a", "$a", "$.", "$..a", "$.*", "$[*]", "$[", "$[a]", "$.\"a", "$[1"] {
            assert!(steps(wrong).is_err(), "{wrong}");
        }
    }
}
