//! Named counters of what passes did.

use std::collections::BTreeMap;
use std::fmt;

/// Counters by name, such as `dead-code.instructions`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    counters: BTreeMap<&'static str, u64>,
}

impl Statistics {
    /// Adds to a counter.
    pub fn add(&mut self, name: &'static str, amount: u64) {
        if amount > 0 {
            *self.counters.entry(name).or_default() += amount;
        }
    }

    /// What a counter stands at.
    pub fn get(&self, name: &str) -> u64 {
        self.counters.get(name).copied().unwrap_or(0)
    }

    /// Counters that are not zero, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        self.counters.iter().map(|(&name, &count)| (name, count))
    }

    /// Adds all counters of another set.
    pub fn merge(&mut self, other: &Statistics) {
        for (name, count) in other.iter() {
            self.add(name, count);
        }
    }
}

impl fmt::Display for Statistics {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, count) in self.iter() {
            writeln!(formatter, "{count:>10}  {name}")?;
        }
        Ok(())
    }
}
