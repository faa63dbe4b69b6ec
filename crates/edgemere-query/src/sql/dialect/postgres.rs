//! PostgreSQL's grammar, in time that does not double with every function inside of a function.
//!
//! The library's own dialect takes `f(NAME_EXPRESSION => x)`: it reads every argument as a name first,
//! and when that was none reads it again, and so do the functions in it. Forty `abs(` in a row would
//! take until the end of days. Nobody names arguments by expressions, so here it is not tried; all
//! the rest is the library's.

use std::any::TypeId;

use datafusion::sql::sqlparser::dialect::{Dialect, PostgreSqlDialect, Precedence};
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::parser::{Parser, ParserError};

/// The dialect.
#[derive(Debug)]
pub(super) struct Postgres;

const OTHERS: PostgreSqlDialect = PostgreSqlDialect {};

macro_rules! as_the_library_has_it {
    ($($name:ident),* $(,)?) => {
        $(fn $name(&self) -> bool { OTHERS.$name() })*
    };
}

impl Dialect for Postgres {
    /// What the parser asks about the dialect by its type is answered as by the library's.
    fn dialect(&self) -> TypeId {
        TypeId::of::<PostgreSqlDialect>()
    }

    fn supports_named_fn_args_with_expr_name(&self) -> bool {
        false
    }

    /// `SELECT * EXCLUDE (…)`, `EXCEPT` and `REPLACE` are other databases', and useful.
    fn supports_select_wildcard_exclude(&self) -> bool {
        true
    }

    fn supports_select_wildcard_except(&self) -> bool {
        true
    }

    fn supports_select_wildcard_replace(&self) -> bool {
        true
    }

    fn identifier_quote_style(&self, identifier: &str) -> Option<char> {
        OTHERS.identifier_quote_style(identifier)
    }

    fn is_delimited_identifier_start(&self, first: char) -> bool {
        OTHERS.is_delimited_identifier_start(first)
    }

    fn is_identifier_start(&self, first: char) -> bool {
        OTHERS.is_identifier_start(first)
    }

    fn is_identifier_part(&self, part: char) -> bool {
        OTHERS.is_identifier_part(part)
    }

    fn is_reserved_for_identifier(&self, keyword: Keyword) -> bool {
        OTHERS.is_reserved_for_identifier(keyword)
    }

    fn is_custom_operator_part(&self, part: char) -> bool {
        OTHERS.is_custom_operator_part(part)
    }

    fn get_next_precedence(&self, parser: &Parser<'_>) -> Option<Result<u8, ParserError>> {
        OTHERS.get_next_precedence(parser)
    }

    fn prec_value(&self, precedence: Precedence) -> u8 {
        OTHERS.prec_value(precedence)
    }

    as_the_library_has_it!(
        allow_extract_custom,
        allow_extract_single_quotes,
        supports_alter_column_type_using,
        supports_array_typedef_with_brackets,
        supports_bitwise_shift_operators,
        supports_comma_separated_trim,
        supports_comment_on,
        supports_comment_optimizer_hint,
        supports_create_index_with_clause,
        supports_create_table_like_parenthesized,
        supports_empty_projections,
        supports_explain_with_utility_options,
        supports_factorial_operator,
        supports_filter_during_aggregation,
        supports_geometric_types,
        supports_group_by_expr,
        supports_insert_table_alias,
        supports_interval_options,
        supports_listen_notify,
        supports_load_extension,
        supports_named_fn_args_with_colon_operator,
        supports_nested_comments,
        supports_notnull_operator,
        supports_numeric_literal_underscores,
        supports_select_wildcard_with_alias,
        supports_set_names,
        supports_string_escape_constant,
        supports_unicode_string_literal,
        supports_xml_expressions,
    );
}
