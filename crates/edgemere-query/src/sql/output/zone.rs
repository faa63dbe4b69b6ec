//! Time zones, by the names that EdgeLake's users know them by.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use arrow::array::timezone::Tz;

use crate::sql::error::Error;

/// A time zone that there is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Zone(Arc<str>);

impl Zone {
    /// The zone of that name: `utc`, `local` (this machine's), EdgeLake's `pt`, `mt`, `ct` and `et`,
    /// a name as `Europe/Rome`, or an offset as `+02:00`.
    pub fn named(name: &str) -> Result<Self, Error> {
        let zone = match name.to_lowercase().as_str() {
            "utc" => "UTC".to_owned(),
            "local" => local(),
            "pt" => "America/Los_Angeles".to_owned(),
            "mt" => "America/Denver".to_owned(),
            "ct" => "America/Chicago".to_owned(),
            "et" => "America/New_York".to_owned(),
            _ => name.to_owned(),
        };
        match Tz::from_str(&zone) {
            Ok(_) => Ok(Self(zone.into())),
            Err(_) => Err(Error::UnknownZone { zone: name.to_owned() }),
        }
    }

    /// UTC.
    pub(crate) fn utc() -> Self {
        Self("UTC".into())
    }

    /// The zone's name, for Arrow's types.
    pub(crate) fn name(&self) -> Arc<str> {
        Arc::clone(&self.0)
    }
}

impl fmt::Display for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Whether times of that zone are plain UTC, and no zone was chosen for them.
pub(crate) fn is_utc(zone: Option<&str>) -> bool {
    zone.is_none_or(|zone| ["UTC", "+00:00", "Z"].contains(&zone))
}

/// The machine's zone: as `TZ` says, or the system's setting; UTC when neither names one.
fn local() -> String {
    let known = |name: &str| Tz::from_str(name).is_ok().then(|| name.to_owned());
    let by_variable = std::env::var("TZ").ok();
    let by_variable = by_variable.and_then(|zone| known(zone.trim_start_matches(':')));
    let by_system = || {
        let link = std::fs::read_link("/etc/localtime").ok()?;
        let (_, name) = link.to_str()?.split_once("zoneinfo/")?;
        known(name)
    };
    by_variable.or_else(by_system).unwrap_or_else(|| "UTC".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zones_are_known_by_their_names_and_by_edgelakes() {
        for (name, zone) in
            [("UTC", "UTC"), ("pt", "America/Los_Angeles"), ("Europe/Rome", "Europe/Rome")]
        {
            assert_eq!(Zone::named(name).unwrap().to_string(), zone);
        }
        assert!(Zone::named("+02:00").is_ok() && Zone::named("local").is_ok());
        for wrong in ["moon", "", "Europe", "Europe/Rome\")"] {
            assert!(Zone::named(wrong).is_err(), "{wrong}");
        }
    }
}
