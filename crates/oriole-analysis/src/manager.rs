//! Keeps analyses for as long as nothing they read has changed.
//!
//! No pass says what it preserves: the editor's journal says what changed, and each analysis what it reads. An analysis
//! that asks for another inherits what that one reads.

use oriole_ir::{Function, Journal};
use std::any::{Any, TypeId};
use std::rc::Rc;

/// The parts of a function an analysis depends on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reads {
    /// Blocks and edges.
    pub control_flow: bool,
    /// Definitions, operands and arguments.
    pub values: bool,
    /// Which instructions there are, and their order.
    pub order: bool,
    /// Effects on memory and control.
    pub effects: bool,
}

impl Reads {
    fn touched_by(self, journal: &Journal) -> bool {
        (self.control_flow && journal.control_flow)
            || (self.values && journal.values)
            || (self.order && journal.order)
            || (self.effects && journal.effects)
    }

    fn union(self, other: Reads) -> Reads {
        Reads {
            control_flow: self.control_flow || other.control_flow,
            values: self.values || other.values,
            order: self.order || other.order,
            effects: self.effects || other.effects,
        }
    }
}

/// Something that can be computed from a function and kept.
pub trait Analysis: PartialEq + Sized + 'static {
    /// What it is called in messages.
    const NAME: &'static str;

    /// What it reads itself; what it asks of `analyses` is added.
    const READS: Reads;

    /// Computes it.
    fn compute(function: &Function, analyses: &mut Analyses) -> Self;
}

struct Entry {
    key: TypeId,
    name: &'static str,
    reads: Reads,
    value: Rc<dyn Any>,
    is_current: fn(&Function, &mut Analyses, &dyn Any) -> bool,
}

/// How many analyses there usually are of a function.
const USUAL: usize = 8;

/// The analyses of one function.
#[derive(Default)]
pub struct Analyses {
    entries: Vec<Entry>,
    /// What the analyses being computed have read so far, innermost last.
    reading: Vec<Reads>,
    computed: u64,
}

impl Analyses {
    /// No analyses yet.
    pub fn new() -> Analyses {
        Analyses::default()
    }

    /// How many analyses have been computed, recomputations included.
    pub fn computed(&self) -> u64 {
        self.computed
    }

    /// The analysis, computed now or earlier.
    pub fn get<A: Analysis>(&mut self, function: &Function) -> Rc<A> {
        let key = TypeId::of::<A>();
        if let Some(entry) = self.entries.iter().find(|entry| entry.key == key) {
            let (value, reads) = (Rc::clone(&entry.value), entry.reads);
            self.record(reads);
            return value.downcast().expect("entries are keyed by their type");
        }
        self.reading.push(A::READS);
        let value = Rc::new(A::compute(function, self));
        let reads = self.reading.pop().expect("pushed above");
        self.record(reads);
        self.computed += 1;
        if self.entries.is_empty() {
            self.entries.reserve(USUAL);
        }
        self.entries.push(Entry {
            key,
            name: A::NAME,
            reads,
            value: Rc::clone(&value) as Rc<dyn Any>,
            is_current: |function, analyses, kept| {
                let kept = kept
                    .downcast_ref::<A>()
                    .expect("entries are keyed by their type");
                A::compute(function, analyses) == *kept
            },
        });
        value
    }

    fn record(&mut self, reads: Reads) {
        if let Some(outer) = self.reading.last_mut() {
            *outer = outer.union(reads);
        }
    }

    /// Drops what the changes touch.
    pub fn invalidate(&mut self, journal: &Journal) {
        if !journal.is_empty() {
            self.entries
                .retain(|entry| !entry.reads.touched_by(journal));
        }
    }

    /// Drops everything.
    pub fn clear(&mut self) {
        self.entries.clear();
    }

    /// Recomputes everything kept, from nothing, and gives the names of those that differ.
    pub fn stale(&self, function: &Function) -> Vec<&'static str> {
        let mut fresh = Analyses::new();
        self.entries
            .iter()
            .filter(|entry| !(entry.is_current)(function, &mut fresh, entry.value.as_ref()))
            .map(|entry| entry.name)
            .collect()
    }
}
