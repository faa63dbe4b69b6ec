//! Where a reply comes from: this node, operators, or other nodes that ran the command.

use edgemere_query::distributed::{OperatorProgress, State};
use edgemere_query::sql::{Rows as _, Watched};

use super::source::Source;
use crate::reply::NodeReply;

/// Where a reply comes from.
#[derive(Clone, Debug, Default)]
pub enum Sources {
    /// This node alone.
    #[default]
    Here,
    /// A query, here or on operators. It knows more when its rows have been read.
    Query(Watched),
    /// Operators, as they were when their rows were put together.
    Operators {
        /// What each did; nothing when the rows are this node's.
        shares: Vec<OperatorProgress>,
        /// The rows that are not in it, because their files are damaged.
        missing_rows: Vec<String>,
    },
    /// Nodes that the command was sent to.
    Nodes {
        /// All of them.
        asked: Vec<String>,
        /// Those that did not answer.
        missing: Vec<String>,
    },
}

impl Sources {
    pub(super) fn of_rows(rows: &Source) -> Self {
        match rows.watched() {
            Some(query) => Self::Query(query),
            None => Self::Operators { shares: rows.operators(), missing_rows: rows.missing_rows() },
        }
    }

    pub(super) fn of_nodes(replies: &[NodeReply]) -> Self {
        let silent = replies.iter().filter(|reply| reply.answer.is_err());
        Self::Nodes {
            missing: silent.map(|reply| reply.name.clone()).collect(),
            asked: replies.iter().map(|reply| reply.name.clone()).collect(),
        }
    }

    /// The nodes that were asked; nobody where this node answers alone.
    pub fn asked(&self) -> Vec<String> {
        match self {
            Self::Nodes { asked, .. } => asked.clone(),
            _ => self.shares().iter().map(|share| share.operator.to_string()).collect(),
        }
    }

    /// The operators and the files whose rows are not in it, or the nodes that did not answer, as far as that is known
    /// now: only when a subset was asked for. One that is lost later is reported at the end, or there is no
    /// good end.
    pub fn missing(&self) -> Vec<String> {
        match self {
            Self::Nodes { missing, .. } => missing.clone(),
            _ => missing(self.shares()).into_iter().chain(self.missing_rows()).collect(),
        }
    }

    /// What each operator does, or did.
    pub fn shares(&self) -> Vec<OperatorProgress> {
        match self {
            Self::Query(query) => query.operators(),
            Self::Operators { shares, .. } => shares.clone(),
            Self::Here | Self::Nodes { .. } => Vec::new(),
        }
    }

    /// The rows that are not in it, because their files are damaged.
    pub fn missing_rows(&self) -> Vec<String> {
        match self {
            Self::Query(query) => query.missing_rows(),
            Self::Operators { missing_rows, .. } => missing_rows.clone(),
            Self::Here | Self::Nodes { .. } => Vec::new(),
        }
    }
}

/// The operators whose rows are left out, as people know them.
fn missing(shares: Vec<OperatorProgress>) -> Vec<String> {
    let missing = shares.into_iter().filter(|share| share.state == State::Missing);
    missing.map(|share| share.operator.to_string()).collect()
}
