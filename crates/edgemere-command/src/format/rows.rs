//! The rows of a query, in the formats of `sql`: each is a stream, so that a result of any size
//! passes through a small memory.

use std::time::Instant;

use edgemere_query::distributed::{OperatorProgress, State};
use edgemere_query::sql::{Batch, Rows as _, Times};
use futures_util::StreamExt;
use futures_util::stream::{BoxStream, unfold};
use serde_json::json;

use super::binary;
use super::modes::{Frame, events_of};
use super::source::Source;
use super::{Content, Format, Media, Rendered, Sources};
use crate::error::Error;
use crate::sync::LedgerAge;

/// Rows that are the reply.
#[derive(Debug)]
pub(crate) struct Rows {
    pub(crate) query: Source,
    pub(crate) times: Times,
    /// Whether the statistics follow.
    pub(crate) statistics: bool,
    /// How many rows an event has.
    pub(crate) rows_at_once: usize,
    pub(crate) started: Instant,
    /// Whether the first of them were taken by somebody already.
    pub(crate) is_rest: bool,
    /// How old what the node knew of the network was, where it is a copy.
    pub(crate) ledger: Option<LedgerAge>,
}

impl Rows {
    /// Rows alone, with so many in an event.
    pub(crate) fn new(query: Source, rows_at_once: usize) -> Self {
        let (times, started) = (Times::Plain, Instant::now());
        let (statistics, is_rest, ledger) = (false, false, None);
        Self { query, times, statistics, rows_at_once, started, is_rest, ledger }
    }
}

/// Gives rows the looks of a format.
pub(crate) fn render(rows: Rows, format: Format) -> Rendered {
    let media = match format {
        Format::Arrow => return binary::arrow(rows),
        Format::Parquet => return binary::parquet(rows),
        Format::Events => return events_of(rows, Frame::Line),
        Format::EventsSse => return events_of(rows, Frame::ServerSent),
        Format::Table => Media::Text,
        Format::Csv => Media::Csv,
        Format::Ndjson | Format::JsonOutput => Media::Ndjson,
        _ => Media::Json,
    };
    let sources = Sources::of_rows(&rows.query);
    let announced = rows.query.missing().len();
    let pieces = Pieces {
        rows,
        waiting: None,
        format,
        count: 0,
        widths: Vec::new(),
        announced,
        next: Part::Beginning,
    };
    Rendered { media, content: Content::Stream(pieces.stream()), sources }
}

/// How many rows are written at once.
const PIECE_ROWS: usize = 1024;

struct Pieces {
    rows: Rows,
    /// Rows that have come and are not written yet.
    waiting: Option<Batch>,
    format: Format,
    count: usize,
    widths: Vec<usize>,
    /// How many operators were known to be missing at the beginning.
    announced: usize,
    next: Part,
}

enum Part {
    Beginning,
    Rows,
    End,
}

impl Pieces {
    fn stream(self) -> BoxStream<'static, Result<Vec<u8>, Error>> {
        unfold(Some(self), |pieces| async {
            let mut pieces = pieces?;
            match pieces.piece().await {
                Ok(Some(piece)) => Some((Ok(piece.into_bytes()), Some(pieces))),
                Ok(None) => None,
                // After an error there is nothing more: the reply must not look whole.
                Err(error) => Some((Err(error), None)),
            }
        })
        .boxed()
    }

    async fn piece(&mut self) -> Result<Option<String>, Error> {
        match self.next {
            Part::Beginning => {
                self.next = Part::Rows;
                self.beginning().map(Some)
            }
            Part::Rows => match self.some_rows().await? {
                Some(batch) => self.batch(&batch).map(Some),
                None => {
                    self.next = Part::End;
                    if !self.has_statistics() {
                        self.rows.query.check_missing(self.announced)?;
                    }
                    Ok(Some(self.end()))
                }
            },
            Part::End => Ok(None),
        }
    }

    /// The next rows, few enough that they are on their way soon.
    async fn some_rows(&mut self) -> Result<Option<Batch>, Error> {
        if self.waiting.as_ref().is_none_or(|batch| batch.rows() == 0) {
            self.waiting = self.rows.query.next().await.transpose()?;
        }
        Ok(self.waiting.as_mut().map(|batch| batch.take_front(PIECE_ROWS)))
    }

    fn beginning(&self) -> Result<String, Error> {
        let query = &self.rows.query;
        Ok(match self.format {
            Format::Json => "{\"Query\":[".into(),
            Format::McpColumns => format!("{{\"columns\":{},\"rows\":[", json!(query.columns())),
            // The columns have their names also when there are no rows.
            Format::Csv => query.no_rows().csv(self.rows.times, true)?,
            Format::Table | Format::JsonOutput | Format::Ndjson => String::new(),
            _ => "[".into(),
        })
    }

    fn batch(&mut self, batch: &Batch) -> Result<String, Error> {
        let is_first = self.count == 0;
        self.count += batch.rows();
        let times = self.rows.times;
        Ok(match self.format {
            Format::Table => self.table(batch, is_first)?,
            Format::Csv => batch.csv(times, false)?,
            Format::JsonOutput | Format::Ndjson => batch.json_objects(times)?,
            Format::McpColumns => joined(&batch.json_lists(times)?, is_first),
            _ => joined(&batch.json_objects(times)?, is_first),
        })
    }

    /// The columns are as wide as the first rows need; a later value that is wider stands out.
    fn table(&mut self, batch: &Batch, is_first: bool) -> Result<String, Error> {
        let cells = batch.cells(self.rows.times)?;
        let numbers = batch.are_numbers();
        let mut text = String::new();
        if is_first {
            let columns = self.rows.query.columns();
            self.widths = widths(&columns, &cells);
            text.push('\n');
            push_line(&mut text, &columns, &self.widths, &[]);
            let rules: Vec<_> = self.widths.iter().map(|width| "-".repeat(*width)).collect();
            push_line(&mut text, &rules, &self.widths, &[]);
        }
        for row in &cells {
            push_line(&mut text, row, &self.widths, &numbers);
        }
        Ok(text)
    }

    /// Whether there is a place at the end for who is missing.
    fn has_statistics(&self) -> bool {
        self.rows.statistics && matches!(self.format, Format::Json | Format::Table)
    }

    fn end(&self) -> String {
        let seconds = self.rows.started.elapsed().as_secs();
        let time = format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
        let count = self.count;
        let nodes = Nodes::of(&self.rows.query, self.rows.ledger);
        match (self.format, self.rows.statistics) {
            (Format::Json, true) => format!(
                "],\n\"Statistics\":[{{\"Count\": {count},\"Time\":\"{time}\",\"Nodes\": {}{}}}]}}",
                nodes.asked,
                nodes.missing(",")
            ),
            (Format::Json, false) | (Format::McpColumns, _) => "]}".into(),
            (Format::Table, true) => format!(
                "\n{{\"Statistics\":[{{\"Count\": {count},\n                \"Time\":\"{time}\",\n\
                 \x20               \"Nodes\": {}{}}}]}}",
                nodes.asked,
                nodes.missing(",\n                ")
            ),
            (Format::Table | Format::Csv | Format::Ndjson | Format::JsonOutput, _) => String::new(),
            _ => "]".into(),
        }
    }
}

/// The operators of a query: how many gave their rows, and which are missing.
struct Nodes {
    asked: usize,
    missing: Vec<String>,
    /// How old the ledger is that says who they are; of an answer of operators alone.
    ledger: Option<LedgerAge>,
}

impl Nodes {
    fn of(query: &Source, ledger: Option<LedgerAge>) -> Self {
        let shares = query.operators();
        let ledger = ledger.filter(|_| !shares.is_empty());
        let gave =
            |share: &&OperatorProgress| !matches!(share.state, State::Missing | State::Failed);
        let asked = shares.iter().filter(gave).count();
        Self { asked, missing: query.missing(), ledger }
    }

    /// Who is missing, and how old the ledger is that says so, each after this, as attributes of JSON.
    fn missing(&self, after: &str) -> String {
        let mut text = String::new();
        if !self.missing.is_empty() {
            text.push_str(&format!("{after}\"Missing\": {}", json!(self.missing)));
        }
        if let Some(ledger) = self.ledger {
            text.push_str(&format!("{after}\"Ledger Age\": {}", ledger.seconds));
            if ledger.is_stale() {
                text.push_str(&format!("{after}\"Complete\": false"));
            }
        }
        text
    }
}

/// Lines of JSON as the elements of a list, a comma before each but the very first.
pub(super) fn joined(lines: &str, is_first: bool) -> String {
    let mut text = String::with_capacity(lines.len() + 1);
    for (index, line) in lines.lines().enumerate() {
        if index > 0 || !is_first {
            text.push(',');
        }
        text.push_str(line);
    }
    text
}

fn widths(columns: &[String], cells: &[Vec<String>]) -> Vec<usize> {
    let length = |text: &String| text.chars().count();
    let of_cells = |index| cells.iter().filter_map(|row| row.get(index)).map(length).max();
    columns
        .iter()
        .enumerate()
        .map(|(index, name)| length(name).max(of_cells(index).unwrap_or(0)))
        .collect()
}

fn push_line(text: &mut String, cells: &[String], widths: &[usize], numbers: &[bool]) {
    for (index, cell) in cells.iter().enumerate() {
        let width = widths.get(index).copied().unwrap_or(0);
        let cell: String = cell.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        match numbers.get(index).copied().unwrap_or(false) {
            true => text.push_str(&format!("{cell:>width$} ")),
            false => text.push_str(&format!("{cell:width$} ")),
        }
    }
    text.truncate(text.trim_end_matches(' ').len());
    text.push('\n');
}
