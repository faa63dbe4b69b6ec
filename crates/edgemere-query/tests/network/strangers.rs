//! Callers that an operator does not serve: without the key, of another version, or with a plan that
//! is not on the list.

use std::sync::Arc;

use crate::node::{Node, token};
use crate::rows::{Split, devices};
use crate::{Cluster, DBMS, chain};
use arrow::datatypes::Schema;
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::object_store::ObjectStoreUrl;
use datafusion::datasource::physical_plan::{FileGroup, FileScanConfigBuilder, ParquetSource};
use datafusion::datasource::source::DataSourceExec;
use datafusion::execution::TaskContext;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use datafusion_distributed::grpc::{BoxCloneSyncChannel, create_worker_client};
use datafusion_distributed::{MaybeEncoded, SetPlanRequest, TaskKey};
use edgemere_query::distributed::{ConnectTimeouts, Credentials, Error, Operator, ShardMap};
use edgemere_query::sql;
use futures_util::future::BoxFuture;
use futures_util::{StreamExt, stream};
use tonic::codegen::http::HeaderMap;
use tonic::metadata::{MetadataKey, MetadataMap};
use tonic::transport::Endpoint;

/// Shows something else than the key.
#[derive(Debug)]
struct Shows(Vec<(String, String)>);

impl Credentials for Shows {
    fn headers<'a>(
        &'a self,
        _: &'a Operator,
        _: bool,
    ) -> BoxFuture<'a, Result<Vec<(String, String)>, String>> {
        Box::pin(async { Ok(self.0.clone()) })
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_without_the_key_gets_nothing() {
    let cluster = Cluster::start(1).await;
    cluster.fill("devices", devices(), Split(&[1])).await;
    let placement = Arc::clone(&cluster.places) as Arc<dyn ShardMap>;
    for headers in [vec![], vec![("authorization".to_owned(), "Bearer of bad news".to_owned())]] {
        let (sql, placement) = (cluster.whole.sql(), Arc::clone(&placement));
        let stranger =
            sql.on_network(placement, Arc::new(Shows(headers)), ConnectTimeouts::default());
        let error = stranger.query(DBMS, "select * from devices", None).await.unwrap_err();
        assert!(matches!(error, sql::Error::Network(Error::Denied { .. })), "{error:?}");
        assert!(error.to_string().contains("it does not know the key"), "{error}");
    }
}

/// Shows the key, and believes nobody.
#[derive(Debug)]
struct Doubts;

impl Credentials for Doubts {
    fn headers<'a>(
        &'a self,
        _: &'a Operator,
        _: bool,
    ) -> BoxFuture<'a, Result<Vec<(String, String)>, String>> {
        Box::pin(async { Ok(vec![token()]) })
    }

    fn trusts(&self, call: &HeaderMap, status: u16, answer: &HeaderMap) -> bool {
        assert_eq!(call.get("authorization").unwrap(), token().1.as_str());
        assert_eq!(
            (status, answer.get("content-type").unwrap().as_bytes()),
            (200, &b"application/grpc"[..])
        );
        false
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_is_not_believed_is_no_answer() {
    let cluster = Cluster::start(1).await;
    cluster.fill("devices", devices(), Split(&[1])).await;
    let placement = Arc::clone(&cluster.places) as Arc<dyn ShardMap>;
    let sql =
        cluster.whole.sql().on_network(placement, Arc::new(Doubts), ConnectTimeouts::default());
    let error = sql.query(DBMS, "select * from devices", None).await.unwrap_err();
    assert!(matches!(error, sql::Error::Network(Error::Denied { .. })), "{error:?}");
    assert!(error.to_string().contains("does not prove to be of the network"), "{error}");
}

/// Sends a plan as it is, and gives what the operator says.
async fn send(node: &Node, version: &str, plan: Arc<dyn ExecutionPlan>) -> Result<(), String> {
    let address = format!("http://{}", node.operator.address);
    let channel = Endpoint::from_shared(address.clone()).unwrap().connect().await.unwrap();
    let mut client = create_worker_client(BoxCloneSyncChannel::new(channel));
    let mut headers = MetadataMap::new();
    let own = [("edgemere-protocol", version), ("edgemere-query", "of the tests")];
    let own = own.map(|(name, value)| (name.to_owned(), value.to_owned()));
    for (name, value) in own.into_iter().chain([token()]) {
        headers.insert(MetadataKey::from_bytes(name.as_bytes()).unwrap(), value.parse().unwrap());
    }
    let request = SetPlanRequest {
        task_key: TaskKey { query_id: uuid::Uuid::new_v4(), stage_id: 0, task_number: 0 },
        task_count: 1,
        plan: MaybeEncoded::Decoded(plan),
        work_unit_feed_declarations: vec![],
        target_worker_url: address.parse().unwrap(),
        query_start_time_ns: 0,
    };
    let nothing = stream::pending().boxed();
    let metrics = ExecutionPlanMetricsSet::new();
    let context = Arc::new(TaskContext::default());
    let sent =
        client.coordinator_channel(headers.into_headers(), request, nothing, metrics, &context);
    sent.await.map(drop).map_err(|error| chain(&error))
}

fn version() -> String {
    format!("2.0, DataFusion {}", datafusion::DATAFUSION_VERSION)
}

#[tokio::test(flavor = "multi_thread")]
async fn another_version_is_refused_with_both_versions() {
    let node = Node::start(0).await;
    let plan =
        Arc::new(datafusion::physical_plan::empty::EmptyExec::new(Arc::new(Schema::empty())));
    send(&node, &version(), plan.clone()).await.unwrap();
    let error = send(&node, "3, DataFusion 60.0.0", plan).await.unwrap_err();
    assert!(error.contains("3, DataFusion 60.0.0") && error.contains(&version()), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn plans_that_read_anything_else_are_refused() {
    let node = Node::start(0).await;
    let schema = Arc::new(Schema::empty());
    let file = PartitionedFile::new("/etc/passwd", 10);
    let source = Arc::new(ParquetSource::new(Arc::clone(&schema)));
    let config = FileScanConfigBuilder::new(ObjectStoreUrl::local_filesystem(), source)
        .with_file_groups(vec![FileGroup::new(vec![file])])
        .build();
    let error =
        send(&node, &version(), DataSourceExec::from_data_source(config)).await.unwrap_err();
    assert!(error.contains("does not run DataSourceExec for others"), "{error}");

    let explained = datafusion::physical_plan::explain::ExplainExec::new(schema, vec![], true);
    let error = send(&node, &version(), Arc::new(explained)).await.unwrap_err();
    assert!(error.contains("does not run ExplainExec for others"), "{error}");
}
