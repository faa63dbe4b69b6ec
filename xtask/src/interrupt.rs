//! Ctrl-C and SIGTERM as a flag, so that nodes and folders are cleaned up on the way out.

use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result, bail};

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// From now on an interrupt no longer ends the process at once.
pub(crate) fn watch() -> Result<()> {
    let handled = ctrlc::try_set_handler(|| INTERRUPTED.store(true, Ordering::Relaxed));
    match handled {
        // A chore that runs another has already asked.
        Ok(()) | Err(ctrlc::Error::MultipleHandlers) => Ok(()),
        Err(error) => Err(error).context("cannot watch for Ctrl-C"),
    }
}

/// Fails once the person has pressed Ctrl-C.
pub(crate) fn check() -> Result<()> {
    if INTERRUPTED.load(Ordering::Relaxed) {
        bail!("interrupted");
    }
    Ok(())
}
