//! SQL on a network of real processes: a master, two operators and a query node. Whole answers, and
//! what becomes of them when nodes die, hang, or are strangers.

mod answers;
mod cancelling;
mod chaos;
mod dice;
mod hanging;
mod keys;
mod killing;
mod net;
mod restarting;
