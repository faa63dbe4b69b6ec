//! Those who use the nodes while they are tormented: writers who remember what was acknowledged,
//! readers and agents who check every answer against that.

use std::{
    collections::BTreeSet,
    net::SocketAddr,
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

use anyhow::Result;

use super::{
    ask::{self, Answer, Of, Refusal},
    dice::Dice,
    model::{self, Books, Found, Library},
    scene::until,
    score::{Fault, Score, locked},
    wire::Gone,
};

/// How many batches a table gets before the next one is begun: few enough that an agent gets all of
/// them at once.
const BATCHES_MAX: usize = 60;
/// How long a writer waits between its batches: modest, since machines are shared.
const PAUSE: Duration = Duration::from_millis(25);
/// How long a writer waits for an operator that does not take the first rows of a further table: it may
/// be down, or its disk full.
const INTRODUCING: Duration = Duration::from_secs(10);
/// How long the network may take until it knows a table, or is whole again.
pub(super) const HEALING: Duration = Duration::from_secs(120);

/// Writers, readers and agents of a network.
pub(super) struct Crowd<'a> {
    score: &'a Score,
    operators: Vec<SocketAddr>,
    query: SocketAddr,
    pub(super) library: Mutex<Library>,
    /// The tables that the whole network is known to know.
    known: Mutex<Vec<String>>,
    batches: AtomicU64,
    is_over: AtomicBool,
    seed: u64,
}

impl<'a> Crowd<'a> {
    pub(super) fn new(
        score: &'a Score,
        operators: &[SocketAddr],
        query: SocketAddr,
        seed: u64,
    ) -> Self {
        Self {
            score,
            operators: operators.to_vec(),
            query,
            library: Mutex::default(),
            known: Mutex::default(),
            batches: AtomicU64::new(1),
            is_over: AtomicBool::new(false),
            seed,
        }
    }

    /// Does something while all of them are at work.
    pub(super) fn around<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        self.with_writers(self.operators.len(), work)
    }

    /// The same with writers of the first operator alone, while the other is not itself: what an impostor
    /// acknowledges is nobody's.
    pub(super) fn beside<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        self.with_writers(1, work)
    }

    fn with_writers<T>(&self, writers: usize, work: impl FnOnce() -> Result<T>) -> Result<T> {
        self.introduce("w0")?;
        let may_introduce = writers == self.operators.len();
        let result = thread::scope(|scope| {
            let writers: Vec<_> = (0..writers)
                .map(|index| scope.spawn(move || self.write(index, may_introduce)))
                .collect();
            scope.spawn(|| {
                self.read("reader", |dice, statement| {
                    let of = if dice.below(2) == 0 { Of::Network } else { Of::Subset };
                    ask::sql(self.query, of, statement)
                })
            });
            scope.spawn(|| self.read("agent", |_, statement| ask::agent(self.query, statement)));
            let result = work();
            self.is_over.store(true, Ordering::SeqCst);
            // A failure is in the score already.
            writers.into_iter().for_each(|writer| drop(writer.join()));
            result
        });
        self.is_over.store(false, Ordering::SeqCst);
        result
    }

    fn goes_on(&self) -> bool {
        !self.is_over.load(Ordering::SeqCst)
    }

    /// Makes a table on the operators, and waits until the network answers for all of them. Only the first
    /// table must be on each of them.
    pub(super) fn introduce(&self, table: &str) -> Result<()> {
        let most = if locked(&self.known).is_empty() { HEALING } else { INTRODUCING };
        for &operator in &self.operators {
            let batch = self.batches.fetch_add(1, Ordering::SeqCst);
            until(most, || Ok(self.store(operator, table, batch)))?;
        }
        let mut last = String::new();
        let is_known = until(HEALING, || {
            let (acknowledged, sent) = self.books(table);
            let answer = ask::sql(self.query, Of::Network, &model::statement(table));
            last = format!("{answer:?}");
            Ok(answer.is_ok_and(|answer| {
                !answer.is_partial && model::check(&answer, &acknowledged, &sent) == Found::Right
            }))
        })?;
        if is_known {
            locked(&self.known).push(table.to_owned());
        } else {
            let what =
                format!("table \"{table}\" of the crowd is not whole in {HEALING:?}: {last}");
            self.score.violation(Fault::Short, what);
        }
        Ok(())
    }

    /// Stores a batch, again until it is known whether it is there or its time is over.
    pub(super) fn store(&self, operator: SocketAddr, table: &str, batch: u64) -> bool {
        locked(&self.library).entry(table.to_owned()).or_default().sent.insert(batch);
        let key = format!("{table}-{batch}");
        for _ in 0..3 {
            match ask::put(operator, table, &model::csv(batch), &key) {
                Ok(()) => {
                    let mut library = locked(&self.library);
                    library.entry(table.to_owned()).or_default().acknowledged.insert(batch);
                    return true;
                }
                Err(_) => thread::sleep(PAUSE),
            }
        }
        false
    }

    fn books(&self, table: &str) -> (BTreeSet<u64>, BTreeSet<u64>) {
        let Books { sent, acknowledged } =
            locked(&self.library).get(table).cloned().unwrap_or_default();
        (acknowledged, sent)
    }

    fn write(&self, index: usize, may_introduce: bool) {
        let Some(&operator) = self.operators.get(index) else { return };
        let mut dice = Dice::of(self.seed, &format!("writer {index}"));
        while self.goes_on() {
            let tables = locked(&self.known).clone();
            let Some(table) = tables.last() else { return };
            let batch = self.batches.fetch_add(1, Ordering::SeqCst);
            self.store(operator, table, batch);
            if dice.below(30) == 0 {
                // Has its rows flushed while others go on; an operator that is away has nothing to.
                let _ =
                    ask::command(operator, &format!("flush buffers where dbms = {}", ask::DBMS));
            }
            let is_full = locked(&self.library)
                .get(table)
                .is_some_and(|books| books.sent.len() > BATCHES_MAX);
            // A new table is made on all operators, so only while all are themselves.
            if is_full && !may_introduce {
                return;
            }
            if is_full && index == 0 && self.introduce(&format!("w{}", tables.len())).is_err() {
                return;
            }
            // One table has to do for all of the time otherwise.
            thread::sleep(if may_introduce { PAUSE } else { PAUSE * 6 });
        }
    }

    fn read(&self, who: &str, question: impl Fn(&mut Dice, &str) -> Result<Answer, Refusal>) {
        let mut dice = Dice::of(self.seed, who);
        while self.goes_on() {
            let tables = locked(&self.known).clone();
            if let Some(table) = dice.pick(&tables) {
                let (acknowledged, _) = self.books(table);
                let answer = question(&mut dice, &model::statement(table));
                let (_, sent) = self.books(table);
                judge(
                    self.score,
                    answer,
                    &acknowledged,
                    &sent,
                    &format!("{who}: table \"{table}\""),
                );
            }
            thread::sleep(PAUSE * 2);
        }
    }

    /// When all is well again: every table has all that was acknowledged, once.
    pub(super) fn settle(&self) -> Result<()> {
        let library = locked(&self.library).clone();
        for (table, books) in library {
            whole(self.score, self.query, Of::Network, &table, &books, HEALING)?;
        }
        Ok(())
    }
}

/// Counts an answer to [`model::statement`].
pub(super) fn judge(
    score: &Score,
    answer: Result<Answer, Refusal>,
    acknowledged: &BTreeSet<u64>,
    sent: &BTreeSet<u64>,
    asked: &str,
) {
    let answer = match answer {
        Err(Refusal::Gone(Gone::Silent)) => {
            return score.violation(Fault::Died, format!("{asked}: no answer in a minute"));
        }
        Err(_) => return score.refused(),
        Ok(answer) => answer,
    };
    match model::check(&answer, acknowledged, sent) {
        Found::Wrong(why) => score.violation(Fault::Wrong, format!("{asked}: {why}")),
        Found::Without(_) if answer.is_partial => score.refused(),
        Found::Without(batches) => {
            let (missing, all) = (batches.len(), acknowledged.len());
            let what = format!(
                "{asked}: {missing} of {all} acknowledged batches are not in an answer \
                                that names nothing missing; the first is {:?}",
                batches.first()
            );
            score.violation(Fault::Short, what);
        }
        Found::Right => score.right(),
    }
}

/// Asks until a table is whole: all that was acknowledged is there, and nothing else.
pub(super) fn whole(
    score: &Score,
    node: SocketAddr,
    of: Of,
    table: &str,
    books: &Books,
    most: Duration,
) -> Result<()> {
    let mut last = String::new();
    let is_whole = until(most, || {
        let answer = ask::sql(node, of, &model::statement(table));
        let found = answer.map(|answer| {
            let found = model::check(&answer, &books.acknowledged, &books.sent);
            if answer.is_partial { (found, true) } else { (found, false) }
        });
        match found {
            Ok((Found::Right, false)) => return Ok(true),
            Ok((found, is_partial)) => last = format!("{found:?}, partial: {is_partial}"),
            Err(refusal) => last = refusal.to_string(),
        }
        Ok(false)
    })?;
    if is_whole {
        score.right();
    } else {
        let what = format!("table \"{table}\" is not whole again in {most:?}: {last}");
        score.violation(Fault::Lost, what);
    }
    Ok(())
}
