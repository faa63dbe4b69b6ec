//! Templates: commands and SQL with holes for the arguments.

use serde_json::{Map, Value};

use crate::arguments::ArgumentErrors;
use crate::bound::Bound;

/// How a tool's arguments become a command.
#[derive(Clone, Debug)]
pub(crate) struct Plan {}

impl Plan {
    pub(crate) fn bind(&self, arguments: Map<String, Value>) -> Result<Bound, ArgumentErrors> {
        Ok(Bound {
            command: String::new(),
            destination: None,
            subset: false,
            timeout: None,
            arguments,
            expected: "",
        })
    }

    pub(crate) fn sample(&self, _schema: &Map<String, Value>) -> Option<Map<String, Value>> {
        None
    }
}

/// A text with holes.
#[derive(Clone, Debug)]
pub(crate) struct Prose {}

impl Prose {
    pub(crate) fn fill(
        &self,
        _arguments: &Map<String, Value>,
        _known: &[&str],
        _required: &[&str],
    ) -> Result<String, ArgumentErrors> {
        Ok(String::new())
    }
}
