//! The files of tools that come with Edgemere, under the words by which they are named.

use crate::file::source::Source;

/// A file that comes with Edgemere.
#[derive(Debug)]
pub(crate) struct Shipped {
    /// The word by which `--tools` and `include` name it.
    pub(crate) word: &'static str,
    /// What it is called where something is reported of it.
    pub(crate) name: &'static str,
    pub(crate) text: &'static str,
}

impl Shipped {
    /// Its text, which is known to be right.
    pub(crate) fn source(&self) -> Source {
        Source { name: self.name.to_owned(), text: self.text.to_owned(), is_proven: true }
    }
}

/// The tools that every node has.
pub(crate) const EDGEMERE: Shipped =
    Shipped { word: "edgemere", name: "tools.yaml", text: include_str!("../tools.yaml") };

/// The tools with EdgeLake's own names and parameters.
pub(crate) const EDGELAKE: Shipped =
    Shipped { word: "edgelake", name: "edgelake.yaml", text: include_str!("../edgelake.yaml") };

/// The file of that word.
pub(crate) fn named(word: &str) -> Option<&'static Shipped> {
    [&EDGEMERE, &EDGELAKE].into_iter().find(|file| file.word == word)
}
