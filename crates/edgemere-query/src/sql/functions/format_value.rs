//! `format_value(x, ':,.2f')`: values as Python's format language writes them, which is what
//! EdgeLake's `::format(…)` takes.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, StringBuilder};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type, Int64Type};
use datafusion::common::{Result, exec_datafusion_err, exec_err};

use crate::sql::functions::Definition;
use crate::sql::functions::Takes;

pub(super) const FUNCTION: Definition = Definition {
    name: "format_value",
    written: "::format",
    takes: &[Takes::Any, Takes::Text],
    gives: || DataType::Utf8,
    run,
};

fn run(arguments: &[ArrayRef]) -> Result<ArrayRef> {
    let [values, formats] = arguments else {
        return exec_err!("format_value takes a value and a format");
    };
    let formats = formats.as_string::<i32>();
    let values = Values::of(values)?;
    let mut texts = StringBuilder::new();
    let mut last: Option<(&str, Format)> = None;
    for (row, format) in formats.iter().enumerate() {
        let (Some(value), Some(format)) = (values.get(row), format) else {
            texts.append_null();
            continue;
        };
        let parsed = match &last {
            Some((text, parsed)) if *text == format => parsed.clone(),
            _ => {
                Format::parse(format).map_err(|reason| exec_datafusion_err!("format: {reason}"))?
            }
        };
        let text =
            parsed.write(value).map_err(|reason| exec_datafusion_err!("format: {reason}"))?;
        texts.append_value(text);
        last = Some((format, parsed));
    }
    Ok(Arc::new(texts.finish()))
}

/// Why a format is none, if it is none.
pub(in crate::sql) fn check(format: &str) -> std::result::Result<(), String> {
    Format::parse(format).map(|_| ())
}

/// Values as Python would have them.
enum Values {
    Whole(ArrayRef),
    Float(ArrayRef),
    Text(ArrayRef),
}

enum Value<'a> {
    Whole(i64),
    Float(f64),
    Text(&'a str),
}

impl Values {
    fn of(values: &ArrayRef) -> Result<Self> {
        let data_type = values.data_type();
        Ok(if data_type.is_integer() {
            Self::Whole(cast(values, &DataType::Int64)?)
        } else if data_type.is_numeric() {
            Self::Float(cast(values, &DataType::Float64)?)
        } else {
            Self::Text(cast(values, &DataType::Utf8)?)
        })
    }

    fn get(&self, row: usize) -> Option<Value<'_>> {
        let (Self::Whole(array) | Self::Float(array) | Self::Text(array)) = self;
        if array.is_null(row) {
            return None;
        }
        Some(match self {
            Self::Whole(array) => Value::Whole(array.as_primitive::<Int64Type>().value(row)),
            Self::Float(array) => Value::Float(array.as_primitive::<Float64Type>().value(row)),
            Self::Text(array) => Value::Text(array.as_string::<i32>().value(row)),
        })
    }
}

/// `[[fill]align][sign][0][width][,][.digits][type]`.
#[derive(Clone, Debug, Default, PartialEq)]
struct Format {
    fill: Option<char>,
    align: Option<char>,
    sign: Option<char>,
    has_zeros: bool,
    width: usize,
    separator: Option<char>,
    digits: Option<usize>,
    kind: Option<char>,
}

/// How wide a text may be made, and how many digits it may have.
const WIDTH_MAX: usize = 1000;

impl Format {
    fn parse(text: &str) -> std::result::Result<Self, String> {
        let fail = || {
            format!("\"{text}\" is no format: use ':,', ':.2f', ':08.3f', ':b', ':o', ':x' or ':e'")
        };
        let mut rest = text.strip_prefix(':').unwrap_or(text);
        let mut format = Self::default();
        let mut begin = rest.chars();
        match (begin.next(), begin.next()) {
            (Some(fill), Some(align)) if is_align(align) => {
                format.fill = Some(fill);
                format.align = Some(align);
                rest = begin.as_str();
            }
            (Some(align), _) if is_align(align) => {
                format.align = Some(align);
                rest = rest.get(1..).unwrap_or_default();
            }
            _ => {}
        }
        format.sign = take(&mut rest, |c| "+- ".contains(c));
        format.has_zeros = take(&mut rest, |c| c == '0').is_some();
        format.width = take_number(&mut rest).unwrap_or(0);
        format.separator = take(&mut rest, |c| ",_".contains(c));
        if take(&mut rest, |c| c == '.').is_some() {
            format.digits = Some(take_number(&mut rest).ok_or_else(fail)?);
        }
        format.kind = take(&mut rest, |c| "bdoxXeEfFgGs%".contains(c));
        let is_fitting =
            format.width <= WIDTH_MAX && format.digits.is_none_or(|digits| digits <= WIDTH_MAX);
        if rest.is_empty() && is_fitting { Ok(format) } else { Err(fail()) }
    }

    fn write(&self, value: Value<'_>) -> std::result::Result<String, String> {
        let (is_negative, body) = match (value, self.kind) {
            (Value::Text(text), None | Some('s')) if self.separator.is_none() => {
                return Ok(self.padded("", text, '<'));
            }
            (Value::Text(text), _) => return Err(format!("the text \"{text}\" is no number")),
            (Value::Whole(number), kind @ (None | Some('d' | 'b' | 'o' | 'x' | 'X'))) => {
                (number < 0, self.whole(number.unsigned_abs(), kind))
            }
            (Value::Float(_), Some(kind @ ('d' | 'b' | 'o' | 'x' | 'X'))) => {
                return Err(format!("\"{kind}\" is for whole numbers: cast with ::int first"));
            }
            (Value::Whole(number), kind) => (number < 0, self.float((number as f64).abs(), kind)),
            (Value::Float(number), kind) => {
                (number.is_sign_negative(), self.float(number.abs(), kind))
            }
        };
        let sign = match (is_negative, self.sign) {
            (true, _) => "-",
            (false, Some('+')) => "+",
            (false, Some(' ')) => " ",
            _ => "",
        };
        Ok(self.padded(sign, &body, '>'))
    }

    fn whole(&self, number: u64, kind: Option<char>) -> String {
        match kind {
            Some('b') => format!("{number:b}"),
            Some('o') => format!("{number:o}"),
            Some('x') => format!("{number:x}"),
            Some('X') => format!("{number:X}"),
            _ => self.separated(&number.to_string()),
        }
    }

    fn float(&self, number: f64, kind: Option<char>) -> String {
        let digits = self.digits.unwrap_or(6);
        match (kind, self.digits) {
            _ if !number.is_finite() => number.to_string().to_lowercase(),
            (Some('e' | 'E'), _) => {
                let text = exponent(&format!("{number:.digits$e}"));
                if kind == Some('E') { text.to_uppercase() } else { text }
            }
            (Some('%'), _) => format!("{:.digits$}%", number * 100.0),
            (Some('f' | 'F'), _) | (None, Some(_)) => self.separated(&format!("{number:.digits$}")),
            // A float shows that it is one.
            _ => self.separated(&format!("{number:?}")),
        }
    }

    /// With a separator between the thousands.
    fn separated(&self, text: &str) -> String {
        let Some(separator) = self.separator else { return text.to_owned() };
        let (whole, fraction) = text.split_at(text.find('.').unwrap_or(text.len()));
        let mut grouped = String::new();
        for (index, digit) in whole.chars().enumerate() {
            if index > 0 && (whole.len() - index).is_multiple_of(3) {
                grouped.push(separator);
            }
            grouped.push(digit);
        }
        grouped + fraction
    }

    fn padded(&self, sign: &str, body: &str, usual: char) -> String {
        let missing = self.width.saturating_sub(sign.len() + body.chars().count());
        let fill = |count| self.fill.unwrap_or(' ').to_string().repeat(count);
        match self.align.unwrap_or(usual) {
            _ if self.has_zeros && self.align.is_none() => {
                format!("{sign}{}{body}", "0".repeat(missing))
            }
            '<' => format!("{sign}{body}{}", fill(missing)),
            '^' => format!("{}{sign}{body}{}", fill(missing / 2), fill(missing - missing / 2)),
            '=' => format!("{sign}{}{body}", fill(missing)),
            _ => format!("{}{sign}{body}", fill(missing)),
        }
    }
}

/// `1.5e3` as Python writes it: `1.5e+03`.
fn exponent(text: &str) -> String {
    let (mantissa, power) = text.split_once('e').unwrap_or((text, "0"));
    let (sign, power) = power.strip_prefix('-').map_or(('+', power), |power| ('-', power));
    format!("{mantissa}e{sign}{power:0>2}")
}

fn is_align(character: char) -> bool {
    "<>^=".contains(character)
}

fn take(rest: &mut &str, is_wanted: impl Fn(char) -> bool) -> Option<char> {
    let first = rest.chars().next().filter(|first| is_wanted(*first))?;
    *rest = rest.get(first.len_utf8()..).unwrap_or_default();
    Some(first)
}

fn take_number(rest: &mut &str) -> Option<usize> {
    let length = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let (number, after) = rest.split_at(length);
    let number = number.parse().ok()?;
    *rest = after;
    Some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn formatted(value: Value<'_>, format: &str) -> String {
        Format::parse(format).unwrap().write(value).unwrap()
    }

    /// What Python 3 answers to `"{…}".format(…)`.
    #[test]
    fn numbers_are_written_as_python_writes_them() {
        let whole = |number, format| formatted(Value::Whole(number), format);
        assert_eq!(whole(1_234_567, ":,"), "1,234,567");
        assert_eq!(whole(-1_234_567, ":_"), "-1_234_567");
        assert_eq!(whole(10, ":b"), "1010");
        assert_eq!(whole(255, ":x"), "ff");
        assert_eq!(whole(8, ":o"), "10");
        assert_eq!(whole(42, ":08d"), "00000042");
        assert_eq!(whole(42, ":*^8"), "***42***");
        assert_eq!(whole(42, ":+"), "+42");
        assert_eq!(whole(42, ":.1f"), "42.0");
        let float = |number, format| formatted(Value::Float(number), format);
        assert_eq!(float(-1234.5, ":,.2f"), "-1,234.50");
        assert_eq!(float(8000.0, ":,"), "8,000.0");
        assert_eq!(float(0.5, ":.3f"), "0.500");
        assert_eq!(float(1.5, ":08.3f"), "0001.500");
        assert_eq!(float(-1.5, ":08.3f"), "-001.500");
        assert_eq!(float(1500.0, ":e"), "1.500000e+03");
        assert_eq!(float(0.25, ":.0%"), "25%");
        assert_eq!(formatted(Value::Text("ab"), ":>4"), "  ab");
        assert_eq!(formatted(Value::Text("ab"), ":4"), "ab  ");
    }

    #[test]
    fn what_is_no_format_is_told() {
        for wrong in [":q", ":.f", ":,,", ":99999", "x y"] {
            assert!(check(wrong).is_err(), "{wrong}");
        }
        assert!(Format::parse(":b").unwrap().write(Value::Float(1.5)).is_err());
        assert!(Format::parse(":,").unwrap().write(Value::Text("a")).is_err());
    }
}
