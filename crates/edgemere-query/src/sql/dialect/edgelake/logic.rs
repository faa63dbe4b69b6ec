//! Conditions as trees of AND and OR, and as lists of ANDs with ORs between them: the one form that needs
//! no parentheses.

use datafusion::sql::sqlparser::ast::{BinaryOperator, Expr, UnaryOperator, Value, ValueWithSpan};

use crate::sql::dialect::edgelake::Refused;
use crate::sql::dialect::edgelake::refused;

/// How many ANDs a condition may become, and how many comparisons in all.
const CLAUSES_MAX: usize = 64;
const COMPARISONS_MAX: usize = 256;

/// A condition: of no parts, `All` holds and `Any` does not.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Logic<A> {
    All(Vec<Self>),
    Any(Vec<Self>),
    One(A),
}

/// How two values are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Sign {
    fn of(operator: &BinaryOperator) -> Option<Self> {
        Some(match operator {
            BinaryOperator::Eq => Self::Equal,
            BinaryOperator::NotEq => Self::NotEqual,
            BinaryOperator::Lt => Self::Less,
            BinaryOperator::LtEq => Self::LessOrEqual,
            BinaryOperator::Gt => Self::Greater,
            BinaryOperator::GtEq => Self::GreaterOrEqual,
            _ => return None,
        })
    }

    /// What holds exactly where this does not. An unknown stays unknown.
    fn negated(self) -> Self {
        match self {
            Self::Equal => Self::NotEqual,
            Self::NotEqual => Self::Equal,
            Self::Less => Self::GreaterOrEqual,
            Self::LessOrEqual => Self::Greater,
            Self::Greater => Self::LessOrEqual,
            Self::GreaterOrEqual => Self::Less,
        }
    }

    /// The same with its sides exchanged.
    pub(super) fn flipped(self) -> Self {
        match self {
            Self::Less => Self::Greater,
            Self::LessOrEqual => Self::GreaterOrEqual,
            Self::Greater => Self::Less,
            Self::GreaterOrEqual => Self::LessOrEqual,
            Self::Equal | Self::NotEqual => self,
        }
    }

    /// As EdgeLake writes it, which knows no `<>`.
    pub(super) fn text(self) -> &'static str {
        match self {
            Self::Equal => "=",
            Self::NotEqual => "!=",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
        }
    }

    /// Whether it holds for values that compare so.
    pub(super) fn holds(self, ordering: std::cmp::Ordering) -> bool {
        match self {
            Self::Equal => ordering.is_eq(),
            Self::NotEqual => ordering.is_ne(),
            Self::Less => ordering.is_lt(),
            Self::LessOrEqual => ordering.is_le(),
            Self::Greater => ordering.is_gt(),
            Self::GreaterOrEqual => ordering.is_ge(),
        }
    }
}

/// What single comparisons become.
pub(super) trait Reader {
    /// A comparison that was read.
    type One;

    fn compare(
        &mut self,
        left: &Expr,
        sign: Sign,
        right: &Expr,
    ) -> Result<Logic<Self::One>, Refused>;

    fn null(&mut self, expr: &Expr, is_null: bool) -> Result<Logic<Self::One>, Refused>;

    /// Anything else that stands as a condition by itself.
    fn other(&mut self, expr: &Expr) -> Result<Logic<Self::One>, Refused>;
}

/// Reads a condition; with `is_not`, its opposite.
pub(super) fn read<R: Reader>(
    expr: &Expr,
    is_not: bool,
    reader: &mut R,
) -> Result<Logic<R::One>, Refused> {
    match expr {
        Expr::Nested(inner) => read(inner, is_not, reader),
        Expr::UnaryOp { op: UnaryOperator::Not, expr } => read(expr, !is_not, reader),
        Expr::BinaryOp { left, op: op @ (BinaryOperator::And | BinaryOperator::Or), right } => {
            let parts = vec![read(left, is_not, reader)?, read(right, is_not, reader)?];
            let is_and = (*op == BinaryOperator::And) != is_not;
            Ok(if is_and { Logic::All(parts) } else { Logic::Any(parts) })
        }
        Expr::BinaryOp { left, op, right } => match Sign::of(op) {
            Some(sign) => reader.compare(left, if is_not { sign.negated() } else { sign }, right),
            None => reader.other(expr),
        },
        Expr::Between { expr, negated, low, high } if *negated == is_not => Ok(Logic::All(vec![
            reader.compare(expr, Sign::GreaterOrEqual, low)?,
            reader.compare(expr, Sign::LessOrEqual, high)?,
        ])),
        Expr::Between { expr, low, high, .. } => Ok(Logic::Any(vec![
            reader.compare(expr, Sign::Less, low)?,
            reader.compare(expr, Sign::Greater, high)?,
        ])),
        Expr::InList { expr, list, negated } => {
            let is_in = *negated == is_not;
            let sign = if is_in { Sign::Equal } else { Sign::NotEqual };
            let parts = list.iter().map(|value| reader.compare(expr, sign, value));
            let parts = parts.collect::<Result<_, _>>()?;
            Ok(if is_in { Logic::Any(parts) } else { Logic::All(parts) })
        }
        Expr::IsNull(expr) => reader.null(expr, !is_not),
        Expr::IsNotNull(expr) => reader.null(expr, is_not),
        Expr::Value(ValueWithSpan { value: Value::Boolean(holds), .. }) => {
            Ok(constant(*holds != is_not))
        }
        _ if is_not => Err(refused(
            format!("NOT before \"{expr}\""),
            "put NOT before comparisons of columns with values",
        )),
        other => reader.other(other),
    }
}

/// What always holds, or never.
pub(super) fn constant<A>(holds: bool) -> Logic<A> {
    if holds { Logic::All(Vec::new()) } else { Logic::Any(Vec::new()) }
}

/// The condition as ANDs with ORs between them. Of no AND it never holds; an empty AND always does.
pub(super) fn clauses<A: Clone>(logic: &Logic<A>) -> Result<Vec<Vec<A>>, Refused> {
    let clauses = match logic {
        Logic::One(one) => vec![vec![one.clone()]],
        Logic::Any(parts) => {
            let mut all = Vec::new();
            for part in parts {
                all.extend(clauses(part)?);
                check(&all)?;
            }
            all
        }
        Logic::All(parts) => {
            let mut product = vec![Vec::new()];
            for part in parts {
                let part = clauses(part)?;
                if product.len() * part.len() > CLAUSES_MAX {
                    return Err(too_many());
                }
                let both = |left: &Vec<A>, right: &Vec<A>| [left.clone(), right.clone()].concat();
                product = product
                    .iter()
                    .flat_map(|left| part.iter().map(move |right| both(left, right)))
                    .collect();
                check(&product)?;
            }
            product
        }
    };
    Ok(clauses)
}

fn check<A>(clauses: &[Vec<A>]) -> Result<(), Refused> {
    let comparisons: usize = clauses.iter().map(Vec::len).sum();
    match clauses.len() <= CLAUSES_MAX && comparisons <= COMPARISONS_MAX {
        true => Ok(()),
        false => Err(too_many()),
    }
}

fn too_many() -> Refused {
    refused(
        format!("a condition that is more than {CLAUSES_MAX} ANDs with ORs between them"),
        "EdgeLake takes no parentheses with times in them: ask with fewer ORs, or several times",
    )
}
