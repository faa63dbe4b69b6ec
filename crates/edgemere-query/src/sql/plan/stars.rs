//! `*` without internal columns, in a statement that names some of them.
//!
//! A statement that names none has none (see `visible`), and its `*` is what it is. One that does gets
//! `* EXCLUDE (row_id, …)` for its tables; over several tables `*` becomes `a.*, b.*` first, since an
//! EXCLUDE means one table. Names in EXCLUDE, EXCEPT and REPLACE are read as all names are: in lower
//! case, unless they are quoted.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    ExceptSelectItem, ExcludeSelectItem, Ident, JoinConstraint, JoinOperator, ObjectName,
    ObjectNamePart, Query, ReplaceSelectItem, Select, SelectItem, SelectItemQualifiedWildcardKind,
    Statement, TableAlias, TableFactor, VisitMut, VisitorMut, WildcardAdditionalOptions,
};

use crate::sql::error::Error;
use crate::sql::plan::visible::Internal;

/// Rewrites a statement that names these internal columns. `is_table` says of a name whether it is a
/// table with internal columns.
pub(crate) fn rewrite(
    statement: &mut Statement,
    internal: Internal,
    is_table: &dyn Fn(&ObjectName) -> bool,
) -> Result<(), Error> {
    match statement.visit(&mut Stars { internal, is_table, with: Vec::new() }) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(*error),
    }
}

struct Stars<'a> {
    internal: Internal,
    is_table: &'a dyn Fn(&ObjectName) -> bool,
    /// The names in WITH that are no tables here.
    with: Vec<String>,
}

impl VisitorMut for Stars<'_> {
    type Break = Box<Error>;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Box<Error>> {
        let Some(with) = &mut query.with else { return ControlFlow::Continue(()) };
        for named in &mut with.cte_tables {
            let name = normal(&named.alias.name);
            // Inside of it the name still means the table, unless the query is about itself. What is
            // rewritten here is found rewritten later, and stays as it is.
            if !with.recursive && self.internal != Internal::NONE {
                let with = self.with.clone();
                named.query.visit(&mut Stars { with, ..*self })?;
            }
            self.with.push(name);
        }
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, query: &mut Query) -> ControlFlow<Box<Error>> {
        let named = query.with.iter().flat_map(|with| &with.cte_tables).count();
        self.with.truncate(self.with.len().saturating_sub(named));
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<Box<Error>> {
        for item in &mut select.projection {
            if let SelectItem::Wildcard(options) | SelectItem::QualifiedWildcard(_, options) = item
            {
                normalize(options);
            }
        }
        let names: Vec<_> = self.internal.names().collect();
        if names.is_empty() || !select.projection.iter().any(is_star) {
            return ControlFlow::Continue(());
        }
        let tables = self.tables(select);
        let mut items = Vec::with_capacity(select.projection.len());
        for item in std::mem::take(&mut select.projection) {
            match expanded(item, &tables, &names) {
                Ok(expanded) => items.extend(expanded),
                Err(error) => return ControlFlow::Break(Box::new(error)),
            }
        }
        select.projection = items;
        ControlFlow::Continue(())
    }
}

/// What stands after FROM, one after the other.
struct Table {
    /// What it is called in the statement; nothing when it has no name.
    name: Option<ObjectName>,
    has_internal: bool,
    /// The columns that it has in common with what stands before it, and `*` shows once.
    shared: Vec<String>,
    /// Whether it can be told apart from the others by its columns alone: not after NATURAL, and where
    /// a shared column may be of either.
    is_plain: bool,
}

impl Stars<'_> {
    fn tables(&self, select: &Select) -> Vec<Table> {
        let mut tables = Vec::new();
        for from in &select.from {
            tables.push(self.table(&from.relation, Vec::new(), true));
            for join in &from.joins {
                let (shared, is_plain) = shared(&join.join_operator);
                tables.push(self.table(&join.relation, shared, is_plain));
            }
        }
        tables
    }

    fn table(&self, factor: &TableFactor, shared: Vec<String>, is_plain: bool) -> Table {
        let called = |alias: &Option<TableAlias>| {
            alias.as_ref().map(|alias| ObjectName::from(vec![alias.name.clone()]))
        };
        let (name, has_internal) = match factor {
            TableFactor::Table { name, alias, args: None, .. } => {
                (called(alias).or_else(|| Some(name.clone())), self.has_internal(name))
            }
            TableFactor::Derived { alias, .. } => (called(alias), false),
            TableFactor::Table { alias, .. }
            | TableFactor::UNNEST { alias, .. }
            | TableFactor::Function { alias, .. }
            | TableFactor::TableFunction { alias, .. } => (called(alias), false),
            _ => (None, true),
        };
        Table { name, has_internal, shared, is_plain }
    }

    fn has_internal(&self, name: &ObjectName) -> bool {
        let is_with = match name.0.as_slice() {
            [ObjectNamePart::Identifier(one)] => self.with.contains(&normal(one)),
            _ => false,
        };
        !is_with && (self.is_table)(name)
    }
}

/// The columns that a join names for both sides, and whether its left side has them all.
fn shared(join: &JoinOperator) -> (Vec<String>, bool) {
    let (constraint, is_left) = match join {
        JoinOperator::Join(constraint)
        | JoinOperator::Inner(constraint)
        | JoinOperator::Left(constraint)
        | JoinOperator::LeftOuter(constraint)
        | JoinOperator::CrossJoin(constraint) => (constraint, true),
        JoinOperator::Right(constraint)
        | JoinOperator::RightOuter(constraint)
        | JoinOperator::FullOuter(constraint) => (constraint, false),
        // These give the columns of one side only.
        _ => return (Vec::new(), false),
    };
    match constraint {
        JoinConstraint::Using(columns) => (columns.iter().filter_map(last).collect(), is_left),
        JoinConstraint::Natural => (Vec::new(), false),
        JoinConstraint::On(_) | JoinConstraint::None => (Vec::new(), true),
    }
}

/// What a result stands for, without internal columns.
fn expanded(item: SelectItem, tables: &[Table], names: &[&str]) -> Result<Vec<SelectItem>, Error> {
    match item {
        SelectItem::Wildcard(mut options) => match tables {
            all if !all.iter().any(|table| table.has_internal) => {
                Ok(vec![SelectItem::Wildcard(options)])
            }
            [one] if one.name.is_some() => {
                exclude(&mut options, names);
                Ok(vec![SelectItem::Wildcard(options)])
            }
            several => one_by_one(&options, several, names),
        },
        SelectItem::QualifiedWildcard(
            SelectItemQualifiedWildcardKind::ObjectName(name),
            mut options,
        ) => {
            let meant = tables.iter().find(|table| is_called(table, &name));
            if meant.is_some_and(|table| table.has_internal) {
                exclude(&mut options, names);
            }
            let kind = SelectItemQualifiedWildcardKind::ObjectName(name);
            Ok(vec![SelectItem::QualifiedWildcard(kind, options)])
        }
        other => Ok(vec![other]),
    }
}

/// `*` as the columns of each table.
fn one_by_one(
    options: &WildcardAdditionalOptions,
    tables: &[Table],
    names: &[&str],
) -> Result<Vec<SelectItem>, Error> {
    let is_bare = WildcardAdditionalOptions {
        wildcard_token: options.wildcard_token.clone(),
        ..WildcardAdditionalOptions::default()
    } == *options;
    let mut items = Vec::with_capacity(tables.len());
    for table in tables {
        let Some(name) = table.name.clone().filter(|_| table.is_plain && is_bare) else {
            return Err(Error::Star { names: names.join(", ") });
        };
        let internal = names.iter().copied().filter(|_| table.has_internal);
        let names: Vec<_> = internal.chain(table.shared.iter().map(String::as_str)).collect();
        let mut options = WildcardAdditionalOptions::default();
        exclude(&mut options, &names);
        let kind = SelectItemQualifiedWildcardKind::ObjectName(name);
        items.push(SelectItem::QualifiedWildcard(kind, options));
    }
    Ok(items)
}

/// Leaves these out, too.
fn exclude(options: &mut WildcardAdditionalOptions, names: &[&str]) {
    let excepted = options.opt_except.iter();
    let excepted = excepted
        .flat_map(|list| [&list.first_element].into_iter().chain(&list.additional_elements));
    let mut already: Vec<_> = excepted.map(|ident| ident.value.clone()).collect();
    let mut all = match options.opt_exclude.take() {
        Some(ExcludeSelectItem::Single(name)) => vec![name],
        Some(ExcludeSelectItem::Multiple(names)) => names,
        None => Vec::new(),
    };
    already.extend(all.iter().filter_map(last));
    let more = names.iter().filter(|name| !already.iter().any(|one| one == *name));
    all.extend(more.map(|name| ObjectName::from(vec![Ident::with_quote('"', *name)])));
    options.opt_exclude = (!all.is_empty()).then_some(ExcludeSelectItem::Multiple(all));
}

/// The names of options as the planner compares them.
fn normalize(options: &mut WildcardAdditionalOptions) {
    match &mut options.opt_exclude {
        Some(ExcludeSelectItem::Single(name)) => lower(name),
        Some(ExcludeSelectItem::Multiple(names)) => names.iter_mut().for_each(lower),
        None => {}
    }
    if let Some(ExceptSelectItem { first_element, additional_elements }) = &mut options.opt_except {
        [first_element].into_iter().chain(additional_elements).for_each(lower_ident);
    }
    if let Some(ReplaceSelectItem { items }) = &mut options.opt_replace {
        items.iter_mut().for_each(|item| lower_ident(&mut item.column_name));
    }
}

fn lower(name: &mut ObjectName) {
    for part in &mut name.0 {
        if let ObjectNamePart::Identifier(ident) = part {
            lower_ident(ident);
        }
    }
}

fn lower_ident(ident: &mut Ident) {
    ident.value = normal(ident);
}

fn normal(ident: &Ident) -> String {
    match ident.quote_style {
        Some(_) => ident.value.clone(),
        None => ident.value.to_lowercase(),
    }
}

fn last(name: &ObjectName) -> Option<String> {
    name.0.last().and_then(ObjectNamePart::as_ident).map(normal)
}

fn is_star(item: &SelectItem) -> bool {
    matches!(item, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..))
}

/// Whether a name with a star means a table: `t.*` also means `d.t`.
fn is_called(table: &Table, name: &ObjectName) -> bool {
    let parts = |name: &ObjectName| {
        let parts = name.0.iter().filter_map(ObjectNamePart::as_ident).map(normal);
        parts.collect::<Vec<_>>()
    };
    table.name.as_ref().is_some_and(|called| parts(called).ends_with(&parts(name)))
}
