//! How far the result of every function can outgrow its arguments, and how long it may take. What is
//! not declared here is not offered: neither `range` and `repeat`, which make as much as a number
//! says, nor what a later version of DataFusion brings.

use crate::sql::bounds::digits;
use crate::sql::bounds::estimate::{self, Arguments};
use crate::sql::bounds::matching;
use crate::sql::exact;

/// How far a result can outgrow the arguments.
#[derive(Clone, Copy, Debug)]
pub(super) enum Growth {
    /// A few bytes for each row.
    Fixed,
    /// At most so many times all arguments.
    Linear(usize),
    /// So much, by the values of the arguments.
    Estimated(fn(&Arguments<'_>) -> usize),
    /// A value of another type, which may have a size of its own.
    Cast,
}

/// How long a call may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cost {
    /// About as long as reading the arguments.
    Little,
    /// The product of the lengths of the first two texts, which have a limit.
    Texts,
    /// The product of the lengths of the first two lists.
    Lists,
    /// The text, times the pattern after it.
    Pattern,
    /// It looks by itself whether it is to stop.
    Own,
}

/// What is known of a function.
#[derive(Clone, Copy, Debug)]
pub(super) struct Declared {
    pub(super) growth: Growth,
    pub(super) cost: Cost,
}

impl Declared {
    /// Whether it can make much, or take long.
    pub(super) fn is_bounded(self) -> bool {
        !matches!(self.growth, Growth::Fixed) || self.cost != Cost::Little
    }
}

/// A few bytes for each row.
const FIXED: [&str; 104] = [
    "abs",
    "acos",
    "acosh",
    "array_any_value",
    "array_avg",
    "array_dims",
    "array_distance",
    "array_has",
    "array_length",
    "array_max",
    "array_min",
    "array_ndims",
    "array_position",
    "array_product",
    "array_sum",
    "arrow_typeof",
    "ascii",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "bit_length",
    "cardinality",
    "cbrt",
    "ceil",
    "character_length",
    "chr",
    "contains",
    "cos",
    "cosh",
    "cosine_distance",
    "cot",
    "current_date",
    "current_time",
    "date_bin",
    "date_part",
    "date_trunc",
    "degrees",
    "empty",
    "ends_with",
    "exp",
    "factorial",
    "find_in_set",
    "floor",
    "from_unixtime",
    "gcd",
    "get_field",
    "inner_product",
    "isnan",
    "iszero",
    "lcm",
    "ln",
    "log",
    "log10",
    "log2",
    "make_date",
    "make_time",
    "nanvl",
    "now",
    "nullif",
    "octet_length",
    "pi",
    "power",
    "radians",
    "random",
    "round",
    "signum",
    "sin",
    "sinh",
    "sqrt",
    "starts_with",
    "strpos",
    "tan",
    "tanh",
    "time_bin",
    "time_difference",
    "to_date",
    "to_hex",
    "to_local_time",
    "to_time",
    "to_timestamp",
    "to_timestamp_micros",
    "to_timestamp_millis",
    "to_timestamp_nanos",
    "to_timestamp_seconds",
    "to_unixtime",
    "trunc",
    "uuid",
    "version",
    "array_add",
    "array_subtract",
    "array_scale",
    "array_normalize",
    "interpolate",
    "json_array_length",
    "json_contains",
    "json_get_bool",
    "json_get_float",
    "json_get_int",
    "json_typeof",
    "locf",
    "time_bucket",
    "time_bucket_gapfill",
];

/// No more than the arguments, or a few times as much.
const LINEAR: [(&str, usize); 64] = [
    ("array_append", 2),
    ("array_compact", 2),
    ("array_concat", 2),
    ("array_distinct", 2),
    ("array_element", 1),
    ("array_except", 2),
    ("array_first", 1),
    ("array_intersect", 2),
    ("array_pop_back", 2),
    ("array_pop_front", 2),
    ("array_positions", 8),
    ("array_prepend", 2),
    ("array_remove", 2),
    ("array_remove_all", 2),
    ("array_remove_n", 2),
    ("array_replace", 2),
    ("array_reverse", 2),
    ("array_slice", 2),
    ("array_sort", 2),
    ("array_union", 2),
    ("btrim", 1),
    ("coalesce", 1),
    ("concat", 1),
    ("flatten", 2),
    ("format_time", 16),
    ("greatest", 1),
    ("initcap", 3),
    ("least", 1),
    ("left", 1),
    ("lower", 3),
    ("ltrim", 1),
    ("make_array", 2),
    ("map", 3),
    ("map_entries", 2),
    ("map_extract", 2),
    ("map_keys", 2),
    ("map_values", 2),
    ("named_struct", 2),
    ("nvl", 1),
    ("nvl2", 1),
    ("overlay", 2),
    ("regexp_match", 24),
    ("replace_first", 1),
    ("reverse", 1),
    ("right", 1),
    ("rtrim", 1),
    ("split_part", 1),
    ("string_to_array", 24),
    ("struct", 2),
    ("substr", 1),
    ("substr_index", 1),
    ("to_char", 16),
    ("upper", 3),
    ("date_format", 16),
    ("decode", 2),
    ("encode", 3),
    ("json_array_elements", 8),
    ("json_array_elements_text", 8),
    ("json_extract", 1),
    ("json_extract_text", 1),
    ("json_get", 1),
    ("json_get_str", 1),
    ("json_get_text", 1),
    ("json_keys", 8),
];

/// What is known of a function, by its first name.
pub(super) fn declared(name: &str) -> Option<Declared> {
    let growth = match name {
        "lpad" | "rpad" => Growth::Estimated(estimate::padded),
        "replace" => Growth::Estimated(estimate::replaced),
        "regexp_replace" => Growth::Estimated(estimate::pattern_replaced),
        "translate" => Growth::Estimated(estimate::translated),
        "concat_ws" => Growth::Estimated(estimate::joined),
        "array_to_string" | "array_replace_all" | "array_replace_n" => {
            Growth::Estimated(estimate::per_element)
        }
        "arrays_zip" => Growth::Estimated(estimate::zipped),
        "format_value" => Growth::Estimated(estimate::formatted),
        "arrow_cast" | "arrow_try_cast" => Growth::Cast,
        "levenshtein" | "regexp_like" | "regexp_count" | "regexp_instr" | "array_has_all"
        | "array_has_any" => Growth::Fixed,
        name if matching::is_one(name) || exact::is_one(name) || digits::is_one(name) => {
            Growth::Fixed
        }
        name => match LINEAR.iter().find(|(known, _)| *known == name) {
            Some((_, times)) => Growth::Linear(*times),
            None if FIXED.contains(&name) => Growth::Fixed,
            None => return None,
        },
    };
    let cost = match name {
        "levenshtein" => Cost::Texts,
        "array_has_all" | "array_has_any" | "array_except" | "array_intersect" => Cost::Lists,
        "regexp_like" | "regexp_count" | "regexp_instr" | "regexp_match" | "regexp_replace" => {
            Cost::Pattern
        }
        name if matching::is_one(name) => Cost::Own,
        _ => Cost::Little,
    };
    Some(Declared { growth, cost })
}
