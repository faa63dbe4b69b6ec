//! What the devices of the sample company send: a reading a second. The values of a demo are the same
//! each time; only the times are of today, so that "the last hour" has rows.

use std::fmt::Write;
use std::ops::Range;

use jiff::{SignedDuration, Timestamp};

use super::sample::{DEVICES, Device, SITES, Table};

/// How many readings a device sends in a day.
const DAY: i64 = 86_400;

/// The readings of all devices: which there are when the demo starts, and those after.
///
/// A reading has the number of its step, which is a second. All devices send in each step; with a
/// number of rows that cannot be divided among them, the last ones begin a step later.
#[derive(Clone, Copy, Debug)]
pub(super) struct Readings {
    rows: i64,
    devices: i64,
    /// The time of step 0.
    start: Timestamp,
}

impl Readings {
    /// So many rows at so many sites, the last of them now.
    pub(super) fn until(now: Timestamp, rows: u32, sites: usize) -> Result<Self, jiff::Error> {
        let devices = i64::try_from(sites * DEVICES.len()).unwrap_or(i64::MAX);
        let readings = Self { rows: rows.into(), devices, start: now };
        let back = SignedDuration::from_secs(readings.steps() - 1);
        let start = Timestamp::from_second(now.as_second())?.checked_sub(back)?;
        Ok(Self { start, ..readings })
    }

    /// The number of steps until the demo starts.
    pub(super) fn steps(&self) -> i64 {
        (self.rows + self.devices - 1) / self.devices
    }

    /// The last step that has been at a time.
    pub(super) fn step_at(&self, time: Timestamp) -> i64 {
        time.as_second() - self.start.as_second()
    }

    /// The first step in which a device sends.
    fn first_step(&self, number: i64) -> i64 {
        let over = self.rows % self.devices;
        i64::from(over > 0 && number >= over)
    }

    /// What the devices of a table at a site send in some steps, as CSV.
    pub(super) fn csv(&self, site: usize, table: Table, steps: Range<i64>) -> String {
        let devices = devices(site, table);
        let mut csv = String::from("timestamp,device");
        for (column, _) in table.columns() {
            csv.push(',');
            csv.push_str(column);
        }
        csv.push('\n');
        for step in steps {
            let time = self.start.saturating_add(SignedDuration::from_secs(step));
            let time = time.map(|time| time.to_string()).unwrap_or_default();
            for (number, name) in &devices {
                if step >= self.first_step(*number) {
                    // Writing to a string does not fail.
                    let _ = write!(csv, "{time},{name},");
                    let _ = self.write_values(&mut csv, table, *number, step);
                }
            }
        }
        csv
    }

    fn write_values(
        &self,
        csv: &mut String,
        table: Table,
        number: i64,
        step: i64,
    ) -> std::fmt::Result {
        let wave = |middle, height| Hundredths(wave(number, step, middle, height));
        match table {
            Table::Pumps => self.write_pump(csv, number, step),
            Table::Flow => {
                let total = 1_000_000 * (number + 1) + 18 * step;
                writeln!(csv, "{},{total}", wave(18.0, 6.0))
            }
            Table::Tanks => writeln!(csv, "{},{}", wave(62.0, 21.0), wave(11.0, 2.0)),
            Table::Quality => {
                writeln!(csv, "{},{},{}", wave(7.4, 0.2), wave(0.6, 0.1), wave(0.3, 0.1))
            }
        }
    }

    /// A pump stands still for an hour a day, and the second one of all ran hot for a while.
    fn write_pump(&self, csv: &mut String, number: i64, step: i64) -> std::fmt::Result {
        let is_running = !(18_000..21_600).contains(&((step + 9_000 * number) % DAY));
        let is_hot = number == 1 && (5..6).contains(&(8 * step / self.steps()));
        let rpm = if is_running { 1450 + (step * 7 + number * 13) % 50 } else { 0 };
        let temperature = Hundredths(wave(number, step, if is_hot { 88.0 } else { 46.0 }, 6.0));
        let power = Hundredths(if is_running { wave(number, step, 11.0, 1.5) } else { 0 });
        writeln!(csv, "{is_running},{rpm},{temperature},{power}")
    }
}

/// How many devices of a site fill a table.
pub(super) fn devices_of(table: Table) -> i64 {
    DEVICES.iter().map(|device| i64::from(device.table == table)).sum()
}

/// The devices of a site that fill a table: their numbers among all, and their names.
fn devices(site: usize, table: Table) -> Vec<(i64, String)> {
    let of_table = DEVICES.iter().enumerate().filter(|(_, device)| device.table == table);
    let named = |(place, device): (usize, &Device)| {
        Some((number(site, place), device.name_at(SITES.get(site)?)))
    };
    of_table.filter_map(named).collect()
}

/// The number of a device among all devices.
fn number(site: usize, place: usize) -> i64 {
    i64::try_from(site * DEVICES.len() + place).unwrap_or(i64::MAX)
}

/// A value that goes up and down over the day, with some noise, in hundredths.
#[allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "steps are few, and so are values"
)]
fn wave(number: i64, step: i64, middle: f64, height: f64) -> i64 {
    let day = (step + number * 9_300) as f64 / DAY as f64 * std::f64::consts::TAU;
    let noise = ((step * 7919 + number * 104_729) % 1000) as f64 / 1000.0 - 0.5;
    let value = middle + height * (0.8 * day.sin() + 0.4 * noise);
    (value * 100.0).round() as i64
}

/// A number that is not negative, in hundredths.
struct Hundredths(i64);

impl std::fmt::Display for Hundredths {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{:02}", self.0 / 100, self.0 % 100)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn readings(rows: u32, sites: usize) -> Readings {
        Readings::until(Timestamp::from_second(1_800_000_000).unwrap(), rows, sites).unwrap()
    }

    fn rows(readings: &Readings, site: usize, table: Table) -> Vec<String> {
        let csv = readings.csv(site, table, 0..readings.steps());
        csv.lines().skip(1).map(String::from).collect()
    }

    #[test]
    fn every_row_is_at_one_site_and_there_are_as_many_as_wanted() {
        for (count, sites) in [(1000, 1), (1000, 3), (1001, 16), (5000, 2), (4_000, 5)] {
            let readings = readings(count, sites);
            let of_site = |site| Table::ALL.map(|table| rows(&readings, site, table)).concat();
            let all: Vec<String> = (0..sites).flat_map(of_site).collect();
            assert_eq!(all.len(), count as usize);
            // No device has two readings of one time.
            let key = |row: &String| row.splitn(3, ',').take(2).map(String::from).collect();
            let keys: HashSet<Vec<String>> = all.iter().map(key).collect();
            assert_eq!(keys.len(), all.len());
        }
    }

    #[test]
    fn the_last_reading_is_now_and_the_next_ones_follow() {
        let readings = readings(1600, 2);
        assert_eq!(readings.steps(), 100);
        let flow = rows(&readings, 1, Table::Flow);
        assert!(flow[0].starts_with("2027-01-15T07:58:21Z,hillside-meter-1,"), "{}", flow[0]);
        assert!(flow[199].starts_with("2027-01-15T08:00:00Z,hillside-meter-2,"), "{}", flow[199]);
        let now = Timestamp::from_second(1_800_000_002).unwrap();
        assert_eq!(readings.step_at(now), 101);
        let next = readings.csv(1, Table::Flow, 100..101);
        let next: Vec<_> = next.lines().collect();
        assert_eq!(next[0], "timestamp,device,litres_per_second,total_litres");
        assert!(next[1].starts_with("2027-01-15T08:00:01Z,hillside-meter-1,"), "{}", next[1]);
        assert_eq!(next.len(), 3);
    }

    #[test]
    fn one_pump_runs_hot() {
        let readings = readings(16_000, 2);
        let pumps = [rows(&readings, 0, Table::Pumps), rows(&readings, 1, Table::Pumps)].concat();
        let temperature = |row: &&String| row.split(',').nth(4).unwrap().parse::<f64>().unwrap();
        let hot: Vec<_> = pumps.iter().filter(|row| temperature(row) > 70.0).collect();
        assert_eq!(hot.len(), 125);
        assert!(hot.iter().all(|row| row.contains(",harbour-pump-2,")));
    }

    #[test]
    fn no_value_is_negative() {
        let readings = readings(3_000_000, 2);
        for table in Table::ALL {
            let csv = readings.csv(1, table, 0..DAY);
            assert!(csv.lines().skip(1).all(|row| !row.contains(",-")), "{}", table.name());
        }
    }
}
