//! Sums and arithmetic at the limits of 64 bits, of rows on several operators: exact, or an error of the
//! caller, whatever an operator's own rows add up to.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch};
use edgemere_query::sql::QueryOptions;
use edgemere_storage::schema::{Kind, Schema};

use crate::answer::Answer;
use crate::rows::{Split, schema};
use crate::sql_model::chance::Chance;
use crate::{Cluster, chain};

/// Numbers whose sums have no room in 64 bits and come back into it.
fn rows(seed: u64) -> (Schema, RecordBatch) {
    let mut c = Chance::new(seed);
    let groups = Int64Array::from_iter_values((0..600).map(|row| row % 150));
    let limits = [i64::MAX, i64::MIN, i64::MAX / 2, 1, -1, 0];
    let numbers = (0..600).map(|_| (!c.one_in(9)).then(|| c.pick(&limits)));
    let numbers = Int64Array::from_iter(numbers);
    let columns: [(&str, ArrayRef); 2] = [("g", Arc::new(groups)), ("n", Arc::new(numbers))];
    let schema = schema(&[("g", Kind::Int), ("n", Kind::Int)]);
    (schema, RecordBatch::try_from_iter(columns).unwrap())
}

async fn answer(cluster: &Cluster, sql: &str) -> Result<Answer, String> {
    let asked =
        cluster.try_ask(sql, QueryOptions::default()).await.map_err(|error| chain(&error))?;
    Answer::of(asked.query).await.map_err(|error| chain(&error))
}

#[tokio::test(flavor = "multi_thread")]
async fn sums_of_operators_are_exact_or_fail() {
    let cluster = Cluster::start_patient(3).await;
    cluster.fill("t", rows(7), Split(&[40, 40, 20])).await;
    let (mut exact, mut failed) = (0, 0);
    for group in 0..150 {
        let numbers =
            answer(&cluster, &format!("select n from t where g = {group}")).await.unwrap();
        let numbers: Vec<i128> =
            numbers.rows.iter().filter_map(|row| row[0].as_i64()).map(i128::from).collect();
        let total = numbers.iter().sum::<i128>();
        let sum = format!("select sum(n) as s from t where g = {group}");
        let grouped = format!("select sum(n) as s from t where g = {group} group by g");
        for sql in [sum, grouped] {
            match (answer(&cluster, &sql).await, i64::try_from(total)) {
                (Ok(found), Ok(total)) => {
                    let expected = (!numbers.is_empty()).then_some(total);
                    assert_eq!(found.rows[0][0].as_i64(), expected, "{sql}");
                    exact += 1;
                }
                (Err(told), Err(_)) => {
                    assert!(told.contains("bigint out of range: a sum; write sum("), "{told}");
                    failed += 1;
                }
                (found, total) => panic!("{sql}: {found:?}, not {total:?}"),
            }
        }
    }
    assert!(exact > 50 && failed > 50, "{exact} and {failed}");
}

#[tokio::test(flavor = "multi_thread")]
async fn arithmetic_on_operators_fails_as_it_does_on_one_node() {
    let cluster = Cluster::start_patient(3).await;
    cluster.fill("t", rows(8), Split(&[40, 40, 20])).await;
    for sql in [
        "select n + 1 from t",
        "select n * 2 from t where n > 5",
        "select -n from t",
        "select count(*) from t where n - 2 < 5",
        "select sum(n - 1) from t",
        "select n + 1, count(*) from t group by 1",
        "select cast(n as decimal(38,0)) * 99999999999999999999999999999999999999 from t",
    ] {
        let told = answer(&cluster, sql).await.expect_err(sql);
        assert!(told.contains(" out of range: ") && told.contains("; cast one side to "), "{told}");
    }
    for sql in [
        "select n - 1 as m, g * 2 + 1, -g from t where n > -5",
        "select sum(cast(n as decimal(38,0))), avg(n), sum(g), sum(distinct g) from t",
        "select g, sum(cast(n as decimal(38,0))) from t group by g",
    ] {
        assert_eq!(cluster.difference(sql, false).await, None, "{sql}");
    }
}
