//! Local SQL against SQLite: tables and queries by chance, and equal answers.
//!
//! The tables hold nulls everywhere, and are kept in all the ways in which rows can be: fresh, in
//! Parquet files, half and half, compacted, and with columns that came later. A query is the same
//! text for both databases. Rows whose order the query does not say are compared as a set with
//! repetitions, the others as a list.
//!
//! The seed is fixed; `EDGEMERE_SQL_SEED` gives another one. What fails is shown with its seed, its
//! query and as few rows as show the difference.
//!
//! # What is left out, because SQL leaves it open or the databases read it differently
//!
//! - **Where nulls are ordered**: always said (`nulls first`, `nulls last`), as is a whole order before
//!   LIMIT and in windows with ROWS.
//! - **Division by zero** is an error for us and null for SQLite: only literals other than 0 divide. The
//!   division and the remainder of whole numbers are cut off towards zero in both.
//! - **Overflow** of 64 bits: values are small.
//! - **LIKE** ignores case in SQLite unless it is reported not to, which it is; a backslash is an escape for
//!   us alone, so there is none. `lower` and `upper` of SQLite know ASCII only, so the other letters
//!   here have no case.
//! - **Types**: SQLite compares a text with a number without a word, and casts any text to one. Only
//!   values of one type meet. True and false are 1 and 0. A number cast to text has no fraction, since
//!   `1e3` has many faces.
//! - **Negative zero** is distinguished from zero in DISTINCT and GROUP BY by DataFusion and by nobody else:
//!   no expression makes one.
//! - **Times** are texts in SQLite. They have one width, in which texts compare as times; times are
//!   compared, ordered and grouped here, and what else is done with them is tested in
//!   `sql_time_functions`.
//! - **Sets**: INTERSECT binds stronger than UNION for us as the standard says, and not in SQLite, so no
//!   query mixes them. SQLite has no INTERSECT ALL and EXCEPT ALL.
//! - **Two results of one name** are refused by DataFusion: they are given names.
//! - **Two aggregates** that differ in a cast inside only, as `sum(f)` and `sum(f::int)`, have one name for
//!   DataFusion, and are refused: there is no cast in an aggregate.
//! - **IN with a query** is asked in conditions, joined with AND, OR and NOT; where its unknown would be
//!   asked for itself it is refused.

#![allow(clippy::panic, reason = "a test that cannot go on should stop")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod sql_model;

use edgemere_query::sql::Limits;
use sql_model::chance::Chance;
use sql_model::databases::Databases;
use sql_model::family::{Family, Query};
use sql_model::{shrink, table};

/// The seed when nobody gives another.
const SEED: u64 = 20_260_101;

/// How many databases are made for a family of queries, each with other rows.
const DATABASES: u64 = 2;

/// How many queries are asked of each.
const QUERIES: u64 = 180;

#[test]
fn filters_and_expressions_are_equal() {
    check(Family::Filters);
}

#[test]
fn aggregates_and_groups_are_equal() {
    check(Family::Groups);
}

#[test]
fn joins_are_equal() {
    check(Family::Joins);
}

#[test]
fn subqueries_are_equal() {
    check(Family::Subqueries);
}

#[test]
fn queries_in_from_and_with_are_equal() {
    check(Family::Inside);
}

#[test]
fn set_operations_are_equal() {
    check(Family::Sets);
}

#[test]
fn window_functions_are_equal() {
    check(Family::Windows);
}

fn check(family: Family) {
    let seed = std::env::var("EDGEMERE_SQL_SEED").map_or(SEED, |text| text.parse().unwrap());
    let mut chance = Chance::new(seed.wrapping_mul(31).wrapping_add(family as u64));
    for database in 0..DATABASES {
        let tables = table::all(&mut chance);
        // These are few rows; every other time they are planned as if they were many.
        let single_threaded_rows_max =
            if database % 2 == 0 { Limits::default().single_threaded_rows_max } else { 0 };
        let databases =
            Databases::with(&tables, Limits { single_threaded_rows_max, ..Limits::default() });
        for _ in 0..QUERIES {
            let query = family.query(&mut chance);
            if let Err(difference) = databases.compare(&query.sql, query.is_ordered) {
                fail(seed, &tables, &query, difference);
            }
        }
    }
}

/// Shows the query, the rows that it takes to make the difference, and the difference on them.
fn fail(seed: u64, tables: &[table::Table], query: &Query, difference: String) -> ! {
    let fewer = shrink::shrink(tables, query);
    // What happens only now and then may not happen again: then it is shown as it was.
    let again = Databases::new(&fewer).compare(&query.sql, query.is_ordered);
    let difference = again.err().unwrap_or(difference);
    let rows = shrink::shown(&fewer);
    panic!("EDGEMERE_SQL_SEED={seed}\n{}\non the rows\n{rows}\n{difference}\n", query.sql);
}
