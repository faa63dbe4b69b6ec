//! EdgeLake's casts: `avg(value)::float(2)`, `max(timestamp)::ljust(19)`, `x::format(':,')`.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    CastKind, DataType, ExactNumberInfo, Expr, Query, VisitMut, VisitorMut,
};

use super::period::parse_expr;
use crate::sql::error::Error;

/// Replaces EdgeLake's casts in a query by functions.
pub(super) fn expand(query: &mut Query) -> Result<(), Error> {
    let mut replace = Replace { failed: None };
    let _ = query.visit(&mut replace);
    match replace.failed {
        Some(error) => Err(error),
        None => Ok(()),
    }
}

struct Replace {
    failed: Option<Error>,
}

impl VisitorMut for Replace {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        let Expr::Cast { kind: CastKind::DoubleColon, expr: value, data_type, .. } = expr else {
            return ControlFlow::Continue(());
        };
        match replacement(value, data_type) {
            Ok(Some(replaced)) => *expr = replaced,
            Ok(None) => {}
            Err(error) => {
                self.failed = Some(error);
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    }
}

/// What a cast of EdgeLake's means; none when it is one of SQL's own.
fn replacement(value: &Expr, data_type: &DataType) -> Result<Option<Expr>, Error> {
    let text = match data_type {
        DataType::Float(ExactNumberInfo::Precision(digits)) => {
            format!("round(cast({value} as double precision), {digits})")
        }
        DataType::Float(_) => format!("cast({value} as double precision)"),
        DataType::Int(_) | DataType::Integer(_) => format!("cast({value} as bigint)"),
        DataType::Custom(name, arguments) => {
            match custom(value, &name.to_string().to_lowercase(), arguments)? {
                Some(text) => text,
                None => return Ok(None),
            }
        }
        _ => return Ok(None),
    };
    parse_expr(&text).map(Some)
}

fn custom(value: &Expr, name: &str, arguments: &[String]) -> Result<Option<String>, Error> {
    let argument = arguments.first().map(|argument| argument.trim_matches('\''));
    let need = |what: &str| {
        argument.ok_or_else(|| Error::Function {
            name: "a cast",
            reason: format!("::{name} needs {what} in parentheses"),
        })
    };
    let quoted = |text: &str| format!("'{}'", text.replace('\'', "''"));
    let width = || {
        let width = need("a number")?;
        width.parse::<u16>().map_err(|_| Error::Function {
            name: "a cast",
            reason: format!("\"{width}\" is not a width for ::{name}"),
        })
    };
    let name = name.strip_prefix("edgelake_").unwrap_or(name);
    Ok(Some(match name {
        "str" => format!("cast({value} as varchar)"),
        "ljust" => format!("rpad(cast({value} as varchar), {})", width()?),
        "rjust" => format!("lpad(cast({value} as varchar), {})", width()?),
        "format" => format!("format_number({value}, {})", quoted(need("a format")?)),
        "datetime" => format!("to_char({value}, {})", quoted(need("a format")?)),
        "timezone" => {
            let zone = quoted(need("a time zone")?);
            format!("to_local_time(({value} at time zone 'UTC') at time zone {zone})")
        }
        "timediff" => {
            let other = need("a time")?;
            format!("(({other}) - {value})")
        }
        _ => return Ok(None),
    }))
}
