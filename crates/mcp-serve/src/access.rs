//! Whose requests are served: the names under which the server is known, and the pages that may ask.

/// Which `Host` and `Origin` headers are served. A browser on the server's machine can reach it, so a
/// page from anywhere could make it do so: it is known by its origin or, when its name was made
/// to point here, by a host that is not ours. Both are answered with 403, on every route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    pub(crate) hosts: Vec<String>,
    pub(crate) origins: Vec<String>,
    pub(crate) any_host: bool,
}

impl Access {
    /// This machine under its own names, and pages that it serves itself, at any port.
    pub fn loopback() -> Self {
        Self { hosts: Vec::new(), origins: Vec::new(), any_host: false }
    }

    /// Also this host: a name, or a name with a port.
    #[must_use]
    pub fn host(mut self, host: impl Into<String>) -> Self {
        self.hosts.push(host.into());
        self
    }

    /// Also pages of this origin, such as `https://app.example.com`.
    #[must_use]
    pub fn origin(mut self, origin: impl Into<String>) -> Self {
        self.origins.push(origin.into());
        self
    }

    /// Every host: for a server that others reach under names that it does not know, and that asks
    /// for a secret in every request.
    #[must_use]
    pub fn any_host(mut self) -> Self {
        self.any_host = true;
        self
    }
}

impl Default for Access {
    fn default() -> Self {
        Self::loopback()
    }
}
