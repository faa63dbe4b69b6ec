//! Names, literals and moments, printed of letters that EdgeLake gives no other meaning. It expands
//! `!name` and `$name` also in quotes, and looks for its keywords also in texts.

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, DataType, Expr, Ident, Interval, TypedString, UnaryOperator, Value,
    ValueWithSpan,
};

use crate::sql::dialect::calls::call;
use crate::sql::dialect::edgelake::Refused;
use crate::sql::dialect::edgelake::logic::Sign;
use crate::sql::dialect::edgelake::refused;
use crate::sql::dialect::units::Unit;

/// How long a name may be.
const NAME_CHARACTERS_MAX: usize = 128;

/// How long a text may be.
const TEXT_CHARACTERS_MAX: usize = 500;

/// The signs that mean nothing in a text.
const SIGNS: &str = "_-.:/@#+,()%&*";

/// The words that EdgeLake looks for, also inside of texts.
const RESERVED: [&str; 29] = [
    "all", "and", "as", "asc", "between", "by", "case", "desc", "distinct", "from", "group",
    "having", "in", "is", "join", "like", "limit", "not", "now", "null", "offset", "on", "or",
    "order", "select", "top", "union", "where", "with",
];

/// The units of time that EdgeLake adds to moments.
const UNITS: [&str; 7] = ["second", "minute", "hour", "day", "week", "month", "year"];

/// One side of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Operand {
    Column(String),
    Number(String),
    Text(String),
    Boolean(bool),
    /// `now()`, or some time before or after it.
    Moment(String),
}

/// A text of letters, digits, single spaces and a few signs, and without words that EdgeLake looks for
/// between spaces.
pub(super) fn is_plain(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == ' ' || SIGNS.contains(c);
    // EdgeLake takes blanks before these away, also in quotes.
    let has_lost_blank = [" ,", " (", " )", "( "].iter().any(|blank| text.contains(blank));
    let mut words = text.split(' ');
    text.len() <= TEXT_CHARACTERS_MAX
        && text.chars().all(is_plain)
        && words.clone().all(|word| !word.is_empty())
        && (!text.contains(' ') || !words.any(is_reserved))
        && !has_lost_blank
        && !text.contains("--")
}

fn is_reserved(word: &str) -> bool {
    RESERVED.iter().any(|reserved| word.eq_ignore_ascii_case(reserved))
}

/// The name of a table, a column or a result, as EdgeLake writes it: in small letters, without quotes.
pub(super) fn name(ident: &Ident) -> Result<String, Refused> {
    let name = match ident.quote_style {
        Some(_) => ident.value.clone(),
        None => ident.value.to_lowercase(),
    };
    let begins = name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_');
    let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let is_plain = begins && name.len() <= NAME_CHARACTERS_MAX && name.chars().all(is_name);
    match is_plain && !is_reserved(&name) {
        true => Ok(name),
        false => Err(refused(
            format!("the name {ident}"),
            "EdgeLake knows names of small letters, digits and _ that are no words of SQL",
        )),
    }
}

/// The column that an expression is, of this table.
pub(super) fn column(expr: &Expr, tables: &[String]) -> Result<Option<String>, Refused> {
    match expr {
        Expr::Nested(inner) => column(inner, tables),
        Expr::Identifier(ident) => name(ident).map(Some),
        Expr::CompoundIdentifier(parts) => match parts.as_slice() {
            [table, column] if tables.contains(&name(table)?) => name(column).map(Some),
            _ => Err(refused(format!("\"{expr}\""), "name columns of the one table of the query")),
        },
        _ => Ok(None),
    }
}

/// One side of a comparison.
pub(super) fn operand(expr: &Expr, tables: &[String]) -> Result<Operand, Refused> {
    if let Some(column) = column(expr, tables)? {
        return Ok(Operand::Column(column));
    }
    match expr {
        Expr::Nested(inner) => operand(inner, tables),
        Expr::UnaryOp { op: UnaryOperator::Minus, expr: inner } => match number(inner) {
            Some(number) => Ok(Operand::Number(format!("-{number}"))),
            None => Err(expression(expr)),
        },
        Expr::Value(ValueWithSpan { value, .. }) => literal(value, expr),
        Expr::TypedString(TypedString {
            data_type: DataType::Timestamp(..) | DataType::Date | DataType::Datetime(_),
            value,
            ..
        }) => literal(&value.value, expr),
        _ => moment(expr).map(Operand::Moment).ok_or_else(|| expression(expr)),
    }
}

fn literal(value: &Value, expr: &Expr) -> Result<Operand, Refused> {
    match value {
        Value::SingleQuotedString(text) => Ok(Operand::Text(text.clone())),
        Value::Boolean(value) => Ok(Operand::Boolean(*value)),
        Value::Null => Err(refused("a comparison with NULL", "write IS NULL or IS NOT NULL")),
        Value::Number(..) => number(expr).map(Operand::Number).ok_or_else(|| expression(expr)),
        _ => Err(expression(expr)),
    }
}

fn number(expr: &Expr) -> Option<String> {
    let Expr::Value(ValueWithSpan { value: Value::Number(number, _), .. }) = expr else {
        return None;
    };
    let is_number = |c: char| c.is_ascii_digit() || "+-.eE".contains(c);
    let is_plain = number.chars().all(is_number) && number.parse::<f64>().is_ok_and(f64::is_finite);
    is_plain.then(|| number.clone())
}

fn expression(expr: &Expr) -> Refused {
    refused(
        format!("the expression \"{expr}\""),
        "EdgeLake ignores arithmetic and most functions: compare columns with numbers, texts, times or \
         now() - 1 day, and compute with the values that come back",
    )
}

/// `now()`, or so many units before or after it.
fn moment(expr: &Expr) -> Option<String> {
    let is_now = |expr: &Expr| call(expr, "now").is_some_and(|call| call.arguments.is_empty());
    match expr {
        Expr::Nested(inner) => moment(inner),
        _ if is_now(expr) => Some("now()".into()),
        Expr::BinaryOp { left, op, right } if is_now(left) => {
            let sign = match op {
                BinaryOperator::Plus => '+',
                BinaryOperator::Minus => '-',
                _ => return None,
            };
            let Expr::Interval(Interval { value, leading_field: None, .. }) = right.as_ref() else {
                return None;
            };
            let Expr::Value(ValueWithSpan { value: Value::SingleQuotedString(text), .. }) =
                value.as_ref()
            else {
                return None;
            };
            let (count, unit) = text.trim().split_once(' ')?;
            let count = count.parse::<u32>().ok()?;
            let unit = Unit::named(unit.trim())?.name;
            UNITS.contains(&unit).then(|| format!("now() {sign} {count} {unit}s"))
        }
        _ => None,
    }
}

/// A unit of time that EdgeLake knows, and how many of it.
pub(super) fn span(unit: &Expr, count: &Expr) -> Option<(&'static str, u32)> {
    let unit = unit.to_string();
    let unit = Unit::named(unit.trim_matches('\''))?.name;
    let count = count.to_string().parse::<u32>().ok().filter(|count| *count > 0)?;
    UNITS.contains(&unit).then_some((unit, count))
}

/// A value as it stands after a comparison's sign.
pub(super) fn printed(operand: &Operand, sign: Sign) -> Result<String, Refused> {
    match operand {
        Operand::Column(text) | Operand::Number(text) | Operand::Moment(text) => Ok(text.clone()),
        Operand::Boolean(value) => Ok(value.to_string()),
        Operand::Text(text) if begins_like_date(text) => time(text, sign).map(|t| format!("'{t}'")),
        Operand::Text(text) if is_plain(text) => Ok(format!("'{text}'")),
        Operand::Text(text) => Err(refused(
            format!("the text {text:?}"),
            format!(
                "EdgeLake reads more than a value in it; texts may have letters, digits, single spaces \
                 and {SIGNS}, and no words of SQL: look for another column, or compare the rows that \
                 come back"
            ),
        )),
    }
}

fn begins_like_date(text: &str) -> bool {
    let shape: String =
        text.chars().take(10).map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    shape == "0000-00-00"
}

/// A time to the microsecond: EdgeLake compares times as texts, and a text of whole seconds comes after
/// all texts of that second that have a fraction.
fn time(text: &str, sign: Sign) -> Result<String, Refused> {
    let unknown = || {
        refused(
            format!("the time {text:?}"),
            "write times as 2026-01-31 12:00:00, which is in the node's own zone, or as \
             2026-01-31T12:00:00Z",
        )
    };
    let (date, rest) = text.split_at_checked(10).ok_or_else(unknown)?;
    let [year, month, day] = numbers(date, '-').ok_or_else(unknown)?;
    if year == 0 || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return Err(unknown());
    }
    if rest.is_empty() {
        // In a column of times a date is the first moment of its day, in one of dates the whole day.
        return match sign {
            Sign::Less | Sign::GreaterOrEqual => Ok(date.to_owned()),
            _ => Err(refused(
                format!("a date after {}", sign.text()),
                "give the time of day too, as '2026-01-31 00:00:00', or use >= and < with dates",
            )),
        };
    }
    let is_utc = rest.starts_with('T') || rest.ends_with('Z');
    let clock = rest.strip_prefix(['T', ' ']).ok_or_else(unknown)?;
    let clock = clock.strip_suffix('Z').unwrap_or(clock).trim_end();
    let (clock, fraction) = clock.split_once('.').unwrap_or((clock, "0"));
    let clock = if clock.len() == 5 { format!("{clock}:00") } else { clock.to_owned() };
    let [hour, minute, second] = numbers(&clock, ':').ok_or_else(unknown)?;
    let is_fraction = !fraction.is_empty() && fraction.chars().all(|c| c.is_ascii_digit());
    let (micros, finer) = fraction.split_at_checked(6).unwrap_or((fraction, ""));
    if hour > 23 || minute > 59 || second > 59 || !is_fraction || finer.contains(|c| c != '0') {
        return Err(unknown());
    }
    Ok(match is_utc {
        true => format!("{date}T{clock}.{micros:0<6}Z"),
        false => format!("{date} {clock}.{micros:0<6}"),
    })
}

/// Three numbers with signs between them; all but the first have two digits.
fn numbers(text: &str, between: char) -> Option<[u32; 3]> {
    let parts: Vec<_> = text.split(between).collect();
    let is_number =
        |part: &&str| matches!(part.len(), 2 | 4) && part.chars().all(|c| c.is_ascii_digit());
    match parts.iter().all(is_number) {
        true => {
            parts.iter().filter_map(|part| part.parse().ok()).collect::<Vec<_>>().try_into().ok()
        }
        false => None,
    }
}
