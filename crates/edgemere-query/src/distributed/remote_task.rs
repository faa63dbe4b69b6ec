//! A task on an operator: sent, accepted, and then read from. With `worker`, this is where
//! datafusion-distributed is used: its protocol, its service and its client. The coordinator is our
//! own, because a scan belongs to its operator: a task is never run elsewhere, an operator's name is
//! in every error, and what holds the same rows may take its place.

use std::fmt;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use arrow::array::RecordBatch;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::TaskContext;
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, MetricValue};
use datafusion::prelude::SessionConfig;
use datafusion_distributed::grpc::{BoxCloneSyncChannel, create_worker_client};
use datafusion_distributed::{
    BytesCounterMetric, DistributedConfig, DistributedExt, ExecuteTaskRequest, MaybeEncoded,
    ProducerHead, SetPlanRequest, TaskKey, WorkerToCoordinatorMsg,
};
use futures_util::future::{BoxFuture, Either, select};
use futures_util::stream::{self, BoxStream, Stream, StreamExt};
use tokio::sync::oneshot;
use tonic::Status;
use tonic::codegen::http::HeaderMap;
use tonic::metadata::{MetadataKey, MetadataMap, MetadataValue};
use url::Url;
use uuid::Uuid;

use super::channel::Channels;
use super::codec::Codec;
use super::error::Error;
use super::positions_seen::Seen;
use super::protocol;
use super::shards::Operator;
use super::verified_channel::VerifiedChannel;

/// What is kept of one operator's result, in bytes, before it is used: then the operator waits.
const BUFFER_BYTES: usize = 4 << 20;

/// A task that could not be given within this time is not tried again.
const AGAIN: Duration = Duration::from_millis(300);

/// Proves to operators who asks.
pub trait Credentials: fmt::Debug + Send + Sync {
    /// Headers for one call to an operator: anew when the last ones were refused.
    fn headers<'a>(
        &'a self,
        operator: &'a Operator,
        is_again: bool,
    ) -> BoxFuture<'a, Result<Vec<(String, String)>, String>>;

    /// Whether an answer comes from an operator that may be believed, by the headers of the call and
    /// by the status and the headers with which the answer begins.
    fn trusts(&self, call: &HeaderMap, status: u16, answer: &HeaderMap) -> bool {
        let _ = (call, status, answer);
        true
    }
}

/// Makes tasks of one query.
pub(super) struct RemoteTaskClient {
    channels: Channels,
    credentials: Arc<dyn Credentials>,
    seen: Seen,
    context: Arc<TaskContext>,
    query: Uuid,
    /// Whether an answer without rows that cannot be read is an answer.
    subset: bool,
    tasks: AtomicUsize,
}

/// A task that an operator has accepted.
pub(super) struct RemoteTask {
    /// What it sends. Nothing is done before this is read; dropping it stops the work.
    pub(super) batches: BoxStream<'static, Result<RecordBatch>>,
    /// Keeps the task, and what the operator's rows were when it was accepted.
    pub(super) hold: TaskLease,
    metrics: ExecutionPlanMetricsSet,
}

/// Keeps a task on its operator.
pub(super) struct TaskLease {
    _end: oneshot::Sender<()>,
    _messages: BoxStream<'static, Result<WorkerToCoordinatorMsg>>,
}

impl RemoteTaskClient {
    /// For one query, whose memory is taken from `runtime`.
    pub(super) fn new(
        channels: Channels,
        credentials: Arc<dyn Credentials>,
        seen: Seen,
        runtime: Arc<RuntimeEnv>,
        subset: bool,
    ) -> Result<Self> {
        let config = SessionConfig::new()
            .with_distributed_user_codec(Codec)
            .with_distributed_option_extension(DistributedConfig::default())
            .with_distributed_worker_connection_buffer_budget_bytes(BUFFER_BYTES)?;
        let context = TaskContext::default().with_session_config(config).with_runtime(runtime);
        Ok(Self {
            channels,
            credentials,
            seen,
            context: Arc::new(context),
            query: Uuid::new_v4(),
            subset,
            tasks: AtomicUsize::new(0),
        })
    }

    /// Gives an operator a task.
    pub(super) async fn open(
        &self,
        operator: &Operator,
        plan: Arc<dyn ExecutionPlan>,
    ) -> Result<RemoteTask, Error> {
        let begun = Instant::now();
        match self.open_in_time(operator, Arc::clone(&plan), false).await {
            // The operator was started again, and this is how its old connection ends.
            Err(Error::Unreachable { .. }) if begun.elapsed() < AGAIN => {
                self.open_in_time(operator, plan, false).await
            }
            // It was started again, and does not know what was proved to it before.
            Err(Error::Denied { .. }) => self.open_in_time(operator, plan, true).await,
            opened => opened,
        }
    }

    async fn open_in_time(
        &self,
        operator: &Operator,
        plan: Arc<dyn ExecutionPlan>,
        is_again: bool,
    ) -> Result<RemoteTask, Error> {
        let time = self.channels.patience().accept;
        match tokio::time::timeout(time, self.try_open(operator, plan, is_again)).await {
            Ok(opened) => opened,
            Err(_) => Err(Error::Silent { operator: operator.clone(), time }),
        }
    }

    async fn try_open(
        &self,
        operator: &Operator,
        plan: Arc<dyn ExecutionPlan>,
        is_again: bool,
    ) -> Result<RemoteTask, Error> {
        let failed = |error: DataFusionError| Error::of_call(operator, &error, false);
        let channel = self.channels.to(operator)?;
        let proved =
            VerifiedChannel::new(channel, Arc::clone(&self.credentials), operator, &self.seen);
        let channel = BoxCloneSyncChannel::new(proved);
        let mut client = create_worker_client(channel.clone());
        let mut second = create_worker_client(channel);
        let headers = self.headers(operator, is_again).await?.into_headers();
        let (end, ended) = oneshot::channel::<()>();
        // Says nothing, and ends when the task is no longer wanted.
        let wanted = stream::once(ended).filter_map(|_| async { None }).boxed();
        let unread = ExecutionPlanMetricsSet::new();
        let metrics = ExecutionPlanMetricsSet::new();
        let key = TaskKey {
            query_id: self.query,
            stage_id: self.tasks.fetch_add(1, Ordering::Relaxed),
            task_number: 0,
        };
        let given = self.request(operator, key, plan)?;
        let giving = client.coordinator_channel(headers, given, wanted, unread, &self.context);
        let wants = ExecuteTaskRequest {
            task_key: key,
            target_partition_start: 0,
            target_partition_end: 1,
            producer_head: ProducerHead::None,
        };
        let headers = self.headers(operator, false).await?.into_headers();
        let running = second.execute_task(headers, wants, metrics.clone(), &self.context);
        // Its rows are asked for at once: the operator waits for the task, not this node for both. Why
        // it is not accepted is in the answer to the first call.
        let (giving, running) = (pin!(giving), pin!(running));
        let (messages, streams) = match select(giving, running).await {
            Either::Left((messages, running)) => (messages.map_err(failed)?, running.await),
            Either::Right((streams, giving)) => (giving.await.map_err(failed)?, streams),
        };
        let (hold, streams) =
            (TaskLease { _end: end, _messages: messages }, streams.map_err(failed)?);
        let batches = guarded(stream::iter(streams).flatten()).boxed();
        Ok(RemoteTask { batches, hold, metrics })
    }

    fn request(
        &self,
        operator: &Operator,
        task_key: TaskKey,
        plan: Arc<dyn ExecutionPlan>,
    ) -> Result<SetPlanRequest, Error> {
        let address = format!("http://{}", operator.address);
        let url = Url::parse(&address).map_err(|error| Error::Unreachable {
            operator: operator.clone(),
            reason: format!("the address is not one: {error}"),
        })?;
        Ok(SetPlanRequest {
            task_key,
            task_count: 1,
            plan: MaybeEncoded::Decoded(plan),
            work_unit_feed_declarations: vec![],
            target_worker_url: url,
            query_start_time_ns: 0,
        })
    }

    async fn headers(&self, operator: &Operator, is_again: bool) -> Result<MetadataMap, Error> {
        let proof = self
            .credentials
            .headers(operator, is_again)
            .await
            .map_err(|reason| Error::Unreachable { operator: operator.clone(), reason })?;
        let query = self.query.simple().to_string();
        let compression = protocol::compression(&operator.address);
        let mut headers = MetadataMap::new();
        let own = [
            (protocol::VERSION, protocol::version()),
            (protocol::QUERY, query),
            (protocol::COMPRESSION, compression.to_owned()),
            (protocol::SUBSET, self.subset.to_string()),
        ];
        let bound = operator.bound.iter().flat_map(|bound| {
            let reached = (protocol::REACHED, bound.reached.to_string());
            [(protocol::NODE, bound.node.clone()), reached]
        });
        let seen = self.seen.of(operator).map(|seen| (protocol::SEEN, seen.to_string()));
        let bound = bound.chain(seen);
        let own = own.into_iter().chain(bound);
        let own = own.map(|(name, value)| (name.to_owned(), value));
        for (name, value) in own.chain(proof) {
            let key = MetadataKey::from_bytes(name.as_bytes()).ok();
            let value = MetadataValue::try_from(value.as_str()).ok();
            let Some((key, value)) = key.zip(value) else {
                let reason = format!("\"{name}\" cannot be sent");
                return Err(Error::Denied { operator: operator.clone(), reason });
            };
            headers.insert(key, value);
        }
        Ok(headers)
    }
}

/// Rows of an operator. What `answers` lets through may still be nonsense, at which Arrow's decoder
/// panics: that is the operator's failure, and not this node's.
fn guarded(
    batches: impl Stream<Item = Result<RecordBatch>>,
) -> impl Stream<Item = Result<RecordBatch>> {
    let nonsense = |_| {
        let status = Status::data_loss("it sends what cannot be rows");
        Err(DataFusionError::External(Box::new(status)))
    };
    AssertUnwindSafe(batches).catch_unwind().map(move |next| next.unwrap_or_else(nonsense))
}

impl RemoteTask {
    /// How many bytes have come, as they were sent.
    pub(super) fn bytes(&self) -> usize {
        let metrics = self.metrics.clone_inner();
        let bytes = metrics.iter().filter_map(|metric| match metric.value() {
            MetricValue::Custom { value, .. } => {
                value.as_any().downcast_ref::<BytesCounterMetric>().map(BytesCounterMetric::value)
            }
            _ => None,
        });
        bytes.sum()
    }
}

impl fmt::Debug for RemoteTaskClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Links").field("query", &self.query).finish_non_exhaustive()
    }
}

impl fmt::Debug for RemoteTask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link").finish_non_exhaustive()
    }
}

impl fmt::Debug for TaskLease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hold").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::panic, reason = "the decoder's panic is what is tested")]

    use super::*;

    #[tokio::test]
    async fn a_panic_of_the_decoder_is_the_failure_of_its_operator() {
        let hostile = stream::iter([1]).map(|_| -> Result<RecordBatch> { panic!("no rows") });
        let next = guarded(hostile).boxed().next().await;
        let operator = Operator::default();
        let failed = Error::of_call(&operator, &next.unwrap().unwrap_err(), true);
        assert!(matches!(failed, Error::Lost { .. }), "{failed:?}");
    }
}
