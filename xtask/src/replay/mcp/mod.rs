//! `cargo xtask replay-mcp`: what agents asked EdgeLake's two MCP servers, asked again.
//!
//! ```text
//! 1  capture   the captured calls, in their order
//! 2  cues      the ledger and the rows that they were asked with
//! 3  session   a session with each server, as the captured client had it
//! 4  expected  what is right: the captured answer, or what stands in xtask/replay/mcp.toml
//! ```

mod capture;
mod cues;
mod expected;
mod session;

use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use self::{
    capture::{Call, Server},
    cues::CUES,
    expected::Expected,
    session::Session,
};
use super::{exchange, masks::Masks, stage::Stage};
use crate::{cargo, interrupt};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Ask nodes of this program instead of building one
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
    /// Show every answer
    #[arg(long, short)]
    verbose: bool,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    interrupt::watch()?;
    let expected = Expected::load()?;
    let calls = capture::load()?;
    expected.check(&calls)?;
    let binary = match &args.binary {
        Some(binary) => std::path::absolute(binary)?,
        None => cargo::build_dev()?,
    };
    let mut stage = Stage::start(&binary)?;
    let exchanges = exchange::load()?;
    CUES.iter().try_for_each(|cue| stage.take(cue, &exchanges))?;
    let wrong = play(&stage, &calls, &expected, args.verbose)?;
    let refused = calls.iter().filter(|call| expected.is_refused(&call.id)).count();
    let good = calls.len() - wrong - refused;
    println!("{good} of {} as good or better, {refused} refused on purpose", calls.len());
    match wrong {
        0 => Ok(()),
        wrong => bail!("{wrong} calls are answered worse: see above"),
    }
}

/// What `cargo xtask test` runs.
pub(crate) fn run_all() -> Result<()> {
    run(&Args { binary: None, verbose: false })
}

/// Asks all calls, and says how many are answered worse.
fn play(stage: &Stage, calls: &[Call], expected: &Expected, verbose: bool) -> Result<usize> {
    let masks = Masks::new()?;
    let mut sessions = Vec::new();
    for server in [Server::Fork, Server::Upstream] {
        sessions.push((server, Session::new(stage.url(server.node())?)));
    }
    let mut wrong = 0;
    for call in calls {
        interrupt::check()?;
        let session = sessions.iter_mut().find(|(server, _)| *server == call.server);
        let (_, session) = session.context("no session")?;
        let reply =
            session.ask(&stage.ports.rewrite(&call.request()), expected.session(&call.id))?;
        let why = expected.broken_by(call, &reply, &stage.ports, &masks);
        if verbose || why.is_some() {
            println!("{}\n   asked    {}\n   EdgeLake {}", call.id, call.request(), call.said());
            println!("   ours     {} {}", reply.status, reply.message);
        }
        if let Some(why) = why {
            println!("   WORSE    {why}");
            wrong += 1;
        }
    }
    Ok(wrong)
}
