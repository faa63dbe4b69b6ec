//! `bring`: what of the policies is wanted, and in which shape.

mod apply;

use std::fmt;

use crate::error::Error;
use crate::language::cursor::Cursor;
use crate::language::filter::{parse_keys, print_path};
use crate::language::lexer::{Token, quote};
use crate::language::options::names;
use crate::near;

/// What is wanted of the policies.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Bring {
    /// The policies right below, in their place.
    children: bool,
    pick: Option<Pick>,
    unique: bool,
    /// The columns to sort by; all in order when there are none.
    sort: Option<Vec<usize>>,
    shape: Shape,
    items: Vec<Item>,
    separator: Option<String>,
}

/// Which one of the policies.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Pick {
    /// The one with the earliest date.
    First,
    /// The one with the latest date.
    Recent,
    /// The last in the ledger.
    Last,
}

/// In which shape.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Shape {
    /// The values one after the other, as text.
    #[default]
    Text,
    /// An object for each policy.
    Json,
    /// A table.
    Table,
    /// How many there are.
    Count,
    /// How many there are, as JSON.
    CountJson,
    /// The addresses of nodes.
    IpPort,
}

/// A piece of what is brought of each policy.
#[derive(Clone, Debug, PartialEq)]
enum Item {
    /// An attribute's value.
    Path(Vec<String>),
    /// A text between values.
    Literal(String),
}

/// The words that can follow `bring.`.
const HOW: [&str; 10] =
    ["json", "table", "sort", "unique", "count", "first", "recent", "last", "ip_port", "children"];

impl Bring {
    /// Takes `bring…` if it is next.
    pub(super) fn parse(cursor: &mut Cursor<'_>) -> Result<Option<Self>, Error> {
        let is_bring = |word: &String| word == "bring" || word.starts_with("bring.");
        let Some(word) = cursor.peek_keyword().filter(is_bring) else { return Ok(None) };
        let mut bring = Self::default();
        for how in word.split('.').skip(1) {
            bring.take_how(how, cursor)?;
        }
        cursor.take();
        if bring.sort.is_some() && cursor.symbol('(') {
            bring.sort = Some(parse_columns(cursor)?);
            bring.parse_more_how(cursor)?;
        }
        bring.parse_items(cursor)?;
        let says_nothing = word == "bring" && bring.items.is_empty();
        if says_nothing {
            return Err(cursor.expected("attributes in brackets, as in [table][name]"));
        }
        Ok(Some(bring))
    }

    /// Whether not the policies themselves are wanted, but those right below them.
    pub(super) fn wants_children(&self) -> bool {
        self.children
    }

    fn take_how(&mut self, how: &str, cursor: &Cursor<'_>) -> Result<(), Error> {
        match how {
            "json" if self.shape == Shape::Count => self.shape = Shape::CountJson,
            "count" if self.shape == Shape::Json => self.shape = Shape::CountJson,
            "json" => self.shape = Shape::Json,
            "table" => self.shape = Shape::Table,
            "count" => self.shape = Shape::Count,
            "ip_port" => self.shape = Shape::IpPort,
            "sort" => self.sort = Some(Vec::new()),
            "unique" => self.unique = true,
            "children" => self.children = true,
            "first" => self.pick = Some(Pick::First),
            "recent" => self.pick = Some(Pick::Recent),
            "last" => self.pick = Some(Pick::Last),
            _ => {
                let expected = format!("\"bring\" with {}", names(HOW.into_iter()));
                return Err(cursor.expected_with_hint(&expected, near::hint(how, HOW)));
            }
        }
        Ok(())
    }

    /// Takes what follows the columns of `sort(…)`: `.json` and the like.
    fn parse_more_how(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Error> {
        let Some(word) = cursor.peek_keyword().filter(|word| word.starts_with('.')) else {
            return Ok(());
        };
        let how: Vec<_> = word.split('.').skip(1).collect();
        if how.iter().all(|how| HOW.contains(how)) {
            how.iter().try_for_each(|how| self.take_how(how, cursor))?;
            cursor.take();
        }
        Ok(())
    }

    fn parse_items(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Error> {
        loop {
            match cursor.peek().token {
                Token::Symbol('[') => self.items.push(Item::Path(parse_keys(cursor)?)),
                Token::Quoted(text) => {
                    cursor.take();
                    self.items.push(Item::Literal(text));
                }
                Token::Word(word) => match word.to_lowercase().as_str() {
                    "where" | "and" => return Ok(()),
                    "separator" => {
                        cursor.take();
                        cursor.expect_operator("=")?;
                        self.separator = Some(parse_separator(cursor)?);
                        return Ok(());
                    }
                    _ => {
                        cursor.take();
                        self.items.push(Item::Literal(control_characters(&word)));
                    }
                },
                // What follows belongs to whatever this stands in: `(… bring.ip_port, subset = true)`.
                Token::Symbol(',') if is_key_next(cursor) => return Ok(()),
                Token::Symbol(',') => {
                    cursor.take();
                    self.items.push(Item::Literal(",".into()));
                }
                _ => return Ok(()),
            }
        }
    }
}

/// Whether `, key =` comes next, and the key is not one of this.
fn is_key_next(cursor: &Cursor<'_>) -> bool {
    let mut ahead = cursor.clone();
    ahead.take();
    let key = ahead.peek_keyword();
    ahead.take();
    key.is_some_and(|key| key != "separator") && ahead.operator("=")
}

/// Takes `1, 0)` after `sort(`.
fn parse_columns(cursor: &mut Cursor<'_>) -> Result<Vec<usize>, Error> {
    let mut columns = Vec::new();
    while !cursor.symbol(')') {
        let wrong = cursor.expected("the number of a column, from 0");
        let column = cursor.name("the number of a column")?;
        columns.push(column.parse().map_err(|_| wrong)?);
        cursor.symbol(',');
    }
    Ok(columns)
}

fn parse_separator(cursor: &mut Cursor<'_>) -> Result<String, Error> {
    if cursor.symbol(',') {
        return Ok(",".into());
    }
    match cursor.peek().token {
        Token::Quoted(text) => {
            cursor.take();
            Ok(text)
        }
        _ => cursor.name("a separator").map(|word| control_characters(&word)),
    }
}

/// A bare `\n` or `\t` is the character.
fn control_characters(word: &str) -> String {
    match word {
        "\\n" => "\n".into(),
        "\\t" => "\t".into(),
        other => other.into(),
    }
}

impl fmt::Display for Bring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("bring")?;
        let pick = self.pick.map(|pick| match pick {
            Pick::First => "first",
            Pick::Recent => "recent",
            Pick::Last => "last",
        });
        let shape = match self.shape {
            Shape::Text => None,
            Shape::Json => Some("json"),
            Shape::Table => Some("table"),
            Shape::Count => Some("count"),
            Shape::CountJson => Some("count.json"),
            Shape::IpPort => Some("ip_port"),
        };
        let children = self.children.then_some("children").into_iter();
        for how in children.chain(self.unique.then_some("unique")).chain(pick).chain(shape) {
            write!(f, ".{how}")?;
        }
        if let Some(columns) = &self.sort {
            let columns: Vec<_> = columns.iter().map(usize::to_string).collect();
            write!(f, ".sort({})", columns.join(","))?;
        }
        for item in &self.items {
            match item {
                Item::Path(path) => write!(f, " {}", print_path(path))?,
                Item::Literal(text) => write!(f, " {}", quote(text))?,
            }
        }
        match &self.separator {
            Some(separator) => write!(f, " separator = {}", quote(separator)),
            None => Ok(()),
        }
    }
}
