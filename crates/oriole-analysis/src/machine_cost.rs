//! What a function costs on the machine, about: its instructions by loop depth.

use crate::loops::Loops;
use oriole_ir::{Block, Definition, Function, Instruction, Operand};
use oriole_isa::Opcode;
use oriole_isa::cost::{COPY, CostModel, MACHINE_INSTRUCTION};

/// How often the body of a loop runs, for all that is known of most loops.
const ITERATIONS: u64 = 8;

/// Loops nested deeper than this count no more: what is inside decides by then.
const DEEPEST: u32 = 4;

/// How often a block runs, about.
pub fn frequency(loops: &Loops, block: Block) -> u64 {
    ITERATIONS.pow(loops.depth(block).min(DEEPEST))
}

/// What the instructions of a function cost, each as often as its block runs. Where a block falls through to one that does not
/// come next there will be a branch.
pub fn function_cost(function: &Function, loops: &Loops, model: CostModel) -> u64 {
    let order = function.block_order();
    let blocks = order.iter().enumerate().map(|(position, &block)| {
        let data = &function.blocks()[block];
        let falls_to = data.fall_through().map(|edge| data.edges[edge].target);
        let needs_branch = falls_to.is_some() && order.get(position + 1).copied() != falls_to;
        let instructions = function.instructions_of(block);
        let costs = instructions.map(|each| match is_guarded_sum(function, each) {
            true => COPY,
            false => model.cost_of(function.format(each).cost_class),
        });
        let branch = MACHINE_INSTRUCTION * u64::from(needs_branch);
        (costs.sum::<u64>() + branch).saturating_mul(frequency(loops, block))
    });
    blocks.fold(0, u64::saturating_add)
}

/// Whether an instruction selects between a sum and what it adds to: `ptxas` guards the sum then.
fn is_guarded_sum(function: &Function, instruction: Instruction) -> bool {
    if function.format(instruction).mnemonic.opcode() != Opcode::Selp {
        return false;
    }
    let &[_, Operand::Value(first), Operand::Value(second), ..] = function.operands(instruction)
    else {
        return false;
    };
    [(first, second), (second, first)].iter().any(|&(sum, to)| {
        let Definition::Instruction(maker) = function.values()[sum].definition else {
            return false;
        };
        let format = function.format(maker);
        let is_narrow = format
            .mnemonic
            .first_type()
            .is_some_and(|own| own.bits() == 32);
        matches!(format.mnemonic.opcode(), Opcode::Add | Opcode::Sub)
            && is_narrow
            && function.only_user(sum) == Some(instruction)
            && function.uses(maker).any(|own| own == to)
    })
}

/// What copies in a block cost, or in one of their own behind it that leads to `target`: then there is a branch around it.
pub fn copies_cost(loops: &Loops, block: Block, target: Option<Block>, copies: usize) -> u64 {
    let copies = COPY * copies as u64;
    match target {
        Some(target) => {
            let frequency = frequency(loops, block).min(frequency(loops, target));
            (copies + MACHINE_INSTRUCTION).saturating_mul(frequency)
        }
        None => copies.saturating_mul(frequency(loops, block)),
    }
}
