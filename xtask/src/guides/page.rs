//! A guide's page as steps: which commands it has a reader type, which files it has them write, and
//! what it says is printed. It knows Markdown's fences and our directives, and runs nothing.
//!
//! | block | becomes |
//! |---|---|
//! | `console` | each line after `$ ` is a command; the lines below it are what it prints |
//! | `sh` | each line is a command that must succeed |
//! | `json`, `toml` | it must be that |
//! | any other | an error, unless a directive says what it is: no block goes unnoticed |
//!
//! A directive is a comment, which readers do not see, on the line before the block:
//!
//! | directive | effect |
//! |---|---|
//! | `<!-- guide: file NAME -->` | the block is written to the file `NAME` |
//! | `<!-- guide: server until TEXT -->` | each command goes on running; the next step waits until it prints `TEXT` |
//! | `<!-- guide: retry -->` | a command that only reads is repeated until it prints what the page says |
//! | `<!-- guide: fails -->` | the commands must fail |
//! | `<!-- guide: packages NAME -->` | the block installs packages of Python: those that `xtask/clients/python/NAME.txt` pins |
//! | `<!-- guide: example NAME as PROGRAM -->` | the block is the example `NAME` of clap-serve, and on the path as `PROGRAM` |
//! | `<!-- guide: skip REASON -->` | the block is not run |
//! | `<!-- guide: tested by FILE -->` | a test reads the page: it takes the blocks that are no commands |
//! | `<!-- guide: stop -->` | the servers of the page end here |
//! | `<!-- guide: hidden` … `-->` | the lines between are commands that the page does not show |

use anyhow::{Context, Result, bail};

/// What a page has its reader do, in order.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Step {
    /// The line of the page that it is from, counted from 1.
    pub(crate) line: usize,
    pub(crate) action: Action,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Run {
        command: String,
        expect: Expect,
    },
    /// A command that goes on running once it has printed `ready`.
    Serve {
        command: String,
        ready: String,
    },
    Write {
        file: String,
        text: String,
    },
    /// Packages of Python, which the pinned list of that name has, are there from here on.
    Packages {
        list: String,
        packages: Vec<String>,
    },
    /// A program whose source is an example of clap-serve.
    Example {
        name: String,
        program: String,
        text: String,
    },
    /// The servers that are running end.
    Stop,
    /// A block that is not run.
    Skip {
        reason: String,
    },
}

/// What a command must do.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Expect {
    Success,
    Failure,
    /// It prints these lines, at the first try or, with `retry`, in the end.
    Output {
        lines: Vec<String>,
        retry: bool,
    },
}

/// A comment that says how the block below it is taken.
#[derive(Clone, Debug, Default)]
enum Directive {
    #[default]
    None,
    File(String),
    Server(String),
    Retry,
    Fails,
    Packages(String),
    Example {
        name: String,
        program: String,
    },
    Skip(String),
}

/// The steps of a page.
pub(crate) fn steps(text: &str) -> Result<Vec<Step>> {
    let mut steps = Vec::new();
    let mut directive = Directive::None;
    let mut is_tested = false;
    let mut lines = text.lines().enumerate();
    while let Some((index, line)) = lines.next() {
        let number = index + 1;
        if let Some(comment) = line.trim().strip_prefix("<!-- guide:") {
            let place = || format!("line {number}");
            match comment.strip_suffix("-->").map(str::trim) {
                Some("stop") => steps.push(Step { line: number, action: Action::Stop }),
                Some(words) if words.starts_with("tested by ") => {
                    is_tested = true;
                    steps
                        .push(Step { line: number, action: Action::Skip { reason: words.into() } });
                }
                Some(words) => directive = read_directive(words).with_context(place)?,
                None if comment.trim() == "hidden" => {
                    let hidden: Vec<(usize, &str)> =
                        lines.by_ref().take_while(|(_, line)| line.trim() != "-->").collect();
                    steps.extend(shell(&hidden, &Directive::None)?);
                }
                None => bail!("line {number}: a directive ends with \"-->\" on its own line"),
            }
        } else if let Some(fence) = line.trim_start().strip_prefix("```") {
            let indent = line.len() - line.trim_start().len();
            let block: Vec<(usize, &str)> = lines
                .by_ref()
                .take_while(|(_, line)| !line.trim_start().starts_with("```"))
                .map(|(index, line)| (index, line.get(indent..).unwrap_or_default()))
                .collect();
            let taken = std::mem::take(&mut directive);
            match read_block(number, fence, &block, &taken)? {
                Some(read) => steps.extend(read),
                None if is_tested => {}
                None => bail!("line {number}: no directive says what this block is"),
            }
        } else if !line.trim().is_empty() && !matches!(directive, Directive::None) {
            bail!("line {number}: a directive is followed by its block");
        }
    }
    Ok(steps)
}

fn read_directive(words: &str) -> Result<Directive> {
    let (name, rest) = words.split_once(' ').unwrap_or((words, ""));
    let rest = rest.trim();
    let needed =
        || if rest.is_empty() { bail!("\"{name}\" needs a text") } else { Ok(rest.to_owned()) };
    Ok(match name {
        "file" => Directive::File(needed()?),
        "server" => Directive::Server(
            rest.strip_prefix("until ").context("expected \"server until TEXT\"")?.to_owned(),
        ),
        "retry" => Directive::Retry,
        "fails" => Directive::Fails,
        "packages" => Directive::Packages(needed()?),
        "example" => {
            let (name, program) =
                rest.split_once(" as ").context("expected \"example NAME as PROGRAM\"")?;
            Directive::Example { name: name.to_owned(), program: program.to_owned() }
        }
        "skip" => Directive::Skip(needed()?),
        _ => bail!("no directive \"{name}\""),
    })
}

/// The steps of a block; nothing when it is of a kind that is not known.
fn read_block(
    number: usize,
    fence: &str,
    block: &[(usize, &str)],
    directive: &Directive,
) -> Result<Option<Vec<Step>>> {
    let one = |action| Ok(Some(vec![Step { line: number, action }]));
    let text = || block.iter().map(|(_, line)| format!("{line}\n")).collect::<String>();
    match directive {
        Directive::Skip(reason) => return one(Action::Skip { reason: reason.clone() }),
        Directive::File(file) => return one(Action::Write { file: file.clone(), text: text() }),
        Directive::Example { name, program } => {
            let (name, program) = (name.clone(), program.clone());
            return one(Action::Example { name, program, text: text() });
        }
        Directive::Packages(list) => {
            let packages = packages(&text()).with_context(|| format!("line {number}"))?;
            return one(Action::Packages { list: list.clone(), packages });
        }
        _ => {}
    }
    let place = || format!("line {number}: this is not {}", fence.trim());
    match fence.trim() {
        "sh" => shell(block, directive).map(Some),
        "console" => console(block, directive).map(Some),
        "json" => {
            serde_json::from_str::<serde_json::Value>(&text()).with_context(place)?;
            Ok(Some(Vec::new()))
        }
        "toml" => {
            toml::from_str::<toml::Table>(&text()).with_context(place)?;
            Ok(Some(Vec::new()))
        }
        _ => Ok(None),
    }
}

/// The packages that `pip install` is given.
fn packages(text: &str) -> Result<Vec<String>> {
    let words = text.trim().strip_prefix("pip install ").context("expected \"pip install …\"")?;
    Ok(words.split_whitespace().map(str::to_owned).collect())
}

/// Commands without output: one a line, or more with `\` at the end.
fn shell(block: &[(usize, &str)], directive: &Directive) -> Result<Vec<Step>> {
    let mut steps = Vec::new();
    let mut lines = block.iter();
    while let Some((index, line)) = lines.next() {
        if line.trim().is_empty() || line.trim_start().starts_with('#') {
            continue;
        }
        let command = whole(line, lines.by_ref().map(|(_, line)| *line));
        let action = match directive {
            Directive::Server(ready) => Action::Serve { command, ready: ready.clone() },
            Directive::Fails => Action::Run { command, expect: Expect::Failure },
            Directive::None => Action::Run { command, expect: Expect::Success },
            _ => bail!("line {}: this directive is for a block with output", index + 1),
        };
        steps.push(Step { line: index + 1, action });
    }
    Ok(steps)
}

/// Commands with what they print.
fn console(block: &[(usize, &str)], directive: &Directive) -> Result<Vec<Step>> {
    let retry = match directive {
        Directive::None => false,
        Directive::Retry => true,
        _ => bail!("a console block takes \"retry\" and no other directive"),
    };
    let mut steps: Vec<Step> = Vec::new();
    let mut lines = block.iter();
    while let Some((index, line)) = lines.next() {
        if let Some(command) = line.strip_prefix("$ ") {
            let command = whole(command, lines.by_ref().map(|(_, line)| *line));
            let expect = Expect::Output { lines: Vec::new(), retry };
            steps.push(Step { line: index + 1, action: Action::Run { command, expect } });
        } else if let Some(Step {
            action: Action::Run { expect: Expect::Output { lines, .. }, .. },
            ..
        }) = steps.last_mut()
        {
            lines.push((*line).to_owned());
        } else {
            bail!("line {}: a console block begins with \"$ \"", index + 1);
        }
    }
    Ok(steps)
}

/// A command with the lines that it goes on in.
fn whole<'a>(first: &str, mut more: impl Iterator<Item = &'a str>) -> String {
    let mut command = first.to_owned();
    while command.ends_with('\\') {
        let Some(line) = more.next() else { break };
        command.push('\n');
        command.push_str(line);
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(line: usize, command: &str, expect: Expect) -> Step {
        Step { line, action: Action::Run { command: command.to_owned(), expect } }
    }

    #[test]
    fn blocks_are_commands_output_and_files() {
        let page = "# Page\n\n```sh\n# a comment\none \\\n  two\nthree\n```\n\n\
                    ```console\n$ four\nfive\nsix\n$ seven\n```\n\n\
                    <!-- guide: file a.yaml -->\n```yaml\na: 1\n```\n\n```json\n{}\n```\n\
                    <!-- guide: packages v2 -->\n```sh\npip install a b\n```\n";
        let output = |lines: &[&str]| Expect::Output {
            lines: lines.iter().map(|&line| line.to_owned()).collect(),
            retry: false,
        };
        let file = Action::Write { file: "a.yaml".to_owned(), text: "a: 1\n".to_owned() };
        let packages = vec!["a".to_owned(), "b".to_owned()];
        let installs = Action::Packages { list: "v2".to_owned(), packages };
        assert_eq!(
            steps(page).unwrap(),
            [
                run(5, "one \\\n  two", Expect::Success),
                run(7, "three", Expect::Success),
                run(11, "four", output(&["five", "six"])),
                run(14, "seven", output(&[])),
                Step { line: 18, action: file },
                Step { line: 26, action: installs },
            ]
        );
    }

    #[test]
    fn directives_say_how_a_block_is_run() {
        let page = "<!-- guide: server until ready -->\n```sh\nserve\n```\n\
                    <!-- guide: hidden\nprintf x > y\n-->\n\
                    <!-- guide: retry -->\n```console\n$ ask\n1\n```\n<!-- guide: stop -->\n\
                    <!-- guide: fails -->\n```sh\nfalse\n```\n\
                    <!-- guide: skip it is another machine's -->\n```sh\nssh there\n```\n";
        let ready = "ready".to_owned();
        let retried = Expect::Output { lines: vec!["1".to_owned()], retry: true };
        assert_eq!(
            steps(page).unwrap(),
            [
                Step { line: 3, action: Action::Serve { command: "serve".to_owned(), ready } },
                run(6, "printf x > y", Expect::Success),
                run(10, "ask", retried),
                Step { line: 13, action: Action::Stop },
                run(16, "false", Expect::Failure),
                Step {
                    line: 19,
                    action: Action::Skip { reason: "it is another machine's".to_owned() }
                },
            ]
        );
    }

    #[test]
    fn what_cannot_be_understood_is_an_error() {
        for page in [
            "<!-- guide: nonsense -->\n```sh\n```\n",
            "<!-- guide: retry -->\n\ntext\n",
            "<!-- guide: file -->\n```\n```\n",
            "```console\noutput first\n```\n",
            "<!-- guide: retry -->\n```sh\nx\n```\n",
            "<!-- guide: packages v2 -->\n```sh\nnpm install x\n```\n",
            "```json\n{ \"a\": }\n```\n",
            "```toml\na = \n```\n",
            "```\nwhat is this\n```\n",
        ] {
            assert!(steps(page).is_err(), "{page}");
        }
        let tested = "<!-- guide: tested by lib.rs -->\n```rust\nfn f() {}\n```\n";
        assert!(steps(tested).is_ok());
    }
}
