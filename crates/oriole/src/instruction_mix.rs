//! How many instructions of each class a function has.

use crate::Module;
use oriole_collections::StringMap;
use oriole_isa::{Mnemonic, Opcode, Terminator};
use oriole_syntax::tree::{Function, Statement};

/// Instructions of a function by class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct InstructionMix {
    /// Accesses to memory, atomics and textures among them. Those to parameters are not.
    pub memory: usize,
    /// Arithmetic, logic and comparisons of integers and predicates.
    pub integer: usize,
    /// Arithmetic and comparisons of floating-point numbers.
    pub floating_point: usize,
    /// Tensor cores.
    pub matrix: usize,
    /// Branches, calls and exits.
    pub control: usize,
    /// Barriers, fences and operations on several lanes.
    pub synchronization: usize,
    /// Copies, conversions, loads of parameters, and all else.
    pub other: usize,
}

impl InstructionMix {
    /// Counts the instructions of a function; none, if it has no body.
    pub fn of(module: &Module, function: &Function) -> InstructionMix {
        // The same few mnemonics come again and again.
        let mut places: StringMap<usize> = StringMap::new();
        let mut counts: Vec<(&str, usize)> = Vec::new();
        let statements = function.body.iter().flat_map(|body| &body.statements);
        for statement in statements {
            if let Statement::Instruction(instruction) = statement {
                let mnemonic = module.text(instruction.mnemonic);
                let place = *places.get_or_insert_with(mnemonic, || {
                    counts.push((mnemonic, 0));
                    counts.len() - 1
                });
                counts[place].1 += 1;
            }
        }
        let mut mix = InstructionMix::default();
        for (mnemonic, count) in counts {
            mix.add(&Mnemonic::parse(mnemonic), count);
        }
        mix
    }

    /// Classes that are not empty, by name.
    pub fn classes(&self) -> Vec<(&'static str, usize)> {
        let mut classes = vec![
            ("memory", self.memory),
            ("integer", self.integer),
            ("floating-point", self.floating_point),
            ("matrix", self.matrix),
            ("control", self.control),
            ("synchronization", self.synchronization),
            ("other", self.other),
        ];
        classes.retain(|class| class.1 > 0);
        classes
    }

    fn add(&mut self, mnemonic: &Mnemonic, count: usize) {
        let effects = mnemonic.effects();
        let opcode = mnemonic.opcode();
        let is_parameter = || mnemonic.space() == Some(oriole_isa::Space::Param);
        let class = if mnemonic.is_opaque() {
            &mut self.other
        } else if is_matrix(opcode) {
            &mut self.matrix
        } else if effects.terminator != Terminator::None || effects.is_call {
            &mut self.control
        } else if effects.convergent || !effects.ordering.is_none() && !is_access(opcode) {
            &mut self.synchronization
        } else if is_access(opcode) && !is_parameter() {
            &mut self.memory
        } else if !effects.is_pure() || matches!(opcode, Opcode::Mov | Opcode::Cvt | Opcode::Cvta) {
            &mut self.other
        } else if mnemonic.first_type().is_some_and(|own| own.is_float()) {
            &mut self.floating_point
        } else {
            &mut self.integer
        };
        *class += count;
    }
}

fn is_access(opcode: Opcode) -> bool {
    let text = opcode.text();
    let is_copy = text.starts_with("cp.async") && text != "cp.async.wait_all";
    let is_access = matches!(
        opcode,
        Opcode::Ld | Opcode::Ldu | Opcode::St | Opcode::Atom | Opcode::Red
    );
    let families = [
        "tex", "tld4", "suld", "sust", "sured", "ldmatrix", "stmatrix",
    ];
    is_access || is_copy || families.iter().any(|family| text.starts_with(family))
}

fn is_matrix(opcode: Opcode) -> bool {
    let text = opcode.text();
    let families = ["mma", "wmma.mma", "wgmma", "tcgen05"];
    families.iter().any(|family| text.starts_with(family))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_instruction_is_in_one_class() {
        let text = "ld.param.u64 ld.global.f32 st.shared.b32 atom.global.add.u32 cp.async.ca.shared.global \
            add.s32 setp.lt.s32 and.pred fma.rn.f32 setp.lt.f32 mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 \
            bra ret call.uni bar.sync shfl.sync.bfly.b32 membar.gl mov.u32 cvt.f32.s32 frobnicate";
        let mut mix = InstructionMix::default();
        for mnemonic in text.split_whitespace() {
            mix.add(&Mnemonic::parse(mnemonic), 1);
        }
        let expected = InstructionMix {
            memory: 4,
            integer: 3,
            floating_point: 2,
            matrix: 1,
            control: 3,
            synchronization: 3,
            other: 4,
        };
        assert_eq!(mix, expected);
    }
}
