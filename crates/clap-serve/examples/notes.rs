//! Keeps notes in a folder: a small command line of its own, served to agents by three lines of `main`.
//!
//! ```text
//! cargo run -p clap-serve --example notes -- add milk --tag shop
//! cargo run -p clap-serve --example notes -- --serve
//! ```

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command line prints")]

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::{CommandFactory, FromArgMatches, Parser};
use clap_serve::{CommandExt, Effect, Invocation, Options};
use schemars::JsonSchema;
use serde::Serialize;

/// Keeps notes in a folder
#[derive(Debug, Parser)]
#[command(name = "notes", version, after_help = clap_serve::HELP)]
struct Cli {
    /// The folder of the notes
    #[arg(long, global = true, env = "NOTES_FOLDER", default_value = "notes")]
    folder: PathBuf,

    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Lists the notes, or those that have all of some tags
    #[command(effect = Effect::Read)]
    List {
        /// A tag that they must have
        #[arg(long)]
        tag: Vec<String>,
        /// The most that are listed
        #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=500))]
        limit: u16,
    },
    /// Prints a note
    #[command(effect = Effect::Read)]
    Show {
        /// Its name
        name: String,
    },
    /// Adds a note
    #[command(effect = Effect::Write)]
    Add {
        /// Its name
        name: String,
        /// What it says
        #[arg(long, default_value = "")]
        text: String,
        /// What it is about
        #[arg(long)]
        tag: Vec<String>,
    },
    /// Removes a note for good
    #[command(effect = Effect::Destructive)]
    Remove {
        /// Its name
        name: String,
    },
    /// Prints the key that the notes are shared with
    #[command(effect = Effect::Secret)]
    Key,
}

/// A note in a list.
#[derive(Debug, Serialize, JsonSchema)]
struct Note {
    /// Its name.
    name: String,
    /// What it is about.
    tags: Vec<String>,
}

fn main() -> ExitCode {
    // A list is asked for often: it is made here, with a type. All else runs the program again.
    let options = Options::new().handler("list", |invocation: Invocation| async move {
        let cli = Cli::from_arg_matches(&invocation.matches).map_err(io::Error::other)?;
        let Command::List { tag, limit } = cli.command else { return Ok(Vec::new()) };
        list(&cli.folder, &tag, limit)
    });
    // Which folder it is, is the choice of who starts the server.
    let options = options.deny(["--folder"]).manifests(["notes.toml"]);
    if let Some(code) = clap_serve::serve_if_asked(Cli::command(), options) {
        return code;
    }
    match run(Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(cli: Cli) -> io::Result<()> {
    match cli.command {
        Command::List { tag, limit } => {
            for Note { name, tags } in list(&cli.folder, &tag, limit)? {
                println!("{name}\t{}", tags.join(" "));
            }
        }
        Command::Show { name } => print!("{}", fs::read_to_string(file(&cli.folder, &name)?)?),
        Command::Add { name, text, tag } => {
            fs::create_dir_all(&cli.folder)?;
            fs::write(file(&cli.folder, &name)?, format!("{}\n{text}\n", tag.join(" ")))?;
        }
        Command::Remove { name } => fs::remove_file(file(&cli.folder, &name)?)?,
        Command::Key => println!("open sesame"),
    }
    Ok(())
}

/// The notes that have all of these tags: the first line of a note are its tags.
fn list(folder: &Path, tags: &[String], limit: u16) -> io::Result<Vec<Note>> {
    let mut notes = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let text = fs::read_to_string(entry.path())?;
        let own: Vec<String> =
            text.lines().next().unwrap_or_default().split_whitespace().map(str::to_owned).collect();
        if tags.iter().all(|tag| own.contains(tag)) {
            notes.push(Note { name: entry.file_name().to_string_lossy().into_owned(), tags: own });
        }
    }
    notes.sort_by(|one, other| one.name.cmp(&other.name));
    notes.truncate(limit.into());
    Ok(notes)
}

/// The file of a note: a name is no path.
fn file(folder: &Path, name: &str) -> io::Result<PathBuf> {
    let is_plain = !name.is_empty() && !name.contains(['/', '\\']) && !name.starts_with('.');
    match is_plain {
        true => Ok(folder.join(name)),
        false => Err(io::Error::other(format!("\"{name}\" is no name of a note"))),
    }
}
