//! The plan cache: repeated statements, as tools and dashboards send them, are not planned a second time. A cached
//! plan is detached from its tables; a hit attaches the tables as they are now, and checks that their columns
//! are what they were.
//!
//! Only plans that hold at any time are cached: plans of tables alone, without views, without functions that depend
//! on the time, and without anything that was read from the rows beforehand. A plan is cached when its statement comes for
//! the second time. The cache evicts statements that are not repeated before those that are, so that many ad-hoc statements do not
//! evict the plans of a dashboard.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrow::datatypes::SchemaRef;
use datafusion::common::TableReference;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::datasource::provider_as_source;
use datafusion::error::Result;
use datafusion::logical_expr::{Expr, LogicalPlan, TableSource, Volatility};
use quick_cache::unsync::Cache;

use crate::sql::options::QueryOptions;
use crate::sql::plan::catalog::Catalog;
use crate::sql::plan::visible::visible_as;

/// How many statements the cache has.
const STATEMENTS_MAX: usize = 128;

/// How long the text of a query may be that is remembered, in bytes.
const SQL_BYTES_MAX: usize = 8 * 1024;

/// How many parts a plan may have that is kept: terms, and columns of its steps. Whoever asks large
/// queries again and again has them planned each time, and does not fill the memory.
const PARTS_MAX: usize = 512;

/// The plans of repeated statements. A statement that came once is there without a plan.
pub(crate) struct PlanCache {
    plans: Mutex<Plans>,
}

type Plans = Cache<Arc<PlanKey>, Option<Arc<LogicalPlan>>>;

impl Default for PlanCache {
    fn default() -> Self {
        Self { plans: Mutex::new(Cache::new(STATEMENTS_MAX)) }
    }
}

impl fmt::Debug for PlanCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PlanCache").field("statements", &self.lock().len()).finish()
    }
}

/// A statement, with everything that decides its plan but the tables.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct PlanKey {
    dbms: String,
    sql: String,
    zone: Option<String>,
    internal_columns: bool,
    rows_max: Option<usize>,
}

impl PlanKey {
    /// The key of a statement; none when its plan is never cached.
    pub(crate) fn new(dbms: &str, sql: &str, scope: &QueryOptions) -> Option<Arc<Self>> {
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

impl PlanCache {
    /// The optimized plan of a statement, on these tables. None when it is not cached, or the tables have
    /// other columns now.
    pub(crate) fn plan(&self, key: &PlanKey, tables: &Catalog) -> Option<LogicalPlan> {
        let plan = self.lock().get(key).cloned()??;
        if !tables.known().databases().contains(&key.dbms) {
            return None;
        }
        let plan = with_sources(LogicalPlan::clone(&plan), |name, schema| {
            let table = tables.source(name.schema().unwrap_or(&key.dbms), name.table())?;
            let table = visible_as(table, &schema);
            (table.schema() == schema).then(|| provider_as_source(table))
        });
        plan.ok().flatten()
    }

    /// Records a statement that was planned with these tables, and its plan when it was recorded before.
    pub(crate) fn insert(
        &self,
        key: Arc<PlanKey>,
        tables: &Catalog,
        written: &LogicalPlan,
        optimized: &LogicalPlan,
    ) {
        let came = self.lock().get(&*key).is_some();
        let plan = (came && tables.are_plain() && is_cacheable(written) && is_small(optimized))
            .then(|| {
                with_sources(optimized.clone(), |_, schema| Some(Arc::new(DetachedSource(schema))))
            })
            .and_then(|plan| plan.ok().flatten());
        self.lock().insert(key, plan.map(Arc::new));
    }

    fn lock(&self) -> MutexGuard<'_, Plans> {
        self.plans.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// In the place of a table, in a plan that is kept.
#[derive(Debug)]
struct DetachedSource(SchemaRef);

impl TableSource for DetachedSource {
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
fn is_cacheable(plan: &LogicalPlan) -> bool {
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
    use crate::sql::Missing;
    use edgemere_storage::decode::Input;

    /// Whether the plan of a query is kept when it has come twice.
    async fn is_kept(engine: &Engine, sql: &str) -> bool {
        for _ in 0..2 {
            run(engine, sql).await;
        }
        is_known(engine, sql)
    }

    async fn run(engine: &Engine, sql: &str) {
        let mut query = engine.sql().query("d", sql, None).await.unwrap();
        while let Some(batch) = query.next().await {
            batch.unwrap();
        }
    }

    fn is_known(engine: &Engine, sql: &str) -> bool {
        let key = PlanKey::new("d", sql, &QueryOptions::default()).unwrap();
        engine.sql().plan_cache.plan(&key, &engine.sql().snapshots(Missing::default())).is_some()
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
        assert_eq!(PlanKey::new("d", &terms(SQL_BYTES_MAX), &QueryOptions::default()), None);
    }

    fn in_list(count: usize) -> String {
        (0..count).map(|number| number.to_string()).collect::<Vec<_>>().join(",")
    }

    #[tokio::test]
    async fn a_repeated_statement_survives_many_that_come_once() {
        let scratch = tempfile::tempdir().unwrap();
        let engine = engine(scratch.path()).await;
        let dashboard = "select max(v) from t";
        assert!(is_kept(&engine, dashboard).await);
        for number in 0..1_000 {
            run(&engine, &format!("select {number} as n")).await;
            if number % 50 == 0 {
                assert!(is_known(&engine, dashboard), "evicted after {number} other statements");
            }
        }
        assert!(is_known(&engine, dashboard));
        assert!(engine.sql().plan_cache.lock().len() <= STATEMENTS_MAX);
    }
}
