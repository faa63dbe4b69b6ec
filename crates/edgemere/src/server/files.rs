//! How many of the files that the process may have open can be connections. The rest is for the rows:
//! strangers who connect again and again must not keep a node from its own data.

/// Where Linux says how many files there may be.
const LIMITS: &str = "/proc/self/limits";

/// How many connections a port may have: so many, and at most one in `share` of all files.
pub(super) fn connections_max(wanted: usize, share: usize) -> usize {
    let limits = std::fs::read_to_string(LIMITS).unwrap_or_default();
    within(files_max(&limits), wanted, share)
}

fn within(files: Option<usize>, wanted: usize, share: usize) -> usize {
    files.map_or(wanted, |files| wanted.min(files / share))
}

/// The first of the two numbers, which is the one that counts.
fn files_max(limits: &str) -> Option<usize> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_files_is_read_where_it_is_told() {
        let limits = "Limit            Soft Limit  Hard Limit  Units\n\
                      Max processes    10          20          processes\n\
                      Max open files   1024        524288      files\n";
        assert_eq!(files_max(limits), Some(1024));
        assert_eq!(files_max("Max open files   unlimited   unlimited   files\n"), None);
        assert_eq!(files_max(""), None);
    }

    #[test]
    fn a_port_has_no_more_than_its_share() {
        assert_eq!(within(Some(1024), 10_000, 2), 512);
        assert_eq!(within(Some(1 << 20), 10_000, 2), 10_000);
        assert_eq!(within(None, 10_000, 2), 10_000);
    }
}
