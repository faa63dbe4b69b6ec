//! Hot reload: the files of tools are looked at every moment, also where nothing tells of changes, as
//! on network drives. A good change takes effect at once; after a bad one the old tools stay.

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use mcp_serve::{Catalog, Server};
use tokio_util::sync::CancellationToken;

use crate::file::surroundings::Surroundings;
use crate::offer::Offer;
use crate::problem::Problems;
use crate::shipped::{EDGELAKE, EDGEMERE};
use crate::toolbox::Toolbox;

/// How often the files are looked at.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// After how many looks a file that is wrong is tried again.
const TRY_AGAIN: u64 = 4;

/// Where tools come from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Origin {
    /// The file that comes with Edgemere.
    #[default]
    Builtin,
    /// The file with EdgeLake's own names.
    Edgelake,
    /// A file.
    File(PathBuf),
}

impl Origin {
    /// What somebody says: nothing, the word for a file that comes with Edgemere, or a file.
    pub fn of(said: Option<&str>) -> Self {
        match said {
            None => Self::Builtin,
            Some(word) if word == EDGEMERE.word => Self::Builtin,
            Some(word) if word == EDGELAKE.word => Self::Edgelake,
            Some(path) => Self::File(path.into()),
        }
    }

    /// Reads and checks them.
    pub fn load(&self) -> Result<Toolbox, Problems> {
        match self {
            Self::Builtin => Toolbox::builtin(),
            Self::Edgelake => Toolbox::edgelake(),
            Self::File(path) => Toolbox::load(path, &Surroundings::process()),
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Builtin => f.write_str("Edgemere's own file"),
            Self::Edgelake => f.write_str("the file with EdgeLake's names"),
            Self::File(path) => write!(f, "{}", path.display()),
        }
    }
}

/// Tools that are offered, and loaded again when their file changes.
#[derive(Clone)]
pub struct Live {
    server: Server,
    offer: Offer,
    origin: Origin,
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    toolbox: Toolbox,
    seen: Vec<Stamp>,
    loaded: SystemTime,
    problems: Option<Problems>,
}

/// How a file looked when it was last seen.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Stamp {
    path: PathBuf,
    changed: Option<(SystemTime, u64)>,
}

/// How the tools are doing.
#[derive(Clone, Debug)]
pub struct Health {
    /// Where they come from.
    pub origin: Origin,
    /// How many tools are offered.
    pub tools: usize,
    /// When they were loaded.
    pub loaded: SystemTime,
    /// What is wrong with the file as it is now, so that the tools are still the old ones.
    pub problems: Option<Problems>,
}

impl Live {
    /// Loads and offers tools. A bad file is an error and nothing is offered.
    pub async fn start(server: Server, offer: Offer, origin: Origin) -> Result<Self, Problems> {
        let before = match &origin {
            Origin::File(path) => stamps(&[path.canonicalize().unwrap_or_else(|_| path.clone())]),
            Origin::Builtin | Origin::Edgelake => Vec::new(),
        };
        let toolbox = load(&origin).await?;
        server.publish(offer.catalog(&toolbox).await?);
        let seen = seen_before(before, toolbox.files());
        let state = State { toolbox, seen, loaded: SystemTime::now(), problems: None };
        Ok(Self { server, offer, origin, state: Arc::new(Mutex::new(state)) })
    }

    /// The tools that are offered.
    pub fn toolbox(&self) -> Toolbox {
        self.lock().toolbox.clone()
    }

    /// How the tools are doing.
    pub fn health(&self) -> Health {
        let state = self.lock();
        Health {
            origin: self.origin.clone(),
            tools: state.toolbox.tools().len(),
            loaded: state.loaded,
            problems: state.problems.clone(),
        }
    }

    /// Loads the file again whenever it changes, and tells clients when there are other tables, until
    /// told to stop.
    pub async fn watch(self, stop: CancellationToken) {
        let mut tables = self.offer.tables().await;
        let mut version = self.offer.version();
        for look in 1_u64.. {
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(LOOK_EVERY) => {}
            }
            self.look_at_files(look).await;
            if self.offer.version() != version {
                version = self.offer.version();
                let now = self.offer.tables().await;
                if now != tables {
                    tables = now;
                    self.server.resources_changed();
                    // SQL that had no tables before can be planned now.
                    self.reload_as_it_is().await;
                }
            }
        }
    }

    /// Loads the file again when it, or one that it includes, has changed. One that is wrong is tried
    /// now and then without that: what is missing may be in a file that was not read.
    async fn look_at_files(&self, look: u64) {
        if !matches!(self.origin, Origin::File(_)) {
            return;
        }
        let (seen, is_wrong) = {
            let state = self.lock();
            (state.seen.clone(), state.problems.is_some())
        };
        let files: Vec<_> = seen.iter().map(|stamp| stamp.path.clone()).collect();
        let now = tokio::task::spawn_blocking(move || stamps(&files)).await.unwrap_or_default();
        if now != seen || (is_wrong && look.is_multiple_of(TRY_AGAIN)) {
            self.reload(now).await;
        }
    }

    async fn reload_as_it_is(&self) {
        if matches!(self.origin, Origin::File(_)) {
            let seen = self.lock().seen.clone();
            self.reload(seen).await;
        }
    }

    /// Loads the file again, which looked like this before.
    async fn reload(&self, seen: Vec<Stamp>) {
        let file = &self.origin;
        match self.load_again().await {
            Ok((toolbox, catalog)) => {
                self.server.publish(catalog);
                tracing::info!(%file, tools = toolbox.tools().len(), "tools loaded");
                let seen = seen_before(seen, toolbox.files());
                *self.lock() = State { toolbox, seen, loaded: SystemTime::now(), problems: None };
            }
            Err(problems) => {
                let mut state = self.lock();
                state.seen = seen;
                if state.problems.as_ref() != Some(&problems) {
                    let count = problems.count();
                    tracing::error!(%file, count, "the old tools stay:\n{problems}");
                    state.problems = Some(problems);
                }
            }
        }
    }

    async fn load_again(&self) -> Result<(Toolbox, Catalog), Problems> {
        let toolbox = load(&self.origin).await?;
        let catalog = self.offer.catalog(&toolbox).await?;
        Ok((toolbox, catalog))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn load(origin: &Origin) -> Result<Toolbox, Problems> {
    let (origin, file) = (origin.clone(), origin.to_string());
    tokio::task::spawn_blocking(move || origin.load())
        .await
        .unwrap_or_else(|error| Err(Problems::of_file(&file, &error.to_string())))
}

/// How files looked before they were read: a change in between is seen the next time. Those that were
/// not known before look as they do now.
fn seen_before(before: Vec<Stamp>, files: &[PathBuf]) -> Vec<Stamp> {
    let mut seen = stamps(files);
    for stamp in &mut seen {
        if let Some(before) = before.iter().find(|before| before.path == stamp.path) {
            stamp.changed = before.changed;
        }
    }
    seen
}

fn stamps(files: &[PathBuf]) -> Vec<Stamp> {
    let stamp = |path: &PathBuf| {
        let about = std::fs::metadata(path).ok();
        let changed = about.and_then(|about| Some((about.modified().ok()?, about.len())));
        Stamp { path: path.clone(), changed }
    };
    files.iter().map(stamp).collect()
}
