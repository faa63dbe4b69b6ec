//! Queries of the shell: for people a page of rows, with how long it took and who answered; in a pipe all rows as
//! CSV, while they come.

use std::time::{Duration, Instant};

use edgemere_command::words::quoted;
use edgemere_tools::Given;
use reqwest::Method;

use super::meta::Reach;
use crate::client::{Client, Question};
use crate::failure::Failure;
use crate::server::http::answers;

/// How many rows are shown at once, and how many bytes of them.
const ROWS_MAX: usize = 10_000;
const BYTES_MAX: usize = 16 << 20;

/// How queries are asked.
#[derive(Clone, Debug, Default)]
pub(super) struct Asking {
    pub(super) dbms: Option<String>,
    pub(super) reach: Reach,
    pub(super) subset: bool,
    pub(super) max_time_s: Option<u64>,
}

impl Asking {
    /// The database of a statement: the chosen one, or the only one that there is.
    pub(super) fn database(
        &self,
        sql: &str,
        known: impl Fn() -> Vec<String>,
    ) -> Result<String, Failure> {
        if let Some(dbms) = &self.dbms {
            return Ok(dbms.clone());
        }
        let known = known();
        let words: Vec<_> = sql.split_whitespace().map(str::to_lowercase).collect();
        let is_for_any = words.get(..2) == Some(&["show".to_owned(), "databases".to_owned()]);
        match known.as_slice() {
            [only] => Ok(only.clone()),
            [first, ..] if is_for_any => Ok(first.clone()),
            [] => Err(Failure::input("there is no database to ask yet")
                .with_hint("store rows first: \"edgemere import\", or PUT them to an operator")),
            some => Err(Failure::input("no database is chosen").with_hint(format!(
                "choose one with \"use NAME\"; the databases are {}",
                some.join(", ")
            ))),
        }
    }

    /// The command that asks in a format.
    fn command(&self, dbms: &str, sql: &str, format: Option<&str>) -> String {
        let mut options: Vec<String> = format
            .map(|format| format!("format = {format} and stat = false"))
            .into_iter()
            .collect();
        options.extend(self.max_time_s.map(|seconds| format!("max_time = {seconds}")));
        edgemere_command::sql_command(dbms, &options.join(" and "), sql)
    }

    fn destination(&self) -> Option<String> {
        match self.reach {
            Reach::Auto => None,
            Reach::Local => Some("local".to_owned()),
            Reach::Network => Some("network".to_owned()),
        }
    }

    /// All rows of a statement, for a program.
    pub(super) fn streamed(&self, dbms: &str, sql: &str) -> Question {
        Question {
            command: self.command(dbms, sql, Some("csv")),
            destination: self.destination(),
            subset: self.subset,
            timeout_s: None,
            for_programs: true,
        }
    }

    /// The first rows of a statement, for people.
    pub(super) fn paged(&self, dbms: &str, sql: &str) -> answers::Question {
        self.page(self.command(dbms, sql, None), self.destination())
    }

    /// The next rows, of which the node has a cursor.
    pub(super) fn fetched(&self, cursor: &str) -> answers::Question {
        self.page(format!("query fetch {}", quoted(cursor)), None)
    }

    fn page(&self, command: String, destination: Option<String>) -> answers::Question {
        answers::Question {
            command,
            destination,
            subset: self.subset,
            timeout_s: None,
            rows: Some(ROWS_MAX),
            bytes: Some(BYTES_MAX),
            stream: false,
        }
    }
}

/// What a node answers: rows, or a text where there are none.
pub(super) enum Shown {
    Rows(Box<Given>, Duration),
    Text(String),
}

/// Asks for a page of rows. Who drops this cancels the query on the node.
pub(super) async fn ask(client: &Client, question: &answers::Question) -> Result<Shown, Failure> {
    let begun = Instant::now();
    let request = client.request(Method::POST, answers::PATH).json(question);
    let response = client.response(request).await?;
    let kind = response.headers().get(reqwest::header::CONTENT_TYPE);
    let is_page = kind.is_some_and(|kind| kind.as_bytes() == answers::PAGE.as_bytes());
    let text = client.text(response).await?;
    if !is_page {
        return Ok(Shown::Text(text));
    }
    let given = serde_json::from_str(&text).map_err(|_| {
        Failure::new(edgemere_command::Kind::Internal, "the node gave rows in another form")
    })?;
    Ok(Shown::Rows(Box::new(given), begun.elapsed()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_is_chosen_or_the_only_one() {
        let asking = Asking::default();
        let known =
            |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let of = |sql: &str, names: &[&str]| asking.database(sql, || known(names)).ok();
        assert_eq!(of("select 1", &["water"]), Some("water".into()));
        assert_eq!(of("select 1", &["a", "b"]), None);
        assert_eq!(of("show databases", &["a", "b"]), Some("a".into()));
        assert_eq!(of("select 1", &[]), None);
        let chosen = Asking { dbms: Some("c".into()), ..Asking::default() };
        assert_eq!(chosen.database("select 1", || known(&["a"])).unwrap(), "c");
    }

    #[test]
    fn what_was_set_is_in_the_command() {
        let asking = Asking {
            reach: Reach::Network,
            subset: true,
            max_time_s: Some(7),
            ..Asking::default()
        };
        let asked = asking.paged("d", "select \"a\"");
        assert_eq!(asked.command, "sql d max_time = 7 \"select \\\"a\\\"\"");
        assert_eq!((asked.destination.as_deref(), asked.subset), (Some("network"), true));
        assert!(edgemere_command::parse(&asked.command).is_ok());
        let plain = Asking::default().paged("my db", "select 1");
        assert!(edgemere_command::parse(&plain.command).is_ok(), "{}", plain.command);
        let streamed = Asking::default().streamed("d", "select 1").command;
        assert!(edgemere_command::parse(&streamed).is_ok(), "{streamed}");
    }
}
