//! The way from a call back to the client that waits for it.

use serde_json::Value;

use crate::{Answer, Fault, Level, Question};

/// The way back to one client, for one request of it.
#[derive(Debug)]
pub(crate) struct ClientLink {}

impl ClientLink {
    pub(crate) fn wants_progress(&self) -> bool {
        false
    }

    pub(crate) async fn progress(&self, _: f64, _: Option<f64>, _: Option<String>) {}

    pub(crate) async fn log(&self, _: Level, _: &str, _: Value) {}

    pub(crate) async fn ask(&self, _: Vec<(String, Question)>) -> Result<Vec<Answer>, Fault> {
        Ok(Vec::new())
    }
}
