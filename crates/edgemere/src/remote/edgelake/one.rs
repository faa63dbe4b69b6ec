//! What one of several nodes answered, by way of the node that was asked: `{"ADDRESS": {…}}`, or a text as
//! `[From Node ADDRESS] …`.

use edgemere_command::Kind;
use edgemere_tools::Failure;
use serde_json::Value;

/// What EdgeLake says of a node that does not answer.
const SILENT: &str = "not responding";

/// The answer of the node at an address.
pub(super) fn answer(reply: Value, address: &str) -> Result<Value, Failure> {
    let silent = || {
        let hint = "is it running? ask again later, or only the others";
        Failure::new(Kind::Unavailable, "the node does not respond", Some(hint.into()))
    };
    match reply {
        Value::Object(mut nodes) if nodes.contains_key(address) => {
            let answer = nodes.remove(address).unwrap_or_default();
            match &answer {
                Value::String(text) if text.to_lowercase().contains(SILENT) => Err(silent()),
                _ => Ok(answer),
            }
        }
        Value::String(text) => {
            let own = text.split_once(&format!("[From Node {address}]"));
            let own = own.map_or(text.as_str(), |(_, own)| own).trim();
            match own.is_empty() || own.to_lowercase().contains(SILENT) {
                true => Err(silent()),
                false => Ok(serde_json::from_str(own).unwrap_or_else(|_| own.into())),
            }
        }
        // An object without addresses is the answer itself, of which its messages are no part.
        Value::Object(nodes) if nodes.keys().eq(["messages"]) => Err(silent()),
        other => Ok(other),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const AT: &str = "127.0.0.1:36148";

    #[test]
    fn an_answer_is_taken_out_of_what_names_its_node() {
        let cases = [
            (json!({ AT: { "status": "running" } }), json!({ "status": "running" })),
            (json!(format!("[From Node {AT}] {{\"Average\": 0.5}}")), json!({ "Average": 0.5 })),
            (json!(format!("\r\n[From Node {AT}] some text")), json!("some text")),
            (json!({ "Average": 0.5 }), json!({ "Average": 0.5 })),
        ];
        for (reply, expected) in cases {
            assert_eq!(answer(reply.clone(), AT).unwrap(), expected, "{reply}");
        }
    }

    #[test]
    fn a_node_that_does_not_respond_is_told() {
        for reply in [
            json!(format!("[From Node {AT}] Not responding")),
            json!("[From Node :] Not responding"),
            json!({ AT: "Not responding" }),
            json!({ "messages": format!("[From Node {AT}] Not responding") }),
            json!(""),
        ] {
            assert_eq!(answer(reply.clone(), AT).unwrap_err().kind, Kind::Unavailable, "{reply}");
        }
    }
}
