//! YAML to a tree. Keys that are there twice, tags, and anchors that would grow without end are
//! refused; anchors and `<<` work as everywhere.

use std::collections::HashMap;
use std::ops::Range;

use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, Span, StrInput, Tag};
use serde_json::{Number, Value};

use super::node::{Content, Key, Node};
use super::source::Source;
use crate::problem::Problem;

/// How long a file may be, in bytes.
pub(crate) const FILE_BYTES_MAX: usize = 1 << 20;

/// How deep lists and maps may be inside of each other.
const DEPTH_MAX: usize = 64;

/// How many nodes a document may have, with what anchors stand for.
const NODES_MAX: usize = 100_000;

/// The document of a file.
pub(crate) fn parse(source: &Source) -> Result<Node, Vec<Problem>> {
    if source.text.len() > FILE_BYTES_MAX {
        let message = format!("the file is longer than {FILE_BYTES_MAX} bytes");
        return Err(vec![source.problem(&(0..0), message)]);
    }
    let parser = Parser::new_from_str(&source.text);
    let mut loader =
        Loader { source, parser, anchors: HashMap::new(), nodes: 0, problems: Vec::new() };
    match loader.document() {
        Ok(node) if loader.problems.is_empty() => Ok(node),
        Ok(_) => Err(loader.problems),
        Err(problem) => {
            loader.problems.push(*problem);
            Err(loader.problems)
        }
    }
}

type Step<T> = Result<T, Box<Problem>>;

struct Loader<'a> {
    source: &'a Source,
    parser: Parser<'a, StrInput<'a>>,
    anchors: HashMap<usize, Node>,
    nodes: usize,
    /// What is wrong and does not keep from reading on.
    problems: Vec<Problem>,
}

impl<'a> Loader<'a> {
    fn document(&mut self) -> Step<Node> {
        let mut document = None;
        loop {
            let (event, span) = self.next()?;
            match event {
                Event::StreamEnd => break,
                Event::StreamStart | Event::DocumentStart(_) | Event::DocumentEnd => {}
                _ if document.is_some() => {
                    return Err(self.wrong(&span, "a file of tools is one document"));
                }
                event => document = Some(self.node(event, &span, 0)?),
            }
        }
        document.ok_or_else(|| self.wrong(&Span::default(), "the file is empty"))
    }

    fn next(&mut self) -> Step<(Event<'a>, Span)> {
        match self.parser.next_event() {
            Some(Ok(next)) => Ok(next),
            Some(Err(error)) => Err(self.not_yaml(&error)),
            None => Ok((Event::StreamEnd, Span::default())),
        }
    }

    fn node(&mut self, event: Event<'a>, span: &Span, depth: usize) -> Step<Node> {
        if depth > DEPTH_MAX {
            return Err(self.wrong(span, &format!("nested deeper than {DEPTH_MAX} levels")));
        }
        let (anchor, node) = match event {
            Event::Alias(anchor) => return self.alias(anchor, span),
            Event::Scalar(text, style, anchor, tag) => {
                let value = self.scalar(&text, style, tag.as_deref(), span);
                (anchor, self.made(Content::Scalar(value), range(span), 1, span)?)
            }
            Event::SequenceStart(anchor, tag) => {
                self.no_tag(tag.as_deref(), span);
                (anchor, self.list(span, depth)?)
            }
            Event::MappingStart(anchor, tag) => {
                self.no_tag(tag.as_deref(), span);
                (anchor, self.map(span, depth)?)
            }
            _ => return Err(self.wrong(span, "a value was expected here")),
        };
        if anchor > 0 {
            self.anchors.insert(anchor, node.clone());
        }
        Ok(node)
    }

    fn list(&mut self, start: &Span, depth: usize) -> Step<Node> {
        let mut nodes = Vec::new();
        loop {
            let (event, span) = self.next()?;
            if event == Event::SequenceEnd {
                let size = nodes.iter().map(|node: &Node| node.size).sum::<usize>() + 1;
                let range = range(start).start..range(&span).end;
                return self.made(Content::List(nodes), range, size, start);
            }
            nodes.push(self.node(event, &span, depth + 1)?);
        }
    }

    fn map(&mut self, start: &Span, depth: usize) -> Step<Node> {
        let mut entries: Vec<(Key, Node)> = Vec::new();
        let mut merged = Vec::new();
        loop {
            let (event, span) = self.next()?;
            if event == Event::MappingEnd {
                merge(&mut entries, merged);
                let size = entries.iter().map(|(_, node)| node.size).sum::<usize>() + 1;
                let range = range(start).start..range(&span).end;
                return self.made(Content::Map(entries), range, size, start);
            }
            let key = self.key(event, &span)?;
            let (event, span) = self.next()?;
            let node = self.node(event, &span, depth + 1)?;
            match key {
                None => self.merged(node, &mut merged),
                Some(key) => {
                    if let Some((first, _)) = entries.iter().find(|(k, _)| k.name == key.name) {
                        let line = self.source.place(&first.range).line;
                        let message = format!("the key \"{}\" is here twice", key.name);
                        let problem = self.source.problem(&key.range, message);
                        let hint = Some(format!("it is on line {line} too"));
                        self.problems.push(problem.with_hint(hint));
                    }
                    entries.push((key, node));
                }
            }
        }
    }

    /// A key; none is `<<`, which takes over the entries of another map.
    fn key(&mut self, event: Event<'a>, span: &Span) -> Step<Option<Key>> {
        match event {
            Event::Scalar(text, ScalarStyle::Plain, 0, None) if text == "<<" => Ok(None),
            Event::Scalar(text, _, _, tag) => {
                self.no_tag(tag.as_deref(), span);
                Ok(Some(Key { name: text.into_owned(), range: range(span) }))
            }
            _ => Err(self.wrong(span, "a key must be a word")),
        }
    }

    fn merged(&mut self, node: Node, merged: &mut Vec<(Key, Node)>) {
        match node.content {
            Content::Map(entries) => merged.extend(entries),
            Content::List(nodes) => nodes.into_iter().for_each(|node| self.merged(node, merged)),
            Content::Scalar(_) => {
                let message = "\"<<\" takes over a map: give it as \"*name\"".to_owned();
                self.problems.push(self.source.problem(&node.range, message));
            }
        }
    }

    fn alias(&mut self, anchor: usize, span: &Span) -> Step<Node> {
        let node = self.anchors.get(&anchor).cloned();
        let node = node.ok_or_else(|| self.wrong(span, "an anchor cannot be inside of itself"))?;
        self.count(node.size, span)?;
        Ok(node)
    }

    fn made(
        &mut self,
        content: Content,
        range: Range<usize>,
        size: usize,
        span: &Span,
    ) -> Step<Node> {
        self.count(1, span)?;
        Ok(Node { range, size, is_veiled: false, content })
    }

    fn count(&mut self, nodes: usize, span: &Span) -> Step<()> {
        self.nodes += nodes;
        match self.nodes > NODES_MAX {
            true => Err(self.wrong(span, &format!("the file has more than {NODES_MAX} values"))),
            false => Ok(()),
        }
    }

    fn scalar(&mut self, text: &str, style: ScalarStyle, tag: Option<&Tag>, span: &Span) -> Value {
        match tag {
            Some(tag) if tag.is_yaml_core_schema() && tag.suffix == "str" => text.into(),
            tag => {
                self.no_tag(tag, span);
                match style {
                    ScalarStyle::Plain => plain(text),
                    _ => text.into(),
                }
            }
        }
    }

    fn no_tag(&mut self, tag: Option<&Tag>, span: &Span) {
        if let Some(tag) = tag {
            let message = format!("the tag \"{tag}\" means nothing here");
            self.problems.push(self.source.problem(&range(span), message));
        }
    }

    fn wrong(&self, span: &Span, message: &str) -> Box<Problem> {
        Box::new(self.source.problem(&range(span), message.to_owned()))
    }

    fn not_yaml(&self, error: &ScanError) -> Box<Problem> {
        let at = error.marker().index();
        let problem = self.source.problem(&(at..at + 1), format!("not YAML: {}", error.info()));
        let hint = "a text with \": \", \" #\", \"{\" or \"[\" in it needs quotes around it";
        Box::new(problem.with_hint(Some(hint.to_owned())))
    }
}

/// What the map itself says goes before what it takes over, and the first taken over before others.
fn merge(entries: &mut Vec<(Key, Node)>, merged: Vec<(Key, Node)>) {
    for (key, node) in merged {
        if entries.iter().all(|(known, _)| known.name != key.name) {
            entries.push((key, node));
        }
    }
}

fn range(span: &Span) -> Range<usize> {
    span.start.index()..span.end.index().max(span.start.index())
}

/// A text without quotes as a value, by YAML's core schema.
fn plain(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => true.into(),
        "false" | "False" | "FALSE" => false.into(),
        _ => number(text).map_or_else(|| text.into(), Value::Number),
    }
}

fn number(text: &str) -> Option<Number> {
    let radix = |prefix: &str, radix: u32| {
        let digits = text.strip_prefix(prefix)?;
        u64::from_str_radix(digits, radix).ok().map(Number::from)
    };
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let is_number = digits.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        && digits.chars().any(|c| c.is_ascii_digit())
        && digits.chars().all(|c| c.is_ascii_digit() || ".eE+-".contains(c));
    let integer =
        || text.parse::<i64>().map(Number::from).or_else(|_| text.parse::<u64>().map(Number::from));
    radix("0x", 16).or_else(|| radix("0o", 8)).or_else(|| {
        let decimal = || text.parse::<f64>().ok().and_then(Number::from_f64);
        is_number.then(|| integer().ok().or_else(decimal)).flatten()
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(text: &str) -> Result<Value, Vec<String>> {
        let source = Source { name: "t".into(), text: text.into(), is_proven: false };
        let told = |problems: Vec<Problem>| {
            let told = problems.iter().map(|p| format!("{}:{} {}", p.line, p.column, p.message));
            told.collect()
        };
        parse(&source).map(|node| node.to_value()).map_err(told)
    }

    #[test]
    fn values_are_what_they_look_like() {
        let text = "a: 1\nb: -2.5\nc: yes\nd: true\ne: ~\nf: '1'\ng: 0x1F\nh: 1.2.3\ni: 1e3\nj: !!str 5\n\
                    k:\nl: 18446744073709551615\nm: .inf\nn: 2026-01-01\n";
        let expected = json!({
            "a": 1, "b": -2.5, "c": "yes", "d": true, "e": null, "f": "1", "g": 31, "h": "1.2.3",
            "i": 1000.0, "j": "5", "k": null, "l": u64::MAX, "m": ".inf", "n": "2026-01-01",
        });
        assert_eq!(read(text).unwrap(), expected);
    }

    #[test]
    fn anchors_and_merges_are_taken_over() {
        let text = "base: &b {type: string, x: 1}\none: *b\ntwo:\n  <<: *b\n  x: 2\n";
        let one = json!({"type": "string", "x": 1});
        assert_eq!(
            read(text).unwrap(),
            json!({"base": one, "one": one, "two": {"x": 2, "type": "string"}})
        );
    }

    #[test]
    fn all_double_keys_and_tags_are_told_with_their_places() {
        let told = read("a: 1\nb:\n  c: 1\n  c: 2\na: !thing 3\n").unwrap_err();
        assert_eq!(
            told,
            [
                "4:3 the key \"c\" is here twice",
                "5:4 the tag \"!thing\" means nothing here",
                "5:1 the key \"a\" is here twice",
            ]
        );
    }

    #[test]
    fn what_would_grow_without_end_is_refused() {
        let mut laughs = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
        for level in 1..12 {
            let list = vec![format!("*a{}", level - 1); 10].join(", ");
            laughs.push_str(&format!("a{level}: &a{level} [{list}]\n"));
        }
        assert!(read(&laughs).unwrap_err()[0].contains("more than 100000 values"));
        let deep = format!("{}{}", "[".repeat(100), "]".repeat(100));
        assert!(read(&deep).unwrap_err()[0].contains("deeper than 64"));
        assert!(read(&"x".repeat(FILE_BYTES_MAX + 1)).unwrap_err()[0].contains("longer than"));
        assert!(read("a: &a [*a]").unwrap_err()[0].contains("inside of itself"));
    }

    #[test]
    fn what_is_no_document_is_told() {
        assert!(read("").unwrap_err()[0].contains("empty"));
        assert!(read("a: 1\n---\nb: 2\n").unwrap_err()[0].contains("one document"));
        assert!(read("a: [1, 2\n").unwrap_err()[0].contains("not YAML"));
        assert!(read("a: {b}: c\n").is_err());
        assert!(read("? [a]\n: b\n").unwrap_err()[0].contains("a key must be a word"));
    }
}
