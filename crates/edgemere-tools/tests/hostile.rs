//! Hostile arguments: whatever a caller writes into an argument, the tool stays the command that it is.
//! Every value of `tests/hostile/values.jsonl`, and random text, goes into every argument of every
//! shipped tool. Either it is refused in words, or the command has the same tokens as with a harmless
//! value, and the hostile one is in it as one value, unchanged; and SQL has the same skeleton.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may end where it fails"
)]

use std::sync::LazyLock;

use edgemere_command::template::{TokenKind, condition, sql, tokens};
use edgemere_tools::{Bound, Surroundings, Tool, Toolbox};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// What an argument is in a tool's command.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    /// One token of the command.
    Value,
    /// One token of SQL.
    Name,
    /// A part of SQL, which was parsed by itself.
    Part,
    /// A time: a literal or a part.
    Moment,
    /// A whole query, as one token of the command.
    Query,
    /// A condition on policies.
    Condition,
    /// Nodes, in the destination.
    Nodes,
    /// Not a text at all, or one of a list: it is always refused.
    Refused,
    /// Nothing uses it.
    Unused,
}

/// Harmless arguments for each tool, with all that it takes.
fn harmless(tool: &str) -> Value {
    match tool {
        "query" => json!({
            "database": "d", "table": "t", "select": ["a"], "where": "a = 1", "group_by": ["a"],
            "having": "a = 1", "order_by": ["a"], "limit": 5, "offset": 5,
        }),
        "query_with_increments" => json!({
            "database": "d", "table": "t", "time_column": "ts", "unit": "hour", "count": 1,
            "select": ["a"], "start": "2026-01-01", "end": "2026-01-02", "where": "a = 1",
        }),
        "queryWithIncrement" => json!({
            "dbms": "d", "table": "t", "timeUnit": "hour", "intervalLength": 1, "timeColumn": "ts",
            "projections": ["a"], "startTime": "2026-01-01", "endTime": "2026-01-02",
            "data_nodes": "a:1", "mode": "execute",
        }),
        "sample" => json!({"database": "d", "table": "t", "rows": 5}),
        "sql" | "explain" => json!({"database": "d", "sql": "select 1"}),
        "executeQuery" => json!({"dbms": "d", "sql": "select 1", "data_nodes": "a:1"}),
        "list_tables" | "list_database_schema" => json!({"database": "d"}),
        "get_schema" | "data_location" => json!({"database": "d", "table": "t"}),
        "dataLocation" | "listColumns" => json!({"dbms": "d", "table": "t"}),
        "getClusterNodeMapping" => json!({"company": "c", "dbms": "d", "table": "t"}),
        "listTables" => json!({"dbms": "d"}),
        "fetch_rows" => json!({"cursor": "c"}),
        "monitor_nodes" => json!({"what": "cpu", "nodes": ["a:1"]}),
        "monitorNodes" => json!({"status_type": "cpu", "nodes": "a:1"}),
        "listLocalDatabases" | "listNetworkConnections" => json!({"nodes": "a:1"}),
        "list_policies" => json!({"type": "x", "where": "a = 1"}),
        "listPolicies" | "getPolicyChildren" => json!({"policyType": "x", "whereCond": "a = 1"}),
        "job_status" | "cancel_job" => json!({"job": 1}),
        "helpCommand" => json!({"command": "x"}),
        "listCommandsByIndex" => json!({"key": "x"}),
        _ => json!({}),
    }
}

fn place(tool: &str, argument: &str) -> Place {
    let has_sql = matches!(tool, "query" | "query_with_increments" | "queryWithIncrement");
    match argument {
        "table" | "time_column" | "timeColumn" if has_sql => Place::Name,
        "select" | "group_by" | "order_by" | "having" | "projections" => Place::Part,
        "where" if has_sql => Place::Part,
        "where" | "whereCond" => Place::Condition,
        "start" | "end" | "startTime" | "endTime" => Place::Moment,
        "sql" => Place::Query,
        "nodes" | "data_nodes" => Place::Nodes,
        "limit" | "offset" | "rows" | "job" | "count" | "intervalLength" | "unit" | "timeUnit"
        | "what" | "status_type" | "mode" | "detail" | "stream" | "subset" => Place::Refused,
        "target_node" => Place::Unused,
        _ => Place::Value,
    }
}

/// A tool with all of its arguments, of which one is to be hostile.
struct Target<'a> {
    tool: &'a Tool,
    argument: String,
    place: Place,
    arguments: Map<String, Value>,
    harmless: Bound,
}

impl Target<'_> {
    fn all(toolbox: &Toolbox) -> Vec<Target<'_>> {
        let mut targets = Vec::new();
        for tool in toolbox.tools() {
            let arguments = harmless(&tool.name).as_object().unwrap().clone();
            let ready = tool.bind(&arguments).unwrap_or_else(|e| panic!("{}: {e}", tool.name));
            // What answers without a command takes nothing that could change one.
            let Some(bound) = ready.command() else { continue };
            let properties = tool.input_schema["properties"].as_object().unwrap();
            for argument in properties.keys() {
                targets.push(Target {
                    tool,
                    argument: argument.clone(),
                    place: place(&tool.name, argument),
                    arguments: arguments.clone(),
                    harmless: bound.clone(),
                });
            }
        }
        targets
    }

    /// Puts a text into the argument; whether it was taken.
    fn attack(&self, text: &str) -> bool {
        let mut arguments = self.arguments.clone();
        let is_list = self.tool.input_schema["properties"][&self.argument]["type"] == "array";
        let value = if is_list { json!([text]) } else { json!(text) };
        arguments.insert(self.argument.clone(), value);
        match self.tool.bind(&arguments) {
            Err(errors) => {
                let told = errors.to_string();
                let what = format!("{} {}: {told}", self.tool.name, self.argument);
                assert!(told.starts_with(&self.argument), "{what}");
                assert!(told.len() > self.argument.len() + 5, "{what}");
                assert!(!told.contains(".rs:"), "{what}");
                false
            }
            Ok(ready) => {
                self.check(text, &ready.command().unwrap());
                true
            }
        }
    }

    fn check(&self, text: &str, bound: &Bound) {
        let what = || format!("{} {} {text:?}: {bound:?}", self.tool.name, self.argument);
        let command =
            edgemere_command::parse(&bound.command).unwrap_or_else(|e| panic!("{e}: {}", what()));
        assert_eq!(command.declaration().name, self.harmless.expected, "{}", what());
        assert_eq!(
            command.effect(),
            edgemere_command::parse(&self.harmless.command).unwrap().effect()
        );
        if self.place == Place::Refused {
            let schema = &self.tool.input_schema["properties"][&self.argument];
            let words = schema["enum"].as_array().unwrap_or_else(|| panic!("{}", what()));
            return assert!(words.contains(&json!(text)), "{}", what());
        }
        if self.place != Place::Nodes {
            assert_eq!(bound.destination, self.harmless.destination, "{}", what());
        }
        match self.place {
            Place::Value => {
                assert_eq!(kinds(&bound.command), kinds(&self.harmless.command), "{}", what());
                assert!(quoted(&bound.command).contains(&text.to_owned()), "{}", what());
            }
            Place::Query => {
                assert_eq!(kinds(&bound.command), kinds(&self.harmless.command), "{}", what());
                assert_eq!(query(bound), text, "{}", what());
            }
            Place::Name => {
                assert_eq!(kinds(&bound.command), kinds(&self.harmless.command), "{}", what());
                let (ours, theirs) = (skeleton(&self.harmless), skeleton(bound));
                // A table may be given with its database.
                assert_eq!(theirs.replace("\"…\" . \"…\"", "\"…\""), ours, "{}", what());
            }
            Place::Moment if !text.trim().is_empty() => self.check_moment(bound, &what()),
            Place::Part if !text.trim().is_empty() => self.check_part(bound, &what()),
            Place::Condition if !text.trim().is_empty() => {
                let written = condition(text).unwrap();
                let without = bound.command.replacen(&written, "([a] = 1)", 1);
                assert_eq!(without, *self.harmless.command, "{}", what());
            }
            Place::Nodes if !text.trim().is_empty() => {
                assert_eq!(bound.command, self.harmless.command, "{}", what());
                let destination = bound.destination.as_ref().unwrap();
                let nodes = quoted(destination);
                assert!(
                    kinds(destination)
                        .iter()
                        .all(|kind| matches!(kind.as_str(), "quoted" | "other"))
                );
                let given: Vec<_> = text.split(',').map(|part| part.trim().to_owned()).collect();
                assert_eq!(nodes, given, "{}", what());
            }
            Place::Unused => assert_eq!(bound.command, self.harmless.command, "{}", what()),
            // An empty text is the same as none where a part should stand.
            Place::Moment | Place::Part | Place::Condition | Place::Nodes | Place::Refused => {}
        }
    }

    /// What stands around the part is what stands around a harmless one, and the part is closed in
    /// itself: its parentheses match, and nothing in it ends the clause.
    fn check_part(&self, bound: &Bound, what: &str) {
        assert_eq!(kinds(&bound.command), kinds(&self.harmless.command), "{what}");
        let (ours, theirs) = (skeleton(&self.harmless), skeleton(bound));
        let same = |one: &mut dyn Iterator<Item = char>, other: &mut dyn Iterator<Item = char>| {
            one.zip(other).take_while(|(a, b)| a == b).count()
        };
        let before = same(&mut ours.chars(), &mut theirs.chars());
        let after = same(&mut ours.chars().rev(), &mut theirs.chars().rev());
        assert!(
            before + after + "( a = 0 )".len() >= ours.chars().count(),
            "{what}\n{ours}\n{theirs}"
        );
        let mut depth = 0_i32;
        for token in theirs.split(' ') {
            depth += match token {
                "(" => 1,
                ")" => -1,
                _ => 0,
            };
            assert!(depth >= 0, "{what}");
        }
        assert_eq!(depth, 0, "{what}");
        assert!(!theirs.split(' ').any(|token| token == ";"), "{what}");
        assert_eq!(selects(&theirs), selects(&ours), "{what}");
    }

    fn check_moment(&self, bound: &Bound, what: &str) {
        if skeleton(bound) != skeleton(&self.harmless) {
            self.check_part(bound, what);
        }
    }
}

fn selects(skeleton: &str) -> usize {
    skeleton.split(' ').filter(|token| token.eq_ignore_ascii_case("select")).count()
}

/// The kinds of a command's tokens, with its words.
fn kinds(command: &str) -> Vec<String> {
    let kind = |kind: &TokenKind| match kind {
        TokenKind::Word(word) => word.clone(),
        TokenKind::Quoted(_) => "quoted".into(),
        TokenKind::Open => "(".into(),
        TokenKind::Close => ")".into(),
        TokenKind::Equals => "=".into(),
        TokenKind::Other => "other".into(),
        TokenKind::Invalid(_) => panic!("an invalid token in {command}"),
    };
    tokens(command).iter().map(|token| kind(&token.kind)).collect()
}

/// The quoted texts of a command.
fn quoted(command: &str) -> Vec<String> {
    let texts = tokens(command).into_iter().filter_map(|token| match token.kind {
        TokenKind::Quoted(text) => Some(text),
        _ => None,
    });
    texts.collect()
}

/// The SQL of a command, which is its last quoted text.
fn query(bound: &Bound) -> String {
    quoted(&bound.command).pop().unwrap()
}

fn skeleton(bound: &Bound) -> String {
    sql::skeleton(&query(bound)).unwrap()
}

static TOOLBOXES: LazyLock<[Toolbox; 2]> =
    LazyLock::new(|| [Toolbox::builtin().unwrap(), Toolbox::edgelake().unwrap()]);

#[test]
fn no_hostile_argument_changes_a_command() {
    let corpus: Vec<String> = include_str!("hostile/values.jsonl")
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert!(corpus.len() >= 200, "{}", corpus.len());
    let (mut taken, mut refused) = (0, 0);
    for toolbox in TOOLBOXES.iter() {
        for target in Target::all(toolbox) {
            for text in &corpus {
                match target.attack(text) {
                    true => taken += 1,
                    false => refused += 1,
                }
            }
        }
    }
    assert!(taken > 5_000 && refused > 5_000, "{taken} taken, {refused} refused");
}

/// A file of its own with values in every place that a template can have them.
const TEXTS: &str = r#"
tools:
  - name: texts
    description: values in texts
    command:
      sql: SELECT a FROM t WHERE b = {one} AND c LIKE 'x {two} y''s %' AND d IN ({three}, 'z')
      database: "pre_{four}"
    input_schema:
      properties:
        one: {type: string}
        two: {type: string}
        three: {type: string}
        four: {type: string}
      required: [one, two, three, four]
  - name: words
    description: values in words
    command: get columns where dbms = a.{one}.b and table = "it's {two}" and format = mcp
    input_schema:
      properties:
        one: {type: string}
        two: {type: string}
      required: [one, two]
"#;

static TEXTS_TOOLBOX: LazyLock<Toolbox> =
    LazyLock::new(|| Toolbox::from_text("texts.yaml", TEXTS, &Surroundings::empty()).unwrap());

fn check_texts(toolbox: &Toolbox, one: &str, two: &str) {
    let arguments = json!({"one": one, "two": two, "three": two, "four": one});
    let bound = toolbox.tool("texts").unwrap().bind(arguments.as_object().unwrap()).unwrap();
    let bound = bound.command().unwrap();
    let texts = quoted(&bound.command);
    assert_eq!(texts[0], format!("pre_{one}"));
    let sql = query(&bound);
    let harmless = "SELECT a FROM t WHERE b = '…' AND c LIKE '…' AND d IN ( '…' , '…' )";
    assert_eq!(sql::skeleton(&sql).unwrap(), harmless, "{sql}");
    let expected = format!(
        "SELECT a FROM t WHERE b = {} AND c LIKE {} AND d IN ({}, 'z')",
        sql::quoted(one),
        sql::quoted(&format!("x {two} y's %")),
        sql::quoted(two)
    );
    assert_eq!(sql, expected);
    let arguments = json!({"one": one, "two": two});
    let bound = toolbox.tool("words").unwrap().bind(arguments.as_object().unwrap()).unwrap();
    let bound = bound.command().unwrap();
    assert_eq!(quoted(&bound.command), [format!("a.{one}.b"), format!("it's {two}")]);
    assert_eq!(edgemere_command::parse(&bound.command).unwrap().declaration().name, "get columns");
}

#[test]
fn hostile_texts_stay_in_their_texts() {
    let corpus: Vec<String> = include_str!("hostile/values.jsonl")
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    for (one, two) in corpus.iter().zip(corpus.iter().rev()) {
        check_texts(&TEXTS_TOOLBOX, one, two);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_random_text_changes_a_command(text in "\\PC{0,40}|[\"'\\\\;()\\[\\]{}!#<>= \n\\-/*a-z0-9.,:$]{0,40}") {
        for toolbox in TOOLBOXES.iter() {
            for target in Target::all(toolbox) {
                target.attack(&text);
            }
        }
    }

    #[test]
    fn no_random_text_leaves_its_text(one in any::<String>(), two in "[\"'\\\\;(){}\n a-z]{0,30}") {
        check_texts(&TEXTS_TOOLBOX, &one, &two);
    }
}
