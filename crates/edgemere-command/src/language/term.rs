//! A value as it is written in a command: a word, a quoted text, a variable or JSON. What it
//! stands for is known only when the command runs, since variables change.

use std::fmt;

use serde_json::Value;

use super::json::Json;
use super::lexer::{quote, word_or_quote};
use crate::error::Error;
use crate::variables::{Scope, Variable, is_secret_name};
use edgemere_service::Effect;

/// A value as written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Term {
    /// A bare word; a number, `true`, `false` or `null` when it looks like one.
    Word(String),
    /// A quoted text, which is always a text.
    Quoted(String),
    /// `!name`.
    Variable(String),
    /// `{…}` or `[…]`.
    Json(Json),
}

impl Term {
    /// The value that the term stands for.
    pub(crate) fn value(&self, variables: Scope<'_>) -> Result<Value, Error> {
        self.value_with(&mut |name| variables.get(name))
    }

    /// The value that the term stands for, for another variable: it is a secret when it is made of one.
    pub(crate) fn assigned(&self, variables: Scope<'_>) -> Result<Variable, Error> {
        let mut is_secret = false;
        let value = self.value_with(&mut |name| {
            let variable = variables.take(name)?;
            is_secret |= variable.is_secret;
            Ok(variable.value)
        })?;
        Ok(Variable { value, is_secret })
    }

    fn value_with(
        &self,
        variable: &mut impl FnMut(&str) -> Result<Value, Error>,
    ) -> Result<Value, Error> {
        match self {
            Self::Word(word) => Ok(word_value(word)),
            Self::Quoted(text) => Ok(Value::String(text.clone())),
            Self::Variable(name) => variable(name),
            Self::Json(json) => json.value(variable),
        }
    }

    /// The text that the term stands for.
    pub(crate) fn text(&self, variables: Scope<'_>) -> Result<String, Error> {
        match self {
            Self::Word(text) | Self::Quoted(text) => Ok(text.clone()),
            Self::Variable(_) | Self::Json(_) => self.value(variables).map(|v| text_of(&v)),
        }
    }

    /// What showing the term's value is: the value of a variable whose name says so is a secret. That
    /// one without such a name holds a secret is known only where the variable is.
    pub(crate) fn effect_of_showing(&self) -> Effect {
        let shows_secret = match self {
            Self::Variable(name) => is_secret_name(name),
            Self::Json(json) => json.variables().into_iter().any(is_secret_name),
            Self::Word(_) | Self::Quoted(_) => false,
        };
        if shows_secret { Effect::Secret } else { Effect::Read }
    }

    /// The term's text where it needs no variables.
    pub(crate) fn literal(&self) -> Option<&str> {
        match self {
            Self::Word(text) | Self::Quoted(text) => Some(text),
            Self::Variable(_) | Self::Json(_) => None,
        }
    }
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Word(word) => f.write_str(&word_or_quote(word)),
            Self::Quoted(text) => f.write_str(&quote(text)),
            Self::Variable(name) => write!(f, "!{name}"),
            Self::Json(json) => json.fmt(f),
        }
    }
}

/// A value as people see it: a text without quotes, all else as JSON.
pub(crate) fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// A bare word as a value: a number, a boolean or nothing when it is written as one.
fn word_value(word: &str) -> Value {
    match word.to_ascii_lowercase().as_str() {
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        "null" => Value::Null,
        _ => match serde_json::from_str::<serde_json::Number>(word) {
            Ok(number) => Value::Number(number),
            Err(_) => Value::String(word.to_owned()),
        },
    }
}
