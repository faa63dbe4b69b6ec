//! Any sequence of changes, against a plain list that is changed alike.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod scratch;

use std::sync::Arc;

use edgemere_storage::schema::Kind;
use edgemere_storage::storage::{Options, Storage, Table};
use proptest::prelude::*;
use scratch::{batch, column, manual, numbers, open, table};

#[derive(Clone, Debug)]
enum Step {
    Append(usize),
    Settle,
    Compact,
    AddColumn,
    Reopen,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (1..300usize).prop_map(Step::Append),
        3 => Just(Step::Settle),
        1 => Just(Step::Compact),
        1 => Just(Step::AddColumn),
        1 => Just(Step::Reopen),
    ]
}

/// A storage and what it should hold.
struct Pair {
    /// Closed before the folder goes.
    open: Option<(Storage, Arc<Table>)>,
    folder: tempfile::TempDir,
    options: Options,
    numbers: Vec<i64>,
    columns: usize,
}

impl Pair {
    async fn new(options: Options) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let storage = open(folder.path(), options.clone());
        let table = table(&storage).await;
        Self { open: Some((storage, table)), folder, options, numbers: vec![], columns: 3 }
    }

    async fn take(&mut self, step: &Step) {
        let (storage, table) = self.open.clone().unwrap();
        match step {
            Step::Append(rows) => {
                let first = self.numbers.len() as i64;
                let numbers = first..first + *rows as i64;
                let receipt = table.append(batch(numbers.clone())).await.unwrap();
                assert_eq!(receipt.first_row_id as i64, first + 1);
                self.numbers.extend(numbers);
            }
            Step::Settle => _ = storage.flush(&table).await.unwrap(),
            Step::Compact => _ = storage.compact(&table).await.unwrap(),
            Step::AddColumn => {
                let name = format!("c{}", self.columns);
                storage.add_columns(&table, vec![column(&name, Kind::HUGE)]).await.unwrap();
                self.columns += 1;
            }
            Step::Reopen => {
                drop((storage, table, self.open.take()));
                let storage = open(self.folder.path(), self.options.clone());
                let table = storage.table("d", "t").unwrap();
                self.open = Some((storage, table));
            }
        }
    }

    fn check(&self) {
        let (_, table) = self.open.as_ref().unwrap();
        let snapshot = table.snapshot();
        assert_eq!(numbers(&snapshot), self.numbers);
        assert_eq!(snapshot.schema.columns.len(), self.columns);
    }
}

fn run(options: &Options, steps: &[Step]) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async {
        let mut pair = Pair::new(options.clone()).await;
        for step in steps {
            pair.take(step).await;
            pair.check();
        }
        pair.take(&Step::Reopen).await;
        pair.check();
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn a_table_holds_what_was_appended(steps in prop::collection::vec(step(), 1..25)) {
        // Small pieces, so that flushing takes several files and compaction several rounds.
        let options = Options { flush_bytes: 20_000, compact_bytes: 50_000, ..manual() };
        run(&options, &steps);
    }

    #[test]
    fn a_restless_table_holds_the_same(steps in prop::collection::vec(step(), 1..25)) {
        run(&scratch::restless(), &steps);
    }
}
