//! The plan of a query as text, and the columns that it has, without running it.

use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::{ExecutionPlan, displayable};

use crate::distributed;
use crate::sql::Sql;
use crate::sql::bounds;
use crate::sql::dialect;
use crate::sql::error::Error;
use crate::sql::options::QueryOptions;
use crate::sql::plan::analyze;
use crate::sql::plan::small_scan;
use crate::sql::plan::views::{self, NameResolver};
use crate::sql::run::deadline::Deadline;
use crate::sql::run::stream::lost;

/// How many bytes of a plan are kept. A query of many files or terms may have more.
const PLAN_BYTES_MAX: usize = 64 * 1024;

/// How a query is run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// What is done: an operation a line, each on what is below it.
    pub logical: String,
    /// How it is done: the same with the ways that were chosen, and the files that are read.
    pub physical: String,
    /// What operators do, when it is asked on the network.
    pub network: Option<distributed::Explained>,
}

impl Plan {
    pub(crate) fn new(
        logical: &LogicalPlan,
        physical: &dyn ExecutionPlan,
        network: Option<distributed::Explained>,
    ) -> Self {
        Self {
            logical: shortened(logical.display_indent().to_string(), PLAN_BYTES_MAX),
            physical: shortened(
                without_folders(&displayable(physical).indent(false).to_string()),
                PLAN_BYTES_MAX,
            ),
            network,
        }
    }
}

/// A column of a query's result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResultColumn {
    /// Its name.
    pub name: String,
    /// Its type, by the name that EdgeLake has for it.
    pub type_name: String,
}

impl Sql {
    /// Validates and plans a query, and does not run it.
    pub async fn explain(&self, dbms: &str, sql: &str) -> Result<Plan, Error> {
        let (this, dbms, sql) = (self.clone(), dbms.to_owned(), sql.to_owned());
        let plan = async move {
            let mut session = this.session(&dbms)?;
            let (logical, _) =
                this.logical(&session, &dbms, &sql, &QueryOptions::default()).await?;
            let logical = session.optimized(&logical)?;
            small_scan::prepare(&mut session.state, &logical, this.limits.single_threaded_rows_max);
            Ok(session.steps(&logical).await?.plan)
        };
        self.on_workers(plan).await
    }

    /// Validates a query, and gives the columns of its result.
    pub async fn columns(&self, dbms: &str, sql: &str) -> Result<Vec<ResultColumn>, Error> {
        let (this, dbms, sql) = (self.clone(), dbms.to_owned(), sql.to_owned());
        let columns = async move {
            let session = this.session(&dbms)?;
            let (plan, explain) =
                this.logical(&session, &dbms, &sql, &QueryOptions::default()).await?;
            let schema = match explain {
                Some(explain) => analyze::schema(explain),
                None => Arc::clone(plan.schema().inner()),
            };
            let columns = schema.fields().iter().map(|field| ResultColumn {
                name: field.name().clone(),
                type_name: type_name(field.data_type()),
            });
            Ok(columns.collect())
        };
        self.on_workers(columns).await
    }

    /// Validates a query that is to be a view.
    pub async fn check_view(&self, dbms: &str, sql: &str) -> Result<(), Error> {
        let (this, dbms, sql) = (self.clone(), dbms.to_owned(), sql.to_owned());
        let check = async move {
            let session = this.session(&dbms)?;
            let names =
                NameResolver { session: &session, dbms: &dbms, depth: 1, all_columns: false };
            let plan = names.plan(dialect::Reading::of(&sql)?).await?;
            views::check_columns(&plan)
        };
        self.on_workers(check).await
    }

    /// Plans where queries run: the threads there have the stack that it takes.
    async fn on_workers<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, Error>> + Send + 'static,
    ) -> Result<T, Error> {
        let stop = Deadline::after(self.limits.time);
        let unwanted = stop.clone();
        let mut running = self.workers.run(Box::pin(bounds::planning(stop.clone(), work)));
        // Who does not wait any more ends the planning, too.
        let _end = OnDrop(unwanted);
        let planned = stop.wait(running.join_next()).await?;
        let planned = planned.ok_or(Error::Stopped)?.map_err(lost)?;
        planned.map_err(|error| stop.reason(error)).inspect_err(Error::log)
    }
}

/// Ends the work when its caller drops it.
struct OnDrop(Deadline);

impl Drop for OnDrop {
    fn drop(&mut self) {
        self.0.now();
    }
}

/// EdgeLake's name of a type.
pub(crate) fn type_name(data_type: &DataType) -> String {
    match data_type {
        DataType::Float16 | DataType::Float32 | DataType::Float64 => "decimal".into(),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => "character varying".into(),
        DataType::Timestamp(_, None) => "timestamp without time zone".into(),
        DataType::Timestamp(_, Some(_)) => "timestamp with time zone".into(),
        DataType::Date32 | DataType::Date64 => "date".into(),
        DataType::Time32(_) | DataType::Time64(_) => "time".into(),
        DataType::Boolean => "boolean".into(),
        DataType::Duration(_) => "interval".into(),
        DataType::Binary
        | DataType::LargeBinary
        | DataType::BinaryView
        | DataType::FixedSizeBinary(_) => "bytea".into(),
        DataType::Decimal128(precision, scale) => format!("numeric({precision},{scale})"),
        whole if whole.is_integer() => "bigint".into(),
        other => other.to_string().to_lowercase(),
    }
}

/// A plan in which files are reported by their table and name, and not by where they are on this machine.
pub(crate) fn without_folders(plan: &str) -> String {
    /// The name, and the folders of its table and database.
    const PARTS: usize = 3;
    let is_end = |c: char| c.is_whitespace() || "[]{},():=".contains(c);
    let mut told = String::with_capacity(plan.len());
    for word in plan.split_inclusive(is_end) {
        let path = word.trim_end_matches(is_end);
        let parts: Vec<_> = path.rsplit('/').take(PARTS).collect();
        match path.ends_with(".parquet") && path.matches('/').count() >= PARTS {
            true => {
                let parts: Vec<_> = parts.into_iter().rev().collect();
                told.push_str(&parts.join("/"));
                told.push_str(word.get(path.len()..).unwrap_or_default());
            }
            false => told.push_str(word),
        }
    }
    told
}

/// A text of so many bytes at most.
pub(crate) fn shortened(mut text: String, bytes_max: usize) -> String {
    if text.len() > bytes_max {
        text.truncate(text.floor_char_boundary(bytes_max));
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_tells_no_folder_of_the_machine() {
        let plan = "DataSourceExec: file_groups={2 groups: [[home/x/rows/data/d/t/1.parquet:0..9], \
                    [/home/x/rows/data/d/t/2.parquet]]}, projection=[a/b]";
        let told = "DataSourceExec: file_groups={2 groups: [[d/t/1.parquet:0..9], \
                    [d/t/2.parquet]]}, projection=[a/b]";
        assert_eq!(without_folders(plan), told);
    }
}
