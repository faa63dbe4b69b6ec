//! Policies on their way between a node and its master: what waits to be sent, what came of it, and
//! the master's side, which takes them. How they travel is not known here.

use std::sync::Arc;

use serde_json::Value;

use crate::bound;
use crate::entry::Change;
use crate::ledger::{Ledger, completed};
use crate::rules::{self, Seen};
use crate::view::View;
use crate::{Error, Policy, Position, Scope};

/// What nodes and masters add to a policy, so that it may differ in two copies of the same.
const ADDED: [&str; 3] = ["date", "member", "ledger"];

impl Ledger {
    /// Where in its master's history this copy stands; `None` when it follows no master.
    #[must_use]
    pub fn position(&self) -> Option<Position> {
        self.state().view.at().cloned()
    }

    /// How many policies the master is still to get.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.state().view.outbox().len()
    }

    /// Whether the master is still to get the policy with an id.
    #[must_use]
    pub fn waits(&self, id: &str) -> bool {
        self.state().view.outbox().contains(id)
    }

    /// The policies that the master is to get next, the oldest first: at most so many.
    #[must_use]
    pub fn outbox(&self, policies_max: usize) -> Vec<Arc<Policy>> {
        let state = self.state();
        let waiting = state.view.outbox().iter().take(policies_max);
        waiting.filter_map(|id| state.view.get(id).map(Arc::clone)).collect()
    }

    /// Says what came of policies that were sent: each with the policy as the master has it, or
    /// `None` when the master refused it, and it stays with this node. `end` is where the master's
    /// history ended then. One durable write.
    ///
    /// What the master took goes on waiting until it comes back with the master's history: only
    /// that is proof that the master still has it. When the copy stands where the history ends, it
    /// has come already. A policy that has changed since it was sent goes on waiting, too.
    pub fn settle(
        &self,
        sent: Vec<(Arc<Policy>, Option<Policy>)>,
        end: &Position,
    ) -> Result<(), Error> {
        let mut log = self.writer();
        let has_come = self.position().as_ref() == Some(end);
        let mut settled = Vec::new();
        for (policy, taken) in sent {
            let id = policy.id().unwrap_or_default();
            if self.state().view.get(id) != Some(&policy) || !self.waits(id) {
                continue;
            }
            match taken {
                None => settled.push(policy),
                Some(taken) if has_come && taken.id() == Some(id) => settled.push(Arc::new(taken)),
                Some(_) => {}
            }
        }
        if settled.is_empty() {
            return Ok(());
        }
        self.commit(&mut log, Change::Put(settled))
    }

    /// Takes a policy of another node for the whole network: inserts it, or replaces the one with
    /// its id when that says something else. The same policy twice is the same as once. `by` is the
    /// node that has made it, where that is known: it may add so much and no more.
    pub fn adopt(&self, mut policy: Policy, by: Option<&str>) -> Result<Arc<Policy>, Error> {
        policy.prepare();
        let id = policy.id().unwrap_or_default().to_owned();
        let mut log = self.writer();
        let known = self.get(&id);
        let policy = match known {
            Some(known) if !says_the_same(&known, &policy) => {
                bound::check_successor(&known, &policy)?;
                return self.replace_in(&mut log, &id, policy, Some(Scope::Global), by);
            }
            Some(known) if known.scope() == Some(Scope::Global) => return Ok(known),
            Some(known) => {
                let mut policy = Policy::clone(&known);
                policy.set_scope(Scope::Global);
                Arc::new(policy)
            }
            None => {
                let state = self.state();
                let seen = Seen { live: &state.view, batch: &View::default(), replaced: None };
                rules::forget_taken_member(&mut policy, &seen);
                bound::check(&policy)?;
                let policy = completed(policy, Scope::Global, &seen)?;
                self.check_room(&state, &[&policy], by)?;
                policy
            }
        };
        let policies = vec![Arc::clone(&policy)];
        self.commit(
            &mut log,
            match by {
                Some(by) => Change::Adopt { policies, by: by.to_owned() },
                None => Change::Put(policies),
            },
        )?;
        Ok(policy)
    }
}

/// Whether two policies differ at most in what nodes add.
fn says_the_same(one: &Policy, other: &Policy) -> bool {
    let own = |policy: &Policy| -> Vec<(String, Value)> {
        let own = policy.attributes().iter().filter(|(name, _)| !ADDED.contains(&name.as_str()));
        let mut own: Vec<_> = own.map(|(name, value)| (name.clone(), value.clone())).collect();
        own.sort_by(|(one, _), (other, _)| one.cmp(other));
        own
    };
    one.kind() == other.kind() && own(one) == own(other)
}
