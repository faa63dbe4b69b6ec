//! How far each operator's storage was when it last answered this node: what an answer was made of must be
//! there for the next one. The ledger learns it only now and then.
//!
//! It is kept in a small file, with a checksum, written some seconds after something was learned and when
//! the node ends. A file that is damaged is set aside and told of in the log: it proves nothing, and nothing
//! depends on it but that an older copy is noticed.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use twox_hash::XxHash64;

use super::shards::{Bound, Operator};
use edgemere_storage::private;
use edgemere_storage::storage::Reached;

/// Of how many operators it is remembered. The one that was learned of first is forgotten then.
pub const SEEN_MAX: usize = 10_000;

/// How long after something was learned it is written.
const WRITE_AFTER: Duration = Duration::from_secs(2);

/// After how long nobody is expected to write it any more.
const GIVEN_UP_AFTER: Duration = Duration::from_secs(60);

/// What answers told of operators. Clones are the same.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    inner: Arc<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    /// Where it is kept; nowhere without.
    path: Option<PathBuf>,
    state: Mutex<State>,
    /// Held while the file is written.
    writing: Mutex<()>,
}

#[derive(Debug, Default)]
struct State {
    operators: BTreeMap<String, Entry>,
    /// Counts what was learned.
    learned: u64,
    /// Whether there is something that is not written.
    dirty: bool,
    /// Since when a task is going to write it.
    waiting: Option<Instant>,
}

/// What is known of one operator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Entry {
    /// The identity of its data folder.
    node: String,
    /// How often another folder was taken in its place.
    accepted: u64,
    /// How far it was, as text.
    reached: String,
    /// When it was learned, counted.
    learned: u64,
}

impl Entry {
    /// Whether it is of the data folder that is meant.
    fn is_of(&self, bound: &Bound) -> bool {
        self.node == bound.node && self.accepted == bound.accepted
    }
}

impl Seen {
    /// Reads what was kept in a file, and goes on keeping it there.
    #[must_use]
    pub fn open(path: &Path) -> Self {
        let operators = match read(path) {
            Ok(operators) => operators,
            Err(reason) => {
                let aside = path.with_extension("damaged");
                let _ = fs::rename(path, &aside);
                let (file, aside) = (path.display(), aside.display());
                tracing::warn!(%file, %aside, reason, "what was seen of operators is forgotten");
                BTreeMap::new()
            }
        };
        let learned = operators.values().map(|entry| entry.learned).max().unwrap_or(0);
        let state = State { operators, learned, ..State::default() };
        let (path, state) = (Some(path.to_owned()), Mutex::new(state));
        Self { inner: Arc::new(Inner { path, state, writing: Mutex::default() }) }
    }

    /// How far an operator was when it last answered, with the data folder that is meant.
    pub(super) fn of(&self, operator: &Operator) -> Option<Reached> {
        let bound = operator.bound.as_deref()?;
        let state = self.inner.lock();
        let entry = state.operators.get(&operator.id).filter(|entry| entry.is_of(bound))?;
        entry.reached.parse().ok()
    }

    /// Remembers how far an operator is that has answered, unless it was further before.
    pub(super) fn learn(&self, operator: &Operator, reached: Reached) {
        let Some(bound) = operator.bound.as_deref() else { return };
        let mut state = self.inner.lock();
        let known = state.operators.get(&operator.id).filter(|entry| entry.is_of(bound));
        // Two answers of one epoch may come in any order. It has said that it was where it was seen.
        let is_known =
            known.and_then(|entry| entry.reached.parse().ok()).is_some_and(|known: Reached| {
                known.epoch == reached.epoch && known.position >= reached.position
            });
        if is_known {
            return;
        }
        state.learned += 1;
        let entry = Entry {
            node: bound.node.clone(),
            accepted: bound.accepted,
            reached: reached.to_string(),
            learned: state.learned,
        };
        state.operators.insert(operator.id.clone(), entry);
        if state.operators.len() > SEEN_MAX {
            let oldest = state.operators.iter().min_by_key(|(_, entry)| entry.learned);
            if let Some(id) = oldest.map(|(id, _)| id.clone()) {
                state.operators.remove(&id);
            }
        }
        state.dirty = true;
        // The threads that were to write it may have been given up.
        let is_waiting = state.waiting.is_some_and(|since| since.elapsed() < GIVEN_UP_AFTER);
        let runtime = tokio::runtime::Handle::try_current();
        if let (false, true, Ok(runtime)) = (is_waiting, self.inner.path.is_some(), runtime) {
            state.waiting = Some(Instant::now());
            runtime.spawn(write_soon(Arc::downgrade(&self.inner)));
        }
    }

    /// Writes what was learned.
    pub fn flush(&self) {
        self.inner.write();
    }
}

async fn write_soon(inner: Weak<Inner>) {
    tokio::time::sleep(WRITE_AFTER).await;
    let Some(inner) = inner.upgrade() else { return };
    inner.lock().waiting = None;
    let _ = tokio::task::spawn_blocking(move || inner.write()).await;
}

impl Inner {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) {
        let Some(path) = &self.path else { return };
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let operators = {
            let mut state = self.lock();
            if !std::mem::take(&mut state.dirty) {
                return;
            }
            state.operators.clone()
        };
        if let Err(error) = write(path, &operators) {
            self.lock().dirty = true;
            let path = path.display();
            tracing::warn!(%path, %error, "what was seen of operators could not be written");
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.write();
    }
}

fn checksum(text: &str) -> String {
    format!("{:016x}", XxHash64::oneshot(0, text.as_bytes()))
}

/// Reads a file: its checksum on the first line, JSON on the second.
fn read(path: &Path) -> Result<BTreeMap<String, Entry>, String> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
        Err(error) => return Err(error.to_string()),
    };
    let (sum, json) = text.split_once('\n').ok_or("it is cut off")?;
    if checksum(json) != sum {
        return Err("it does not hold what was written".to_owned());
    }
    serde_json::from_str(json).map_err(|error| error.to_string())
}

/// Writes a file in the place of the one before.
fn write(path: &Path, operators: &BTreeMap<String, Entry>) -> std::io::Result<()> {
    let json = serde_json::to_string(operators)?;
    let new = path.with_extension("new");
    let mut file = private::create(&new)?;
    write!(file, "{}\n{json}", checksum(&json))?;
    file.sync_all()?;
    fs::rename(&new, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operator(id: &str, node: &str, accepted: u64) -> Operator {
        let bound = Bound { node: node.into(), accepted, reached: Reached::default() };
        Operator { id: id.into(), bound: Some(Arc::new(bound)), ..Operator::default() }
    }

    fn reached(text: &str) -> Reached {
        text.parse().unwrap()
    }

    #[test]
    fn the_furthest_is_remembered_over_a_restart() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("seen.json");
        let (one, two) = (operator("1", "a", 0), operator("2", "b", 0));
        let seen = Seen::open(&path);
        assert_eq!(seen.of(&one), None);
        for position in ["7@1-a", "9@1-a", "8@1-a"] {
            seen.learn(&one, reached(position));
        }
        seen.learn(&two, reached("3@1-b"));
        // The operator has agreed to have been at 9: its next epoch is what counts.
        seen.learn(&two, reached("2@2-c"));
        drop(seen);
        let seen = Seen::open(&path);
        assert_eq!(seen.of(&one), Some(reached("9@1-a")));
        assert_eq!(seen.of(&two), Some(reached("2@2-c")));
    }

    #[test]
    fn what_was_seen_of_another_folder_holds_for_none() {
        let seen = Seen::default();
        seen.learn(&operator("1", "a", 0), reached("7@1-a"));
        assert_eq!(seen.of(&operator("1", "a", 1)), None, "an admin has accepted another");
        assert_eq!(seen.of(&operator("1", "b", 0)), None, "it is another by its policy");
        seen.learn(&operator("1", "a", 1), reached("2@1-b"));
        assert_eq!(seen.of(&operator("1", "a", 1)), Some(reached("2@1-b")));
    }

    #[test]
    fn a_damaged_file_is_set_aside() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("seen.json");
        let one = operator("1", "a", 0);
        Seen::open(&path).learn(&one, reached("7@1-a"));
        let whole = fs::read(&path).unwrap();
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 1;
            fs::write(&path, bytes).unwrap();
            let seen = Seen::open(&path);
            assert_eq!(seen.of(&one), None, "byte {at}");
            assert!(!path.exists(), "byte {at}");
        }
    }

    #[test]
    fn as_many_operators_are_remembered_as_the_limit_says() {
        let seen = Seen::default();
        for id in 0..=SEEN_MAX {
            seen.learn(&operator(&id.to_string(), "a", 0), reached("7@1-a"));
        }
        assert_eq!(seen.of(&operator("0", "a", 0)), None);
        assert_eq!(seen.inner.lock().operators.len(), SEEN_MAX);
    }
}
