//! Programs that run what one of their words says, and programs that run another program: a value that
//! an agent gives must not become a script, nor the program that is run.

use std::path::Path;

/// Shells. A word after a flag with the letter `c` is a script.
const SHELLS: [&str; 11] =
    ["sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "fish", "csh", "tcsh", "su"];

/// Interpreters with their flags before a script.
const INTERPRETERS: [(&[&str], &[&str]); 4] = [
    (&["python", "python2", "python3", "pypy", "pypy3"], &["-c"]),
    (
        &["perl", "ruby", "node", "nodejs", "deno", "bun", "lua", "php", "Rscript", "julia"],
        &["-e", "-E", "-r", "--eval", "-p", "--print", "eval"],
    ),
    (&["cmd", "powershell", "pwsh"], &["/c", "/C", "/k", "/K", "-c", "-Command", "-command"]),
    (&["script", "flock", "expect", "tclsh"], &["-c", "--command"]),
];

/// Programs whose words are joined to a script, for a shell here or elsewhere.
const JOINED: [&str; 5] = ["ssh", "rsh", "watch", "parallel", "eval"];

/// Programs whose first word is a script, and flags before more of it.
const SCRIPTED: [&str; 5] = ["awk", "gawk", "mawk", "nawk", "sed"];
const SCRIPTED_FLAGS: [&str; 4] = ["-e", "-f", "--expression", "--file"];

/// Programs that run the program that their words name.
const WRAPPERS: [&str; 24] = [
    "env",
    "busybox",
    "toybox",
    "nice",
    "ionice",
    "nohup",
    "timeout",
    "time",
    "sudo",
    "doas",
    "xargs",
    "setsid",
    "stdbuf",
    "chroot",
    "unshare",
    "nsenter",
    "systemd-run",
    "taskset",
    "chrt",
    "strace",
    "runuser",
    "exec",
    "command",
    "find",
];

/// What a value would become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Danger {
    /// A part of a script.
    Script,
    /// The program that is run.
    Program,
}

/// The first word into which a value would go that becomes a script or a program: its index, and what it
/// would become. Each word is its text, where it has no holes.
pub(super) fn danger(program: &str, words: &[Option<&str>]) -> Option<(usize, Danger)> {
    let name = name_of(program);
    let is_hole = |index: &usize| words.get(*index).is_some_and(Option::is_none);
    let holes = (0..words.len()).filter(is_hole);
    if JOINED.contains(&name) {
        return holes.min().map(|index| (index, Danger::Script));
    }
    if SCRIPTED.contains(&name) {
        let script = words.iter().position(|word| word.is_some_and(|word| !word.starts_with('-')));
        let is_flagged = |index: usize| {
            let before = index.checked_sub(1).and_then(|before| *words.get(before)?);
            before.is_some_and(|flag| SCRIPTED_FLAGS.contains(&flag))
        };
        let is_script = |index: &usize| script.is_none_or(|at| *index < at) || is_flagged(*index);
        return holes.filter(is_script).min().map(|index| (index, Danger::Script));
    }
    if WRAPPERS.contains(&name) {
        return wrapped(name, words);
    }
    let is_before_script = |word: &str| is_script_flag(name, word);
    let flagged = words.iter().enumerate().filter(|(_, word)| word.is_some_and(is_before_script));
    let scripts = flagged.map(|(index, _)| index + 1);
    let hole = scripts.filter(is_hole).min();
    hole.map(|index| (index, Danger::Script))
}

/// The same for the program that another one runs.
fn wrapped(wrapper: &str, words: &[Option<&str>]) -> Option<(usize, Danger)> {
    let begins = |from: usize| {
        let inner = words.iter().enumerate().skip(from);
        // Options, their numbers and variables stand before the program.
        inner.into_iter().find(|(_, word)| word.is_none_or(is_program))
    };
    // `find` runs a program after `-exec`, as often as it is written.
    let starts: Vec<usize> = match wrapper {
        "find" => {
            let execs = words.iter().enumerate().filter(|(_, word)| {
                word.is_some_and(|word| ["-exec", "-execdir", "-ok", "-okdir"].contains(&word))
            });
            execs.map(|(index, _)| index + 1).collect()
        }
        _ => vec![0],
    };
    starts.into_iter().find_map(|start| match begins(start)? {
        (index, None) => Some((index, Danger::Program)),
        (index, Some(program)) => {
            let after = index + 1;
            let rest = words.get(after..).unwrap_or_default();
            // What follows an option may be its value, and the program come later.
            let at = |(found, danger)| (found + after, danger);
            danger(program, rest).map(at).or_else(|| later(rest).map(at))
        }
    })
}

/// The same, wherever an interpreter stands among the words.
fn later(words: &[Option<&str>]) -> Option<(usize, Danger)> {
    words.iter().enumerate().find_map(|(index, word)| {
        let program = (*word)?;
        let rest = words.get(index + 1..).unwrap_or_default();
        let is_known = is_interpreter(program);
        let found = is_known.then(|| danger(program, rest)).flatten();
        found.map(|(at, danger)| (index + 1 + at, danger))
    })
}

fn is_program(word: &str) -> bool {
    let is_number = word.chars().next().is_some_and(|c| c.is_ascii_digit());
    !word.starts_with('-') && !word.contains('=') && !is_number
}

fn is_interpreter(program: &str) -> bool {
    let name = name_of(program);
    let is_known = |names: &[&str]| names.contains(&name);
    is_known(&SHELLS)
        || is_known(&JOINED)
        || is_known(&SCRIPTED)
        || is_known(&WRAPPERS)
        || INTERPRETERS.iter().any(|(names, _)| is_known(names))
}

fn is_script_flag(name: &str, word: &str) -> bool {
    let word = word.trim();
    if SHELLS.contains(&name) {
        let is_short = word.starts_with('-') && !word.starts_with("--");
        return (is_short && word.contains('c')) || word == "--command";
    }
    INTERPRETERS.iter().any(|(names, flags)| names.contains(&name) && flags.contains(&word))
}

/// A program's name without its folder and extension.
fn name_of(program: &str) -> &str {
    let name = Path::new(program.trim()).file_name().and_then(|name| name.to_str());
    let name = name.unwrap_or_default();
    name.strip_suffix(".exe").unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What comes of a line, in which `{}` is a hole.
    fn line(line: &str) -> Option<Danger> {
        let mut words = line.split(' ');
        let program = words.next().unwrap();
        let words: Vec<_> =
            words.map(|word| Some(word).filter(|word| !word.contains("{}"))).collect();
        danger(program, &words).map(|(_, danger)| danger)
    }

    #[test]
    fn a_value_does_not_become_a_script_by_way_of_other_programs() {
        for script in [
            "sh -c {}",
            "/bin/bash -exc {}",
            "python3 -c {}",
            "env sh -c {}",
            "env -i A=1 bash -c x{}",
            "busybox ash -c {}",
            "nice -n 5 sh -c {}",
            "timeout 5 sh -c {}",
            "timeout -k 5 10 sh -c {}",
            "sudo -u nobody sh -c {}",
            "sudo timeout 5 env bash -c {}",
            "xargs -n 1 sh -c {}",
            "find . -exec sh -c {} ;",
            "find . -name x -ok perl -e {} ;",
            "awk {}",
            "awk -f {}",
            "sed -n -e {} file",
            "env awk {}",
            "ssh host {}",
            "ssh host uptime {}",
            "watch df {}",
            "su -c {}",
        ] {
            assert_eq!(line(script), Some(Danger::Script), "{script}");
        }
    }

    #[test]
    fn a_value_does_not_become_the_program() {
        for program in ["env {}", "xargs {}", "sudo -n {}", "find . -exec {} ;", "timeout 5 {} x"] {
            assert_eq!(line(program), Some(Danger::Program), "{program}");
        }
    }

    #[test]
    fn a_value_is_a_word_of_what_was_chosen() {
        for fine in [
            "df {}",
            "sh ./report.sh {}",
            "sh -c script sh {}",
            "env df {}",
            "timeout 5 df -h {}",
            "find . -name {}",
            "find . -name {} -exec ls ;",
            "python3 ./x.py {}",
            "awk -f sum.awk {}",
            "sed -n 5p {}",
            "nice -n 5 ./report {}",
        ] {
            assert_eq!(line(fine), None, "{fine}");
        }
    }
}
