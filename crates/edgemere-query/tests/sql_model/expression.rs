//! Expressions by chance, of a wanted type, that both databases understand in the same way.

use super::chance::Chance;
use super::scope::{KINDS, Kind, Scope};
use super::table::{TEXTS, date, time};

/// An expression of the type, nested at most so deep.
pub(crate) fn of(c: &mut Chance, s: &Scope, kind: Kind, depth: u32) -> String {
    if depth == 0 || c.one_in(3) {
        return simple(c, s, kind);
    }
    let depth = depth - 1;
    if c.one_in(4) {
        return choice(c, s, kind, depth);
    }
    match kind {
        Kind::Int => int(c, s, depth),
        Kind::Real => real(c, s, depth),
        Kind::Text => text(c, s, depth),
        Kind::Bool => condition(c, s, depth),
        Kind::Time | Kind::Date => simple(c, s, kind),
    }
}

/// A column, or a literal when there is none or by chance.
fn simple(c: &mut Chance, s: &Scope, kind: Kind) -> String {
    // A time that is a literal is a text to one database and a time to the other: only columns.
    let only_columns = matches!(kind, Kind::Time | Kind::Date);
    match s.column(c, kind) {
        Some(column) if only_columns || !c.one_in(4) => column.to_owned(),
        _ => literal(c, kind),
    }
}

/// A literal that compares with the type.
pub(crate) fn literal(c: &mut Chance, kind: Kind) -> String {
    match kind {
        Kind::Int => c.between(-12, 12).to_string(),
        Kind::Real => eighths(c),
        Kind::Text => quoted(c.pick(&TEXTS)),
        Kind::Bool => c.pick(&["true", "false"]).to_owned(),
        Kind::Time => quoted(&time(c)),
        Kind::Date => quoted(&date(c)),
    }
}

fn eighths(c: &mut Chance) -> String {
    format!("{:?}", c.between(1, 80) as f64 / 8.0)
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// What every type has: CASE, COALESCE and NULLIF.
fn choice(c: &mut Chance, s: &Scope, kind: Kind, depth: u32) -> String {
    let (a, b) = (of(c, s, kind, depth), of(c, s, kind, depth));
    match c.between(0, 4) {
        0 => format!("coalesce({a}, {b})"),
        1 => format!("nullif({a}, {b})"),
        2 => format!("case when {} then {a} else {b} end", condition(c, s, depth)),
        3 => format!("case when {} then {a} end", condition(c, s, depth)),
        _ => {
            let (of_kind, other) = (comparable(c, s), of(c, s, kind, depth));
            let (value, first, second) =
                (simple(c, s, of_kind), literal(c, of_kind), literal(c, of_kind));
            format!("case {value} when {first} then {a} when {second} then {b} else {other} end")
        }
    }
}

/// A type of which the scope has a column, so that a comparison is not of two literals.
fn comparable(c: &mut Chance, s: &Scope) -> Kind {
    s.any(c).1
}

fn int(c: &mut Chance, s: &Scope, depth: u32) -> String {
    let a = of(c, s, Kind::Int, depth);
    match c.between(0, 9) {
        0 | 1 => format!("({a} + {})", of(c, s, Kind::Int, depth)),
        2 | 3 => format!("({a} - {})", of(c, s, Kind::Int, depth)),
        4 => format!("({a} * {})", c.between(-5, 5)),
        5 => format!("({a} / {})", c.pick(&[1, 2, 3, -7])),
        6 => format!("({a} % {})", c.pick(&[2, 3, -5])),
        7 => format!("abs({a})"),
        8 => format!("length({})", of(c, s, Kind::Text, depth)),
        _ => format!("cast({} as bigint)", of(c, s, Kind::Real, depth)),
    }
}

/// No zero comes out negative here: see `sql_differential`.
fn real(c: &mut Chance, s: &Scope, depth: u32) -> String {
    let a = of(c, s, Kind::Real, depth);
    match c.between(0, 6) {
        0 => format!("({a} + {})", of(c, s, Kind::Real, depth)),
        1 => format!("({a} - {})", of(c, s, Kind::Int, depth)),
        2 => format!("({a} + {})", eighths(c)),
        3 => format!("({a} / {})", c.pick(&["2.0", "4.0", "0.5"])),
        4 => format!("abs({a})"),
        5 => format!("round(abs({a}))"),
        _ => format!("cast({} as double precision)", of(c, s, Kind::Int, depth)),
    }
}

fn text(c: &mut Chance, s: &Scope, depth: u32) -> String {
    let a = of(c, s, Kind::Text, depth);
    match c.between(0, 8) {
        0 | 1 => format!("({a} || {})", of(c, s, Kind::Text, depth)),
        2 => format!("lower({a})"),
        3 => format!("upper({a})"),
        4 => format!("trim({a})"),
        5 => format!("substr({a}, {}, {})", c.between(1, 3), c.between(0, 3)),
        6 => format!("replace({a}, 'a', 'xy')"),
        7 => format!("ltrim({a})"),
        _ => format!("cast({} as varchar)", of(c, s, Kind::Int, depth)),
    }
}

/// A condition: true, false or unknown.
pub(crate) fn condition(c: &mut Chance, s: &Scope, depth: u32) -> String {
    if depth > 0 && c.one_in(2) {
        let (a, b) = (condition(c, s, depth - 1), condition(c, s, depth - 1));
        return match c.between(0, 4) {
            0 | 1 => format!("({a} and {b})"),
            2 | 3 => format!("({a} or {b})"),
            _ => format!("(not {a})"),
        };
    }
    let kind = comparable(c, s);
    if kind == Kind::Bool && c.one_in(2) {
        return truth(c, s);
    }
    match c.between(0, 5) {
        0..=2 => comparison(c, s, kind, depth),
        3 => format!(
            "({} between {} and {})",
            of(c, s, kind, depth),
            side(c, s, kind),
            side(c, s, kind)
        ),
        4 => membership(c, s, kind, depth),
        _ if kind == Kind::Text => like(c, s, depth),
        _ => format!("({} is {}null)", of(c, s, kind, depth), c.pick(&["", "not "])),
    }
}

fn truth(c: &mut Chance, s: &Scope) -> String {
    let value = simple(c, s, Kind::Bool);
    match c.between(0, 3) {
        0 => value,
        1 => format!("(not {value})"),
        2 => format!("({value} is true)"),
        _ => format!("({value} is not false)"),
    }
}

fn comparison(c: &mut Chance, s: &Scope, kind: Kind, depth: u32) -> String {
    let operator =
        c.pick(&["=", "<>", "<", "<=", ">", ">=", "is distinct from", "is not distinct from"]);
    format!("({} {operator} {})", of(c, s, kind, depth), side(c, s, kind))
}

/// The other side of a comparison.
fn side(c: &mut Chance, s: &Scope, kind: Kind) -> String {
    match s.column(c, kind) {
        Some(column) if c.one_in(2) => column.to_owned(),
        _ => literal(c, kind),
    }
}

fn membership(c: &mut Chance, s: &Scope, kind: Kind, depth: u32) -> String {
    let mut members: Vec<_> = (0..c.between(1, 5)).map(|_| literal(c, kind)).collect();
    if c.one_in(3) {
        members.push("null".into());
    }
    let not = c.pick(&["", "not "]);
    format!("({} {not}in ({}))", of(c, s, kind, depth), members.join(", "))
}

fn like(c: &mut Chance, s: &Scope, depth: u32) -> String {
    let pattern = c.pick(&["a%", "%b", "%b%", "_b", "a_c", "%", "", "x_y", "%''%", "日_", "A%"]);
    let not = c.pick(&["", "not "]);
    format!("({} {not}like '{pattern}')", of(c, s, Kind::Text, depth))
}

/// A few expressions of any types, as `… as c0, … as c1`, and their types.
pub(crate) fn list(c: &mut Chance, s: &Scope, count: i64, depth: u32) -> (Vec<String>, Vec<Kind>) {
    let one = |_| {
        let kind = c.pick(&KINDS);
        let kind = if s.column(c, kind).is_some() { kind } else { Kind::Int };
        (of(c, s, kind, depth), kind)
    };
    (0..count).map(one).unzip()
}
