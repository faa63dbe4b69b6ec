//! The form of a tool that runs a program: the program is there, its words have no holes that could
//! become something else, and nothing is said that is about commands.

use std::path::{Path, PathBuf};

use clap_serve::program::{Environment, Program, trusted};

use super::Checking;
use super::command::Draft;
use super::interpreter::{Danger, danger};
use super::trial::{self, Known};
use crate::file::form::{CommandForm, DetailedForm, EffectForm, TypeForm};
use crate::file::node::escape;
use crate::file::surroundings::Surroundings;
use crate::template::line::{self, Line, Word};
use crate::template::scan::Wrong;

/// The form of a program, when a command is one.
pub(super) fn form(command: &CommandForm) -> Option<&DetailedForm> {
    match command {
        CommandForm::Detailed(form) => Some(form.as_ref()).filter(|form| is_program(form)),
        CommandForm::Template(_) => None,
    }
}

fn is_program(form: &DetailedForm) -> bool {
    form.kind == Some(TypeForm::Cli)
}

/// The command line of a form.
pub(super) fn line(
    checking: &mut Checking<'_>,
    pointer: &str,
    form: &DetailedForm,
    known: Known<'_>,
) -> Option<Line> {
    no_command(checking, pointer, form);
    let path = path(checking, pointer, form);
    let words = words(checking, pointer, form, known);
    if let Some(words) = &words {
        no_script(checking, pointer, form, words);
    }
    let environment = environment(checking, pointer, form);
    let folder = folder(checking, pointer, form);
    let program = Program { folder: folder?, environment, ..Program::new(path?) };
    // Of a command it is known what it does; of a program only what the file says.
    let effect = form.effect.unwrap_or(EffectForm::Write);
    Some(Line { program, words: words?, effect })
}

/// Tells which keys are about commands, and this is none.
fn no_command(checking: &mut Checking<'_>, pointer: &str, form: &DetailedForm) {
    let said = [
        ("method", form.method.is_some()),
        ("template", form.template.is_some()),
        ("cases", form.cases.is_some()),
        ("sql", form.sql.is_some()),
        ("database", form.database.is_some()),
        ("build_sql", form.build_sql),
        ("format", form.format.is_some()),
        ("headers", form.headers.is_some()),
    ];
    for (key, _) in said.iter().filter(|(_, is_said)| *is_said) {
        let message = format!("\"{key}\" does not go with \"type: cli\"");
        let hint = "a program is named by \"program\", and its words by \"args\"";
        checking.wrong(&format!("{pointer}/{key}"), message, Some(hint.to_owned()));
    }
}

/// Where the program is. Messages never repeat what is written: it may come from the environment.
fn path(checking: &mut Checking<'_>, pointer: &str, form: &DetailedForm) -> Option<PathBuf> {
    let Some(program) = form.program.as_deref().filter(|program| !program.is_empty()) else {
        let hint = "as \"program: df\", or \"program: ./site-report\"".to_owned();
        checking.wrong(pointer, "\"type: cli\" needs a \"program\"", Some(hint));
        return None;
    };
    let found = match Path::new(program).components().count() {
        1 if !program.contains(['/', '\\']) => in_path(program, checking.surroundings),
        _ => beside(checking.file.folder.as_deref(), program),
    };
    let at = format!("{pointer}/program");
    match found {
        Ok(path) => is_trusted(checking, &at, &path).then_some(path),
        Err((message, hint)) => {
            checking.wrong(&at, message, Some(hint.to_owned()));
            None
        }
    }
}

/// Whether nobody else can change what is run.
fn is_trusted(checking: &mut Checking<'_>, at: &str, path: &Path) -> bool {
    let Err(untrusted) = trusted(path) else { return true };
    let message = format!("the program, or a folder above it, {}", untrusted.reason);
    checking.wrong(at, message, Some(untrusted.remedy));
    false
}

type Missing = (&'static str, &'static str);

/// A program by its name.
fn in_path(name: &str, surroundings: &Surroundings) -> Result<PathBuf, Missing> {
    let path = surroundings.value("PATH").unwrap_or_default();
    let name = match cfg!(windows) && Path::new(name).extension().is_none() {
        true => format!("{name}.exe"),
        false => name.to_owned(),
    };
    // What is in the folder that the node happens to run in is nobody's choice.
    let folders = std::env::split_paths(&path).filter(|folder| folder.is_absolute());
    let found = folders.map(|folder| folder.join(&name)).find(|path| is_executable(path));
    found.ok_or(("there is no such program in PATH", "install it, or give the path to it"))
}

/// A program by its path.
fn beside(folder: Option<&Path>, written: &str) -> Result<PathBuf, Missing> {
    let path = absolute(folder, written)
        .ok_or(("only a file can name a program beside it", "give the whole path, or a name"))?;
    match (path.is_file(), is_executable(&path)) {
        (true, true) => Ok(path),
        (true, false) => Err(("the program is not executable", "\"chmod +x\" makes it so")),
        (false, _) => Err(("there is no such program", "a path is relative to this file")),
    }
}

/// A path as it is written in a file of that folder.
fn absolute(folder: Option<&Path>, written: &str) -> Option<PathBuf> {
    match (Path::new(written).is_absolute(), folder) {
        (true, _) => Some(PathBuf::from(written)),
        (false, Some(folder)) => Some(folder.join(written)),
        (false, None) => None,
    }
}

#[cfg(unix)]
fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_executable(path: &Path) -> bool {
    path.is_file()
}

fn words(
    checking: &mut Checking<'_>,
    pointer: &str,
    form: &DetailedForm,
    known: Known<'_>,
) -> Option<Vec<Word>> {
    let words = match line::compile(&form.args, checking.surroundings) {
        Ok(words) => words,
        Err(wrong) => {
            for (index, Wrong { range, message, hint }) in wrong {
                let at = format!("{pointer}/args/{index}");
                let problem = checking.file.problem_inside(&at, range, message);
                checking.problems.push(problem.with_hint(hint));
            }
            return None;
        }
    };
    let mut is_well = true;
    for (index, word) in words.iter().enumerate() {
        let pointer = format!("{pointer}/args/{index}");
        let pieces = word.pieces.clone();
        let draft = Draft { pointer, is_written: true, case: None, given: None, pieces };
        is_well &= trial::holes(checking, &draft, known);
    }
    is_well.then_some(words)
}

/// Tells where a value would become a part of what a shell, or another interpreter, runs, also by way of
/// programs that run others.
fn no_script(checking: &mut Checking<'_>, pointer: &str, form: &DetailedForm, words: &[Word]) {
    let hole = |word: &Word| {
        word.pieces.uses().into_iter().find(|one| one.kind.is_some()).map(|one| one.range)
    };
    let program = form.program.as_deref().unwrap_or_default();
    let texts: Vec<_> = form
        .args
        .iter()
        .zip(words)
        .map(|(text, word)| Some(text.as_str()).filter(|_| hole(word).is_none()))
        .collect();
    let Some((index, danger)) = danger(program, &texts) else { return };
    let Some(range) = words.get(index).and_then(hole) else { return };
    let (message, hint) = match danger {
        Danger::Script => (
            "a value here would become a part of the script",
            "give it as a word after the script: args: [\"-c\", 'echo \"$1\"', sh, \"{name}\"]",
        ),
        Danger::Program => (
            "a value here would become the program that is run",
            "name the program, and give the value to it as a word",
        ),
    };
    let at = format!("{pointer}/args/{index}");
    let problem = checking.file.problem_inside(&at, range, message);
    checking.problems.push(problem.with_hint(Some(hint.to_owned())));
}

fn environment(checking: &mut Checking<'_>, pointer: &str, form: &DetailedForm) -> Environment {
    let is_name = |name: &str| !name.is_empty() && !name.contains(['=', '\0']);
    let mut environment = Environment::default();
    for (index, name) in form.pass.iter().enumerate() {
        let at = format!("{pointer}/pass/{index}");
        match (is_name(name), form.env.contains_key(name)) {
            (false, _) => {
                checking.wrong(&at, "this cannot be the name of an environment variable", None);
            }
            (true, true) => checking.wrong(&at, "the variable is in \"env\" already", None),
            (true, false) => environment = environment.pass(name),
        }
    }
    for (name, value) in &form.env {
        let at = format!("{pointer}/env/{}", escape(name));
        if !is_name(name) {
            checking.wrong(&at, "this cannot be the name of an environment variable", None);
        } else if value.contains('\0') {
            checking.wrong(&at, "a variable cannot have a NUL character in it", None);
        } else {
            environment = environment.set(name, value);
        }
    }
    environment
}

/// The folder in which it runs. None is that it is wrong; a text has none, and runs where the node does.
fn folder(
    checking: &mut Checking<'_>,
    pointer: &str,
    form: &DetailedForm,
) -> Option<Option<PathBuf>> {
    let own = checking.file.folder.clone();
    let Some(written) = &form.cwd else { return Some(own) };
    let folder = absolute(own.as_deref(), written).filter(|folder| folder.is_dir());
    if folder.is_none() {
        let hint = "a path is relative to this file".to_owned();
        checking.wrong(&format!("{pointer}/cwd"), "there is no such folder", Some(hint));
    }
    folder.map(Some)
}
