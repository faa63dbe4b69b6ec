//! What stands after SELECT: columns, the aggregates that EdgeLake puts together rightly from several
//! operators, and spans of time that are all of one length.

use datafusion::sql::sqlparser::ast::{
    CastKind, DuplicateTreatment, Expr, Function, FunctionArg, FunctionArgExpr,
    FunctionArgumentList, FunctionArguments,
};

use crate::sql::dialect::calls::call;
use crate::sql::dialect::casts::own;
use crate::sql::dialect::edgelake::Refused;
use crate::sql::dialect::edgelake::refused;
use crate::sql::dialect::edgelake::value::{column, span};
use crate::sql::dialect::tokens::OwnCast;

/// The aggregates.
const AGGREGATES: [&str; 6] = ["count", "sum", "avg", "min", "max", "range"];

/// How many decimals a number may be shown with.
const DECIMALS_MAX: u32 = 15;

/// A thing that is asked for.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Item {
    /// As it is asked for.
    pub(super) text: String,
    pub(super) what: What,
}

/// What it is.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum What {
    Column(String),
    Aggregate {
        /// Whether it is a number, of which EdgeLake's empty text is none.
        is_number: bool,
    },
    /// `count(DISTINCT …)`.
    CountDistinct,
    /// `increments(…)` of this column.
    Increments(String),
}

impl What {
    /// Whether several rows become one.
    pub(super) fn is_computed(&self) -> bool {
        !matches!(self, Self::Column(_))
    }

    pub(super) fn is_aggregate(&self) -> bool {
        matches!(self, Self::Aggregate { .. })
    }
}

impl Item {
    pub(super) fn column(name: &str) -> Self {
        Self { text: name.to_owned(), what: What::Column(name.to_owned()) }
    }

    pub(super) fn aggregate(function: &str, argument: &str) -> Self {
        let is_number = matches!(function, "count" | "sum" | "avg" | "range");
        Self { text: format!("{function}({argument})"), what: What::Aggregate { is_number } }
    }
}

/// Reads an expression after SELECT.
pub(super) fn item(expr: &Expr, tables: &[String], casts: &[OwnCast]) -> Result<Item, Refused> {
    if let Some(column) = column(expr, tables)? {
        return Ok(Item::column(&column));
    }
    match expr {
        Expr::Nested(inner) => item(inner, tables, casts),
        Expr::Cast { kind: CastKind::DoubleColon, expr: inner, data_type, .. } => {
            let cast = own(data_type, casts).and_then(cast);
            let cast = cast.ok_or_else(|| unknown(expr, "the casts ::int and ::float(2)"))?;
            let inner = item(inner, tables, casts)?;
            match inner.what {
                What::Column(_) | What::Aggregate { .. } if !inner.text.contains(':') => {
                    Ok(Item { text: format!("{}{cast}", inner.text), ..inner })
                }
                _ => Err(unknown(expr, "one cast of a column or an aggregate")),
            }
        }
        Expr::Function(function) => match call(expr, "increments") {
            Some(call) => increments(&call.arguments, tables),
            None => aggregate(function, expr, tables),
        },
        _ => Err(unknown(expr, "columns and aggregates of columns")),
    }
}

fn unknown(expr: &Expr, known: &str) -> Refused {
    refused(
        format!("\"{expr}\""),
        format!(
            "EdgeLake would leave a part of it out and answer all the same; it answers {known} (count, \
             sum, avg, min, max, range): ask for those and compute with what comes back"
        ),
    )
}

fn cast(cast: &OwnCast) -> Option<String> {
    match (cast.name, cast.text.as_deref()) {
        ("int", None) => Some("::int".into()),
        ("float", Some(decimals)) => {
            let decimals = decimals.parse::<u32>().ok().filter(|d| *d <= DECIMALS_MAX)?;
            Some(format!("::float({decimals})"))
        }
        _ => None,
    }
}

fn aggregate(function: &Function, expr: &Expr, tables: &[String]) -> Result<Item, Refused> {
    let refuse = || unknown(expr, "columns and aggregates of columns");
    let Function {
        name,
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: FunctionArguments::List(FunctionArgumentList { duplicate_treatment, args, clauses }),
        filter: None,
        null_treatment: None,
        over: None,
        within_group,
    } = function
    else {
        return Err(refuse());
    };
    let name = name.to_string().to_lowercase();
    let name = AGGREGATES.into_iter().find(|known| *known == name).ok_or_else(refuse)?;
    let [FunctionArg::Unnamed(argument)] = args.as_slice() else { return Err(refuse()) };
    if !clauses.is_empty() || !within_group.is_empty() {
        return Err(refuse());
    }
    let is_distinct = match duplicate_treatment {
        None | Some(DuplicateTreatment::All) => false,
        Some(DuplicateTreatment::Distinct) => true,
    };
    let argument = match argument {
        FunctionArgExpr::Wildcard if name == "count" && !is_distinct => "*".to_owned(),
        FunctionArgExpr::Expr(expr) => column(expr, tables)?.ok_or_else(refuse)?,
        _ => return Err(refuse()),
    };
    match is_distinct {
        false => Ok(Item::aggregate(name, &argument)),
        true if name == "count" => {
            Ok(Item { text: format!("count(distinct {argument})"), what: What::CountDistinct })
        }
        true => Err(refuse()),
    }
}

/// Spans of time. EdgeLake divides the hour of the day, the day of the month and so on by the count, so
/// that only some counts give spans of one length.
fn increments(arguments: &[Expr], tables: &[String]) -> Result<Item, Refused> {
    let wrong = || refused("this increments(…)", "write it as increments(UNIT, COUNT, COLUMN)");
    let [unit, count, time] = arguments else { return Err(wrong()) };
    let (unit, count) = span(unit, count).ok_or_else(wrong)?;
    let time = column(time, tables)?.ok_or_else(wrong)?;
    let whole = match unit {
        "second" | "minute" => 60,
        "hour" => 24,
        "day" | "month" | "year" => 1,
        _ => 0,
    };
    if whole % count != 0 || whole == 0 {
        return Err(refused(
            format!("spans of {count} {unit}s"),
            "EdgeLake makes spans of unequal length of them: use 1 day, month or year, or seconds, \
             minutes or hours that divide a minute, an hour or a day",
        ));
    }
    let text = format!("increments({unit}, {count}, {time})");
    Ok(Item { text, what: What::Increments(time) })
}
