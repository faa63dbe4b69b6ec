//! What fuzz targets need of the inside: plans and requests as an operator reads them from its peers, and
//! answers as a query node does. Not a part of the engine's interface.

use std::collections::HashMap;
use std::panic::catch_unwind;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow::buffer::Buffer;
use arrow::datatypes::{DataType, Field, Schema};
use arrow::error::ArrowError;
use arrow::ipc::reader::read_record_batch;
use arrow::ipc::writer::{
    DictionaryTracker, IpcDataGenerator, IpcWriteContext, IpcWriteOptions, StreamWriter,
};
use arrow::ipc::{CompressionType, root_as_message};
use bytes::Bytes;
use datafusion::error::Result;
use datafusion::execution::config::SessionConfig;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::limit::LocalLimitExec;
use datafusion_proto::bytes::{
    physical_plan_from_bytes_with_extension_codec, physical_plan_to_bytes_with_extension_codec,
};
use prost::Message;

use super::codec::Codec;
use super::flight_messages::{Answers, Flight};
use super::gate;
use super::requests::Requests;
use super::scan::OperatorScan;
use crate::sql::Sql;

/// The operator that plans are for.
const OPERATOR: &str = "operator";

/// Reads a plan as an operator does, and says whether it would run it.
pub fn reads_plan(sql: &Sql, bytes: &[u8]) -> bool {
    let context = sql.reading(SessionConfig::new()).task_ctx();
    let plan = physical_plan_from_bytes_with_extension_codec(bytes, &context, &Codec);
    plan.and_then(|plan| gate::check(&plan, OPERATOR)).is_ok()
}

/// A plan that an operator would run, as its bytes.
pub fn plan() -> Result<Vec<u8>> {
    let schema = Schema::new(vec![Field::new("v", DataType::Int64, true)]);
    let mut scan = OperatorScan::new("d", "t", Arc::new(schema), Arc::new([]));
    scan.operator = Some(OPERATOR.to_owned());
    scan.fetch = Some(10);
    let limit: Arc<dyn ExecutionPlan> = Arc::new(LocalLimitExec::new(Arc::new(scan), 5));
    physical_plan_to_bytes_with_extension_codec(limit, &Codec).map(|bytes| bytes.to_vec())
}

/// The calls of an operator.
pub const CALLS: [&str; 3] = ["ExecuteTask", "CoordinatorChannel", "GetWorkerInfo"];

/// Reads bytes as the requests of a call, as an operator does, and says whether it would go on.
pub fn reads_requests(call: &str, bytes: &[u8]) -> bool {
    let mut requests = Requests::of(&format!("/worker.WorkerService/{call}"), 1 << 20);
    requests.read(&Bytes::copy_from_slice(bytes)).is_ok()
}

/// Requests that an operator goes on with: for the one part of a task, and for nothing.
pub fn requests() -> Vec<u8> {
    // Field 3 is the end of the parts that are wanted.
    let execute = framed(&[0x18, 1]);
    [execute.clone(), execute].concat()
}

/// Reads bytes as the answers to a call, as a query node does, and says whether it would go on. What it
/// goes on with is decoded.
pub fn reads_answers(call: &str, bytes: &[u8]) -> bool {
    let mut answers = Answers::of(&format!("/worker.WorkerService/{call}"));
    let is_read = answers.read(&Bytes::copy_from_slice(bytes)).is_ok();
    let message = is_read.then(|| first_message(bytes)).flatten();
    if let Some(message) = message.and_then(|message| Flight::decode(message).ok()) {
        // A panic of Arrow's decoder is the failure of its operator: see `link`. Memory that cannot be
        // had would end the process.
        let _ = catch_unwind(|| decoded(&message));
    }
    is_read
}

/// The first of several messages, when it is there as a whole.
fn first_message(bytes: &[u8]) -> Option<&[u8]> {
    let ([_, length @ ..], rest) = bytes.split_first_chunk::<5>()?;
    rest.get(..usize::try_from(u32::from_be_bytes(*length)).ok()?)
}

/// Some rows.
fn rows() -> Result<RecordBatch, ArrowError> {
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..50));
    let texts: ArrayRef = Arc::new(StringArray::from(vec!["the same text"; 50]));
    RecordBatch::try_from_iter([("n", numbers), ("s", texts)])
}

/// Rows as an Arrow stream, as clients send them.
pub fn arrow_stream() -> Result<Vec<u8>> {
    let rows = rows()?;
    let mut writer = StreamWriter::try_new(Vec::new(), &rows.schema())?;
    writer.write(&rows)?;
    Ok(writer.into_inner()?)
}

/// An answer with rows that a query node goes on with.
pub fn answers(is_compressed: bool) -> Result<Vec<u8>> {
    let batch = rows()?;
    let compression = is_compressed.then_some(CompressionType::LZ4_FRAME);
    Ok(framed(&encoded(&batch, compression)?.encode_to_vec()))
}

/// Rows as a message.
pub(super) fn encoded(batch: &RecordBatch, compression: Option<CompressionType>) -> Result<Flight> {
    let options = IpcWriteOptions::default().try_with_compression(compression)?;
    let (mut dictionaries, mut context) =
        (DictionaryTracker::new(false), IpcWriteContext::default());
    let encoder = IpcDataGenerator::default();
    let (_, data) = encoder.encode(batch, &mut dictionaries, &options, &mut context)?;
    Ok(Flight { header: data.ipc_message.into(), body: data.arrow_data.into() })
}

/// The rows of a message with the columns of [`answers`].
fn decoded(message: &Flight) -> Result<RecordBatch, ArrowError> {
    let fields = [("n", DataType::Int64), ("s", DataType::Utf8)];
    let fields = fields.map(|(name, kind)| Field::new(name, kind, true));
    let schema = Arc::new(Schema::new(fields.to_vec()));
    let wrong = || ArrowError::IpcError("no rows".to_owned());
    let header = root_as_message(&message.header).map_err(|_| wrong())?;
    let batch = header.header_as_record_batch().ok_or_else(wrong)?;
    let body = Buffer::from(message.body.to_vec());
    read_record_batch(&body, batch, schema, &HashMap::new(), None, &header.version())
}

/// A message as it is sent.
fn framed(message: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0];
    bytes.extend(u32::try_from(message.len()).unwrap_or_default().to_be_bytes());
    bytes.extend(message);
    bytes
}
