//! `replace_first(text, old, new)`: what `::replace(old by new)` does.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, StringBuilder};
use arrow::datatypes::DataType;
use datafusion::common::{Result, exec_err};

use crate::sql::functions::Definition;
use crate::sql::functions::Takes;

pub(super) const FUNCTION: Definition = Definition {
    name: "replace_first",
    written: "::replace",
    takes: &[Takes::Text, Takes::Text, Takes::Text],
    gives: || DataType::Utf8,
    run,
};

fn run(arguments: &[ArrayRef]) -> Result<ArrayRef> {
    let [texts, old, new] = arguments else { return exec_err!("replace_first takes three texts") };
    let (texts, old, new) =
        (texts.as_string::<i32>(), old.as_string::<i32>(), new.as_string::<i32>());
    let mut replaced = StringBuilder::new();
    for ((text, old), new) in texts.iter().zip(old).zip(new) {
        let parts = text.zip(old).zip(new);
        replaced.append_option(parts.map(|((text, old), new)| text.replacen(old, new, 1)));
    }
    Ok(Arc::new(replaced.finish()))
}
