//! What is offered to agents: the tools and prompts of a file, and the network's tables as resources,
//! as a catalog for `mcp-serve`.

mod ask;
mod complete;
pub(crate) mod planned;
mod prompts;
mod resources;
mod tables;
mod tools;

use std::sync::Arc;

use mcp_serve::{Catalog, Server};

use self::ask::TableName;
use self::planned::Planned;
use self::tables::Tables;
use crate::execute::Executor;
use crate::problem::Problems;
use crate::toolbox::Toolbox;

/// What carries out calls, and what tells clients of changes.
#[derive(Clone)]
pub struct Offer {
    pub(crate) executor: Executor,
    tables: Tables,
    beside: Option<Arc<dyn Fn(Catalog) -> Catalog + Send + Sync>>,
}

impl Offer {
    /// Offers what the executor can do; changes of tables are reported through the server.
    pub fn new(executor: Executor, server: &Server) -> Self {
        let tables = Tables::new(executor.clone(), server.clone());
        Self { executor, tables, beside: None }
    }

    /// Offers also what this adds to the catalog of a file, every time that one is made.
    #[must_use]
    pub fn beside(mut self, add: impl Fn(Catalog) -> Catalog + Send + Sync + 'static) -> Self {
        self.beside = Some(Arc::new(add));
        self
    }

    /// The tables that there are; nothing when nobody can say.
    pub(crate) async fn tables(&self) -> Vec<TableName> {
        let principal = self.executor.principal();
        ask::tables(self.executor.commands().as_ref(), principal).await.unwrap_or_default()
    }

    /// The version of what is known of the network.
    pub(crate) fn version(&self) -> Option<String> {
        self.executor.commands().version()
    }

    /// The catalog of a file of tools. What cannot be planned is a problem of the file.
    pub async fn catalog(&self, toolbox: &Toolbox) -> Result<Catalog, Problems> {
        let planned = Planned::of(toolbox, &self.executor).await?;
        let toolbox = Arc::new(toolbox.clone());
        let mut catalog = Catalog::new();
        if let Some(instructions) = toolbox.instructions() {
            catalog = catalog.instructions(instructions);
        }
        for index in 0..toolbox.tools().len() {
            catalog = tools::add(catalog, &toolbox, index, &planned, &self.executor);
        }
        let is_offered = |name: &&String| {
            let tool = toolbox.tools().iter().find(|tool| tool.name == **name);
            tool.is_none_or(|tool| tools::can_work(tool, &self.executor))
        };
        for toolset in toolbox.toolsets() {
            let offered = toolset.tools.iter().filter(is_offered);
            catalog = catalog.toolset(&toolset.name, offered);
        }
        for index in 0..toolbox.prompts().len() {
            catalog = prompts::add(catalog, &toolbox, index);
        }
        let catalog = catalog
            .resources(resources::Declared::new(&toolbox, &self.executor))
            .resources(self.tables.clone())
            .completions(complete::Names::new(&self.executor));
        Ok(match &self.beside {
            Some(add) => add(catalog),
            None => catalog,
        })
    }
}
