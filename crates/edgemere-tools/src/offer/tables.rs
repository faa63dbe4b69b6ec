//! The network's tables as resources: each with its columns and a few rows, and its last rows, of
//! whose growth subscribers are reported.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use edgemere_command::{Principal, sql_command, words};
use mcp_serve::{
    BoxFuture, Context, Fault, Link, ResourceContent, ResourceTemplate, Resources, Server,
};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::ask::{TableName, ask, columns, tables};
use super::resources::variables;
use crate::commands::Failure;
use crate::execute::Executor;

/// The addresses of tables, and of their last rows.
const TABLE: &str = "edgemere://{database}/{table}";
const TAIL: &str = "edgemere://{database}/{table}/tail";

const JSON: &str = "application/json";

/// What cannot stand in an address as it is.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'_').remove(b'-').remove(b'.').remove(b'~');

/// How many rows show what a table holds, and how many are its last.
const SAMPLE_ROWS: usize = 5;
const TAIL_ROWS: usize = 20;

/// How often it is looked whether a table that somebody watches has grown.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// How many addresses are watched at once. Each costs a small query a second, and who subscribes may
/// make up addresses.
const WATCHED_MAX: usize = 64;

/// The tables of the network. Clones are the same.
#[derive(Clone)]
pub(super) struct Tables {
    executor: Executor,
    server: Server,
    /// What looks at the tables that somebody watches, by address.
    watching: Arc<Mutex<HashMap<String, JoinHandle<()>>>>,
}

impl Tables {
    pub(super) fn new(executor: Executor, server: Server) -> Self {
        Self { executor, server, watching: Arc::default() }
    }

    async fn content(&self, uri: &str, context: &Context) -> Result<Option<Value>, Failure> {
        let principal = self.executor.principal_of(context);
        if let Some(name) = name(TAIL, uri) {
            return self.tail(&name, &principal).await.map(Some);
        }
        match name(TABLE, uri) {
            Some(name) => self.table(&name, &principal).await.map(Some),
            None => Ok(None),
        }
    }

    /// What a table is: its columns, and some rows.
    async fn table(&self, name: &TableName, principal: &Principal) -> Result<Value, Failure> {
        let columns = columns(self.executor.commands().as_ref(), principal, name).await?;
        let sql = format!("SELECT * FROM {} LIMIT {SAMPLE_ROWS}", words::identifier(&name.table));
        let sample = self.query(name, &sql, principal).await?;
        let (database, table) = (&name.database, &name.table);
        Ok(json!({ "database": database, "table": table, "columns": columns, "sample": sample }))
    }

    /// The rows that came last.
    async fn tail(&self, name: &TableName, principal: &Principal) -> Result<Value, Failure> {
        let table = words::identifier(&name.table);
        let sql = format!(
            "SELECT * FROM {table} ORDER BY insert_timestamp DESC, row_id DESC LIMIT {TAIL_ROWS}"
        );
        self.query(name, &sql, principal).await
    }

    async fn query(
        &self,
        name: &TableName,
        sql: &str,
        principal: &Principal,
    ) -> Result<Value, Failure> {
        let command = sql_command(&name.database, "format = mcp:columns", sql);
        ask(self.executor.commands().as_ref(), principal, &command, Some("network")).await
    }

    /// Tells of every growth of a table, for as long as somebody watches it.
    async fn watch(self, uri: String, name: TableName) {
        let principal = self.executor.principal_of(&Context::detached(Default::default()));
        let sql = format!("SELECT count(*) FROM {}", words::identifier(&name.table));
        let mut last = None;
        loop {
            if let Ok(count) = self.query(&name, &sql, &principal).await {
                let count = count.pointer("/rows/0/0").and_then(Value::as_u64);
                if last.is_some() && count.is_some() && count != last {
                    self.server.resource_updated(&uri);
                }
                last = count.or(last);
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }
}

impl Resources for Tables {
    fn list<'a>(&'a self, context: &'a Context) -> BoxFuture<'a, Result<Vec<Link>, Fault>> {
        Box::pin(async move {
            let principal = self.executor.principal_of(context);
            let tables = tables(self.executor.commands().as_ref(), &principal).await;
            let tables = tables.map_err(|failure| Fault::internal(failure.text()))?;
            Ok(tables.iter().map(link).collect())
        })
    }

    fn templates(&self) -> Vec<ResourceTemplate> {
        let template = |uri: &str, name: &str, title: &str, description: &str| ResourceTemplate {
            uri_template: uri.into(),
            name: name.into(),
            title: Some(title.into()),
            description: Some(description.into()),
            mime_type: Some(JSON.into()),
            ..ResourceTemplate::default()
        };
        vec![
            template(TABLE, "table", "A table", "Its columns with their types, and a few rows."),
            template(TAIL, "tail", "The last rows of a table", "Subscribe to hear of new rows."),
        ]
    }

    fn read<'a>(
        &'a self,
        uri: &'a str,
        context: &'a Context,
    ) -> BoxFuture<'a, Result<Option<Vec<ResourceContent>>, Fault>> {
        Box::pin(async move {
            match self.content(uri, context).await {
                Ok(content) => Ok(content
                    .map(|content| vec![ResourceContent::text(uri, JSON, content.to_string())])),
                Err(failure) if failure.kind == edgemere_command::Kind::NotFound => Ok(None),
                Err(failure) => Err(Fault::internal(failure.text())),
            }
        })
    }

    fn may_subscribe(&self, uri: &str) -> bool {
        let watching = self.watching.lock().unwrap_or_else(PoisonError::into_inner);
        let has_room = watching.len() < WATCHED_MAX || watching.contains_key(uri);
        name(TAIL, uri).is_some() && has_room
    }

    fn subscribed(&self, uri: &str, is_subscribed: bool) {
        let mut watching = self.watching.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(watcher) = watching.remove(uri) {
            watcher.abort();
        }
        let has_room = watching.len() < WATCHED_MAX;
        if is_subscribed
            && has_room
            && let Some(name) = name(TAIL, uri)
        {
            let watcher = tokio::spawn(self.clone().watch(uri.to_owned(), name));
            watching.insert(uri.to_owned(), watcher);
        }
    }
}

fn name(template: &str, uri: &str) -> Option<TableName> {
    let variables = variables(template, uri)?;
    let text = |key: &str| variables.get(key).and_then(Value::as_str).map(str::to_lowercase);
    Some(TableName { database: text("database")?, table: text("table")? })
}

fn link(name: &TableName) -> Link {
    let TableName { database, table } = name;
    let encoded = |text| utf8_percent_encode(text, ENCODED);
    Link {
        title: Some(format!("The table {table} of the database {database}")),
        mime_type: Some(JSON.into()),
        ..Link::new(
            format!("edgemere://{}/{}", encoded(database), encoded(table)),
            format!("{database}.{table}"),
        )
    }
}
