//! The quota of each principal: concurrent calls, and calls per second by a token bucket.

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

use parking_lot::Mutex;

use crate::{Fault, Limits, Principal};

/// The number of idle principals that are remembered. A forgotten principal starts with a full bucket,
/// which it would have after a second anyway.
const IDLE_PRINCIPALS_MAX: usize = 1024;

/// When a principal at its limit of concurrent calls should retry.
const BUSY_RETRY: Duration = Duration::from_millis(250);

/// The quota of all principals.
#[derive(Debug)]
pub(crate) struct Quota {
    concurrent_max: usize,
    per_second: f64,
    usage: Mutex<HashMap<Principal, Usage>>,
}

/// What a principal uses of its quota.
#[derive(Debug)]
struct Usage {
    active: usize,
    /// The token bucket: each call takes one token.
    tokens: f64,
    refilled: Instant,
}

/// The permit for a call, until it is dropped.
#[derive(Debug)]
pub(crate) struct Permit {
    quota: Arc<Quota>,
    principal: Principal,
}

impl Quota {
    pub(crate) fn new(limits: &Limits) -> Arc<Self> {
        Arc::new(Self {
            concurrent_max: limits.concurrent_calls_max,
            per_second: f64::from(limits.calls_per_second_max),
            usage: Mutex::default(),
        })
    }

    /// A permit for a call, or a fault that says when to retry.
    pub(crate) fn acquire(self: &Arc<Self>, principal: &Principal) -> Result<Permit, Fault> {
        self.acquire_at(principal, Instant::now())
    }

    fn acquire_at(self: &Arc<Self>, principal: &Principal, now: Instant) -> Result<Permit, Fault> {
        let mut all = self.usage.lock();
        if all.len() > IDLE_PRINCIPALS_MAX {
            all.retain(|_, usage| usage.active > 0);
        }
        let usage = match all.get_mut(principal) {
            Some(usage) => usage,
            None => all.entry(principal.clone()).or_insert(Usage {
                active: 0,
                tokens: self.per_second,
                refilled: now,
            }),
        };
        let gained = now.saturating_duration_since(usage.refilled).as_secs_f64() * self.per_second;
        usage.tokens = (usage.tokens + gained).min(self.per_second);
        usage.refilled = now;
        if usage.active >= self.concurrent_max {
            let message = format!("{} calls are active already", usage.active);
            return Err(Fault::refused(message, BUSY_RETRY));
        }
        if usage.tokens < 1.0 {
            let wait = Duration::try_from_secs_f64((1.0 - usage.tokens) / self.per_second);
            let message = format!("more than {} calls per second", self.per_second);
            return Err(Fault::refused(message, wait.unwrap_or(Duration::MAX)));
        }
        usage.tokens -= 1.0;
        usage.active += 1;
        Ok(Permit { quota: self.clone(), principal: principal.clone() })
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if let Some(usage) = self.quota.usage.lock().get_mut(&self.principal) {
            usage.active = usage.active.saturating_sub(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::FaultKind;

    fn quota(concurrent: usize, per_second: u32) -> Arc<Quota> {
        let limits = Limits {
            concurrent_calls_max: concurrent,
            calls_per_second_max: per_second,
            ..Limits::default()
        };
        Quota::new(&limits)
    }

    fn retry_after_ms(refused: Result<Permit, Fault>) -> u64 {
        let fault = refused.unwrap_err();
        assert!(matches!(fault.kind, FaultKind::Refused));
        fault.data.unwrap()["retryAfterMs"].as_u64().unwrap()
    }

    #[test]
    fn each_principal_has_its_own_concurrent_calls() {
        let (quota, now) = (quota(2, 1000), Instant::now());
        let (alice, bob) = (Principal::new("alice"), Principal::new("bob"));
        let first = quota.acquire_at(&alice, now).unwrap();
        let _second = quota.acquire_at(&alice, now).unwrap();
        assert_eq!(retry_after_ms(quota.acquire_at(&alice, now)), 250);
        assert!(quota.acquire_at(&bob, now).is_ok());
        drop(first);
        assert!(quota.acquire_at(&alice, now).is_ok());
    }

    #[test]
    fn the_bucket_refills_at_the_rate_and_never_beyond_a_second() {
        let (quota, start) = (quota(10, 4), Instant::now());
        let alice = Principal::new("alice");
        let calls_at = |now| (0..20).take_while(|_| quota.acquire_at(&alice, now).is_ok()).count();
        let after = |ms| start + Duration::from_millis(ms);
        assert_eq!(calls_at(start), 4);
        assert_eq!(retry_after_ms(quota.acquire_at(&alice, start)), 250);
        assert_eq!(retry_after_ms(quota.acquire_at(&alice, after(100))), 150);
        assert_eq!(calls_at(after(249)), 0);
        assert_eq!(calls_at(after(250)), 1);
        assert_eq!(calls_at(after(1000)), 3);
        assert_eq!(calls_at(after(60_000)), 4);
        assert!(quota.acquire_at(&Principal::new("bob"), start).is_ok());
    }

    #[test]
    fn a_clock_that_goes_back_refills_nothing() {
        let (quota, start) = (quota(10, 1), Instant::now() + Duration::from_secs(60));
        let alice = Principal::new("alice");
        assert!(quota.acquire_at(&alice, start).is_ok());
        assert!(quota.acquire_at(&alice, start - Duration::from_secs(30)).is_err());
    }

    #[test]
    fn idle_principals_are_forgotten_and_active_ones_are_not() {
        let (quota, now) = (quota(1, 10), Instant::now());
        let alice = Principal::new("alice");
        let _active = quota.acquire_at(&alice, now).unwrap();
        for number in 0..3 * IDLE_PRINCIPALS_MAX {
            drop(quota.acquire_at(&Principal::new(number.to_string()), now).unwrap());
        }
        assert!(quota.usage.lock().len() <= IDLE_PRINCIPALS_MAX + 1);
        assert_eq!(retry_after_ms(quota.acquire_at(&alice, now)), 250);
    }
}
