//! Parameters of blocks: loops' headers, and joins behind branches.

use super::active_lanes::Apart;
use super::lanes::Lanes;
use super::pattern::{Pattern, Supposed};
use super::{Cause, CauseKind, Entry, LanePatterns};
use crate::known_bits::Known;
use oriole_ir::{Block, Value};
use std::rc::Rc;

/// Slots of [`super::AtomKey::Part`].
const CHOSEN: u32 = 2000;
pub(super) const ROUNDS: u32 = 3000;

impl LanePatterns<'_> {
    pub(super) fn is_back_edge(&self, from: Block, to: Block) -> bool {
        self.flow.position(from) >= self.flow.position(to)
    }

    /// The arguments that edges give to a parameter, with the blocks they come from: those of back edges, or the others.
    pub(super) fn arguments(
        &self,
        parameter: Value,
        block: Block,
        back: bool,
    ) -> Vec<(Block, Value)> {
        let function = self.function;
        let parameters = &function.blocks()[block].parameters;
        let Some(place) = parameters.iter().position(|&own| own == parameter) else {
            return Vec::new();
        };
        let mut arguments = Vec::new();
        let mut sources: Vec<Block> = self.flow.predecessors(block).collect();
        sources.sort_unstable();
        sources.dedup();
        for from in sources {
            if !self.flow.is_reachable(from) || self.is_back_edge(from, block) != back {
                continue;
            }
            for edge in function.edges(from) {
                if edge.target == block
                    && let Some(&argument) = function.arguments(*edge).get(place)
                {
                    arguments.push((from, argument));
                }
            }
        }
        arguments
    }

    /// The values that a parameter of a block is entered with, with the blocks they come from; of a loop's header, from outside of it.
    pub fn entering(&self, parameter: Value, block: Block) -> Vec<(Value, Block)> {
        let arguments = self.arguments(parameter, block, false).into_iter();
        arguments.map(|(from, argument)| (argument, from)).collect()
    }

    pub(super) fn is_header(&self, block: Block) -> bool {
        let inner = self.loops.innermost(block);
        inner.is_some_and(|inner| self.loops.header(inner) == block)
    }

    /// Whether nothing is supposed of parameters of a block.
    fn is_opaque(&self, parameter: Value, block: Block) -> bool {
        block == self.function.entry()
            || self.irreducible.contains(block)
            || !self.flow.is_reachable(block)
            || self.is_header(block)
                && (self.pessimistic
                    || self.refuted.contains(parameter) && !self.steps.contains_key(&parameter)
                    || self.uniformity.is_divergent_join(block)
                        && self.apart(block) == Apart::Perhaps)
    }

    pub(super) fn join_needs(&self, parameter: Value, block: Block, needs: &mut Vec<Value>) {
        if !self.given.contains_key(&parameter) && !self.is_opaque(parameter, block) {
            let arguments = self.arguments(parameter, block, false);
            needs.extend(arguments.into_iter().map(|argument| argument.1));
            if self.uniformity.is_divergent_join(block) && !self.is_header(block) {
                needs.extend(self.join_conditions(block).into_iter().flatten());
                self.route_conditions(block, needs);
            }
        }
    }

    /// The entries of the arguments; those that were not computed are, unless they may need this very parameter.
    fn argument_patterns(&self, arguments: &[(Block, Value)]) -> Result<Vec<Rc<Pattern>>, Cause> {
        let mut patterns = Vec::new();
        let mut cause = None;
        for &(from, argument) in arguments {
            match self.seen_from(argument, from) {
                Entry::Known(pattern) => patterns.push(pattern),
                Entry::Varying(own) => cause = cause.max(Some(own)),
            }
        }
        match cause {
            Some(cause) => Err(cause),
            None => Ok(patterns),
        }
    }

    pub(super) fn join(&mut self, parameter: Value, block: Block) -> Entry {
        if let Some(lanes) = self.given.get(&parameter) {
            let bits = self.function.values()[parameter].scalar_type.bits();
            return Entry::Known(Rc::new(Pattern::concrete(lanes.clone(), bits)));
        }
        let fallback = |this: &mut Self, cause| match this.uniformity.is_uniform(parameter) {
            true => Entry::Known(Rc::new(this.uniform(parameter))),
            false => Entry::Varying(cause),
        };
        if self.is_opaque(parameter, block) {
            let kind = match self.is_header(block) {
                true => CauseKind::Loop,
                false if block == self.function.entry() => CauseKind::Call,
                false => CauseKind::Join,
            };
            let cause = match self.data_dependent.contains(parameter) {
                true => Cause::at(CauseKind::Data, parameter),
                false => self.join_cause(block, kind, parameter),
            };
            return fallback(self, cause);
        }
        let arguments = self.arguments(parameter, block, false);
        let patterns = match self.argument_patterns(&arguments) {
            Ok(patterns) => patterns,
            Err(cause) => return fallback(self, cause),
        };
        let apart = self.apart(block);
        let mut start = self.choice_in(parameter, CHOSEN, &patterns, apart != Apart::Never);
        if start.is_none() && !self.is_header(block) {
            start = self.chosen_by_lane(block, &arguments, &patterns);
        }
        if start.is_none()
            && let Apart::IfNot(supposed) = apart
        {
            let chosen = self.choice_in(parameter, CHOSEN, &patterns, false);
            start = chosen.map(|chosen| chosen.assuming(&supposed));
        }
        if self.is_header(block)
            && let Apart::IfNot(supposed) = self.apart(block)
        {
            start = start.map(|start| start.assuming(&supposed));
        }
        let Some(start) = start else {
            let cause = self.join_cause(block, CauseKind::Join, parameter);
            return fallback(self, cause);
        };
        if !self.is_header(block) {
            return Entry::Known(Rc::new(start));
        }
        let added = match self.steps.get(&parameter).cloned() {
            Some(step) => self.stepped(block, &step, start.bits),
            None => {
                let known = self.rounds(parameter, start.bits);
                Some(self.part(parameter, ROUNDS, known, start.bits))
            }
        };
        match added.and_then(|added| start.add(&added)) {
            Some(sum) => {
                self.supposed.push(parameter);
                Entry::Known(Rc::new(sum))
            }
            None => fallback(self, Cause::at(CauseKind::Arithmetic, parameter)),
        }
    }

    /// Why a value is lost where lanes come by different edges.
    fn join_cause(&self, block: Block, kind: CauseKind, parameter: Value) -> Cause {
        let causes = self.uniformity.join_causes(block);
        let causes = causes.into_iter().flatten();
        let of = |branch| self.apart_at(branch, kind, parameter);
        let found = causes.map(of).max_by_key(|cause| cause.kind);
        found.unwrap_or(Cause::at(kind, parameter))
    }

    /// What is known of what a loop adds to its start: a multiple of its steps.
    fn rounds(&mut self, parameter: Value, bits: u32) -> Known {
        let unknown = Known::unknown(bits);
        let data = self.function.values()[parameter];
        if data.scalar_type.is_float() || !matches!(bits, 8..=64) {
            return unknown;
        }
        let expression = self.query.expression(parameter);
        let expressions = self.query.expressions();
        if expressions.is_unknown(expression)
            || expressions.header(expression) != self.function.defining_block(parameter)
        {
            return unknown;
        }
        let steps: Vec<_> = expressions.operands(expression)[1..].to_vec();
        let zeros = steps
            .into_iter()
            .map(|step| self.query.range(step).trailing_zeros())
            .min();
        Known {
            zeros: unknown.zeros | crate::known_bits::mask(zeros.unwrap_or(0)),
            ones: 0,
        }
    }

    /// One of several patterns, by a choice that is the same for all lanes unless they come apart: what they have in common, and
    /// something uniform.
    pub(super) fn choice_in(
        &mut self,
        value: Value,
        slot: u32,
        patterns: &[Rc<Pattern>],
        apart: bool,
    ) -> Option<Pattern> {
        let (first, others) = patterns.split_first()?;
        let mut assumed = first.as_ref().clone();
        for other in others {
            assumed = assumed.assuming(&other.assumed);
        }
        let is_same = |other: &Rc<Pattern>| {
            (other.bits, &other.lanes, &other.terms) == (first.bits, &first.lanes, &first.terms)
        };
        if others.iter().all(is_same) {
            return Some(assumed);
        }
        if apart || others.iter().any(|other| other.bits != first.bits) {
            return None;
        }
        let mut common = assumed;
        let base = common.lanes.get(0);
        let mask = crate::known_bits::mask(first.bits);
        common.lanes = Lanes::from_fn(|lane| common.lanes.get(lane).wrapping_sub(base) & mask);
        common
            .terms
            .retain(|term| others.iter().all(|other| other.terms.contains(term)));
        let mut known: Option<Known> = None;
        for pattern in patterns {
            let rest = pattern.subtract(&common)?;
            let number = rest.lanes.as_same().filter(|_| rest.has_one_group())?;
            let symbolic = rest.symbolic_known(0, &|atom| self.known(atom));
            let own = symbolic.add(Known::constant(number), false, rest.bits);
            known = Some(known.map_or(own, |known| known.join(own)));
        }
        let chosen = self.part(value, slot, known?, first.bits);
        common.add(&chosen)
    }

    /// Whether a header's parameter that was supposed to be its start and something uniform is so on every back edge.
    pub(super) fn is_shown(&mut self, parameter: Value) -> bool {
        let Some(block) = self.function.defining_block(parameter) else {
            return false;
        };
        let arguments = self.arguments(parameter, block, true);
        for &(_, argument) in &arguments {
            self.compute(argument);
        }
        let Entry::Known(own) = self.seen_from(parameter, block) else {
            return false;
        };
        let Ok(patterns) = self.argument_patterns(&arguments) else {
            return false;
        };
        for pattern in &patterns {
            let Some(difference) = pattern.subtract(&own) else {
                return false;
            };
            let more = difference.assumed.iter().copied();
            let more: Vec<Supposed> = more.filter(|each| !own.assumed.contains(each)).collect();
            let wraps = more.iter().any(|each| matches!(each, Supposed::NoWrap(_)));
            let keeps_to_step = match self.steps.get(&parameter).cloned() {
                Some(step) => self.is_step(&step, &difference),
                None => difference.is_uniform(),
            };
            if wraps || !keeps_to_step {
                return false;
            }
            self.shown_by.extend(more);
        }
        true
    }
}
