//! Who asks, and what they may do. Every command is run for a principal; there is no way around.

use crate::declaration::{Declaration, Effect};
use crate::error::Error;

/// Who asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Principal {
    name: String,
    access: Access,
}

/// How much a principal may do. Each level includes the ones before it; none includes
/// [`Effect::Secret`], which no command shows to anyone over a wire.
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

    /// Whether the principal may do something of that effect.
    pub fn may(&self, effect: Effect) -> bool {
        match effect {
            Effect::Read => true,
            Effect::Write => self.access >= Access::Write,
            Effect::Destructive => self.access >= Access::Admin,
            Effect::Secret => false,
        }
    }

    /// Refuses what the principal may not do.
    pub(crate) fn check(&self, declaration: &Declaration, effect: Effect) -> Result<(), Error> {
        if self.may(effect) {
            return Ok(());
        }
        Err(Error::Denied { principal: self.name.clone(), command: declaration.name, effect })
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
}
