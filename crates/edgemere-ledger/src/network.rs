//! Which network a ledger is of: a random id that its first master made, and a term that counts its
//! masters. By these a node knows its own network's history from any other.

use serde::{Deserialize, Serialize};

use crate::entry::Change;
use crate::identity::hex;
use crate::ledger::Ledger;
use crate::{Error, Scope};

/// How many bytes of a network's id are random.
const ID_BYTES: usize = 16;

/// A network, and its how manieth master keeps its ledger.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Network {
    /// The network's id: 32 hex digits.
    pub id: String,
    /// The first master has term 1. Each that is promoted adds one.
    pub term: u64,
}

impl Ledger {
    /// The network that this is the ledger of, or a copy of; `None` while that is not known.
    #[must_use]
    pub fn network(&self) -> Option<Network> {
        self.state().view.network().cloned()
    }

    /// Makes this the ledger of a network, of a new one when it is of none yet: what a master does
    /// at its start. A copy of another master's ledger is refused: it has to be promoted.
    pub fn found(&self) -> Result<Network, Error> {
        let mut log = self.writer();
        if self.position().is_some() {
            return Err(Error::IsCopy { file: self.folder().log().to_owned() });
        }
        if let Some(network) = self.network() {
            return Ok(network);
        }
        let network = Network { id: self.random_id()?, term: 1 };
        self.commit(&mut log, Change::Network(network.clone()))?;
        Ok(network)
    }

    /// Makes a copy the network's ledger, with a term that is one higher: every node then knows
    /// the master before as an older one. What waited for the master is everyone's from here on.
    /// A ledger that is no copy stays as it is.
    pub fn promote(&self) -> Result<Network, Error> {
        for policy in self.outbox(usize::MAX) {
            self.set_scope(policy.id().unwrap_or_default(), Scope::Global)?;
        }
        let mut log = self.writer();
        let network = match (self.network(), self.position()) {
            (Some(network), None) => return Ok(network),
            (Some(Network { id, term }), Some(_)) => Network { id, term: term + 1 },
            (None, _) => Network { id: self.random_id()?, term: 1 },
        };
        self.commit(&mut log, Change::Promote(network.clone()))?;
        Ok(network)
    }

    /// Lets the master's next history in, whatever it drops of this copy, which is saved before to
    /// `ledger.before-…`.
    pub fn accept(&self) -> Result<(), Error> {
        let mut log = self.writer();
        match self.is_accepting() {
            true => Ok(()),
            false => self.commit(&mut log, Change::Accept),
        }
    }

    /// Whether the master's next history is taken, whatever it drops.
    #[must_use]
    pub fn is_accepting(&self) -> bool {
        self.state().view.is_accepting()
    }

    fn random_id(&self) -> Result<String, Error> {
        let mut bytes = [0; ID_BYTES];
        let failed = |error: getrandom::Error| {
            Error::io("make an id for", self.folder().log(), std::io::Error::other(error))
        };
        getrandom::fill(&mut bytes).map_err(failed)?;
        Ok(hex(&bytes))
    }
}
