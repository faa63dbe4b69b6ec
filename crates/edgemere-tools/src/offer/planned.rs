//! The SQL of tools, planned before it is offered where its tables are there: that proves that it only
//! reads, finds wrong names, and gives the columns of the answers.

use std::collections::HashMap;

use edgemere_command::Kind;
use edgemere_command::sql::ResultColumn;

use crate::commands::Failure;
use crate::execute::Executor;
use crate::problem::{Problem, Problems};
use crate::tool::Tool;
use crate::toolbox::Toolbox;

/// The columns of the answers of tools, by the tools' names.
#[derive(Clone, Debug, Default)]
pub(crate) struct Planned(HashMap<String, Vec<ResultColumn>>);

impl Planned {
    /// Plans the SQL of all tools whose tables are there. What cannot be planned is a problem.
    pub(crate) async fn of(toolbox: &Toolbox, executor: &Executor) -> Result<Self, Problems> {
        let (mut planned, mut problems) = (Self::default(), Vec::new());
        for tool in toolbox.tools() {
            match columns(tool, executor).await {
                Some(Ok(columns)) => _ = planned.0.insert(tool.name.clone(), columns),
                Some(Err(failure)) => problems.push(problem(tool, toolbox, failure)),
                None => {}
            }
        }
        match problems.is_empty() {
            true => Ok(planned),
            false => Err(Problems::new(problems)),
        }
    }

    /// How many tools there are whose columns are known.
    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }

    /// The columns of a tool's answers, where they are known.
    pub(super) fn columns(&self, tool: &str) -> Option<&[ResultColumn]> {
        self.0.get(tool).map(Vec::as_slice)
    }
}

/// The columns of a tool's answers; none when it is no query, when its tables depend on its arguments
/// or are not there yet, and when nobody can say, which is no fault of the file.
async fn columns(tool: &Tool, executor: &Executor) -> Option<Result<Vec<ResultColumn>, Failure>> {
    let bound = tool.sample()?;
    let request = executor.request(&bound, executor.principal());
    match executor.commands().columns(&request).await {
        Ok(columns) => columns.map(Ok),
        Err(failure) => {
            let is_of_file = matches!(failure.kind, Kind::Input | Kind::NotFound);
            is_of_file.then_some(Err(failure))
        }
    }
}

fn problem(tool: &Tool, toolbox: &Toolbox, failure: Failure) -> Problem {
    let position = &tool.position;
    let is_own = toolbox.files().first().is_none_or(|file| file.ends_with(&position.file));
    let line = toolbox.text().lines().nth(position.line.saturating_sub(1)).filter(|_| is_own);
    Problem {
        file: position.file.clone(),
        line: position.line,
        column: position.column,
        length: 1,
        message: format!("the SQL of \"{}\" cannot be planned: {}", tool.name, failure.message),
        hint: failure.hint,
        source: line.unwrap_or_default().to_owned(),
    }
}
