//! Internal columns: the four that the storage puts in front of a table's own ([`SYSTEM_COLUMNS`]).
//!
//! A statement has them when it names them, and `*` never means them. So a table is planned without
//! them, but for those that the statement names ([`Internal::named_in`]); `stars` keeps these out of
//! `*`. Callers who want them as ordinary columns, as EdgeLake's clients do, have all of them:
//! [`Internal::ALL`].

use std::sync::Arc;

use arrow::datatypes::{Schema, SchemaRef};
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::error::Result;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};

use edgemere_storage::schema::SYSTEM_COLUMNS;

/// Some of the internal columns: a bit for each, in their order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Internal(u8);

impl Internal {
    /// None of them.
    pub(crate) const NONE: Self = Self(0);

    /// All of them.
    pub(crate) const ALL: Self = Self((1 << SYSTEM_COLUMNS.len()) - 1);

    /// Those that a statement names, wherever and as whatever it does: one too many does no harm.
    pub(crate) fn named_in(tokens: &[TokenWithSpan]) -> Self {
        let words = tokens.iter().filter_map(|token| match &token.token {
            Token::Word(word) if word.quote_style.is_none() => Some(word.value.to_lowercase()),
            Token::Word(word) => Some(word.value.clone()),
            _ => None,
        });
        words.fold(Self::NONE, |all, word| Self(all.0 | Self::bit(&word)))
    }

    /// Those that are among a table's columns.
    fn among(schema: &Schema) -> Self {
        let fields = schema.fields().iter();
        fields.fold(Self::NONE, |all, field| Self(all.0 | Self::bit(field.name())))
    }

    /// Their names.
    pub(crate) fn names(self) -> impl Iterator<Item = &'static str> {
        SYSTEM_COLUMNS.into_iter().filter(move |name| self.0 & Self::bit(name) != 0)
    }

    fn bit(name: &str) -> u8 {
        SYSTEM_COLUMNS.iter().position(|column| *column == name).map_or(0, |place| 1 << place)
    }
}

/// A table without those of its internal columns that are not among these.
pub(crate) fn visible(table: Arc<dyn TableProvider>, internal: Internal) -> Arc<dyn TableProvider> {
    let all = table.schema();
    let is_seen = |name: &str| match Internal::bit(name) {
        0 => true,
        bit => internal.0 & bit != 0,
    };
    let fields = all.fields().iter().enumerate();
    let columns: Vec<_> =
        fields.filter(|(_, field)| is_seen(field.name())).map(|(place, _)| place).collect();
    match all.project(&columns) {
        Ok(schema) if columns.len() < all.fields().len() => {
            Arc::new(Visible { table, columns, schema: Arc::new(schema) })
        }
        _ => table,
    }
}

/// A table with the same internal columns as a schema.
pub(crate) fn visible_as(table: Arc<dyn TableProvider>, schema: &Schema) -> Arc<dyn TableProvider> {
    visible(table, Internal::among(schema))
}

/// Some of a table's columns.
#[derive(Debug)]
pub(crate) struct Visible {
    table: Arc<dyn TableProvider>,
    /// The places of its columns in the table.
    columns: Vec<usize>,
    schema: SchemaRef,
}

impl Visible {
    /// The whole table.
    pub(crate) fn table(&self) -> &Arc<dyn TableProvider> {
        &self.table
    }
}

#[async_trait]
impl TableProvider for Visible {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        self.table.table_type()
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let columns = match projection {
            Some(places) => {
                places.iter().filter_map(|place| self.columns.get(*place)).copied().collect()
            }
            None => self.columns.clone(),
        };
        self.table.scan(state, Some(&columns), filters, limit).await
    }

    fn supports_filters_pushdown(
        &self,
        filters: &[&Expr],
    ) -> Result<Vec<TableProviderFilterPushDown>> {
        self.table.supports_filters_pushdown(filters)
    }
}
