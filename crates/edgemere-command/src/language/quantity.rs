//! Quantities as people write them: `30 days`, `12h`, `10 GB`.

use std::time::Duration;

/// Units of time, in seconds. A month is 30 days, a year 365.
const TIMES: [(&[&str], u64); 7] = [
    (&["s", "sec", "second"], 1),
    (&["m", "min", "minute"], 60),
    (&["h", "hour"], 3600),
    (&["d", "day"], 86_400),
    (&["w", "week"], 7 * 86_400),
    (&["month"], 30 * 86_400),
    (&["y", "year"], 365 * 86_400),
];

/// Units of size, in bytes.
const SIZES: [(&[&str], u64); 9] = [
    (&["", "b", "byte"], 1),
    (&["kb"], 1_000),
    (&["mb"], 1_000_000),
    (&["gb"], 1_000_000_000),
    (&["tb"], 1_000_000_000_000),
    (&["kib"], 1 << 10),
    (&["mib"], 1 << 20),
    (&["gib"], 1 << 30),
    (&["tib"], 1 << 40),
];

/// A time, of at least a second.
pub(crate) fn time(text: &str) -> Option<Duration> {
    let seconds = parse(text, &TIMES)?;
    (seconds > 0).then(|| Duration::from_secs(seconds))
}

/// A number of bytes.
pub(crate) fn bytes(text: &str) -> Option<u64> {
    parse(text, &SIZES)
}

/// A time in the largest unit that it is a whole number of.
pub(crate) fn time_text(time: Duration) -> String {
    let seconds = time.as_secs();
    // Nobody counts by weeks, and not all months and years have so many days.
    let fits = |(_, unit): &&(&[&str], u64)| *unit <= 86_400 && seconds.is_multiple_of(*unit);
    let unit = TIMES.iter().filter(fits).max_by_key(|(_, unit)| *unit);
    let (names, unit) = unit.copied().unwrap_or((&["second"], 1));
    let (count, name) = (seconds / unit, names.last().copied().unwrap_or_default());
    format!("{count} {name}{}", if count == 1 { "" } else { "s" })
}

/// A number of bytes in the largest unit that it is a whole number of.
pub(crate) fn bytes_text(bytes: u64) -> String {
    let fits = |(_, unit): &&(&[&str], u64)| bytes > 0 && bytes.is_multiple_of(*unit);
    let unit = SIZES.iter().filter(fits).max_by_key(|(_, unit)| *unit);
    let (names, unit) = unit.copied().unwrap_or((&["b"], 1));
    let name = match names.first().copied().unwrap_or_default() {
        "" | "b" => "B".to_owned(),
        name => name.to_uppercase().replace('I', "i"),
    };
    format!("{} {name}", bytes / unit)
}

fn parse(text: &str, units: &[(&[&str], u64)]) -> Option<u64> {
    let text = text.trim().to_lowercase();
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, name) = text.split_at_checked(end)?;
    let name = name.trim();
    let is_unit = |known: &&str| *known == name || name.strip_suffix('s') == Some(known);
    let (_, unit) = units.iter().find(|(names, _)| names.iter().any(&is_unit))?;
    number.parse::<u64>().ok()?.checked_mul(*unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_in_all_units() {
        let seconds = |text| time(text).map(|time| time.as_secs());
        assert_eq!(seconds("30 days"), Some(30 * 86_400));
        assert_eq!(seconds("1 Day"), Some(86_400));
        assert_eq!(seconds("12h"), Some(12 * 3600));
        assert_eq!(seconds("2 weeks"), Some(14 * 86_400));
        assert_eq!(seconds("90s"), Some(90));
        assert_eq!(seconds("1 month"), Some(30 * 86_400));
        for text in ["", "30", "days", "0 days", "-1 day", "1.5 days", "99999999999999999999 s"] {
            assert_eq!(time(text), None, "{text}");
        }
        assert_eq!(time("999999999999999999 years"), None);
    }

    #[test]
    fn sizes_are_read_in_all_units() {
        assert_eq!(bytes("10 GB"), Some(10_000_000_000));
        assert_eq!(bytes("1GiB"), Some(1 << 30));
        assert_eq!(bytes("500"), Some(500));
        assert_eq!(bytes("3 bytes"), Some(3));
        assert_eq!(bytes("0"), Some(0));
        for text in ["", "GB", "1 XB", "-1", "99999999999999999999", "99999999999 TB"] {
            assert_eq!(bytes(text), None, "{text}");
        }
    }

    #[test]
    fn what_is_written_is_read_back() {
        for text in ["30 seconds", "1 minute", "12 hours", "30 days", "2 weeks"] {
            let read = time(text).unwrap();
            assert_eq!(time(&time_text(read)), Some(read));
        }
        assert_eq!(time_text(Duration::from_secs(90 * 60)), "90 minutes");
        assert_eq!(time_text(Duration::from_secs(30 * 86_400)), "30 days");
        for (size, text) in
            [(10_000_000_000, "10 GB"), (1 << 30, "1 GiB"), (1500, "1500 B"), (0, "0 B")]
        {
            assert_eq!(bytes_text(size), text);
            assert_eq!(bytes(text), Some(size));
        }
    }
}
