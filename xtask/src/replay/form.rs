//! What a reply says, apart from how it is laid out: the form two replies are compared in.

use serde_json::Value;

/// A reply in the form it is compared in.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Form {
    /// An error object: these three are compared, what else it tells is not.
    Error { code: i64, text: String, method: String },
    /// Any other JSON; the order of keys does not count.
    Json(Value),
    /// Several JSON objects, one a line.
    Lines(Vec<Value>),
    /// A header line, a line of dashes and rows, with trimmed cells.
    Table(Table),
    /// Anything else, trimmed.
    Text(String),
}

/// A text table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Table {
    /// The lines above the header.
    pub(crate) title: Vec<String>,
    pub(crate) columns: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
}

impl Form {
    pub(crate) fn of(reply: &str) -> Self {
        // EdgeLake ends its lines as Windows does, even in the strings of its JSON.
        let reply = reply.replace("\r\n", "\n");
        if let Some(value) = json(&reply) {
            return error(&value).unwrap_or(Self::Json(value));
        }
        if let Some(lines) = lines(&reply) {
            return Self::Lines(lines);
        }
        table(&reply).map_or_else(|| Self::text(&reply), Self::Table)
    }

    /// The same with every text in it passed through `mask`.
    pub(crate) fn masked(self, mask: impl Fn(&str) -> String) -> Self {
        match self {
            Self::Json(value) => {
                let text = mask(&value.to_string());
                serde_json::from_str(&text).map_or(Self::Text(text), Self::Json)
            }
            Self::Lines(lines) => Self::Lines(
                lines
                    .into_iter()
                    .map(|line| {
                        let text = mask(&line.to_string());
                        serde_json::from_str(&text).unwrap_or(Value::String(text))
                    })
                    .collect(),
            ),
            Self::Table(Table { title, columns, rows }) => {
                let all = |cells: Vec<String>| cells.iter().map(|cell| mask(cell)).collect();
                let rows = rows.into_iter().map(all).collect();
                Self::Table(Table { title: all(title), columns, rows })
            }
            Self::Text(text) => Self::Text(mask(&text)),
            error @ Self::Error { .. } => error,
        }
    }

    pub(crate) fn is_error(&self) -> bool {
        matches!(self, Self::Error { .. })
    }

    /// What surrounds a text, and what stands at the end of its lines, does not count.
    fn text(reply: &str) -> Self {
        let lines: Vec<&str> = reply.lines().map(str::trim_end).collect();
        Self::Text(lines.join("\n").trim().to_owned())
    }
}

/// One line for JSON and errors, one line a row for tables with the cells between bars.
impl std::fmt::Display for Form {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Error { code, text, method } => write!(f, "{method}: error {code}, {text}"),
            Self::Json(value) => write!(f, "{value}"),
            Self::Lines(lines) => {
                let lines: Vec<_> = lines.iter().map(Value::to_string).collect();
                f.write_str(&lines.join("\n"))
            }
            Self::Text(text) => f.write_str(text),
            Self::Table(Table { title, columns, rows }) => {
                let mut lines = title.clone();
                lines.push(columns.join("|"));
                lines.extend(rows.iter().map(|row| row.join("|")));
                f.write_str(&lines.join("\n"))
            }
        }
    }
}

fn json(reply: &str) -> Option<Value> {
    serde_json::from_str(reply).or_else(|_| serde_json::from_str(&escaped(reply))).ok()
}

fn lines(reply: &str) -> Option<Vec<Value>> {
    let lines = reply.lines().filter(|line| !line.trim().is_empty());
    let lines: Vec<Value> = lines.map(serde_json::from_str).collect::<Result<_, _>>().ok()?;
    (lines.len() > 1 && lines.iter().all(Value::is_object)).then_some(lines)
}

/// EdgeLake leaves line ends unescaped in the strings of some of its JSON.
fn escaped(reply: &str) -> String {
    let mut in_string = false;
    let mut after_backslash = false;
    let mut out = String::with_capacity(reply.len());
    for c in reply.chars() {
        match c {
            '"' if !after_backslash => in_string = !in_string,
            '\n' if in_string => out.push_str("\\n"),
            _ => {}
        }
        after_backslash = c == '\\' && !after_backslash;
        if !(in_string && c == '\n') {
            out.push(c);
        }
    }
    out
}

fn error(value: &Value) -> Option<Form> {
    let text = |key| value.get(key).and_then(Value::as_str).map(str::to_owned);
    Some(Form::Error {
        code: value.get("err_code")?.as_i64()?,
        text: text("err_text")?,
        method: text("method").unwrap_or_default(),
    })
}

fn table(reply: &str) -> Option<Table> {
    let lines: Vec<&str> = reply.lines().filter(|line| !line.trim().is_empty()).collect();
    let dashes = lines.iter().position(|line| is_dashes(line))?;
    let (head, body) = lines.split_at(dashes);
    let (header, title) = head.split_last()?;
    let columns = cut(header, body.first()?);
    let rows: Vec<Vec<String>> = body.iter().skip(1).map(|line| cells(line)).collect();
    // Something else after the table, or a second table, is not a table to us.
    if rows.iter().any(|row| row.len() != columns.len()) {
        return None;
    }
    let title = title.iter().map(|line| line.trim().to_owned()).collect();
    Some(Table { title, columns, rows })
}

fn is_dashes(line: &str) -> bool {
    let line = line.trim();
    line.contains('-') && line.ends_with('|') && line.chars().all(|c| matches!(c, '-' | '|'))
}

/// The names in a header: they contain spaces, so the bars in the dashes say where each ends.
fn cut(header: &str, dashes: &str) -> Vec<String> {
    let mut header = header.chars();
    let widths = dashes.trim_end().trim_end_matches('|').split('|');
    widths
        .map(|width| {
            let name: String = header.by_ref().take(width.chars().count()).collect();
            header.next();
            name.trim().to_owned()
        })
        .collect()
}

fn cells(line: &str) -> Vec<String> {
    let line = line.trim_end();
    let line = line.strip_suffix('|').unwrap_or(line);
    line.split('|').map(|cell| cell.trim().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::exchange;

    fn captured(id: &str) -> Form {
        let all = exchange::load().unwrap();
        Form::of(&all.into_iter().find(|exchange| exchange.id == id).unwrap().reply)
    }

    #[track_caller]
    fn captured_table(id: &str) -> Table {
        match captured(id) {
            Form::Table(table) => table,
            other => panic!("no table: {other}"),
        }
    }

    #[test]
    fn a_table_is_cut_by_its_dashes() {
        let table = captured_table("022_tables");
        assert_eq!(table.columns, ["Database", "Table name", "Local DBMS", "Blockchain"]);
        assert_eq!(table.rows, [["new_company", "rand_data", "V", "V"]]);
        assert!(table.title.is_empty());
    }

    #[test]
    fn a_title_and_an_indent_do_not_disturb() {
        let table = captured_table("026_columns");
        assert_eq!(table.title, ["Schema for DBMS: 'new_company' and Table: 'rand_data'"]);
        assert_eq!(table.columns, ["Column Name", "Column Type"]);
        assert_eq!(table.rows.len(), 7);
        let table = captured_table("014_processes");
        assert_eq!(table.columns, ["Process", "Status", "Details"]);
        assert_eq!(table.rows.len(), 19);
        assert_eq!(table.rows[2], ["MCP", "Not declared", ""]);
    }

    #[test]
    fn an_empty_table_is_a_table() {
        let table = captured_table("359_get_mcp");
        assert_eq!(table.columns.len(), 6);
        assert!(table.rows.is_empty());
    }

    #[test]
    fn layout_does_not_count() {
        let wide = "\r\nA b   C \r\n-----|--|\r\nx    | 1|\r\n";
        let narrow = "A b C\n---|-|\nx|1|";
        assert_eq!(Form::of(wide), Form::of(narrow));
    }

    #[test]
    fn two_tables_are_text() {
        assert!(matches!(captured("046_get_operator"), Form::Text(_)));
    }

    #[test]
    fn an_error_is_its_code_text_and_method() {
        let more = r#"{"err_text": "t", "hint": "h", "err_code": 2, "method": "get"}"#;
        let code = Form::Error { code: 2, text: "t".into(), method: "get".into() };
        assert_eq!(Form::of(more), code);
    }

    #[test]
    fn json_with_bare_line_ends_is_read() {
        let Form::Json(value) = captured("506_down_status_list_subset") else {
            panic!("not JSON");
        };
        let message = "\n[From Node 127.0.0.1:33158] Not responding";
        assert_eq!(value["messages"], message);
    }

    #[test]
    fn the_order_of_keys_does_not_count() {
        assert_eq!(Form::of(r#"{"a":1,"b":[2]}"#), Form::of(r#"{"b":[2], "a":1}"#));
        assert_ne!(Form::of("[1,2]"), Form::of("[2,1]"));
    }
}
