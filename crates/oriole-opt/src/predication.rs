//! Turns short arms of a branch into straight code: guarded instructions, or both results and a `selp`.
//!
//! ## Example
//! ```text
//!     mov.u32 %r2, %r1;                                      mov.u32 %r2, %r1;
//!     @%p1 bra $L1;                               →          @!%p1 add.s32 %r2, %r1, 1;
//!     add.s32 %r2, %r1, 1;
//! $L1:
//! ```
//!
//! ## Soundness
//! An arm has one way in, from the branch, and one way out, to where the other way of the branch leads or the other arm
//! does; or there are no arms, and both ways of the branch bring different values to one block. Its instructions are pure,
//! so it does no harm to execute them when the arm would not have been. What the arm passes on is chosen by the branch's
//! predicate: the instruction that makes it is guarded and keeps the other way's value, or a `selp` picks one; where the other
//! way brings nothing, it needs neither. Convergent operations, loads, stores, calls, unknown instructions and pinned
//! registers keep an arm as it is; so does what ptxas does not guard right ([`ptxas::ignores_guard`]), and sums and products
//! that ptxas may fuse, see [`crate::fusion`].
//!
//! Loads stay in their arm even where a guard would do: an address may be good in the arm only, and ptxas takes a load that is
//! guarded, and whose register is undefined otherwise, for one that is not (`partial-load` of [`ptxas::QUIRKS`]). Branches
//! around loads cost no more than guards.
//!
//! ## Method
//! One walk over branches, innermost first. Arms are neighbours of the branch in the text, so nothing changes its scope.
//! A branch is converted only if the code gets no longer by it, arms have at most `PredicationArm` instructions, and none of
//! them takes long. Arms that make values of more than 32 bits stay: `ptxas` guards one instruction for a branch around it, but
//! makes a selection for each half of what a guard keeps. So does a branch at the end of an arm that has loads, or is short and for
//! special cases: that arm would be straight code then, and `ptxas` executes it on both ways.
//!
//! ## Not done
//! Arms with effects or loads, arms that end elsewhere, predicates as results where a `selp` would be needed, values of two
//! registers (`predication_unchanged`, `predication_wide_unchanged`).

use crate::copy_propagation::has_plain_move;
use crate::fusion::{is_contractible, may_fuse};
use crate::knobs::Number;
use crate::manager::{Action, Context, Pass, Trigger};
use crate::remark::Rewrite;
use oriole_analysis::branch_prediction::is_usually_taken;
use oriole_analysis::{Analyses, ControlFlow};
use oriole_collections::SmallVec;
use oriole_ir::{
    Block, Definition, Editor, Function, Instruction, Operand, SymbolKind, Use, Value,
};
use oriole_isa::{MnemonicText, Opcode, ScalarType, Space, Terminator, build, ptxas};
use oriole_syntax::tree::Guard;
use std::rc::Rc;

/// The pass.
pub(crate) const PASS: Pass = Pass {
    name: "predication",
    summary: "Turn short arms of branches into guarded instructions or selections",
    action: Action::Once(run, Trigger::Changes),
};

// Settings.
const PREDICATION_ARM: Number = Number::named("PredicationArm");

/// The instructions of straight code that `ptxas` executes on both ways instead of branching around it, as measured.
const ALWAYS_EXECUTED: usize = 8;

fn run(editor: &mut Editor<'_>, analyses: &mut Analyses, context: &mut Context<'_>) {
    let longest = context.knobs.number(PREDICATION_ARM) as usize;
    if longest == 0 {
        return;
    }
    let mut flow = analyses.get::<ControlFlow>(editor.function());
    // An arm that was straightened may be one of a branch before it: then there is another walk. Each makes arms longer, so
    // there are no more of them than an arm may have instructions.
    while walk(editor, &flow, longest, context) {
        flow = Rc::new(ControlFlow::of(editor.function()));
    }
}

/// Straightens the innermost branches. Whether others had to wait for them.
fn walk(
    editor: &mut Editor<'_>,
    flow: &ControlFlow,
    longest: usize,
    context: &mut Context<'_>,
) -> bool {
    let order = editor.function().block_order().to_vec();
    let mut predication = Predication {
        flow,
        longest,
        touched: oriole_collections::BitSet::new(),
        has_deferred: false,
    };
    for position in (0..order.len()).rev() {
        let at = |distance: usize| order.get(position + distance).copied();
        let block = order[position];
        if !flow.is_reachable(block) {
            continue;
        }
        if let Some(shape) = predication.shape(editor.function(), block, at(1), at(2), at(3))
            && !predication.convert(editor, &shape, context)
        {
            return false;
        }
    }
    predication.has_deferred
}

/// A branch whose arms can be straightened.
struct Hammock {
    block: Block,
    /// What is executed if the branch is not taken, if that is an arm of its own.
    fallen: Option<Block>,
    /// What is executed if it is taken, if that is an arm of its own.
    taken: Option<Block>,
    /// Where the ways meet.
    join: Block,
}

impl Hammock {
    /// Whether a value is computed in an arm.
    fn makes(&self, function: &Function, value: Value) -> bool {
        let block = function.defining_block(value);
        block.is_some() && [self.fallen, self.taken].contains(&block)
    }
}

struct Predication<'run> {
    flow: &'run ControlFlow,
    longest: usize,
    /// Blocks already rewritten in this walk: what is known of them is old.
    touched: oriole_collections::BitSet<Block>,
    /// Whether a branch was left alone because of that.
    has_deferred: bool,
}

/// How a value is chosen.
enum Choice {
    /// Both ways bring the same.
    Same(Value),
    /// The instruction that makes it is guarded, and keeps the other value.
    Guard {
        instruction: Instruction,
        result: Value,
        otherwise: Value,
        if_taken: bool,
    },
    /// A selection.
    Select { taken: Value, fallen: Value },
}

impl Predication<'_> {
    fn shape(
        &mut self,
        function: &Function,
        block: Block,
        next: Option<Block>,
        after_next: Option<Block>,
        third: Option<Block>,
    ) -> Option<Hammock> {
        let data = &function.blocks()[block];
        let [taken, fallen] = &data.edges[..] else {
            return None;
        };
        let last = function.last_instruction(block)?;
        let format = function.format(last);
        if !data.falls_through
            || format.effects.terminator != Terminator::Branch
            || !matches!(function.guard(last), Some(Operand::Value(_)))
            || Some(fallen.target) != next
        {
            return None;
        }
        let (flow, touched, has_deferred) = (self.flow, &self.touched, &mut self.has_deferred);
        let mut arm = |arm: Block| {
            let is_arm = flow.predecessors(arm).len() == 1
                && arm != function.entry()
                && function.blocks()[arm].edges.len() == 1;
            *has_deferred |= is_arm && touched.contains(arm);
            is_arm && !touched.contains(arm)
        };
        let fallen = fallen.target;
        if taken.target == fallen {
            return Some(Hammock {
                block,
                fallen: None,
                taken: None,
                join: fallen,
            });
        }
        if !arm(fallen) {
            return None;
        }
        let join = function.blocks()[fallen].edges[0].target;
        if join == taken.target && Some(join) == after_next {
            return Some(Hammock {
                block,
                fallen: Some(fallen),
                taken: None,
                join,
            });
        }
        let other = taken.target;
        let meets = arm(other)
            && function.blocks()[other].edges[0].target == join
            && Some(other) == after_next
            && Some(join) == third
            && other != fallen
            && other != join;
        meets.then_some(Hammock {
            block,
            fallen: Some(fallen),
            taken: Some(other),
            join,
        })
    }

    /// Straightens a hammock if that is right and worth it. Whether to go on.
    fn convert(
        &mut self,
        editor: &mut Editor<'_>,
        hammock: &Hammock,
        context: &mut Context<'_>,
    ) -> bool {
        let function = editor.function();
        let &Hammock {
            block,
            fallen,
            taken,
            join,
        } = hammock;
        if join == block || Some(join) == fallen {
            return true;
        }
        let is_harmless = |arm: Block| self.is_harmless(function, arm);
        if !fallen.is_none_or(is_harmless) || !taken.is_none_or(is_harmless) {
            return true;
        }
        if self.keeps_arm_apart(function, hammock) {
            return true;
        }
        let last = function.last_instruction(block).expect("it branches");
        let Some(Operand::Value(predicate)) = function.guard(last) else {
            return true;
        };
        // Products that are added behind the join would get into one block with their sums.
        let stays_apart = function.instructions_of(block).all(|instruction| {
            !is_contractible(function, instruction) || {
                let results = function.results(instruction);
                let mut readers = results.flat_map(|result| function.uses_of(result));
                readers.all(|reader| match reader {
                    Use::Instruction(reader) => {
                        function.block_of(reader) == Some(block)
                            || !is_contractible(function, reader)
                    }
                    Use::Edge(_) => false,
                })
            }
        });
        if !stays_apart {
            return true;
        }
        // The arm's own parameters, of which there are none as it has one way in, would need renaming.
        let plain = |arm: Block| function.blocks()[arm].parameters.is_empty();
        if !fallen.is_none_or(plain) || !taken.is_none_or(plain) {
            return true;
        }
        // What each way brings: the last edge of a branch is the one it falls along.
        let values = |arm: Option<Block>, edge: usize| match arm {
            Some(arm) => function.arguments(function.edges(arm)[0]),
            None => function.arguments(function.edges(block)[edge]),
        };
        let (taken_values, fallen_values) = (values(taken, 0), values(fallen, 1));
        let mut choices: SmallVec<[Choice; 4]> = SmallVec::new();
        let (mut selections, mut copies) = (0, 0);
        for (&from_fallen, &from_taken) in fallen_values.iter().zip(taken_values) {
            let Some(choice) = self.choose(function, hammock, from_fallen, from_taken) else {
                return true;
            };
            if let Choice::Select { taken, fallen } = choice {
                selections += 1;
                // Two values in two registers: one of the ways has to copy what it brings.
                let mut values = [taken, fallen].into_iter();
                copies += usize::from(!values.any(|value| hammock.makes(function, value)));
            }
            choices.push(choice);
        }
        // The branch goes, copies go, and a branch that ends the first arm.
        let ends_in_branch = |arm: Block| {
            function
                .last_instruction(arm)
                .is_some_and(|last| function.format(last).is_terminator())
        };
        let saved = 1 + copies + usize::from(fallen.is_some_and(ends_in_branch));
        if selections > saved.min(self.longest) {
            return true;
        }
        let rewrite = Rewrite {
            counter: "predication.branches",
            instruction: last,
            why: "its arms are short and have no effects",
            equal: None,
        };
        if !context.allows(function, rewrite) {
            return false;
        }
        let branch_guard = function.format(last).guard;
        self.apply(editor, hammock, (predicate, branch_guard), &choices);
        for block in [Some(block), fallen, taken, Some(join)]
            .into_iter()
            .flatten()
        {
            self.touched.insert(block);
        }
        true
    }

    /// Whether an arm is short and all of its instructions can be executed either way.
    fn is_harmless(&self, function: &Function, arm: Block) -> bool {
        let mut count = 0;
        for instruction in function.instructions_of(arm) {
            let format = function.format(instruction);
            if format.is_terminator() {
                let plain = format.effects.terminator == Terminator::Branch && !format.is_guarded();
                return plain && count <= self.longest;
            }
            let opcode = format.mnemonic.opcode();
            let harmless = format.is_pure() || is_own_parameter(function, instruction);
            let touches_pinned =
                function
                    .operands(instruction)
                    .iter()
                    .any(|operand| match operand {
                        Operand::Register(_) => true,
                        Operand::Symbol(symbol) => match function.symbols()[*symbol].kind {
                            SymbolKind::Special(special) => special.is_volatile(),
                            _ => false,
                        },
                        _ => false,
                    });
            if format.opaque
                || format.is_guarded()
                || !harmless
                || touches_pinned
                || is_slow(opcode)
                || may_fuse(function, instruction)
                || ptxas::ignores_guard(opcode)
                || count > self.longest
            {
                return false;
            }
            count += 1;
        }
        count <= self.longest
    }

    /// Whether a branch around instructions is the last one in an arm of another that has loads, or is short and for special cases: `ptxas`
    /// would execute these on both ways, each with a guard, instead of branching around them. Where there is only something to choose, it may
    /// become a minimum.
    fn keeps_arm_apart(&self, function: &Function, hammock: &Hammock) -> bool {
        let (block, join) = (hammock.block, hammock.join);
        let arms = [hammock.fallen, hammock.taken].into_iter().flatten();
        let mut before = self.flow.predecessors(block);
        let (Some(outer), None) = (before.next(), before.next()) else {
            return false;
        };
        let [one, other] = function.edges(outer) else {
            return false;
        };
        let around = match one.target == block {
            true => other.target,
            false => one.target,
        };
        let computed = |part: Block| {
            let instructions = function.instructions_of(part);
            instructions.filter(|&instruction| !function.format(instruction).is_terminator())
        };
        if arms.clone().flat_map(computed).next().is_none() {
            return false;
        }
        let is_own = |from: Block| from == block || arms.clone().any(|arm| arm == from);
        let is_joined_here = self.flow.predecessors(join).all(is_own);
        let ends_arm = match function.edges(join) {
            [only] if is_joined_here => only.target == around,
            _ => join == around,
        };
        let around_arms = [Some(block), (join != around).then_some(join)];
        let whole = around_arms.into_iter().flatten().chain(arms.clone());
        let (mut count, mut has_loads) = (0, false);
        for instruction in whole.flat_map(computed) {
            let format = function.format(instruction);
            count += 1;
            has_loads |=
                !format.effects.reads.is_empty() && !is_own_parameter(function, instruction);
        }
        let is_taken = function
            .last_instruction(outer)
            .and_then(|branch| is_usually_taken(function, branch));
        let is_special = is_taken == Some(one.target != block);
        ends_arm && (has_loads || is_special && count <= ALWAYS_EXECUTED)
    }

    fn choose(
        &self,
        function: &Function,
        hammock: &Hammock,
        from_fallen: Value,
        from_taken: Value,
    ) -> Option<Choice> {
        if from_fallen == from_taken {
            return Some(Choice::Same(from_fallen));
        }
        let type_of = |value: Value| function.values()[value].scalar_type;
        if type_of(from_fallen) != type_of(from_taken) {
            return None;
        }
        // Whatever the other way leaves undefined may be what this one brings.
        let is_undefined =
            |value: Value| function.values()[value].definition == Definition::Undefined;
        match (is_undefined(from_taken), is_undefined(from_fallen)) {
            (true, _) => return Some(Choice::Same(from_fallen)),
            (_, true) => return Some(Choice::Same(from_taken)),
            _ => {}
        }
        let defined_in = |value: Value| match function.values()[value].definition {
            Definition::Instruction(instruction) => function
                .block_of(instruction)
                .map(|block| (block, instruction)),
            _ => None,
        };
        let guardable = |value: Value, arm: Option<Block>| {
            let (block, instruction) = defined_in(value)?;
            (Some(block) == arm
                && function.use_count(value) == 1
                && function.results(instruction).len() == 1)
                .then_some(instruction)
        };
        // Of what takes two registers ptxas makes two selections where a guard would do, which it finds itself.
        let mut values = [from_fallen, from_taken].into_iter();
        if type_of(from_fallen).bits() > 32 && values.any(|value| hammock.makes(function, value)) {
            return None;
        }
        // The arm that comes second may keep what the first made.
        if let Some(instruction) = guardable(from_taken, hammock.taken) {
            return Some(Choice::Guard {
                instruction,
                result: from_taken,
                otherwise: from_fallen,
                if_taken: true,
            });
        }
        let comes_first =
            |value: Value| defined_in(value).is_none_or(|(block, _)| Some(block) != hammock.taken);
        if let Some(instruction) = guardable(from_fallen, hammock.fallen)
            && comes_first(from_taken)
        {
            return Some(Choice::Guard {
                instruction,
                result: from_fallen,
                otherwise: from_taken,
                if_taken: false,
            });
        }
        selection(type_of(from_fallen))?;
        Some(Choice::Select {
            taken: from_taken,
            fallen: from_fallen,
        })
    }

    fn apply(
        &self,
        editor: &mut Editor<'_>,
        hammock: &Hammock,
        (predicate, branch_guard): (Value, Guard),
        choices: &[Choice],
    ) {
        let guard_if = |taken: bool| {
            if taken {
                branch_guard
            } else {
                branch_guard.opposite()
            }
        };
        let end = hammock.taken.or(hammock.fallen).unwrap_or(hammock.block);
        let mut values: Vec<Value> = Vec::with_capacity(choices.len());
        for choice in choices {
            values.push(match *choice {
                Choice::Same(value) => value,
                Choice::Guard {
                    instruction,
                    result,
                    otherwise,
                    if_taken,
                } => {
                    guard(
                        editor,
                        instruction,
                        predicate,
                        guard_if(if_taken),
                        &[otherwise],
                    );
                    result
                }
                Choice::Select { taken, fallen } => {
                    select(editor, end, predicate, branch_guard, taken, fallen)
                }
            });
        }
        // Straight through: the branch falls into the first arm, that into the second, and that into the join.
        editor.keep_edge(hammock.block, 1);
        if let (Some(fallen), Some(taken)) = (hammock.fallen, hammock.taken) {
            editor.redirect(fallen, 0, taken, Vec::new());
            if !editor.function().blocks()[fallen].falls_through {
                editor.fall_through(fallen);
            }
        }
        editor.redirect(end, 0, hammock.join, values);
    }
}

/// A load of a kernel's parameter, which cannot fail and always gives the same.
fn is_own_parameter(function: &Function, instruction: Instruction) -> bool {
    let format = function.format(instruction);
    format.mnemonic.opcode() == Opcode::Ld
        && format.mnemonic.space() == Some(Space::Param)
        && function.is_invariant_load(instruction)
}

fn is_slow(opcode: Opcode) -> bool {
    matches!(
        opcode,
        Opcode::Div
            | Opcode::Rem
            | Opcode::Sqrt
            | Opcode::Rcp
            | Opcode::Rsqrt
            | Opcode::Sin
            | Opcode::Cos
    )
}

/// Guards an instruction that is not.
fn guard(
    editor: &mut Editor<'_>,
    instruction: Instruction,
    predicate: Value,
    guard: Guard,
    otherwise: &[Value],
) {
    let function = editor.function();
    let mut operands = vec![Operand::Value(predicate)];
    operands.extend(otherwise.iter().map(|&value| Operand::Value(value)));
    operands.extend_from_slice(function.leaves(instruction));
    let format = editor.format_with_guard(instruction, guard);
    editor.rewrite(instruction, format, &operands);
}

/// The mnemonic that selects between registers of a type.
fn selection(scalar_type: ScalarType) -> Option<MnemonicText> {
    match scalar_type {
        ScalarType::F32 | ScalarType::F64 => Some(build::selp(scalar_type)),
        other => has_plain_move(other).then(|| build::choice(other)),
    }
}

/// A selection at the end of a block, before its branch.
fn select(
    editor: &mut Editor<'_>,
    block: Block,
    predicate: Value,
    branch_guard: Guard,
    taken: Value,
    fallen: Value,
) -> Value {
    let scalar_type = editor.function().values()[taken].scalar_type;
    let mnemonic = selection(scalar_type).expect("checked when it was chosen");
    let (yes, no) = match branch_guard {
        Guard::IfNot => (fallen, taken),
        _ => (taken, fallen),
    };
    let format = editor.plain_format(&mnemonic, 4);
    let operands = [
        Operand::Result(0),
        Operand::Value(yes),
        Operand::Value(no),
        Operand::Value(predicate),
    ];
    let last = editor
        .function()
        .last_instruction(block)
        .filter(|&last| editor.function().format(last).is_terminator());
    let selection = match last {
        Some(last) => editor.insert_before(last, format, &operands, &[scalar_type]),
        None => editor.append(block, format, &operands, &[scalar_type]),
    };
    editor
        .function()
        .results(selection)
        .next()
        .expect("a selection has a result")
}
