//! What is wrong with a file of tools, painted: the words are the problem's own.

use edgemere_tools::Problem;

use super::{BOLD, DIM, RED, paint, reply};

/// The problem as it tells itself, with its place bold, what is wrong and the carets red, and the next
/// step dim.
pub(super) fn paint_problem(problem: &Problem) -> String {
    let plain = reply::printable(&problem.to_string());
    let message = reply::printable(&problem.message);
    let mut lines = plain.lines();
    let first = lines.next().unwrap_or_default();
    let place = first.strip_suffix(message.lines().next().unwrap_or_default()).unwrap_or_default();
    let mut painted = match place.is_empty() {
        true => paint(RED, first),
        false => {
            let wrong = first.get(place.len()..).unwrap_or_default();
            format!("{}{}", paint(BOLD, place), paint(RED, wrong))
        }
    };
    for line in lines {
        let is_carets = line.contains('^') && line.trim_matches(['^', ' ', '|', '\t']).is_empty();
        painted.push('\n');
        match line.trim_start().starts_with("hint:") {
            true => painted.push_str(&paint(DIM, line)),
            false if is_carets => painted.push_str(&paint(RED, line)),
            false => painted.push_str(line),
        }
    }
    painted.push('\n');
    painted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn painting_changes_no_word() {
        let problem = Problem {
            file: "tools.yaml".into(),
            line: 3,
            column: 5,
            length: 4,
            message: "unknown key \"nmae\"".into(),
            hint: Some("did you mean \"name\"?".into()),
            source: "  - nmae: x".into(),
        };
        let painted = paint_problem(&problem);
        let plain = anstream::adapter::strip_str(&painted).to_string();
        assert_eq!(plain, format!("{problem}\n"));
        assert!(painted.contains(&paint(BOLD, "tools.yaml:3:5: ")), "{painted}");
    }
}
