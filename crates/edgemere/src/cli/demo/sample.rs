//! The sample company: a water utility with three sites, the tables of its sensors and the devices
//! that fill them. The sites' operators are only described: none of them runs.

use edgemere_ledger::{Error, Policy};
use serde_json::{Value, json};

/// The company.
pub(super) const COMPANY: &str = "Lakeside Water";

/// The database of its sensors.
const DBMS: &str = "water";

struct Site {
    name: &'static str,
    town: &'static str,
    loc: &'static str,
    /// The operator's port for other nodes; REST is on the next one.
    port: u16,
    tables: &'static [&'static str],
    /// The devices: name, kind, and the table that they fill.
    devices: &'static [(&'static str, &'static str, &'static str)],
}

const SITES: [Site; 3] = [
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

/// The tables: name, and the columns that are their own.
const TABLES: [(&str, &str); 4] = [
    ("pumps", "device varchar, running boolean, rpm int, temperature float, power_kw float"),
    ("flow", "device varchar, litres_per_second float, total_litres bigint"),
    ("tanks", "device varchar, level_percent float, temperature float"),
    ("quality", "device varchar, ph float, chlorine_mg float, turbidity_ntu float"),
];

/// Everything that the ledger says of the company.
pub(super) fn policies() -> Result<Vec<Policy>, Error> {
    let mut policies = Vec::new();
    for (name, columns) in TABLES {
        policies.push(Policy::from_value(table(name, columns))?);
    }
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

/// A table as an operator of EdgeLake declares it.
fn table(name: &str, columns: &str) -> Value {
    let create = format!(
        "CREATE TABLE IF NOT EXISTS {name}(  row_id SERIAL PRIMARY KEY,  insert_timestamp TIMESTAMP \
         NOT NULL DEFAULT NOW(),  tsd_name CHAR(3),  tsd_id INT,  timestamp timestamp not null \
         default now(),  {columns} ); CREATE INDEX {name}_timestamp_index ON {name}(timestamp); \
         CREATE INDEX {name}_tsd_index ON {name}(tsd_name, tsd_id); \
         CREATE INDEX {name}_insert_timestamp_index ON {name}(insert_timestamp);"
    );
    json!({ "table": { "name": name, "dbms": DBMS, "create": create, "source": "sample" } })
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
        assert_eq!(policies.len(), 18);
        for site in &SITES {
            for (name, _, table) in site.devices {
                assert!(site.tables.contains(table), "{name}");
                assert!(TABLES.iter().any(|(known, _)| known == table), "{name}");
            }
        }
    }
}
