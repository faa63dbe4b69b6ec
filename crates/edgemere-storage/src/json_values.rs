//! Values that JSON has no form of its own for, wherever they stand in a value: floats that are no
//! numbers or infinite are the texts `"NaN"`, `"Infinity"` and `"-Infinity"`, and bytes are base64.
//! The same texts are taken by ingest.

use std::sync::{Arc, LazyLock};

use arrow::array::{Array, ArrayRef, AsArray, StringBuilder};
use arrow::compute::cast;
use arrow::datatypes::{DataType, FieldRef, Float64Type};
use arrow::error::ArrowError;
use arrow::json::writer::{Encoder, EncoderFactory, EncoderOptions, NullableEncoder, make_encoder};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

/// Makes the encoders of such values.
#[derive(Debug)]
pub struct JsonValues;

/// What writes floats that are finite.
static DEFAULT: LazyLock<EncoderOptions> = LazyLock::new(EncoderOptions::default);

impl EncoderFactory for JsonValues {
    fn make_default_encoder<'a>(
        &self,
        field: &'a FieldRef,
        array: &'a dyn Array,
        _: &'a EncoderOptions,
    ) -> Result<Option<NullableEncoder<'a>>, ArrowError> {
        let encoder: Box<dyn Encoder + 'a> = match array.data_type() {
            DataType::Float16 | DataType::Float32 | DataType::Float64 => {
                let floats = cast(array, &DataType::Float64)?;
                let floats = floats.as_primitive::<Float64Type>();
                if floats.iter().flatten().all(f64::is_finite) {
                    return Ok(None);
                }
                let finite = make_encoder(field, array, &DEFAULT)?;
                Box::new(Floats { values: floats.values().to_vec(), finite })
            }
            DataType::Binary
            | DataType::LargeBinary
            | DataType::BinaryView
            | DataType::FixedSizeBinary(_) => {
                let bytes = cast(array, &DataType::LargeBinary)?;
                Box::new(Bytes(bytes))
            }
            _ => return Ok(None),
        };
        Ok(Some(NullableEncoder::new(encoder, array.nulls().cloned())))
    }
}

/// Floats of which some are not finite.
struct Floats<'a> {
    values: Vec<f64>,
    finite: NullableEncoder<'a>,
}

impl Encoder for Floats<'_> {
    fn encode(&mut self, row: usize, to: &mut Vec<u8>) {
        match self.values.get(row) {
            Some(value) if value.is_nan() => to.extend_from_slice(b"\"NaN\""),
            Some(&f64::INFINITY) => to.extend_from_slice(b"\"Infinity\""),
            Some(&f64::NEG_INFINITY) => to.extend_from_slice(b"\"-Infinity\""),
            _ => self.finite.encode(row, to),
        }
    }
}

/// Bytes.
struct Bytes(ArrayRef);

impl Encoder for Bytes {
    fn encode(&mut self, row: usize, to: &mut Vec<u8>) {
        let bytes = self.0.as_binary::<i64>().value(row);
        to.push(b'"');
        to.extend_from_slice(BASE64_STANDARD.encode(bytes).as_bytes());
        to.push(b'"');
    }
}

/// A column of bytes as texts.
pub fn base64_texts(column: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    let bytes = cast(column, &DataType::LargeBinary)?;
    let mut texts = StringBuilder::with_capacity(column.len(), column.get_array_memory_size());
    for bytes in bytes.as_binary::<i64>() {
        texts.append_option(bytes.map(|bytes| BASE64_STANDARD.encode(bytes)));
    }
    Ok(Arc::new(texts.finish()))
}
