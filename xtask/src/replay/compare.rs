//! Whether our answer says what EdgeLake's said.

use crate::{
    http::Answer,
    replay::{
        asked::Asked, exchange::Exchange, form::Form, masks::Masks, ports::Ports, same::same,
    },
};

/// Both sides of an exchange, in the form they are compared in.
#[derive(Debug)]
pub(crate) struct Sides {
    pub(crate) theirs: Form,
    pub(crate) ours: Form,
    /// Why they differ, when they do.
    pub(crate) difference: Option<String>,
}

/// What a comparison goes by.
pub(crate) struct Rules<'a> {
    pub(crate) ports: &'a Ports,
    pub(crate) masks: &'a Masks,
    /// Whether an error must come with an honest status. EdgeLake answers 200 for many errors, and
    /// a real one must match its own captures.
    pub(crate) honest: bool,
}

/// Compares an answer with the captured one.
pub(crate) fn compare(exchange: &Exchange, answer: &Answer, rules: &Rules<'_>) -> Sides {
    let theirs = settled(exchange, &rules.ports.rewrite(&exchange.reply), rules.masks);
    let ours = settled(exchange, &answer.body, rules.masks);
    let as_captured = !rules.honest && exchange.status == Some(answer.status.as_u16());
    let status = if as_captured { None } else { status(exchange, answer, &theirs, &ours) };
    let difference =
        status.or_else(|| (!same(&theirs, &ours)).then(|| "the replies differ".to_owned()));
    Sides { theirs, ours, difference }
}

/// A reply without what depends on the run, and without what a query leaves open.
pub(crate) fn settled(exchange: &Exchange, reply: &str, masks: &Masks) -> Form {
    let command = exchange.command().unwrap_or_default();
    let form = Form::of(reply).masked(|text| masks.apply(&command, text));
    match Asked::of(exchange) {
        Some(asked) => asked.settled(form),
        None => form,
    }
}

/// An error object counts as an error whatever status EdgeLake gave it; ours must tell the same
/// with its status.
fn status(exchange: &Exchange, answer: &Answer, theirs: &Form, ours: &Form) -> Option<String> {
    let failed = theirs.is_error() || exchange.status.is_none_or(|status| status >= 400);
    let expected = if failed { "an error" } else { "success" };
    let told = || format!("status {}, expected {expected}", answer.status.as_u16());
    dishonest(answer, ours).or_else(|| (failed != is_failure(answer)).then(told))
}

/// A status that contradicts the reply, which no node may give, whatever EdgeLake did.
pub(crate) fn dishonest(answer: &Answer, ours: &Form) -> Option<String> {
    let status = answer.status.as_u16();
    match (ours.is_error(), is_failure(answer)) {
        (true, false) => Some(format!("status {status} with an error object")),
        _ if status == 500 => Some("status 500: the node failed".to_owned()),
        _ => None,
    }
}

fn is_failure(answer: &Answer) -> bool {
    answer.status.is_client_error() || answer.status.is_server_error()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::exchange;
    use ureq::http::StatusCode;

    #[track_caller]
    fn difference(id: &str, status: u16, body: &str) -> Option<String> {
        let exchanges = exchange::load().unwrap();
        let exchange = exchanges.iter().find(|exchange| exchange.id == id).unwrap();
        let answer = Answer::new(StatusCode::from_u16(status).unwrap(), body.to_owned());
        let (ports, masks) = (&Ports::default(), &Masks::new().unwrap());
        let sides = |honest| compare(exchange, &answer, &Rules { ports, masks, honest });
        // What matches by the strict rules matches by the others too.
        assert!(sides(true).difference.is_some() || sides(false).difference.is_none());
        sides(true).difference
    }

    #[test]
    fn the_same_matches() {
        assert_eq!(difference("001_status", 200, "Query@127.0.0.1:33348 running\n"), None);
        assert_eq!(difference("131_bc_unknown", 200, "[]"), None);
        assert_eq!(difference("600_options", 204, ""), None);
    }

    #[test]
    fn an_error_of_theirs_with_200_is_an_error_of_ours_with_an_honest_status() {
        let body = r#"{"method": "get", "node": "127.0.0.1", "err_code": 155,
            "err_text": "Failed to determine destination node", "hint": "name a node"}"#;
        assert_eq!(difference("006_status_network", 400, body), None);
        let told = difference("006_status_network", 200, body).unwrap();
        assert_eq!(told, "status 200 with an error object");
    }

    #[test]
    fn a_real_edgelake_may_answer_as_it_did() {
        let exchanges = exchange::load().unwrap();
        let (ports, masks) = (&Ports::default(), &Masks::new().unwrap());
        for exchange in exchanges.iter().filter(|exchange| exchange.status.is_some()) {
            let status = StatusCode::from_u16(exchange.status.unwrap()).unwrap();
            let answer = Answer::new(status, exchange.reply.clone());
            let sides = compare(exchange, &answer, &Rules { ports, masks, honest: false });
            assert_eq!(sides.difference, None, "{}", exchange.id);
        }
    }

    #[test]
    fn what_differs_is_told() {
        assert_eq!(difference("001_status", 200, "running").unwrap(), "the replies differ");
        let told = difference("001_status", 404, "").unwrap();
        assert_eq!(told, "status 404, expected success");
        let told = difference("615_delete", 200, "").unwrap();
        assert_eq!(told, "status 200, expected an error");
        let told = difference("615_delete", 500, "").unwrap();
        assert_eq!(told, "status 500: the node failed");
    }
}
