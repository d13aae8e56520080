//! Sums of a value and a constant that only serve addresses, directly or through further such sums.
//!
//! ```text
//! add.s64 %rd2, %rd1, 8;   st.u64 [%rd2], 1;        st.u64 [%rd1+8], 1;
//! add.s64 %rd3, %rd2, 8;   st.u64 [%rd3], 1;   →    st.u64 [%rd1+16], 1;
//! …                                                 …
//! ```
//! No link of such a chain dies before the links behind it do, however long the chain is. Once every access adds the whole
//! distance from the root itself, all of them are dead.

use super::operands::address_of;
use oriole_analysis::ControlFlow;
use oriole_collections::{BitSet, DenseMap};
use oriole_ir::arithmetic::Operation;
use oriole_ir::{Function, Instruction, Operand, Use, Value};

/// The links of chains, and how far each is from its root.
pub(super) struct AddressChains {
    links: BitSet<Value>,
    roots: DenseMap<Value, (Value, i64)>,
}

impl AddressChains {
    /// Finds all links in one walk from the last instruction to the first, so that readers come before what they read.
    pub(super) fn of(function: &Function, flow: &ControlFlow) -> AddressChains {
        let mut links: BitSet<Value> = BitSet::with_domain(function.values().len());
        for &block in flow.reverse_postorder().iter().rev() {
            for instruction in function.instructions_backwards(block) {
                let Some(sum) = sum_of(function, instruction) else {
                    continue;
                };
                let serves_addresses = function.uses_of(sum).all(|user| match user {
                    Use::Instruction(reader) => {
                        is_address_of(function, reader, sum)
                            || sum_of(function, reader).is_some_and(|next| links.contains(next))
                    }
                    Use::Edge(_) => false,
                });
                if serves_addresses {
                    links.insert(sum);
                }
            }
        }
        AddressChains {
            links,
            roots: DenseMap::new(),
        }
    }

    /// The root of a sum of `inner` and a constant, and how far the sum is from it; nothing if it serves anything but addresses.
    pub(super) fn extend(
        &mut self,
        sum: Value,
        inner: Value,
        constant: i64,
    ) -> Option<(Value, i64)> {
        if !self.links.contains(sum) {
            return None;
        }
        let (root, distance) = self.roots.get(&inner).copied().unwrap_or((inner, 0));
        let known = (root, distance.checked_add(constant)?);
        self.roots.insert(sum, known);
        Some(known)
    }
}

/// What an unguarded sum of a value and a constant gives.
pub(super) fn sum_of(function: &Function, instruction: Instruction) -> Option<Value> {
    let format = function.format(instruction);
    let is_sum = format
        .arithmetic
        .is_some_and(|node| node.operation == Operation::Add && node.bits == 64)
        && !format.is_guarded()
        && matches!(
            function.leaves(instruction),
            [Operand::Result(0), Operand::Value(_), Operand::Constant(_)]
        );
    if is_sum {
        function.results(instruction).next()
    } else {
        None
    }
}

/// Whether an instruction reads a value in its address only.
fn is_address_of(function: &Function, instruction: Instruction, value: Value) -> bool {
    let format = function.format(instruction);
    let mut leaves = function.leaves(instruction).iter().zip(&format.leaves);
    address_of(format).is_some()
        && leaves.all(|(leaf, role)| leaf.value() != Some(value) || role.in_address)
        && function.guard(instruction) != Some(Operand::Value(value))
}
