//! What is kept of answers for a while: the rest of a result under a cursor, and questions under ids.
//! Both are random, end by themselves, and are only for who asked.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use uuid::Uuid;

use crate::dispatch::Request;
use crate::error::Error;
use crate::format::rows::Rows;

/// How long the rest of a result is kept. It is a query that waits, with what it has open.
const REST_TIME: Duration = Duration::from_secs(300);

/// How many rests are kept for one principal, and for all. The oldest goes first.
const RESTS_OF_ONE: usize = 32;
const RESTS: usize = 128;

/// How long a question is kept: a text and a few words.
const QUESTION_TIME: Duration = Duration::from_secs(3600);

/// How many questions are kept for one principal, and for all. The oldest goes first.
const QUESTIONS_OF_ONE: usize = 200;
const QUESTIONS: usize = 2000;

/// What is kept.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    rests: Mutex<Shelf<Rows>>,
    questions: Mutex<Shelf<Request>>,
}

impl Kept {
    pub(super) fn keep_rest(&self, owner: &str, rows: Rows) -> String {
        lock(&self.rests).put(owner, rows, REST_TIME, (RESTS_OF_ONE, RESTS))
    }

    /// Takes the rest of a result: whoever reads on gets a cursor of its own.
    pub(crate) fn take_rest(&self, owner: &str, cursor: &str) -> Result<Rows, Error> {
        let rest = lock(&self.rests).take(owner, cursor);
        rest.ok_or_else(|| Error::NoCursor { cursor: cursor.to_owned() })
    }

    pub(super) fn keep_question(&self, request: &Request) -> String {
        let limits = (QUESTIONS_OF_ONE, QUESTIONS);
        let owner = request.principal.name();
        lock(&self.questions).put(owner, request.clone(), QUESTION_TIME, limits)
    }

    pub(super) fn question(&self, owner: &str, id: &str) -> Result<Request, Error> {
        let mut questions = lock(&self.questions);
        let found = questions.find(owner, id).map(|at| questions.0.get(at));
        let question = found.flatten().map(|item| item.thing.clone());
        question.ok_or_else(|| Error::NoResult { id: id.to_owned() })
    }
}

fn lock<T>(shelf: &Mutex<Shelf<T>>) -> MutexGuard<'_, Shelf<T>> {
    shelf.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Things that are kept, the oldest first.
#[derive(Debug)]
struct Shelf<T>(VecDeque<Item<T>>);

#[derive(Debug)]
struct Item<T> {
    id: String,
    owner: String,
    until: Instant,
    thing: T,
}

impl<T> Default for Shelf<T> {
    fn default() -> Self {
        Self(VecDeque::new())
    }
}

impl<T> Shelf<T> {
    /// Keeps a thing in the place of the oldest when there are too many, of its owner or in all.
    fn put(&mut self, owner: &str, thing: T, time: Duration, (own, all): (usize, usize)) -> String {
        self.throw_away_old();
        if self.0.iter().filter(|item| item.owner == owner).count() >= own {
            let oldest = self.0.iter().position(|item| item.owner == owner);
            oldest.and_then(|at| self.0.remove(at));
        }
        if self.0.len() >= all {
            self.0.pop_front();
        }
        let id = Uuid::new_v4().simple().to_string();
        let until = Instant::now() + time;
        self.0.push_back(Item { id: id.clone(), owner: owner.to_owned(), until, thing });
        id
    }

    fn take(&mut self, owner: &str, id: &str) -> Option<T> {
        let at = self.find(owner, id)?;
        self.0.remove(at).map(|item| item.thing)
    }

    fn find(&mut self, owner: &str, id: &str) -> Option<usize> {
        self.throw_away_old();
        self.0.iter().position(|item| item.id == id && item.owner == owner)
    }

    fn throw_away_old(&mut self) {
        let now = Instant::now();
        self.0.retain(|item| item.until > now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn a_thing_is_for_its_owner_alone_and_once() {
        let mut shelf = Shelf::default();
        let id = shelf.put("ann", 1, LONG, (2, 3));
        assert_eq!(shelf.take("bob", &id), None);
        assert_eq!(shelf.take("ann", &id), Some(1));
        assert_eq!(shelf.take("ann", &id), None);
    }

    #[test]
    fn the_oldest_of_an_owner_goes_before_those_of_others() {
        let mut shelf = Shelf::default();
        let bob = shelf.put("bob", 0, LONG, (2, 4));
        let ids: Vec<_> = (1..=3).map(|n| shelf.put("ann", n, LONG, (2, 4))).collect();
        let found: Vec<_> = ids.iter().map(|id| shelf.take("ann", id)).collect();
        assert_eq!(found, [None, Some(2), Some(3)]);
        assert_eq!(shelf.take("bob", &bob), Some(0));
    }

    #[test]
    fn there_are_never_more_than_there_may_be() {
        let mut shelf = Shelf::default();
        for n in 0..100 {
            shelf.put(&format!("owner {n}"), n, LONG, (2, 3));
        }
        assert_eq!(shelf.0.iter().map(|item| item.thing).collect::<Vec<_>>(), [97, 98, 99]);
    }

    #[test]
    fn what_is_old_is_gone() {
        let mut shelf = Shelf::default();
        let id = shelf.put("ann", 1, Duration::ZERO, (2, 3));
        assert_eq!(shelf.take("ann", &id), None);
    }
}
