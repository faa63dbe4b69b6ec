//! Near names: what somebody probably meant by a word that nothing is called.

/// How many letters may differ, as a share of the word: one in three.
const LETTERS_PER_SLIP: usize = 3;

/// The candidate that is nearest to `word`, when it is near enough to be a slip of the same word.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase();
    let slips_max = (word.chars().count() / LETTERS_PER_SLIP).max(1);
    candidates
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(&word, &candidate.to_lowercase()), candidate))
        .filter(|(slips, _)| *slips <= slips_max)
        .min_by_key(|(slips, _)| *slips)
        .map(|(_, candidate)| candidate)
}

/// The hint that names the nearest candidate.
pub fn hint<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
    nearest(word, candidates).map(|name| format!("did you mean \"{name}\"?"))
}

/// How many names are listed.
const NAMES_MAX: usize = 20;

/// The hint that names the nearest candidate, and all that there are: `what` is what they are called.
pub fn hint_among<'a>(
    word: &str,
    what: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<String> {
    let mut all: Vec<_> = candidates.into_iter().collect();
    all.sort_unstable();
    all.dedup();
    let near = hint(word, all.iter().copied()).map(|near| near + " ").unwrap_or_default();
    let (count, listed) = (all.len(), all.get(..NAMES_MAX).unwrap_or(&all).join(", "));
    let more = match count.saturating_sub(NAMES_MAX) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    (count > 0).then(|| format!("{near}the {what} are {listed}{more}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_finds_its_word_and_nonsense_finds_none() {
        let names = ["get status", "get tables", "blockchain get"];
        assert_eq!(nearest("get statu", names), Some("get status"));
        assert_eq!(nearest("GET STAUTS", names), Some("get status"));
        assert_eq!(nearest("frobnicate", names), None);
    }

    #[test]
    fn what_there_is_is_listed_and_the_nearest_comes_first() {
        let among = |word| hint_among(word, "tables", ["pumps", "sites", "pumps"]);
        assert_eq!(among("pump").unwrap(), "did you mean \"pumps\"? the tables are pumps, sites");
        assert_eq!(among("x").unwrap(), "the tables are pumps, sites");
        assert_eq!(hint_among("x", "tables", []), None);
        let many: Vec<String> = (100..130).map(|n| n.to_string()).collect();
        let hint = hint_among("x", "numbers", many.iter().map(String::as_str)).unwrap();
        assert!(hint.ends_with("118, 119 and 10 more"), "{hint}");
    }
}
