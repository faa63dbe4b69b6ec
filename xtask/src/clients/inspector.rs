//! The Inspector as a command: one process for each question, in both eras.

use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::Value;
use tempfile::TempDir;

use super::{
    rows::{DATABASE, ROWS, TABLE},
    stage::{Stage, Transport},
    typescript::{self, Installed},
};
use crate::interrupt;

/// A question, and whether its answer is the right one.
struct Question {
    about: &'static str,
    args: Vec<String>,
    is_right: fn(&Value) -> bool,
}

/// How many questions are asked in the revision without sessions too.
const MODERN_QUESTIONS: usize = 3;

pub(super) fn drive(stage: &Stage, transport: Transport) -> Result<()> {
    let inspector = Inspector { installed: typescript::installed()?, home: TempDir::new()? };
    for question in questions() {
        inspector.check(stage, transport, "legacy", &question)?;
    }
    for question in questions().iter().take(MODERN_QUESTIONS) {
        inspector.check(stage, transport, "modern", question)?;
    }
    Ok(())
}

fn questions() -> Vec<Question> {
    let ask = |about, method: &str, more: &[&str], is_right| {
        let args = ["--method", method].iter().chain(more).map(|&arg| arg.to_owned()).collect();
        Question { about, args, is_right }
    };
    let database = format!("database={DATABASE}");
    let table = format!("table={TABLE}");
    let uri = format!("edgemere://{DATABASE}/{TABLE}");
    let call = |tool, more: &[&str]| {
        let mut args = vec!["--tool-name", tool];
        args.extend(more);
        args.iter().map(|&arg| arg.to_owned()).collect::<Vec<_>>()
    };
    let called = |about, args: Vec<String>, is_right| {
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        ask(about, "tools/call", &args, is_right)
    };
    vec![
        // It exits with an error when a schema is one that some models' hosts refuse.
        ask("tools/list, strictly", "tools/list", &["--strict"], |a| count(a, "tools") == 19),
        called("list_databases", call("list_databases", &[]), |answer| {
            answer.pointer("/structuredContent/result/0").is_some_and(|name| name == DATABASE)
        }),
        called(
            "query",
            call("query", &["--tool-arg", &database, &table, "select=[\"count(*)\"]"]),
            |answer| {
                answer.pointer("/structuredContent/rows/0/0").and_then(Value::as_u64)
                    == u64::try_from(ROWS).ok()
            },
        ),
        ask("resources/list", "resources/list", &[], |answer| count(answer, "resources") >= 2),
        ask("resources/read", "resources/read", &["--uri", &uri], |a| count(a, "contents") == 1),
        ask("resources/templates/list", "resources/templates/list", &[], |answer| {
            count(answer, "resourceTemplates") >= 2
        }),
        ask("prompts/list", "prompts/list", &[], |answer| count(answer, "prompts") == 3),
        ask(
            "prompts/get",
            "prompts/get",
            &["--prompt-name", "investigate_device", "--prompt-args", "device=sensor-7"],
            |answer| answer.to_string().contains("sensor-7"),
        ),
    ]
}

fn count(answer: &Value, list: &str) -> usize {
    answer.get(list).and_then(Value::as_array).map_or(0, Vec::len)
}

struct Inspector {
    installed: Installed,
    /// It writes down whom it has talked to: not in the person's own files.
    home: TempDir,
}

impl Inspector {
    fn check(
        &self,
        stage: &Stage,
        transport: Transport,
        era: &str,
        question: &Question,
    ) -> Result<()> {
        interrupt::check()?;
        let answer = self.ask(stage, transport, era, &question.args)?;
        if !(question.is_right)(&answer) {
            bail!("{}, {era}: {answer}", question.about);
        }
        println!("   ok {} ({era})", question.about);
        Ok(())
    }

    fn ask(
        &self,
        stage: &Stage,
        transport: Transport,
        era: &str,
        args: &[String],
    ) -> Result<Value> {
        let program = "@modelcontextprotocol/inspector/clients/launcher/build/index.js";
        let mut command = Command::new(&self.installed.node);
        command.arg(self.installed.modules.join(program)).arg("--cli");
        match transport {
            Transport::Stdio | Transport::Remote => {
                command.arg(&stage.binary).args(stage.args(transport))
            }
            Transport::Http | Transport::Sse => command.arg(stage.url(transport)),
        };
        command.args(["--transport", transport.kind(), "--protocol-era", era]);
        command.args(["--format", "json"]).args(args);
        command.env("HOME", self.home.path()).current_dir(self.home.path());
        let output = command.stdin(Stdio::null()).output().context("the Inspector does not run")?;
        let said = String::from_utf8_lossy(&output.stderr);
        if !output.status.success() {
            bail!("{} ended with {}: {said}", args.join(" "), output.status);
        }
        let answer: Value = serde_json::from_slice(&output.stdout)
            .with_context(|| format!("{} is answered with no JSON: {said}", args.join(" ")))?;
        Ok(answer.get("result").cloned().unwrap_or(answer))
    }
}
