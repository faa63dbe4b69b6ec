//! Completions: the databases, tables and columns that there are, for holes of these names.

use mcp_serve::{BoxFuture, Complete, Completion, CompletionRequest, Context, Fault};
use serde_json::Value;

use super::ask::{TableName, columns, tables};
use crate::commands::Failure;
use crate::execute::Executor;

/// Knows the names of databases, tables and columns.
pub(super) struct Names {
    executor: Executor,
}

/// The names that holes for a database have.
const DATABASE: [&str; 2] = ["database", "dbms"];

impl Names {
    pub(super) fn new(executor: &Executor) -> Self {
        Self { executor: executor.clone() }
    }

    async fn names(
        &self,
        request: &CompletionRequest,
        context: &Context,
    ) -> Result<Vec<String>, Failure> {
        let commands = self.executor.commands().as_ref();
        let principal = self.executor.principal_of(context);
        let given = |name: &str| request.arguments.get(name).and_then(Value::as_str);
        let database = DATABASE.iter().find_map(|name| given(name));
        let of_database = |name: &TableName| database.is_none_or(|wanted| name.database == wanted);
        match request.argument.as_str() {
            name if DATABASE.contains(&name) => {
                let tables = tables(commands, &principal).await?;
                Ok(tables.into_iter().map(|name| name.database).collect())
            }
            "table" => {
                let tables = tables(commands, &principal).await?.into_iter();
                Ok(tables.filter(of_database).map(|name| name.table).collect())
            }
            "column" => {
                let (Some(database), Some(table)) = (database, given("table")) else {
                    return Ok(Vec::new());
                };
                let name = TableName { database: database.into(), table: table.into() };
                let columns = columns(commands, &principal, &name).await?;
                let names = columns.as_array().into_iter().flatten();
                let names = names.filter_map(|column| column.get("name")?.as_str());
                Ok(names.map(ToOwned::to_owned).collect())
            }
            _ => Ok(Vec::new()),
        }
    }
}

impl Complete for Names {
    fn complete<'a>(
        &'a self,
        request: &'a CompletionRequest,
        context: &'a Context,
    ) -> BoxFuture<'a, Result<Completion, Fault>> {
        Box::pin(async move {
            // What cannot be found out is no completion.
            let mut names = self.names(request, context).await.unwrap_or_default();
            let typed = request.value.to_lowercase();
            names.retain(|name| name.to_lowercase().starts_with(&typed));
            names.sort();
            names.dedup();
            Ok(Completion::all(names))
        })
    }
}
