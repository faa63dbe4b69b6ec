//! Types, of which the library's messages have only the names.

/// What a type is called for people. None for what is no name of a type.
pub(crate) fn word(name: &str) -> Option<&'static str> {
    let name = name.trim().trim_end_matches('.').trim();
    let is = |prefixes: &[&str]| prefixes.iter().any(|prefix| name.starts_with(prefix));
    Some(match name {
        _ if is(&["Dictionary("]) => word(name.split_once(',')?.1.trim_end_matches(')'))?,
        _ if is(&["Utf8", "LargeUtf8", "String"]) => "text",
        _ if is(&["Int", "UInt"]) && !is(&["Interval"]) => "a whole number",
        _ if is(&["Float", "Numeric"]) => "a number",
        _ if is(&["Decimal"]) => "a decimal",
        _ if is(&["Timestamp"]) => "a timestamp",
        _ if is(&["Date"]) => "a date",
        _ if is(&["Time"]) => "a time",
        _ if is(&["Boolean"]) => "a boolean",
        _ if is(&["Interval", "Duration"]) => "an interval",
        _ if is(&["List", "LargeList", "FixedSizeList", "ListView"]) => "a list",
        _ if is(&["Struct"]) => "a struct",
        _ if is(&["Map"]) => "a map",
        _ if is(&["Null"]) => "NULL",
        _ if is(&["Binary", "LargeBinary", "FixedSizeBinary"]) => "binary",
        _ => return None,
    })
}

/// The types of a list, with commas between them.
pub(crate) fn words(names: &str) -> Option<Vec<&'static str>> {
    split(names).into_iter().map(word).collect()
}

/// A list at its commas that are in no parentheses.
pub(crate) fn split(list: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0_usize, 0);
    for (place, c) in list.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.extend(list.get(start..place));
                start = place + 1;
            }
            _ => {}
        }
    }
    parts.extend(list.get(start..).filter(|rest| !rest.trim().is_empty()));
    parts
}

/// The word of an argument in the form of a function: `number` of `Float64`.
pub(crate) fn argument(name: &str) -> Option<&'static str> {
    let name = name.rsplit(": ").next().unwrap_or(name).trim();
    let first = name.split(['/', '(']).next().unwrap_or(name);
    Some(match first {
        "Any" => "value",
        "array" => "list",
        "index" | "Integer" => "number",
        "Timestamp" | "Date" => "timestamp",
        _ => match word(first)? {
            "a whole number" | "a number" | "a decimal" => "number",
            "a timestamp" | "a date" => "timestamp",
            "a time" => "time",
            "a boolean" => "boolean",
            "an interval" => "interval",
            "a list" => "list",
            "text" => "text",
            "binary" => "binary",
            _ => return None,
        },
    })
}
