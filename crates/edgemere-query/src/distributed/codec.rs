//! The scan of an operator as bytes, inside the plans that DataFusion writes.

use std::sync::Arc;

use arrow::datatypes::Schema;
use datafusion::common::not_impl_err;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::TaskContext;
use datafusion::physical_plan::ExecutionPlan;
use datafusion_proto::physical_plan::{PhysicalExtensionCodec, PhysicalProtoConverterExtension};
use datafusion_proto::protobuf;
use prost::Message;

use super::pruning::Filters;
use super::scan::OperatorScan;

/// Reads and writes [`OperatorScan`], and nothing else.
#[derive(Clone, Copy, Debug)]
pub(super) struct Codec;

#[derive(Clone, PartialEq, Message)]
struct Scan {
    #[prost(string, tag = "1")]
    dbms: String,
    #[prost(string, tag = "2")]
    table: String,
    #[prost(string, tag = "3")]
    operator: String,
    #[prost(uint64, optional, tag = "4")]
    fetch: Option<u64>,
    #[prost(message, optional, tag = "5")]
    schema: Option<protobuf::Schema>,
    #[prost(message, repeated, tag = "6")]
    filters: Vec<protobuf::LogicalExprNode>,
    #[prost(message, optional, tag = "7")]
    filtered: Option<protobuf::Schema>,
}

impl PhysicalExtensionCodec for Codec {
    fn try_decode(
        &self,
        bytes: &[u8],
        inputs: &[Arc<dyn ExecutionPlan>],
        context: &TaskContext,
        _: &dyn PhysicalProtoConverterExtension,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        if !inputs.is_empty() {
            return not_impl_err!("a scan has no inputs");
        }
        let scan = Scan::decode(bytes).map_err(external)?;
        let schema = Schema::try_from(&scan.schema.unwrap_or_default())?;
        let mut read = OperatorScan::new(&scan.dbms, &scan.table, Arc::new(schema), Arc::new([]));
        read.operator = Some(scan.operator);
        let filtered = Schema::try_from(&scan.filtered.unwrap_or_default())?;
        read.filters = Filters::from_proto(&scan.filters, Arc::new(filtered), context)?;
        read.fetch = scan.fetch.and_then(|fetch| usize::try_from(fetch).ok());
        Ok(Arc::new(read))
    }

    fn try_encode(
        &self,
        node: Arc<dyn ExecutionPlan>,
        bytes: &mut Vec<u8>,
        _: &dyn PhysicalProtoConverterExtension,
    ) -> Result<()> {
        let Some(scan) = node.downcast_ref::<OperatorScan>() else {
            return not_impl_err!("{} is not sent to operators", node.name());
        };
        let (filters, filtered) = scan.filters.to_proto()?;
        let written = Scan {
            dbms: scan.dbms.clone(),
            table: scan.table.clone(),
            operator: scan.operator.clone().unwrap_or_default(),
            fetch: scan.fetch.and_then(|fetch| u64::try_from(fetch).ok()),
            schema: Some(scan.schema().as_ref().try_into()?),
            filters,
            filtered: Some(filtered.as_ref().try_into()?),
        };
        written.encode(bytes).map_err(external)
    }
}

fn external(error: impl std::error::Error + Send + Sync + 'static) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}
