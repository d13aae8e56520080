//! Keeps analyses for as long as they are true.
//!
//! No pass says what it preserves: the editor's journal says what changed, and each analysis what it reads. An analysis
//! that asks for another inherits what that one reads. An analysis that a change touches is asked to update itself from the
//! journal ([`Analysis::update`]), at once or when somebody asks for it next; one that cannot is dropped, and computed again then.

use oriole_ir::{Environment, Function, Journal};
use std::any::{Any, TypeId};
use std::cell::Cell;
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
    /// Which variables there are, and their types.
    pub variables: bool,
}

impl Reads {
    fn touched_by(self, journal: &Journal) -> bool {
        (self.control_flow && journal.control_flow)
            || (self.values && journal.values)
            || (self.order && journal.order)
            || (self.effects && journal.effects)
            || (self.variables && journal.variables)
    }

    fn union(self, other: Reads) -> Reads {
        Reads {
            control_flow: self.control_flow || other.control_flow,
            values: self.values || other.values,
            order: self.order || other.order,
            effects: self.effects || other.effects,
            variables: self.variables || other.variables,
        }
    }
}

/// What an analysis says of itself behind changes to what it reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Update {
    /// It is what it would be if it were computed now.
    Kept,
    /// It has to be computed again. What it holds by then does not matter.
    Recompute,
}

/// Something that can be computed from a function and its environment ([`Analyses::environment`]) and kept.
pub trait Analysis: PartialEq + Sized + 'static {
    /// What it is called in messages.
    const NAME: &'static str;

    /// What it reads itself; what it asks of `analyses` is added.
    const READS: Reads;

    /// Whether it is updated when it is asked for and not before, for all changes since at once: that pays where an update takes long
    /// and nobody may ask any more.
    const IS_UPDATED_LATE: bool = false;

    /// Computes it.
    fn compute(function: &Function, analyses: &mut Analyses) -> Self;

    /// Makes it what [`Analysis::compute`] would give for the function, which was changed as the journal says since this was
    /// computed or last updated. Only called if the journal touches what the analysis reads.
    fn update(
        &mut self,
        function: &Function,
        journal: &Journal,
        others: &mut Others<'_>,
    ) -> Update {
        let _ = (function, journal, others);
        Update::Recompute
    }

    /// Whether it is what [`Analysis::compute`] would give for the function now.
    fn is_current(&self, function: &Function, analyses: &mut Analyses) -> bool {
        Self::compute(function, analyses) == *self
    }
}

type UpdateEntry = fn(&mut dyn Any, &Function, &Journal, &mut Others<'_>) -> Update;

struct Entry {
    key: TypeId,
    name: &'static str,
    reads: Reads,
    /// Whether it asked for the environment, or for an analysis that did.
    reads_environment: bool,
    /// Nothing while it is updated, and from then on if it has to be computed again.
    value: Option<Rc<dyn Any>>,
    /// Whether changes touch what it reads that it was not updated for yet.
    is_waiting: bool,
    is_updated_late: bool,
    /// The changes that it is to be updated for when it is asked for.
    pending: Option<Box<Journal>>,
    is_current: fn(&Function, &mut Analyses, &dyn Any) -> bool,
    update: UpdateEntry,
}

/// What an analysis asks for others while it updates itself.
pub struct Others<'update> {
    analyses: &'update mut Analyses,
    journal: &'update Journal,
}

impl Others<'_> {
    /// The analysis of the function as it is now, if it is there and could be updated. It is not computed: nobody may ask for
    /// it again.
    pub fn get<A: Analysis>(&mut self, function: &Function) -> Option<Rc<A>> {
        let key = TypeId::of::<A>();
        let mut entries = self.analyses.entries.iter();
        let at = entries.position(|entry| entry.key == key)?;
        self.analyses.update_entry(at, function, self.journal);
        self.analyses.update_late(at, function);
        self.analyses.find::<A>()
    }

    /// The analysis of the function as it is now, computed if it has to be. Only for an analysis that is updated late
    /// ([`Analysis::IS_UPDATED_LATE`]): all others are up to date by then. The one that is computed must not be such.
    pub fn compute<A: Analysis>(&mut self, function: &Function) -> Rc<A> {
        debug_assert!(!A::IS_UPDATED_LATE, "{} is updated late", A::NAME);
        debug_assert!(self.analyses.entries.iter().all(|entry| !entry.is_waiting));
        self.analyses.get::<A>(function)
    }
}

/// How many analyses there usually are of a function.
const USUAL: usize = 8;

/// The analyses of one function.
#[derive(Default)]
pub struct Analyses {
    environment: Environment,
    /// Whether the environment was asked for since this was last made false.
    is_environment_read: Cell<bool>,
    entries: Vec<Entry>,
    /// What the analyses being computed have read so far, innermost last.
    reading: Vec<Reads>,
    computed: u64,
    updated: u64,
}

impl Analyses {
    /// No analyses yet, of a function that is in no module.
    pub fn new() -> Analyses {
        Analyses::default()
    }

    /// No analyses yet, of a function in this environment.
    pub fn of(environment: Environment) -> Analyses {
        Analyses {
            environment,
            ..Analyses::default()
        }
    }

    /// What the function is told of its module. It stays as it is while the function changes, so no analysis that asks has to
    /// say so.
    pub fn environment(&self) -> &Environment {
        self.is_environment_read.set(true);
        &self.environment
    }

    /// The analyses of the same function in another environment: those that did not ask for it.
    pub fn in_environment(mut self, environment: Environment) -> Analyses {
        self.entries.retain(|entry| !entry.reads_environment);
        Analyses {
            environment,
            ..self
        }
    }

    /// How many analyses have been computed, recomputations included.
    pub fn computed(&self) -> u64 {
        self.computed
    }

    /// How many times an analysis that a change touched could be kept.
    pub fn updated(&self) -> u64 {
        self.updated
    }

    /// The analysis, computed now or earlier.
    pub fn get<A: Analysis>(&mut self, function: &Function) -> Rc<A> {
        let key = TypeId::of::<A>();
        if A::IS_UPDATED_LATE
            && let Some(at) = self.entries.iter().position(|entry| entry.key == key)
        {
            self.update_late(at, function);
            self.entries.retain(|entry| entry.value.is_some());
        }
        if let Some(value) = self.find::<A>() {
            return value;
        }
        self.reading.push(A::READS);
        let was_read = self.is_environment_read.replace(false);
        let value = Rc::new(A::compute(function, self));
        let reads = self.reading.pop().expect("pushed above");
        let reads_environment = self.is_environment_read.get();
        self.is_environment_read.set(was_read || reads_environment);
        self.record(reads);
        self.computed += 1;
        self.enter(Rc::clone(&value), reads, reads_environment);
        value
    }

    /// Keeps an analysis that was computed elsewhere, of this function and of nothing but what [`Analysis::READS`] says.
    pub fn adopt<A: Analysis>(&mut self, value: A) {
        debug_assert!(self.find::<A>().is_none(), "{} is there already", A::NAME);
        self.enter(Rc::new(value), A::READS, false);
    }

    /// Keeps an analysis that is not there.
    fn enter<A: Analysis>(&mut self, value: Rc<A>, reads: Reads, reads_environment: bool) {
        if self.entries.is_empty() {
            self.entries.reserve(USUAL);
        }
        self.entries.push(Entry {
            key: TypeId::of::<A>(),
            name: A::NAME,
            reads,
            reads_environment,
            value: Some(value),
            is_waiting: false,
            is_updated_late: A::IS_UPDATED_LATE,
            pending: None,
            is_current: |function, analyses, kept| {
                let kept = kept
                    .downcast_ref::<A>()
                    .expect("entries are keyed by their type");
                kept.is_current(function, analyses)
            },
            update: |kept, function, journal, others| {
                let kept = kept
                    .downcast_mut::<A>()
                    .expect("entries are keyed by their type");
                kept.update(function, journal, others)
            },
        });
    }

    /// The analysis, if it is kept.
    #[inline]
    fn find<A: Analysis>(&mut self) -> Option<Rc<A>> {
        let key = TypeId::of::<A>();
        let entry = self.entries.iter().find(|entry| entry.key == key)?;
        let (value, reads) = (Rc::clone(entry.value.as_ref()?), entry.reads);
        if entry.reads_environment {
            self.is_environment_read.set(true);
        }
        self.record(reads);
        Some(value.downcast().expect("entries are keyed by their type"))
    }

    fn record(&mut self, reads: Reads) {
        if let Some(outer) = self.reading.last_mut() {
            *outer = outer.union(reads);
        }
    }

    /// Updates what the changes touch, or drops it. The function is what it is behind them.
    pub fn update(&mut self, function: &Function, journal: &Journal) {
        // Most passes find nothing to do.
        if journal.is_empty() {
            return;
        }
        let mut is_touched = false;
        for entry in &mut self.entries {
            let reads_changed = entry.reads.touched_by(journal);
            if entry.is_updated_late {
                if reads_changed {
                    entry.pending.get_or_insert_default().append(journal);
                }
                continue;
            }
            entry.is_waiting = reads_changed;
            is_touched |= reads_changed;
        }
        if is_touched {
            for at in 0..self.entries.len() {
                self.update_entry(at, function, journal);
            }
            self.entries.retain(|entry| entry.value.is_some());
        }
    }

    /// Updates one analysis if it still has to be; its value is gone if it cannot.
    fn update_entry(&mut self, at: usize, function: &Function, journal: &Journal) {
        let entry = &mut self.entries[at];
        if !std::mem::take(&mut entry.is_waiting) {
            return;
        }
        let update = entry.update;
        let mut value = entry.value.take();
        // What a pass still holds cannot be changed.
        if let Some(kept) = value.as_mut().and_then(Rc::get_mut) {
            let mut others = Others {
                analyses: self,
                journal,
            };
            if update(kept, function, journal, &mut others) == Update::Kept {
                self.entries[at].value = value;
                self.updated += 1;
            }
        }
    }

    /// Updates one analysis for changes since it was last asked for; its value is gone if it cannot.
    fn update_late(&mut self, at: usize, function: &Function) {
        if let Some(journal) = self.entries[at].pending.take() {
            self.entries[at].is_waiting = true;
            self.update_entry(at, function, &journal);
        }
    }

    /// Drops everything.
    pub fn clear(&mut self) {
        self.entries.clear();
    }

    /// Recomputes everything kept that is up to date, from nothing, and gives the names of those that differ.
    pub fn stale(&self, function: &Function) -> Vec<&'static str> {
        let mut fresh = Analyses::of(self.environment.clone());
        self.entries
            .iter()
            .filter(|entry| {
                let value = entry.value.as_deref().filter(|_| entry.pending.is_none());
                value.is_some_and(|value| !(entry.is_current)(function, &mut fresh, value))
            })
            .map(|entry| entry.name)
            .collect()
    }
}
