//! Glob matching for names of commands and files: `*` is any text, `?` one character.

/// Whether a name matches a pattern.
///
/// The last `*` matches as little as possible, and one character more whenever the rest does not match. No
/// earlier `*` needs to match more, so the time is at most the product of both lengths.
pub(crate) fn fits(pattern: &str, name: &str) -> bool {
    let (mut rest, mut left) = (pattern.chars(), name.chars());
    // The positions after the last `*`, and after what it matches.
    let mut star = None;
    loop {
        let wanted = rest.next();
        if wanted == Some('*') {
            star = Some((rest.clone(), left.clone()));
            continue;
        }
        match (wanted, left.next()) {
            (None, None) => return true,
            (Some(wanted), Some(next)) if wanted == '?' || wanted == next => {}
            _ => {
                let Some((after, taken)) = &mut star else { return false };
                if taken.next().is_none() {
                    return false;
                }
                (rest, left) = (after.clone(), taken.clone());
            }
        }
    }
}
