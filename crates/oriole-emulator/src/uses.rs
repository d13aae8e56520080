//! What an operation reads and writes.

use crate::program::{
    CONSTANT, Destination, FRAME, Function, Kind, NONE, Passed, PredicateSource, Source,
    SpecialOperand,
};

/// The registers and predicates of an operation, its guard apart.
#[derive(Clone, Debug, Default)]
pub(crate) struct Uses {
    pub(crate) reads: Vec<u32>,
    pub(crate) writes: Vec<u32>,
    pub(crate) predicates: Vec<PredicateSource>,
    pub(crate) predicate_writes: Vec<u32>,
    pub(crate) reads_carry: bool,
    pub(crate) writes_carry: bool,
}

impl Uses {
    fn special(&mut self, operand: &SpecialOperand, is_read: bool, is_written: bool) {
        match operand {
            SpecialOperand::Value(slot) => self.value(&[*slot], is_read, is_written),
            SpecialOperand::Vector(slots) => self.value(slots, is_read, is_written),
            SpecialOperand::Tensor(address, slots) => {
                self.reads.push(address.base);
                self.reads.extend(slots);
            }
            SpecialOperand::Address(address) => self.reads.push(address.base),
            &SpecialOperand::Pair(d, p) => {
                self.writes.push(d);
                self.predicate_writes.push(p);
            }
            &SpecialOperand::Predicate(source) if is_written => {
                self.predicate_writes.push(source.0 >> 1);
            }
            &SpecialOperand::Predicate(source) => self.predicates.push(source),
            SpecialOperand::Sink => {}
        }
    }

    fn value(&mut self, slots: &[u32], is_read: bool, is_written: bool) {
        if is_read {
            self.reads.extend(slots);
        }
        if is_written {
            self.writes.extend(slots);
        }
    }

    fn passed(&mut self, passed: Passed, is_result: bool) {
        match passed {
            Passed::Register(slot) if is_result => self.writes.push(slot),
            Passed::Register(slot) => self.reads.push(slot),
            Passed::Predicate(source) if is_result => self.predicate_writes.push(source.0 >> 1),
            Passed::Predicate(source) => self.predicates.push(source),
            Passed::Memory { .. } => {}
        }
    }
}

/// What an operation of a function reads and writes; constants and sinks are left out.
pub(crate) fn uses(function: &Function, kind: &Kind) -> Uses {
    let mut uses = Uses::default();
    match kind {
        &Kind::Move { d, a } | &Kind::Unary { d, a, .. } | &Kind::AddressShift { d, a, .. } => {
            uses.reads.push(a);
            uses.writes.push(d);
        }
        &Kind::Binary { d, a, b, .. } => {
            uses.reads.extend([a, b]);
            uses.writes.push(d);
        }
        &Kind::Ternary { d, a, b, c, .. } | &Kind::Lop3 { d, a, b, c, .. } => {
            uses.reads.extend([a, b, c]);
            uses.writes.push(d);
        }
        &Kind::SpecialRegister { d, .. } | &Kind::FrameAddress { d, .. } => uses.writes.push(d),
        &Kind::Compare { p, q, a, b, .. } => {
            uses.reads.extend([a, b]);
            uses.predicate_writes.extend([p, q]);
        }
        &Kind::CompareAnd { p, a, b, c, .. } => {
            uses.reads.extend([a, b]);
            uses.predicates.push(c);
            uses.predicate_writes.push(p);
        }
        &Kind::Select { d, a, b, p } => {
            uses.reads.extend([a, b]);
            uses.predicates.push(p);
            uses.writes.push(d);
        }
        &Kind::PredicateLogic { p, a, b, .. } => {
            uses.predicates.extend([a, b]);
            uses.predicate_writes.push(p);
        }
        &Kind::General(index) => {
            let general = &function.generals[index as usize];
            let effects = general.mnemonic.effects();
            (uses.reads_carry, uses.writes_carry) = (effects.reads_carry, effects.writes_carry);
            for &operand in &general.sources {
                match operand {
                    Source::Value(slot) => uses.reads.push(slot),
                    Source::Wide(slot) => uses.reads.extend([slot, slot + 1]),
                    Source::Predicate(source) => uses.predicates.push(source),
                }
            }
            for &destination in &general.destinations {
                match destination {
                    Destination::Value { slot, .. } => uses.writes.push(slot),
                    Destination::Wide(slot) => uses.writes.extend([slot, slot + 1]),
                    Destination::Predicate(slot) => uses.predicate_writes.push(slot),
                    Destination::Sink => {}
                }
            }
        }
        &Kind::Load(index) => {
            let access = &function.accesses[index as usize];
            uses.reads.push(access.address.base);
            for &slot in access.registers.iter().filter(|&&slot| slot != NONE) {
                uses.writes.push(slot);
                if access.scalar_type.bits() > 64 {
                    uses.writes.push(slot + 1);
                }
            }
        }
        &Kind::Store(index) => {
            let access = &function.accesses[index as usize];
            uses.reads.push(access.address.base);
            uses.reads.extend(&access.registers);
        }
        &Kind::Atomic(index) => {
            let atomic = &function.atomics[index as usize];
            uses.reads.push(atomic.address.base);
            uses.reads.extend(&atomic.sources);
            uses.reads.push(atomic.compare);
            uses.writes.extend(&atomic.destinations);
        }
        &Kind::BranchIndexed { index, .. } => uses.reads.push(index),
        &Kind::Call(index) => {
            let call = &function.calls[index as usize];
            for &argument in &call.arguments {
                uses.passed(argument, false);
            }
            for &result in &call.results {
                uses.passed(result, true);
            }
        }
        &Kind::Special(index) => {
            let special = &function.specials[index as usize];
            let roles = special.mnemonic.operand_roles(special.operands.len());
            for (number, operand) in special.operands.iter().enumerate() {
                let role = roles.as_ref().and_then(|roles| roles.get(number).copied());
                let is_written = role.is_some_and(|role| role.defines());
                uses.special(operand, role.is_none_or(|role| role.uses()), is_written);
            }
        }
        Kind::Nothing
        | Kind::Branch { .. }
        | Kind::Fence(_)
        | Kind::Return
        | Kind::Exit
        | Kind::Unsupported(_) => {}
    }
    let is_register = |slot: &u32| *slot != NONE && *slot != FRAME && slot & CONSTANT == 0;
    uses.reads.retain(is_register);
    uses.writes.retain(is_register);
    uses.predicate_writes.retain(|&slot| slot < NONE >> 1);
    uses
}
