//! Ranges of bytes (RFC 9110, section 14): which part of an answer a request wants.

use axum::http::{HeaderMap, header};

/// The part that a request wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// All of it.
    Whole,
    /// The bytes from the first to the last, both within it.
    Part(usize, usize),
    /// Bytes that are not there.
    Nothing,
}

/// Whether a request asks for a part.
pub(super) fn is_asked(headers: &HeaderMap) -> bool {
    headers.contains_key(header::RANGE)
}

/// The part of an answer of so many bytes and with an ETag. A range that is not understood, several
/// ranges, and the range of another answer all mean the whole.
pub(super) fn wanted(headers: &HeaderMap, length: usize, etag: &str) -> Wanted {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    if text(header::IF_RANGE).is_some_and(|tag| tag.trim() != etag) {
        return Wanted::Whole;
    }
    let range = text(header::RANGE).and_then(|range| range.trim().strip_prefix("bytes="));
    let Some((first, last)) = range.and_then(|range| range.trim().split_once('-')) else {
        return Wanted::Whole;
    };
    let number = |text: &str| text.trim().parse::<usize>().ok();
    let (first, last) = match (first.trim(), last.trim()) {
        ("", count) => match number(count) {
            Some(0) => return Wanted::Nothing,
            Some(count) => (length.saturating_sub(count), length.saturating_sub(1)),
            None => return Wanted::Whole,
        },
        (first, "") => match number(first) {
            Some(first) => (first, length.saturating_sub(1)),
            None => return Wanted::Whole,
        },
        (first, last) => match (number(first), number(last)) {
            (Some(first), Some(last)) if first <= last => {
                (first, last.min(length.saturating_sub(1)))
            }
            _ => return Wanted::Whole,
        },
    };
    match first < length {
        true => Wanted::Part(first, last),
        false => Wanted::Nothing,
    }
}

/// Whether a request is about another answer than the one with this ETag.
pub(super) fn is_of_another(headers: &HeaderMap, etag: &str) -> bool {
    let tags = headers.get(header::IF_MATCH).and_then(|value| value.to_str().ok());
    tags.is_some_and(|tags| {
        !tags.split(',').any(|tag| matches!(tag.trim(), t if t == "*" || t == etag))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(range: &str, length: usize) -> Wanted {
        let mut headers = HeaderMap::new();
        headers.insert(header::RANGE, range.parse().unwrap());
        wanted(&headers, length, "\"e\"")
    }

    #[test]
    fn a_range_is_a_part_all_or_nothing() {
        for (range, length, expected) in [
            ("bytes=0-0", 10, Wanted::Part(0, 0)),
            ("bytes=0-", 10, Wanted::Part(0, 9)),
            ("bytes=3-5", 10, Wanted::Part(3, 5)),
            ("bytes=3-99", 10, Wanted::Part(3, 9)),
            ("bytes=-4", 10, Wanted::Part(6, 9)),
            ("bytes=-99", 10, Wanted::Part(0, 9)),
            ("bytes=-0", 10, Wanted::Nothing),
            ("bytes=10-", 10, Wanted::Nothing),
            ("bytes=10-12", 10, Wanted::Nothing),
            ("bytes=0-", 0, Wanted::Nothing),
            ("bytes=5-3", 10, Wanted::Whole),
            ("bytes=0-1,4-5", 10, Wanted::Whole),
            ("bytes=-", 10, Wanted::Whole),
            ("bytes=a-b", 10, Wanted::Whole),
            ("rows=0-1", 10, Wanted::Whole),
            ("bytes=99999999999999999999999-", 10, Wanted::Whole),
        ] {
            assert_eq!(of(range, length), expected, "{range} of {length}");
        }
    }

    #[test]
    fn conditions_tell_answers_apart() {
        let headers = |name, tag: &str| {
            let pairs =
                [(header::RANGE, "bytes=1-2".parse().unwrap()), (name, tag.parse().unwrap())];
            HeaderMap::from_iter(pairs)
        };
        let same = headers(header::IF_RANGE, "\"e\"");
        assert_eq!(wanted(&same, 9, "\"e\""), Wanted::Part(1, 2));
        assert_eq!(wanted(&same, 9, "\"f\""), Wanted::Whole);
        assert!(is_of_another(&headers(header::IF_MATCH, "\"a\", \"b\""), "\"e\""));
        for tags in ["\"a\", \"e\"", "*"] {
            assert!(!is_of_another(&headers(header::IF_MATCH, tags), "\"e\""), "{tags}");
        }
    }
}
