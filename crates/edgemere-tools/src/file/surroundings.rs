//! What a file may take from around it: the values of the environment.

use std::collections::HashMap;
use std::env;

/// What a file may take from around it.
#[derive(Clone, Debug, Default)]
pub struct Surroundings {
    /// None is the process's own environment.
    environment: Option<HashMap<String, String>>,
}

impl Surroundings {
    /// Those of the process.
    pub fn process() -> Self {
        Self { environment: None }
    }

    /// None.
    pub fn empty() -> Self {
        Self::of([])
    }

    /// These values.
    pub fn of<const N: usize>(values: [(&str, &str); N]) -> Self {
        let values = values.map(|(name, value)| (name.to_owned(), value.to_owned()));
        Self { environment: Some(values.into_iter().collect()) }
    }

    /// The value of a name in the environment.
    pub(crate) fn value(&self, name: &str) -> Option<String> {
        match &self.environment {
            Some(values) => values.get(name).cloned(),
            None => env::var(name).ok(),
        }
    }
}
