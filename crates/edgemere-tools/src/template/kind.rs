//! The kinds of holes: what an argument may be where it stands.

/// What an argument is where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A value.
    Value,
    /// A table.
    Table,
    /// A column, or several.
    Column,
    /// A condition on rows.
    Expression,
    /// What stands after SELECT.
    Projection,
    /// What stands after GROUP BY.
    Grouping,
    /// What stands after ORDER BY.
    Ordering,
    /// A moment.
    Moment,
    /// A word of the schema's own list.
    Keyword,
    /// A whole query.
    Query,
    /// Nodes.
    Nodes,
    /// A condition on policies.
    Condition,
    /// Columns that tell where rows come from.
    Extensions,
}

const KINDS: [(char, Kind, &str); 12] = [
    ('t', Kind::Table, "a table"),
    ('c', Kind::Column, "a column"),
    ('e', Kind::Expression, "an expression"),
    ('l', Kind::Projection, "what stands after SELECT"),
    ('g', Kind::Grouping, "what stands after GROUP BY"),
    ('o', Kind::Ordering, "what stands after ORDER BY"),
    ('m', Kind::Moment, "a moment"),
    ('k', Kind::Keyword, "a word of the enum"),
    ('q', Kind::Query, "a whole query"),
    ('n', Kind::Nodes, "nodes"),
    ('w', Kind::Condition, "a condition on policies"),
    ('x', Kind::Extensions, "columns that tell where rows come from"),
];

impl Kind {
    /// The kind that a letter stands for.
    pub(crate) fn from_letter(letter: char) -> Option<Self> {
        KINDS.iter().find(|(known, ..)| *known == letter).map(|(_, kind, _)| *kind)
    }

    /// All kinds as they are written, for a hint.
    pub(crate) fn all() -> String {
        let kinds = KINDS.map(|(letter, _, what)| format!("{{{letter}:…}} {what}"));
        format!("there are {{…}} a value, {}", kinds.join(", "))
    }

    /// Whether it can stand in SQL, and not in a command.
    pub(crate) fn is_of_sql(self) -> bool {
        !matches!(self, Self::Value | Self::Nodes | Self::Condition | Self::Extensions)
    }

    /// Whether it can stand in a command, and not in SQL.
    pub(crate) fn is_of_commands(self) -> bool {
        matches!(self, Self::Nodes | Self::Condition | Self::Extensions)
    }

    /// A text that fits, for trying a template.
    pub(crate) fn sample(self) -> Option<&'static str> {
        match self {
            Self::Value | Self::Keyword => None,
            Self::Table => Some("t"),
            Self::Column | Self::Grouping | Self::Ordering | Self::Projection => Some("a"),
            Self::Expression => Some("a = 1"),
            Self::Moment => Some("2026-01-01"),
            Self::Query => Some("select 1"),
            Self::Nodes => Some("127.0.0.1:32148"),
            Self::Condition => Some("name = a"),
            Self::Extensions => Some("@ip"),
        }
    }
}
