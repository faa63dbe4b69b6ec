//! The tasks of a query: given to operators, and read from them. An operator that is away is replaced
//! by one with the same rows, or left out when that is wanted, as long as none of its rows was used.

use std::sync::{Arc, Mutex, PoisonError};

use arrow::array::RecordBatch;
use datafusion::common::internal_datafusion_err;
use datafusion::error::{DataFusionError, Result};
use datafusion::physical_plan::ExecutionPlan;
use futures_util::StreamExt;
use futures_util::future::{join_all, try_join_all};

use super::end_of_stream::{self, Received};
use super::error::Error;
use super::progress::Progress;
use super::remote_task::{RemoteTask, RemoteTaskClient, TaskLease};
use super::shards::{Operator, Shard, Shards};
use super::subqueries::Subqueries;
use super::{explain, planner};

/// What all boundaries of one query share.
#[derive(Debug)]
pub(crate) struct DistributedQuery {
    links: RemoteTaskClient,
    /// Whether an answer without the rows of those who are away is an answer.
    subset: bool,
    progress: Progress,
    /// The tasks of the query, until it ends: what an operator's rows are is the same for all.
    holds: Mutex<Vec<TaskLease>>,
}

/// The tasks of one boundary: the same one for each part.
#[derive(Debug)]
pub(super) struct RemoteTasks {
    plan: Arc<dyn ExecutionPlan>,
    parts: Shards,
    subqueries: Option<Subqueries>,
    job: Arc<DistributedQuery>,
    /// Those that were accepted before anything ran, by part.
    opened: Mutex<Vec<Option<Opened>>>,
}

/// A task, and who has it: the operator's position in its part.
#[derive(Debug)]
struct Opened {
    link: RemoteTask,
    at: usize,
}

impl DistributedQuery {
    pub(super) fn new(links: RemoteTaskClient, subset: bool, progress: Progress) -> Self {
        Self { links, subset, progress, holds: Mutex::default() }
    }

    /// The plan for this node, with the parts of operators cut off.
    pub(crate) fn divide(
        self: &Arc<Self>,
        plan: Arc<dyn ExecutionPlan>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        planner::divide(plan, self)
    }

    /// Gives operators their parts of a plan that was divided.
    pub(crate) async fn open(&self, plan: &Arc<dyn ExecutionPlan>) -> Result<(), Error> {
        let gathers = explain::gathers(plan);
        let opening = gathers.iter().map(|gather| gather.tasks().open());
        try_join_all(opening).await?;
        // The rows of nobody are no answer.
        self.progress.missing_all().map_or(Ok(()), Err)
    }

    fn keep(&self, hold: TaskLease) {
        self.holds.lock().unwrap_or_else(PoisonError::into_inner).push(hold);
    }
}

impl RemoteTasks {
    pub(super) fn new(
        plan: Arc<dyn ExecutionPlan>,
        parts: Shards,
        subqueries: Option<Subqueries>,
        job: Arc<DistributedQuery>,
    ) -> Self {
        Self { plan, parts, subqueries, job, opened: Mutex::default() }
    }

    /// What an operator does.
    pub(super) fn plan(&self) -> &Arc<dyn ExecutionPlan> {
        &self.plan
    }

    /// Who does it.
    pub(super) fn parts(&self) -> &Shards {
        &self.parts
    }

    /// Gives all operators their tasks, before anything runs: so who is away is known at once, and
    /// all tasks of the query see the same rows. What needs the result of a subquery comes later.
    pub(super) async fn open(&self) -> Result<(), Error> {
        if self.subqueries.is_some() {
            return Ok(());
        }
        let opening = self.parts.iter().map(|part| self.open_part(part, 0));
        let mut opened = Vec::new();
        for (part, result) in self.parts.iter().zip(join_all(opening).await) {
            opened.push(match result {
                Ok(one) => Some(one),
                Err(error) => {
                    self.absent(part, error)?;
                    None
                }
            });
        }
        *self.opened.lock().unwrap_or_else(PoisonError::into_inner) = opened;
        Ok(())
    }

    /// Gives one operator of a part the task: the first that is there, from a position on.
    async fn open_part(&self, part: &Shard, from: usize) -> Result<Opened, Error> {
        let mut last = None;
        for (at, operator) in part.operators.iter().enumerate().skip(from) {
            match self.open_on(part, operator).await {
                Ok(link) => {
                    self.job.progress.begin(operator);
                    return Ok(Opened { link, at });
                }
                Err(error) if error.is_absence() => {
                    self.job.progress.fail(operator, &error);
                    last = Some(error);
                }
                Err(error) => return Err(error),
            }
        }
        Err(last.unwrap_or_else(|| Error::NoOperator { table: self.plan.name().to_owned() }))
    }

    async fn open_on(&self, part: &Shard, operator: &Operator) -> Result<RemoteTask, Error> {
        let failed = |error: DataFusionError| Error::Failed {
            operator: operator.clone(),
            reason: error.strip_backtrace(),
        };
        let plan = planner::pinned(&self.plan, part, &operator.id).map_err(failed)?;
        let plan = match &self.subqueries {
            Some(subqueries) => subqueries.write_into(plan).map_err(failed)?,
            None => plan,
        };
        self.job.links.open(operator, plan).await
    }

    /// A part that nobody answers for: an error, or left out when that is wanted.
    fn absent(&self, part: &Shard, error: Error) -> Result<(), Error> {
        let operator = error.operator().or(part.operators.first());
        let Some(operator) = operator.cloned() else { return Err(error) };
        if self.job.subset && error.is_absence() && self.job.progress.leave_out(&operator, &error) {
            return Ok(());
        }
        self.job.progress.fail(&operator, &error);
        Err(error)
    }

    fn take_opened(&self, part: usize) -> Option<Opened> {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        opened.get_mut(part).and_then(Option::take)
    }
}

/// One part of the result, while it is read.
pub(super) struct Reading {
    tasks: Arc<RemoteTasks>,
    part: Shard,
    state: Reads,
    /// Whether rows were passed on: from then on nobody can take the operator's place.
    used: bool,
}

/// Where reading a part is.
enum Reads {
    /// To be opened, from this operator of the part on.
    From(usize),
    /// From an operator.
    RemoteTask(Opened),
    /// At the end.
    Nothing,
}

impl Reading {
    /// The next rows. None at the end, which the operator has to have sent.
    pub(super) async fn next(&mut self) -> Result<Option<RecordBatch>, Error> {
        loop {
            let failed = match &mut self.state {
                Reads::Nothing => return Ok(None),
                Reads::From(at) => {
                    let opened = self.tasks.open_part(&self.part, *at).await;
                    match opened {
                        Ok(opened) => {
                            self.state = Reads::RemoteTask(opened);
                            continue;
                        }
                        Err(error) => error,
                    }
                }
                Reads::RemoteTask(opened) => match self.tasks.read(&self.part, opened).await {
                    Ok(Some(rows)) => {
                        self.used = true;
                        return Ok(Some(rows));
                    }
                    Ok(None) => {
                        self.finish();
                        return Ok(None);
                    }
                    Err(error) => error,
                },
            };
            self.fail(failed)?;
        }
    }

    /// Goes on with another operator or without, or not at all.
    fn fail(&mut self, error: Error) -> Result<(), Error> {
        let at = match std::mem::replace(&mut self.state, Reads::Nothing) {
            Reads::RemoteTask(opened) => opened.at + 1,
            Reads::From(_) | Reads::Nothing => usize::MAX,
        };
        if !self.used && error.is_absence() && at < self.part.operators.len() {
            if let Some(operator) = error.operator() {
                self.tasks.job.progress.fail(operator, &error);
            }
            self.state = Reads::From(at);
            return Ok(());
        }
        self.tasks.absent(&self.part, error)
    }

    fn finish(&mut self) {
        let Reads::RemoteTask(opened) = std::mem::replace(&mut self.state, Reads::Nothing) else {
            return;
        };
        if let Some(operator) = self.part.operators.get(opened.at) {
            self.tasks.job.progress.end(operator);
        }
        self.tasks.job.keep(opened.link.hold);
    }
}

impl RemoteTasks {
    /// The next rows of an operator; none at the end, or when the answer is to be without it.
    async fn read(&self, part: &Shard, opened: &mut Opened) -> Result<Option<RecordBatch>, Error> {
        let Some(operator) = part.operators.get(opened.at) else { return Ok(None) };
        let progress = &self.job.progress;
        loop {
            let before = opened.link.bytes();
            let batch = match opened.link.batches.next().await {
                Some(Ok(batch)) => batch,
                Some(Err(error)) => return Err(Error::of_call(operator, &error, true)),
                None => {
                    let reason = "its rows ended without an end".into();
                    return Err(Error::Lost { operator: operator.clone(), reason });
                }
            };
            let received = end_of_stream::receive(&batch, &self.plan.schema())
                .map_err(|error| Error::of_call(operator, &error, true))?;
            let bytes = opened.link.bytes().saturating_sub(before);
            match received {
                Received::End { rows_read } => {
                    progress.note_read(operator, rows_read);
                    return Ok(None);
                }
                Received::Notice(missing) => progress.note_missing_rows(Some(operator), missing),
                Received::Rows(rows) if rows.num_rows() == 0 => {}
                Received::Rows(rows) => {
                    let used = progress.use_rows(operator, rows.num_rows(), bytes);
                    return Ok(used.then_some(rows));
                }
            }
        }
    }

    /// Begins to read a part.
    pub(super) fn reading(self: &Arc<Self>, part: usize) -> Result<Reading> {
        let held = self.parts.get(part).cloned();
        let held = held.ok_or_else(|| internal_datafusion_err!("there is no part {part}"))?;
        let left_out = |operator: &Operator| self.job.progress.is_left_out(operator);
        let state = match self.take_opened(part) {
            Some(opened) => Reads::RemoteTask(opened),
            None if self.job.subset && held.operators.iter().any(left_out) => Reads::Nothing,
            None => Reads::From(0),
        };
        Ok(Reading { tasks: Arc::clone(self), part: held, state, used: false })
    }
}
