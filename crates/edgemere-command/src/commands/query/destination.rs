//! `query destination`: the nodes that queries were sent to.

use edgemere_query::distributed::OperatorProgress;
use edgemere_query::sql::Status;
use serde_json::{Value, json};

use super::asked::OnQueries;
use super::told::LOCAL;
use crate::declaration::Declaration;
use crate::format::table::Table;
use crate::reply::Reply;

pub(crate) struct Destination;

impl OnQueries for Destination {
    const DECLARATION: &'static Declaration = &Declaration {
        name: "query destination",
        usage: "query destination [NUMBER|all] [where format = FORMAT]",
        about: "Lists the operators that the last query, one query, or all were sent to.",
        details: "A query of this node's own rows was sent to none, and is shown as \"local\".",
        examples: &["query destination", "query destination 8 where format = json"],
        ..Declaration::READ
    };

    fn report(queries: &[Status]) -> Reply {
        let mut table = Table::new(["Job", "Destination", "Name", "DBMS", "Command"]);
        for query in queries {
            let mut nodes: Vec<_> = query
                .operators
                .iter()
                .map(|share| (share.operator.address.as_str(), Some(share.operator.name.as_str())))
                .collect();
            if nodes.is_empty() {
                nodes.push((LOCAL, None));
            }
            for (index, (address, name)) in nodes.into_iter().enumerate() {
                let first = |value: Value| if index == 0 { value } else { Value::Null };
                table.push([
                    first(json!(query.id)),
                    json!(address),
                    json!(name),
                    json!(query.dbms),
                    first(json!(query.sql)),
                ]);
            }
        }
        Reply::table(table).with_json(queries.iter().map(object).collect())
    }
}

fn object(query: &Status) -> Value {
    let node = |share: &OperatorProgress| json!({ "address": share.operator.address, "name": share.operator.name });
    json!({
        "job": query.id,
        "dbms": query.dbms,
        "sql": query.sql,
        "destinations": query.operators.iter().map(node).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::super::told::tests::on_two_operators;
    use super::*;
    use crate::format::to_json;
    use crate::reply::Body;

    #[test]
    fn each_operator_is_a_destination() {
        let Body::Table(table) = Destination::report(&[on_two_operators()]).body else {
            panic!("no table");
        };
        let expected = "
Job Destination     Name DBMS Command         
---|---------------|----|----|---------------|
  8|127.0.0.1:32148|a   |d   |select v from t|
   |127.0.0.1:32158|b   |d   |               |
";
        assert_eq!(table.to_string(), expected);
        let told = to_json(Destination::report(&[on_two_operators()]));
        let first = json!({ "address": "127.0.0.1:32148", "name": "a" });
        assert_eq!(told[0]["destinations"][0], first);
    }
}
