//! The kinds of failure. A kind decides the exit code, the HTTP status and what an agent reads.

/// The kinds of failure, as seen from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The caller wrote something that cannot be done; another text may.
    Input,
    /// What the caller named is not there.
    NotFound,
    /// The caller may not do this.
    Denied,
    /// It contradicts what is there.
    Conflict,
    /// It cannot be done now; later it may.
    Unavailable,
    /// A fault of ours.
    Internal,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 6] = [
        Self::Input,
        Self::NotFound,
        Self::Denied,
        Self::Conflict,
        Self::Unavailable,
        Self::Internal,
    ];

    /// The exit code of a process that ends with it.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Input => 2,
            Self::NotFound => 3,
            Self::Denied => 4,
            Self::Conflict => 5,
            Self::Unavailable => 6,
            Self::Internal => 70,
        }
    }

    /// The HTTP status of a reply with it.
    pub fn http_status(self) -> u16 {
        match self {
            Self::Input => 400,
            Self::NotFound => 404,
            Self::Denied => 403,
            Self::Conflict => 409,
            Self::Unavailable => 503,
            Self::Internal => 500,
        }
    }

    /// The kind of a reply with that HTTP status.
    pub fn from_http_status(status: u16) -> Self {
        let exact = Self::ALL.into_iter().find(|kind| kind.http_status() == status);
        exact.unwrap_or(match status {
            401 => Self::Denied,
            410 => Self::Conflict,
            408 | 429 | 502 | 504 | 507 => Self::Unavailable,
            400..500 => Self::Input,
            _ => Self::Internal,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_found_again_by_its_status() {
        for kind in Kind::ALL {
            assert_eq!(Kind::from_http_status(kind.http_status()), kind);
        }
        for status in [429, 502, 507] {
            assert_eq!(Kind::from_http_status(status), Kind::Unavailable);
        }
        assert_eq!(Kind::from_http_status(410), Kind::Conflict);
        assert_eq!(Kind::from_http_status(418), Kind::Input);
    }
}
