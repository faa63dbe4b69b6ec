//! Reads numbers from their own text, exactly where they are whole.
//!
//! A number here is a sign, digits, a fraction and an exponent. Hexadecimal digits and separators are
//! text. A column of floats also takes what is no number, `NaN`, and the infinities.

/// The digits that a whole number may have at most: those of `numeric(38,0)`.
pub(super) const DIGITS_MAX: usize = 38;

const NOT_A_NUMBER: &str = "not a number";
const TOO_FINE: &str = "has more digits after the point than its column";
const TOO_LONG: &str = "has more digits than its column";

/// A whole number of 64 bits. `5.0` and `5e3` are whole.
pub(super) fn int(text: &str) -> Result<i64, &'static str> {
    match small(text) {
        Some(number) => Ok(number),
        None => huge(text)?.try_into().map_err(|_| "too large for 64 bits"),
    }
}

/// A whole number of up to 38 digits.
pub(super) fn huge(text: &str) -> Result<i128, &'static str> {
    if let Some(number) = small(text) {
        return Ok(number.into());
    }
    let parts = Parts::of(text).ok_or(NOT_A_NUMBER)?;
    let digits = parts.whole_digits().ok_or("not a whole number")?;
    let digits = digits.ok_or("has more than 38 digits")?;
    Ok(if parts.negative { -digits } else { digits })
}

/// A whole number of so many digits.
pub(super) fn whole(text: &str, digits: u8) -> Result<i128, &'static str> {
    let number = huge(text)?;
    let end = 10_i128.checked_pow(digits.into()).unwrap_or(i128::MAX);
    if (1 - end..end).contains(&number) { Ok(number) } else { Err(TOO_LONG) }
}

/// A number of so many digits, of which some stand after the point, without the point.
pub(super) fn numeric(text: &str, digits: u8, scale: u8) -> Result<i128, &'static str> {
    let parts = Parts::of(text).ok_or(NOT_A_NUMBER)?;
    let number = parts.scaled(scale).ok_or(TOO_FINE)?.ok_or(TOO_LONG)?;
    let end = 10_i128.checked_pow(digits.into()).unwrap_or(i128::MAX);
    match number < end {
        true => Ok(if parts.negative { -number } else { number }),
        false => Err(TOO_LONG),
    }
}

/// Whether a text is a number, of any size, or stands in the place of one.
pub(super) fn is_number(text: &str) -> bool {
    Parts::of(text).is_some() || special(text).is_some()
}

/// A number with a fraction, as near as 64 bits come. A whole number must not lose digits.
pub(super) fn float(text: &str) -> Result<f64, &'static str> {
    // A short text without an exponent is exact enough to need no further look.
    const SURELY_EXACT: usize = 15;
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if !digits.starts_with(|first: char| first.is_ascii_digit() || first == '.') {
        return special(text).ok_or(NOT_A_NUMBER);
    }
    let number: f64 = text.parse().map_err(|_| NOT_A_NUMBER)?;
    if text.len() <= SURELY_EXACT && number.is_finite() {
        return Ok(number);
    }
    if digits.bytes().all(|byte| byte.is_ascii_digit()) && !huge(text).is_ok_and(is_exact) {
        return Err("has too many digits for a decimal");
    }
    if number.is_finite() { Ok(number) } else { Err("too large for a decimal") }
}

/// A float that is no number, or infinite: `NaN`, `inf`, `Infinity`, in any case.
pub(super) fn special(text: &str) -> Option<f64> {
    let (sign, name) = match text.strip_prefix('-') {
        Some(name) => (-1.0, name),
        None => (1.0, text.strip_prefix('+').unwrap_or(text)),
    };
    let is = |other: &str| name.eq_ignore_ascii_case(other);
    match is("nan") {
        true => (name.len() == text.len()).then_some(f64::NAN),
        false => (is("inf") || is("infinity")).then_some(sign * f64::INFINITY),
    }
}

/// Whether a whole number is the same as a float.
#[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "is asked here")]
pub(super) fn is_exact(number: i128) -> bool {
    number as f64 as i128 == number
}

/// A whole number that is written with at most 18 digits and nothing else, as most are.
fn small(text: &str) -> Option<i64> {
    const DIGITS: usize = 18;
    let digits = text.strip_prefix('-').unwrap_or(text);
    if digits.is_empty() || digits.len() > DIGITS {
        return None;
    }
    let mut number = 0;
    for byte in digits.bytes() {
        if !byte.is_ascii_digit() {
            return None;
        }
        number = number * 10 + i64::from(byte - b'0');
    }
    Some(if digits.len() < text.len() { -number } else { number })
}

/// A number taken apart.
struct Parts<'a> {
    negative: bool,
    whole: &'a str,
    fraction: &'a str,
    exponent: i64,
}

impl<'a> Parts<'a> {
    fn of(text: &'a str) -> Option<Self> {
        let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
        let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, read_exponent(exponent)?),
            None => (unsigned, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        let some = !whole.is_empty() || !fraction.is_empty();
        (some && digits(whole) && digits(fraction)).then_some(Self {
            negative: text.starts_with('-'),
            whole,
            fraction,
            exponent,
        })
    }

    /// The number without its sign: `None` when it has a fraction, `Some(None)` when it has too many
    /// digits.
    fn whole_digits(&self) -> Option<Option<i128>> {
        self.scaled(0)
    }

    /// The number without its sign, times ten as often as `scale` says: `None` when it has a fraction
    /// even so, `Some(None)` when it has too many digits.
    fn scaled(&self, scale: u8) -> Option<Option<i128>> {
        let digits = [self.whole, self.fraction].concat();
        let significant = digits.trim_start_matches('0').trim_end_matches('0');
        if significant.is_empty() {
            return Some(Some(0));
        }
        let zeros = digits.len() - digits.trim_end_matches('0').len();
        let fraction = i64::try_from(self.fraction.len()).ok()?;
        let exponent = self.exponent.saturating_add(scale.into());
        let zeros = i64::try_from(zeros).ok()?.saturating_add(exponent) - fraction;
        let zeros = usize::try_from(zeros).ok()?;
        if significant.len().saturating_add(zeros) > DIGITS_MAX {
            return Some(None);
        }
        let shift = u32::try_from(zeros).ok()?;
        Some(significant.parse::<i128>().ok().map(|number| number * 10_i128.pow(shift)))
    }
}

/// The exponent; one that is out of all bounds is as large as any.
fn read_exponent(text: &str) -> Option<i64> {
    const OUT_OF_BOUNDS: i64 = 1 << 40;
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let exponent = digits.parse().unwrap_or(OUT_OF_BOUNDS).min(OUT_OF_BOUNDS);
    Some(if text.starts_with('-') { -exponent } else { exponent })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn whole_numbers() {
        for (text, number) in [
            ("0", 0),
            ("-0", 0),
            ("5", 5),
            ("-5", -5),
            ("+5", 5),
            ("007", 7),
            ("5.0", 5),
            ("5.", 5),
            ("50e-1", 5),
            ("1.5e3", 1500),
            ("0.0e99999999999999999999", 0),
            ("9223372036854775807", i64::MAX),
            ("-9223372036854775808", i64::MIN),
        ] {
            assert_eq!(int(text), Ok(number), "{text}");
        }
    }

    #[test]
    fn others_are_refused() {
        for (text, reason) in [
            ("", "not a number"),
            ("-", "not a number"),
            (".", "not a number"),
            ("1e", "not a number"),
            ("five", "not a number"),
            ("5 ", "not a number"),
            ("0x10", "not a number"),
            ("1_000", "not a number"),
            ("NaN", "not a number"),
            ("--5", "not a number"),
            ("5.5", "not a whole number"),
            ("1e-1", "not a whole number"),
            ("1e-99999999999999999999", "not a whole number"),
            ("9223372036854775808", "too large for 64 bits"),
            ("1e38", "has more than 38 digits"),
            ("1e99999999999999999999", "has more than 38 digits"),
        ] {
            assert_eq!(int(text), Err(reason), "{text}");
        }
        assert_eq!(huge(&"9".repeat(38)), Ok(10_i128.pow(38) - 1));
        assert_eq!(huge(&"9".repeat(39)), Err("has more than 38 digits"));
    }

    #[test]
    fn exact_numbers() {
        for (text, number) in [
            ("4.2", 420),
            ("-4.20", -420),
            ("4", 400),
            ("4.200000", 420),
            ("42e-1", 420),
            ("1e2", 10_000),
            ("0", 0),
            ("999999999999999.99", 99_999_999_999_999_999),
            ("+.5", 50),
        ] {
            assert_eq!(numeric(text, 17, 2), Ok(number), "{text}");
        }
        for (text, reason) in [
            ("4.205", TOO_FINE),
            ("1e-3", TOO_FINE),
            ("1000000000000000.00", TOO_LONG),
            ("1e37", TOO_LONG),
            ("1e99999999999", TOO_LONG),
            ("", NOT_A_NUMBER),
            ("4,2", NOT_A_NUMBER),
        ] {
            assert_eq!(numeric(text, 17, 2), Err(reason), "{text}");
        }
        assert_eq!(numeric(&"9".repeat(38), 38, 0), Ok(10_i128.pow(38) - 1));
    }

    #[test]
    fn floats() {
        for (text, number) in [
            ("1.5", 1.5),
            ("2", 2.0),
            (".5", 0.5),
            ("-1e-3", -0.001),
            ("1e-400", 0.0),
            ("9007199254740992", 9_007_199_254_740_992.0),
            ("0.1234567890123456789", 0.123_456_789_012_345_68),
        ] {
            assert_eq!(float(text), Ok(number), "{text}");
        }
        assert!(float("NaN").unwrap().is_nan() && float("nan").unwrap().is_nan());
        for (text, number) in [("inf", f64::INFINITY), ("-Infinity", f64::NEG_INFINITY)] {
            assert_eq!(float(text), Ok(number), "{text}");
        }
        for (text, reason) in [
            ("-NaN", "not a number"),
            ("infinite", "not a number"),
            ("", "not a number"),
            ("1.5x", "not a number"),
            ("1e999", "too large for a decimal"),
            ("9007199254740993", "has too many digits for a decimal"),
        ] {
            assert_eq!(float(text), Err(reason), "{text}");
        }
    }

    proptest! {
        #[test]
        fn every_whole_number_is_itself(number in any::<i64>(), large in -10_i128.pow(38) + 1..10_i128.pow(38)) {
            prop_assert_eq!(int(&number.to_string()), Ok(number));
            prop_assert_eq!(huge(&large.to_string()), Ok(large));
        }

        #[test]
        fn every_float_is_itself(number in proptest::num::f64::NORMAL) {
            prop_assert_eq!(float(&format!("{number:?}")), Ok(number));
        }
    }
}
