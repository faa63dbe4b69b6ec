//! The next step after each failure. How a door says it is in `door.rs`.

use edgemere_query::distributed;
use edgemere_query::sql::Error as SqlError;
use edgemere_service::{self as service, Effect, jobs};
use edgemere_storage::{Error as NotStored, storage};

use super::{Error, Hint};

const ONLY_NODES: &str = "\"test network\" lists the nodes; only an admin reaches other addresses";

const ONLY_VARIABLES: &str =
    "write <name = value> for each variable, and the command itself in the header \"command\"";

impl Error {
    /// What to do next, where there is something.
    pub fn hint(&self) -> Option<Hint> {
        match self {
            Self::WrongMethod { .. } => Some(Hint::UsePost),
            Self::NotMaster { master: Some(master) } => {
                Some(Hint::SendToMaster { master: master.clone() })
            }
            Self::Service(error) => of_service(error),
            Self::ScriptLine { source, .. } => source.hint(),
            _ => self.text().map(Hint::from),
        }
    }

    /// What to do next, where every door says it alike.
    fn text(&self) -> Option<String> {
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
            Self::Secret { .. } => Some("a node shows secrets to nobody".into()),
            Self::UnknownAddress { .. } => Some(ONLY_NODES.into()),
            Self::NotAssignment { .. } => Some(ONLY_VARIABLES.into()),
            Self::PeerUnreachable { .. } | Self::PeerTimeout { .. } => {
                Some("\"test network\" shows which nodes answer".into())
            }
            Self::NotMaster { .. } => {
                Some("send it to the master, or use \"blockchain add\" for this node alone".into())
            }
            Self::ExternalDatabase { dbms, .. } => Some(format!(
                "\"connect dbms {dbms} where type = edgemere\" keeps its rows on this node"
            )),
            Self::Columns { .. } => {
                Some("write NAME TYPE, …: \"help create table\" lists the types".into())
            }
            Self::NoPartition { .. } => Some("\"get partitions\" lists the partitions".into()),
            Self::NoQuery { .. } => Some("\"query status all\" lists the queries".into()),
            Self::NoResult { .. } => {
                Some("results are kept for an hour: ask the query again".into())
            }
            _ => None,
        }
    }
}

/// What to do next after a failure of the service.
fn of_service(error: &service::Error) -> Option<Hint> {
    use service::Error;
    let text = match error {
        Error::OnlyOnNetwork(_) => return Some(Hint::AskNetwork),
        Error::Query(error) => return of_sql(error),
        Error::Job(jobs::Error::Query(error)) => return of_sql(error),
        Error::Storage(edgemere_query::Error::Storage(NotStored::Storage(error))) => {
            return of_storage(error);
        }
        Error::Storage(edgemere_query::Error::Sql(error)) => return of_sql(error),
        Error::Storage(error) => return error.hint().map(Hint::from),
        Error::Ledger(error) => return error.hint().map(Hint::from),
        Error::Job(error) => return error.hint().map(Hint::from),
        Error::Denied { effect: Effect::Secret, .. } => "a node shows secrets to nobody",
        Error::Denied { .. } => "ask an admin, or start the node with another --access",
        Error::Busy => "try again in a moment",
        Error::NoCursor { .. } => {
            "a cursor is good once, for a few minutes: ask the query again, with a LIMIT and an \
             OFFSET to begin further on"
        }
        Error::CursorDropped { .. } => {
            "fetch the next page within a few seconds, ask for fewer rows, or have them kept as a \
             job: POST /api/v1/jobs"
        }
        Error::NotOperator => "send the rows to an operator: \"get data nodes\" lists them",
        Error::SameContent { .. } => "to store it once more, send it with mode: streaming",
    };
    Some(text.into())
}

fn of_sql(error: &SqlError) -> Option<Hint> {
    match error {
        SqlError::TimeOut { .. } => Some(Hint::MoreTime),
        SqlError::Missing { .. } => Some(Hint::SeeMissing),
        SqlError::Network(error) => of_network(error),
        SqlError::Storage(error) => of_storage(error),
        other => other.hint().map(Hint::from),
    }
}

fn of_network(error: &distributed::Error) -> Option<Hint> {
    use distributed::Error;
    match error {
        Error::Unreachable { .. } | Error::Silent { .. } | Error::Lost { .. } => {
            Some(Hint::TakeSubset)
        }
        Error::Damaged { .. } => Some(Hint::TakeUndamaged),
        Error::NoneLeft { first } if !matches!(**first, Error::Another { .. }) => {
            Some(Hint::StartOperator)
        }
        Error::Another { operator, .. } => Some(Hint::LeaveOut { operator: operator.name.clone() }),
        other => other.hint().map(Hint::from),
    }
}

fn of_storage(error: &storage::Error) -> Option<Hint> {
    match error {
        storage::Error::Unreadable { dbms, table, file, .. } => Some(Hint::TakeOtherFiles {
            dbms: dbms.to_string(),
            table: table.to_string(),
            file: file.to_string(),
        }),
        other => other.hint().map(Hint::from),
    }
}
