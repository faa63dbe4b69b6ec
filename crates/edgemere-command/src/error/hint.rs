//! The next step after a failure.

use super::Error;
use crate::declaration::Effect;

const ONLY_NODES: &str = "\"test network\" lists the nodes; only an admin reaches other addresses";

const ONLY_VARIABLES: &str =
    "write <name = value> for each variable, and the command itself in the header \"command\"";

impl Error {
    /// What to do next, where there is something.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Syntax { hint, .. }
            | Self::UnknownCommand { hint, .. }
            | Self::UnknownVariable { hint, .. }
            | Self::UnknownTable { hint, .. }
            | Self::UnknownDatabase { hint, .. }
            | Self::UnknownOperator { hint, .. }
            | Self::NoHelp { hint, .. }
            | Self::File { hint, .. } => hint.clone(),
            Self::NoDestination { hint, .. } => Some(hint.clone()),
            Self::PeerDenied { hint, .. } => Some((*hint).to_owned()),
            Self::NameTaken { .. } => Some("start this node with another --name".into()),
            Self::PeerVersion { .. } => Some("run the same version of Edgemere on both".into()),
            Self::MissingKey { usage, .. } => Some(format!("usage: {usage}")),
            Self::NotPolicy { .. } => Some("write it as {\"TYPE\": {\"name\": …}}".into()),
            Self::WrongMethod { .. } => Some("send it with POST".into()),
            Self::Secret { .. } => Some("a node shows secrets to nobody".into()),
            Self::UnknownAddress { .. } => Some(ONLY_NODES.into()),
            Self::NotAssignment { .. } => Some(ONLY_VARIABLES.into()),
            Self::Denied { effect: Effect::Secret, .. } => {
                Some("a node shows secrets to nobody".into())
            }
            Self::Denied { .. } => {
                Some("ask an admin, or start the node with another --access".into())
            }
            Self::PeerUnreachable { .. } | Self::PeerTimeout { .. } => {
                Some("\"test network\" shows which nodes answer".into())
            }
            Self::NotMaster { master } => Some(match master {
                Some(master) => format!("send it to the master: destination {master}"),
                None => {
                    "send it to the master, or use \"blockchain add\" for this node alone".into()
                }
            }),
            Self::ExternalDatabase { dbms, .. } => Some(format!(
                "\"connect dbms {dbms} where type = edgemere\" keeps its rows on this node"
            )),
            Self::Columns { .. } => {
                Some("write NAME TYPE, …: \"help create table\" lists the types".into())
            }
            Self::NoPartition { .. } => Some("\"get partitions\" lists the partitions".into()),
            Self::NoQuery { .. } => Some("\"query status all\" lists the queries".into()),
            Self::NoCursor { .. } => Some(
                "a cursor is good once, for a few minutes: ask the query again, with a LIMIT and an \
                 OFFSET to begin further on"
                    .into(),
            ),
            Self::CursorDropped { .. } => Some(
                "fetch the next page within a few seconds, ask for fewer rows, or have them kept as \
                 a job: POST /api/v1/jobs"
                    .into(),
            ),
            Self::NoResult { .. } => Some("results are kept for an hour: ask the query again".into()),
            Self::Ledger(error) => error.hint(),
            Self::Sql(error) => error.hint(),
            Self::OnNetwork(_) => Some(
                "the network has it: ask with \"run client () sql …\" or the header \"destination: \
                 network\""
                    .into(),
            ),
            Self::Job(error) => error.hint(),
            Self::NotOperator => {
                Some("send the rows to an operator: \"get data nodes\" lists them".into())
            }
            Self::SameContent { .. } => {
                Some("to store it once more, send it with mode: streaming".into())
            }
            Self::Engine(error) => error.hint(),
            Self::ScriptLine { source, .. } => source.hint(),
            _ => None,
        }
    }
}
