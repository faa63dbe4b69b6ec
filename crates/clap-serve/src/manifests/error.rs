//! Errors of a search for manifests.

use std::{io, path::PathBuf};

/// Why manifests cannot be searched.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ManifestError {
    /// The folder does not exist.
    #[error("there is no folder \"{}\" to look for manifests in", folder.display())]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A pattern that matches no file.
    #[error(
        "\"{0}\" is no pattern for the name of a file: give one name without its folders, such as \
         \"app.yaml\" or \"app-*.yaml\""
    )]
    Pattern(String),
}
