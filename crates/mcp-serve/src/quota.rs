//! How much each principal may do: calls at once, and calls in a second.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use crate::{Fault, Limits, Principal, lock::lock};

/// The principals that are remembered although they do nothing. More are forgotten: they have their
/// whole second again, which is what they would have anyway.
const REMEMBERED_MAX: usize = 1024;

/// When a principal that has too many calls under way should try again.
const BUSY_RETRY: Duration = Duration::from_millis(250);

/// What all principals have used.
#[derive(Debug)]
pub(crate) struct Quota {
    at_once_max: usize,
    per_second: f64,
    used: Mutex<HashMap<Principal, Used>>,
}

#[derive(Debug)]
struct Used {
    under_way: usize,
    /// The calls that may begin now.
    left: f64,
    counted: Instant,
}

/// A call that is under way, until it is dropped.
#[derive(Debug)]
pub(crate) struct Permit {
    quota: Arc<Quota>,
    principal: Principal,
}

impl Quota {
    pub(crate) fn new(limits: &Limits) -> Arc<Self> {
        Arc::new(Self {
            at_once_max: limits.calls_at_once_max,
            per_second: f64::from(limits.calls_per_second_max),
            used: Mutex::default(),
        })
    }

    /// Lets a call begin, or says when to try again.
    pub(crate) fn begin(self: &Arc<Self>, principal: &Principal) -> Result<Permit, Fault> {
        let now = Instant::now();
        let mut all = lock(&self.used);
        if all.len() > REMEMBERED_MAX {
            all.retain(|_, used| used.under_way > 0);
        }
        let used = match all.get_mut(principal) {
            Some(used) => used,
            None => all.entry(principal.clone()).or_insert(Used {
                under_way: 0,
                left: self.per_second,
                counted: now,
            }),
        };
        let gained = now.duration_since(used.counted).as_secs_f64() * self.per_second;
        used.left = (used.left + gained).min(self.per_second);
        used.counted = now;
        if used.under_way >= self.at_once_max {
            let message = format!("{} calls are under way already", used.under_way);
            return Err(Fault::refused(message, BUSY_RETRY));
        }
        if used.left < 1.0 {
            let wait = Duration::try_from_secs_f64((1.0 - used.left) / self.per_second);
            let message = format!("more than {} calls in a second", self.per_second);
            return Err(Fault::refused(message, wait.unwrap_or(Duration::MAX)));
        }
        used.left -= 1.0;
        used.under_way += 1;
        Ok(Permit { quota: self.clone(), principal: principal.clone() })
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut all = lock(&self.quota.used);
        if let Some(used) = all.get_mut(&self.principal) {
            used.under_way = used.under_way.saturating_sub(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::FaultKind;

    fn quota(at_once: usize, per_second: u32) -> Arc<Quota> {
        let limits = Limits {
            calls_at_once_max: at_once,
            calls_per_second_max: per_second,
            ..Limits::default()
        };
        Quota::new(&limits)
    }

    #[test]
    fn a_principal_has_so_many_calls_at_once_and_others_have_theirs() {
        let quota = quota(2, 1000);
        let (alice, bob) = (Principal::new("alice"), Principal::new("bob"));
        let first = quota.begin(&alice).unwrap();
        let _second = quota.begin(&alice).unwrap();
        let refused = quota.begin(&alice).unwrap_err();
        assert!(matches!(refused.kind, FaultKind::Refused));
        assert_eq!(refused.data.unwrap()["retryAfterMs"], 250);
        assert!(quota.begin(&bob).is_ok());
        drop(first);
        assert!(quota.begin(&alice).is_ok());
    }

    #[test]
    fn a_second_holds_so_many_calls() {
        let quota = quota(10, 3);
        let alice = Principal::new("alice");
        for _ in 0..3 {
            drop(quota.begin(&alice).unwrap());
        }
        let refused = quota.begin(&alice).unwrap_err();
        let wait = refused.data.unwrap()["retryAfterMs"].as_u64().unwrap();
        assert!((1..=334).contains(&wait), "{wait} ms");
        assert!(quota.begin(&Principal::new("bob")).is_ok());
    }

    #[test]
    fn principals_that_do_nothing_are_forgotten() {
        let quota = quota(1, 10);
        for number in 0..3 * REMEMBERED_MAX {
            drop(quota.begin(&Principal::new(number.to_string())).unwrap());
        }
        assert!(quota.used.lock().unwrap().len() <= REMEMBERED_MAX + 1);
    }
}
