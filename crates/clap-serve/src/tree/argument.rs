//! An argument of a command as a property of a tool.

use clap::{Arg, ArgAction, Command, Id};
use serde_json::{Value, json};

use super::{Kind, schema::keywords};

/// An argument of a tool.
#[derive(Clone, Debug)]
pub(crate) struct Argument {
    /// Its name as a property.
    pub(crate) name: String,
    /// Its id in clap.
    pub(crate) id: Id,
    /// The level of its command: 0 is the program itself.
    pub(crate) level: usize,
    pub(crate) spelling: Spelling,
    pub(crate) kind: Kind,
    pub(crate) shape: Shape,
    /// Whether it is required regardless of other arguments.
    pub(crate) required: bool,
    pub(crate) is_global: bool,
    /// Values that are refused because of its position.
    pub(crate) never: Never,
    description: Option<String>,
    default: Option<Value>,
    /// Whether it has a default, visible or not.
    has_default: bool,
}

/// How an argument is written on a command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Spelling {
    /// `--name=value`
    Long(String),
    /// `-n=value`
    Short(char),
    /// `value`, at this position.
    Position(usize),
    /// `-- value`: only after `--`.
    Last,
}

/// The number of values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// No value: a flag.
    Flag,
    /// No value, but it may be repeated.
    Count,
    /// One value.
    One,
    /// One value or none.
    Maybe,
    /// Several values: at least `min`, which is not 0.
    Many { min: usize, max: Option<usize>, layout: Layout },
}

/// How several values are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// `--name=a --name=b`
    Repeated,
    /// `--name=a,b`, with this delimiter.
    Joined(char),
    /// `--name a b`, or `a b` as positional arguments.
    Spaced,
}

/// Restrictions on the values of an argument.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Never {
    /// They must not begin with a dash: at this position it would be a flag.
    pub(crate) dash: bool,
    /// They must not contain this delimiter: it would be two values.
    pub(crate) delimiter: Option<char>,
}

impl Argument {
    /// An argument of a command at a level, of which `depth` is the last. None if its values could not be
    /// distinguished from the words that follow.
    pub(crate) fn of(
        arg: &Arg,
        name: String,
        level: usize,
        depth: usize,
        command: &Command,
    ) -> Option<Self> {
        let shape = Shape::of(arg, level < depth)?;
        let spelling = Spelling::of(arg);
        let never = never(arg, &shape, &spelling, command);
        let kind = Kind::of(arg).without(never);
        Some(Self {
            name,
            id: arg.get_id().clone(),
            level,
            never,
            required: arg.is_required_set() && !is_filled(arg),
            is_global: arg.is_global_set(),
            description: description(arg, &kind),
            default: default(arg, &kind, &shape),
            has_default: !arg.get_default_values().is_empty(),
            spelling,
            kind,
            shape,
        })
    }

    /// Whether an empty text means that it is absent. Many models fill in every property and have no other way
    /// to leave one out; for an argument with a default, an empty text means the default.
    pub(crate) fn is_absent_when_empty(&self) -> bool {
        let is_text = matches!(self.kind, Kind::Text { .. });
        let is_one = matches!(self.shape, Shape::One | Shape::Maybe);
        is_text && is_one && !self.required && !self.has_default
    }

    /// Its JSON Schema as a property.
    pub(crate) fn schema(&self) -> Value {
        let mut value = self.kind.schema();
        if self.is_absent_when_empty() {
            value.remove("minLength");
        }
        let pattern = match (self.never.dash, self.never.delimiter) {
            (false, None) => None,
            (true, None) => Some("^(?!-)".to_owned()),
            (dash, Some(one)) => {
                let begin = if dash { "^(?!-)" } else { "^" };
                Some(format!("{begin}[^{}]*$", escaped(one)))
            }
        };
        if let (Kind::Text { .. }, Some(pattern)) = (&self.kind, pattern) {
            value.insert("pattern".to_owned(), json!(pattern));
        }
        let mut schema = match &self.shape {
            Shape::Flag => keywords([("type", Some(json!("boolean")))]),
            Shape::Count => keywords([
                ("type", Some(json!("integer"))),
                ("minimum", Some(json!(0))),
                ("maximum", Some(json!(255))),
            ]),
            Shape::One => value,
            Shape::Maybe if self.kind == Kind::Boolean => value,
            Shape::Maybe => keywords([("anyOf", Some(json!([value, { "const": true }])))]),
            Shape::Many { min, max, .. } => keywords([
                ("type", Some(json!("array"))),
                ("items", Some(Value::Object(value))),
                ("minItems", Some(json!(min))),
                ("maxItems", max.map(|max| json!(max))),
            ]),
        };
        schema.extend(keywords([
            ("description", self.description.as_ref().map(|text| json!(text))),
            ("default", self.default.clone()),
        ]));
        Value::Object(schema)
    }

    /// A schema of objects in which it is present.
    pub(crate) fn given_schema(&self) -> Value {
        let name = &self.name;
        match self.shape {
            Shape::Flag => json!({ "required": [name], "properties": { name: { "const": true } } }),
            Shape::Count => json!({ "required": [name], "properties": { name: { "minimum": 1 } } }),
            _ if self.is_absent_when_empty() => {
                json!({ "required": [name], "properties": { name: { "minLength": 1 } } })
            }
            _ => json!({ "required": [name] }),
        }
    }

    /// Adds a sentence to its description.
    pub(crate) fn say(&mut self, sentence: &str) {
        let said = self.description.take().unwrap_or_default();
        let end = if said.is_empty() || said.ends_with(['.', '!', '?', ':']) { "" } else { "." };
        self.description = Some(format!("{said}{end} {sentence}").trim_start().to_owned());
    }
}

impl Spelling {
    fn of(arg: &Arg) -> Self {
        match (arg.get_long(), arg.get_short(), arg.is_last_set()) {
            (Some(long), ..) => Self::Long(long.to_owned()),
            (None, Some(short), _) => Self::Short(short),
            (None, None, true) => Self::Last,
            (None, None, false) => Self::Position(arg.get_index().unwrap_or(usize::MAX)),
        }
    }

    pub(crate) fn is_positional(&self) -> bool {
        matches!(self, Self::Position(_) | Self::Last)
    }
}

impl Shape {
    /// The shape of an argument. If the name of a command may follow, a value must be attached to its option:
    /// otherwise either could be taken for the other.
    fn of(arg: &Arg, is_before_command: bool) -> Option<Self> {
        let shape = Self::anywhere(arg);
        if !is_before_command {
            return Some(shape);
        }
        match shape {
            _ if arg.is_positional() => None,
            Self::Many { layout: Layout::Spaced, .. } => None,
            Self::Maybe if !arg.is_require_equals_set() => Some(Self::One),
            shape => Some(shape),
        }
    }

    fn anywhere(arg: &Arg) -> Self {
        let range = arg.get_num_args().unwrap_or_default();
        let (min, max) = (range.min_values(), range.max_values());
        let is_list = matches!(arg.get_action(), ArgAction::Append);
        let takes_values = is_list || matches!(arg.get_action(), ArgAction::Set);
        let many = |layout: Layout| match layout {
            Layout::Spaced => {
                Self::Many { min: min.max(1), max: (max < usize::MAX).then_some(max), layout }
            }
            _ => Self::Many { min: 1, max: None, layout },
        };
        match (arg.is_positional(), arg.get_value_delimiter()) {
            _ if matches!(arg.get_action(), ArgAction::Count) => Self::Count,
            // Also arguments without a value that have one when they are present.
            _ if !takes_values || max == 0 => Self::Flag,
            (is_positional, None) if max == 1 && !is_list => {
                // Nothing would end an optional value.
                let is_optional = min == 0 && !is_positional && !arg.is_allow_hyphen_values_set();
                if is_optional { Self::Maybe } else { Self::One }
            }
            (true, Some(one)) if max == 1 => many(Layout::Joined(one)),
            (true, _) => many(Layout::Spaced),
            (false, _) if is_list && min <= 1 => many(Layout::Repeated),
            (false, Some(one)) if min <= 1 => many(Layout::Joined(one)),
            (false, _) => many(Layout::Spaced),
        }
    }
}

impl Never {
    /// Whether it may have a value.
    pub(crate) fn allows(self, word: &str) -> bool {
        let is_dashed = self.dash && word.starts_with('-');
        let is_split = self.delimiter.is_some_and(|one| word.contains(one));
        !is_dashed && !is_split
    }
}

/// The restrictions on values.
fn never(arg: &Arg, shape: &Shape, spelling: &Spelling, command: &Command) -> Never {
    let is_spaced = matches!(shape, Shape::Many { layout: Layout::Spaced, .. });
    let is_open = match spelling {
        Spelling::Long(_) | Spelling::Short(_) => is_spaced,
        // The `--` that protects values can only precede the last positional arguments.
        Spelling::Position(_) => command.get_positionals().any(Arg::is_last_set),
        Spelling::Last => false,
    };
    Never { dash: is_open, delimiter: arg.get_value_delimiter() }
}

/// Whether it has a default.
pub(crate) fn is_filled(arg: &Arg) -> bool {
    let is_set = arg.get_env().is_some_and(|name| std::env::var_os(name).is_some());
    is_set || !arg.get_default_values().is_empty()
}

fn description(arg: &Arg, kind: &Kind) -> Option<String> {
    let help = arg.get_long_help().or(arg.get_help()).map(|help| help.to_string());
    let meanings = match kind {
        Kind::Choice(choices) => choices
            .iter()
            .filter_map(|(word, help)| Some(format!("{word}: {}", help.as_deref()?)))
            .collect::<Vec<_>>(),
        _ => Vec::new(),
    };
    let parts = help.into_iter().chain((!meanings.is_empty()).then(|| meanings.join("; ")));
    let parts: Vec<String> = parts.map(|part| part.trim().to_owned()).collect();
    Some(parts.join("\n")).filter(|text| !text.is_empty())
}

/// Its default, if it may be shown.
fn default(arg: &Arg, kind: &Kind, shape: &Shape) -> Option<Value> {
    if arg.is_hide_default_value_set() || matches!(shape, Shape::Flag | Shape::Count) {
        return None;
    }
    let words: Option<Vec<&str>> =
        arg.get_default_values().iter().map(|one| one.to_str()).collect();
    let words = words.filter(|words| !words.is_empty())?;
    let typed = |word: &str| match kind {
        Kind::Integer { .. } | Kind::Number { .. } | Kind::Boolean => {
            serde_json::from_str(word).ok()
        }
        _ => Some(json!(word)),
    };
    let values = |words: Vec<&str>| words.into_iter().map(typed).collect::<Option<Vec<Value>>>();
    match shape {
        Shape::Many { .. } => {
            let split = words.into_iter().flat_map(|word| match arg.get_value_delimiter() {
                Some(one) => word.split(one).collect::<Vec<_>>(),
                None => vec![word],
            });
            values(split.collect()).map(Value::Array)
        }
        _ => words.first().and_then(|word| typed(word)),
    }
}

/// A character in the brackets of a regular expression.
fn escaped(one: char) -> String {
    match one {
        '\\' | ']' | '[' | '^' | '-' | '/' => format!("\\{one}"),
        _ => one.to_string(),
    }
}
