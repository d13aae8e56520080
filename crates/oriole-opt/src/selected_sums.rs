//! Selects between a sum and what it adds to, in place of adding what is selected.
//!
//! ## Example
//! ```text
//! selp.u32 %r2, 1, 0, %p1;           add.s32 %r2, %r1, 1;
//! add.s32 %r3, %r1, %r2;        →    selp.b32 %r3, %r2, %r1, %p1;
//! ```
//!
//! ## Soundness
//! Adding zero changes nothing. What is selected is read by the sum alone.
//!
//! ## Profit
//! `ptxas` makes one guarded sum of it, and leaves the other form as it is. A loop that counts where a condition holds takes 17 machine
//! instructions for four iterations, and 21 before; 8 and 10 where it is not unrolled. The same on all targets that were measured.
//!
//! ## Not done
//! - Sums of 64 bits.
//! - Sums that a minimum or maximum reads: `ptxas` fuses either sum with it, and orders loads and stores around the guarded one worse
//!   (a table of edit distances takes 1.09 of the time on an H200; `minimum_of_selected_sum`).
//! - Sums to what was loaded: the guarded sum overwrites the loaded register, and the loop around takes more of them
//!   (37 for 32 in a histogram; `sum_to_a_load`).

use crate::manager::{Action, Context, Pass, Trigger};
use crate::remark::Rewrite;
use oriole_analysis::{Analyses, literal_bits};
use oriole_ir::{Definition, Editor, Function, Instruction, Operand, Traits, Use};
use oriole_isa::{Flag, Opcode, ScalarType, build};

/// The pass.
pub(crate) const PASS: Pass = Pass {
    name: "selected-sums",
    summary: "Select between a sum and what it adds to, in place of adding what is selected",
    action: Action::Once(run, Trigger::Changes),
};

fn run(editor: &mut Editor<'_>, _: &mut Analyses, context: &mut Context<'_>) {
    let function = editor.function();
    if !function.traits().have(Traits::SELECTS) {
        return;
    }
    let mut found: Vec<Plan> = Vec::new();
    for &block in function.block_order() {
        let instructions = function.instructions_of(block);
        found.extend(instructions.filter_map(|sum| Plan::of(function, sum)));
    }
    for plan in found {
        let rewrite = Rewrite {
            counter: "selected-sums.sums",
            instruction: plan.sum,
            why: "what it adds is zero or not by a predicate",
            equal: None,
        };
        if !context.allows(editor.function(), rewrite) {
            return;
        }
        plan.apply(editor);
    }
}

/// A sum, what it adds to, and what it adds if a predicate is true, or false.
struct Plan {
    sum: Instruction,
    to: Operand,
    added: Operand,
    predicate: Operand,
    if_true: bool,
}

impl Plan {
    fn of(function: &Function, sum: Instruction) -> Option<Plan> {
        let format = function.format(sum);
        let opcode = format.mnemonic.opcode();
        if !matches!(opcode, Opcode::Add | Opcode::Sub) {
            return None;
        }
        let is_plain = format.is_simple()
            && !format.mnemonic.has(Flag::Saturate)
            && format
                .mnemonic
                .first_type()
                .is_some_and(|own| own.is_integer() && own.bits() == 32 && own.lanes() == 1);
        let &[_, left, right] = function.operands(sum) else {
            return None;
        };
        if !is_plain || feeds_minimum_or_maximum(function, sum) {
            return None;
        }
        let is_narrow = |operand: Operand| match operand {
            Operand::Value(value) => function.values()[value].scalar_type.bits() == 32,
            _ => false,
        };
        let sides = match opcode {
            Opcode::Add => [Some((left, right)), Some((right, left))],
            _ => [Some((left, right)), None],
        };
        let mut sides = sides.into_iter().flatten();
        sides.find_map(|(to, selected)| {
            let (added, predicate, if_true) = selection(function, sum, selected)?;
            // A number is selected as such.
            let is_worth_it = is_narrow(to) && !is_loaded(function, to);
            is_worth_it.then_some(Plan {
                sum,
                to,
                added,
                predicate,
                if_true,
            })
        })
    }

    fn apply(self, editor: &mut Editor<'_>) {
        let function = editor.function();
        let mnemonic = &function.format(self.sum).mnemonic;
        let plain = build::typed(
            mnemonic.opcode(),
            mnemonic.first_type().expect("an integer type"),
        );
        let format = editor.plain_format(&plain, 3);
        let operands = [Operand::Result(0), self.to, self.added];
        let made = editor.insert_before(self.sum, format, &operands, &[ScalarType::B32]);
        editor.copy_line(self.sum, made);
        let value = editor.function().results(made).next();
        let value = Operand::Value(value.expect("a sum has a result"));
        let (first, second) = match self.if_true {
            true => (value, self.to),
            false => (self.to, value),
        };
        let format = editor.plain_format(&build::selp(ScalarType::B32), 4);
        let operands = [Operand::Result(0), first, second, self.predicate];
        editor.rewrite(self.sum, format, &operands);
    }
}

/// Whether a minimum or maximum reads the sum.
fn feeds_minimum_or_maximum(function: &Function, sum: Instruction) -> bool {
    let mut readers = function
        .results(sum)
        .flat_map(|result| function.uses_of(result));
    readers.any(|reader| match reader {
        Use::Instruction(reader) => matches!(
            function.format(reader).mnemonic.opcode(),
            Opcode::Min | Opcode::Max
        ),
        Use::Edge(_) => false,
    })
}

/// Whether an operand is what a load reads.
fn is_loaded(function: &Function, operand: Operand) -> bool {
    match operand {
        Operand::Value(value) => match function.values()[value].definition {
            Definition::Instruction(by) => function.format(by).mnemonic.opcode() == Opcode::Ld,
            _ => false,
        },
        _ => false,
    }
}

/// Of a selection between zero and something else that only the sum reads: the other, the predicate, and whether that must be true for it.
fn selection(
    function: &Function,
    sum: Instruction,
    selected: Operand,
) -> Option<(Operand, Operand, bool)> {
    let Operand::Value(selected) = selected else {
        return None;
    };
    let Definition::Instruction(selection) = function.values()[selected].definition else {
        return None;
    };
    let format = function.format(selection);
    let &[_, if_true, if_false, predicate] = function.operands(selection) else {
        return None;
    };
    let is_plain = format.mnemonic.opcode() == Opcode::Selp
        && format.is_simple()
        && format
            .mnemonic
            .first_type()
            .is_some_and(|own| own.bits() == 32 && !own.is_float())
        && matches!(predicate, Operand::Value(_))
        && function.block_of(selection) == function.block_of(sum)
        && function.use_count(selected) == 1
        && function
            .uses_of(selected)
            .all(|user| user == Use::Instruction(sum));
    if !is_plain {
        return None;
    }
    let is_zero = |operand: Operand| match operand {
        Operand::Constant(constant) => {
            let literal = function.constants()[constant].literal;
            literal.and_then(|it| literal_bits(it, ScalarType::B32)) == Some(0)
        }
        _ => false,
    };
    let is_usable = |operand: Operand| match operand {
        Operand::Constant(constant) => function.constants()[constant].literal.is_some(),
        Operand::Value(value) => function.values()[value].scalar_type.bits() == 32,
        _ => false,
    };
    match (is_zero(if_true), is_zero(if_false)) {
        (false, true) if is_usable(if_true) => Some((if_true, predicate, true)),
        (true, false) if is_usable(if_false) => Some((if_false, predicate, false)),
        _ => None,
    }
}
