//! The network between two machines is cut, and healed: two namespaces of this machine with a cable
//! between them, a master in one and an operator in the other. Commands end with an error that says
//! what is wrong, and when the cable is back so is everything, without anybody starting anything.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

use crate::support::{Node, parts, wait_for};

const ADVICE: &str = "network namespaces need root and iproute2: \
                      `apt-get install iproute2`, and run the tests as root";

/// Both ends of the cable.
const MASTER: &str = "10.213.0.1";
const OPERATOR: &str = "10.213.0.2";

/// Runs `ip`, which must succeed.
fn ip(args: &[&str]) {
    let output = Command::new("ip").args(args).output();
    let output = output.unwrap_or_else(|error| panic!("cannot run ip: {error}; {ADVICE}"));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "ip {}: {stderr}; {ADVICE}", args.join(" "));
}

/// A machine, as far as its network goes. It ends with the test.
struct Machine {
    name: String,
}

impl Machine {
    fn new(side: &str) -> Self {
        let name = format!("edgemere-{}-{side}", std::process::id());
        ip(&["netns", "add", &name]);
        let machine = Self { name };
        ip(&["-n", &machine.name, "link", "set", "lo", "up"]);
        machine
    }

    /// The program with these arguments, there.
    fn edgemere(&self, folder: &Path, args: &[&str]) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.name, env!("CARGO_BIN_EXE_edgemere")]).args(args);
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.current_dir(folder).env("HOME", folder).env("TMPDIR", folder);
        command
    }

    fn cable(&self, up_or_down: &str) {
        ip(&["-n", &self.name, "link", "set", "cable", up_or_down]);
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        // A test that has failed already says more than this would.
        let _ = Command::new("ip").args(["netns", "del", &self.name]).output();
    }
}

/// Two machines with a cable between them.
fn machines() -> (Machine, Machine) {
    let (one, other) = (Machine::new("m"), Machine::new("o"));
    let peer = ["type", "veth", "peer", "name", "cable", "netns", other.name.as_str()];
    ip(&[&["-n", one.name.as_str(), "link", "add", "cable"][..], &peer].concat());
    for (machine, address) in [(&one, MASTER), (&other, OPERATOR)] {
        ip(&["-n", &machine.name, "addr", "add", &format!("{address}/24"), "dev", "cable"]);
        machine.cable("up");
    }
    (one, other)
}

/// A node on a machine.
struct Member<'a> {
    machine: &'a Machine,
    node: Node,
}

impl<'a> Member<'a> {
    fn start(machine: &'a Machine, ip: &str, args: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let network = format!("{ip}:0");
        let ports = ["node", "--http", "127.0.0.1:0", "--network", &network];
        let command = machine.edgemere(folder.path(), &[&ports, args].concat());
        Self { machine, node: Node::launch(folder, command) }
    }

    fn run(&self, command: &str) -> (String, String, i32) {
        let args = ["run", command, "--node", &self.node.http];
        parts(&self.output(&self.node.folder, &args))
    }

    fn output(&self, folder: &TempDir, args: &[&str]) -> Output {
        let mut command = self.machine.edgemere(folder.path(), args);
        command.stdin(Stdio::null()).output().unwrap()
    }

    /// What it answers to a command that must succeed.
    fn ask(&self, command: &str) -> String {
        let (stdout, stderr, code) = self.run(command);
        assert_eq!(code, 0, "{command}: {stderr}");
        stdout.trim().to_owned()
    }

    fn push(&self, name: &str) {
        self.ask(&format!("blockchain push {{\"device\": {{\"name\": \"{name}\"}}}}"));
    }

    fn wait_for_devices(&self, wanted: &str) {
        let command = "blockchain get device where ledger = global bring [name] separator = ,";
        wait_for(&format!("the devices {wanted}"), || {
            let mut names: Vec<_> = self.ask(command).split(',').map(String::from).collect();
            names.sort_unstable();
            (names.join(",") == wanted).then_some(())
        });
    }

    /// That a command for the other one fails, and how.
    fn assert_cut(&self, other: &Node) {
        let command = format!("run client ({}, timeout = 2) get status", other.network);
        let (_, stderr, code) = self.run(&command);
        assert_eq!(code, 6, "{stderr}");
        assert!(stderr.contains(&other.network), "{stderr}");
        assert!(stderr.contains("test network"), "{stderr}");
        let report = self.ask("test network");
        let lines = |address: &str| report.lines().filter(|l| l.contains(address)).count();
        assert!(lines(&other.network) > 0, "{report}");
        assert!(!self.ask("test network where times = true").is_empty());
    }

    fn wait_for_answer_of(&self, other: &Node) {
        let command = format!("run client ({}) get status", other.network);
        wait_for(&format!("an answer of {}", other.network), || {
            (self.run(&command).2 == 0).then_some(())
        });
    }
}

#[test]
fn a_cut_is_an_error_and_a_healed_network_is_a_network_again() {
    let (here, there) = machines();
    let master = Member::start(&here, MASTER, &["--name", "m", "--role", "master"]);
    let key = master.node.folder.path().join("edgemere-data/network.key");
    let flags = ["--name", "one", "--role", "operator", "--master", &master.node.network];
    let with_key = [&flags[..], &["--network-key", key.to_str().unwrap()]].concat();
    let operator = Member::start(&there, OPERATOR, &with_key);
    operator.push("before");
    master.wait_for_devices("before");
    // Each end in turn: where the cable is pulled the system knows it, and the other hears nothing.
    for (round, end) in [&there, &here].into_iter().enumerate() {
        end.cable("down");
        master.assert_cut(&operator.node);
        operator.assert_cut(&master.node);
        master.push(&format!("m{round}"));
        operator.push(&format!("o{round}"));
        let waiting = operator.ask("get synchronizer where format = mcp");
        assert!(waiting.contains("\"waiting\":1"), "{waiting}");
        end.cable("up");
        let wanted = ["before,m0,o0", "before,m0,m1,o0,o1"][round];
        for member in [&master, &operator] {
            member.wait_for_devices(wanted);
        }
        master.wait_for_answer_of(&operator.node);
        operator.wait_for_answer_of(&master.node);
    }
}
