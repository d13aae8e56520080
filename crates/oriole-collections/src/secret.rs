//! Secrets for tables under attack.
//!
//! The ordinary hashes of this crate are public functions without a seed, so somebody who writes a table's keys can write
//! keys that collide. A table that notices (see [`swiss`](crate::swiss)) draws a secret here and hashes with it from then
//! on. A secret cannot be known before the program runs, so the keys in a file cannot have been chosen against it.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Secrets drawn so far.
static DRAWN: AtomicU64 = AtomicU64::new(0);

/// A new secret; never one of the two numbers that stand for none.
#[cold]
pub(crate) fn draw() -> u64 {
    let number = DRAWN.fetch_add(1, Relaxed);
    random(number) | 2
}

/// What the operating system gives each process at random, spread over the number.
#[cfg(feature = "std")]
fn random(number: u64) -> u64 {
    use std::hash::BuildHasher;
    std::hash::RandomState::new().hash_one(number)
}

/// Without an operating system: where the program, its stack and its heap happen to lie.
#[cfg(not(feature = "std"))]
fn random(number: u64) -> u64 {
    let here = (&raw const number).addr() as u64;
    let heap = (&raw const *alloc::boxed::Box::new(0u8)).addr() as u64;
    let program = (&raw const DRAWN).addr() as u64;
    let mixed = crate::key::chain(crate::key::chain(here, heap), program);
    crate::key::chain(mixed, number)
}

#[cfg(test)]
mod tests {
    #[test]
    fn secrets_differ_and_are_never_those_of_none() {
        let secrets: Vec<u64> = (0..100).map(|_| super::draw()).collect();
        for (index, secret) in secrets.iter().enumerate() {
            assert!(*secret > 1);
            assert!(!secrets[..index].contains(secret));
        }
    }
}
