//! `job status`: queries, and how each node is doing with them, in few words.

use edgemere_query::sql::Status as Query;
use serde_json::{Value, json};

use crate::commands::query::asked::OnQueries;
use crate::commands::query::told::{ALL, LOCAL, clock, query_json, share_status, status};
use crate::declaration::Declaration;
use crate::format::table::Table;
use crate::reply::Reply;

pub(crate) struct Status;

impl OnQueries for Status {
    const DECLARATION: &'static Declaration = &Declaration {
        name: "job status",
        usage: "job status [NUMBER|all] [where format = FORMAT]",
        about: "Summarizes the progress of the last query, of one query, or of all, for each node.",
        details: "\
\"all\" means all running queries and the last hundred that ended: one line for each query and \
one for each operator that it was sent to. \"query status\" shows more about the same queries, \
and \"job stop NUMBER\" cancels one.",
        examples: &["job status", "job status all", "job status 8 where format = json"],
        ..Declaration::READ
    };

    fn report(queries: &[Query]) -> Reply {
        let mut table = Table::new(["Job", "Run Time", "Node", "Command/Status"]);
        for query in queries {
            let is_local = query.operators.is_empty();
            let node = if is_local { LOCAL } else { ALL };
            table.push([
                json!(query.id),
                json!(clock(query.elapsed)),
                json!(node),
                json!(query.sql),
            ]);
            table.push([Value::Null, Value::Null, Value::Null, json!(status(query))]);
            for share in &query.operators {
                table.push([
                    Value::Null,
                    json!(clock(share.time)),
                    json!(share.operator.address),
                    json!(share_status(share)),
                ]);
            }
        }
        // Agents are given as much as fits: that must be the queries that run, not those long over.
        let newest_first = queries.iter().rev().map(query_json).collect();
        Reply::table(table)
            .with_json(queries.iter().map(query_json).collect())
            .with_mcp(newest_first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::query::told::tests::on_two_operators;
    use crate::reply::Body;

    #[test]
    fn agents_see_the_last_query_first() {
        let earlier = Query { id: 7, ..on_two_operators() };
        let mcp = Status::report(&[earlier, on_two_operators()]).mcp.unwrap();
        assert_eq!([&mcp[0]["job"], &mcp[1]["job"]], [8, 7]);
    }

    #[test]
    fn each_node_has_a_line_under_the_query() {
        let Body::Table(table) = Status::report(&[on_two_operators()]).body else {
            panic!("no table");
        };
        let expected = "
Job Run Time     Node            Command/Status                                                   
---|------------|---------------|----------------------------------------------------------------|
  8|00:00:01.500|All            |select v from t                                                 |
   |            |               |Running                                                         |
   |00:00:00.250|127.0.0.1:32148|Completed                                                       |
   |00:01:00.000|127.0.0.1:32158|Missing: operator b (127.0.0.1:32158) cannot be reached: refused|
";
        assert_eq!(table.to_string(), expected);
    }
}
