//! The committer: a thread that takes all appends that wait, and stores them in one transaction.
//!
//! While one transaction is on its way to the disk, the next ones gather: the more writers there
//! are, the more share an fsync.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};

use crate::storage::Error;
use crate::storage::Receipt;
use crate::storage::Table;
use crate::storage::maintenance::flush;
use crate::storage::options::QUEUE_MAX;
use crate::storage::persist::keyspace::{Keyspace, Transaction, Value, json};
use crate::storage::persist::record::Counters;
use crate::storage::persist::store::Apply;
use crate::storage::shared::{Shared, now};
use crate::storage::write::block::{Head, Prepared};
use crate::storage::write::budget::Reservation;
use crate::storage::write::idempotency;
use crate::storage::write::idempotency::Sent;
use crate::storage::write::memtable::MemtableChunk;

/// An append that waits.
pub(crate) struct AppendRequest {
    pub(crate) rows: PreparedRows,
    pub(crate) reply: oneshot::Sender<Result<Receipt, Error>>,
}

/// What it appends.
pub(crate) struct PreparedRows {
    pub(crate) table: Arc<Table>,
    pub(crate) prepared: Prepared,
    pub(crate) room: Reservation,
    /// Under which the writer would send the same rows again.
    pub(crate) key: Option<Sent>,
}

/// Commits what comes until the storage is closed.
pub(crate) fn run(shared: &Shared, mut queue: mpsc::Receiver<Option<AppendRequest>>) {
    let mut jobs = Vec::new();
    while !shared.is_closed() {
        queue.blocking_recv_many(&mut jobs, QUEUE_MAX);
        commit(shared, jobs.drain(..).flatten().collect());
    }
    // From here on nobody gets in, and who is in is served.
    queue.close();
    while let Ok(job) = queue.try_recv() {
        jobs.push(job);
    }
    commit(shared, jobs.into_iter().flatten().collect());
}

fn commit(shared: &Shared, jobs: Vec<AppendRequest>) {
    if jobs.is_empty() {
        return;
    }
    let (rows, replies): (Vec<_>, Vec<_>) =
        jobs.into_iter().map(|job| (job.rows, job.reply)).unzip();
    let committed = shared.store.commit(|writes, _| store(writes, rows));
    let answers: Vec<_> = match committed {
        Ok(receipts) => receipts,
        Err(error) => replies.iter().map(|_| Err(error.clone())).collect(),
    };
    for (reply, answer) in replies.into_iter().zip(answers) {
        // A writer that has gone away needs no answer.
        let _ = reply.send(answer);
    }
}

/// Appends of many tables that become one transaction.
#[derive(Default)]
struct Group {
    counters: BTreeMap<u64, Counters>,
    blocks: Vec<((u64, u64), Value)>,
    visible: Vec<(Arc<Table>, MemtableChunk, Counters, Reservation)>,
}

/// Writes appends, and returns for each what its writer gets once the transaction has come through.
fn store(
    writes: &Transaction<'_>,
    rows: Vec<PreparedRows>,
) -> Result<(Vec<Result<Receipt, Error>>, Apply), Error> {
    let mut group = Group::default();
    let inserted = now();
    let mut receipts = Vec::with_capacity(rows.len());
    for rows in rows {
        receipts.push(group.add_once(writes, rows, inserted)?);
    }
    writes.put(Keyspace::Blocks, group.blocks)?;
    for (table, counters) in &group.counters {
        writes.put(Keyspace::Counters, [((*table, 0), json(writes.path, counters)?)])?;
    }
    let visible = group.visible;
    Ok((receipts, Box::new(move || show(visible))))
}

impl Group {
    /// Adds the rows of an append, unless one with the same key was there before. The outer error is
    /// of the transaction, the inner one of this append.
    fn add_once(
        &mut self,
        writes: &Transaction<'_>,
        mut rows: PreparedRows,
        inserted: i64,
    ) -> Result<Result<Receipt, Error>, Error> {
        let Some(sent) = rows.key.take() else { return Ok(self.add(rows, inserted)) };
        let table = Arc::clone(&rows.table);
        if let Some(known) = idempotency::find(writes, table.id, &sent.key)? {
            return Ok(match known.is_same(sent.content) {
                true => Ok(Receipt { first_row_id: 0, rows: known.rows, repeated: true }),
                false => Err(table.key_reused(known.rows)),
            });
        }
        let added = self.add(rows, inserted);
        if let Ok(receipt) = &added {
            let keys_max = table.shared().options.keys_max;
            idempotency::remember(writes, table.id, sent, receipt.rows, keys_max)?;
        }
        Ok(added)
    }

    /// Numbers the rows of an append and adds them; refuses those of a table that was dropped.
    fn add(&mut self, rows: PreparedRows, inserted: i64) -> Result<Receipt, Error> {
        let PreparedRows { table, mut prepared, room, .. } = rows;
        let (arrow, counters) = {
            let state = table.state();
            if state.dropped {
                return Err(table.not_found());
            }
            (Arc::clone(&state.arrow), state.counters)
        };
        let counters = self.counters.entry(table.id).or_insert(counters);
        let (number, rows, bytes) = (counters.next_block, prepared.rows(), prepared.bytes());
        let head = Head { first_row: counters.next_row, inserted, rows };
        let batch = prepared.complete(head, number, &arrow)?;
        counters.next_block += 1;
        counters.next_row += rows;
        self.blocks.push(((table.id, number), prepared.value(head)));
        let chunk = MemtableChunk { blocks: (number, number), inserted, bytes, batch };
        self.visible.push((table, chunk, *counters, room));
        Ok(Receipt { first_row_id: head.first_row, rows, repeated: false })
    }
}

/// Makes rows visible that are durable.
fn show(visible: Vec<(Arc<Table>, MemtableChunk, Counters, Reservation)>) {
    for (table, chunk, counters, room) in visible {
        let mut state = table.state_mut();
        state.push(chunk);
        state.counters = counters;
        room.keep();
        if flush::is_full(&state, table.shared()) {
            table.shared().wakeup.ring();
        }
    }
}
