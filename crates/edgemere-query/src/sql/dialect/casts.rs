//! EdgeLake's casts: `avg(value)::float(2)`, `max(timestamp)::ljust(19)`, `x::int::format(':,')`.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    CastKind, DataType, ExactNumberInfo, Expr, Query, VisitMut, VisitorMut,
};
use datafusion::sql::sqlparser::tokenizer::Token;

use crate::sql::dialect::build;
use crate::sql::dialect::tokens::{OWN_CAST, OWN_CASTS, OwnCast};
use crate::sql::error::Error;
use crate::sql::functions::{check_number_format, check_time_format};
use crate::sql::nearest;
use crate::sql::output::zone::Zone;

/// Replaces EdgeLake's casts in a query by functions.
pub(super) fn expand(query: &mut Query, casts: &[OwnCast]) -> Result<(), Error> {
    match query.visit(&mut Replace { casts }) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(*error),
    }
}

/// The cast that a type stands for; none when it is one of SQL's own.
pub(super) fn own<'a>(data_type: &DataType, casts: &'a [OwnCast]) -> Option<&'a OwnCast> {
    let DataType::Custom(name, arguments) = data_type else { return None };
    let [place] = arguments.as_slice() else { return None };
    let is_own = name.to_string() == OWN_CAST;
    is_own.then(|| casts.get(place.parse::<usize>().ok()?)).flatten()
}

struct Replace<'a> {
    casts: &'a [OwnCast],
}

impl VisitorMut for Replace<'_> {
    type Break = Box<Error>;

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Box<Error>> {
        let Expr::Cast { expr: value, data_type, kind, .. } = expr else {
            return ControlFlow::Continue(());
        };
        let value = value.as_ref().clone();
        let replaced = match (own(data_type, self.casts), &data_type) {
            (Some(cast), _) => self.replacement(value, cast),
            (None, DataType::Custom(name, _)) => Err(unknown(&name.to_string(), kind)),
            _ => return ControlFlow::Continue(()),
        };
        match replaced {
            Ok(replaced) => {
                *expr = replaced;
                ControlFlow::Continue(())
            }
            Err(error) => ControlFlow::Break(Box::new(error)),
        }
    }
}

fn unknown(name: &str, kind: &CastKind) -> Error {
    let casts = OWN_CASTS.into_iter().filter(|_| *kind == CastKind::DoubleColon);
    Error::UnknownCast { cast: name.to_owned(), near: nearest(name, casts) }
}

impl Replace<'_> {
    fn replacement(&mut self, value: Expr, cast: &OwnCast) -> Result<Expr, Error> {
        Ok(match cast.name {
            "int" => build::cast(value, DataType::BigInt(None)),
            "float" => float(value, cast)?,
            "str" => text_of(value),
            "ljust" => build::call("rpad", vec![text_of(value), width(cast)?]),
            "rjust" => {
                let width = width(cast)?;
                let end = build::call("right", vec![text_of(value), width.clone()]);
                build::call("lpad", vec![end, width])
            }
            "lstrip" => build::call("ltrim", vec![text_of(value)]),
            "rstrip" => build::call("rtrim", vec![text_of(value)]),
            "format" => {
                let format = need(cast, "a format, as in ::format(':,')")?;
                check_number_format(&format).map_err(|reason| fail(cast, reason))?;
                build::call("format_value", vec![value, build::text(format)])
            }
            "datetime" => {
                let format = need(cast, "a format, as in ::datetime('%Y-%m-%d')")?;
                check_time_format(&format).map_err(|reason| fail(cast, reason))?;
                build::call("format_time", vec![value, build::text(format)])
            }
            "timezone" => in_zone(value, cast)?,
            "timediff" => build::call("time_difference", vec![value, self.time(cast)?]),
            "replace" => replaced(value, cast)?,
            _ => {
                let reason = "EdgeLake runs it as Python; write the expression itself, as in \
                              value * 2";
                return Err(fail(cast, reason.into()));
            }
        })
    }

    /// The time that `timediff` compares with: any expression.
    fn time(&mut self, cast: &OwnCast) -> Result<Expr, Error> {
        let is_missing = cast.arguments.is_empty();
        let missing = || fail(cast, "it needs a time, as in ::timediff(now())".into());
        let mut parser =
            crate::sql::dialect::parser().with_tokens_with_locations(cast.arguments.clone());
        if is_missing {
            return Err(missing());
        }
        let parsed = parser.parse_expr();
        let mut time =
            parsed.map_err(|error| fail(cast, crate::sql::dialect::parser_message(&error)))?;
        if parser.peek_token().token != Token::EOF {
            return Err(missing());
        }
        match time.visit(self) {
            ControlFlow::Continue(()) => Ok(time),
            ControlFlow::Break(error) => Err(*error),
        }
    }
}

fn fail(cast: &OwnCast, reason: String) -> Error {
    Error::Cast { name: cast.name, reason, position: cast.position }
}

/// What stands in the parentheses, without the quotes around it.
fn need(cast: &OwnCast, what: &str) -> Result<String, Error> {
    let text = cast.text.as_deref().filter(|text| !text.is_empty());
    let text = text.ok_or_else(|| fail(cast, format!("it needs {what}")))?;
    let quoted = |quote| text.strip_prefix(quote)?.strip_suffix(quote);
    Ok(match (quoted('\''), quoted('"')) {
        (Some(inner), _) => inner.replace("''", "'"),
        (None, Some(inner)) => inner.to_owned(),
        (None, None) => text.to_owned(),
    })
}

fn text_of(value: Expr) -> Expr {
    build::cast(value, DataType::Varchar(None))
}

/// `::float`, `::float(2)`, and `::float(%2)` with commas between the thousands.
fn float(value: Expr, cast: &OwnCast) -> Result<Expr, Error> {
    let value = build::cast(value, DataType::Double(ExactNumberInfo::None));
    let Some(text) = &cast.text else { return Ok(value) };
    let (digits, has_commas) = match text.strip_prefix('%') {
        Some(digits) => (digits, true),
        None => (text.as_str(), false),
    };
    let number = digits.parse::<u8>().ok().filter(|digits| *digits <= 15);
    let digits = number
        .ok_or_else(|| fail(cast, format!("\"{digits}\" is not a number of digits, 0 to 15")))?;
    let rounded = build::call("round", vec![value, build::number(digits)]);
    Ok(match has_commas {
        true => build::call("format_value", vec![rounded, build::text(format!(":,.{digits}f"))]),
        false => rounded,
    })
}

/// How wide a text is made.
fn width(cast: &OwnCast) -> Result<Expr, Error> {
    let width = need(cast, "a width, as in ::ljust(10)")?;
    let number = width.parse::<u16>().ok();
    let number = number.ok_or_else(|| fail(cast, format!("\"{width}\" is not a width")))?;
    Ok(build::number(number))
}

/// The same moment, shown in a zone.
fn in_zone(value: Expr, cast: &OwnCast) -> Result<Expr, Error> {
    let zone = Zone::named(&need(cast, "a time zone, as in ::timezone('Europe/Rome')")?)?;
    let moment = |zone: &Zone| build::text(format!("Timestamp(Microsecond, Some(\"{zone}\"))"));
    let utc = build::call("arrow_cast", vec![value, moment(&Zone::utc())]);
    Ok(build::call("arrow_cast", vec![utc, moment(&zone)]))
}

/// `::replace(old by new)`: the first of them.
fn replaced(value: Expr, cast: &OwnCast) -> Result<Expr, Error> {
    let text = need(cast, "what to replace, as in ::replace(sensor by s)")?;
    let (old, new) = text
        .split_once(" by ")
        .ok_or_else(|| fail(cast, "write it as ::replace(OLD by NEW)".into()))?;
    let arguments = vec![text_of(value), build::text(old.trim()), build::text(new.trim())];
    Ok(build::call("replace_first", arguments))
}
