//! Programs that are run for calls: real ones, also such as write too much, never end, or leave others
//! behind. A shell is here only as a program under test.
#![cfg(unix)]
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "what fails here has failed the test"
)]

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::Path,
    time::{Duration, Instant},
};

use clap_serve::program::{End, Environment, META, Program, Ran, RunError, RunLimits, all_ended};
use mcp_serve::{Content, Context, Outcome, Principal};
use rustix::process::{Pid, test_kill_process, test_kill_process_group};
use serde_json::json;
use tempfile::TempDir;

/// How long a condition may take to come true before the test has failed.
const PATIENCE: Duration = Duration::from_secs(30);

fn nobody() -> Context {
    Context::detached(Principal::default())
}

fn shell(script: &str) -> Program {
    Program::new("sh").args(["-c", script])
}

fn within(program: Program, limits: RunLimits) -> Program {
    Program { limits, ..program }
}

async fn run(program: Program) -> Ran {
    program.run(&nobody()).await.unwrap()
}

fn texts(outcome: &Outcome) -> Vec<&str> {
    let mut texts = Vec::new();
    for content in &outcome.content {
        let Content::Text(text) = content else { panic!("{content:?}") };
        texts.push(text.as_str());
    }
    texts
}

/// Waits until something is so.
async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < PATIENCE, "it did not come true: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// The processes whose ids a script wrote to a file, a line each, when there are so many.
fn pids(file: &Path, count: usize) -> Option<Vec<Pid>> {
    let text = fs::read_to_string(file).ok().filter(|text| text.ends_with('\n'))?;
    let pids: Vec<Pid> =
        text.lines().filter_map(|line| Pid::from_raw(line.trim().parse().ok()?)).collect();
    (pids.len() >= count).then_some(pids)
}

/// Whether a process is gone or at least dead: whoever adopted it may take its time to notice.
fn is_gone(pid: Pid) -> bool {
    if test_kill_process(pid).is_err() {
        return true;
    }
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
    let state = stat.ok().and_then(|stat| stat.rsplit(") ").next()?.chars().next());
    matches!(state, None | Some('Z' | 'X'))
}

async fn gone(pids: &[Pid]) {
    for pid in pids {
        until(&format!("process {pid:?} is gone"), || is_gone(*pid)).await;
    }
}

#[tokio::test]
async fn words_arrive_as_they_are_and_no_shell_reads_them() {
    let words =
        ["", " ", "$HOME", "`id`", "a;b|c&d>e", "*", "--flag", "-", "'\"\\", "日本\n🦀", "%s"];
    let ran = run(Program::new("printf").args(["[%s]"]).args(words)).await;
    let expected: String = words.iter().map(|word| format!("[{word}]")).collect();
    assert_eq!(ran.stdout.text, expected);
    assert_eq!(ran.end, End::Code(0));
}

#[tokio::test]
async fn stdout_and_stderr_are_kept_apart_and_there_is_nothing_to_read() {
    let ran = run(shell("cat; echo out; echo err >&2")).await;
    assert_eq!((ran.stdout.text.as_str(), ran.stderr.text.as_str()), ("out\n", "err\n"));
    assert_eq!((ran.stdout.bytes, ran.stderr.bytes), (4, 4));
    let outcome = ran.outcome();
    assert_eq!(texts(&outcome), ["out\n", "stderr:\nerr\n"]);
    assert!(!outcome.is_error);
}

#[tokio::test]
async fn a_code_and_a_signal_are_errors_that_say_why_first() {
    let outcome = run(shell("echo half; echo 'no such row' >&2; exit 3")).await.outcome();
    assert_eq!(texts(&outcome), ["exited with code 3\nno such row\n", "stdout:\nhalf\n"]);
    assert!(outcome.is_error);
    assert_eq!(outcome.meta[META]["exit_code"], 3);

    let ran = run(shell("kill -9 $$")).await;
    assert_eq!(ran.end, End::Signal(9));
    let outcome = ran.outcome();
    assert_eq!(texts(&outcome), ["ended by signal 9"]);
    assert_eq!(outcome.meta[META]["signal"], 9);
    assert_eq!(texts(&run(Program::new("true")).await.outcome()), ["(no output)"]);
}

#[tokio::test]
async fn who_takes_too_long_is_stopped_and_what_was_written_is_kept() {
    let limits = RunLimits { time_max: Duration::from_millis(200), ..RunLimits::default() };
    let script = "trap 'echo tidied; exit 0' TERM; echo begun; while :; do sleep 0.01; done";
    let ran = run(within(shell(script), limits.clone())).await;
    assert_eq!(ran.end, End::OutOfTime);
    assert_eq!(ran.stdout.text, "begun\ntidied\n");
    let outcome = ran.outcome();
    assert!(outcome.is_error);
    let first = texts(&outcome)[0].lines().next();
    assert_eq!(first, Some("ran longer than 0.2 s and was stopped"));
    assert_eq!(outcome.meta[META]["stopped"], "time");

    // Who does not want to hear of it is killed.
    let deaf = "trap '' TERM; echo begun; while :; do sleep 0.01; done";
    assert_eq!(run(within(shell(deaf), limits)).await.end, End::OutOfTime);
}

#[tokio::test]
async fn who_stops_itself_is_ended_as_well() {
    let limits = RunLimits { time_max: Duration::from_millis(100), ..RunLimits::default() };
    assert_eq!(run(within(shell("kill -STOP $$"), limits)).await.end, End::OutOfTime);
}

#[tokio::test]
async fn dropping_a_run_ends_the_program_and_its_children() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("pids");
    // One that hears, a child that does not, and a child's child.
    let script = format!(
        "trap '' TERM; echo $$ >>{0}; (echo $(sh -c 'echo $PPID') >>{0}; \
         sh -c 'echo $$ >>{0}; exec sleep 1000') & wait",
        file.display()
    );
    let program = shell(&script);
    let running = tokio::spawn(async move { program.run(&nobody()).await });
    until("all three run", || pids(&file, 3).is_some()).await;
    let pids = pids(&file, 3).unwrap();
    assert!(pids.iter().all(|pid| !is_gone(*pid)));
    running.abort();
    assert!(running.await.is_err_and(|error| error.is_cancelled()));
    all_ended().await;
    assert!(is_gone(pids[0]), "whoever ends the process has waited for it");
    gone(&pids).await;
}

#[test]
fn the_end_of_the_runtime_ends_the_program_and_its_children() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("pids");
    let script =
        format!("trap '' TERM; echo $$ >{0}; sleep 1000 & echo $! >>{0}; wait", file.display());
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.spawn(async move { shell(&script).run(&nobody()).await });
    runtime.block_on(until("both run", || pids(&file, 2).is_some()));
    let pids = pids(&file, 2).unwrap();
    drop(runtime);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(gone(&pids));
}

#[tokio::test]
async fn a_child_in_a_group_of_its_own_is_ended_too() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("pids");
    // With job control every background job is a group.
    let script = format!("set -m; echo $$ >{0}; sleep 1000 & echo $! >>{0}; wait", file.display());
    let program = Program::new("bash").args(["-c", &script]);
    let running = tokio::spawn(async move { program.run(&nobody()).await });
    until("both run", || pids(&file, 2).is_some()).await;
    let pids = pids(&file, 2).unwrap();
    running.abort();
    gone(&pids).await;
}

#[tokio::test]
async fn what_a_program_leaves_running_is_killed_and_not_waited_for() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("pids");
    let script = format!("sleep 1000 & echo $! >{}; echo done", file.display());
    let ran = run(shell(&script)).await;
    assert_eq!((ran.end, ran.stdout.text.as_str()), (End::Code(0), "done\n"));
    gone(&pids(&file, 1).unwrap()).await;
}

#[tokio::test]
async fn a_daemon_that_holds_the_pipe_open_holds_up_nothing() {
    let folder = TempDir::new().unwrap();
    let (file, go) = (folder.path().join("pids"), folder.path().join("go"));
    // It writes as fast as it can, into a pipe that somebody else reads.
    let script = format!(
        "setsid sh -c 'echo $$ >{0}; while [ ! -e {1} ]; do echo noise; done' & \
         while [ ! -s {0} ]; do sleep 0.01; done; echo done >&2",
        file.display(),
        go.display()
    );
    let ran = run(shell(&script)).await;
    assert_eq!((ran.end, ran.stderr.text.as_str()), (End::Code(0), "done\n"));
    // It is out of reach, and ends by itself: nobody reads what it writes.
    fs::write(&go, "").unwrap();
    gone(&pids(&file, 1).unwrap()).await;
}

#[tokio::test]
async fn a_flood_ends_soon_and_its_beginning_is_kept() {
    let limits = RunLimits { flood_bytes_max: 4 << 20, ..RunLimits::default() };
    let ran = run(within(Program::new("yes").args(["flood"]), limits)).await;
    assert_eq!(ran.end, End::Flood);
    assert!(ran.stdout.truncated && ran.stdout.bytes > 4 << 20, "{}", ran.stdout.bytes);
    assert!(ran.stdout.text.starts_with("flood\nflood\n"));
    let outcome = ran.outcome();
    assert!(outcome.is_error);
    assert_eq!(texts(&outcome)[0], "wrote more than 4194304 bytes and was stopped");
    assert_eq!(outcome.meta[META]["stopped"], "output");
    assert_eq!(outcome.meta[META]["truncated"], true);
}

#[tokio::test]
async fn a_fork_bomb_ends_with_its_time() {
    let limits = RunLimits { time_max: Duration::from_millis(200), ..RunLimits::default() };
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("pids");
    // Each starts the next one and ends: nobody can keep up with their ids.
    let script = format!(
        "echo $$ >{}; n() {{ sh -c :; n & }}; n; while :; do sleep 0.01; done",
        file.display()
    );
    assert_eq!(run(within(shell(&script), limits)).await.end, End::OutOfTime);
    let first = pids(&file, 1).unwrap()[0];
    until("nobody is left of the group", || test_kill_process_group(first).is_err()).await;
}

#[tokio::test]
async fn a_long_line_is_cut_and_the_program_ends_by_itself() {
    let ran = run(shell("head -c 10000000 /dev/zero | tr '\\0' x; echo; echo end")).await;
    assert_eq!(ran.end, End::Code(0));
    assert_eq!(ran.stdout.bytes, 10_000_005);
    assert!(ran.stdout.truncated && ran.stdout.text.len() < (256 << 10) + 200);
    assert!(ran.stdout.text.contains("of 10000005 bytes are shown"));
    assert!(ran.stdout.text.ends_with("xxx\nend\n"));
    assert_eq!(ran.clone().outcome().structured, None);
    assert!(!ran.outcome().is_error);
}

#[tokio::test]
async fn what_was_written_last_is_never_lost() {
    for round in 0..50 {
        let ran = run(shell("seq 1 20000; echo last; echo why >&2")).await;
        assert!(ran.stdout.text.ends_with("20000\nlast\n"), "round {round}");
        assert_eq!(ran.stderr.text, "why\n", "round {round}");
    }
}

#[tokio::test]
async fn text_is_made_fit_to_read() {
    let ran = run(shell("printf 'caf\\351 \\033[31mred\\033[0m 10%%\\r100%%\\a\\n'")).await;
    assert_eq!(ran.stdout.text, "100%\n");
    let ran = run(shell("printf 'caf\\351 \\033[31mred\\033[0m\\a\\n'")).await;
    assert_eq!(ran.stdout.text, "caf\u{fffd} red\n");
}

#[tokio::test]
async fn json_is_structured() {
    let outcome = run(shell("printf '\\033[1m{\"rows\": [1, 2.5]}\\033[0m\\n'")).await.outcome();
    assert_eq!(outcome.structured, Some(json!({ "rows": [1, 2.5] })));
    assert_eq!(texts(&outcome), ["{\"rows\": [1, 2.5]}\n"]);
    let outcome = run(shell("echo '[1, 2]'")).await.outcome();
    assert_eq!(outcome.structured, Some(json!({ "result": [1, 2] })));
    let outcome = run(shell("echo '{\"a\":1}'; echo '{\"a\":2}'")).await.outcome();
    assert_eq!(outcome.structured, Some(json!({ "result": [{ "a": 1 }, { "a": 2 }] })));
    assert_eq!(run(shell("echo '[18446744073709551616]'")).await.outcome().structured, None);
    assert_eq!(run(shell("echo hello")).await.outcome().structured, None);
}

#[tokio::test]
async fn a_program_sees_only_what_it_is_given() {
    // Cargo sets this one: it stands for a secret of the server.
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
    let ran = run(Program::new("env")).await;
    let names: Vec<&str> =
        ran.stdout.text.lines().filter_map(|line| line.split('=').next()).collect();
    assert!(names.contains(&"PATH") && names.contains(&"NO_COLOR"), "{names:?}");
    assert!(!names.iter().any(|name| name.starts_with("CARGO")), "{names:?}");

    let environment = Environment::empty()
        .pass("PATH")
        .pass("CARGO_MANIFEST_DIR")
        .set("TOKEN", "a b")
        .pass("NOT_THERE");
    let ran = run(Program { environment, ..Program::new("env") }).await;
    let mut lines: Vec<&str> = ran.stdout.text.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines.len(), 3, "{lines:?}");
    assert!(lines[0].starts_with("CARGO_MANIFEST_DIR=/"), "{lines:?}");
    assert_eq!(lines[2], "TOKEN=a b");
}

#[tokio::test]
async fn it_runs_in_its_folder() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().canonicalize().unwrap();
    let ran = run(Program { folder: Some(path.clone()), ..Program::new("pwd") }).await;
    assert_eq!(ran.stdout.text.trim_end(), path.to_str().unwrap());
}

#[tokio::test]
async fn what_cannot_be_started_is_told_by_its_name_alone() {
    let folder = TempDir::new().unwrap();
    let place = folder.path().to_str().unwrap().to_owned();
    let plain = folder.path().join("plain");
    fs::write(&plain, "text").unwrap();
    fs::set_permissions(&plain, fs::Permissions::from_mode(0o644)).unwrap();
    let errors = [
        Program::new(folder.path().join("missing")),
        Program::new("no-such-program-anywhere"),
        Program::new(&plain),
        Program::new(folder.path()),
        Program { folder: Some(folder.path().join("none")), ..Program::new("true") },
        Program::new("true").args(["a\0b"]),
        Program::new("true").args(["x".repeat(8 << 20)]),
    ];
    let mut kinds = Vec::new();
    for program in errors {
        let error = program.run(&nobody()).await.unwrap_err();
        let outcome = error.outcome();
        assert!(outcome.is_error);
        assert!(!texts(&outcome)[0].contains(&place), "{outcome:?}");
        assert!(texts(&outcome)[0].contains('"'), "{outcome:?}");
        kinds.push(match error {
            RunError::NotFound { program } => format!("not found {program}"),
            RunError::Denied { .. } => "denied".to_owned(),
            RunError::NoFolder { .. } => "no folder".to_owned(),
            RunError::Nul { .. } => "nul".to_owned(),
            RunError::TooLong { .. } => "too long".to_owned(),
            RunError::Other { source, .. } => source.to_string(),
        });
    }
    let expected = [
        "not found missing",
        "not found no-such-program-anywhere",
        "denied",
        "denied",
        "no folder",
        "nul",
        "too long",
    ];
    assert_eq!(kinds, expected);
}

#[tokio::test]
async fn many_runs_leave_nothing_behind() {
    let mut seen = Vec::new();
    for _ in 0..50 {
        let (one, two) = (shell("echo $$"), shell("echo $$; kill -9 $$"));
        let (stopped, dropped) = (shell("echo $$; exec sleep 1000"), shell("sleep 1000"));
        let limits = RunLimits { time_max: Duration::from_millis(20), ..RunLimits::default() };
        let context = nobody();
        let never = async {
            let time = tokio::time::timeout(Duration::from_millis(1), dropped.run(&context));
            assert!(time.await.is_err());
        };
        let (one, two, three, ()) =
            tokio::join!(run(one), run(two), run(within(stopped, limits)), never);
        for ran in [one, two, three] {
            let pid = ran.stdout.text.trim().parse().ok().and_then(Pid::from_raw);
            seen.extend(pid);
        }
    }
    assert!(seen.len() >= 100, "{}", seen.len());
    for pid in seen {
        // Not even as a zombie: those can still be signalled.
        until("it is gone altogether", || test_kill_process(pid).is_err()).await;
    }
}
