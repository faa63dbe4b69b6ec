//! Views, in validation: everything that a statement names is found, and the views among it become
//! plans, which are then part of the statement's own.
//!
//! A view is planned in its own database, with the same snapshots as the rest of the query. What is
//! wrong inside it is reported with its name.

use std::collections::HashSet;
use std::sync::Arc;

use datafusion::datasource::ViewTable;
use datafusion::logical_expr::LogicalPlan;
use datafusion::sql::parser::Statement as DfStatement;
use datafusion::sql::resolve::resolve_table_references;
use futures_util::future::{BoxFuture, FutureExt};

use crate::sql::Session;
use crate::sql::dialect;
use crate::sql::error::Error;
use crate::sql::functions;
use crate::sql::plan::alias_masking;
use crate::sql::plan::catalog::Kind;
use crate::sql::plan::information;
use crate::sql::plan::tables::Tables;
use crate::sql::plan::time_range;
use crate::sql::plan::validate;
use crate::sql::plan::visible::Internal;
use edgemere_storage::storage::View;

/// How many views may stand on each other.
const DEPTH_MAX: usize = 16;

/// Where names are looked up.
#[derive(Clone, Copy)]
pub(crate) struct NameResolver<'a> {
    pub(crate) session: &'a Session,
    /// The database of names that say none.
    pub(crate) dbms: &'a str,
    /// In how many views it is.
    pub(crate) depth: usize,
    /// Whether `*` has the internal columns.
    pub(crate) all_columns: bool,
}

impl<'a> NameResolver<'a> {
    /// What there is.
    pub(crate) fn known(self) -> &'a dyn Tables {
        self.session.tables.known()
    }

    /// Finds everything that a statement names, and plans the views among it.
    pub(crate) fn resolve(self, statement: &'a DfStatement) -> BoxFuture<'a, Result<(), Error>> {
        async move {
            let (names, _) = resolve_table_references(statement, true).map_err(Error::Plan)?;
            for name in names {
                let (dbms, table) = (name.schema().unwrap_or(self.dbms), name.table());
                if name.catalog().is_some() {
                    return Err(validate::unknown_table(self.known(), dbms, table));
                }
                if functions::is_series_call(statement, &name) {
                    continue;
                }
                self.find(dbms, table).await?;
            }
            Ok(())
        }
        .boxed()
    }

    /// Finds a table or a view, and plans it when it is a view.
    pub(crate) fn find<'b>(self, dbms: &'b str, name: &'b str) -> BoxFuture<'b, Result<(), Error>>
    where
        'a: 'b,
    {
        async move {
            if self.session.tables.has_view(dbms, name) {
                return Ok(());
            }
            if dbms == information::SCHEMA {
                let table = information::table(self, name).await?;
                self.session.tables.replace(dbms, name, table, Kind::View);
                return Ok(());
            }
            if self.known().has(dbms, name) {
                return Ok(());
            }
            let Some(view) = self.known().view(dbms, name) else {
                return Err(validate::unknown_table(self.known(), dbms, name));
            };
            if self.depth == DEPTH_MAX {
                return Err(Error::ViewDepth { limit: DEPTH_MAX });
            }
            let plan = self.plan_view(&view).await.map_err(|error| error.in_view(&view))?;
            let table = Arc::new(ViewTable::new(plan, Some(view.sql.clone())));
            self.session.tables.replace(dbms, name, table, Kind::View);
            Ok(())
        }
        .boxed()
    }

    async fn plan_view(self, view: &View) -> Result<LogicalPlan, Error> {
        let reading = dialect::Reading::of(&view.sql)?;
        // What a view has does not depend on the caller.
        let names =
            NameResolver { depth: self.depth + 1, all_columns: false, dbms: &view.dbms, ..self };
        names.plan(reading).await
    }

    /// The plan of a query that was read. Automatic increments ask the rows first.
    ///
    /// Planning takes much memory while it waits, which need not be in everything that waits for it.
    pub(crate) fn plan(
        self,
        reading: dialect::Reading,
    ) -> BoxFuture<'a, Result<LogicalPlan, Error>> {
        async move {
            let internal = match self.all_columns {
                true => Internal::ALL,
                false => reading.internal(),
            };
            let range = match reading.question()? {
                Some(question) => {
                    let plan = validate::plan(self, question, internal).await?;
                    Some(time_range::ask(self.session, plan).await?)
                }
                None => None,
            };
            alias_masking::lift(validate::plan(self, reading.finish(range)?, internal).await?)
        }
        .boxed()
    }
}

/// Refuses a plan whose columns could not be told apart by name.
pub(crate) fn check_columns(plan: &LogicalPlan) -> Result<(), Error> {
    let mut names = HashSet::new();
    for field in plan.schema().fields() {
        if !names.insert(field.name()) {
            return Err(Error::SameColumn { column: field.name().clone() });
        }
    }
    Ok(())
}
