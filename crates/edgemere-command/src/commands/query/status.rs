//! `query status`: how far queries are, on each node, and how they ended.

use edgemere_query::distributed::OperatorProgress;
use edgemere_query::sql::Status as Query;
use serde_json::{Value, json};

use super::asked::OnQueries;
use super::told::{ALL, LOCAL, clock, query_json, share_status, status};
use crate::declaration::Declaration;
use crate::format::table::Table;
use crate::reply::Reply;

pub(crate) struct Status;

impl OnQueries for Status {
    const DECLARATION: &'static Declaration = &Declaration {
        name: "query status",
        usage: "query status [NUMBER|all] [where format = FORMAT]",
        about: "Shows the progress of the last query, of one query, or of all.",
        details: "\
It shows the caller, the start, the time to the first rows, and how many rows and batches were \
returned so far. A query of the network has a line for each operator: its state, its rows, bytes \
and time, and why it failed or is missing. \"all\" means all running queries and the last \
hundred that ended. Only an admin sees the statements of other callers; everyone else sees only \
their figures. \"job stop NUMBER\" cancels a query.",
        examples: &["query status", "query status all where format = json", "query status 8"],
        ..Declaration::READ
    };

    fn report(queries: &[Query]) -> Reply {
        let mut table = Table::new([
            "Job",
            "Started",
            "By",
            "DBMS",
            "Run Time",
            "First Row",
            "Operator",
            "Name",
            "Status",
            "Blocks",
            "Rows",
            "Bytes",
            "Command",
        ]);
        for query in queries {
            table.push(row(query));
            for share in &query.operators {
                table.push(share_row(share));
            }
        }
        Reply::table(table).with_json(queries.iter().map(query_json).collect())
    }
}

fn row(query: &Query) -> [Value; 13] {
    let (operator, bytes) = match query.operators.is_empty() {
        true => (LOCAL, None),
        false => (ALL, Some(query.operators.iter().map(|share| share.bytes).sum::<u64>())),
    };
    [
        json!(query.id),
        json!(query.started.strftime("%Y-%m-%d %H:%M:%S").to_string()),
        json!(query.caller),
        json!(query.dbms),
        json!(clock(query.elapsed)),
        json!(query.first_rows.map(clock)),
        json!(operator),
        Value::Null,
        json!(status(query)),
        json!(query.batches),
        json!(query.rows),
        json!(bytes),
        json!(query.sql),
    ]
}

fn share_row(share: &OperatorProgress) -> [Value; 13] {
    [
        Value::Null,
        Value::Null,
        Value::Null,
        Value::Null,
        json!(clock(share.time)),
        Value::Null,
        json!(share.operator.address),
        json!(share.operator.name),
        json!(share_status(share)),
        Value::Null,
        json!(share.rows),
        json!(share.bytes),
        Value::Null,
    ]
}

#[cfg(test)]
mod tests {
    use super::super::told::tests::{AWAY, on_two_operators};
    use super::*;
    use crate::format::to_json;
    use crate::reply::Body;

    #[test]
    fn a_query_of_the_network_has_a_line_for_each_operator() {
        let Body::Table(table) = Status::report(&[on_two_operators()]).body else {
            panic!("no table");
        };
        let expected = "
Job Started             By  DBMS Run Time     First Row    Operator        Name Status                                                           Blocks Rows Bytes Command         
---|-------------------|---|----|------------|------------|---------------|----|----------------------------------------------------------------|------|----|-----|---------------|
  8|2026-01-02 03:04:05|ann|d   |00:00:01.500|00:00:00.020|All            |    |Running                                                         |     2|  20|  640|select v from t|
   |                   |   |    |00:00:00.250|            |127.0.0.1:32148|a   |Completed                                                       |      |  20|  640|               |
   |                   |   |    |00:01:00.000|            |127.0.0.1:32158|b   |Missing: operator b (127.0.0.1:32158) cannot be reached: refused|      |   0|    0|               |
";
        assert_eq!(table.to_string(), expected);
    }

    #[test]
    fn programs_get_an_object_for_each_operator() {
        let told = to_json(Status::report(&[on_two_operators()]));
        assert_eq!(
            told[0]["operators"][1],
            json!({
                "address": "127.0.0.1:32158", "name": "b", "state": "missing", "rows": 0, "bytes": 0,
                "rows_read": 0, "time_ms": 60_000, "error": AWAY,
            })
        );
        assert_eq!(told[0]["operators"][0]["state"], "done");
        assert_eq!(told[0]["operators"][0]["error"], Value::Null);
    }
}
