//! The processes of a program where there are no groups: the program alone, which its own handle kills.

use tokio::process::Child;

/// The processes of a program.
#[derive(Debug, Default)]
pub(super) struct Processes;

impl Processes {
    pub(super) fn of(_: &Child) -> Self {
        Self
    }

    /// Ends when the program has ended.
    pub(super) async fn ended(&self, child: &mut Child) {
        let _ = child.wait().await;
    }

    /// There is no way to ask.
    pub(super) fn ask_to_end(&mut self) {}

    /// Dropping the handle kills it.
    pub(super) fn kill(&mut self) {}
}
