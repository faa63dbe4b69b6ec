//! What a fuzz target needs of the inside: plans as an operator reads them from its peers. Not a part
//! of the engine's interface.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema};
use datafusion::error::Result;
use datafusion::execution::config::SessionConfig;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::limit::LocalLimitExec;
use datafusion_proto::bytes::{
    physical_plan_from_bytes_with_extension_codec, physical_plan_to_bytes_with_extension_codec,
};

use super::codec::Codec;
use super::gate;
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
