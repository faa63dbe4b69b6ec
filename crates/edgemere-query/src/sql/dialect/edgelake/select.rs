//! A SELECT for EdgeLake: what of it is sent, and what is left to do with the rows.
//!
//! Every part of the tree is looked at; one that is not known is refused, since it would be lost.

use datafusion::sql::sqlparser::ast::{
    Distinct, Expr, GroupByExpr, LimitClause, ObjectName, OrderBy, OrderByExpr, OrderByKind, Query,
    Select, SelectFlavor, SelectItem, SetExpr, TableFactor, TableWithJoins, Value, ValueWithSpan,
    WildcardAdditionalOptions,
};

use crate::sql::dialect::edgelake::Refused;
use crate::sql::dialect::edgelake::condition;
use crate::sql::dialect::edgelake::finish;
use crate::sql::dialect::edgelake::finish::{Finish, Having, Order, Shown};
use crate::sql::dialect::edgelake::item::{Item, What, item};
use crate::sql::dialect::edgelake::refused;
use crate::sql::dialect::edgelake::value::{column, name};
use crate::sql::dialect::tokens::OwnCast;

/// The most rows that are asked for with a LIMIT.
const ROWS_MAX: usize = 1_000_000_000;

/// Reads a query.
pub(super) fn read(
    query: &Query,
    casts: &[OwnCast],
    dbms: &str,
) -> Result<crate::sql::dialect::edgelake::Query, Refused> {
    let select = only_select(query)?;
    let (table, tables) = table(&select.from, dbms)?;
    let mut reading = Reading { tables, casts, sent: Vec::new(), shown: Some(Vec::new()) };
    let is_distinct = reading.is_distinct(select)?;
    reading.projection(&select.projection)?;
    let groups = reading.groups(&select.group_by)?;
    reading.check(is_distinct, &groups)?;
    let is_grouped = is_distinct || reading.sent.iter().any(|item| item.what.is_computed());
    let is_grouped = is_grouped || !groups.is_empty();
    for group in &groups {
        reading.place(Item::column(group));
    }
    let having = match &select.having {
        Some(expr) if is_grouped && !is_distinct => finish::having(expr, &mut reading)?,
        Some(_) => {
            return Err(refused("HAVING without groups", "write conditions on rows after WHERE"));
        }
        None => Having::All(Vec::new()),
    };
    let keys = reading.keys(query.order_by.as_ref(), is_grouped)?;
    // What was added for them must go together with the rest too.
    reading.check(is_distinct, &groups)?;
    let (limit, offset) = limit(query.limit_clause.as_ref())?;
    let mut text = vec![format!(
        "select {}{} from {table}",
        if is_distinct { "distinct " } else { "" },
        reading.printed()
    )];
    if let Some(expr) = &select.selection {
        text.extend(condition::text(expr, &reading.tables)?.map(|c| format!("where {c}")));
    }
    if !groups.is_empty() {
        text.push(format!("group by {}", groups.join(", ")));
    }
    let order = match is_grouped {
        true => keys,
        false => {
            text.extend(reading.order_of_rows(&keys)?);
            // EdgeLake ignores OFFSET: the rows before it are asked for too, and left out here.
            text.extend(limit.map(|rows| format!("limit {}", rows.max(1).saturating_add(offset))));
            Vec::new()
        }
    };
    let order: Vec<Order> = order.into_iter().map(|(_, order)| order).collect();
    let Reading { sent, shown, .. } = reading;
    let finish = Finish { sent, shown, having, order, offset, limit };
    Ok(crate::sql::dialect::edgelake::Query { sql: text.join(" "), finish })
}

/// The SELECT that a query is, without anything that EdgeLake does not know.
fn only_select(query: &Query) -> Result<&Select, Refused> {
    let Query {
        with,
        body,
        order_by: _,
        limit_clause: _,
        fetch,
        locks,
        for_clause,
        settings,
        format_clause,
        pipe_operators,
    } = query;
    let refuse = |what: &str| {
        let hint = "EdgeLake answers one SELECT of one table: columns, aggregates, WHERE, GROUP BY, ORDER \
                    BY and LIMIT; ask for the parts one by one";
        Err(refused(what, hint))
    };
    if with.is_some() {
        return refuse("WITH");
    }
    let select = match body.as_ref() {
        SetExpr::Select(select) => select,
        SetExpr::SetOperation { op, .. } => return refuse(&op.to_string()),
        _ => return refuse("a statement that does not begin with SELECT"),
    };
    let others = [
        (fetch.is_some(), "FETCH"),
        (!locks.is_empty() || for_clause.is_some(), "FOR"),
        (settings.is_some() || format_clause.is_some() || !pipe_operators.is_empty(), "SETTINGS"),
        (select.into.is_some(), "INTO"),
        (select.from.len() > 1, "several tables"),
        (select.from.iter().any(|table| !table.joins.is_empty()), "JOIN"),
        (!select.named_window.is_empty() || select.qualify.is_some(), "WINDOW"),
        (is_strange(select), "a form of SELECT that is not in standard SQL"),
    ];
    match others.iter().find(|(is_there, _)| *is_there) {
        Some((_, what)) => refuse(what),
        None => Ok(select),
    }
}

/// Whether a select has parts that are in no standard.
fn is_strange(select: &Select) -> bool {
    let Select {
        select_token: _,
        optimizer_hints,
        distinct: _,
        select_modifiers,
        top,
        top_before_distinct: _,
        projection: _,
        exclude,
        into: _,
        from: _,
        lateral_views,
        prewhere,
        selection: _,
        connect_by,
        group_by: _,
        cluster_by,
        distribute_by,
        sort_by,
        having: _,
        named_window: _,
        qualify: _,
        window_before_qualify: _,
        value_table_mode,
        flavor,
    } = select;
    let is_bare = optimizer_hints.is_empty()
        && select_modifiers.is_none()
        && top.is_none()
        && exclude.is_none()
        && lateral_views.is_empty()
        && prewhere.is_none()
        && connect_by.is_empty()
        && cluster_by.is_empty()
        && distribute_by.is_empty()
        && sort_by.is_empty()
        && value_table_mode.is_none()
        && *flavor == SelectFlavor::Standard;
    !is_bare
}

/// The one table, and the names under which its columns may be named.
fn table(from: &[TableWithJoins], dbms: &str) -> Result<(String, Vec<String>), Refused> {
    let refuse = |what: &str| {
        Err(refused(what, "EdgeLake answers queries of one table: write FROM and its name"))
    };
    let [TableWithJoins { relation, joins }] = from else {
        return refuse("a query without a table");
    };
    let TableFactor::Table {
        name: table,
        alias,
        args: None,
        with_hints,
        version: None,
        with_ordinality: false,
        partitions,
        json_path: None,
        sample: None,
        index_hints,
    } = relation
    else {
        return refuse("FROM with something else than the name of a table");
    };
    let is_bare = joins.is_empty() && with_hints.is_empty() && partitions.is_empty();
    if !is_bare || !index_hints.is_empty() {
        return refuse("FROM with something else than the name of a table");
    }
    let table = table_name(table, dbms)?;
    let mut names = vec![table.clone()];
    if let Some(alias) = alias {
        if !alias.columns.is_empty() {
            return refuse("new names for the columns of a table");
        }
        names = vec![name(&alias.name)?];
    }
    Ok((table, names))
}

fn table_name(table: &ObjectName, dbms: &str) -> Result<String, Refused> {
    let parts: Vec<_> = table.0.iter().map(|part| part.as_ident()).collect();
    match parts.as_slice() {
        [Some(table)] => name(table),
        [Some(database), Some(table)] if name(database)? == dbms => name(table),
        _ => Err(refused(
            format!("the table {table}"),
            "name one table of the database that is asked, without the database's name",
        )),
    }
}

/// What has been read of a query.
pub(super) struct Reading<'a> {
    pub(super) tables: Vec<String>,
    casts: &'a [OwnCast],
    /// What EdgeLake is asked for, each thing once.
    sent: Vec<Item>,
    /// The results, as places in what is asked for; none for `*`.
    shown: Option<Vec<Shown>>,
}

impl Reading<'_> {
    /// The place of an item among what is asked for.
    fn place(&mut self, item: Item) -> usize {
        match self.sent.iter().position(|known| *known == item) {
            Some(place) => place,
            None => {
                self.sent.push(item);
                self.sent.len() - 1
            }
        }
    }

    fn printed(&self) -> String {
        match self.sent.is_empty() {
            true => "*".into(),
            false => self.sent.iter().map(|item| item.text.as_str()).collect::<Vec<_>>().join(", "),
        }
    }

    fn is_distinct(&self, select: &Select) -> Result<bool, Refused> {
        match &select.distinct {
            None | Some(Distinct::All) => Ok(false),
            Some(Distinct::Distinct) => Ok(true),
            Some(Distinct::On(_)) => {
                Err(refused("DISTINCT ON", "use GROUP BY with min(…) or max(…)"))
            }
        }
    }

    fn projection(&mut self, items: &[SelectItem]) -> Result<(), Refused> {
        if let [SelectItem::Wildcard(options)] = items {
            let WildcardAdditionalOptions { opt_alias: None, .. } = options else {
                return Err(refused("this form of *", "name the columns"));
            };
            let is_bare = options.opt_ilike.is_none()
                && options.opt_exclude.is_none()
                && options.opt_except.is_none()
                && options.opt_replace.is_none()
                && options.opt_rename.is_none();
            self.shown = None;
            return match is_bare {
                true => Ok(()),
                false => Err(refused("this form of *", "name the columns")),
            };
        }
        if items.is_empty() {
            return Err(refused("SELECT without columns", "name the columns, or write *"));
        }
        for one in items {
            let (expr, alias) = match one {
                SelectItem::UnnamedExpr(expr) => (expr, None),
                SelectItem::ExprWithAlias { expr, alias } => (expr, Some(alias.value.clone())),
                _ => {
                    return Err(refused(
                        "* beside other columns",
                        "name the columns, or write * alone",
                    ));
                }
            };
            let item = item(expr, &self.tables, self.casts)?;
            let (text, is_span) = (item.text.clone(), matches!(item.what, What::Increments(_)));
            let time = match &item.what {
                What::Increments(time) if alias.is_some() => Some(time.clone()),
                _ => None,
            };
            let place = self.place(item);
            // EdgeLake gives no column for the span: the time of its first row stands in its place.
            let shown = match time {
                Some(time) => {
                    let first = Item::aggregate("min", &time);
                    let name = first.text.clone();
                    Some(Shown { name, place: self.place(first), alias })
                }
                None if is_span => None,
                None => Some(Shown { name: alias.clone().unwrap_or(text), place, alias }),
            };
            self.shown.get_or_insert_default().extend(shown);
        }
        Ok(())
    }

    /// The columns after GROUP BY.
    fn groups(&self, group_by: &GroupByExpr) -> Result<Vec<String>, Refused> {
        let GroupByExpr::Expressions(groups, modifiers) = group_by else {
            return Err(refused("GROUP BY ALL", "name the columns after GROUP BY"));
        };
        if !modifiers.is_empty() {
            return Err(refused("ROLLUP, CUBE or TOTALS", "ask for each grouping by itself"));
        }
        let mut names = Vec::new();
        for group in groups {
            let item = self.named(group)?;
            let found = match item.map(|item| &item.what) {
                Some(What::Column(column)) => Some(column.clone()),
                Some(What::Increments(_)) => continue,
                Some(_) => None,
                None => column(group, &self.tables)?,
            };
            let found = found.ok_or_else(|| {
                refused(
                    format!("GROUP BY {group}"),
                    "EdgeLake groups by columns, and by spans of time with increments(hour, 1, COLUMN)",
                )
            })?;
            if !names.contains(&found) {
                names.push(found);
            }
        }
        Ok(names)
    }

    /// What a place in the list after SELECT, or the name of a result, stands for.
    fn named(&self, expr: &Expr) -> Result<Option<&Item>, Refused> {
        let shown = self.shown.as_deref().unwrap_or_default();
        let shown = match expr {
            Expr::Value(ValueWithSpan { value: Value::Number(number, _), .. }) => {
                let place = number.parse::<usize>().ok().and_then(|place| place.checked_sub(1));
                let found = place.and_then(|place| shown.get(place));
                // A span without a name is in the list after SELECT and not among the results.
                let is_moved =
                    self.sent.iter().any(|item| matches!(item.what, What::Increments(_)));
                match found {
                    Some(found) if !is_moved => Some(found),
                    _ => return Err(refused(format!("place {number}"), "write the column's name")),
                }
            }
            Expr::Identifier(ident) => {
                let is_meant = |shown: &&Shown| {
                    shown
                        .alias
                        .as_deref()
                        .is_some_and(|alias| alias.eq_ignore_ascii_case(&ident.value))
                };
                shown.iter().find(is_meant)
            }
            _ => None,
        };
        Ok(shown.and_then(|shown| self.sent.get(shown.place)))
    }

    /// Whether what is asked for goes together.
    fn check(&self, is_distinct: bool, groups: &[String]) -> Result<(), Refused> {
        let has = |what: fn(&What) -> bool| self.sent.iter().any(|item| what(&item.what));
        let is_computed = has(What::is_computed);
        if is_distinct && (is_computed || !groups.is_empty() || self.shown.is_none()) {
            return Err(refused(
                "DISTINCT with *, aggregates or GROUP BY",
                "name the columns after DISTINCT, or use GROUP BY alone",
            ));
        }
        if self.shown.is_none() && !groups.is_empty() {
            return Err(refused(
                "* with GROUP BY",
                "name the columns of the groups and aggregates",
            ));
        }
        if has(|what| *what == What::CountDistinct) && (self.sent.len() > 1 || !groups.is_empty()) {
            return Err(refused(
                "count(DISTINCT …) beside something else",
                "EdgeLake counts it wrongly there: ask for it alone, or for SELECT DISTINCT",
            ));
        }
        if has(|what| matches!(what, What::Increments(_))) && !has(What::is_aggregate) {
            return Err(refused("increments(…) without aggregates", "add some, as count(*)"));
        }
        let loose = self.sent.iter().find_map(|item| match &item.what {
            What::Column(column) if !groups.contains(column) || item.text != *column => {
                Some(&item.text)
            }
            _ => None,
        });
        match loose {
            // In a group, a column is asked for as it is, without a cast.
            Some(column) if is_computed || !groups.is_empty() => Err(refused(
                format!("the column \"{column}\" beside aggregates"),
                "put it after GROUP BY, or into an aggregate",
            )),
            _ => Ok(()),
        }
    }

    /// The place of a group's column or aggregate, which is asked for too where it is not yet.
    pub(super) fn of_groups(&mut self, expr: &Expr) -> Result<usize, Refused> {
        if let Some(item) = self.named(expr)?.cloned() {
            return Ok(self.place(item));
        }
        let item = item(expr, &self.tables, self.casts)?;
        let is_known = self.sent.contains(&item);
        match item.what {
            What::Aggregate { .. } => Ok(self.place(item)),
            What::Column(_) if is_known => Ok(self.place(item)),
            _ => Err(refused(
                format!("\"{expr}\" there"),
                "name columns of GROUP BY, aggregates, or results by their names",
            )),
        }
    }

    /// What the rows are ordered by.
    fn keys(
        &mut self,
        order_by: Option<&OrderBy>,
        of_groups: bool,
    ) -> Result<Vec<(String, Order)>, Refused> {
        let Some(OrderBy { kind, interpolate }) = order_by else { return Ok(Vec::new()) };
        let (OrderByKind::Expressions(keys), None) = (kind, interpolate) else {
            return Err(refused("ORDER BY ALL", "name the columns after ORDER BY"));
        };
        keys.iter().map(|key| self.key(key, of_groups)).collect()
    }

    fn key(&mut self, key: &OrderByExpr, of_groups: bool) -> Result<(String, Order), Refused> {
        if key.with_fill.is_some() {
            return Err(refused("WITH FILL", "leave it out"));
        }
        let is_descending = key.options.asc == Some(false);
        let nulls_first = key.options.nulls_first;
        let order = |place| Order { place, is_descending, nulls_first };
        if of_groups {
            return Ok((String::new(), order(self.of_groups(&key.expr)?)));
        }
        let named = self.named(&key.expr)?.map(|item| item.what.clone());
        let found = match named {
            Some(What::Column(column)) => Some(column),
            Some(_) => None,
            None => column(&key.expr, &self.tables)?,
        };
        let found = found.ok_or_else(|| {
            refused(format!("ORDER BY {}", key.expr), "EdgeLake orders rows by a column")
        })?;
        // EdgeLake hangs up when rows are ordered by what is not asked for.
        let is_same = |item: &Item| matches!(&item.what, What::Column(column) if *column == found);
        let place = match (&self.shown, self.sent.iter().position(is_same)) {
            (Some(_), Some(place)) => place,
            (Some(_), None) => self.place(Item::column(&found)),
            (None, _) => 0,
        };
        Ok((found, order(place)))
    }

    /// The text of ORDER BY for rows that are no groups: EdgeLake orders by one column rightly.
    fn order_of_rows(&self, keys: &[(String, Order)]) -> Result<Option<String>, Refused> {
        match keys {
            [] => Ok(None),
            [(column, order)] if order.nulls_first.is_none() => {
                let direction = if order.is_descending { " desc" } else { "" };
                Ok(Some(format!("order by {column}{direction}")))
            }
            _ => Err(refused(
                "ORDER BY with several columns, or with NULLS",
                "EdgeLake orders rows by one column, ascending or DESC; sort the rest yourself",
            )),
        }
    }
}

/// LIMIT and OFFSET.
fn limit(clause: Option<&LimitClause>) -> Result<(Option<usize>, usize), Refused> {
    let number = |expr: &Expr| {
        let number = expr.to_string().parse::<usize>().ok().filter(|rows| *rows <= ROWS_MAX);
        number.ok_or_else(|| refused(format!("LIMIT or OFFSET {expr}"), "give a whole number"))
    };
    match clause {
        None => Ok((None, 0)),
        Some(LimitClause::LimitOffset { limit, offset, limit_by }) if limit_by.is_empty() => {
            let limit = limit.as_ref().map(number).transpose()?;
            let offset = offset.as_ref().map(|offset| number(&offset.value)).transpose()?;
            Ok((limit, offset.unwrap_or(0)))
        }
        Some(_) => Err(refused("this form of LIMIT", "write LIMIT n OFFSET m")),
    }
}
