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
}
