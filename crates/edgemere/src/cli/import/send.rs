//! Sends the pieces of one file: some at a time, each until the node has said what became of it.
//!
//! Every piece has a key, so that one whose acknowledgement was lost is sent again without being
//! stored twice.

use std::time::{Duration, Instant};

use edgemere_storage::chunking::{Chunk, ChunkOptions, Error, Live};
use futures_util::{Stream, StreamExt, stream};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::progress::Progress;
use super::tally::{Tally, created_line};
use super::target::Target;
use crate::client::{Client, Stored, Trouble, Upload};
use crate::failure::Failure;

/// How often what has come over time is sent.
const LIVE_TIME: Duration = Duration::from_secs(1);

/// How long to wait before a node that is gone is asked again.
const LOST_PAUSE: Duration = Duration::from_millis(500);

/// How the pieces of a file are sent.
pub(super) struct Sender<'a> {
    pub(super) client: &'a Client,
    pub(super) dbms: &'a str,
    pub(super) target: &'a Target,
    /// What the keys of the pieces are made with.
    pub(super) salt: String,
    pub(super) jobs: usize,
    pub(super) is_strict: bool,
    /// Whether values of several sorts make a new column text.
    pub(super) infer: bool,
    /// Whether nothing is said but what went wrong.
    pub(super) is_quiet: bool,
    /// How long a piece is sent again and again.
    pub(super) patience: Duration,
    /// Asks to stop when the pieces under way have been answered.
    pub(super) stop: &'a CancellationToken,
}

/// Why the pieces of a file were not all sent.
#[derive(Debug)]
pub(super) enum Stopped {
    /// The node does not take them, or is gone.
    Node(Failure),
    /// The file cannot be read on.
    File(Error),
    /// A row was rejected, and none may be.
    Strict,
    /// It was asked to stop.
    Asked,
}

type Answered = Result<(Chunk, Stored), Stopped>;

impl Sender<'_> {
    /// Sends all pieces. What became of the rows is in the tally, also when it stops early.
    pub(super) async fn send(
        &self,
        cut: ChunkOptions,
        tally: &mut Tally,
        progress: &Progress,
    ) -> Result<(), Stopped> {
        let mut pieces = Box::pin(self.pieces(cut)?);
        // The first piece makes the table, so that the others do not race to do it.
        let first = match pieces.next().await {
            Some(piece) => self.send_piece(piece).await,
            None => return self.end(),
        };
        self.count(first, tally, progress)?;
        let mut answers =
            Box::pin(pieces.map(|piece| self.send_piece(piece)).buffered(self.jobs.max(1)));
        while let Some(answer) = answers.next().await {
            self.count(answer, tally, progress)?;
        }
        self.end()
    }

    fn end(&self) -> Result<(), Stopped> {
        if self.stop.is_cancelled() { Err(Stopped::Asked) } else { Ok(()) }
    }

    /// The pieces, read by a thread of their own that is never far ahead.
    fn pieces(
        &self,
        cut: ChunkOptions,
    ) -> Result<impl Stream<Item = Result<Chunk, Error>> + use<>, Stopped> {
        let (sender, receiver) = mpsc::channel(1);
        let target = self.target.clone();
        let live = Live::every(LIVE_TIME);
        let is_live = target.is_live();
        let (stopped, stop) = (live.clone(), self.stop.clone());
        let read = move || {
            let pieces = target.pieces(cut, &live);
            let pieces = match pieces {
                Ok(pieces) => pieces,
                Err(error) => return drop(sender.blocking_send(Err(error))),
            };
            for piece in pieces {
                let is_last = piece.is_err();
                if sender.blocking_send(piece).is_err() || is_last {
                    return;
                }
            }
        };
        let thread = std::thread::Builder::new().name("import-read".into()).spawn(read);
        thread.map_err(|error| Stopped::File(Error::Io(error)))?;
        let next = |mut receiver: mpsc::Receiver<_>| async move {
            receiver.recv().await.map(|piece| (piece, receiver))
        };
        // A file can be read again; of what comes over time all that was read is sent first.
        let end = async move {
            stop.cancelled_owned().await;
            stopped.stop();
            if is_live {
                std::future::pending::<()>().await;
            }
        };
        Ok(stream::unfold(receiver, next).take_until(end))
    }

    /// Sends a piece until there is an answer.
    async fn send_piece(&self, piece: Result<Chunk, Error>) -> Answered {
        let mut piece = piece.map_err(Stopped::File)?;
        let key = piece.key(&self.salt);
        let upload = Upload {
            dbms: self.dbms,
            table: &self.target.table,
            input: piece.input,
            body: std::mem::take(&mut piece.body).into(),
            key: &key,
            infer: self.infer,
        };
        let mut since = None;
        loop {
            let (pause, trouble) = match self.client.ingest(&upload).await {
                Ok(stored) => return Ok((piece, stored)),
                Err(Trouble::Refused(failure)) => return Err(Stopped::Node(failure)),
                Err(Trouble::Later(pause, failure)) => (pause, failure),
                Err(Trouble::Lost(failure)) => (LOST_PAUSE, failure),
            };
            let since = *since.get_or_insert_with(Instant::now);
            // Rows that cannot be read again are not given up when it is asked to stop.
            let may_stop = !self.target.is_live();
            let is_over = may_stop && self.stop.is_cancelled();
            if is_over || since.elapsed() + pause > self.patience {
                return Err(Stopped::Node(trouble));
            }
            tracing::info!(reason = trouble.message, "trying again");
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = self.stop.cancelled(), if may_stop => {}
            }
        }
    }

    fn count(
        &self,
        answer: Answered,
        tally: &mut Tally,
        progress: &Progress,
    ) -> Result<(), Stopped> {
        let (piece, stored) = answer?;
        let table = format!("{}.{}", self.dbms, self.target.table);
        if let (Some(line), false) = (created_line(&table, &stored), self.is_quiet) {
            progress.say(&line);
        }
        // Every piece has the same columns.
        let first = stored.left_out.iter().filter(|_| tally.rows() == 0);
        for left in first {
            let (file, column) = (self.target.name(), &left.column);
            progress.say(&format!("left out: {file} column \"{column}\": {}", left.reason));
        }
        for line in tally.add(&self.target.name(), &piece, &stored) {
            progress.say(&line);
        }
        progress.set(piece.bytes_read, tally);
        match self.is_strict && (stored.rejected > 0 || !stored.left_out.is_empty()) {
            true => Err(Stopped::Strict),
            false => Ok(()),
        }
    }
}
