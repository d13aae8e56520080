//! Computes each value once: instructions that must give what an earlier, dominating one gave are replaced by it.
//!
//! ## Example
//! ```text
//! mad.lo.s32 %r5, %r2, %r3, %r4;
//! mad.lo.s32 %r6, %r3, %r2, %r4;        →        (gone; readers of %r6 read %r5)
//! ```
//!
//! ## Soundness
//! Two instructions give the same results if they have the same format (mnemonic, guard, operand shape), the same operands by
//! value number, constants by value and not by spelling, and no effect: pure instructions, and loads of what does not change
//! while the kernel runs. A guarded instruction has its guard and the values it keeps among its operands. Plain loads of one
//! block are the same while nothing between them writes memory, orders it, calls, traps or is unknown. State spaces are part
//! of the mnemonic. Convergent operations (`shfl`, `vote`, `activemask` …) are never pure here, so they stay; so do volatile
//! and carry-flag instructions and everything that touches a pinned register. `.ftz` and rounding are part of the mnemonic;
//! operands are exchanged only in integer operations. A per-thread value may be reused wherever its definition dominates,
//! whether threads diverge or not. The register kept must be one the readers accept.
//!
//! ## Method
//! Hash-consed keys in a table scoped by the dominator tree, walked with an explicit stack. Linear.
//!
//! ## Not done
//! Loads across blocks, and values equal for algebraic reasons. Moves of constants, symbols and special registers stay: they
//! cost nothing to repeat, and each puts a value into the register where it is needed.

use crate::copy_propagation::is_acceptable;
use crate::manager::{Action, Context, Pass};
use oriole_analysis::{Analyses, Dominators};
use oriole_collections::{DenseMap, ScopedMap};
use oriole_ir::{
    Block, Constant, Editor, FormatData, Function, Instruction, Operand, ShapeNode, SymbolKind,
};
use oriole_isa::Opcode;
use oriole_syntax::literal::Literal;

/// The pass.
pub(crate) const PASS: Pass = Pass {
    name: "gvn-cse",
    summary: "Replace instructions that compute what a dominating one has computed",
    action: Action::Once(run),
};

fn run(editor: &mut Editor<'_>, analyses: &mut Analyses, context: &mut Context<'_>) {
    let dominators = analyses.get::<Dominators>(editor.function());
    let mut numbering = Numbering {
        known: ScopedMap::new(),
        constants: DenseMap::new(),
        memory: 0,
    };
    enum Step {
        Enter(Block),
        Leave,
    }
    let mut stack = vec![Step::Enter(editor.function().entry())];
    while let Some(step) = stack.pop() {
        match step {
            Step::Leave => numbering.known.pop_scope(),
            Step::Enter(block) => {
                numbering.known.push_scope();
                stack.push(Step::Leave);
                // What is in memory at the start of a block is not known to be what it was elsewhere.
                numbering.memory += 1;
                if !number_block(editor, &mut numbering, block, context) {
                    return;
                }
                stack.extend(dominators.children(block).rev().map(Step::Enter));
            }
        }
    }
}

/// An instruction up to equality: format, memory version, operands.
type Key = Vec<u64>;

struct Numbering {
    known: ScopedMap<Key, Instruction>,
    /// A number for each constant by kind and bits.
    constants: DenseMap<(u64, u64), u64>,
    /// Grows whenever memory may have changed.
    memory: u64,
}

/// Whether to go on.
fn number_block(
    editor: &mut Editor<'_>,
    numbering: &mut Numbering,
    block: Block,
    context: &mut Context<'_>,
) -> bool {
    let instructions: Vec<Instruction> = editor.function().instructions_of(block).collect();
    for instruction in instructions {
        let function = editor.function();
        let Some(version) = version(function, instruction, numbering.memory) else {
            if may_change_memory(function.format(instruction)) {
                numbering.memory += 1;
            }
            continue;
        };
        let key = key(editor, numbering, instruction, version);
        if let Some(&earlier) = numbering.known.get(&key) {
            let function = editor.function();
            let fits = function
                .results(instruction)
                .zip(function.results(earlier))
                .all(|(late, early)| is_acceptable(function, late, early));
            if !fits {
                continue;
            }
            if !context.fuel.spend() {
                return false;
            }
            for (late, early) in function.results(instruction).zip(function.results(earlier)) {
                editor.replace_value(late, early);
            }
            editor.remove_instruction(instruction);
            context.statistics.add("gvn-cse.instructions", 1);
        } else {
            numbering.known.insert_if_absent(key, instruction);
        }
    }
    true
}

/// What an instruction's results depend on besides its operands: nothing (0), or the state of memory. Nothing at all if it
/// may not be replaced.
fn version(function: &Function, instruction: Instruction, memory: u64) -> Option<u64> {
    let format = function.format(instruction);
    let untouchable = function.results(instruction).len() == 0
        || format.opaque
        || format.mnemonic.opcode() == Opcode::Mov
        || function
            .operands(instruction)
            .iter()
            .any(|operand| match *operand {
                Operand::Register(_) | Operand::Target(_) => true,
                Operand::Symbol(symbol) => match function.symbols()[symbol].kind {
                    SymbolKind::Special(special) => special.is_volatile(),
                    _ => false,
                },
                _ => false,
            });
    if untouchable {
        None
    } else if format.effects.is_pure() || function.is_invariant_load(instruction) {
        Some(0)
    } else if format.mnemonic.opcode() == Opcode::Ld
        && format.effects.is_removable()
        && !format.effects.convergent
    {
        Some(memory)
    } else {
        None
    }
}

fn may_change_memory(format: &FormatData) -> bool {
    format.opaque || !format.effects.is_removable()
}

fn key(
    editor: &Editor<'_>,
    numbering: &mut Numbering,
    instruction: Instruction,
    version: u64,
) -> Key {
    let function = editor.function();
    let format = function.format(instruction);
    let mut key = vec![
        u64::from(function.instruction(instruction).format.as_u32()),
        version,
    ];
    let first = key.len();
    for &operand in function.operands(instruction) {
        key.push(match operand {
            Operand::Value(value) => u64::from(editor.resolve(value).as_u32()),
            Operand::Result(index) => 1 << 60 | u64::from(index),
            Operand::Constant(constant) => 2 << 60 | constant_number(function, numbering, constant),
            Operand::Symbol(symbol) => 3 << 60 | u64::from(symbol.as_u32()),
            Operand::Sink => 4 << 60,
            Operand::Register(_) | Operand::Target(_) => unreachable!("excluded by `version`"),
        });
    }
    if factors_commute(format) {
        // The two factors stand behind the result.
        let leaves = key.len() - format.leaves.len();
        debug_assert!(leaves >= first);
        if key[leaves + 1] > key[leaves + 2] {
            key.swap(leaves + 1, leaves + 2);
        }
    }
    key
}

/// Whether the first two sources of an integer operation may be exchanged.
fn factors_commute(format: &FormatData) -> bool {
    let commutes = matches!(
        format.mnemonic.opcode(),
        Opcode::Add
            | Opcode::Mul
            | Opcode::Mad
            | Opcode::Mul24
            | Opcode::Mad24
            | Opcode::And
            | Opcode::Or
            | Opcode::Xor
            | Opcode::Min
            | Opcode::Max
    );
    commutes
        && format
            .mnemonic
            .types()
            .iter()
            .all(|scalar_type| !scalar_type.is_float())
        && format.shape.len() >= 3
        && format.shape.iter().all(|node| *node == ShapeNode::LEAF)
}

fn constant_number(function: &Function, numbering: &mut Numbering, constant: Constant) -> u64 {
    let key = match function.constants()[constant].literal {
        // The spelling `-1` and `0xFFFFFFFFFFFFFFFF` differ in signedness only where expressions are evaluated.
        Some(Literal::Integer { bits, .. }) => (0, bits),
        Some(Literal::Single(bits)) => (1, u64::from(bits)),
        Some(Literal::Double(bits)) => (2, bits),
        None => (3, u64::from(constant.as_u32())),
    };
    let next = numbering.constants.len() as u64;
    *numbering.constants.get_or_insert_with(key, || next)
}
