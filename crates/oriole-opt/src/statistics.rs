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
    fn is_same(&self, other: &PhaseStatistics) -> bool {
        // A name mostly comes from one place, and is the same text in memory.
        self.number == other.number
            && (std::ptr::eq(self.pass, other.pass) || self.pass == other.pass)
    }

    /// Where the phase is noted in [`Statistics::met`]: a word and a bit.
    #[inline]
    fn mark(&self) -> (usize, u64) {
        let last = self.pass.as_bytes().last().copied().unwrap_or(0);
        let sum = usize::from(self.number.unwrap_or(0)) * 5 + self.pass.len() * 37;
        let sum = sum + usize::from(last);
        (sum / 64 % MET_WORDS, 1 << (sum % 64))
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

/// Words of [`Statistics::met`].
const MET_WORDS: usize = 4;

/// Counters by name, such as `dead-code.instructions`, and what each phase did.
#[derive(Clone, Debug, Default)]
pub struct Statistics {
    /// In the order they first rose.
    counters: Vec<(&'static str, u64)>,
    phases: Vec<PhaseStatistics>,
    /// Bits of phases that were added to: one without its bit is not there and need not be looked for.
    met: [u64; MET_WORDS],
    /// The phase that was added to last. The next one is mostly the same, for another function, or one closely behind it.
    last_phase: usize,
    instructions: i64,
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

    /// Makes room for so many phases, and counters for them.
    pub(crate) fn expect_phases(&mut self, count: usize) {
        self.phases.reserve(count);
        self.counters.reserve(count);
    }

    /// Adds to what a phase did.
    pub fn add_phase(&mut self, phase: PhaseStatistics) {
        self.add_to_phase(&phase);
    }

    #[inline]
    fn add_to_phase(&mut self, phase: &PhaseStatistics) {
        let (word, bit) = phase.mark();
        let index = match self.met[word] & bit {
            0 => None,
            _ => self.phase_like(phase),
        };
        self.met[word] |= bit;
        match index {
            Some(index) => self.phases[index].add(phase),
            None => self.phases.push(*phase),
        }
        self.last_phase = index.unwrap_or(self.phases.len() - 1);
    }

    /// Where what a phase did is kept.
    fn phase_like(&self, phase: &PhaseStatistics) -> Option<usize> {
        let is_same = |own: &PhaseStatistics| own.is_same(phase);
        let (before, near) = self.phases.split_at(self.last_phase);
        let behind = near.iter().position(is_same);
        behind.map_or_else(
            || before.iter().position(is_same),
            |behind| Some(before.len() + behind),
        )
    }

    /// Instructions added by all passes, less those removed.
    pub fn instructions(&self) -> i64 {
        self.instructions
    }

    pub(crate) fn add_instructions(&mut self, added: i64) {
        self.instructions += added;
    }

    /// Adds all of another set.
    pub fn merge(&mut self, other: &Statistics) {
        for &(name, count) in &other.counters {
            self.add(name, count);
        }
        // Both have them in about the same order.
        self.last_phase = 0;
        for phase in &other.phases {
            self.add_to_phase(phase);
        }
        self.instructions += other.instructions;
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
