//! Tools that run programs, called as agents call them: real programs, what they write, who may call
//! them, and every hostile value in every place that a word has.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may end where it fails"
)]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use edgemere_command::{Access, Principal};
use edgemere_tools::{Executor, Failure, Surroundings, Toolbox, agent};
use mcp_serve::{Call, Content, Context, Outcome};
use proptest::prelude::*;
use serde_json::{Value, json};
use tempfile::TempDir;

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

/// A file of tools in a folder of its own, with a program beside it.
struct Site {
    folder: TempDir,
    toolbox: Toolbox,
}

impl Site {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        // A file that was just written may be busy: somebody else's child has it open for a moment.
        symlink(data("programs/report"), folder.path().join("report")).unwrap();
        let file = folder.path().join("tools.yaml");
        fs::write(&file, REPORT).unwrap();
        let toolbox = Toolbox::load(&file, &Surroundings::process());
        let toolbox = toolbox.unwrap_or_else(|problems| panic!("{problems}"));
        Self { folder, toolbox }
    }

    async fn call_as(
        &self,
        access: Access,
        tool: &str,
        arguments: Value,
    ) -> Result<Outcome, Failure> {
        let executor = Executor::without_node(Principal::new(agent().name(), access));
        let arguments = arguments.as_object().unwrap().clone();
        let call = Call::new(tool, arguments, Context::detached(Default::default()));
        executor.try_call(self.toolbox.tool(tool).unwrap(), &call, false).await
    }

    async fn call(&self, tool: &str, arguments: Value) -> Outcome {
        self.call_as(Access::Read, tool, arguments).await.unwrap()
    }
}

fn texts(outcome: &Outcome) -> Vec<&str> {
    let mut texts = Vec::new();
    for content in &outcome.content {
        let Content::Text(text) = content else { panic!("{content:?}") };
        texts.push(text.as_str());
    }
    texts
}

const REPORT: &str = r#"
tools:
  - name: report
    description: A report
    command:
      type: cli
      program: ./report
      args: ["{what}"]
      env: {SITE: "${PATH}", LC_ALL: C}
      effect: read
    input_schema: {properties: {what: {type: string}}, required: [what]}
  - name: names
    description: Names out of a report
    command:
      type: cli
      program: ./report
      args: ["{what}"]
      effect: read
      response_parser: {extract_path: "$[*]", filter: {field: up, value: true}, map: name, sort: true}
    input_schema: {properties: {what: {type: string}}, required: [what]}
  - name: typed
    description: A report of a known form
    command: {type: cli, program: ./report, args: ["{what}"], effect: read}
    input_schema: {properties: {what: {type: string}}, required: [what]}
    output_schema: {type: object, required: [up]}
  - name: short
    description: A report that is short in every way
    command: {type: cli, program: ./report, args: ["{what}"], effect: read}
    input_schema: {properties: {what: {type: string}}, required: [what]}
    limits: {seconds: 1, bytes: 100}
  - {name: writes, description: Writes., command: {type: cli, program: ./report, args: [text]}}
  - name: takes_away
    description: Takes away.
    command: {type: cli, program: ./report, args: [text], effect: destructive}
"#;

#[tokio::test]
async fn what_a_program_writes_is_the_answer() {
    let site = Site::new();
    let text = site.call("report", json!({ "what": "text" })).await;
    assert_eq!(texts(&text), ["all is well\n", "stderr:\none warning\n"]);
    assert!(!text.is_error && text.structured.is_none());
    assert_eq!(text.meta["clap-serve/run"]["exit_code"], 0);
    let object = site.call("report", json!({ "what": "object" })).await;
    assert_eq!(object.structured, Some(json!({ "up": 12345678901234567_i64, "ratio": 0.1 })));
    let fails = site.call("report", json!({ "what": "fails" })).await;
    assert_eq!(texts(&fails), ["exited with code 3\nno such report\n", "stdout:\nhalf\n"]);
    assert!(fails.is_error);
    let place = site.call("report", json!({ "what": "where" })).await;
    let folder = site.folder.path().canonicalize().unwrap();
    let path = std::env::var("PATH").unwrap();
    assert_eq!(texts(&place), [format!("{}\n{path}\nC\n", folder.display())]);
}

#[tokio::test]
async fn a_response_parser_picks_the_answer_out_of_json() {
    let site = Site::new();
    let names = site.call("names", json!({ "what": "list" })).await;
    let structured = names.structured.as_ref().unwrap();
    assert_eq!(structured["result"], json!(["a", "b"]), "{names:?}");
    assert_eq!(structured["provenance"]["answered"], json!(["this machine"]));
    assert_eq!(texts(&names), [r#"["a","b"]"#]);
    let text = site.call_as(Access::Read, "names", json!({ "what": "text" })).await.unwrap_err();
    assert_eq!(text.text(), "the program did not write JSON: all is well");
    // What went wrong is reported as it is.
    assert!(texts(&site.call("names", json!({ "what": "fails" })).await)[0].contains("code 3"));
    let typed = site.call("typed", json!({ "what": "object" })).await;
    assert_eq!(typed.structured.unwrap()["ratio"], 0.1);
    assert!(site.call("typed", json!({ "what": "text" })).await.is_error);
}

#[tokio::test]
async fn the_limits_of_a_tool_hold_for_its_program() {
    let site = Site::new();
    let long = site.call("short", json!({ "what": "long" })).await;
    assert!(texts(&long)[0].starts_with("1\n2\n") && texts(&long)[0].ends_with("1000\n"));
    assert!(texts(&long)[0].contains("of 3893 bytes are shown"), "{long:?}");
    assert_eq!(long.meta["clap-serve/run"]["truncated"], true);
    let hangs = site.call("short", json!({ "what": "hangs" })).await;
    assert_eq!(texts(&hangs), ["ran longer than 1 s and was stopped", "stdout:\nbegun\n"]);
    assert!(hangs.is_error);
}

#[tokio::test]
async fn what_a_program_does_needs_the_permission_for_it() {
    let site = Site::new();
    for (tool, access, may) in [
        ("writes", Access::Read, false),
        ("writes", Access::Write, true),
        ("takes_away", Access::Write, false),
        ("takes_away", Access::Admin, true),
    ] {
        let called = site.call_as(access, tool, json!({})).await;
        assert_eq!(called.is_ok(), may, "{tool} {access:?}");
        if let Err(failure) = called {
            assert!(failure.text().contains("needs the permission to"), "{failure}");
        }
    }
}

#[tokio::test]
async fn a_program_that_has_gone_is_told_without_its_place() {
    let site = Site::new();
    fs::remove_file(site.folder.path().join("report")).unwrap();
    let gone = site.call_as(Access::Read, "report", json!({ "what": "text" })).await.unwrap_err();
    let text = gone.text();
    assert!(text.contains("\"report\" was not found"), "{text}");
    assert!(!text.contains(site.folder.path().to_str().unwrap()), "{text}");
}

/// A value in every place that a word has.
const PLACES: &str = r#"
tools:
  - name: places
    description: Words
    command:
      type: cli
      program: WORDS
      args: ["{bare}", "--option={option}", "pre{part}post", "[[ {maybe} ]]", "{items}", "--", "{after}"]
      effect: read
    input_schema:
      properties:
        bare: {type: string}
        option: {type: string}
        part: {type: string}
        maybe: {type: string}
        items: {type: array, items: {type: string}}
        after: {type: string}
      required: [bare, option, part, items, after]
    limits: {bytes: 10000000}
"#;

/// The words of a call with the same value everywhere but where it is refused.
fn words(text: &str, bare: &str) -> Vec<String> {
    let words = [
        bare.to_owned(),
        format!("--option={text}"),
        format!("pre{text}post"),
        bare.to_owned(),
        bare.to_owned(),
        "harmless".to_owned(),
        "--".to_owned(),
        text.to_owned(),
    ];
    words.to_vec()
}

fn arguments(text: &str, bare: &str) -> Value {
    json!({
        "bare": bare, "option": text, "part": text, "maybe": bare, "items": [bare, "harmless"],
        "after": text,
    })
}

/// The value where a word begins with one: harmless when it would be an option.
fn bare(text: &str) -> &str {
    if text.starts_with('-') { "harmless" } else { text }
}

fn places() -> Toolbox {
    let words = data("good/words");
    let text = PLACES.replace("WORDS", words.to_str().unwrap());
    let toolbox = Toolbox::from_text("places.yaml", &text, &Surroundings::empty());
    toolbox.unwrap_or_else(|problems| panic!("{problems}"))
}

/// Every value is in one word, or is refused by its name.
fn check_words(toolbox: &Toolbox, text: &str) -> bool {
    let tool = toolbox.tool("places").unwrap();
    let bind = |arguments: Value| tool.bind(arguments.as_object().unwrap());
    let bound = bind(arguments(text, bare(text)));
    if text.contains('\0') {
        let told = bound.unwrap_err().to_string();
        assert!(told.lines().all(|line| line.contains("NUL")), "{told}");
        return false;
    }
    let program = bound.unwrap().program().unwrap().program;
    let found: Vec<&str> = program.args.iter().map(|word| word.to_str().unwrap()).collect();
    assert_eq!(found, words(text, bare(text)), "{text:?}");
    if text.starts_with('-') {
        let told = bind(arguments("x", text)).unwrap_err().to_string();
        let refused: Vec<&str> = told.lines().filter_map(|line| line.split(':').next()).collect();
        assert_eq!(refused, ["bare", "maybe", "items[0]"], "{told}");
    }
    true
}

fn corpus() -> Vec<String> {
    let lines = include_str!("hostile/values.jsonl").lines();
    let corpus: Vec<String> = lines.map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(corpus.len() >= 300, "{}", corpus.len());
    let more =
        ["--help", "-rf", "--", "-", "--option=x", "@file", "+x", "a\0b", "\u{2212}x", "-\n"];
    corpus.into_iter().chain(more.map(str::to_owned)).collect()
}

#[tokio::test]
async fn every_hostile_value_arrives_as_one_word_or_is_refused() {
    let toolbox = places();
    let executor = Executor::without_node(agent());
    let (mut taken, mut refused) = (0, 0);
    for text in corpus() {
        if !check_words(&toolbox, &text) {
            refused += 1;
            continue;
        }
        taken += 1;
        let given = arguments(&text, bare(&text)).as_object().unwrap().clone();
        let call = Call::new("places", given, Context::detached(Default::default()));
        let outcome = executor.call(toolbox.tool("places").unwrap(), &call, false).await;
        assert!(!outcome.is_error, "{text:?}: {outcome:?}");
        assert_eq!(outcome.meta["clap-serve/run"]["truncated"], false, "{text:?}");
        let bytes: Vec<u8> = texts(&outcome)[0]
            .split_whitespace()
            .map(|byte| u8::from_str_radix(byte, 16).unwrap())
            .collect();
        let words: String =
            words(&text, bare(&text)).iter().map(|word| format!("{word}\0")).collect();
        assert_eq!(bytes, words.as_bytes(), "{text:?}");
    }
    assert!(taken >= 300 && refused >= 1, "{taken} taken, {refused} refused");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_random_value_is_one_word_or_is_refused(text in any::<String>(), dashes in "-{0,3}") {
        let toolbox = TOOLBOX.with(Clone::clone);
        check_words(&toolbox, &format!("{dashes}{text}"));
    }
}

thread_local! {
    static TOOLBOX: Toolbox = places();
}
