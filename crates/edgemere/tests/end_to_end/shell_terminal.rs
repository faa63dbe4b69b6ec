//! `edgemere shell` on a terminal, which `script` makes: prompts, tables, completion, and Ctrl-C.

use std::io::{Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex};

use reqwest::Client;
use serde_json::json;

use crate::support::{Node, end, wait_for};

/// A shell on a terminal.
struct Terminal {
    child: Child,
    keys: ChildStdin,
    screen: Arc<Mutex<Vec<u8>>>,
}

impl Terminal {
    fn start(node: &Node) -> Self {
        let program = env!("CARGO_BIN_EXE_edgemere");
        // Without a shell in between, which Ctrl-C would end as well.
        let line = format!("exec {program} shell --node {}", node.http);
        let mut command = Command::new("script");
        command.args(["-qec", &line, "/dev/null"]).env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("PAGER", "cat");
        command.env("TERM", "xterm").env("HOME", node.folder.path()).env("NO_COLOR", "1");
        command.env("SHELL", "/bin/sh").current_dir(node.folder.path());
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (keys, mut output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let screen = Arc::new(Mutex::new(Vec::new()));
        let written = Arc::clone(&screen);
        std::thread::spawn(move || {
            let mut piece = [0; 4096];
            while let Ok(read @ 1..) = output.read(&mut piece) {
                written.lock().unwrap().extend(&piece[..read]);
            }
        });
        Self { child, keys, screen }
    }

    fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
        self.keys.flush().unwrap();
    }

    /// Presses a key, and waits for the prompt that follows: what is typed before is lost with the line.
    fn press_for_prompt(&mut self, key: &str) {
        let prompts = |terminal: &Self| terminal.text().matches("edgemere> ").count();
        let before = prompts(self);
        self.press(key);
        wait_for("the next prompt", || (prompts(self) > before).then_some(()));
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.screen.lock().unwrap()).into_owned()
    }

    /// Waits until the screen has a text.
    fn shows(&self, text: &str) {
        let what = format!("{text:?} on the screen");
        wait_for(&what, || {
            let is_there = self.text().contains(text);
            is_there.then_some(())
        });
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

async fn node_with_rows() -> Node {
    let node = Node::start(&["--name", "n", "--register", "false"]);
    let rows: Vec<_> = (0..2000).map(|n| json!({ "n": n, "pressure": n })).collect();
    let put = Client::new().put(node.url()).header("dbms", "water").header("table", "pumps");
    assert_eq!(put.json(&rows).send().await.unwrap().status(), 200);
    node
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_person_asks_in_sql() {
    let node = node_with_rows().await;
    let mut terminal = Terminal::start(&node);
    terminal.shows("edgemere> ");
    terminal.press("use water\r");
    terminal.shows("water> ");
    terminal.press("\\dt\r");
    terminal.shows("Tables of water");
    // Tab completes the table, and the statement goes on over lines.
    terminal.press("select count(*) as how_many, max(pressure) from pu\t\r");
    terminal.shows("... ");
    terminal.press(";\r");
    terminal.shows("how_many");
    terminal.shows("(1 row, ");
    terminal.shows("1999|");
    terminal.shows(", from n)");
    terminal.press("select nope from pumps;\r");
    terminal.shows("^^^^");
    terminal.press("\\timing off\r");
    terminal.shows("timing is off");
    terminal.press("select n from pumps where n < 2;\r");
    terminal.shows("(2 rows, from n)");
    terminal.press("get node name\r");
    terminal.shows("n@");
    terminal.press("\\q\r");
    assert!(end(&mut terminal.child).success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ctrl_c_cancels_the_query_also_on_the_node_and_not_the_shell() {
    let node = node_with_rows().await;
    let is_running =
        || node.run(&["query status all where format = json"]).0.contains("\"Running\"");
    let mut terminal = Terminal::start(&node);
    terminal.shows("edgemere> ");
    // The only database needs no "use".
    terminal.press("select sum(a.n * b.n + c.n * d.n) from pumps a, pumps b, pumps c, pumps d;\r");
    wait_for("the query", || is_running().then_some(()));
    terminal.press("\u{3}");
    terminal.shows("cancelled");
    wait_for("the end of the query", || (!is_running()).then_some(()));
    terminal.press("select 1 + 1 as two;\r");
    terminal.shows("(1 row");
    // While a line is typed, it is only the line that is forgotten.
    terminal.press("select 4 as forgotten");
    terminal.shows("forgotten");
    terminal.press_for_prompt("\u{3}");
    terminal.press_for_prompt("select 40 + 2 as answer;\r");
    terminal.shows("42|");
    terminal.press("\u{4}");
    assert!(end(&mut terminal.child).success());
}
