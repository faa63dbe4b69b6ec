//! A YAML document as a tree that knows where each part of it stands in the text.

use std::ops::Range;

use serde_json::{Map, Value};

use super::source::Source;

/// A part of a document.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    /// Where it stands, in characters.
    pub(crate) range: Range<usize>,
    /// How many nodes it consists of.
    pub(crate) size: usize,
    /// Whether a value of the environment is in it, which nobody is shown.
    pub(crate) is_veiled: bool,
    pub(crate) content: Content,
}

/// What a part is.
#[derive(Clone, Debug)]
pub(crate) enum Content {
    /// A text, a number, true, false or nothing.
    Scalar(Value),
    List(Vec<Node>),
    Map(Vec<(Key, Node)>),
}

/// A key of a map.
#[derive(Clone, Debug)]
pub(crate) struct Key {
    pub(crate) name: String,
    pub(crate) range: Range<usize>,
}

impl Node {
    /// The document as JSON.
    pub(crate) fn to_value(&self) -> Value {
        match &self.content {
            Content::Scalar(value) => value.clone(),
            Content::List(nodes) => nodes.iter().map(Self::to_value).collect(),
            Content::Map(entries) => {
                let entries = entries.iter().map(|(key, node)| (key.name.clone(), node.to_value()));
                Value::Object(entries.collect::<Map<_, _>>())
            }
        }
    }

    /// The node that a JSON pointer leads to, or the last one on the way to it.
    pub(crate) fn at(&self, pointer: &str) -> &Self {
        let mut node = self;
        for segment in segments(pointer) {
            match node.child(&segment) {
                Some((_, child)) => node = child,
                None => break,
            }
        }
        node
    }

    /// Where to point for a JSON pointer: at a scalar itself, at anything larger by its key.
    pub(crate) fn range_at(&self, pointer: &str) -> Range<usize> {
        let (mut node, mut range) = (self, self.range.clone());
        for segment in segments(pointer) {
            let Some((key, child)) = node.child(&segment) else { break };
            range = match (&child.content, key) {
                (Content::List(_) | Content::Map(_), Some(key)) => key.range.clone(),
                _ => child.range.clone(),
            };
            node = child;
        }
        range
    }

    /// Where a key of the map stands that a JSON pointer leads to.
    pub(crate) fn key_range_at(&self, pointer: &str, name: &str) -> Range<usize> {
        let key = self.at(pointer).child(name).and_then(|(key, _)| key);
        key.map_or_else(|| self.range_at(pointer), |key| key.range.clone())
    }

    fn child(&self, segment: &str) -> Option<(Option<&Key>, &Self)> {
        match &self.content {
            Content::Scalar(_) => None,
            Content::List(nodes) => {
                nodes.get(segment.parse::<usize>().ok()?).map(|node| (None, node))
            }
            Content::Map(entries) => {
                let entry = entries.iter().find(|(key, _)| key.name == segment);
                entry.map(|(key, node)| (Some(key), node))
            }
        }
    }
}

/// The keys of a JSON pointer.
fn segments(pointer: &str) -> impl Iterator<Item = String> {
    pointer.split('/').skip(1).map(|segment| segment.replace("~1", "/").replace("~0", "~"))
}

/// A key as it stands in a JSON pointer.
pub(crate) fn escape(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

impl Node {
    /// Where a part of a text stands, which is given in bytes of the text as it is read. What
    /// escapes hide is not found.
    pub(crate) fn part(&self, source: &Source, part: &Range<usize>) -> Option<Range<usize>> {
        let Content::Scalar(Value::String(text)) = &self.content else { return None };
        let written = source.part(&self.range);
        let wanted = text.get(part.clone())?.lines().next().filter(|wanted| !wanted.is_empty());
        let Some(wanted) = wanted else {
            let end = self.range.end.max(self.range.start + 1);
            return Some(end - 1..end);
        };
        let nth = text.get(..part.start)?.matches(wanted).count();
        let (at, _) = written.match_indices(wanted).nth(nth)?;
        let start = self.range.start + written.get(..at)?.chars().count();
        Some(start..start + wanted.chars().count())
    }
}
