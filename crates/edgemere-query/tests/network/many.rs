//! Many operators: the answer is right, and what planning costs is printed.

use std::time::Instant;

use crate::answer::Answer;
use crate::rows::{Split, devices, readings};
use crate::{Cluster, DBMS};

const OPERATORS: usize = 64;

/// The same for all.
const EVENLY: Split = Split(&[1; OPERATORS]);

#[tokio::test(flavor = "multi_thread")]
async fn sixty_four_operators_answer_as_one() {
    let cluster = Cluster::start_patient(OPERATORS).await;
    cluster.fill("readings", readings(20_000), EVENLY).await;
    cluster.fill("devices", devices(), EVENLY).await;
    for sql in [
        "select count(*), avg(value) from readings",
        "select device, count(*) from readings group by device",
        "select id from readings order by value desc nulls last, id limit 10",
        "select d.site, count(*) from readings r join devices d on r.device = d.name group by d.site",
    ] {
        let began = Instant::now();
        cluster.network.explain(DBMS, sql).await.unwrap();
        let planned = began.elapsed();
        let began = Instant::now();
        let asked = cluster.ask(sql).await;
        let opened = began.elapsed();
        let answer = Answer::of(asked.query).await.unwrap();
        let all = began.elapsed();
        println!(
            "{OPERATORS} operators: planned in {planned:?}, begun in {opened:?}, all in {all:?}, {} rows: {sql}",
            answer.rows.len()
        );
        assert_eq!(cluster.difference(sql, false).await, None, "{sql}");
        assert_eq!(asked.progress.shares().len(), OPERATORS);
    }
}
