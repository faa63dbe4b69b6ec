//! Variables of the environment that are almost those of keys: nobody reads them, though they look as if they were meant for us.

use super::keys;

/// What the variables begin with.
const PREFIX: &str = "EDGEMERE_";

/// How near a variable must be to be meant.
const NEAR_MIN: f64 = 0.9;

/// Variables that are no keys.
const OTHERS: [&str; 3] =
    ["EDGEMERE_CONFIG", crate::client::ACCESS_VARIABLE, "EDGEMERE_IMPORT_FOLDER"];

/// The variables that are almost one of ours, and which one each is likely to be.
pub(crate) fn misspelt(names: impl Iterator<Item = String>) -> Vec<(String, &'static str)> {
    let known = || keys::ALL.into_iter().map(|key| key.variable).chain(OTHERS);
    let near = |name: String| {
        let own = name.strip_prefix(PREFIX)?;
        if known().any(|known| known == name) {
            return None;
        }
        let likeness = |known: &str| Some(strsim::jaro_winkler(own, known.strip_prefix(PREFIX)?));
        let near = known()
            .filter_map(|known| likeness(known).map(|likeness| (likeness, known)))
            .filter(|(likeness, _)| *likeness >= NEAR_MIN)
            .max_by(|(a, _), (b, _)| a.total_cmp(b))?;
        Some((name, near.1))
    };
    names.filter_map(near).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_almost_a_key_is_told() {
        let names = [
            "EDGEMERE_QUERY_TIM",
            "EDGEMERE_QUERY_TIME",
            "EDGEMERE_CONFIG",
            "EDGEMERE_NETWROK",
            // What Kubernetes sets for a service of that name.
            "EDGEMERE_SERVICE_HOST",
            "EDGEMERE_PORT_32349_TCP_ADDR",
            "PATH",
        ];
        let found = misspelt(names.map(String::from).into_iter());
        let expected = [
            ("EDGEMERE_QUERY_TIM".to_owned(), "EDGEMERE_QUERY_TIME"),
            ("EDGEMERE_NETWROK".to_owned(), "EDGEMERE_NETWORK"),
        ];
        assert_eq!(found, expected);
    }
}
