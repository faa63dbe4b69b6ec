//! Why a query of the network fails because of an operator. An error names the operator.

use std::error::Error as StdError;
use std::io;
use std::time::Duration;

use datafusion::error::DataFusionError;
use tonic::{Code, Status};

use super::shards::Operator;
use crate::sql::{log_error, told_error};

/// What went wrong with an operator.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// It cannot be reached.
    #[error("operator {operator} cannot be reached: {reason}")]
    Unreachable {
        /// The operator.
        operator: Operator,
        /// What the network says.
        reason: String,
    },
    /// It does not answer.
    #[error("operator {operator} did not answer for {} s", time.as_secs_f32())]
    Silent {
        /// The operator.
        operator: Operator,
        /// How long it was waited for.
        time: Duration,
    },
    /// It was lost before it had sent everything.
    #[error("operator {operator} was lost before it had sent all of its rows: {reason}")]
    Lost {
        /// The operator.
        operator: Operator,
        /// What is known of it.
        reason: String,
    },
    /// It speaks another version of the protocol.
    #[error("operator {operator} has another version: {reason}")]
    Version {
        /// The operator.
        operator: Operator,
        /// What it says.
        reason: String,
    },
    /// It is not what the ledger says: another data folder, or one that has lost rows.
    #[error("operator {operator} is not the one of the ledger: {reason}")]
    Another {
        /// The operator.
        operator: Operator,
        /// What it says.
        reason: String,
    },
    /// It does not know who asks.
    #[error("operator {operator} refused this node: {reason}")]
    Denied {
        /// The operator.
        operator: Operator,
        /// What it says.
        reason: String,
    },
    /// It ran its part, and that failed.
    #[error("operator {operator} failed: {reason}")]
    Failed {
        /// The operator.
        operator: Operator,
        /// What it says.
        reason: String,
    },
    /// It has a column of a type that this node's ledger does not tell yet.
    #[error("operator {operator} is ahead of this node's ledger: {reason}")]
    Ahead {
        /// The operator.
        operator: Operator,
        /// What it says.
        reason: String,
    },
    /// Its part needs more memory than it may have there.
    #[error("operator {operator} needs more memory than the query may have there")]
    OutOfMemory {
        /// The operator.
        operator: Operator,
    },
    /// It cannot read its rows.
    #[error("operator {operator} cannot read all of its rows: {reason}")]
    Damaged {
        /// The operator.
        operator: Operator,
        /// What it says.
        reason: String,
    },
    /// None of them answers, where the rows of some of them would have done.
    #[error("none of the operators can give its rows: {first}")]
    NoneLeft {
        /// What went wrong with the first.
        first: Box<Self>,
    },
    /// There is no operator to ask.
    #[error("no operator holds the table \"{table}\"")]
    NoOperator {
        /// The table.
        table: String,
    },
}

impl Error {
    /// What to do next, where there is something.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Unreachable { .. } | Self::Silent { .. } | Self::Lost { .. } => Some(
                "try again, or ask for the rows of the other operators with subset = true".into(),
            ),
            Self::Damaged { .. } => Some(
                "ask for the other rows with subset = true, and see \"get partitions\" on the operator"
                    .into(),
            ),
            Self::Another { operator, .. } => Some(format!(
                "bring its data folder back, or take it as it is for good with \"accept operator \
                 {name}\"; \"drop operator {name}\" takes it out, and subset = true leaves it out",
                name = operator.name
            )),
            Self::NoneLeft { first } => Some(match first.as_ref() {
                Self::Another { operator, .. } => format!(
                    "bring its data folder back, or take it as it is for good with \"accept operator \
                     {}\"",
                    operator.name
                ),
                _ => "start an operator, and ask again; \"test network\" shows which nodes answer"
                    .into(),
            }),
            Self::Version { .. } => Some("run the same version of Edgemere on all nodes".into()),
            Self::Denied { .. } => Some("give both nodes the same network key".into()),
            Self::OutOfMemory { .. } => {
                Some("ask again in a few seconds, ask for less, or aggregate".into())
            }
            Self::Ahead { .. } => Some(
                "ask again in a few seconds, when the ledger has come; \"get synchronizer\" tells how far it is"
                    .into(),
            ),
            Self::NoOperator { .. } => Some("see \"get data nodes\"".into()),
            Self::Failed { .. } => None,
        }
    }

    /// The operator.
    pub fn operator(&self) -> Option<&Operator> {
        match self {
            Self::Unreachable { operator, .. }
            | Self::Silent { operator, .. }
            | Self::Lost { operator, .. }
            | Self::Version { operator, .. }
            | Self::Another { operator, .. }
            | Self::Denied { operator, .. }
            | Self::Failed { operator, .. }
            | Self::Ahead { operator, .. }
            | Self::Damaged { operator, .. }
            | Self::OutOfMemory { operator, .. } => Some(operator),
            Self::NoneLeft { first } => first.operator(),
            Self::NoOperator { .. } => None,
        }
    }

    /// How an operator reports rows that it cannot read.
    pub(super) const DAMAGE: io::ErrorKind = io::ErrorKind::InvalidData;

    /// How an operator reports that the query node's ledger is behind its own tables.
    pub(super) const AHEAD: io::ErrorKind = io::ErrorKind::StaleNetworkFileHandle;

    /// Whether the operator is away or its rows are, so that another one with the same rows may be
    /// asked, or the rows of the others are an answer. What an operator says of the query itself would be said by
    /// every other one too.
    pub fn is_absence(&self) -> bool {
        matches!(
            self,
            Self::Unreachable { .. }
                | Self::Silent { .. }
                | Self::Lost { .. }
                | Self::Damaged { .. }
                | Self::Another { .. }
        )
    }

    /// The error of an operator inside an error of DataFusion's.
    pub(crate) fn find(error: &DataFusionError) -> Option<Self> {
        let mut at: &(dyn StdError + 'static) = error;
        loop {
            if let Some(found) = at.downcast_ref::<Self>() {
                return Some(found.clone());
            }
            at = match at.downcast_ref::<DataFusionError>() {
                Some(DataFusionError::External(inner)) => {
                    if let Some(found) = inner.downcast_ref::<Self>() {
                        return Some(found.clone());
                    }
                    inner.source()?
                }
                _ => at.source()?,
            };
        }
    }

    /// What a failed call to an operator means. `begun` is whether it had accepted its task.
    pub(super) fn of_call(operator: &Operator, error: &DataFusionError, begun: bool) -> Self {
        let operator = operator.clone();
        let Some(status) = status(error) else {
            log_error(error);
            let reason = told_error(error).message;
            return match error.find_root() {
                DataFusionError::ResourcesExhausted(_) => Self::OutOfMemory { operator },
                DataFusionError::IoError(error) if error.kind() == Self::DAMAGE => {
                    Self::Damaged { operator, reason: error.to_string() }
                }
                DataFusionError::IoError(error) if error.kind() == Self::AHEAD => {
                    Self::Ahead { operator, reason: error.to_string() }
                }
                _ => Self::Failed { operator, reason },
            };
        };
        let reason = said(status);
        match status.code() {
            Code::Aborted if !begun => Self::Another { operator, reason },
            Code::FailedPrecondition => Self::Version { operator, reason },
            Code::Unauthenticated | Code::PermissionDenied => Self::Denied { operator, reason },
            Code::Unimplemented => Self::Version {
                operator,
                reason: "it does not answer queries of the network".into(),
            },
            _ if begun => Self::Lost { operator, reason },
            _ => Self::Unreachable { operator, reason },
        }
    }
}

impl From<Error> for DataFusionError {
    fn from(error: Error) -> Self {
        Self::External(Box::new(error))
    }
}

/// The status of a call inside an error of DataFusion's.
fn status(error: &DataFusionError) -> Option<&Status> {
    match error {
        DataFusionError::External(inner) => inner.downcast_ref::<Status>(),
        DataFusionError::Context(_, inner) | DataFusionError::Diagnostic(_, inner) => status(inner),
        DataFusionError::Shared(inner) => status(inner),
        _ => None,
    }
}

/// What a status says, down to its first cause, which is where the network tells what happened.
fn said(status: &Status) -> String {
    let mut cause: Option<&dyn StdError> = status.source();
    let mut text = status.message().to_owned();
    while let Some(error) = cause {
        text = error.to_string();
        cause = error.source();
    }
    text
}
