//! Writes once what both arms of a branch end with: it goes to where they meet.
//!
//! ## Example
//! ```text
//!     @%p1 bra $L1;                                          @%p1 bra $L1;
//!     add.s32 %r3, %r1, 1;                                   add.s32 %r3, %r1, 1;
//!     st.global.u32 [%rd1], %r3;                  →          bra $L2;
//!     bra $L2;                                           $L1:
//! $L1:                                                       sub.s32 %r3, %r2, 1;
//!     sub.s32 %r3, %r2, 1;                               $L2:
//!     st.global.u32 [%rd1], %r3;                             st.global.u32 [%rd1], %r3;
//! $L2:
//! ```
//! `ptxas` does not do it. A warp whose lanes take both ways executes the end once instead of twice.
//!
//! ## Soundness
//! The two blocks lead nowhere but to the block where they meet, and nobody else leads there. Every thread therefore executes the
//! same instructions in the same order as before. What other lanes have to do with stays where it is: convergent operations,
//! barriers, calls; and so do instructions that touch the carry flag or pinned registers, unknown ones, and sums and products
//! that ptxas may fuse ([`crate::fusion`]). What the instructions give may be read by each other and where the ways meet, not
//! elsewhere in the arms.
//!
//! ## Method
//! From the ends of both blocks backwards, as long as the instructions have one format, operands that are the same, or differ
//! only in what each arm computed for this one reader: that becomes a parameter of the block where they meet, which costs
//! nothing, as both arms can compute it in one register. Of all lengths the one that saves most is taken.
//!
//! ## Not done
//! More than two ways, ends of blocks that leave the function, instructions in another order, ways into loops.

use crate::equality::has_stable_operands;
use crate::fusion::is_contractible;
use crate::knobs::Switch;
use crate::manager::{Action, Context, Pass, Trigger};
use crate::remark::Rewrite;
use oriole_analysis::{Analyses, ControlFlow, Loops};
use oriole_collections::SmallVec;
use oriole_ir::{Block, Constant, Editor, Function, Instruction, Operand, SymbolKind, Use, Value};
use oriole_isa::Opcode;

/// The pass.
pub(crate) const PASS: Pass = Pass {
    name: "tail-merging",
    summary: "Write once what both arms of a branch end with",
    action: Action::Once(run, Trigger::Changes),
};

// Settings.
const MERGE_TAILS: Switch = Switch::named("MergeTails");

/// Instructions of a tail.
const MOST_INSTRUCTIONS: usize = 64;

/// Values that differ between the arms.
const MOST_PARAMETERS: usize = 4;

fn run(editor: &mut Editor<'_>, analyses: &mut Analyses, context: &mut Context<'_>) {
    if !context.knobs.switch(MERGE_TAILS) || editor.function().block_order().len() < 4 {
        return;
    }
    let flow = analyses.get::<ControlFlow>(editor.function());
    let loops = analyses.get::<Loops>(editor.function());
    // Inner joins first: what is merged at one may be the end of an arm of an outer one.
    for &join in flow.reverse_postorder() {
        let ways: SmallVec<[Block; 2]> = flow.predecessors(join).collect();
        let &[one, other] = &ways[..] else {
            continue;
        };
        let is_arm = |arm: Block| {
            flow.is_reachable(arm)
                && flow.position(arm) < flow.position(join)
                && editor.function().edges(arm).len() == 1
                && loops.innermost(arm) == loops.innermost(join)
        };
        if one == other || !is_arm(one) || !is_arm(other) {
            continue;
        }
        // What was merged makes room for more.
        loop {
            let function = editor.function();
            let (Some(before), Some(tail)) = (
                function.instructions_of(join).next(),
                find(function, one, other),
            ) else {
                break;
            };
            let rewrite = Rewrite {
                counter: "tail-merging.instructions",
                instruction: tail.pairs[0].1,
                why: "the other arm of the branch ends with the same",
                equal: Some(tail.pairs[0].0),
            };
            if !context.allows(function, rewrite) {
                return;
            }
            context
                .statistics
                .add("tail-merging.instructions", tail.pairs.len() as u64 - 1);
            merge(editor, join, before, [one, other], &tail);
        }
    }
}

/// What both arms end with.
struct Tail {
    /// Equal instructions, the last ones first.
    pairs: Vec<(Instruction, Instruction)>,
    /// What they read that is different in each arm.
    differing: Vec<(Value, Value)>,
}

/// The end two blocks share that is worth most, if any is.
fn find(function: &Function, one: Block, other: Block) -> Option<Tail> {
    let mut tail = Tail {
        pairs: Vec::new(),
        differing: Vec::new(),
    };
    let mut best: Option<(usize, usize)> = None;
    let ends = [one, other].map(|block| end(function, block));
    for (&early, &late) in ends[0].iter().zip(&ends[1]) {
        if !extend(function, [one, other], &mut tail, early, late) {
            break;
        }
        // Each value that differs has to join already, or come from its arm for this one reader: else a copy would be left.
        let is_free = tail.differing.iter().all(|&(first, second)| {
            let is_own = |value: Value, block: Block, reader: Instruction| {
                function.defining_block(value) == Some(block)
                    && function.use_count(value) == 1
                    && function.uses(reader).any(|read| read == value)
            };
            position(function, [one, other], (first, second)).is_some()
                || tail
                    .pairs
                    .iter()
                    .any(|&(a, b)| is_own(first, one, a) && is_own(second, other, b))
        });
        if is_free
            && tail.differing.len() <= MOST_PARAMETERS
            && is_closed(function, [one, other], &tail)
        {
            let length = tail.pairs.len();
            // Half an instruction for what joins: it is free if all goes well.
            let saved = 2 * length - tail.differing.len().min(2 * length);
            if saved > best.map_or(0, |(_, most)| most) {
                best = Some((length, saved));
            }
        }
    }
    let (length, _) = best?;
    // Once more up to there, as what differs depends on how far it goes.
    let mut tail = Tail {
        pairs: Vec::new(),
        differing: Vec::new(),
    };
    for (&early, &late) in ends[0].iter().zip(&ends[1]).take(length) {
        extend(function, [one, other], &mut tail, early, late);
    }
    Some(tail)
}

/// The last instructions of a block, the last one first, without what ends it.
fn end(function: &Function, block: Block) -> Vec<Instruction> {
    let mut instructions: Vec<Instruction> = function.instructions_of(block).collect();
    let ends_it = instructions
        .last()
        .is_some_and(|&last| function.format(last).is_terminator());
    if ends_it {
        instructions.pop();
    }
    instructions.reverse();
    instructions.truncate(MOST_INSTRUCTIONS);
    instructions
}

/// Adds a pair of instructions before the tail; whether they can be one.
fn extend(
    function: &Function,
    blocks: [Block; 2],
    tail: &mut Tail,
    early: Instruction,
    late: Instruction,
) -> bool {
    let formats = [early, late].map(|it| function.instruction(it).format);
    if formats[0] != formats[1] || !is_movable(function, early) || !is_movable(function, late) {
        return false;
    }
    let results = |it: Instruction| -> SmallVec<[Value; 2]> { function.results(it).collect() };
    let pairs = results(early).into_iter().zip(results(late));
    for (first, second) in pairs {
        let data = function.values();
        if data[first].scalar_type != data[second].scalar_type {
            return false;
        }
        tail.differing.retain(|&pair| pair != (first, second));
        // Who reads one of them with something else reads it in the arm.
        let is_mixed = |&(a, b): &(Value, Value)| a == first || b == second;
        if tail.differing.iter().any(is_mixed) {
            return false;
        }
    }
    let operands = [early, late].map(|it| function.operands(it));
    for (&first, &second) in operands[0].iter().zip(operands[1]) {
        match (first, second) {
            (Operand::Value(first), Operand::Value(second)) if first != second => {
                let data = function.values();
                let is_arms = function.defining_block(first) == Some(blocks[0])
                    && function.defining_block(second) == Some(blocks[1]);
                if !is_arms || data[first].scalar_type != data[second].scalar_type {
                    return false;
                }
                if !tail.differing.contains(&(first, second)) {
                    tail.differing.push((first, second));
                }
            }
            (Operand::Constant(first), Operand::Constant(second)) => {
                if !is_same_constant(function, first, second) {
                    return false;
                }
            }
            _ if first == second => {}
            _ => return false,
        }
    }
    tail.pairs.push((early, late));
    true
}

/// Where two values, one of each arm, join already: the position among the arguments.
fn position(function: &Function, blocks: [Block; 2], pair: (Value, Value)) -> Option<usize> {
    let edges = blocks.map(|block| function.arguments(function.edges(block)[0]));
    let mut joined = edges[0].iter().zip(edges[1]);
    joined.position(|(&first, &second)| (first, second) == pair)
}

fn is_same_constant(function: &Function, first: Constant, second: Constant) -> bool {
    let literals = [first, second].map(|it| function.constants()[it].literal);
    first == second || literals[0].is_some() && literals[0] == literals[1]
}

/// Whether nobody but the tail and the edges out of the arms, at the same position of both, reads what the tail gives.
fn is_closed(function: &Function, blocks: [Block; 2], tail: &Tail) -> bool {
    let edges = blocks.map(|block| function.arguments(function.edges(block)[0]));
    tail.pairs.iter().all(|&(early, late)| {
        let mut results = function.results(early).zip(function.results(late));
        results.all(|(first, second)| {
            let agree = edges[0]
                .iter()
                .zip(edges[1])
                .all(|(&a, &b)| (a == first) == (b == second));
            let inside = |value: Value, side: usize| {
                function.uses_of(value).all(|reader| match reader {
                    Use::Edge(_) => true,
                    Use::Instruction(reader) => {
                        tail.pairs.iter().any(|&(a, b)| [a, b][side] == reader)
                    }
                })
            };
            agree && inside(first, 0) && inside(second, 1)
        })
    })
}

/// Whether an instruction does the same at the start of the block where the ways meet.
fn is_movable(function: &Function, instruction: Instruction) -> bool {
    let format = function.format(instruction);
    let effects = &format.effects;
    let is_accessible = |leaf: &Operand| match leaf {
        // A variable may be in a scope of its own.
        Operand::Symbol(symbol) => {
            !matches!(function.symbols()[*symbol].kind, SymbolKind::Variable(_))
        }
        _ => true,
    };
    !format.opaque
        && !format.is_guarded()
        && !format.is_terminator()
        && !effects.is_call
        && !effects.convergent
        && !effects.asynchronous
        && !effects.volatile
        && effects.ordering.is_none()
        && !effects.reads_carry
        && !effects.writes_carry
        && !is_contractible(function, instruction)
        && format.mnemonic.opcode() != Opcode::Mov
        && (format.is_pure() || matches!(format.mnemonic.opcode(), Opcode::Ld | Opcode::St))
        && has_stable_operands(function, instruction)
        && function.leaves(instruction).iter().all(is_accessible)
}

/// Moves the tail of one arm to the start of the block where the ways meet, and removes the other.
fn merge(
    editor: &mut Editor<'_>,
    join: Block,
    before: Instruction,
    blocks: [Block; 2],
    tail: &Tail,
) {
    for &(first, second) in &tail.differing {
        let parameter = match position(editor.function(), blocks, (first, second)) {
            Some(position) => editor.function().blocks()[join].parameters[position],
            None => {
                let scalar_type = editor.function().values()[first].scalar_type;
                let parameter = editor.add_parameter(join, scalar_type);
                for (block, value) in [(blocks[0], first), (blocks[1], second)] {
                    editor.push_argument(block, 0, value);
                }
                parameter
            }
        };
        for &(early, _) in &tail.pairs {
            if editor.function().uses(early).any(|read| read == first) {
                editor.replace_use(Use::Instruction(early), first, parameter);
            }
        }
    }
    // Parameters for what the tail gives are the results themselves now.
    let known: Vec<Value> = tail
        .pairs
        .iter()
        .flat_map(|&(early, _)| editor.function().results(early))
        .collect();
    let arguments: Vec<Value> = {
        let function = editor.function();
        function.arguments(function.edges(blocks[0])[0]).to_vec()
    };
    let parameters = editor.function().blocks()[join].parameters.clone();
    for (&argument, &parameter) in arguments.iter().zip(&parameters) {
        if known.contains(&argument) {
            editor.replace_value(parameter, argument);
        }
    }
    editor.retain_parameters(join, &blocks, |position| {
        arguments.get(position).is_none_or(|it| !known.contains(it))
    });
    for &(early, _) in tail.pairs.iter().rev() {
        editor.move_before(early, before);
    }
    for &(_, late) in &tail.pairs {
        editor.remove_instruction(late);
    }
}
