//! Loops whose step differs by lane, and loops that are followed round by round.
//!
//! ## Soundness
//! A parameter that every back edge gives what it was plus the same pattern of things that the loop does not change is its start plus that
//! often as much as the loop has gone round: that number is one for all lanes that are in the loop. A loop is followed round by round
//! where parameters start as numbers and have numbers as next values.

use super::active_lanes::Apart;
use super::lanes::Lanes;
use super::monomial::Monomial;
use super::pattern::{AtomData, AtomKey, Pattern};
use super::{Entry, LanePatterns};
use crate::known_bits::Known;
use crate::loops::Loop;
use oriole_ir::{Block, Operand, Value};
use oriole_isa::Terminator;

/// What every round of a loop adds to a parameter of its header.
#[derive(Clone, Debug)]
pub(super) struct Step {
    lanes: Lanes,
    terms: Vec<(Vec<AtomData>, Lanes)>,
}

impl LanePatterns<'_> {
    /// A parameter is not its start and something uniform, or every round does not add what it was said to.
    pub(super) fn refute(&mut self, parameter: Value) {
        let step = match self.refuted.contains(parameter) {
            true => None,
            false => self.observed_step(parameter),
        };
        self.refuted.insert(parameter);
        match step {
            Some(step) => self.steps.insert(parameter, step),
            None => self.steps.remove(&parameter),
        };
    }

    /// What every back edge adds to a parameter, if that is one pattern of things that the loop does not change.
    fn observed_step(&self, parameter: Value) -> Option<Step> {
        let block = self.function.defining_block(parameter)?;
        let around = self.loops.innermost(block)?;
        let own = self.seen_from(parameter, block).pattern().cloned()?;
        let mut step: Option<Pattern> = None;
        for (from, argument) in self.arguments(parameter, block, true) {
            let next = self.seen_from(argument, from).pattern().cloned()?;
            let difference = next.subtract(&own)?;
            let is_same = |step: &Pattern| {
                (&step.lanes, &step.terms) == (&difference.lanes, &difference.terms)
            };
            if step.as_ref().is_some_and(|step| !is_same(step)) {
                return None;
            }
            step = Some(difference);
        }
        let step = step.filter(|step| !step.is_uniform())?;
        let data = |monomial: &Monomial| {
            let atoms = monomial.iter().map(|&atom| *self.atoms.get(atom));
            atoms.collect::<Vec<AtomData>>()
        };
        let terms: Vec<_> = step
            .terms
            .iter()
            .map(|term| (data(&term.monomial), term.factor.clone()))
            .collect();
        let changes = |atom: &AtomData| {
            let home = atom.home;
            home.is_some_and(|home| self.loops.contains(around, home))
        };
        let is_invariant = !terms.iter().any(|term| term.0.iter().any(changes));
        is_invariant.then_some(Step {
            lanes: step.lanes.clone(),
            terms,
        })
    }

    /// The pattern of a step.
    fn step_pattern(&mut self, step: &Step, bits: u32) -> Option<Pattern> {
        let mut sum = Pattern::concrete(step.lanes.clone(), bits);
        for (atoms, factor) in &step.terms {
            let mut monomial = Monomial::one();
            for &atom in atoms {
                monomial = monomial.with(self.atoms.intern(atom))?;
            }
            sum = sum.add(&Pattern::term(monomial, factor.clone(), bits))?;
        }
        Some(sum)
    }

    /// A step as often as a loop has gone round.
    pub(super) fn stepped(&mut self, header: Block, step: &Step, bits: u32) -> Option<Pattern> {
        let taken = self.query.backedge_taken(header);
        let most = taken.and_then(|taken| taken.maximum);
        let atom = self.atoms.intern(AtomData {
            key: AtomKey::Rounds(header),
            known: most.map_or(Known::unknown(64), Known::at_most),
            home: Some(header),
            parameter: None,
        });
        let step = self.step_pattern(step, bits)?;
        step.multiply(&Pattern::atom(atom, bits))
    }

    /// Whether a difference is a step.
    pub(super) fn is_step(&mut self, step: &Step, difference: &Pattern) -> bool {
        let step = self.step_pattern(step, difference.bits);
        step.is_some_and(|step| {
            (&step.lanes, &step.terms) == (&difference.lanes, &difference.terms)
        })
    }

    /// The numbers that a value is, if they are known and nothing was taken for granted.
    fn numbers(&mut self, value: Value, block: Block) -> Option<Lanes> {
        self.compute(value);
        let Entry::Known(pattern) = self.seen_from(value, block) else {
            return None;
        };
        let is_known = pattern.is_concrete() && pattern.assumed.is_empty();
        is_known.then(|| pattern.lanes.clone())
    }

    /// What the edges into a header give to a parameter: from outside of the loop, or from inside; nothing if they differ, or are no
    /// numbers.
    fn given_by_edges(&mut self, parameter: Value, header: Block, back: bool) -> Option<Lanes> {
        let mut found: Option<Lanes> = None;
        for (from, argument) in self.arguments(parameter, header, back) {
            let own = self.numbers(argument, from)?;
            if found.as_ref().is_some_and(|found| *found != own) {
                return None;
            }
            found = Some(own);
        }
        found
    }

    /// What parameters of a loop's header are when it is entered, by those that are numbers then.
    pub fn first_round(&mut self, this: Loop) -> Vec<(Value, Lanes)> {
        let header = self.loops.header(this);
        if self.uniformity.is_divergent_join(header) && self.apart(header) != Apart::Never
            || self.irreducible.contains(header)
        {
            return Vec::new();
        }
        let mut found = Vec::new();
        for &parameter in &self.function.blocks()[header].parameters {
            if let Some(lanes) = self.given_by_edges(parameter, header, false) {
                found.push((parameter, lanes));
            }
        }
        found
    }

    /// What they are in the next round, where they are numbers in this one; nothing for one that is none then.
    pub fn next_round(&mut self, this: Loop, parameters: &[Value]) -> Vec<Option<Lanes>> {
        let header = self.loops.header(this);
        let next = |&parameter: &Value| self.given_by_edges(parameter, header, true);
        parameters.iter().map(next).collect()
    }

    /// The block where all lanes leave a loop in this round, if there is one that every round comes to.
    pub fn ends_at(&mut self, this: Loop) -> Option<Block> {
        let latches: Vec<Block> = self.loops.back_edges(this).to_vec();
        let mut at = latches.first().copied();
        let mut found = None;
        // From the first latch up to the header.
        while let Some(block) = at.filter(|&block| self.loops.contains(this, block)) {
            let is_always = latches
                .iter()
                .all(|&latch| self.dominators.dominates(block, latch));
            if is_always && self.leaves_here(this, block) {
                found = Some(block);
            }
            at = self.dominators.immediate(block);
        }
        found
    }

    /// Whether all lanes leave a loop at a block.
    fn leaves_here(&mut self, this: Loop, block: Block) -> bool {
        let Some((lanes, taken, next)) = self.branch_of(block) else {
            return false;
        };
        let all = self.lanes();
        let leaves = |block: Block| !self.loops.contains(this, block);
        lanes & all == all && leaves(taken) || lanes & all == 0 && leaves(next)
    }

    /// Of the branch at the end of a block: the lanes that take it, where it leads, and where the others go.
    pub(super) fn branch_of(&mut self, block: Block) -> Option<(u32, Block, Block)> {
        let last = self.function.last_instruction(block)?;
        let [taken, next] = self.function.edges(block) else {
            return None;
        };
        let (taken, next) = (taken.target, next.target);
        if self.function.format(last).effects.terminator != Terminator::Branch {
            return None;
        }
        if let Some(Operand::Value(predicate)) = self.function.guard(last) {
            self.compute(predicate);
        }
        Some((self.taken_by(last)?, taken, next))
    }
}
