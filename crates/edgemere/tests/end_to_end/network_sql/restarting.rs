//! The master away, and everything restarted in any order: answers stay right.

use serde_json::json;

use super::dice::Dice;
use super::net::{Net, ROWS, store, text, until};
use crate::member::Member;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn queries_go_on_without_the_master_and_new_tables_arrive_after() {
    let mut net = Net::with_rows().await;
    net.master.kill();
    net.is_whole().await;
    store(net.one.up(), "later", "n\n1\n2\n").await;
    store(net.two.up(), "later", "n\n3\n").await;
    store(net.one.up(), "t", &format!("n,device,value\n{},sensor-0,1\n", 2 * ROWS)).await;
    let count = net.rows("select count(*) as c from t").await;
    assert_eq!(count, json!([{ "c": 2 * ROWS + 1 }]));
    // Not yet known, and told so: not a table without rows.
    let (status, unknown) = text(net.sql("json", "select count(*) from later")).await;
    assert_eq!(status, 404, "{unknown}");
    // An operator and the query node start again without the master.
    for member in [&mut net.two, &mut net.query] {
        member.kill();
        member.start();
    }
    let count = net.rows("select count(*) as c from t").await;
    assert_eq!(count, json!([{ "c": 2 * ROWS + 1 }]));
    net.master.start();
    net.knows("later").await;
    let sum = net.rows("select count(*) as c, sum(n) as s from later").await;
    assert_eq!(sum, json!([{ "c": 3, "s": 6 }]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everything_is_started_again_in_any_order() {
    let mut dice = Dice::of("EDGEMERE_RESTART_SEED");
    let mut net = Net::with_rows().await;
    for _ in 0..3 {
        let members = dice.shuffled(net.members().into_iter().collect());
        members.into_iter().for_each(Member::kill);
        let members = dice.shuffled(net.members().into_iter().collect());
        members.into_iter().for_each(Member::start);
        net.is_whole().await;
        store(net.one.up(), "more", "n\n1\n").await;
        store(net.two.up(), "more", "n\n1\n").await;
    }
    net.knows("more").await;
    until("all rows of the other table", async || {
        let rows = net.rows("select count(*) as c from more").await;
        (rows == json!([{ "c": 6 }])).then_some(())
    })
    .await;
}
