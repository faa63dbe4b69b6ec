//! Rows in the types that every reader of Arrow knows.
//!
//! In the engine texts are views, which many readers do not know, and which keep all text in memory
//! that they were ever cut out of. Plain ones hold what they show and no more.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, FieldRef, Schema, SchemaRef};
use arrow::error::ArrowError;

/// The columns without views in their types.
pub(crate) fn plain_schema(schema: &Schema) -> SchemaRef {
    Arc::new(Schema::new(schema.fields().iter().map(plain_field).collect::<Vec<_>>()))
}

/// Rows with these columns, as [`plain_schema`] gives them.
pub(crate) fn plain_rows(
    batch: &RecordBatch,
    plain: &SchemaRef,
) -> Result<RecordBatch, ArrowError> {
    let columns = batch.columns().iter().zip(plain.fields());
    let columns = columns.map(|(column, field)| cast(column, field.data_type()));
    RecordBatch::try_new(Arc::clone(plain), columns.collect::<Result<_, _>>()?)
}

fn plain_field(field: &FieldRef) -> FieldRef {
    Arc::new(Field::new(field.name(), plain(field.data_type()), field.is_nullable()))
}

fn plain(data_type: &DataType) -> DataType {
    match data_type {
        DataType::Utf8View => DataType::Utf8,
        DataType::BinaryView => DataType::Binary,
        DataType::List(field) | DataType::ListView(field) => DataType::List(plain_field(field)),
        DataType::LargeList(field) | DataType::LargeListView(field) => {
            DataType::LargeList(plain_field(field))
        }
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(plain_field).collect()),
        other => other.clone(),
    }
}
