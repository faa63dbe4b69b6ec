//! Why manifests cannot be looked for.

use std::{io, path::PathBuf};

/// Why manifests cannot be looked for.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ManifestError {
    /// The folder is not there.
    #[error("there is no folder \"{}\" to look for manifests in", folder.display())]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A pattern fits no file.
    #[error(
        "\"{0}\" is no pattern for the name of a file: give one name without its folders, such as \
         \"app.yaml\" or \"app-*.yaml\""
    )]
    Pattern(String),
}
