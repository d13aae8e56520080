//! Places of a function that `ptxas` accepts and gets wrong.
//!
//! Each kind is a quirk of [`oriole_isa::ptxas::QUIRKS`], and has a file here that finds it:
//! - [`partial_loads`]: a load that happens on one side of a condition only is taken for one that always happens.
//! - [`high_halves`]: the low half of a narrow load is taken for its high half.
//! - [`saturation`]: a sum that saturates is folded with sums that do not.
//!
//! What is optimized must have no more places of any kind than before; `oriole check` warns of those in the input. Code that
//! nobody needs does not count: `ptxas` removes it before it looks.
//!
//! ## Not done
//! The quirk `warp-result-uniform` has no finder: whether lanes are apart at a warp operation is seldom known, and no pass moves
//! one.

pub mod high_halves;
pub mod partial_loads;
pub mod saturation;

use crate::manager::Analyses;
use oriole_collections::BitSet;
use oriole_ir::graph::Adjacency;
use oriole_ir::{Definition, Function, Instruction, Operand, Value};
use oriole_isa::Opcode;

/// A place that `ptxas` gets wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hazard {
    /// See [`partial_loads`].
    PartialLoad {
        /// The load that happens on one side only.
        partial: Instruction,
        /// The equal load that `ptxas` drops.
        dropped: Instruction,
        /// The computation from it that `ptxas` replaces.
        replaced: Instruction,
    },
    /// See [`high_halves`].
    HighHalf {
        /// The narrow load.
        load: Instruction,
        /// Where its high half is taken.
        unpack: Instruction,
    },
    /// See [`saturation`].
    FoldedSaturation {
        /// The sum that wraps.
        wrapping: Instruction,
        /// The sum that saturates.
        saturating: Instruction,
    },
}

impl Hazard {
    /// How many kinds there are.
    pub const KINDS: usize = 3;

    /// Which kind it is, below [`Hazard::KINDS`].
    pub fn kind(self) -> usize {
        match self {
            Hazard::PartialLoad { .. } => 0,
            Hazard::HighHalf { .. } => 1,
            Hazard::FoldedSaturation { .. } => 2,
        }
    }
}

/// Places that `ptxas` gets wrong.
pub fn hazards(function: &Function, analyses: &mut Analyses) -> Vec<Hazard> {
    let mut found = partial_loads::hazards(function, analyses);
    found.extend(high_halves::hazards(function));
    found.extend(saturation::hazards(function));
    found
}

/// What an unguarded move copies.
fn copied(function: &Function, instruction: Instruction) -> Option<Value> {
    let format = function.format(instruction);
    match *function.leaves(instruction) {
        [Operand::Result(0), Operand::Value(source)]
            if format.mnemonic.opcode() == Opcode::Mov && !format.is_guarded() =>
        {
            Some(source)
        }
        _ => None,
    }
}

/// What a value is a copy of.
fn original(function: &Function, mut value: Value) -> Value {
    while let Definition::Instruction(definer) = function.values()[value].definition
        && let Some(source) = copied(function, definer)
    {
        value = source;
    }
    value
}

/// Values that something with an effect is computed from: a worklist from what cannot be removed. Linear.
fn needed_values(function: &Function) -> BitSet<Value> {
    let mut needed: BitSet<Value> = BitSet::with_domain(function.values().len());
    let mut worklist: Vec<Value> = Vec::new();
    let mut arguments: Vec<(u32, u32)> = Vec::new();
    for &block in function.block_order() {
        for instruction in function.instructions_of(block) {
            let format = function.format(instruction);
            if format.opaque || !format.is_removable() || function.results(instruction).len() == 0 {
                worklist.extend(function.uses(instruction));
            }
        }
        for edge in &function.blocks()[block].edges {
            let parameters = &function.blocks()[edge.target].parameters;
            for (&argument, &parameter) in function.arguments(*edge).iter().zip(parameters) {
                arguments.push((parameter.as_u32(), argument.as_u32()));
            }
        }
    }
    let arguments = Adjacency::new(function.values().len(), arguments.iter().copied());
    while let Some(value) = worklist.pop() {
        if !needed.insert(value) {
            continue;
        }
        match function.values()[value].definition {
            Definition::Instruction(definer) => worklist.extend(function.uses(definer)),
            Definition::Parameter(_) => {
                let values = arguments.of(value.as_u32()).iter();
                worklist.extend(values.map(|&value| Value::from_index(value as usize)));
            }
            Definition::Undefined => {}
        }
    }
    needed
}
