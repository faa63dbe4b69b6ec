//! Questions that the server asks on its own: which databases, tables and columns there are.

use edgemere_command::{Principal, Request, words};
use serde_json::Value;

use crate::commands::{Commands, Failure};

/// A table of the network.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TableName {
    pub(crate) database: String,
    pub(crate) table: String,
}

/// What a command answers, as a value.
pub(super) async fn ask(
    commands: &dyn Commands,
    principal: &Principal,
    command: &str,
    destination: Option<&str>,
) -> Result<Value, Failure> {
    let request = Request {
        destination: destination.map(ToOwned::to_owned),
        ..Request::new(command, principal.clone())
    };
    Ok(commands.reply(&request).await?.into_value().await?)
}

/// The tables of the network, in their order.
pub(super) async fn tables(
    commands: &dyn Commands,
    principal: &Principal,
) -> Result<Vec<TableName>, Failure> {
    let told = ask(commands, principal, "blockchain get table where format = mcp", None).await?;
    let text = |one: &Value, key: &str| Some(one.get(key)?.as_str()?.to_owned());
    let name =
        |one| Some(TableName { database: text(one, "database")?, table: text(one, "table")? });
    let mut tables: Vec<_> = told.as_array().into_iter().flatten().filter_map(name).collect();
    tables.sort();
    tables.dedup();
    Ok(tables)
}

/// The columns of a table: a list of names and types.
pub(super) async fn columns(
    commands: &dyn Commands,
    principal: &Principal,
    name: &TableName,
) -> Result<Value, Failure> {
    let (database, table) = (words::quoted(&name.database), words::quoted(&name.table));
    let command = format!(
        "get columns where dbms = {database} and table = {table} and sys_col = false and format = mcp"
    );
    ask(commands, principal, &command, None).await
}
