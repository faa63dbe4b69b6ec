//! What jobs may use.

use std::time::Duration;

/// What jobs may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The disk space for the rows of one job, in bytes.
    pub job_bytes: u64,
    /// The disk space for the rows of all jobs, in bytes.
    pub total_bytes: u64,
    /// How many jobs are remembered, those that run included.
    pub jobs: usize,
    /// How many run at once.
    pub running: usize,
    /// How long a job is remembered after its end.
    pub keep: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            job_bytes: 1 << 30,
            total_bytes: 4 << 30,
            jobs: 1000,
            running: 100,
            keep: Duration::from_secs(3600),
        }
    }
}
