//! Patterns that are looked for in texts, with a search that can be stopped inside one text.
//!
//! How long a search takes goes by the length of the text times the states of the pattern, which a few
//! letters can make many of: `(.{60}){60}`. While that product is small the search is one call of the
//! regex library. Else the text is gone through byte by byte, and the query is asked in between whether
//! it is to stop.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use datafusion::common::{Result, exec_datafusion_err, exec_err};
use datafusion::error::DataFusionError;
use regex_automata::Input;
use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::meta::{self, Regex};
use regex_automata::nfa::thompson::{Compiler, Config, NFA, WhichCaptures};
use regex_automata::util::syntax;

use crate::sql::bounds::function::BLOCK_COST;
use crate::sql::bounds::meter;

/// How large a compiled pattern may be, in bytes: as much as the regex library allows.
const COMPILED_BYTES_MAX: usize = 10 << 20;

/// How much is done, of a search byte by byte, before the query is asked whether it is to stop: every byte
/// may make a state that was not there before.
const STEP_COST: usize = BLOCK_COST / 20;

/// How many compiled patterns are kept for the next batch, and how large each may be.
const KEPT_MAX: usize = 16;
const KEPT_BYTES_MAX: usize = 256 << 10;

/// What a pattern is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Syntax {
    /// A regular expression.
    Regex,
    /// `%` for any text and `_` for any letter.
    Like,
}

/// A pattern that is ready to be looked for.
#[derive(Debug)]
pub(super) struct Pattern {
    regex: Regex,
    nfa: NFA,
    /// Made when a text is too long for the other one; none when this kind of pattern cannot be.
    without_filter_pushdown: OnceLock<Option<DFA>>,
}

/// Patterns that were compiled before.
#[derive(Debug)]
struct Kept {
    text: String,
    key: (Syntax, bool),
    pattern: Arc<Pattern>,
}

static KEPT: Mutex<VecDeque<Kept>> = Mutex::new(VecDeque::new());

impl Pattern {
    /// A pattern, compiled now or not long ago.
    pub(super) fn of(text: &str, syntax: Syntax, ignores_case: bool) -> Result<Arc<Self>> {
        let key = (syntax, ignores_case);
        let kept = || KEPT.lock().unwrap_or_else(PoisonError::into_inner);
        let found = {
            let kept = kept();
            let mut same = kept.iter().filter(|one| one.key == key && one.text == text);
            same.next().map(|one| Arc::clone(&one.pattern))
        };
        if let Some(pattern) = found {
            return Ok(pattern);
        }
        let pattern = Arc::new(match syntax {
            Syntax::Regex => Self::compile(text, ignores_case, false)?,
            Syntax::Like => Self::compile(&regex_of_like(text), ignores_case, true)?,
        });
        if pattern.bytes() <= KEPT_BYTES_MAX {
            let mut kept = kept();
            kept.push_front(Kept { text: text.to_owned(), key, pattern: Arc::clone(&pattern) });
            kept.truncate(KEPT_MAX);
        }
        Ok(pattern)
    }

    fn compile(text: &str, ignores_case: bool, any_line: bool) -> Result<Self> {
        let wrong = |error: &dyn std::fmt::Display| {
            let start: String = text.chars().take(80).collect();
            // The message is that of every invalid regular expression.
            DataFusionError::External(format!("\"{start}\" is no regex: {error}").into())
        };
        let syntax =
            syntax::Config::new().case_insensitive(ignores_case).dot_matches_new_line(any_line);
        let hir = syntax::parse_with(text, &syntax).map_err(|error| wrong(&error))?;
        let limit = Config::new()
            .nfa_size_limit(Some(COMPILED_BYTES_MAX))
            .which_captures(WhichCaptures::None);
        let mut compiler = Compiler::new();
        let nfa = compiler.configure(limit).build_from_hir(&hir).map_err(|error| wrong(&error))?;
        let limit = meta::Config::new()
            .nfa_size_limit(Some(COMPILED_BYTES_MAX))
            .which_captures(WhichCaptures::Implicit);
        let regex = Regex::builder().configure(limit).build_from_hir(&hir);
        let regex = regex.map_err(|error| wrong(&error))?;
        Ok(Self { regex, nfa, without_filter_pushdown: OnceLock::new() })
    }

    fn bytes(&self) -> usize {
        self.regex.memory_usage().saturating_add(self.nfa.memory_usage())
    }

    /// How long a search in a text of so many bytes takes at most.
    pub(super) fn cost(&self, bytes: usize) -> usize {
        self.nfa.states().len().saturating_mul(bytes.saturating_add(1))
    }

    /// Whether it is found in a text. Fails when the query is to stop.
    pub(super) fn is_in(&self, text: &str) -> Result<bool> {
        if self.cost(text.len()) <= BLOCK_COST {
            return Ok(self.regex.is_match(text));
        }
        match self.without_filter_pushdown.get_or_init(|| without_filter_pushdown(&self.nfa)) {
            Some(dfa) => self.is_found(dfa, text),
            None => too_long(text),
        }
    }

    /// The same byte by byte.
    fn is_found(&self, dfa: &DFA, text: &str) -> Result<bool> {
        let failed = |error: &dyn std::fmt::Display| exec_datafusion_err!("{error}");
        let mut cache: Cache = dfa.create_cache();
        let begin = dfa.start_state_forward(&mut cache, &Input::new(text));
        let mut state = begin.map_err(|error| failed(&error))?;
        let bytes_at_once = (STEP_COST / self.nfa.states().len().max(1)).max(1);
        for bytes in text.as_bytes().chunks(bytes_at_once) {
            meter::check_stop()?;
            for byte in bytes {
                let next = dfa.next_state(&mut cache, state, *byte);
                state = next.map_err(|error| failed(&error))?;
                if !state.is_tagged() {
                    continue;
                }
                match (state.is_match(), state.is_dead(), state.is_quit()) {
                    (true, ..) => return Ok(true),
                    (_, true, _) => return Ok(false),
                    (_, _, true) => return too_long(text),
                    _ => {}
                }
            }
        }
        let end = dfa.next_eoi_state(&mut cache, state).map_err(|error| failed(&error))?;
        Ok(end.is_match())
    }
}

/// The states are made as they are come to. What asks for words of other alphabets than ours is
/// beyond it.
fn without_filter_pushdown(nfa: &NFA) -> Option<DFA> {
    let config = DFA::config().skip_cache_capacity_check(true).unicode_word_boundary(true);
    DFA::builder().configure(config).build_from_nfa(nfa.clone()).ok()
}

fn too_long<T>(text: &str) -> Result<T> {
    exec_err!(
        "a text of {} bytes is too long for a pattern with a word boundary; \
         write (?-u:\\b) for \\b, or a simpler pattern",
        text.len()
    )
}

/// The regular expression of a LIKE pattern. A backslash takes the next letter as it is.
fn regex_of_like(pattern: &str) -> String {
    let mut regex = String::with_capacity(pattern.len() * 2);
    let mut letters = pattern.chars().peekable();
    match letters.peek() {
        // What begins anywhere needs no beginning.
        Some('%') => _ = letters.next(),
        _ => regex.push('^'),
    }
    let mut ends_anywhere = false;
    while let Some(letter) = letters.next() {
        ends_anywhere = letter == '%';
        match letter {
            '%' if letters.peek().is_none() => {}
            '%' => regex.push_str(".*"),
            '_' => regex.push('.'),
            '\\' => push_escaped(&mut regex, letters.next().unwrap_or('\\')),
            letter => push_escaped(&mut regex, letter),
        }
    }
    if !ends_anywhere && pattern != "%" {
        regex.push('$');
    }
    regex
}

fn push_escaped(regex: &mut String, letter: char) {
    // A backslash before these two has a meaning of its own.
    if letter.is_ascii_punctuation() && !matches!(letter, '<' | '>') {
        regex.push('\\');
    }
    regex.push(letter);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::bounds::meter::Meter;

    /// Makes a state for every text of 900 letters: none of them is come to twice.
    const HARD: &str = "(a|b)*a(a|b){900}c";

    fn regex(text: &str) -> Arc<Pattern> {
        Pattern::of(text, Syntax::Regex, false).unwrap()
    }

    #[test]
    fn a_search_in_one_text_asks_again_and_again_whether_it_is_to_stop() {
        let (pattern, text) = (regex(HARD), "ab".repeat(300_000));
        let times = pattern.cost(text.len()) / STEP_COST;
        assert!(times > 3, "{times}");
        let meter = Meter::stopping_at(3);
        let _entered = meter.enter();
        assert!(pattern.is_in(&text).is_err());
        assert_eq!(meter.checks(), 3, "it goes on after it was to stop");
    }

    #[test]
    fn a_long_text_is_searched_as_a_short_one() {
        for (text, expected) in [
            (HARD, false),
            ("x$", false),
            ("b$", true),
            ("^b", false),
            ("^a.*(ba){50}b$", true),
            ("(?-u:\\bab)", true),
            ("a{2}", false),
        ] {
            let (pattern, long) = (regex(text), "ab".repeat(3_000));
            let dfa = without_filter_pushdown(&pattern.nfa).unwrap();
            assert_eq!(pattern.is_found(&dfa, &long).unwrap(), expected, "{text}");
            assert_eq!(pattern.is_in(&long).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn what_cannot_be_searched_for_is_told() {
        let error = Pattern::of("(", Syntax::Regex, false).unwrap_err();
        assert!(error.to_string().contains("\"(\" is no regex"), "{error}");
        let error = Pattern::of("((a{999}){999}){999}", Syntax::Regex, false).unwrap_err();
        assert!(error.to_string().contains("is no regex"), "{error}");
        // Words of other alphabets are beyond a search that can be stopped.
        let (pattern, text) = (regex("\\b(\\w{9}){20}x"), "ä".repeat(100_000));
        assert!(pattern.is_in(&text).unwrap_err().to_string().contains("word boundary"));
    }
}
