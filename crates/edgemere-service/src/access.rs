//! Callers and their permissions. Every request runs for a [`Principal`], and its [`Effect`] is checked
//! against the principal's [`Access`].

use std::fmt;

use crate::error::Error;

/// The longest name of another node's caller; the rest is cut off.
const CALLER_CHARS_MAX: usize = 128;

/// The identity that a request runs for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Principal {
    name: String,
    access: Access,
}

/// The permissions of a principal. Each level includes the ones before it. None includes
/// [`Effect::Secret`]: no request shows secrets over a wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Access {
    /// Only read.
    Read,
    /// Read and write.
    Write,
    /// Everything, including what takes away.
    Admin,
}

impl Principal {
    /// A principal of that name and access.
    pub fn new(name: impl Into<String>, access: Access) -> Self {
        Self { name: name.into(), access }
    }

    /// The principal's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How much the principal may do.
    pub fn access(&self) -> Access {
        self.access
    }

    /// The same principal with at most so much access. Nothing gives a principal more.
    pub fn limited_to(&self, access: Access) -> Self {
        Self { name: self.name.clone(), access: self.access.min(access) }
    }

    /// Who a command is run for that this principal, a node, forwards for a caller of its own: the
    /// caller, with at most what both of them may do. A node that does not say for whom it asks gets
    /// what everybody gets.
    pub fn on_behalf_of(&self, caller: Option<(&str, Access)>) -> Self {
        let Some((name, access)) = caller else { return self.limited_to(Access::Read) };
        let name = name.chars().filter(|c| !c.is_control()).take(CALLER_CHARS_MAX);
        let name = format!("{} for {}", self.name, name.collect::<String>());
        Self { name, access: self.access.min(access) }
    }

    /// Under which label the principal's queries are listed. One name with different access has
    /// different labels, so that an agent that may only read does not own what its user runs.
    pub fn label(&self) -> String {
        match self.access {
            Access::Admin => self.name.clone(),
            access => format!("{} ({access})", self.name),
        }
    }

    /// Whether the principal may do something of that effect.
    pub fn may(&self, effect: Effect) -> bool {
        match effect {
            Effect::Read => true,
            Effect::Write => self.access >= Access::Write,
            Effect::Destructive => self.access >= Access::Admin,
            Effect::Secret => false,
        }
    }

    /// Refuses an operation whose effect the principal may not have.
    pub fn authorize(&self, operation: &'static str, effect: Effect) -> Result<(), Error> {
        if self.may(effect) {
            return Ok(());
        }
        Err(Error::Denied { principal: self.name.clone(), operation, effect })
    }
}

/// What an operation does to the node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Effect {
    /// It changes nothing.
    Read,
    /// It adds or changes.
    Write,
    /// It takes away, or stops the node.
    Destructive,
    /// It shows what must not be shown.
    Secret,
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Destructive => "destroy",
            Self::Secret => "see secrets",
        })
    }
}

impl Access {
    /// The level's name, as settings and requests have it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Admin => "admin",
        }
    }
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl std::str::FromStr for Access {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.to_ascii_lowercase().as_str() {
            "read" => Ok(Self::Read),
            "write" => Ok(Self::Write),
            "admin" => Ok(Self::Admin),
            other => Err(format!("\"{other}\" is none of read, write, admin")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_access_includes_the_ones_before_it_and_none_shows_secrets() {
        let may = |access| {
            let principal = Principal::new("p", access);
            [Effect::Read, Effect::Write, Effect::Destructive, Effect::Secret]
                .map(|effect| principal.may(effect))
        };
        assert_eq!(may(Access::Read), [true, false, false, false]);
        assert_eq!(may(Access::Write), [true, true, false, false]);
        assert_eq!(may(Access::Admin), [true, true, true, false]);
    }

    #[test]
    fn a_forwarded_command_has_what_both_the_node_and_its_caller_may_do() {
        let levels = [Access::Read, Access::Write, Access::Admin];
        for peer in levels {
            for caller in levels {
                let node = Principal::new("node", peer);
                let both = node.on_behalf_of(Some(("ann", caller)));
                assert_eq!(both.access(), peer.min(caller));
                assert_eq!(both.name(), "node for ann");
                assert_eq!(node.limited_to(caller).access(), peer.min(caller));
            }
            let unsaid = Principal::new("node", peer).on_behalf_of(None);
            assert_eq!(unsaid.access(), Access::Read);
        }
        let long = Principal::new("node", Access::Read)
            .on_behalf_of(Some((&format!("a\nb{}", "x".repeat(1000)), Access::Read)));
        assert!(long.name().starts_with("node for abxx") && long.name().len() < 150);
    }
}
