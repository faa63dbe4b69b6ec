//! Queries that come again and again, as those of tools and dashboards do. What was read, validated and
//! optimized once is not planned a second time: it is given the tables as they are now, and run.
//!
//! Kept is what holds at any time: plans of tables alone, without views, without functions that tell
//! the time, and without anything that was asked of the rows beforehand. A plan that is kept holds no
//! rows. It is kept when its query comes for the second time.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrow::datatypes::SchemaRef;
use datafusion::common::TableReference;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::datasource::provider_as_source;
use datafusion::error::Result;
use datafusion::logical_expr::{Expr, LogicalPlan, TableSource, Volatility};

use super::catalog::Catalog;
use super::scope::Scope;
use super::visible::visible_as;

/// How many queries are known.
const QUERIES_MAX: usize = 128;

/// How long the text of a query may be that is remembered, in bytes.
const SQL_BYTES_MAX: usize = 8 * 1024;

/// How many parts a plan may have that is kept: terms, and columns of its steps. Whoever asks large
/// queries again and again has them planned each time, and does not fill the memory.
const PARTS_MAX: usize = 512;

/// The queries that came before.
#[derive(Debug, Default)]
pub(super) struct Known {
    queries: Mutex<Queries>,
}

/// A query, with everything that its plan comes from but the tables.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Asked {
    dbms: String,
    sql: String,
    zone: Option<String>,
    internal_columns: bool,
    rows_max: Option<usize>,
}

#[derive(Debug, Default)]
struct Queries {
    /// No plan for those that came once.
    plans: HashMap<Arc<Asked>, Option<Arc<LogicalPlan>>>,
    /// The oldest first.
    order: VecDeque<Arc<Asked>>,
}

impl Asked {
    /// A query, if one like it may be known.
    pub(super) fn new(dbms: &str, sql: &str, scope: &Scope) -> Option<Arc<Self>> {
        let is_simple = scope.include.is_empty() && scope.extend.is_empty();
        (is_simple && sql.len() <= SQL_BYTES_MAX).then(|| {
            Arc::new(Self {
                dbms: dbms.to_owned(),
                sql: sql.to_owned(),
                zone: scope.zone.as_ref().map(|zone| zone.name().to_string()),
                internal_columns: scope.internal_columns,
                rows_max: scope.rows_max,
            })
        })
    }
}

impl Known {
    /// The optimized plan of a query, on these tables. None when it is not known, or the tables are
    /// not what they were.
    pub(super) fn plan(&self, asked: &Asked, tables: &Catalog) -> Option<LogicalPlan> {
        let plan = self.lock().plans.get(asked).cloned()??;
        if !tables.known().databases().contains(&asked.dbms) {
            return None;
        }
        let plan = with_sources(LogicalPlan::clone(&plan), |name, schema| {
            let table = tables.source(name.schema().unwrap_or(&asked.dbms), name.table())?;
            let table = visible_as(table, &schema);
            (table.schema() == schema).then(|| provider_as_source(table))
        });
        plan.ok().flatten()
    }

    /// Takes note of a query that was planned with these tables, as it was written and optimized.
    pub(super) fn note(
        &self,
        asked: Arc<Asked>,
        tables: &Catalog,
        written: &LogicalPlan,
        optimized: &LogicalPlan,
    ) {
        let came = self.lock().plans.contains_key(&asked);
        let plan = (came && tables.are_plain() && holds_always(written) && is_small(optimized))
            .then(|| with_sources(optimized.clone(), |_, schema| Some(Arc::new(Nothing(schema)))))
            .and_then(|plan| plan.ok().flatten());
        let mut queries = self.lock();
        if queries.plans.insert(Arc::clone(&asked), plan.map(Arc::new)).is_none() {
            queries.order.push_back(asked);
        }
        if queries.order.len() > QUERIES_MAX
            && let Some(oldest) = queries.order.pop_front()
        {
            queries.plans.remove(&oldest);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Queries> {
        self.queries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// In the place of a table, in a plan that is kept.
#[derive(Debug)]
struct Nothing(SchemaRef);

impl TableSource for Nothing {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.0)
    }
}

/// The plan with other sources of its tables. None when one of them has none.
fn with_sources(
    plan: LogicalPlan,
    source: impl Fn(&TableReference, SchemaRef) -> Option<Arc<dyn TableSource>>,
) -> Result<Option<LogicalPlan>> {
    let mut has_all = true;
    let plan = plan.transform_up(|step| {
        let LogicalPlan::TableScan(mut scan) = step else { return Ok(Transformed::no(step)) };
        match source(&scan.table_name, scan.source.schema()) {
            Some(source) => scan.source = source,
            None => has_all = false,
        }
        Ok(Transformed::yes(LogicalPlan::TableScan(scan)))
    })?;
    Ok(has_all.then_some(plan.data))
}

/// Whether a plan takes little memory.
fn is_small(plan: &LogicalPlan) -> bool {
    let mut parts = 0;
    let walked = plan.apply(|step| {
        parts += step.schema().fields().len();
        step.apply_expressions(|expression| {
            expression.apply(|_| {
                parts += 1;
                Ok(TreeNodeRecursion::Continue)
            })
        })
    });
    walked.is_ok() && parts <= PARTS_MAX
}

/// Whether a plan is the same at any time. One with a subquery is taken not to be.
fn holds_always(plan: &LogicalPlan) -> bool {
    let mut holds = true;
    let walked = plan.apply(|step| {
        step.apply_expressions(|expression| {
            holds &= !expression.exists(|part| Ok(is_of_a_moment(part)))?;
            Ok(TreeNodeRecursion::Continue)
        })
    });
    walked.is_ok() && holds
}

fn is_of_a_moment(expression: &Expr) -> bool {
    match expression {
        Expr::ScalarFunction(call) => call.func.signature().volatility != Volatility::Immutable,
        Expr::ScalarSubquery(_)
        | Expr::Exists(_)
        | Expr::InSubquery(_)
        | Expr::SetComparison(_)
        | Expr::HigherOrderFunction(_)
        | Expr::ScalarVariable(..)
        | Expr::Placeholder(_) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Engine;
    use crate::ingest::Input;
    use crate::sql::Missing;

    /// Whether the plan of a query is kept when it has come twice.
    async fn is_kept(engine: &Engine, sql: &str) -> bool {
        for _ in 0..2 {
            let mut query = engine.sql().query("d", sql, None).await.unwrap();
            while let Some(batch) = query.next().await {
                batch.unwrap();
            }
        }
        is_known(engine, sql)
    }

    fn is_known(engine: &Engine, sql: &str) -> bool {
        let asked = Asked::new("d", sql, &Scope::default()).unwrap();
        engine.sql().known.plan(&asked, &engine.sql().snapshots(Missing::default())).is_some()
    }

    async fn engine(folder: &std::path::Path) -> Engine {
        let (engine, _) = Engine::open(folder).unwrap();
        let rows = br#"[{"time": "2026-01-01", "v": 1}]"#;
        engine.put("d", "t", Input::Json, rows).await.unwrap();
        engine.create_view("d", "x", "select v from t").await.unwrap();
        engine
    }

    #[tokio::test]
    async fn what_holds_always_is_kept_and_nothing_else() {
        let scratch = tempfile::tempdir().unwrap();
        let engine = engine(scratch.path()).await;
        for sql in [
            "select 1 as one",
            "select * from t where v > 0 order by time desc limit 3",
            "select date_trunc('day', time) as day, avg(v) from t group by 1",
            "select a.v from t a join t b on a.v = b.v",
            "select increments(hour, 1, time), max(v) from t",
            "select time_bucket_gapfill('1 day', time, '2026-01-01', '2026-01-03') as d, \
             increase(v, time) as i, locf(last(v, time)) as l from t group by 1",
        ] {
            assert!(is_kept(&engine, sql).await, "{sql}");
        }
        for sql in [
            "select now() as n",
            "select v from t where time < now() - 1 day",
            "select random() as r from t",
            "select v from x",
            "select v from t where v = (select max(v) from t)",
            "select increments(time, 5), max(v) from t",
            "select time_bucket_gapfill('1 day', time) as d from t \
             where time > now() - 1 day and time < now() group by 1",
            "select value from generate_series(1, 3)",
        ] {
            assert!(!is_kept(&engine, sql).await, "{sql}");
        }
    }

    #[tokio::test]
    async fn what_is_large_is_not_kept() {
        let scratch = tempfile::tempdir().unwrap();
        let engine = engine(scratch.path()).await;
        let terms = |count: usize| format!("select v from t where v in ({})", in_list(count));
        assert!(is_kept(&engine, &terms(100)).await);
        assert!(!is_kept(&engine, &terms(PARTS_MAX)).await);
        assert_eq!(Asked::new("d", &terms(SQL_BYTES_MAX), &Scope::default()), None);
    }

    fn in_list(count: usize) -> String {
        (0..count).map(|number| number.to_string()).collect::<Vec<_>>().join(",")
    }

    #[tokio::test]
    async fn the_oldest_are_forgotten() {
        let scratch = tempfile::tempdir().unwrap();
        let engine = engine(scratch.path()).await;
        let (first, last) = ("select 0 as n", format!("select {QUERIES_MAX} as n"));
        for number in 0..=QUERIES_MAX {
            assert!(is_kept(&engine, &format!("select {number} as n")).await);
        }
        assert!(!is_known(&engine, first) && is_known(&engine, &last));
        let queries = engine.sql().known.lock();
        assert_eq!((queries.plans.len(), queries.order.len()), (QUERIES_MAX, QUERIES_MAX));
    }
}
