//! Reads of registers, predicates and the carry flag that were never written.

use crate::execute::Executor;
use crate::execution::Execution;
use crate::program::{Function, PredicateSource};
use crate::report::FindingKind;
use crate::uses::{Uses, uses};

use super::Report;

impl Executor<'_> {
    /// Reports reads of registers that were never written.
    pub(crate) fn check_registers(&self, state: &mut Execution<'_>, function: &Function) {
        let active = state.active;
        let Execution { warp, fragment, .. } = &mut *state;
        let operation = &function.code[fragment.pc as usize];
        let Uses {
            reads,
            writes,
            predicates,
            predicate_writes,
            reads_carry,
            writes_carry,
        } = uses(function, &operation.kind);
        let mut missing: Option<(&str, u32)> = None;
        for slot in reads {
            let undefined = active & !warp.defined[(fragment.base + slot) as usize];
            if undefined != 0 {
                missing = missing.or(Some((&function.register_names[slot as usize], undefined)));
            }
        }
        let guard = (operation.guard, fragment.mask);
        let others = predicates.into_iter().map(|source| (source, active));
        for (source, lanes) in std::iter::once(guard).chain(others) {
            if source == PredicateSource::TRUE || source == PredicateSource::FALSE {
                continue;
            }
            let slot = source.0 >> 1;
            let undefined =
                lanes & !warp.predicates_defined[(fragment.predicate_base + slot) as usize];
            if undefined != 0 {
                missing = missing.or(Some((&function.predicate_names[slot as usize], undefined)));
            }
        }
        for slot in writes {
            warp.defined[(fragment.base + slot) as usize] |= active;
        }
        for slot in predicate_writes {
            warp.predicates_defined[(fragment.predicate_base + slot) as usize] |= active;
        }
        let mut message =
            missing.map(|(name, _)| format!("register `{name}` is read before it is written"));
        let no_carry = active & !warp.carry_defined;
        if reads_carry && no_carry != 0 && missing.is_none() {
            missing = Some(("", no_carry));
            message = Some("the carry flag is read before it is written".to_string());
        }
        if writes_carry {
            warp.carry_defined |= active;
        }
        if let (Some((_, lanes)), Some(message)) = (missing, message) {
            let lane = lanes.trailing_zeros() as usize;
            let report = Report::new(FindingKind::UninitializedRead, lane, message);
            self.report(state, report);
        }
    }
}
