//! What goes to operators and what stays: the plans, as `explain` shows them.

use edgemere_query::distributed::Explained;

use crate::rows::Split;
use crate::{Cluster, DBMS};

async fn cluster() -> Cluster {
    let cluster = Cluster::start(3).await;
    cluster.fill_all(3000, Split(&[34, 33, 33])).await;
    cluster
}

async fn explained(cluster: &Cluster, sql: &str) -> Explained {
    cluster.network.explain(DBMS, sql).await.unwrap().network.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_that_need_nothing_more_are_passed_through() {
    let cluster = cluster().await;
    for sql in [
        "select * from readings",
        "select id, value * 2 from readings where n > 3",
        "select id from readings limit 10",
        "select device from alerts union all select name from devices",
    ] {
        let explained = explained(&cluster, sql).await;
        assert!(explained.pass_through, "{sql}\n{explained}");
    }
    for sql in ["select count(*) from readings", "select id from readings order by id"] {
        let explained = explained(&cluster, sql).await;
        assert!(!explained.pass_through, "{sql}\n{explained}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn operators_do_all_that_they_can() {
    let cluster = cluster().await;
    for (sql, there) in [
        ("select id from readings where n = 1", "FilterExec: n@1 = 1"),
        ("select device, avg(value) from readings group by device", "mode=Partial"),
        ("select count(*) from readings where n = 1", "mode=Partial"),
        ("select id from readings order by value limit 10", "TopK(fetch=10)"),
        // The bound that all parts share is about all keys, also one that is the same in each part.
        (
            "select t, id from (select 'b' as t, id from readings union all select 'a', id from readings) q \
             order by t, id limit 9",
            "TopK(fetch=9), expr=[t@0 ASC NULLS LAST, id@1 ASC NULLS LAST]",
        ),
        ("select id from readings limit 10", "fetch=10"),
        ("select id from readings where n > 5 limit 10", "fetch=10"),
        ("select distinct device from readings", "mode=Partial"),
        (
            "select count(*) from readings where value > (select avg(value) from readings)",
            "FilterExec",
        ),
        (
            "select count(*) from (select n from readings union all select level from alerts) u",
            "mode=Partial",
        ),
        (
            "select count(*) from readings r join (values ('device-01')) v(d) on r.device = v.d",
            "mode=Partial",
        ),
    ] {
        let explained = explained(&cluster, sql).await;
        assert!(explained.parts[0].plan.contains(there), "{sql}\n{explained}");
        assert_eq!(explained.parts[0].operators.len(), 3);
        assert!(!explained.consolidation.contains("Scan"), "{explained}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_explanation_is_for_people() {
    let cluster = cluster().await;
    let sql = "select device, avg(value) from readings where n > 5 group by device";
    let text = explained(&cluster, sql).await.to_string();
    assert!(text.starts_with("consolidation\neach of operator-0 (127.0.0.1:"), "{text}");
    assert!(text.contains("Scan: d.readings [device, value, n]"), "{text}");
    assert!(text.contains("the query node:\n"), "{text}");
    assert!(text.contains("Gather: parts=3"), "{text}");
}
