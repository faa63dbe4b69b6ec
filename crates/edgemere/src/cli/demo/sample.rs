//! The sample company: a water utility with a site for each operator, and the devices at each site
//! that fill its tables. It says what there is, not what the devices send.

use serde_json::{Value, json};

/// The company.
pub(super) const COMPANY: &str = "Lakeside Water";

/// The database of its sensors.
pub(super) const DBMS: &str = "water";

/// A place with devices, whose rows one operator holds.
pub(super) struct Site {
    pub(super) name: &'static str,
    town: &'static str,
    loc: &'static str,
}

const fn site(name: &'static str, town: &'static str, loc: &'static str) -> Site {
    Site { name, town, loc }
}

/// The sites. A demo has as many of them as it has operators.
pub(super) const SITES: [Site; 16] = [
    site("harbour", "Lakeside Harbour", "43.6532,-79.3832"),
    site("hillside", "Upper Hillside", "43.7615,-79.4111"),
    site("mill", "Old Mill", "43.6511,-79.4931"),
    site("quarry", "Stone Quarry", "43.8021,-79.2034"),
    site("spring", "Cold Spring", "43.8891,-79.4402"),
    site("bridge", "Long Bridge", "43.7004,-79.3301"),
    site("orchard", "Orchard Park", "43.7410,-79.6012"),
    site("ferry", "Ferry Landing", "43.6291,-79.3790"),
    site("weir", "The Weir", "43.6707,-79.4701"),
    site("abbey", "Abbey Road", "43.7122,-79.5103"),
    site("forge", "The Forge", "43.7733,-79.5018"),
    site("meadow", "Long Meadow", "43.8312,-79.5390"),
    site("dunes", "White Dunes", "43.6402,-79.3125"),
    site("castle", "Castle Hill", "43.6781,-79.4094"),
    site("cliff", "East Cliff", "43.7069,-79.2330"),
    site("island", "Centre Island", "43.6178,-79.3785"),
];

/// The tables of the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Table {
    Pumps,
    Flow,
    Tanks,
    Quality,
}

impl Table {
    pub(super) const ALL: [Self; 4] = [Self::Pumps, Self::Flow, Self::Tanks, Self::Quality];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Pumps => "pumps",
            Self::Flow => "flow",
            Self::Tanks => "tanks",
            Self::Quality => "quality",
        }
    }

    /// The columns after the time and the device, with their types.
    pub(super) fn columns(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Pumps => &[
                ("running", "boolean"),
                ("rpm", "int"),
                ("temperature", "decimal"),
                ("power_kw", "decimal"),
            ],
            Self::Flow => &[("litres_per_second", "decimal"), ("total_litres", "bigint")],
            Self::Tanks => &[("level_percent", "decimal"), ("temperature", "decimal")],
            Self::Quality => {
                &[("ph", "decimal"), ("chlorine_mg", "decimal"), ("turbidity_ntu", "decimal")]
            }
        }
    }

    /// The command that makes the table. The types are said, since those of a few values differ
    /// from site to site.
    pub(super) fn create(self) -> String {
        let columns = self.columns().iter().map(|(name, kind)| format!(", {name} {kind}"));
        let columns: String = columns.collect();
        format!(
            "create table {} (timestamp timestamp, device varchar{columns}) where dbms = {DBMS}",
            self.name()
        )
    }
}

/// A device, as there is one at each site.
pub(super) struct Device {
    name: &'static str,
    kind: &'static str,
    pub(super) table: Table,
}

impl Device {
    /// Its name at a site.
    pub(super) fn name_at(&self, site: &Site) -> String {
        format!("{}-{}", site.name, self.name)
    }
}

const fn device(name: &'static str, kind: &'static str, table: Table) -> Device {
    Device { name, kind, table }
}

/// The devices of a site.
pub(super) const DEVICES: [Device; 8] = [
    device("pump-1", "pump", Table::Pumps),
    device("pump-2", "pump", Table::Pumps),
    device("pump-3", "pump", Table::Pumps),
    device("meter-1", "flow meter", Table::Flow),
    device("meter-2", "flow meter", Table::Flow),
    device("tank-1", "tank", Table::Tanks),
    device("tank-2", "tank", Table::Tanks),
    device("probe-1", "probe", Table::Quality),
];

/// What the ledger says of a site and its devices. Nodes and tables speak for themselves.
pub(super) fn policies(site: &Site) -> Vec<Value> {
    let about = json!({
        "company": COMPANY, "name": site.name, "city": site.town, "loc": site.loc,
        "operator": site.name,
    });
    let device = |device: &Device| {
        json!({ "device": {
            "name": device.name_at(site), "kind": device.kind, "site": site.name,
            "dbms": DBMS, "table": device.table.name(),
        }})
    };
    let devices = DEVICES.iter().map(device);
    std::iter::once(json!({ "site": about })).chain(devices).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use edgemere_ledger::{Ledger, Policy, Scope};

    #[test]
    fn the_ledger_takes_the_sample_and_every_name_is_there_once() {
        let folder = tempfile::tempdir().unwrap();
        let (ledger, _) = Ledger::open(folder.path()).unwrap();
        let policies = SITES.iter().flat_map(policies).map(Policy::from_value);
        let policies = policies.collect::<Result<_, _>>().unwrap();
        let policies = ledger.insert_all(policies, Scope::Global).unwrap();
        let names: HashSet<_> = policies.iter().map(|policy| policy.name()).collect();
        assert_eq!((policies.len(), names.len()), (16 * 9, 16 * 9));
    }

    #[test]
    fn every_table_can_be_made_and_has_a_device() {
        for table in Table::ALL {
            edgemere_command::parse(&table.create()).unwrap();
            assert!(DEVICES.iter().any(|device| device.table == table));
        }
        let create = "create table flow (timestamp timestamp, device varchar, litres_per_second \
                      decimal, total_litres bigint) where dbms = water";
        assert_eq!(Table::Flow.create(), create);
    }
}
