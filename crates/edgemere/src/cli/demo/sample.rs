//! The sample company: a water utility with three sites, and the devices that fill its tables. The
//! sites' operators are only described: none of them runs.

use edgemere_ledger::{Error, Policy};
use serde_json::{Value, json};

/// The company.
pub(super) const COMPANY: &str = "Lakeside Water";

/// The database of its sensors.
pub(super) const DBMS: &str = "water";

pub(super) struct Site {
    name: &'static str,
    town: &'static str,
    loc: &'static str,
    /// The operator's port for other nodes; REST is on the next one.
    port: u16,
    tables: &'static [&'static str],
    /// The devices: name, kind, and the table that they fill.
    pub(super) devices: &'static [(&'static str, &'static str, &'static str)],
}

pub(super) const SITES: [Site; 3] = [
    Site {
        name: "harbour",
        town: "Lakeside Harbour",
        loc: "43.6532,-79.3832",
        port: 33148,
        tables: &["pumps", "flow"],
        devices: &[
            ("harbour-pump-1", "pump", "pumps"),
            ("harbour-pump-2", "pump", "pumps"),
            ("harbour-meter-1", "flow meter", "flow"),
        ],
    },
    Site {
        name: "hillside",
        town: "Upper Hillside",
        loc: "43.7615,-79.4111",
        port: 33248,
        tables: &["pumps", "tanks"],
        devices: &[
            ("hillside-pump-1", "pump", "pumps"),
            ("hillside-tank-1", "tank", "tanks"),
            ("hillside-tank-2", "tank", "tanks"),
        ],
    },
    Site {
        name: "mill",
        town: "Old Mill",
        loc: "43.6511,-79.4931",
        port: 33348,
        tables: &["flow", "quality"],
        devices: &[("mill-meter-1", "flow meter", "flow"), ("mill-probe-1", "probe", "quality")],
    },
];

/// Everything that the ledger says of the company.
pub(super) fn policies() -> Result<Vec<Policy>, Error> {
    let mut policies = Vec::new();
    for site in &SITES {
        let mut cluster = Policy::from_value(cluster(site))?;
        // The operator names its cluster by the id, which is made here.
        cluster.prepare();
        let cluster_id = cluster.id().unwrap_or_default().to_owned();
        policies.push(cluster);
        policies.push(Policy::from_value(operator(site, &cluster_id))?);
        for (name, kind, table) in site.devices {
            let device = json!({
                "name": name, "kind": kind, "site": site.name, "dbms": DBMS, "table": table,
            });
            policies.push(Policy::from_value(json!({ "device": device }))?);
        }
    }
    Ok(policies)
}

fn cluster(site: &Site) -> Value {
    let table = |name: &&str| json!({ "dbms": DBMS, "name": name });
    let tables: Vec<_> = site.tables.iter().map(table).collect();
    let name = format!("{}-cluster", site.name);
    json!({ "cluster": { "company": COMPANY, "name": name, "table": tables } })
}

fn operator(site: &Site, cluster_id: &str) -> Value {
    json!({ "operator": {
        "company": COMPANY,
        "name": format!("{}-operator", site.name),
        "hostname": format!("{}.example", site.name),
        "city": site.town,
        "loc": site.loc,
        "ip": "127.0.0.1",
        "port": site.port,
        "rest_port": site.port + 1,
        "cluster": cluster_id,
    } })
}

#[cfg(test)]
mod tests {
    use super::*;
    use edgemere_ledger::{Ledger, Scope};

    #[test]
    fn the_ledger_takes_the_sample_and_every_device_has_its_table() {
        let folder = tempfile::tempdir().unwrap();
        let (ledger, _) = Ledger::open(folder.path()).unwrap();
        let policies = ledger.insert_all(policies().unwrap(), Scope::Global).unwrap();
        assert_eq!(policies.len(), 14);
        for site in &SITES {
            for (name, _, table) in site.devices {
                assert!(site.tables.contains(table), "{name}");
            }
        }
    }
}
