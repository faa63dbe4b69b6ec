//! How deep a statement is nested, told from its tokens.
//!
//! Parser, planner and optimizer call themselves for what is inside of something, and a stack has an
//! end. `1 + 1 + 1 …` is nested as deep as it is long, though no parser counts it so. What this lets
//! through fits on a stack of [`STACK_BYTES`](crate::sql::STACK_BYTES).

use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::sql::error::Error;

/// How deep a statement may be nested, in operators.
pub(crate) const DEPTH_MAX: usize = 200;

/// As how many operators between two values everything else counts: a parenthesis, a CASE, a NOT, a
/// cast, a sign. So much more of the stack they take.
const LEVEL: usize = 4;

/// How many queries a statement may consist of, one in the other or one beside the other.
pub(crate) const QUERIES_MAX: usize = 100;

/// How many times WITH may be in a statement: names are looked up again for each that stands around.
pub(crate) const WITHS_MAX: usize = 10;

/// How many words and signs a statement may have: a parser takes much more memory than its text.
const TOKENS_MAX: usize = 500_000;

/// Refuses a statement that is nested too deeply.
pub(super) fn check(tokens: &[TokenWithSpan]) -> Result<(), Error> {
    if tokens.len() > TOKENS_MAX {
        return Err(Error::TooComplex { what: "words and signs", limit: TOKENS_MAX });
    }
    let mut levels = vec![Level::default()];
    let (mut queries, mut withs) = (0, 0);
    let mut previous = &Token::EOF;
    for token in tokens.iter().filter(|token| !matches!(token.token, Token::Whitespace(_))) {
        match &token.token {
            Token::LBracket => {
                // `int[][]` is a list of lists, and `a[1][2]` an item of an item.
                if let (Token::RBracket, Some(level)) = (previous, levels.last_mut()) {
                    level.chain += LEVEL;
                }
                levels.push(Level::default());
            }
            Token::LParen | Token::LBrace => levels.push(Level::default()),
            Token::RParen | Token::RBracket | Token::RBrace => close(&mut levels),
            Token::Word(word) if word.quote_style.is_none() => {
                queries += usize::from(word.keyword == Keyword::SELECT);
                withs += usize::from(word.keyword == Keyword::WITH);
                keyword(word.keyword, &mut levels);
            }
            other => punctuation(other, previous, &mut levels),
        }
        previous = &token.token;
        let open: usize = levels.iter().map(|level| level.joints + level.chain + LEVEL).sum();
        if open > DEPTH_MAX || levels.last().is_some_and(|level| level.depth() > DEPTH_MAX) {
            return Err(Error::TooComplex { what: "levels of nesting", limit: DEPTH_MAX });
        }
    }
    match (queries > QUERIES_MAX, withs > WITHS_MAX) {
        (true, _) => Err(Error::TooComplex { what: "queries in one", limit: QUERIES_MAX }),
        (_, true) => Err(Error::TooComplex { what: "WITH in one query", limit: WITHS_MAX }),
        _ => Ok(()),
    }
}

/// What stands between two parentheses, or in a CASE.
#[derive(Debug, Default)]
struct Level {
    /// ANDs and ORs since the last comma or clause: each may be inside of the next.
    joints: usize,
    /// Other operators since the last of them, which bind stronger.
    chain: usize,
    /// The deepest of what was closed inside since then.
    inside: usize,
    /// The deepest that stood between two ANDs or ORs.
    joined: usize,
    /// How deep it was before the last comma or clause.
    before: usize,
    /// Joined tables and queries, which end with no clause.
    parts: usize,
}

impl Level {
    fn depth(&self) -> usize {
        self.parts + self.before.max(self.joints + self.joined.max(self.chain + self.inside))
    }

    /// An AND or an OR ends what binds stronger.
    fn joint(&mut self) {
        self.joined = self.joined.max(self.chain + self.inside);
        (self.chain, self.inside) = (0, 0);
        self.joints += 1;
    }

    /// A comma or a clause ends all but the joined tables and queries.
    fn clause(&mut self) {
        let parts = self.parts;
        *self = Self { before: self.depth() - parts, parts, ..Self::default() };
    }
}

fn close(levels: &mut Vec<Level>) {
    // The outermost is never closed: a parenthesis too many is the parser's to tell.
    if levels.len() > 1
        && let Some(closed) = levels.pop()
        && let Some(around) = levels.last_mut()
    {
        around.inside = around.inside.max(closed.depth() + LEVEL);
    }
}

fn keyword(keyword: Keyword, levels: &mut Vec<Level>) {
    match keyword {
        Keyword::CASE => return levels.push(Level::default()),
        Keyword::END => return close(levels),
        _ => {}
    }
    let Some(level) = levels.last_mut() else { return };
    match keyword {
        Keyword::AND | Keyword::OR => level.joint(),
        Keyword::NOT
        | Keyword::IS
        | Keyword::IN
        | Keyword::LIKE
        | Keyword::ILIKE
        | Keyword::SIMILAR
        | Keyword::BETWEEN
        | Keyword::AT
        | Keyword::COLLATE => level.chain += LEVEL,
        Keyword::JOIN | Keyword::UNION | Keyword::INTERSECT | Keyword::EXCEPT => level.parts += 1,
        Keyword::SELECT
        | Keyword::FROM
        | Keyword::WHERE
        | Keyword::GROUP
        | Keyword::HAVING
        | Keyword::ORDER
        | Keyword::LIMIT
        | Keyword::ON
        | Keyword::WHEN
        | Keyword::THEN
        | Keyword::ELSE => level.clause(),
        _ => {}
    }
}

fn punctuation(token: &Token, previous: &Token, levels: &mut [Level]) {
    let Some(level) = levels.last_mut() else { return };
    match token {
        Token::Comma => level.clause(),
        Token::Number(..) | Token::SingleQuotedString(_) | Token::Period | Token::EOF => {}
        Token::Plus
        | Token::Minus
        | Token::Mul
        | Token::Div
        | Token::Mod
        | Token::StringConcat
        | Token::Eq
        | Token::Neq
        | Token::Lt
        | Token::LtEq
        | Token::Gt
        | Token::GtEq
            if ends_value(previous) =>
        {
            level.chain += 1;
        }
        _ => level.chain += LEVEL,
    }
}

/// Whether an operator that follows stands between two values.
fn ends_value(token: &Token) -> bool {
    matches!(
        token,
        Token::Word(_)
            | Token::Number(..)
            | Token::SingleQuotedString(_)
            | Token::RParen
            | Token::RBracket
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
    use datafusion::sql::sqlparser::tokenizer::Tokenizer;

    fn check_sql(sql: &str) -> Result<(), Error> {
        let tokens = Tokenizer::new(&PostgreSqlDialect {}, sql).tokenize_with_location();
        check(&tokens.unwrap())
    }

    #[test]
    fn what_is_long_and_flat_is_let_through() {
        let values = vec!["-1"; 20_000].join(", ");
        check_sql(&format!("select a from t where a in ({values})")).unwrap();
        let columns = vec!["a + 1"; 1000].join(", ");
        check_sql(&format!("select {columns} from t")).unwrap();
        let conditions = vec!["a = 1"; DEPTH_MAX - LEVEL].join(" or ");
        check_sql(&format!("select a from t where {conditions}")).unwrap();
        let rows = vec!["(1, 'x')"; 5000].join(", ");
        check_sql(&format!("values {rows}")).unwrap();
    }

    #[test]
    fn what_is_nested_too_deeply_is_refused_whatever_it_is_made_of() {
        let many = DEPTH_MAX + 1;
        let chains = [
            "+ 1 ",
            "and a ",
            "or a = 1 ",
            ":: int ",
            "is null ",
            "|| 'x' ",
            "not ",
            "- ",
            "[1]",
            "::int[]",
        ];
        for chain in chains {
            let error = check_sql(&format!("select a {}", chain.repeat(many))).unwrap_err();
            assert!(matches!(error, Error::TooComplex { limit: DEPTH_MAX, .. }), "{chain}");
        }
        let lists = format!("select cast(null as int{})", "[]".repeat(many));
        assert!(check_sql(&lists).is_err());
        check_sql("select cast(null as int[][]), a[1][2] from t").unwrap();
        for (open, shut) in [("(", ")"), ("case when a then ", " end"), ("abs(", ")"), ("[", "]")] {
            let nested =
                |times: usize| format!("select {}1{}", open.repeat(times), shut.repeat(times));
            check_sql(&nested(DEPTH_MAX / LEVEL - 3)).unwrap();
            assert!(check_sql(&nested(DEPTH_MAX / LEVEL)).is_err(), "{open}");
            // Also when nothing closes it.
            assert!(check_sql(&format!("select {}", open.repeat(many))).is_err(), "{open}");
        }
        let joins = " join t on true".repeat(many);
        assert!(check_sql(&format!("select 1 from t{joins}")).is_err());
    }

    #[test]
    fn chains_one_in_the_other_add_up() {
        let chain = "+ 1".repeat(DEPTH_MAX / 2 - LEVEL);
        check_sql(&format!("select (1 {chain}), (1 {chain})")).unwrap();
        assert!(check_sql(&format!("select ((1 {chain}) {chain}) {chain}")).is_err());
        assert!(check_sql(&format!("select 1 {chain} + (1 {chain} + (1 {chain}))")).is_err());
    }

    #[test]
    fn queries_and_withs_are_counted() {
        let unions = "select 1 union all ".repeat(QUERIES_MAX);
        assert!(check_sql(&format!("{unions} select 1")).is_err());
        let withs = "with a as (select 1) ".repeat(WITHS_MAX + 1);
        assert!(check_sql(&withs).is_err());
        assert!(check_sql("select \"select\", 'with with with' from t").is_ok());
    }

    #[test]
    fn parentheses_that_do_not_match_are_left_to_the_parser() {
        check_sql("select 1)))) end end ]]").unwrap();
    }
}
