//! Conditions on policies: `name = x and (port > n or [cluster] != y)`. They become the ledger's
//! conditions when the command runs and its variables have values.

use std::fmt;

use edgemere_ledger::{Comparison, Condition, Path};

use super::cursor::Cursor;
use super::json::Json;
use super::lexer::{Token, word_or_quote};
use super::options::Output;
use super::term::Term;
use crate::declaration::Declaration;
use crate::error::Error;
use crate::variables::Scope;

/// A condition as written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Filter {
    /// All of them hold; of none, it holds.
    All(Vec<Filter>),
    /// One of them holds.
    Any(Vec<Filter>),
    /// An attribute compares with a value.
    Compare { path: Vec<String>, comparison: Comparison, value: Term },
}

/// The words and signs that compare.
const COMPARISONS: [(&str, Comparison); 8] = [
    ("=", Comparison::Equal),
    ("!=", Comparison::NotEqual),
    ("<", Comparison::Less),
    ("<=", Comparison::LessOrEqual),
    (">", Comparison::Greater),
    (">=", Comparison::GreaterOrEqual),
    ("contains", Comparison::Contains),
    ("startwith", Comparison::StartsWith),
];

impl Filter {
    /// The condition that holds for everything.
    pub(crate) fn everything() -> Self {
        Self::All(Vec::new())
    }

    /// Whether it holds for everything.
    pub(crate) fn is_everything(&self) -> bool {
        matches!(self, Self::All(filters) if filters.is_empty())
    }

    /// Takes a condition. `format` and `extract` may stand anywhere in it, as bare keys: they go
    /// to the output and are no part of the condition.
    pub(crate) fn parse(
        cursor: &mut Cursor<'_>,
        declaration: &Declaration,
        output: &mut Output,
    ) -> Result<Self, Error> {
        cursor.nested(|cursor| {
            let mut any = vec![Self::parse_all(cursor, declaration, output)?];
            while cursor.keyword("or") {
                any.push(Self::parse_all(cursor, declaration, output)?);
            }
            // A side of an "or" that was only a directive says nothing.
            if any.len() > 1 {
                any.retain(|filter| !filter.is_everything());
            }
            Ok(single(any, Self::Any))
        })
    }

    fn parse_all(
        cursor: &mut Cursor<'_>,
        declaration: &Declaration,
        output: &mut Output,
    ) -> Result<Self, Error> {
        let mut all = Vec::new();
        loop {
            let filter = Self::parse_one(cursor, declaration, output)?;
            all.extend(filter.filter(|filter| !filter.is_everything()));
            if !cursor.keyword("and") {
                return Ok(single(all, Self::All));
            }
        }
    }

    fn parse_one(
        cursor: &mut Cursor<'_>,
        declaration: &Declaration,
        output: &mut Output,
    ) -> Result<Option<Self>, Error> {
        if cursor.symbol('(') {
            let filter = Self::parse(cursor, declaration, output)?;
            cursor.expect_symbol(')')?;
            return Ok(Some(filter));
        }
        if let Some(key) = cursor.peek_keyword().filter(|key| Output::is_key(key)) {
            cursor.take();
            cursor.expect_operator("=")?;
            output.take(&key, declaration, cursor)?;
            return Ok(None);
        }
        let path = parse_path(cursor)?;
        let comparison = parse_comparison(cursor)?;
        let value = cursor.term("a value to compare with")?;
        Ok(Some(Self::Compare { path, comparison, value }))
    }

    /// The condition that every attribute of an object is as it says.
    pub(crate) fn from_json(json: &Json) -> Self {
        let mut filters = Vec::new();
        collect_equals(json, &mut Vec::new(), &mut filters);
        single(filters, Self::All)
    }

    /// The ledger's condition, with the values of the variables.
    pub(crate) fn condition(&self, variables: Scope<'_>) -> Result<Condition, Error> {
        let all = |filters: &[Self]| {
            filters.iter().map(|f| f.condition(variables)).collect::<Result<Vec<_>, _>>()
        };
        Ok(match self {
            Self::All(filters) if filters.is_empty() => Condition::True,
            Self::All(filters) => Condition::All(all(filters)?),
            Self::Any(filters) => Condition::Any(all(filters)?),
            Self::Compare { path, comparison, value } => Condition::Compare {
                path: Path(path.clone()),
                comparison: *comparison,
                value: value.value(variables)?,
            },
        })
    }
}

/// One alone as itself, several together.
fn single(mut filters: Vec<Filter>, together: fn(Vec<Filter>) -> Filter) -> Filter {
    match (filters.pop(), filters.is_empty()) {
        (None, _) => Filter::everything(),
        (Some(only), true) => only,
        (Some(last), false) => {
            filters.push(last);
            together(filters)
        }
    }
}

/// Takes `name`, `table[dbms]` or `[operator][name]`.
pub(crate) fn parse_path(cursor: &mut Cursor<'_>) -> Result<Vec<String>, Error> {
    let mut path = Vec::new();
    if cursor.peek().token != Token::Symbol('[') {
        path.push(cursor.name("an attribute")?);
    }
    path.extend(parse_keys(cursor)?);
    Ok(path)
}

/// Takes `[operator][name]`, which may be nothing. `[]` is the policy itself. A space ends the
/// path: `[name] [ip]` are two.
pub(crate) fn parse_keys(cursor: &mut Cursor<'_>) -> Result<Vec<String>, Error> {
    let mut keys = Vec::new();
    while (keys.is_empty() || cursor.is_adjacent()) && cursor.symbol('[') {
        if cursor.symbol(']') {
            keys.push("*".into());
            continue;
        }
        keys.push(cursor.name("an attribute")?);
        cursor.expect_symbol(']')?;
    }
    Ok(keys)
}

fn parse_comparison(cursor: &mut Cursor<'_>) -> Result<Comparison, Error> {
    for (sign, comparison) in COMPARISONS {
        if cursor.operator(sign) || cursor.keyword(sign) {
            return Ok(comparison);
        }
    }
    Err(cursor.expected("a comparison (=, !=, <, <=, >, >=, contains or startwith)"))
}

fn collect_equals(json: &Json, path: &mut Vec<String>, filters: &mut Vec<Filter>) {
    let Json::Object(entries) = json else {
        let value = match json {
            Json::Text(text) => Term::Quoted(text.clone()),
            Json::Variable(name) => Term::Variable(name.clone()),
            Json::List(_) => Term::Json(json.clone()),
            scalar => Term::Word(scalar.to_string()),
        };
        filters.push(Filter::Compare { path: path.clone(), comparison: Comparison::Equal, value });
        return;
    };
    for (key, value) in entries {
        path.push(key.clone());
        collect_equals(value, path, filters);
        path.pop();
    }
}

/// `[operator][name]`.
pub(crate) fn print_path(path: &[String]) -> String {
    path.iter().map(|key| format!("[{}]", word_or_quote(key))).collect()
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let join = |filters: &[Self], word: &str| {
            let parts: Vec<_> = filters.iter().map(Self::parenthesized).collect();
            parts.join(word)
        };
        match self {
            Self::All(filters) => f.write_str(&join(filters, " and ")),
            Self::Any(filters) => f.write_str(&join(filters, " or ")),
            Self::Compare { path, comparison, value } => {
                let sign = COMPARISONS.iter().find(|(_, known)| known == comparison);
                let sign = sign.map_or("=", |(sign, _)| sign);
                write!(f, "{} {sign} {value}", print_path(path))
            }
        }
    }
}

impl Filter {
    /// The condition as it stands beside an "and".
    pub(crate) fn to_conjunct(&self) -> String {
        match self {
            Self::Any(_) => format!("({self})"),
            Self::All(_) | Self::Compare { .. } => self.to_string(),
        }
    }

    fn parenthesized(&self) -> String {
        match self {
            Self::Compare { .. } => self.to_string(),
            Self::All(_) | Self::Any(_) => format!("({self})"),
        }
    }
}
