//! The processes of a program on systems without process groups: the program alone.

use tokio::process::Child;

/// The processes of a program.
#[derive(Debug, Default)]
pub(super) struct Processes;

impl Processes {
    pub(super) fn of(_: &Child) -> Self {
        Self
    }

    /// Returns when the program has ended.
    pub(super) async fn ended(&self, child: &mut Child) {
        let _ = child.wait().await;
    }

    /// There is no signal to ask with.
    pub(super) fn ask_to_end(&mut self) {}

    /// Dropping the handle kills the program.
    pub(super) fn kill(&mut self) {}
}
