//! The repository's own rules: what DESIGN and STYLE say, where a machine can check it.

#![allow(
    clippy::indexing_slicing,
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a rule that cannot be read has failed"
)]

use std::{
    collections::{BTreeMap, BTreeSet},
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;

/// Who may depend on whom, among the crates of the workspace.
const EDGES: &[(&str, &[&str])] = &[
    (
        "edgemere",
        &[
            "clap-serve",
            "edgemere-command",
            "edgemere-ledger",
            "edgemere-query",
            "edgemere-service",
            "edgemere-storage",
            "edgemere-tools",
            "mcp-serve",
        ],
    ),
    ("edgemere-tools", &["clap-serve", "edgemere-command", "mcp-serve"]),
    (
        "edgemere-command",
        &["edgemere-ledger", "edgemere-query", "edgemere-service", "edgemere-storage"],
    ),
    ("edgemere-service", &["edgemere-ledger", "edgemere-query", "edgemere-storage"]),
    ("edgemere-query", &["edgemere-storage"]),
    ("edgemere-storage", &[]),
    ("edgemere-ledger", &[]),
    ("clap-serve", &["mcp-serve"]),
    ("mcp-serve", &[]),
    (
        "edgemere-fuzz",
        &[
            "edgemere-command",
            "edgemere-ledger",
            "edgemere-query",
            "edgemere-storage",
            "edgemere-tools",
            "mcp-serve",
        ],
    ),
    ("xtask", &["edgemere-command"]),
];

/// Libraries that only some crates know.
const FENCES: &[(&[&str], &[&str])] = &[
    (&["anyhow", "clap_complete"], &["edgemere", "xtask"]),
    // Serving a clap tree as tools is all that clap-serve is for.
    (&["clap"], &["edgemere", "xtask", "clap-serve"]),
    (&["reqwest", "rustyline"], &["edgemere"]),
    (&["axum"], &["edgemere", "mcp-serve"]),
    (&["datafusion", "datafusion-distributed", "sqlparser"], &["edgemere-query"]),
    (&["arrow"], &["edgemere-query", "edgemere-service", "edgemere-storage"]),
    (&["parquet"], &["edgemere-query", "edgemere-storage"]),
    (&["rmcp"], &["mcp-serve"]),
];

/// Libraries that a crate must do without.
const BANS: &[(&str, &[&str])] = &[("edgemere-ledger", &["tokio"])];

const LINES_MAX: usize = 600;

#[test]
fn crates_depend_on_each_other_only_as_designed() {
    let allowed: BTreeMap<&str, &[&str]> = EDGES.iter().copied().collect();
    let packages = packages();
    let names: BTreeSet<&str> = packages.keys().map(String::as_str).collect();
    for (name, dependencies) in &packages {
        let may = allowed.get(name.as_str());
        let may = may.unwrap_or_else(|| panic!("crate \"{name}\" is not in DESIGN: see EDGES"));
        // A crate may depend on itself, to switch its own features on for its tests.
        let others = dependencies.iter().filter(|other| *other != name);
        for dependency in others.filter(|other| names.contains(other.as_str())) {
            assert!(may.contains(&dependency.as_str()), "{name} must not depend on {dependency}");
        }
    }
}

#[test]
fn fenced_libraries_stay_behind_their_fence() {
    for (name, dependencies) in packages() {
        for (libraries, owners) in FENCES {
            for library in libraries.iter().filter(|library| dependencies.contains(**library)) {
                assert!(owners.contains(&name.as_str()), "{name} must not know {library}");
            }
        }
        for (_, libraries) in BANS.iter().filter(|(banned, _)| *banned == name) {
            for library in *libraries {
                assert!(!dependencies.contains(*library), "{name} must do without {library}");
            }
        }
    }
}

#[test]
fn the_chores_are_built_without_the_engine() {
    let metadata = metadata();
    let built = metadata["xtask"].iter().filter(|dependency| dependency["kind"].is_null());
    for name in built.map(|dependency| text(&dependency["name"])) {
        assert!(!metadata.contains_key(&name), "{name} belongs to xtask's dev-dependencies");
    }
}

#[test]
fn every_source_file_says_what_it_is() {
    let silent: Vec<PathBuf> = sources()
        .into_iter()
        .filter(|path| !is_excepted(path))
        .filter(|path| !read(path).starts_with("//!"))
        .collect();
    assert!(silent.is_empty(), "these files do not open with `//!`: {silent:#?}");
}

#[test]
fn no_source_file_is_too_long() {
    for path in sources() {
        let lines = read(&path).lines().count();
        assert!(lines <= LINES_MAX, "{} has {lines} lines: split it", path.display());
    }
}

#[test]
fn every_path_in_architecture_exists() {
    let text = read("ARCHITECTURE.md");
    let paths: Vec<&str> = text.split('`').skip(1).step_by(2).filter(|t| is_path(t)).collect();
    assert!(!paths.is_empty(), "ARCHITECTURE.md names no path");
    let sources = sources();
    for path in paths {
        // A text may leave out the front of a path that it has named before.
        let exists = root().join(path).exists() || sources.iter().any(|file| file.ends_with(path));
        assert!(exists, "ARCHITECTURE.md names {path}, which is gone");
    }
}

/// A link of a page to a file, or to a heading of one, that does not exist leads a reader nowhere.
#[test]
fn every_link_in_the_docs_leads_somewhere() {
    let mut pages = files(&root().join("docs"), "md");
    pages.extend(
        ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md"].map(|p| root().join(p)),
    );
    let mut broken = Vec::new();
    for page in &pages {
        for link in links(&read(page)) {
            let (path, heading) = link.split_once('#').unwrap_or((&link, ""));
            let target = match path {
                "" => page.clone(),
                path => page.parent().unwrap().join(path),
            };
            let leads = target.exists()
                && (heading.is_empty() || anchors(&read(&target)).contains(heading));
            if !leads {
                broken.push(format!("{}: {link}", page.strip_prefix(root()).unwrap().display()));
            }
        }
    }
    assert!(broken.is_empty(), "these links lead nowhere: {broken:#?}");
}

/// EdgeLake's clients know failures by their codes, so the page that explains them has to be complete.
#[test]
fn every_error_code_is_in_the_troubleshooting_page() {
    let page = read("docs/troubleshooting.md");
    let mut texts = sources().into_iter().filter(|path| !is_excepted(path)).map(read);
    let code = texts.find(|text| text.contains("pub struct Code {"));
    let code = code.expect("the codes are declared somewhere");
    let declared: Vec<&str> = code.split("Self::new(").skip(1).collect();
    assert!(declared.len() > 30, "{declared:?}");
    for line in declared {
        let parts: Vec<&str> = line.splitn(3, '"').collect();
        let line = format!("| {} | {} |", parts[0].trim().trim_end_matches(','), parts[1]);
        assert!(page.contains(&line), "docs/troubleshooting.md does not have {line}");
    }
}

#[test]
fn the_changelog_knows_this_version() {
    let version = env!("CARGO_PKG_VERSION");
    let text = read("CHANGELOG.md");
    let known = |title: &str| title.contains("Unreleased") || title.contains(version);
    let mut titles = text.lines().filter(|line| line.starts_with("## "));
    assert!(titles.any(known), "CHANGELOG.md has neither Unreleased nor {version}");
}

/// A folder of golden scripts, or of other data, that no test opens is never run, and nobody would
/// notice.
#[test]
fn every_folder_of_golden_scripts_is_run() {
    for folder in crates() {
        let code: String = files(&folder, "rs").iter().map(|path| without_comments(path)).collect();
        for data in data_folders(&folder.join("tests")) {
            // It is opened by its path in the crate, beside the test, or with a folder above it.
            let path = data.strip_prefix(&folder).unwrap();
            let above = path.ancestors().filter_map(|path| path.strip_prefix("tests").ok());
            let is_opened = above.filter(|path| path.components().next().is_some()).any(|path| {
                let path = path.display();
                code.contains(&format!("tests/{path}")) || code.contains(&format!("\"{path}/"))
            });
            assert!(is_opened, "no test runs what is in {}", data.display());
        }
    }
}

/// The direct dependencies of every crate of the workspace, of all kinds.
fn packages() -> BTreeMap<String, BTreeSet<String>> {
    let names = |(package, dependencies): (String, Vec<Value>)| {
        (package, dependencies.iter().map(|dependency| text(&dependency["name"])).collect())
    };
    metadata().into_iter().map(names).collect()
}

/// What cargo says of every crate of the workspace and its dependencies.
fn metadata() -> BTreeMap<String, Vec<Value>> {
    let cargo = env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let output = Command::new(cargo)
        .args(["metadata", "--no-deps", "--format-version", "1"])
        .current_dir(root())
        .output()
        .unwrap();
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap().iter();
    packages
        .map(|package| {
            (text(&package["name"]), package["dependencies"].as_array().unwrap().clone())
        })
        .collect()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// The folders of the crates that are there.
fn crates() -> Vec<PathBuf> {
    let entries = fs::read_dir(root().join("crates")).unwrap();
    entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()).collect()
}

/// All Rust of the workspace.
fn sources() -> Vec<PathBuf> {
    let mut all = files(&root().join("xtask"), "rs");
    all.extend(crates().iter().flat_map(|folder| files(folder, "rs")));
    all
}

/// Tests, examples and build scripts are read by themselves, and their names say what they are.
fn is_excepted(path: &Path) -> bool {
    let excepted = ["build.rs", "tests", "benches", "examples"];
    let path = path.strip_prefix(root()).unwrap();
    path.components().any(|part| excepted.iter().any(|name| part.as_os_str() == *name))
}

/// What stands in backticks and means a file or a folder of ours: it begins with one that stands
/// at the root, or it is Rust.
fn is_path(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    let Some((first, _)) = text.split_once('/') else {
        return false;
    };
    let ours = !first.is_empty() && (root().join(first).is_dir() || text.ends_with(".rs"));
    ours && text.chars().all(plain)
}

/// The targets of a page's links to other files of the repository.
fn links(page: &str) -> Vec<String> {
    let targets = prose(page).into_iter().flat_map(|line| {
        let parts = line.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        parts.map(str::to_owned).collect::<Vec<_>>()
    });
    targets.filter(|target| !target.contains("://")).collect()
}

/// The anchors of a page's headings, as the usual hosts make them.
fn anchors(page: &str) -> BTreeSet<String> {
    let headings = prose(page).into_iter().filter(|line| line.starts_with('#'));
    let plain = |c: &char| c.is_alphanumeric() || matches!(c, '-' | '_');
    let anchor = |line: String| -> String {
        let title = line.trim_start_matches('#').trim().to_lowercase().replace(' ', "-");
        title.chars().filter(plain).collect()
    };
    headings.map(anchor).collect()
}

/// The lines of a page outside of its code blocks.
fn prose(page: &str) -> Vec<String> {
    let mut is_code = false;
    let mut lines = Vec::new();
    for line in page.lines() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        } else if !is_code {
            lines.push(line.to_owned());
        }
    }
    lines
}

/// The files below a folder with this extension.
fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut all = walk(folder);
    all.retain(|path| path.extension().is_some_and(|other| other == extension));
    all
}

/// The folders below a folder that hold anything but Rust.
fn data_folders(folder: &Path) -> BTreeSet<PathBuf> {
    let mut all = walk(folder);
    all.retain(|path| path.extension().is_none_or(|extension| extension != "rs"));
    all.iter().map(|path| path.parent().unwrap().to_owned()).collect()
}

/// The files below a folder; none when it is not there.
fn walk(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let paths = entries.map(|entry| entry.unwrap().path());
    let mut all: Vec<PathBuf> =
        paths.flat_map(|path| if path.is_dir() { walk(&path) } else { vec![path] }).collect();
    all.sort();
    all
}

fn without_comments(path: &Path) -> String {
    let text = read(path);
    let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    code.flat_map(|line| [line, "\n"]).collect()
}

fn read(path: impl AsRef<Path>) -> String {
    let path = root().join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
