//! The file: YAML to typed forms, each with its place.
//!
//! 1. `yaml` makes a tree (`node`) of the text (`source`) that knows where everything stands.
//! 2. `environment` puts the values of the environment in.
//! 3. `schema`, which is made of `form`, says everything that is wrong with the tree's form at once.
//! 4. What is right by it becomes a `FileForm`, and the files that it includes are read likewise.

pub(crate) mod environment;
pub(crate) mod form;
pub(crate) mod node;
mod schema;
pub(crate) mod source;
pub(crate) mod surroundings;
mod yaml;

use std::fs;
use std::path::{Path, PathBuf};

use clap_serve::program::trusted;

use self::form::FileForm;
use self::node::Node;
pub use self::schema::schema;
use self::source::Source;
use self::surroundings::Surroundings;
use crate::problem::{Problem, Problems};
use crate::shipped;

/// How many files may belong together.
const FILES_MAX: usize = 100;

/// The file and those that it includes, in the order in which they are read.
#[derive(Debug)]
pub(crate) struct Files {
    pub(crate) files: Vec<File>,
    pub(crate) paths: Vec<PathBuf>,
    pub(crate) surroundings: Surroundings,
}

/// A file whose form is right.
#[derive(Debug)]
pub(crate) struct File {
    pub(crate) source: Source,
    /// The folder that it stands in; none when it is only a text.
    pub(crate) folder: Option<PathBuf>,
    pub(crate) document: Node,
    pub(crate) form: FileForm,
}

impl File {
    /// Something that is wrong with what a JSON pointer leads to.
    pub(crate) fn problem(&self, pointer: &str, message: impl Into<String>) -> Problem {
        self.source.problem(&self.document.range_at(pointer), message.into())
    }

    /// Something that is wrong with a part of the text that a JSON pointer leads to, in bytes.
    pub(crate) fn problem_inside(
        &self,
        pointer: &str,
        part: std::ops::Range<usize>,
        message: impl Into<String>,
    ) -> Problem {
        let node = self.document.at(pointer);
        let range =
            node.part(&self.source, &part).unwrap_or_else(|| self.document.range_at(pointer));
        self.source.problem(&range, message.into())
    }
}

/// Reads a file and those that it includes.
pub(crate) fn read(path: &Path, surroundings: &Surroundings) -> Result<Files, Problems> {
    let mut reading =
        Reading { surroundings, files: Vec::new(), paths: Vec::new(), problems: Vec::new() };
    reading.file(path, &mut Vec::new(), None);
    reading.finish()
}

/// Reads a text, which has no folder to include anything from.
pub(crate) fn read_text(source: Source, surroundings: &Surroundings) -> Result<Files, Problems> {
    let mut reading =
        Reading { surroundings, files: Vec::new(), paths: Vec::new(), problems: Vec::new() };
    if let Some(file) = reading.text(source, None) {
        for (index, include) in file.form.include.iter().enumerate() {
            if !reading.shipped(include) {
                let message = "only a file can include other files";
                reading.problems.push(file.problem(&format!("/include/{index}"), message));
            }
        }
        reading.files.push(file);
    }
    reading.finish()
}

struct Reading<'a> {
    surroundings: &'a Surroundings,
    files: Vec<File>,
    paths: Vec<PathBuf>,
    problems: Vec<Problem>,
}

impl Reading<'_> {
    fn finish(self) -> Result<Files, Problems> {
        let Self { surroundings, files, paths, problems } = self;
        match problems.is_empty() {
            true => Ok(Files { files, paths, surroundings: surroundings.clone() }),
            false => Err(Problems::new(problems)),
        }
    }

    /// Reads a file. `around` are those that include it, and `place` is where the last of them does.
    fn file(&mut self, path: &Path, around: &mut Vec<PathBuf>, place: Option<Problem>) {
        let wrong = |message: String, hint: Option<String>| match place.clone() {
            Some(place) => Problem { message, hint, ..place },
            None => Source::problem_of_file(&path.display().to_string(), message, hint),
        };
        let same = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        if around.contains(&same) {
            let message = "the file includes itself, here or by way of others".to_owned();
            return self.problems.push(wrong(message, None));
        }
        if self.paths.contains(&same) {
            return;
        }
        if self.paths.len() == FILES_MAX {
            let message = format!("more than {FILES_MAX} files are included");
            return self.problems.push(wrong(message, None));
        }
        self.paths.push(same.clone());
        if let Err(untrusted) = trusted(path) {
            let hint = format!("tools are run as you: {}", untrusted.remedy);
            return self.problems.push(wrong(untrusted.to_string(), Some(hint)));
        }
        match text_of(path) {
            Ok(text) => {
                let source = Source { name: path.display().to_string(), text, is_proven: false };
                let folder = same.parent().map(Path::to_owned);
                let (known, is_ours) = (self.problems.len(), place.is_none() || has_tools(&source));
                let Some(file) = self.text(source, folder) else {
                    // It may be any file of the machine: nothing of it is quoted.
                    if !is_ours {
                        self.problems.truncate(known);
                        let message = format!("\"{}\" is no file of tools", path.display());
                        self.problems.push(wrong(message, None));
                    }
                    return;
                };
                around.push(same);
                self.included(&file, path, around);
                around.pop();
                self.files.push(file);
            }
            Err(message) => self.problems.push(wrong(message, None)),
        }
    }

    /// What is included comes before what includes it.
    fn included(&mut self, file: &File, path: &Path, around: &mut Vec<PathBuf>) {
        let folder = path.parent().unwrap_or(Path::new("."));
        for (index, include) in file.form.include.iter().enumerate() {
            if !self.shipped(include) {
                let place = file.problem(&format!("/include/{index}"), "");
                self.file(&folder.join(include), around, Some(place));
            }
        }
    }

    /// Reads a file that comes with Edgemere, once; false when there is none of that word.
    fn shipped(&mut self, word: &str) -> bool {
        let Some(shipped) = shipped::named(word) else { return false };
        let is_new = self.files.iter().all(|file| file.source.text != shipped.text);
        let file = if is_new { self.text(shipped.source(), None) } else { None };
        self.files.extend(file);
        true
    }

    /// The file of a text, or none when its form is not right.
    fn text(&mut self, source: Source, folder: Option<PathBuf>) -> Option<File> {
        let mut document = match yaml::parse(&source) {
            Ok(document) => document,
            Err(problems) => {
                self.problems.extend(problems);
                return None;
            }
        };
        let before = self.problems.len();
        environment::fill(&mut document, &source, self.surroundings, &mut self.problems);
        let value = document.to_value();
        if !source.is_proven {
            self.problems.extend(schema::check(&source, &document, &value));
        }
        if self.problems.len() > before {
            return None;
        }
        match serde_json::from_value(value) {
            Ok(form) => Some(File { source, folder, document, form }),
            Err(error) => {
                let message = format!("the file has another form than expected: {error}");
                self.problems.push(source.problem(&(0..0), message));
                None
            }
        }
    }
}

/// Whether a text says that it is a file of tools, right or wrong.
fn has_tools(source: &Source) -> bool {
    source.text.lines().any(|line| line.starts_with("tools:") || line.starts_with("include:"))
}

/// The text of a file that is not too long.
fn text_of(path: &Path) -> Result<String, String> {
    let name = path.display();
    let size =
        fs::metadata(path).map_err(|error| format!("cannot read \"{name}\": {error}"))?.len();
    if size > yaml::FILE_BYTES_MAX as u64 {
        return Err(format!("\"{name}\" is longer than {} bytes", yaml::FILE_BYTES_MAX));
    }
    fs::read_to_string(path).map_err(|error| format!("cannot read \"{name}\": {error}"))
}
