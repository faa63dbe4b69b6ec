//! Tables of what the program itself found, in the looks of a node's tables.

/// A table: the names, a rule, and a line for each row. Columns of numbers are flush right.
pub(super) fn table(columns: &[String], rows: &[Vec<String>]) -> String {
    let widths: Vec<_> = (0..columns.len()).map(|at| width(columns, rows, at)).collect();
    let numbers: Vec<_> = (0..columns.len()).map(|at| is_numbers(rows, at)).collect();
    let mut text = String::new();
    for (name, width) in columns.iter().zip(&widths) {
        text.push_str(&format!("{:width$} ", flat(name)));
    }
    text.push('\n');
    for width in &widths {
        text.push_str(&format!("{}|", "-".repeat(*width)));
    }
    for row in rows {
        text.push('\n');
        for ((cell, width), is_number) in row.iter().zip(&widths).zip(&numbers) {
            match is_number {
                true => text.push_str(&format!("{:>width$}|", flat(cell))),
                false => text.push_str(&format!("{:width$}|", flat(cell))),
            }
        }
    }
    text
}

/// A cell on one line.
fn flat(cell: &str) -> String {
    cell.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

fn width(columns: &[String], rows: &[Vec<String>], at: usize) -> usize {
    let name = columns.get(at);
    let cells = rows.iter().filter_map(|row| row.get(at));
    name.into_iter().chain(cells).map(|cell| cell.chars().count()).max().unwrap_or(0)
}

fn is_numbers(rows: &[Vec<String>], at: usize) -> bool {
    let mut cells = rows.iter().filter_map(|row| row.get(at)).filter(|cell| !cell.is_empty());
    let mut any = false;
    let all = cells.all(|cell| {
        any = true;
        cell.parse::<f64>().is_ok()
    });
    any && all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts<const N: usize>(texts: [&str; N]) -> Vec<String> {
        texts.map(ToOwned::to_owned).to_vec()
    }

    #[test]
    fn columns_are_as_wide_as_they_need_and_numbers_flush_right() {
        let rows = [texts(["é", "1"]), texts(["ab\nc", ""]), texts(["x", "12.5"])];
        let shown = table(&texts(["Name", "N"]), &rows);
        assert_eq!(shown, "Name N    \n----|----|\né   |   1|\nab c|    |\nx   |12.5|");
        assert_eq!(table(&texts(["A"]), &[]), "A \n-|");
    }
}
