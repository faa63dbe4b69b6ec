//! The size of a plan, told before it is optimized. A few lines of SQL can be a plan that no memory
//! holds: a query in WITH is there once for each time that it is named, an optimizer puts what a
//! column stands for in its place, and looks twice at a query inside of a query.

use std::convert::Infallible;
use std::ops::ControlFlow;

use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::error::DataFusionError;
use datafusion::logical_expr::{Distinct, Expr, LogicalPlan};
use datafusion::sql::sqlparser::ast::{ObjectName, Query, Statement, Visit, Visitor};

use crate::sql::error::Error;
use crate::sql::plan::statement_size::COLUMNS_MAX;

/// How many steps may stand one on the other.
const DEPTH_MAX: usize = 400;

/// How many steps a plan may have.
const STEPS_MAX: usize = 10_000;

/// How many queries may stand one in the condition or the result of the other.
const QUERIES_MAX: usize = 8;

/// How many terms a result may be made of, with all that its columns stand for.
const TERMS_MAX: usize = 10_000;

/// How many terms all results of a step may be made of.
const ALL_TERMS_MAX: usize = 50_000;

/// How many bytes of constants count as one term more.
const TERM_BYTES: usize = 4 << 10;

/// Refuses a statement whose names stand for too many tables: already planning looks at each.
pub(crate) fn check_names(statement: &Statement) -> Result<(), Error> {
    let mut tables = Tables { known: Vec::new(), count: 0 };
    let ControlFlow::Continue(()) = statement.visit(&mut tables);
    match tables.count > STEPS_MAX {
        true => Err(Error::TooComplex { what: "tables", limit: STEPS_MAX }),
        false => Ok(()),
    }
}

/// The tables of a statement, with those that the names in WITH stand for.
struct Tables {
    /// The names in WITH, and how many tables each stands for.
    known: Vec<(String, usize)>,
    count: usize,
}

impl Visitor for Tables {
    type Break = Infallible;

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<Infallible> {
        for named in query.with.iter().flat_map(|with| &with.cte_tables) {
            let mut inside = Self { known: self.known.clone(), count: 0 };
            named.query.visit(&mut inside)?;
            self.known.push((named.alias.name.value.to_lowercase(), inside.count));
        }
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, query: &Query) -> ControlFlow<Infallible> {
        let named = query.with.iter().flat_map(|with| &with.cte_tables).count();
        self.known.truncate(self.known.len() - named);
        ControlFlow::Continue(())
    }

    fn pre_visit_relation(&mut self, relation: &ObjectName) -> ControlFlow<Infallible> {
        let name = relation.to_string().replace('"', "").to_lowercase();
        let known = self.known.iter().rev().find(|(known, _)| *known == name);
        self.count = self.count.saturating_add(known.map_or(1, |(_, count)| *count).max(1));
        ControlFlow::Continue(())
    }
}

/// Refuses a plan that is too large, without looking at more of it than may be there.
pub(crate) fn check(plan: &LogicalPlan) -> Result<(), Error> {
    let mut count = Count { steps: 0, too_large: None };
    count.step(plan, 1, 0).map_err(Error::Plan)?;
    match count.too_large {
        Some((what, limit)) => Err(Error::TooComplex { what, limit }),
        None => Ok(()),
    }
}

/// The terms that each column of a step is made of.
type Terms = Result<Vec<usize>, DataFusionError>;

struct Count {
    steps: usize,
    /// What there is too much of, and how much there may be.
    too_large: Option<(&'static str, usize)>,
}

impl Count {
    /// Counts a step and what is below it. Gives the terms that each of its columns is made of.
    fn step(&mut self, plan: &LogicalPlan, depth: usize, queries: usize) -> Terms {
        self.steps += 1;
        self.limit("steps, one on the other", depth, DEPTH_MAX);
        self.limit("steps", self.steps, STEPS_MAX);
        self.limit("queries, one inside of the other", queries, QUERIES_MAX);
        let mut below = Vec::new();
        for input in plan.inputs() {
            if self.too_large.is_some() {
                return Ok(below);
            }
            below = self.step(input, depth + 1, queries)?;
        }
        plan.apply_subqueries(|inner| {
            if self.too_large.is_some() {
                return Ok(TreeNodeRecursion::Stop);
            }
            self.step(inner, depth + 1, queries + 1)?;
            Ok(TreeNodeRecursion::Continue)
        })?;
        self.terms(plan, below)
    }

    fn terms(&mut self, plan: &LogicalPlan, below: Vec<usize>) -> Terms {
        match plan {
            LogicalPlan::Projection(projection) => {
                self.limit("columns in a result", projection.expr.len(), COLUMNS_MAX);
                let mut columns = Vec::with_capacity(projection.expr.len());
                let mut all = 0_usize;
                for expr in &projection.expr {
                    let terms = terms(expr, &projection.input, &below)?;
                    self.limit("terms in a result", terms, TERMS_MAX);
                    all = all.saturating_add(terms);
                    self.limit("terms in all results", all, ALL_TERMS_MAX);
                    columns.push(terms);
                }
                Ok(columns)
            }
            LogicalPlan::Filter(_)
            | LogicalPlan::Sort(_)
            | LogicalPlan::Limit(_)
            | LogicalPlan::SubqueryAlias(_)
            | LogicalPlan::Distinct(Distinct::All(_)) => Ok(below),
            // What these give is computed, and stands for nothing else any more.
            other => Ok(vec![1; other.schema().fields().len()]),
        }
    }

    fn limit(&mut self, what: &'static str, count: usize, limit: usize) {
        if count > limit && self.too_large.is_none() {
            self.too_large = Some((what, limit));
        }
    }
}

/// The terms of an expression, with those of the columns that it names.
fn terms(expr: &Expr, input: &LogicalPlan, below: &[usize]) -> Result<usize, DataFusionError> {
    let mut count = 0_usize;
    expr.apply(|inner| {
        let terms = match inner {
            Expr::Column(column) => {
                let place = input.schema().maybe_index_of_column(column);
                place.and_then(|place| below.get(place).copied()).unwrap_or(1)
            }
            Expr::Literal(value, _) => 1 + value.size() / TERM_BYTES,
            _ => 1,
        };
        count = count.saturating_add(terms);
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(count)
}
