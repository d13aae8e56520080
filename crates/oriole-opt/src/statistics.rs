//! Named counters of what passes did, and what each phase did.

use crate::pipeline::Phase;
use std::fmt;
use std::time::{Duration, Instant};

/// What one phase did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PhaseStatistics {
    /// The documented phase number, if it has one.
    pub number: Option<u16>,
    /// The pass.
    pub pass: &'static str,
    /// Rewrites it made.
    pub rewrites: u64,
    /// Instructions it added, less those it removed.
    pub instructions: i64,
    /// How long it took, if that was asked for: see [`Statistics::timed`].
    pub time: Duration,
}

impl PhaseStatistics {
    /// Nothing done yet.
    pub fn of(phase: &Phase) -> PhaseStatistics {
        PhaseStatistics {
            number: phase.number,
            pass: phase.pass.name,
            rewrites: 0,
            instructions: 0,
            time: Duration::ZERO,
        }
    }
}

impl PhaseStatistics {
    /// Whether this is about the same phase as another.
    #[inline]
    pub(crate) fn is_same(&self, other: &PhaseStatistics) -> bool {
        // A name mostly comes from one place, and is the same text in memory.
        self.number == other.number
            && (std::ptr::eq(self.pass, other.pass) || self.pass == other.pass)
    }

    #[inline]
    fn add(&mut self, other: &PhaseStatistics) {
        self.rewrites += other.rewrites;
        self.instructions += other.instructions;
        if !other.time.is_zero() {
            self.time += other.time;
        }
    }
}

/// Counters by name, such as `dead-code.instructions`, and what each phase did.
#[derive(Clone, Debug, Default)]
pub struct Statistics {
    /// In the order they first rose.
    counters: Vec<(&'static str, u64)>,
    phases: Vec<PhaseStatistics>,
    is_timed: bool,
}

impl Statistics {
    /// Statistics that also say how long phases take, if that is asked for. All else is the same in every run.
    pub fn timed(is_timed: bool) -> Statistics {
        Statistics {
            is_timed,
            ..Statistics::default()
        }
    }

    /// The time now, if times are asked for.
    pub fn clock(&self) -> Option<Instant> {
        self.is_timed.then(Instant::now)
    }

    /// Adds the time since a clock was read, for work that is no phase of a level.
    pub fn add_time(&mut self, work: &'static str, clock: Option<Instant>) {
        if let Some(clock) = clock {
            self.add_phase(PhaseStatistics {
                number: None,
                pass: work,
                rewrites: 0,
                instructions: 0,
                time: clock.elapsed(),
            });
        }
    }

    /// Adds to a counter.
    pub fn add(&mut self, name: &'static str, amount: u64) {
        if amount == 0 {
            return;
        }
        // A name mostly comes from one place, and is the same text in memory.
        let known = self
            .counters
            .iter()
            .position(|(known, _)| std::ptr::eq(*known, name))
            .or_else(|| self.counters.iter().position(|&(known, _)| known == name));
        match known {
            Some(index) => self.counters[index].1 += amount,
            None => self.counters.push((name, amount)),
        }
    }

    /// What a counter stands at.
    pub fn get(&self, name: &str) -> u64 {
        let known = self.counters.iter().find(|&&(known, _)| known == name);
        known.map_or(0, |&(_, count)| count)
    }

    /// Counters that are not zero, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> + use<> {
        let mut sorted = self.counters.clone();
        sorted.sort_unstable();
        sorted.into_iter()
    }

    /// Each phase that ran, once for every number and pass, in the order they first ran.
    pub fn phases(&self) -> &[PhaseStatistics] {
        &self.phases
    }

    /// Adds to what a phase did.
    pub fn add_phase(&mut self, phase: PhaseStatistics) {
        match self.phases.iter_mut().find(|known| known.is_same(&phase)) {
            Some(known) => known.add(&phase),
            None => self.phases.push(phase),
        }
    }

    /// Adds to what phases did of which no two are the same. Mostly they are those known so far, in the same order, or the first ones.
    pub(crate) fn add_phases(&mut self, phases: &[PhaseStatistics]) {
        if self.phases.is_empty() {
            self.phases.extend_from_slice(phases);
            return;
        }
        for (place, phase) in phases.iter().enumerate() {
            match self.phases.get_mut(place) {
                Some(known) if known.is_same(phase) => known.add(phase),
                _ => self.add_phase(*phase),
            }
        }
    }

    /// Adds all of another set.
    pub fn merge(&mut self, other: &Statistics) {
        for &(name, count) in &other.counters {
            self.add(name, count);
        }
        self.add_phases(&other.phases);
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
