//! What the documentation lists completely: a node has nothing that the pages leave out.

use std::collections::BTreeSet;

use reqwest::Client;

use crate::support::Node;

const OPERATIONS: &str = include_str!("../../../../docs/guides/operations.md");

#[tokio::test]
async fn every_metric_is_in_the_guide_to_operations() {
    let node = Node::start(&[]);
    let metrics = Client::new().get(format!("{}/metrics", node.url())).send().await.unwrap();
    let metrics = metrics.text().await.unwrap();
    // A counter has another name in its lines than in its declaration.
    let name = |line: &str| {
        let (name, kind) = line.strip_prefix("# TYPE ")?.split_once(' ')?;
        Some(if kind == "counter" { format!("{name}_total") } else { name.to_owned() })
    };
    let served: BTreeSet<String> = metrics.lines().filter_map(name).collect();
    assert!(served.len() > 20, "{metrics}");
    let names = OPERATIONS.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    // The alerts of the page are conditions on metrics.
    let is_metric = |name: &&str| name.starts_with("edgemere_") && !name.contains(' ');
    let listed: BTreeSet<String> = names.filter(is_metric).map(str::to_owned).collect();
    assert_eq!(served, listed);
}
