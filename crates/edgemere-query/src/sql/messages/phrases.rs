//! Errors that are known by how they are phrased. A phrase that is not found any more, because the
//! library has changed it, makes a message less good and never wrong: see `super`.

use crate::sql::messages::Told;
use crate::sql::messages::is_plain;
use crate::sql::messages::kinds::same_name;
use crate::sql::messages::types::{argument, split, word, words};

const CAST: &str = "CAST(x AS TYPE) changes the type of a value";

/// Our words for a message.
pub(crate) fn told(text: &str) -> Option<Told> {
    function(text)
        .or_else(|| operator(text))
        .or_else(|| value(text))
        .or_else(|| time(text))
        .or_else(|| clause(text))
        .or_else(|| query(text))
        .or_else(|| unsupported(text))
}

/// What stands between two texts.
fn between<'a>(text: &'a str, before: &str, after: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(before)?;
    rest.split_once(after).map(|(found, _)| found)
}

/// Functions: unknown ones, and known ones with the wrong arguments.
fn function(text: &str) -> Option<Told> {
    if let Some(name) = between(text, "Invalid function '", "'") {
        return Some(unknown_function(name, between(text, "Did you mean '", "'")));
    }
    if text.starts_with("Substring without for") {
        let told = Told::new("substr takes where the part begins, too");
        return Some(told.hint("it is substr(text, number) or substr(text, number, number)"));
    }
    if let Some(told) = own_reason(text) {
        return Some(told);
    }
    // A zone has a slash in its name, and is reported all the same.
    if let Some(zone) = between(text, "there is no time zone \"", "\"") {
        let told = Told::new(format!("there is no time zone \"{zone}\""));
        return Some(told.hint("zones are called as Europe/Rome"));
    }
    let call = between(text, "No function matches the given name and argument types '", "'. ")?;
    let (name, arguments) = call.split_once('(')?;
    let arguments = arguments.strip_suffix(')').unwrap_or(arguments);
    let counts = between(text, "expects ", " arguments but received ")
        .or_else(|| between(text, "expected ", " arguments but received "));
    let is_about_types = text.contains(" requires ") || text.contains("coercion from");
    let message = if arguments.is_empty() {
        format!("{name} needs arguments")
    } else if text.contains("expected zero argument") {
        format!("{name} takes no arguments")
    } else if let (Some(count), false) = (counts, is_about_types) {
        format!("{name} takes {}, not {}", counted(count, "argument"), split(arguments).len())
    } else {
        match words(arguments) {
            Some(given) => format!("{name} cannot be applied to {}", given.join(" and ")),
            None => format!("{name} cannot be applied to these arguments"),
        }
    };
    let told = Told::new(message);
    Some(match (forms(name, text), is_about_types) {
        (Some(forms), true) => told.hint(format!("{forms}; {CAST}")),
        (Some(forms), false) => told.hint(forms),
        (None, true) => told.hint(CAST),
        (None, false) => told,
    })
}

/// A number of things.
fn counted(count: &str, what: &str) -> String {
    let plural = if count == "1" { "" } else { "s" };
    format!("{count} {what}{plural}")
}

/// How many forms of a function a hint tells.
const FORMS_MAX: usize = 4;

/// The forms that a function has, as far as they can be told.
fn forms(name: &str, text: &str) -> Option<String> {
    let (_, candidates) = text.split_once("Candidate functions:")?;
    let mut forms: Vec<String> = Vec::new();
    for line in candidates.lines() {
        let Some(arguments) = line.trim().strip_prefix(name) else { continue };
        let Some(arguments) = arguments.strip_prefix('(') else { continue };
        let arguments = split(arguments.strip_suffix(')').unwrap_or(arguments));
        let Some(words) = arguments.into_iter().map(argument).collect::<Option<Vec<_>>>() else {
            continue;
        };
        let form = format!("{name}({})", words.join(", "));
        if !words.is_empty() && !forms.contains(&form) {
            forms.push(form);
        }
    }
    forms.truncate(FORMS_MAX);
    (!forms.is_empty()).then(|| format!("it is {}", forms.join(" or ")))
}

/// Functions that are there with OVER only.
const WINDOW: [&str; 9] = [
    "row_number",
    "rank",
    "dense_rank",
    "percent_rank",
    "cume_dist",
    "ntile",
    "lag",
    "lead",
    "nth_value",
];

/// What a function says itself of the arguments that it is given, where that is plain words.
fn own_reason(text: &str) -> Option<Told> {
    let (_, reason) = text.split_once("user-defined coercion failed with: ")?;
    let reason = reason.split(" No function matches").next()?.lines().next()?;
    let reason = crate::sql::messages::without_prefixes(reason).trim_end_matches(['.', ' ']);
    crate::sql::messages::is_plain(reason).then(|| Told::new(reason))
}

fn unknown_function(name: &str, near: Option<&str>) -> Told {
    let lower = name.to_lowercase();
    if WINDOW.contains(&lower.as_str()) {
        return Told::new(format!("{lower} needs OVER (…)"))
            .hint(format!("write {lower}(…) OVER (ORDER BY …)"));
    }
    let told = Told::new(format!("no function \"{name}\""));
    // The nearest of hundreds may be far.
    let is_near = |near: &&str| strsim::levenshtein(&lower, near) <= (lower.len() / 4).max(1);
    match near.filter(is_near) {
        Some(near) => told.hint(format!("did you mean \"{near}\"?")),
        None => told,
    }
}

/// Operators between values that do not go together.
fn operator(text: &str) -> Option<Told> {
    let arithmetic = between(text, "Cannot coerce arithmetic expression ", " to valid types");
    if let Some((left, sign, right)) = arithmetic.and_then(operands) {
        return Some(
            Told::new(format!("\"{sign}\" cannot be applied to {left} and {right}")).hint(CAST),
        );
    }
    for (kind, is_comparison) in
        [("comparison", true), ("regex", false), ("logical boolean", false), ("string", false)]
    {
        let before = format!("Cannot infer common argument type for {kind} operation ");
        let Some((_, pair)) = text.split_once(&before) else { continue };
        let (left, sign, right) = operands(pair.lines().next()?)?;
        return Some(
            match is_comparison {
                true => Told::new(format!("{left} and {right} cannot be compared with \"{sign}\"")),
                false => Told::new(format!("\"{sign}\" cannot be applied to {left} and {right}")),
            }
            .hint(CAST),
        );
    }
    if let Some(pair) = between(text, "There isn't a common type to coerce ", " in ") {
        let (left, right) = pair.split_once(" and ")?;
        let (left, right) = (word(left)?, word(right)?);
        let told = Told::new(format!("LIKE compares text with text, not {left} with {right}"));
        return Some(told.hint(CAST));
    }
    if let Some(pair) = text.strip_prefix("expr type ") {
        let (left, rest) = pair.split_once(" can't cast to ")?;
        let (left, right) = (word(left)?, word(rest.split(' ').next()?)?);
        return Some(Told::new(format!("{left} and {right} cannot be compared")).hint(CAST));
    }
    if text.starts_with("Unary operator 'NOT'") {
        let given = text.rsplit("got ").next().and_then(word).unwrap_or("this");
        return Some(Told::new(format!("NOT cannot be applied to {given}")).hint(CAST));
    }
    let sign = between(text, "Unary operator '", "' only supports")?;
    Some(Told::new(format!("\"{sign}\" cannot be applied to a value of this type")).hint(CAST))
}

/// `Timestamp(µs) + Int64`: what stands on both sides, and what stands between.
fn operands(text: &str) -> Option<(&'static str, &str, &'static str)> {
    let (left, rest) = text.trim().split_once(' ')?;
    let (sign, right) = rest.rsplit_once(' ')?;
    Some((word(left)?, sign, word(right)?))
}

/// Values that are not what they should be.
fn value(text: &str) -> Option<Told> {
    if let Some(found) = between(text, "Error parsing timestamp from '", "' using format '") {
        let format = between(text, "' using format '", "'").unwrap_or_default();
        return Some(Told::new(format!("'{found}' is not a timestamp of the format '{format}'")));
    }
    if let Some(found) = between(text, "Error parsing timestamp from '", "':") {
        let told = Told::new(format!("'{found}' is not a timestamp"));
        return Some(told.hint("write it as '2026-01-31 12:00:00'"));
    }
    let quoted = between(text, "Cannot cast string '", "' to value of ")
        .or_else(|| between(text, "Cannot cast value '", "' to value of "));
    if let Some(found) = quoted {
        let kind = text.rsplit("' to value of ").next().and_then(word).unwrap_or("of this type");
        let told = Told::new(format!("'{found}' is not {kind}"));
        return Some(told.hint("TRY_CAST(x AS TYPE) gives NULL for what does not fit"));
    }
    if let Some((found, kind)) =
        text.strip_prefix("Can't cast value ").and_then(|rest| rest.split_once(" to type "))
    {
        let kind = word(kind).unwrap_or("this type");
        let told = Told::new(format!("{found} is out of the range of {kind} of this size"));
        return Some(told.hint("TRY_CAST(x AS TYPE) gives NULL for what does not fit"));
    }
    if let Some((found, digits)) = text.split_once(" is too large to store in a Decimal") {
        let digits = between(digits, "of precision ", ".")?;
        return Some(Told::new(format!("{found} does not fit in a decimal of {digits} digits")));
    }
    if text.starts_with("Decimal(precision") {
        let told = Told::new("a decimal cannot have so many digits");
        return Some(told.hint("DECIMAL(p, s) has up to 38 digits, and s of them after the point"));
    }
    if text.starts_with("Unable to cast to Date") {
        let told = Told::new("a value is not a date");
        return Some(told.hint("write it as '2026-01-31'"));
    }
    None
}

/// Times and their parts that are none, and results that are too large.
fn time(text: &str) -> Option<Told> {
    if let Some(zone) = between(text, "Invalid timezone \"", "\"") {
        let told = Told::new(format!("no time zone '{zone}'"));
        return Some(told.hint("use a name as 'Europe/Rome', or an offset as '+02:00'"));
    }
    if let Some(found) = between(text, "Invalid input syntax for type interval: \"", "\"") {
        let told = Told::new(format!("'{found}' is not an interval"));
        return Some(told.hint("write it as INTERVAL '1 day' or INTERVAL '90 minutes'"));
    }
    if text == "Format error" {
        return Some(Told::new("the format of a time is not one"));
    }
    if let Some(unit) = between(text, "Unsupported date_trunc granularity: '", "'") {
        let units = text.rsplit("are: ").next().filter(|units| is_plain(units));
        let told = Told::new(format!("date_trunc has no unit '{unit}'"));
        return Some(told.hint(format!("the units are {}", units.unwrap_or_default())));
    }
    if let Some(part) = between(text, "Date part '", "' not supported") {
        let parts = "year, quarter, month, week, day, dow, doy, hour, minute, second, epoch";
        let told = Told::new(format!("a time has no part '{part}'"));
        return Some(told.hint(format!("the parts are {parts}")));
    }
    if let Some(name) = between(text, "Unsupported type '", "'") {
        return Some(Told::new(format!("no type '{name}'")));
    }
    if text.ends_with("converted value exceeds the representable i64 range") {
        return Some(
            Told::new("a time is out of range").hint("times are of the years 1677 to 2262"),
        );
    }
    // In our own words already, of which the sign of a division is not plain.
    if text.contains(" out of range: ") && text.contains("; ") {
        return Some(Told::new(text));
    }
    let lower = text.to_lowercase();
    if lower.contains("overflow") && !lower.contains("on overflow") {
        let told = Told::new("a result is out of range");
        return Some(told.hint("CAST(x AS DOUBLE PRECISION) has a wider range"));
    }
    let value = text.strip_prefix("Percentile value must be between 0.0 and 1.0 inclusive, ")?;
    let value = value.split(' ').next()?;
    Some(Told::new(format!("a percentile is a number from 0 to 1, not {value}")))
}

/// Clauses that are not as they should be.
fn clause(text: &str) -> Option<Told> {
    if text.starts_with("Column in SELECT must be in GROUP BY") {
        let column = between(text, "column \"", "\"").map(own_name).unwrap_or_default();
        let told = Told::new(format!("\"{column}\" is neither in GROUP BY nor in an aggregate"));
        return Some(
            told.hint(format!("write GROUP BY {column}, or an aggregate as max({column})")),
        );
    }
    if text.starts_with("HAVING clause references") || text.starts_with("Column in HAVING must be")
    {
        let told =
            Told::new("HAVING has something that is neither in GROUP BY nor in an aggregate");
        return Some(told.hint("conditions on single rows stand in WHERE"));
    }
    if text.starts_with("Column in ORDER BY must be in GROUP BY") {
        return Some(Told::new(
            "ORDER BY has something that is neither in GROUP BY nor in an aggregate",
        ));
    }
    if text.starts_with("Projections require unique expression names") {
        let first = between(text, "the expression \"", "\" at position ")?;
        return Some(same_name(
            first.rsplit_once(" AS ").map_or(own_name(first), |(_, name)| name),
        ));
    }
    if text.starts_with("Aggregate functions are not allowed in the WHERE") {
        return Some(Told::new("an aggregate cannot stand in WHERE").hint("put it into HAVING"));
    }
    if text.starts_with("Aggregate function calls cannot be nested") {
        let told = Told::new("an aggregate cannot stand inside of another");
        return Some(told.hint("compute the inner one in a subquery"));
    }
    for word in ["LIMIT", "OFFSET"] {
        if text.starts_with(&format!("{word} must be"))
            || text.starts_with(&format!("Expected {word}"))
            || text.starts_with(&format!("Unsupported {word} expression"))
        {
            return Some(Told::new(format!("{word} is a whole number that is not negative")));
        }
    }
    if let Some(rest) = text.strip_prefix("Order by column out of bounds, specified: ") {
        let (place, columns) = rest.split_once(", max: ")?;
        return Some(Told::new(format!(
            "ORDER BY {place}: the result has {}",
            counted(columns, "column")
        )));
    }
    if let Some(rest) = text.strip_prefix("Cannot find column with position ") {
        let (place, columns) = rest.split_once(" in SELECT clause. Valid columns: 1 to ")?;
        return Some(Told::new(format!(
            "GROUP BY {place}: the result has {}",
            counted(columns, "column")
        )));
    }
    if let Some((_, kind)) = text.split_once("' returning ") {
        let kind = word(kind)?;
        return Some(Told::new(format!("a condition is true or false, not {kind}")));
    }
    if text.starts_with("For SELECT DISTINCT, ORDER BY expressions") {
        return Some(Told::new("with DISTINCT, ORDER BY has only what stands after SELECT"));
    }
    if let Some(window) = between(text, "The window ", " is not defined") {
        let told = Told::new(format!("no window \"{window}\""));
        return Some(
            told.hint(format!("define it: WINDOW {window} AS (PARTITION BY … ORDER BY …)")),
        );
    }
    None
}

/// Whole queries, and the tables in them.
fn query(text: &str) -> Option<Told> {
    if text.contains("different number of columns")
        || text.contains("must have the same number of columns")
    {
        return Some(Told::new(
            "the queries of a UNION, EXCEPT or INTERSECT have different numbers of columns",
        ));
    }
    if text.starts_with("Scalar subquery returned more than one row") {
        let told = Told::new("a subquery that stands for one value has more than one row");
        return Some(told.hint("write LIMIT 1 in it, or an aggregate"));
    }
    if text.starts_with("Too many columns! The subquery") {
        return Some(Told::new("a subquery that stands for one value has more than one column"));
    }
    if let Some(name) = text.strip_prefix("Invalid qualifier ") {
        let told = Told::new(format!("no table \"{}\" in the query", own_name(name)));
        return Some(told.hint("use the name that stands in FROM"));
    }
    if let Some(name) = between(text, "Unsupported compound identifier '", "'") {
        let told = Told::new(format!("the name \"{name}\" has too many parts"));
        return Some(told.hint("write DATABASE.TABLE, or DATABASE.TABLE.COLUMN"));
    }
    if let Some(name) = between(text, "Placeholder '", "' was not provided") {
        return Some(Told::new(format!("the parameter {name} has no value")));
    }
    if let Some(name) = between(text, "WITH query name \"", "\" specified more than once") {
        return Some(Told::new(format!("WITH has two queries of the name \"{name}\"")));
    }
    if text.starts_with("Inconsistent data length across values list") {
        return Some(Told::new("the rows of VALUES have different numbers of values"));
    }
    if let Some(rest) = text.strip_prefix("Source table contains ") {
        let (columns, names) = rest.split_once(" columns but only ")?;
        let names = names.split(' ').next()?;
        return Some(Told::new(format!(
            "the table has {}, and {} stand after it",
            counted(columns, "column"),
            counted(names, "name")
        )));
    }
    if text.contains(" to grouping function is not in grouping columns") {
        return Some(Told::new("grouping takes a column that stands in GROUP BY"));
    }
    if text.starts_with("unnest() can only be applied to") {
        return Some(Told::new("unnest takes a list"));
    }
    if text == "EXCLUDE or EXCEPT contains duplicate column names" {
        return Some(Told::new("EXCLUDE names a column twice"));
    }
    if text.starts_with("Only UTF8 keys supported by JSON") {
        return Some(Told::new("JSON has maps with texts as keys only"));
    }
    let kind = between(text, "Cannot access field at argument 1: type ", " is not")?;
    Some(Told::new(format!("{} has no fields", word(kind)?)))
}

/// What there is not.
fn unsupported(text: &str) -> Option<Told> {
    if let Some(sign) = between(text, "Operator ", " is not yet supported") {
        return Some(Told::new(format!("the operator \"{sign}\" is not supported here")));
    }
    if let Some(rest) = text.strip_prefix("Physical plan does not support logical expression ") {
        return Some(match rest.starts_with("WindowFunction") {
            true => Told::new("a function with OVER cannot stand here")
                .hint("compute it in a subquery, and use its column outside"),
            false => Told::new("a subquery cannot stand here").hint("write it as a join"),
        });
    }
    if text == "TOP" {
        return Some(Told::new("TOP is not supported").hint("write LIMIT n at the end"));
    }
    if let Some(rest) = text.strip_prefix("Unsupported ast node ") {
        let name: String = rest.chars().take_while(char::is_ascii_alphabetic).collect();
        return Some(Told::new(format!("{} is not supported", name.to_uppercase())));
    }
    if text.starts_with("Dot access not supported") {
        let told = Told::new("a field of a value cannot be had with \".\" here");
        return Some(told.hint("write value['field']"));
    }
    if text.starts_with("Binary operator '") || text.starts_with("Unsupported SQL unary operator") {
        return Some(Told::new("an operator of the query is not supported"));
    }
    None
}

/// A column's name without its table's.
fn own_name(name: &str) -> &str {
    match name.contains(['(', ' ']) {
        true => name,
        false => name.rsplit('.').next().unwrap_or(name).trim_matches('"'),
    }
}
