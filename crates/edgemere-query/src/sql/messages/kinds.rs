//! Errors that are known by their kind.

use arrow::error::ArrowError;
use datafusion::common::SchemaError;
use datafusion::error::DataFusionError;

use crate::sql::messages::Told;

/// The message of an error of a known kind.
pub(crate) fn told(root: &DataFusionError) -> Option<Told> {
    match root {
        DataFusionError::SchemaError(error, _) => Some(schema(error)),
        DataFusionError::ArrowError(error, _) => arrow(error),
        DataFusionError::ResourcesExhausted(_) => {
            Some(Told::new("the query needs more memory than it may have"))
        }
        DataFusionError::External(error) => pattern(&error.to_string()),
        DataFusionError::ObjectStore(_)
        | DataFusionError::ParquetError(_)
        | DataFusionError::IoError(_) => Some(Told::new("rows cannot be read from the disk")),
        _ => None,
    }
}

fn arrow(error: &ArrowError) -> Option<Told> {
    match error {
        ArrowError::DivideByZero => Some(
            Told::new("division by zero").hint("NULLIF(x, 0) gives NULL in the place of a zero"),
        ),
        ArrowError::ArithmeticOverflow(text) => {
            let terms =
                text.rsplit(": ").next().filter(|terms| crate::sql::messages::is_plain(terms));
            let what = match terms.filter(|terms| terms.contains(char::is_numeric)) {
                Some(terms) => format!("the result of {terms} is out of range"),
                None => "a result is out of range".to_owned(),
            };
            Some(Told::new(what).hint("CAST(x AS DOUBLE PRECISION) has a wider range"))
        }
        ArrowError::ExternalError(error) => pattern(&error.to_string()),
        ArrowError::MemoryError(_) => {
            Some(Told::new("the query needs more memory than it may have"))
        }
        _ => None,
    }
}

/// A regular expression that is none. What is wrong with it stands on the last line.
fn pattern(text: &str) -> Option<Told> {
    if !text.contains("regex") {
        return None;
    }
    let reason = text.lines().rev().find_map(|line| line.trim().strip_prefix("error: "));
    let reason = reason.filter(|reason| crate::sql::messages::is_plain(reason));
    let what = "the pattern is not a regular expression";
    Some(match reason {
        Some(reason) => Told::new(format!("{what}: {reason}")),
        None => Told::new(what),
    })
}

fn schema(error: &SchemaError) -> Told {
    match error {
        SchemaError::AmbiguousReference { field } => {
            let name = &field.name;
            Told::new(format!("the column \"{name}\" is in more than one of the tables"))
                .hint(format!("write it with its table: TABLE.{name}"))
        }
        SchemaError::DuplicateQualifiedField { qualifier, .. } => {
            Told::new(format!("the table \"{}\" is there twice", qualifier.table()))
                .hint("give each a name of its own: FROM t AS a JOIN t AS b ON …")
        }
        SchemaError::DuplicateUnqualifiedField { name } => same_name(name),
        SchemaError::FieldNotFound { field, .. } => {
            Told::new(format!("no column \"{}\"", field.name))
        }
    }
}

/// Two results of one name.
pub(crate) fn same_name(name: &str) -> Told {
    Told::new(format!("two columns of the result are called \"{name}\""))
        .hint("give one of them another name with AS")
}
