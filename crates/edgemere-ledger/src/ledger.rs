//! The ledger itself: takes changes one at a time, and answers lookups from memory.
//!
//! A change, from top to bottom:
//!
//! 1. It takes the writer's lock, so that no other change comes in between.
//! 2. `rules` checks and completes the policies against the view.
//! 3. `log` appends one entry, which is durable when that returns. Readers go on meanwhile: they
//!    see the old view.
//! 4. The entry is applied to the view, under the readers' lock for as long as that takes.
//!
//! An error before the fourth step leaves everything as it was.

use std::collections::BTreeSet;
use std::fmt;
use std::fs::File;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use serde_json::Value;

use crate::entry::{Change, GENESIS};
use crate::folder::Folder;
use crate::log::{End, Log, Medium};
use crate::quota::{Limits, Used};
use crate::recovery::{self, Recovery};
use crate::rules::{self, Seen};
use crate::scan::Scan;
use crate::view::View;
use crate::{Condition, Error, Kinds, Policy, Position, Scope, policy};

/// The ledger of a node. Clones are the same ledger.
#[derive(Clone)]
pub struct Ledger {
    inner: Arc<Inner>,
}

struct Inner {
    folder: Folder,
    log: Mutex<Log>,
    state: RwLock<State>,
    limits: Limits,
    watchers: RwLock<Vec<Watcher>>,
}

/// Called after every change.
type Watcher = Box<dyn Fn(&Ledger) + Send + Sync>;

/// What readers see.
pub(crate) struct State {
    pub(crate) view: View,
    /// Where the log ends.
    pub(crate) end: End,
    /// The snapshot that it begins with.
    pub(crate) base: Base,
    /// Where each entry after that begins, in bytes from the start of the file.
    pub(crate) starts: Vec<u64>,
    /// The file of which these are places.
    pub(crate) reader: Arc<File>,
}

/// The snapshot that a log begins with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Base {
    /// How many entries it stands for.
    pub(crate) entries: u64,
    /// The hash of the last of them.
    pub(crate) head: String,
    /// Where each of its parts begins, and the hash of the part.
    pub(crate) parts: Vec<(u64, String)>,
    /// The bytes of all parts.
    pub(crate) length: u64,
}

impl Default for Base {
    fn default() -> Self {
        Self { entries: 0, head: GENESIS.to_owned(), parts: Vec::new(), length: 0 }
    }
}

/// What a check of the whole ledger found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    /// How many entries the file has.
    pub entries: u64,
    /// How many policies live after them.
    pub policies: usize,
    /// The hash of the last entry.
    pub head: String,
}

impl Ledger {
    /// Opens the ledger in a folder, and makes both when they are missing.
    ///
    /// What a crash left of the last write is cut off and saved. Other damage is an error, and
    /// nothing is changed.
    pub fn open(folder: &Path) -> Result<(Self, Recovery), Error> {
        Self::open_with(folder, Limits::default())
    }

    /// Opens a ledger as [`Ledger::open`] does, with these limits.
    pub fn open_with(folder: &Path, limits: Limits) -> Result<(Self, Recovery), Error> {
        let folder = Folder::create(folder)?;
        folder.renew_after_doubt()?;
        drop(folder.open_log()?);
        let (scan, recovery) = recovery::recover(&folder)?;
        let file = folder.open_log()?;
        let ledger = Self::new(folder, Box::new(file), scan, limits)?;
        ledger.compact_when_due(&mut ledger.writer());
        Ok((ledger, recovery))
    }

    pub(crate) fn new(
        folder: Folder,
        medium: Box<dyn Medium>,
        scan: Scan,
        limits: Limits,
    ) -> Result<Self, Error> {
        let Scan { view, base, starts, end, .. } = scan;
        let path = folder.path().to_owned();
        let on_broken = Box::new(move || Folder::note_doubt(&path));
        let log = Mutex::new(Log::new(medium, folder.log(), end.clone(), on_broken));
        let reader = folder.log_reader()?;
        let state = RwLock::new(State { view, end, base, starts, reader });
        let inner = Inner { folder, log, state, limits, watchers: RwLock::default() };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Inserts a policy, with an id and a date when it has none. It is durable when this returns.
    pub fn insert(&self, policy: Policy, scope: Scope) -> Result<Arc<Policy>, Error> {
        let mut log = self.writer();
        let policy = {
            let state = self.state();
            let seen = Seen { live: &state.view, batch: &View::default(), replaced: None };
            let policy = completed(policy, scope, &seen)?;
            self.check_room(&state, &[&policy], None)?;
            policy
        };
        self.commit(&mut log, put(scope, vec![Arc::clone(&policy)]))?;
        Ok(policy)
    }

    /// Inserts many policies in one durable write: all of them or, on an error, none.
    pub fn insert_all(
        &self,
        policies: Vec<Policy>,
        scope: Scope,
    ) -> Result<Vec<Arc<Policy>>, Error> {
        if policies.is_empty() {
            return Ok(Vec::new());
        }
        let mut log = self.writer();
        let mut batch = View::default();
        for policy in policies {
            let state = self.state();
            let seen = Seen { live: &state.view, batch: &batch, replaced: None };
            let policy = completed(policy, scope, &seen)?;
            batch.put(policy);
        }
        let policies: Vec<_> = batch.iter().map(Arc::clone).collect();
        self.check_room(&self.state(), &policies.iter().collect::<Vec<_>>(), None)?;
        self.commit(&mut log, put(scope, policies.clone()))?;
        Ok(policies)
    }

    /// Replaces the policy with an id. The id, the place in the order and the scope stay; the date
    /// is new.
    pub fn update(&self, id: &str, policy: Policy) -> Result<Arc<Policy>, Error> {
        self.replace_in(&mut self.writer(), id, policy, None, None)
    }

    /// Replaces the policy with an id as [`Ledger::update`] does, by one that reaches so far.
    pub fn replace(&self, id: &str, policy: Policy, scope: Scope) -> Result<Arc<Policy>, Error> {
        self.replace_in(&mut self.writer(), id, policy, Some(scope), None)
    }

    pub(crate) fn replace_in(
        &self,
        log: &mut Log,
        id: &str,
        mut policy: Policy,
        scope: Option<Scope>,
        by: Option<&str>,
    ) -> Result<Arc<Policy>, Error> {
        let (policy, scope) = {
            let state = self.state();
            inherit(&mut policy, state.view.find(id)?, id)?;
            let scope = scope.or_else(|| state.view.scope(id)).unwrap_or(Scope::Local);
            let seen = Seen { live: &state.view, batch: &View::default(), replaced: Some(id) };
            let policy = completed(policy, scope, &seen)?;
            self.check_room(&state, &[&policy], by)?;
            (policy, scope)
        };
        let policies = vec![Arc::clone(&policy)];
        self.commit(
            log,
            match by {
                Some(by) => Change::Adopt { policies, by: by.to_owned() },
                None => put(scope, policies),
            },
        )?;
        Ok(policy)
    }

    /// Refuses policies for which there is no room.
    pub(crate) fn check_room(
        &self,
        state: &State,
        policies: &[&Arc<Policy>],
        by: Option<&str>,
    ) -> Result<(), Error> {
        let mut added = Used::default();
        for policy in policies {
            let old = policy.id().and_then(|id| state.view.size(id));
            added.policies += usize::from(old.is_none());
            added.bytes += policy.bytes().saturating_sub(old.unwrap_or_default());
        }
        self.inner.limits.check(&state.view, added, by)
    }

    /// Removes policies in one durable write: all of them or, when an id is unknown, none.
    pub fn remove(&self, ids: &[String]) -> Result<Vec<Arc<Policy>>, Error> {
        let mut log = self.writer();
        let mut named = BTreeSet::new();
        let mut removed = Vec::new();
        for id in ids {
            if named.insert(id.clone()) {
                removed.push(Arc::clone(self.state().view.find(id)?));
            }
        }
        if !removed.is_empty() {
            self.commit(&mut log, Change::Drop(named.into_iter().collect()))?;
        }
        Ok(removed)
    }

    /// Changes how far a policy reaches, and nothing else in it.
    pub fn set_scope(&self, id: &str, scope: Scope) -> Result<Arc<Policy>, Error> {
        let mut log = self.writer();
        let old = Arc::clone(self.state().view.find(id)?);
        if self.state().view.scope(id) == Some(scope) {
            return Ok(old);
        }
        let mut policy = Policy::clone(&old);
        policy.set_scope(scope);
        let policy = Arc::new(policy);
        self.commit(&mut log, put(scope, vec![Arc::clone(&policy)]))?;
        Ok(policy)
    }

    /// The policy with an id.
    #[must_use]
    pub fn get(&self, id: &str) -> Option<Arc<Policy>> {
        self.state().view.get(id).map(Arc::clone)
    }

    /// The policies of some types that fit a condition, in the order of their insertion.
    #[must_use]
    pub fn select(&self, kinds: &Kinds, condition: &Condition) -> Vec<Arc<Policy>> {
        self.state().view.select(kinds, condition)
    }

    /// The types of policies with their counts, in the order of their first policies.
    #[must_use]
    pub fn kinds(&self) -> Vec<(String, usize)> {
        self.state().view.kinds()
    }

    /// How many policies live.
    #[must_use]
    pub fn len(&self) -> usize {
        self.state().view.len()
    }

    /// Whether no policy lives.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// 32 hex digits that change with every change and are the same after the same history.
    #[must_use]
    pub fn version(&self) -> String {
        self.end().version()
    }

    /// Where the ledger's own history ends.
    #[must_use]
    pub fn end(&self) -> Position {
        self.state().end.position()
    }

    /// Calls this after every change, on the thread that made it. It should be quick, and hold no
    /// clone of the ledger, which would then never be closed.
    pub fn watch(&self, watcher: impl Fn(&Self) + Send + Sync + 'static) {
        let mut watchers = self.inner.watchers.write().unwrap_or_else(PoisonError::into_inner);
        watchers.push(Box::new(watcher));
    }

    /// Reads the file once more from disk, checks every hash, and that it adds up to what is in
    /// memory.
    ///
    /// Changes wait until that is done; lookups do not.
    pub fn verify(&self) -> Result<Verified, Error> {
        let log = self.writer();
        let mut scan = recovery::scan_log(&self.inner.folder)?;
        if let Some(bad) = scan.bad.take() {
            return Err(recovery::corrupt(&self.inner.folder, &scan, bad));
        }
        let diverged = |reason: &str| {
            Err(Error::Diverged { file: log.file().to_owned(), reason: reason.to_owned() })
        };
        if scan.end != *log.end() {
            return diverged("the last entry is another");
        }
        let state = self.state();
        if !scan.view.iter().eq(state.view.iter()) {
            return diverged("the policies are others");
        }
        if scan.view.outbox() != state.view.outbox()
            || scan.view.at() != state.view.at()
            || scan.view.network() != state.view.network()
        {
            return diverged("what is to be sent, or where the copy stands, is another");
        }
        Ok(Verified { entries: scan.end.entries, policies: scan.view.len(), head: scan.end.head })
    }

    /// Makes a change durable, then visible.
    pub(crate) fn commit(&self, log: &mut Log, change: Change) -> Result<(), Error> {
        log.append(&change)?;
        {
            let mut state = self.state_mut();
            let start = state.end.length;
            state.starts.push(start);
            state.view.apply(change);
            state.end = log.end().clone();
        }
        self.compact_when_due(log);
        let watchers = self.inner.watchers.read().unwrap_or_else(PoisonError::into_inner);
        watchers.iter().for_each(|watcher| watcher(self));
        Ok(())
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.inner.limits
    }

    pub(crate) fn state_mut(&self) -> RwLockWriteGuard<'_, State> {
        self.inner.state.write().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn folder(&self) -> &Folder {
        &self.inner.folder
    }

    pub(crate) fn writer(&self) -> MutexGuard<'_, Log> {
        self.inner.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn state(&self) -> RwLockReadGuard<'_, State> {
        self.inner.state.read().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Ledger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ledger")
            .field("log", &self.inner.folder.log())
            .field("policies", &self.len())
            .finish_non_exhaustive()
    }
}

/// The change that puts policies which reach so far.
fn put(scope: Scope, policies: Vec<Arc<Policy>>) -> Change {
    match scope {
        Scope::Pending => Change::Send(policies),
        Scope::Local | Scope::Global => Change::Put(policies),
    }
}

/// A policy that is ready to be written: checked, completed, within the limits.
pub(crate) fn completed(
    mut policy: Policy,
    scope: Scope,
    seen: &Seen<'_>,
) -> Result<Arc<Policy>, Error> {
    rules::complete(&mut policy, seen)?;
    policy.set_scope(scope);
    policy.check_size()?;
    Ok(Arc::new(policy))
}

/// Gives a policy what it keeps of the one it replaces, and a new date.
fn inherit(policy: &mut Policy, old: &Policy, id: &str) -> Result<(), Error> {
    if !policy.kind().eq_ignore_ascii_case(old.kind()) {
        return Err(Error::KindMismatch {
            id: id.to_owned(),
            kind: old.kind().to_owned(),
            given: policy.kind().to_owned(),
        });
    }
    match policy.attribute("id") {
        Some(Value::String(given)) if given != id => {
            return Err(Error::IdMismatch { id: id.to_owned(), given: given.clone() });
        }
        Some(_) => {}
        None => policy.set("id", Value::String(id.to_owned())),
    }
    policy.set("date", Value::String(policy::now()));
    let cluster = policy.attribute("cluster");
    if cluster.is_some()
        && cluster == old.attribute("cluster")
        && policy.attribute("member").is_none()
        && let Some(member) = old.attribute("member")
    {
        policy.set("member", member.clone());
    }
    Ok(())
}
