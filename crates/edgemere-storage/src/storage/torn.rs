//! Tests of a power cut: whatever part of what was not synced yet reached the disk, in whatever order
//! and torn wherever, what was acknowledged is there once and the rest is whole or not there.
//!
//! The key-value store runs on a file in memory that records what is done to it. A disk after a power
//! cut is made of everything up to the last sync and of some of what came after it.

use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrow::array::{ArrayRef, Int64Array, RecordBatch};
use redb::{Database, StorageBackend};

use crate::storage::Error;
use crate::storage::Options;
use crate::storage::Recovery;
use crate::storage::Storage;
use crate::storage::Table;
use crate::storage::faults::{create, values};
use crate::storage::persist::store::Opener;

/// What is done to a file.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    Write { at: usize, data: Vec<u8> },
    Length(usize),
    Sync,
}

impl Step {
    fn apply(&self, file: &mut Vec<u8>) {
        match self {
            Self::Write { at, data } => {
                if file.len() < at + data.len() {
                    file.resize(at + data.len(), 0);
                }
                file[*at..at + data.len()].copy_from_slice(data);
            }
            Self::Length(length) => file.resize(*length, 0),
            Self::Sync => {}
        }
    }

    /// A write of which only the first bytes arrive.
    fn cut(&self, length: usize) -> Self {
        match self {
            Self::Write { at, data } => Self::Write { at: *at, data: data[..length].to_vec() },
            other => other.clone(),
        }
    }

    fn written(&self) -> usize {
        match self {
            Self::Write { data, .. } => data.len(),
            _ => 0,
        }
    }
}

#[derive(Debug, Default)]
struct Tape {
    file: Vec<u8>,
    steps: Vec<Step>,
}

/// A file in memory that records what is done to it.
#[derive(Clone, Debug, Default)]
struct Recorder(Arc<Mutex<Tape>>);

impl Recorder {
    fn of(file: Vec<u8>) -> Self {
        Self(Arc::new(Mutex::new(Tape { file, steps: Vec::new() })))
    }

    fn tape(&self) -> MutexGuard<'_, Tape> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn step(&self, step: Step) {
        let mut tape = self.tape();
        step.apply(&mut tape.file);
        tape.steps.push(step);
    }

    fn steps(&self) -> Vec<Step> {
        self.tape().steps.clone()
    }
}

impl StorageBackend for Recorder {
    fn len(&self) -> io::Result<u64> {
        Ok(self.tape().file.len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let (tape, at) = (self.tape(), offset as usize);
        let bytes = tape.file.get(at..at + out.len()).ok_or(io::ErrorKind::UnexpectedEof)?;
        out.copy_from_slice(bytes);
        Ok(())
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        self.step(Step::Length(length as usize));
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        self.step(Step::Sync);
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.step(Step::Write { at: offset as usize, data: data.to_vec() });
        Ok(())
    }
}

fn open(folder: &Path, recorder: &Recorder) -> Result<(Storage, Recovery), Error> {
    let recorder = recorder.clone();
    let opener: Opener =
        Box::new(move |_| Database::builder().create_with_backend(recorder.clone()));
    let options = Options { background: false, ..Options::default() };
    // The file is in memory, and goes back in time: what bears witness of it is of another disk.
    let _ = std::fs::remove_file(folder.join("fresh.last"));
    Storage::open_with(folder, options, opener)
}

async fn append(table: &Arc<Table>, numbers: std::ops::Range<i64>) {
    let values: ArrayRef = Arc::new(Int64Array::from_iter_values(numbers));
    table.append(RecordBatch::try_from_iter([("n", values)]).unwrap()).await.unwrap();
}

/// What was done to the file, and after how many steps how many rows were acknowledged.
struct History {
    steps: Vec<Step>,
    acknowledged: Vec<(usize, i64)>,
}

/// A table to which some rows are appended, a few at a time.
async fn history(appends: &[i64]) -> History {
    let folder = tempfile::tempdir().unwrap();
    let recorder = Recorder::default();
    let (storage, _) = open(folder.path(), &recorder).unwrap();
    let table = create(&storage).await;
    let mut acknowledged = vec![(recorder.steps().len(), 0)];
    for rows in appends {
        let held = acknowledged.last().unwrap().1;
        append(&table, held..held + rows).await;
        acknowledged.push((recorder.steps().len(), held + rows));
    }
    // What closing writes is written too.
    drop((storage, table));
    History { steps: recorder.steps(), acknowledged }
}

impl History {
    /// How many rows may be there after a cut when so many steps were done: those that were
    /// acknowledged, or also those that were on their way.
    fn allowed(&self, done: usize) -> Vec<i64> {
        let known = self.acknowledged.iter().rfind(|(steps, _)| *steps <= done);
        let next = self.acknowledged.iter().find(|(steps, _)| *steps > done);
        known.into_iter().chain(next).map(|(_, rows)| *rows).collect()
    }

    /// Where the steps begin and end that are not safe between two syncs.
    fn groups(&self) -> Vec<(usize, usize)> {
        let syncs = self.steps.iter().enumerate().filter(|(_, step)| **step == Step::Sync);
        let ends: Vec<_> = syncs.map(|(at, _)| at).chain([self.steps.len()]).collect();
        let begins = [0].into_iter().chain(ends.iter().map(|end| end + 1));
        begins.zip(ends.iter().copied()).filter(|(begin, end)| begin < end).collect()
    }

    /// The file when everything was done up to a step.
    fn file(&self, done: usize) -> Vec<u8> {
        let mut file = Vec::new();
        self.steps[..done].iter().for_each(|step| step.apply(&mut file));
        file
    }

    /// The steps in which the last rows were written.
    fn last_append(&self) -> (usize, usize) {
        let [.., (begin, _), (end, _)] = self.acknowledged[..] else { panic!("no rows") };
        let syncs = self.steps[begin..end].iter().filter(|step| **step == Step::Sync).count();
        assert_eq!(syncs, 1, "an append is one sync");
        (begin, end)
    }
}

/// Opens disks and checks what they hold, all in one folder.
struct Checker {
    folder: tempfile::TempDir,
    opened: usize,
    found: Vec<i64>,
}

impl Checker {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), opened: 0, found: Vec::new() }
    }

    /// Opens a disk: it holds one of the allowed numbers of rows, each once, and takes more.
    async fn check(&mut self, disk: Vec<u8>, allowed: &[i64], what: &str) -> Recorder {
        let recorder = Recorder::of(disk);
        let (storage, recovery) = open(self.folder.path(), &recorder)
            .unwrap_or_else(|error| panic!("{what}: it does not open: {error}"));
        assert!(recovery.damaged.is_empty(), "{what}: {recovery:?}");
        self.opened += 1;
        let held = match storage.table("d", "t") {
            None => 0,
            Some(table) => {
                let held = values(&table);
                let count = held.len() as i64;
                assert!(held.into_iter().eq(0..count), "{what}: rows are lost or there twice");
                // Opening and closing is most of the work, so not every disk is written to.
                if self.opened.is_multiple_of(16) {
                    append(&table, count..count + 3).await;
                    assert!(values(&table).into_iter().eq(0..count + 3), "{what}");
                }
                count
            }
        };
        assert!(allowed.contains(&held), "{what}: {held} rows, and {allowed:?} are right");
        if !self.found.contains(&held) {
            self.found.push(held);
        }
        recorder
    }
}

/// A number that looks like chance, the same in every run.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }
}

/// The lengths at which a write is cut: all of the first page, which is short, and of the others all
/// at their two ends and some of those between, in which a page differs only in bytes of values.
fn cuts(at: usize, length: usize) -> impl Iterator<Item = usize> {
    const EDGE: usize = 96;
    const STEP: usize = 11;
    (1..length).filter(move |cut| {
        at == 0 || *cut < EDGE || length - cut < EDGE || cut.is_multiple_of(STEP)
    })
}

/// The disks when the steps of an append are done in order and the last one is cut, at every length.
/// What does not change the disk is left out.
async fn cut_everywhere(history: &History, (begin, end): (usize, usize), checker: &mut Checker) {
    let mut file = history.file(begin);
    for at in begin..end {
        let step = &history.steps[at];
        let allowed = history.allowed(at);
        checker.check(file.clone(), &allowed, &format!("before step {at}")).await;
        if let Step::Write { at: place, data } = step {
            for length in cuts(*place, data.len()) {
                // Bytes that are the same as before make the same disk.
                if file.get(place + length - 1) == data.get(length - 1) {
                    continue;
                }
                let mut disk = file.clone();
                step.cut(length).apply(&mut disk);
                let what = format!("step {at} cut after {length} bytes");
                checker.check(disk, &allowed, &what).await;
            }
        }
        step.apply(&mut file);
    }
    checker.check(file, &history.allowed(end), "after the last step").await;
}

#[tokio::test]
async fn an_append_may_be_cut_at_every_length() {
    let history = history(&[5, 300, 2, 3]).await;
    let mut checker = Checker::new();
    let (begin, end) = history.last_append();
    cut_everywhere(&history, (begin, end), &mut checker).await;
    assert!(checker.opened > 500, "{}", checker.opened);
    // The rows are there at the end, and not before.
    assert_eq!(checker.found, [307, 310]);
}

/// Bytes that were on their way when the power went are anything: zeros, or garbage. The first page
/// is left out: it is one sector, which is written or not.
#[tokio::test]
async fn what_was_on_its_way_may_be_anything() {
    const SECTOR: usize = 512;
    let history = history(&[5, 300, 2, 3]).await;
    let (begin, end) = history.last_append();
    let sync = (begin..end).find(|at| history.steps[*at] == Step::Sync).unwrap();
    let mut checker = Checker::new();
    for at in begin..sync {
        let Step::Write { at: place, data } = &history.steps[at] else { continue };
        for from in (0..data.len()).step_by(SECTOR).filter(|_| *place > 0) {
            for garbage in [0, 0xa5] {
                let mut file = history.file(sync);
                file[place + from..place + data.len()].fill(garbage);
                let what = format!("step {at} is {garbage:#x} from {from}");
                checker.check(file, &history.allowed(at), &what).await;
            }
        }
    }
    assert!(checker.opened > 10, "{}", checker.opened);
    assert!(checker.found.contains(&307), "{:?}", checker.found);
}

/// A disk writes in any order: each step after the last sync may be done or not, whole or torn.
#[tokio::test]
async fn any_part_of_what_was_not_synced_may_be_on_the_disk() {
    let history = history(&[1, 700, 2, 50, 1, 9]).await;
    let mut checker = Checker::new();
    let mut chance = Chance(0x9e37_79b9_7f4a_7c15);
    for (begin, end) in history.groups() {
        let safe = history.file(begin);
        let created = history.acknowledged[0].0;
        // Before anything was acknowledged a file that is half made is nobody's loss.
        if end < created {
            continue;
        }
        let steps = &history.steps[begin..end];
        let mut disks = Vec::new();
        for skipped in 0..steps.len() {
            disks.push(done(&safe, steps, |at| (at != skipped).then_some(usize::MAX)));
            disks.push(done(&safe, steps, |at| (at >= skipped).then_some(usize::MAX)));
        }
        for _ in 0..60 {
            disks.push(done(&safe, steps, |at| match chance.below(4) {
                0 => None,
                1 => Some(chance.below(steps[at].written().max(1))),
                _ => Some(usize::MAX),
            }));
        }
        for (index, disk) in disks.into_iter().enumerate() {
            let what = format!("disk {index} of steps {begin} to {end}");
            checker.check(disk, &history.allowed(end - 1), &what).await;
        }
    }
    assert!(checker.opened > 500, "{}", checker.opened);
}

/// A disk on which of each step as many bytes are done as are said; none when it is left out.
fn done(safe: &[u8], steps: &[Step], mut of: impl FnMut(usize) -> Option<usize>) -> Vec<u8> {
    let mut file = safe.to_vec();
    for (at, step) in steps.iter().enumerate() {
        if let Some(length) = of(at) {
            step.cut(length.min(step.written())).apply(&mut file);
        }
    }
    file
}

/// The power goes again while the file is being repaired.
#[tokio::test]
async fn a_second_cut_while_the_first_is_repaired_changes_nothing() {
    let history = history(&[5, 40, 3]).await;
    let (begin, end) = history.last_append();
    let allowed = history.allowed(begin);
    let mut checker = Checker::new();
    let mut chance = Chance(0x2545_f491_4f6c_dd1d);
    for at in begin..end {
        let mut torn = history.file(at);
        let step = &history.steps[at];
        step.cut(step.written() / 2).apply(&mut torn);
        let repaired = checker.check(torn.clone(), &allowed, "the first cut").await;
        let steps = repaired.steps();
        for until in 0..steps.len() {
            let done = &steps[..until];
            let synced = done.iter().rposition(|step| *step == Step::Sync).map_or(0, |at| at + 1);
            let mut again = torn.clone();
            for (index, step) in done.iter().enumerate() {
                // What was not synced is there or not.
                if index < synced || chance.below(3) > 0 {
                    step.apply(&mut again);
                }
            }
            let what = format!("step {at} cut, and step {until} of the repair");
            checker.check(again, &allowed, &what).await;
        }
    }
    assert!(checker.opened > 50, "{}", checker.opened);
}

/// A Parquet file is whole before the manifest names it. Until then it is garbage, whole or not.
#[tokio::test]
async fn a_cut_while_rows_settle_leaves_each_row_once() {
    let folder = tempfile::tempdir().unwrap();
    let recorder = Recorder::default();
    let (storage, _) = open(folder.path(), &recorder).unwrap();
    let table = create(&storage).await;
    append(&table, 0..40).await;
    let begin = recorder.steps().len();
    storage.flush(&table).await.unwrap();
    let end = recorder.steps().len();
    let file = table.snapshot().files[0].path.clone();
    let parquet = std::fs::read(&file).unwrap();
    drop((storage, table));
    let history = History { steps: recorder.steps(), acknowledged: vec![(begin, 40)] };
    let unfinished = file.with_extension("parquet.tmp");
    // Parquet files without a store are refused, and the store is not here but in memory.
    std::fs::write(folder.path().join("fresh.redb"), "in memory").unwrap();
    let mut flushed = 0;
    for at in begin..=end {
        for keep in [0, 4, parquet.len() / 2, parquet.len()] {
            let half = at < end && keep < parquet.len();
            let _ = std::fs::remove_dir_all(folder.path().join("data"));
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            // The manifest is written after the file is whole, so half a file is with no manifest.
            let disk = history.file(if half { begin } else { at });
            let kept = if half { &unfinished } else { &file };
            std::fs::write(kept, &parquet[..if half { keep } else { parquet.len() }]).unwrap();
            let (storage, recovery) = open(folder.path(), &Recorder::of(disk)).unwrap();
            let table = storage.table("d", "t").unwrap();
            let what = format!("{keep} bytes, step {at}");
            assert!(values(&table).into_iter().eq(0..40), "{what}");
            let files = table.stats().files;
            assert_eq!(recovery.removed.len(), 1 - files, "{what}");
            assert_eq!((kept.exists(), files == 1), (files == 1, kept.exists()), "{what}");
            assert!(!half || files == 0, "{what}");
            flushed += files;
        }
    }
    assert!(flushed > 0, "the rows were never flushed");
}
