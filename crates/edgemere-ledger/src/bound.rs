//! The identity of a node's data folder: a key pair that is made once. A node's policies are bound to
//! it: they carry its public key and a signature, and only who has the key may replace them.
//!
//! What is signed is everything that the node says of itself, and not what ledgers add.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};
use serde_json::{Map, Value};

use crate::identity::hex;
use crate::{Error, Policy};

/// The attribute with the public key of the node that a policy is bound to, in hex.
pub const NODE_ID: &str = "node_id";

/// The attribute that counts how often a node has changed its policy.
const GENERATION: &str = "generation";

/// The attribute that counts how often an admin has let another data folder, or an older one, be the node.
const ACCEPTED: &str = "accepted";

/// The attribute with the signature, in hex.
const SIGNATURE: &str = "signature";

/// What ledgers add, and nodes do not sign.
const ADDED: [&str; 5] = ["id", "date", "member", "ledger", SIGNATURE];

/// How many bytes a key has.
const KEY_BYTES: usize = 32;

/// The identity of a data folder.
pub struct Identity {
    key: SigningKey,
    id: String,
}

impl Identity {
    /// Reads the identity from a file, or makes one when there is none. Nobody else may read it.
    pub fn open(file: &Path) -> Result<Self, Error> {
        let mut text = String::new();
        match File::open(file).and_then(|mut file| file.read_to_string(&mut text)) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Self::make(file),
            Err(error) => return Err(Error::io("read", file, error)),
        }
        let damaged = || {
            let reason = "it is damaged: restore it from a backup of the data folder";
            Error::io("read", file, io::Error::new(io::ErrorKind::InvalidData, reason))
        };
        Self::parse(text.trim_end()).ok_or_else(damaged)
    }

    /// Reads the secret and the public key after it, which must be its own: a secret with a changed bit
    /// would be another identity.
    fn parse(text: &str) -> Option<Self> {
        let (secret, id) = text.split_once(' ')?;
        let secret = unhex(secret).and_then(|bytes| <[u8; KEY_BYTES]>::try_from(bytes).ok())?;
        Some(Self::of(secret)).filter(|identity| identity.id.eq_ignore_ascii_case(id))
    }

    fn make(file: &Path) -> Result<Self, Error> {
        let failed = |error| Error::io("write", file, error);
        let mut secret = [0; KEY_BYTES];
        getrandom::fill(&mut secret).map_err(|error| failed(io::Error::other(error)))?;
        let new = file.with_extension("key.new");
        // A rest of an earlier try may be there; it was never anybody's identity.
        let _ = fs::remove_file(&new);
        let mut options = OpenOptions::new();
        let mut to = options.write(true).create_new(true).mode(0o600).open(&new).map_err(failed)?;
        let made = Self::of(secret);
        let written = writeln!(to, "{} {}", hex(&secret), made.id);
        written.and_then(|()| to.sync_all()).map_err(failed)?;
        fs::rename(&new, file).map_err(failed)?;
        if let Some(folder) = file.parent() {
            File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed)?;
        }
        Ok(made)
    }

    fn of(secret: [u8; KEY_BYTES]) -> Self {
        let key = SigningKey::from_bytes(&secret);
        let id = hex(key.verifying_key().as_bytes());
        Self { key, id }
    }

    /// The public key, in hex: what the node is known by, whatever it is called.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Binds what a node says of itself to this identity, as its next word after the policy that is
    /// known of it.
    pub fn bind(&self, kind: &str, attributes: &mut Map<String, Value>, known: Option<&Policy>) {
        let generation = known.map_or(0, generation) + 1;
        if let Some(accepted) = known.map(accepted).filter(|count| *count > 0) {
            attributes.insert(ACCEPTED.to_owned(), accepted.into());
        }
        attributes.insert(NODE_ID.to_owned(), self.id.clone().into());
        attributes.insert(GENERATION.to_owned(), generation.into());
        let signature = self.key.sign(signed_text(kind, attributes).as_bytes());
        attributes.insert(SIGNATURE.to_owned(), hex(&signature.to_bytes()).into());
    }
}

impl fmt::Debug for Identity {
    /// Without the secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity").field("id", &self.id).finish_non_exhaustive()
    }
}

/// What a node's policy says without being bound to an identity: a node of that name may bind
/// it anew.
#[must_use]
pub fn unbound(policy: &Policy) -> Map<String, Value> {
    let mut attributes = policy.attributes().clone();
    for name in [NODE_ID, SIGNATURE, "position", "epoch", "date", "ledger"] {
        attributes.shift_remove(name);
    }
    attributes.insert(ACCEPTED.to_owned(), (accepted(policy) + 1).into());
    attributes
}

/// How often an admin has let another data folder, or an older one, be a node.
#[must_use]
pub fn accepted(policy: &Policy) -> u64 {
    policy.attribute(ACCEPTED).and_then(Value::as_u64).unwrap_or_default()
}

/// Refuses a policy that says to be of a node that has not signed it.
pub(crate) fn check(policy: &Policy) -> Result<(), Error> {
    let Some(id) = policy.text(NODE_ID) else { return Ok(()) };
    let key = unhex(id).and_then(|bytes| <[u8; KEY_BYTES]>::try_from(bytes).ok());
    let key = key.and_then(|bytes| VerifyingKey::from_bytes(&bytes).ok());
    let signature = policy.text(SIGNATURE).and_then(unhex);
    let signature = signature.and_then(|bytes| Signature::from_slice(&bytes).ok());
    let text = signed_text(policy.kind(), policy.attributes());
    let is_signed = key
        .zip(signature)
        .is_some_and(|(key, signature)| key.verify_strict(text.as_bytes(), &signature).is_ok());
    match is_signed {
        true => Ok(()),
        false => Err(Error::NotSigned { kind: policy.kind().to_owned(), name: name_of(policy) }),
    }
}

/// Refuses a policy that would replace the one of another node, or is older than it.
pub(crate) fn check_successor(known: &Policy, policy: &Policy) -> Result<(), Error> {
    let (kind, name) = (policy.kind().to_owned(), name_of(known));
    if let Some(owner) = known.text(NODE_ID) {
        if policy.text(NODE_ID) != Some(owner) {
            return Err(Error::OtherIdentity { kind, name });
        }
        if generation(policy) <= generation(known) {
            return Err(Error::NotSigned { kind, name });
        }
    }
    check(policy)
}

fn generation(policy: &Policy) -> u64 {
    policy.attribute(GENERATION).and_then(Value::as_u64).unwrap_or_default()
}

fn name_of(policy: &Policy) -> String {
    policy.name().or(policy.id()).unwrap_or_default().to_owned()
}

/// What a node signs: the type and the attributes, sorted by name.
fn signed_text(kind: &str, attributes: &Map<String, Value>) -> String {
    let mut own: Vec<_> =
        attributes.iter().filter(|(name, _)| !ADDED.contains(&name.as_str())).collect();
    own.sort_unstable_by_key(|(name, _)| name.as_str());
    let own: Vec<String> = own
        .into_iter()
        .map(|(name, value)| format!("{}:{value}", Value::from(name.as_str())))
        .collect();
    format!("edgemere node policy\n{}\n{{{}}}", kind.to_ascii_lowercase(), own.join(","))
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> = text
        .chars()
        .map(|c| c.to_digit(16).and_then(|digit| u8::try_from(digit).ok()))
        .collect::<Option<_>>()?;
    let (pairs, []) = digits.as_chunks::<2>() else { return None };
    Some(pairs.iter().map(|[high, low]| high << 4 | low).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{Ledger, Scope};

    fn policy(identity: &Identity, port: u16, known: Option<&Policy>) -> Policy {
        let Value::Object(mut attributes) =
            json!({"name": "o1", "company": "c", "ip": "::1", "port": port})
        else {
            panic!("an object")
        };
        identity.bind("operator", &mut attributes, known);
        let id = known.and_then(|known| known.id()).map(str::to_owned);
        attributes.extend(id.map(|id| ("id".to_owned(), id.into())));
        Policy::from_value(json!({ "operator": attributes })).unwrap()
    }

    #[test]
    fn an_identity_is_made_once_and_is_nobody_elses_to_read() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("identity.key");
        let id = Identity::open(&file).unwrap().id().to_owned();
        assert_eq!(id.len(), 64);
        assert_eq!(Identity::open(&file).unwrap().id(), id);
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        let other = folder.path().join("other.key");
        assert_ne!(Identity::open(&other).unwrap().id(), id);
        for bad in ["", "zz", &"0".repeat(63)] {
            fs::write(&other, bad).unwrap();
            assert!(matches!(Identity::open(&other), Err(Error::Io { .. })), "{bad}");
        }
    }

    #[test]
    fn no_changed_bit_makes_another_identity() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("identity.key");
        let id = Identity::open(&file).unwrap().id().to_owned();
        let whole = fs::read(&file).unwrap();
        for bit in 0..whole.len() * 8 {
            let mut changed = whole.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            fs::write(&file, changed).unwrap();
            match Identity::open(&file) {
                Ok(identity) => assert_eq!(identity.id(), id, "bit {bit}"),
                Err(error) => assert!(error.to_string().contains("identity.key"), "{error}"),
            }
        }
    }

    #[test]
    fn only_its_own_node_may_replace_a_policy() {
        let folder = tempfile::tempdir().unwrap();
        let owner = Identity::open(&folder.path().join("a.key")).unwrap();
        let other = Identity::open(&folder.path().join("b.key")).unwrap();
        let master = Ledger::open(&folder.path().join("ledger")).unwrap().0;
        let first = master.adopt(policy(&owner, 1, None), None).unwrap();
        // Its own next word, once; the one before is not taken again.
        let second = policy(&owner, 2, Some(&first));
        let second = master.adopt(second, None).unwrap();
        assert_eq!(second.attribute("port"), Some(&json!(2)));
        let replay = Policy::clone(&first);
        assert!(matches!(master.adopt(replay, None), Err(Error::NotSigned { .. })));
        // Another node of the same name, whatever it says.
        let taken = master.adopt(policy(&other, 3, Some(&second)), None).unwrap_err();
        assert!(matches!(taken, Error::OtherIdentity { .. }), "{taken}");
        assert!(taken.hint().unwrap().contains("accept operator o1"));
        // A forger without the key: changed, unsigned, or without an identity.
        let forged = |change: &dyn Fn(&mut Map<String, Value>)| {
            let mut attributes = policy(&owner, 4, Some(&second)).attributes().clone();
            change(&mut attributes);
            master.adopt(Policy::from_value(json!({ "operator": attributes })).unwrap(), None)
        };
        assert!(forged(&|all| drop(all.insert("ip".into(), "10.0.0.1".into()))).is_err());
        assert!(forged(&|all| drop(all.shift_remove(SIGNATURE))).is_err());
        assert!(forged(&|all| drop(all.shift_remove(NODE_ID))).is_err());
        assert_eq!(master.get(second.id().unwrap()).unwrap(), second);
        assert!(forged(&|_| {}).is_ok());
    }

    #[test]
    fn a_policy_without_an_identity_is_bound_at_the_next_word_of_its_node() {
        let folder = tempfile::tempdir().unwrap();
        let owner = Identity::open(&folder.path().join("a.key")).unwrap();
        let master = Ledger::open(&folder.path().join("ledger")).unwrap().0;
        let old = json!({"operator": {"name": "o1", "company": "c", "ip": "::1", "port": 1}});
        let old = master.insert(Policy::from_value(old).unwrap(), Scope::Global).unwrap();
        let bound = master.adopt(policy(&owner, 1, Some(&old)), None).unwrap();
        assert_eq!(bound.text(NODE_ID), Some(owner.id()));
    }
}
