//! The type of an argument's values, as far as its parser reveals it.
//!
//! clap only says which Rust type a parser returns. Its range, or whether it accepts an empty text, is found by
//! trying: the parser has confirmed everything that the schema says.

use std::{
    net::{Ipv4Addr, Ipv6Addr},
    num::NonZero,
    path::PathBuf,
};

use clap::{Arg, ArgAction, Command, builder::ValueParser};
use serde_json::{Map, Value, json};

use super::{argument::Never, schema::keywords};

/// The type of a value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Kind {
    /// Text, which the author's parser may restrict further.
    Text { not_empty: bool, format: Option<&'static str> },
    /// An integer, within bounds that the parser has confirmed.
    Integer { min: Option<i128>, max: Option<i128> },
    /// A number.
    Number { not_negative: bool },
    /// A boolean as a value.
    Boolean,
    /// One of these words, with their descriptions.
    Choice(Vec<(String, Option<String>)>),
}

impl Kind {
    pub(crate) fn of(arg: &Arg) -> Self {
        let parser = arg.get_value_parser();
        if is::<bool>(parser) {
            return Self::Boolean;
        }
        let choices = choices(arg);
        if !choices.is_empty() {
            return Self::Choice(choices);
        }
        if let Some((min, max)) = integer(parser) {
            let (min, max) = bounds(parser, min, max);
            return Self::Integer { min, max };
        }
        if is::<f64>(parser) || is::<f32>(parser) {
            return Self::Number { not_negative: false };
        }
        Self::Text { not_empty: !takes(parser, "") && takes(parser, "a"), format: format(parser) }
    }

    /// The same type without values that are refused at its position. Text is checked per call.
    pub(crate) fn without(self, never: Never) -> Self {
        match self {
            Self::Integer { min, max } if never.dash => {
                Self::Integer { min: Some(min.unwrap_or(0).max(0)), max }
            }
            Self::Number { .. } => Self::Number { not_negative: never.dash },
            Self::Choice(mut choices) => {
                choices.retain(|(word, _)| never.allows(word));
                Self::Choice(choices)
            }
            kind => kind,
        }
    }

    /// Its JSON Schema.
    pub(crate) fn schema(&self) -> Map<String, Value> {
        let integer = |bound: &Option<i128>| bound.and_then(json_integer);
        match self {
            Self::Text { not_empty, format } => keywords([
                ("type", Some(json!("string"))),
                ("minLength", not_empty.then(|| json!(1))),
                ("format", format.map(|format| json!(format))),
            ]),
            Self::Integer { min, max } => keywords([
                ("type", Some(json!("integer"))),
                ("minimum", integer(min)),
                ("maximum", integer(max)),
            ]),
            Self::Number { not_negative } => keywords([
                ("type", Some(json!("number"))),
                ("minimum", not_negative.then(|| json!(0))),
            ]),
            Self::Boolean => keywords([("type", Some(json!("boolean")))]),
            Self::Choice(choices) => {
                let words: Vec<&str> = choices.iter().map(|(word, _)| word.as_str()).collect();
                keywords([("type", Some(json!("string"))), ("enum", Some(json!(words)))])
            }
        }
    }

    /// A value as a word of a command line, or the problem.
    pub(crate) fn word(&self, value: &Value) -> Result<String, String> {
        let word = match (self, value) {
            (Self::Text { not_empty, .. }, Value::String(text))
                if !(*not_empty && text.is_empty()) =>
            {
                Some(text.clone())
            }
            (Self::Integer { min, max }, Value::Number(number)) => {
                let integer = whole(number);
                let is_in = |one: &i128| {
                    min.is_none_or(|min| min <= *one) && max.is_none_or(|max| *one <= max)
                };
                integer.filter(is_in).map(|one| one.to_string())
            }
            (Self::Number { not_negative }, Value::Number(number)) => {
                let is_in = !not_negative || number.as_f64().is_some_and(|one| one >= 0.0);
                // Zero may have a sign.
                is_in.then(|| number.to_string()).map(|word| match number.as_f64() {
                    Some(0.0) => "0".to_owned(),
                    _ => word,
                })
            }
            (Self::Boolean, Value::Bool(is)) => Some(is.to_string()),
            (Self::Choice(choices), Value::String(text)) => {
                choices.iter().any(|(word, _)| word == text).then(|| text.clone())
            }
            _ => None,
        };
        match word {
            Some(word) if word.contains('\0') => Err("must not have a NUL character".to_owned()),
            Some(word) => Ok(word),
            None => Err(format!("must be {}", self.describe())),
        }
    }

    fn describe(&self) -> String {
        match self {
            Self::Text { not_empty: true, .. } => "text that is not empty".to_owned(),
            Self::Text { .. } => "text".to_owned(),
            Self::Integer { min: Some(min), max: Some(max) } => {
                format!("an integer from {min} to {max}")
            }
            Self::Integer { min: Some(min), max: None } => format!("an integer from {min} on"),
            Self::Integer { min: None, max: Some(max) } => format!("an integer up to {max}"),
            Self::Integer { .. } => "an integer".to_owned(),
            Self::Number { not_negative: true } => "a number from 0 on".to_owned(),
            Self::Number { .. } => "a number".to_owned(),
            Self::Boolean => "true or false".to_owned(),
            Self::Choice(choices) => {
                let words: Vec<String> =
                    choices.iter().map(|(word, _)| format!("\"{word}\"")).collect();
                format!("one of {}", words.join(", "))
            }
        }
    }
}

/// The possible values, if there are any and the author does not hide them.
fn choices(arg: &Arg) -> Vec<(String, Option<String>)> {
    if arg.is_hide_possible_values_set() {
        return Vec::new();
    }
    let shown = arg.get_possible_values().into_iter().filter(|value| !value.is_hide_set());
    let help = |value: &clap::builder::PossibleValue| value.get_help().map(ToString::to_string);
    shown.map(|value| (value.get_name().to_owned(), help(&value))).collect()
}

fn format(parser: &ValueParser) -> Option<&'static str> {
    match () {
        () if is::<Ipv4Addr>(parser) => Some("ipv4"),
        () if is::<Ipv6Addr>(parser) => Some("ipv6"),
        // No parser checks it, but it shows a model that its words are not among the values.
        () if is::<PathBuf>(parser) => Some("path"),
        () => None,
    }
}

/// The range of an integer type, if the parser returns one.
fn integer(parser: &ValueParser) -> Option<(i128, i128)> {
    macro_rules! ranges {
        ($($type:ty),*) => {
            [$((is::<$type>(parser) || is::<NonZero<$type>>(parser), <$type>::MIN as i128, <$type>::MAX as i128)),*]
        };
    }
    let ranges = ranges!(u8, i8, u16, i16, u32, i32, u64, i64, usize, isize);
    let wide = [(is::<i128>(parser), i128::MIN, i128::MAX), (is::<u128>(parser), 0, i128::MAX)];
    let found = ranges.into_iter().chain(wide).find(|(is, ..)| *is);
    found.map(|(_, min, max)| (min, max))
}

/// The bounds of an integer parser; none if they are unclear.
fn bounds(parser: &ValueParser, min: i128, max: i128) -> (Option<i128>, Option<i128>) {
    let takes_integer = |one: i128| takes(parser, &one.to_string());
    // The message of a parser with a range contains the range, which is used only if the parser confirms it.
    let hints = |refused: i128| {
        let numbers = numbers(&refusal(parser, &refused.to_string()));
        let near =
            numbers.into_iter().flat_map(|one| [one.saturating_sub(1), one, one.saturating_add(1)]);
        near.chain([0, 1]).collect::<Vec<_>>()
    };
    let lower = match takes_integer(min) {
        true => Some(min),
        false => hints(min)
            .into_iter()
            .find(|one| takes_integer(*one) && !takes_integer(one.saturating_sub(1))),
    };
    let upper = match takes_integer(max) {
        true => Some(max),
        false => hints(max)
            .into_iter()
            .find(|one| takes_integer(*one) && !takes_integer(one.saturating_add(1))),
    };
    (lower, upper)
}

/// The integers in a text.
fn numbers(text: &str) -> Vec<i128> {
    let runs = text.split(|c: char| !c.is_ascii_digit() && c != '-');
    runs.filter_map(|run| run.parse().ok()).collect()
}

/// Whether a parser accepts a word.
fn takes(parser: &ValueParser, word: &str) -> bool {
    probe(parser, word).is_ok()
}

/// The message of a parser for a word that it refuses.
fn refusal(parser: &ValueParser, word: &str) -> String {
    probe(parser, word).err().map(|error| error.to_string()).unwrap_or_default()
}

fn probe(parser: &ValueParser, word: &str) -> Result<(), clap::Error> {
    let value = Arg::new("value").long("value").action(ArgAction::Set).value_parser(parser.clone());
    let command = Command::new("probe").no_binary_name(true).arg(value);
    command.try_get_matches_from([format!("--value={word}")]).map(|_| ())
}

/// Whether a parser returns values of a type.
fn is<T: Clone + Send + Sync + 'static>(parser: &ValueParser) -> bool {
    fn never<T>(_: &str) -> Result<T, String> {
        Err(String::new())
    }
    ValueParser::new(never::<T>).type_id() == parser.type_id()
}

/// A number without a fraction: 5, and also 5.0.
pub(crate) fn whole(number: &serde_json::Number) -> Option<i128> {
    if let Some(integer) = number.as_i128() {
        return Some(integer);
    }
    let float = number.as_f64().filter(|float| float.fract() == 0.0)?;
    // Beyond this not every integer has a float.
    (float.abs() <= 9_007_199_254_740_992.0).then_some(float as i128)
}

/// An integer as a JSON number.
fn json_integer(integer: i128) -> Option<Value> {
    let signed = i64::try_from(integer).map(Value::from).ok();
    signed.or_else(|| u64::try_from(integer).map(Value::from).ok())
}

#[cfg(test)]
mod tests {
    use clap::{builder::NonEmptyStringValueParser, value_parser};

    use super::*;

    fn kind(parser: impl Into<ValueParser>) -> Kind {
        Kind::of(&Arg::new("a").action(ArgAction::Set).value_parser(parser.into()))
    }

    fn integers(min: impl Into<Option<i128>>, max: impl Into<Option<i128>>) -> Kind {
        Kind::Integer { min: min.into(), max: max.into() }
    }

    #[test]
    fn integers_have_the_bounds_of_their_parser() {
        assert_eq!(kind(value_parser!(u8)), integers(0, 255));
        assert_eq!(kind(value_parser!(u16).range(1..)), integers(1, 65_535));
        assert_eq!(kind(value_parser!(i64).range(-5..=7)), integers(-5, 7));
        assert_eq!(kind(value_parser!(u32).range(3..9)), integers(3, 8));
        assert_eq!(kind(value_parser!(u64)), integers(0, i128::from(u64::MAX)));
        assert_eq!(kind(value_parser!(usize)), integers(0, usize::MAX as i128));
        assert_eq!(kind(value_parser!(NonZero<u32>)), integers(1, i128::from(u32::MAX)));
        assert_eq!(kind(value_parser!(i128)), integers(i128::MIN, i128::MAX));
    }

    #[test]
    fn bounds_that_are_not_clear_are_not_told() {
        let odd = |text: &str| match text.parse::<i64>() {
            Ok(odd) if odd % 2 != 0 && (5..50).contains(&odd) => Ok(odd),
            _ => Err("must be odd".to_owned()),
        };
        assert_eq!(kind(ValueParser::new(odd)), integers(None, None));
    }

    #[test]
    fn other_types_are_known_too() {
        assert_eq!(kind(value_parser!(f64)), Kind::Number { not_negative: false });
        assert_eq!(kind(value_parser!(bool)), Kind::Boolean);
        let path = Kind::Text { not_empty: true, format: Some("path") };
        assert_eq!(kind(value_parser!(PathBuf)), path);
        assert_eq!(kind(value_parser!(String)), Kind::Text { not_empty: false, format: None });
        let not_empty = Kind::Text { not_empty: true, format: None };
        assert_eq!(kind(NonEmptyStringValueParser::new()), not_empty);
        let address = Kind::Text { not_empty: false, format: Some("ipv4") };
        assert_eq!(kind(value_parser!(Ipv4Addr)), address);
        let choice = Kind::Choice(vec![("a".to_owned(), None), ("b".to_owned(), None)]);
        assert_eq!(kind(["a", "b"]), choice);
    }

    #[test]
    fn values_become_words_or_say_what_they_must_be() {
        let port = kind(value_parser!(u16));
        assert_eq!(port.word(&json!(80)).unwrap(), "80");
        assert_eq!(port.word(&json!(80.0)).unwrap(), "80");
        for wrong in [json!(80.5), json!("80"), json!(-1), json!(70_000), json!(null), json!(1e300)]
        {
            assert_eq!(port.word(&wrong).unwrap_err(), "must be an integer from 0 to 65535");
        }
        let text = kind(value_parser!(String));
        assert_eq!(text.word(&json!("--x")).unwrap(), "--x");
        assert!(text.word(&json!("a\0b")).unwrap_err().contains("NUL"));
        assert_eq!(kind(["a", "b"]).word(&json!("c")).unwrap_err(), "must be one of \"a\", \"b\"");
    }
}
