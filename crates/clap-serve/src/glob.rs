//! Names like a pattern, in which `*` is any text and `?` one character: for commands and for files.

/// Whether a name is like a pattern.
///
/// The last `*` takes as little as it can, and one character more whenever the rest does not fit. No
/// earlier one needs to take more, so the time is at most the product of both lengths.
pub(crate) fn fits(pattern: &str, name: &str) -> bool {
    let (mut rest, mut left) = (pattern.chars(), name.chars());
    // What follows the last `*`, and where what it takes ends.
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
