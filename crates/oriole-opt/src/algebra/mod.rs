//! Simplifies instructions by the laws of integer arithmetic, logic and comparison.
//!
//! ## Example
//! ```text
//! cvt.s64.s32 %rd3, %r1;
//! shl.b64 %rd4, %rd3, 2;
//! add.s64 %rd5, %rd1, %rd4;                →        mul.wide.s32 %rd4, %r1, 4;
//! add.s64 %rd6, %rd5, 16;                           add.s64 %rd5, %rd1, %rd4;
//! ld.global.f32 %f1, [%rd6+4];                      ld.global.f32 %f1, [%rd5+20];
//! ```
//!
//! ## Soundness
//! A rule looks at unguarded instructions without effects: nothing that reads or writes the carry flag, saturates, or is
//! unknown, and only at registers as wide as what is read of them. Integers wrap; shifts clamp at the width; division by zero is
//! left alone. **Floating point is left alone** but for comparisons: `x + 0.0` is not `x` (−0), `x * 1.0` makes a NaN quiet,
//! and `!(x < y)` is `x >= y or unordered`. Constants enter operands only where ptxas takes them: never half precision,
//! never vectors.
//!
//! A sum folded into an address is folded in 64 bits, where addresses wrap like sums; in 32 bits only if known bits show that
//! the sum does not wrap.
//!
//! ## Method
//! The rules are a table (`rules`), by opcode. One walk in reverse postorder with the known bits of every value seen so far;
//! each instruction is rewritten until no rule applies, reading operands as they are after the rewrites before it, so chains
//! simplify in one run. What looks at a value that later lost a reader is visited again. Known bits are kept from one run to the next,
//! which visits only what changes since may have given work ([`worklist`]). A rule that looks through an operand's definition applies only if that definition then has no reader
//! left, or if the instruction goes: no rewrite makes the code longer once dead code is removed, nor keeps a register
//! alive beside the one computed from it, which would cost copies around loops. Products are not moved into other blocks.
//!
//! ## Not done
//! Sums of more than two terms (`reassociate-and-common`), anything that needs facts from branches, memory.

mod address_chains;
pub(crate) mod compare;
mod convert;
mod fields;
mod integer;
mod loads;
mod multiply;
pub(crate) mod operands;
mod rules;
mod select;
#[cfg(test)]
mod tests;
mod view;
mod worklist;

use crate::change_log::Rerun;
use crate::constant_folding::constant_move;
use crate::copy_propagation::is_acceptable;
use crate::knobs::Switch;
use crate::manager::{Action, Context, Pass, Trigger};
use crate::remark::Rewrite;
use address_chains::AddressChains;
use oriole_analysis::{Analyses, ControlFlow, Known, KnownBits, sign_extend};
use oriole_collections::{BitSet, DenseMap, IndexVec, SmallVec};
use oriole_ir::{
    BitTransfer, Block, Definition, Editor, Format, FormatData, Instruction, Operand, ShapeNode,
    Use, Value,
};
use oriole_isa::{MnemonicText, MulMode, Opcode, ScalarType, build};
use oriole_syntax::tree::Guard;
use rules::Rule;
use std::rc::Rc;
use view::{Arg, Change, Facts, MAXIMUM_ARGUMENTS, MAXIMUM_READERS, View};
use worklist::Worklist;

/// The pass.
pub(crate) const PASS: Pass = Pass {
    name: "algebraic-simplification",
    summary: "Simplify integer arithmetic, logic, comparisons, conversions and addresses",
    action: Action::Incremental(run, Trigger::Rewrites),
};

// Settings.
const COPY_PROP_ADDR: Switch = Switch::named("CopyPropAddr");

/// The most rewrites of one instruction in one run. Rules lead somewhere; this is for the day when two do not.
const MAXIMUM_REWRITES: usize = 16;

/// What a run leaves for the next one.
pub(crate) struct Kept {
    known: KnownBits,
    of_values: IndexVec<Value, Facts>,
    /// How many of its changes were made while it went forwards: whoever reads what they gave was visited behind them.
    in_order: usize,
}

fn run(
    editor: &mut Editor<'_>,
    analyses: &mut Analyses,
    context: &mut Context<'_>,
    rerun: Rerun<'_>,
) {
    let flow = analyses.get::<ControlFlow>(editor.function());
    let function = editor.function();
    let kept = rerun.kept.algebra.take();
    let worklist = match (rerun.changes, &kept) {
        (Some(changes), Some(kept)) => Some(Worklist::of(function, &flow, changes, kept.in_order)),
        _ => None,
    };
    let kept = kept.filter(|_| worklist.is_some());
    let Kept {
        mut known,
        mut of_values,
        ..
    } = kept.unwrap_or_else(|| Kept {
        known: KnownBits::new(function, context.environment.launch_limits()),
        of_values: IndexVec::new(),
        in_order: 0,
    });
    if worklist.as_ref().is_some_and(Worklist::are_none) && !cfg!(debug_assertions) {
        rerun.kept.algebra = Some(Kept {
            known,
            of_values,
            in_order: 0,
        });
        return;
    }
    known.extend(function);
    of_values.resize(function.values().len(), Facts::NONE);
    let reads = function
        .values()
        .keys()
        .map(|value| function.use_count(value))
        .collect();
    let module = context.environment.module();
    let mut walk = Walk {
        is_debug: module.is_some_and(|module| module.is_debug),
        visited: IndexVec::from_elem(0, function.instruction_bound()),
        of_values,
        fold_addresses: context.knobs.switch(COPY_PROP_ADDR),
        editor,
        context,
        known,
        reads,
        visits: 0,
        loosened: Vec::new(),
        flow: Rc::clone(&flow),
        address_chains: None,
        indexed: DenseMap::new(),
        worklist,
    };
    let goes_on = match walk.worklist.is_some() {
        true => walk.visit_worklist(&flow),
        false => walk.visit_all(&flow),
    };
    if !goes_on {
        return;
    }
    let in_order = walk.editor.change_count();
    walk.revisit();
    if cfg!(debug_assertions) {
        walk.check_reads();
    }
    rerun.kept.algebra = Some(Kept {
        known: walk.known,
        of_values: walk.of_values,
        in_order,
    });
}

/// Whether rules that want these facts may find something at an instruction with those; where that is checked, always.
fn may_apply(wanted: Facts, facts: Facts) -> bool {
    cfg!(debug_assertions) || wanted == Facts::EVERYTHING || facts.share(wanted)
}

/// Whether to go on.
type GoOn = bool;

/// What became of an instruction.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Unchanged,
    Changed,
    Removed,
    OutOfFuel,
}

/// A rewrite beyond the rules.
#[derive(Clone, Copy)]
enum Further {
    ExtendLoad,
    ExtendAddress,
    FoldAddress,
    Immediates,
    RevealAddress,
    Unpack,
    KnownPart,
}

impl Further {
    /// Those that look at an opcode, in the order in which they are tried, each with the facts one of which an instruction must
    /// have for it to do anything.
    fn of(opcode: Opcode) -> &'static [(Facts, Further)] {
        const EXTEND_LOAD: (Facts, Further) = (Facts::made_by(Opcode::Ld), Further::ExtendLoad);
        const EXTEND_ADDRESS: (Facts, Further) =
            (Facts::made_by(Opcode::Mov), Further::ExtendAddress);
        const FOLD_ADDRESS: (Facts, Further) = (
            Facts::made_by_any(&[Opcode::Add, Opcode::Or]),
            Further::FoldAddress,
        );
        const IMMEDIATES: (Facts, Further) = (Facts::HELD_CONSTANT, Further::Immediates);
        const REVEAL_ADDRESS: (Facts, Further) = (
            Facts::made_by_any(&[Opcode::Add, Opcode::Sub, Opcode::Mad]),
            Further::RevealAddress,
        );
        const UNPACK: (Facts, Further) = (Facts::made_by(Opcode::Mov), Further::Unpack);
        const KNOWN_PART: (Facts, Further) = (Facts::PARTLY_KNOWN, Further::KnownPart);
        match opcode {
            Opcode::Cvt => &[EXTEND_LOAD, EXTEND_ADDRESS, IMMEDIATES],
            Opcode::Mov => &[UNPACK, KNOWN_PART, IMMEDIATES],
            Opcode::Ld | Opcode::Ldu | Opcode::Prefetch => &[FOLD_ADDRESS, REVEAL_ADDRESS],
            Opcode::St | Opcode::Atom | Opcode::Red => &[IMMEDIATES, FOLD_ADDRESS, REVEAL_ADDRESS],
            opcode if operands::may_take_immediates(opcode) => &[IMMEDIATES],
            _ => &[],
        }
    }

    fn rewrite(self, walk: &mut Walk<'_, '_, '_>, instruction: Instruction) -> Outcome {
        match self {
            Further::ExtendLoad => walk.extend_load(instruction),
            Further::ExtendAddress => walk.extend_address(instruction),
            Further::FoldAddress => walk.fold_address(instruction),
            Further::Immediates => walk.immediates(instruction),
            Further::RevealAddress => walk.reveal_address(instruction),
            Further::Unpack => walk.unpack(instruction),
            Further::KnownPart => walk.known_part(instruction),
        }
    }
}

struct Walk<'a, 'f, 'c> {
    /// Whether the code is to be debugged.
    is_debug: bool,
    editor: &'a mut Editor<'f>,
    context: &'a mut Context<'c>,
    known: KnownBits,
    /// What readers can tell of each value.
    of_values: IndexVec<Value, Facts>,
    /// How many operands and arguments read each value, after the rewrites so far.
    reads: IndexVec<Value, u32>,
    /// How many instructions have been visited, and how many that were when each of them was.
    visits: u32,
    visited: IndexVec<Instruction, u32>,
    /// Values that lost a reader but not the last one, and how many visits there had been.
    loosened: Vec<(Value, u32)>,
    fold_addresses: bool,
    flow: Rc<ControlFlow>,
    /// Sums that only serve addresses, found when first asked for.
    address_chains: Option<AddressChains>,
    /// Of the arrays that were asked about, a user that indexes them, if there was one.
    indexed: DenseMap<Value, Option<Use>>,
    /// What is to be visited, if not everything.
    worklist: Option<Worklist>,
}

impl Walk<'_, '_, '_> {
    fn view(&self) -> View<'_, '_> {
        View {
            editor: self.editor,
            known: &self.known,
            of_values: &self.of_values,
            reads: &self.reads,
            is_debug: self.is_debug,
        }
    }

    /// Visits all instructions. Whether to go on.
    fn visit_all(&mut self, flow: &ControlFlow) -> GoOn {
        for &block in flow.reverse_postorder() {
            self.enter(flow, block);
            let mut next = self.editor.function().instructions_of(block).next();
            while let Some(instruction) = next {
                // A visit takes out at most the instruction itself.
                next = self.editor.function().next_instruction(instruction);
                if !self.visit(instruction) {
                    return false;
                }
            }
            let (known, editor) = (&mut self.known, &self.editor);
            known.leave(editor.function(), block);
        }
        true
    }

    /// Finds what is known of the results of an instruction.
    fn step(&mut self, instruction: Instruction) {
        let editor = &*self.editor;
        let function = editor.function();
        let mut results = function.results(instruction);
        let Some(result) = results.next() else {
            return;
        };
        let format = function.format(instruction);
        let scalar_type = function.values()[result].scalar_type;
        let unknown = Known::unknown(scalar_type.bits());
        let known = match results.len() == 0 && self.tells_bits(instruction, format) {
            true => self.known.of_result(function, instruction, scalar_type),
            false => unknown,
        };
        let maker = Facts::made_by(format.mnemonic.opcode());
        let facts = match known == unknown {
            true => maker,
            false => maker.or(Facts::of_known(known, scalar_type)),
        };
        *self.of_values.ensure(result, Facts::NONE) = facts;
        for further in results {
            *self.of_values.ensure(further, Facts::NONE) = maker;
        }
        let is_new = self.known.set(result, known);
        if let Some(worklist) = &mut self.worklist
            && is_new
        {
            worklist.spread(function, result);
        }
    }

    /// Whether something may be known of the only result of an instruction: of most nothing is known of what they read.
    fn tells_bits(&self, instruction: Instruction, format: &FormatData) -> bool {
        let function = self.editor.function();
        let is_unknown = |operand: &Operand| match *operand {
            Operand::Value(value) => {
                let facts = self.of_values.get(value);
                facts.is_none_or(|facts| !facts.share(Facts::PARTLY_KNOWN))
            }
            _ => false,
        };
        let tells = match format.bit_transfer() {
            BitTransfer::None => false,
            BitTransfer::NeedsAll => !function.operands(instruction).iter().any(is_unknown),
            BitTransfer::NeedsAny => !function.operands(instruction)[1..].iter().all(is_unknown),
            BitTransfer::Free => true,
        };
        if cfg!(debug_assertions)
            && !tells
            && let Some(result) = function.results(instruction).next()
        {
            let scalar_type = function.values()[result].scalar_type;
            let known = self.known.of_result(function, instruction, scalar_type);
            debug_assert_eq!(
                known,
                Known::unknown(scalar_type.bits()),
                "something is known of a result of {}",
                format.mnemonic
            );
        }
        tells
    }

    fn enter(&mut self, flow: &ControlFlow, block: Block) {
        let function = self.editor.function();
        self.known.enter(function, flow, block);
        for &parameter in &function.blocks()[block].parameters {
            let scalar_type = function.values()[parameter].scalar_type;
            self.of_values[parameter] = Facts::of_known(self.known.of(parameter), scalar_type);
        }
    }

    /// Visits again what looks at values that have lost readers since: rules may apply now that did not then.
    fn revisit(&mut self) {
        // Rewrites lead somewhere; this is for the day when they do not.
        let mut left = self.visits;
        while let Some((value, when)) = self.loosened.pop() {
            if self.reads[value] as usize > MAXIMUM_READERS {
                continue;
            }
            // Rules look two instructions back.
            for reader in self.readers(value) {
                if !self.visit_again(reader, when, &mut left) {
                    return;
                }
                let Some(result) = self.editor.function().results(reader).next() else {
                    continue;
                };
                for further in self.readers(result) {
                    if !self.visit_again(further, when, &mut left) {
                        return;
                    }
                }
            }
        }
    }

    /// Visits an instruction that is still there and was visited at a time and not since. Whether to go on.
    fn visit_again(&mut self, instruction: Instruction, when: u32, left: &mut u32) -> GoOn {
        if self.visited[instruction] > when
            || self.editor.function().block_of(instruction).is_none()
        {
            return true;
        }
        if *left == 0 {
            return false;
        }
        *left -= 1;
        self.visit(instruction)
    }

    /// The first instructions that read a value, up to an edge that does, which no rule gets past.
    fn readers(&self, value: Value) -> SmallVec<[Instruction; MAXIMUM_READERS]> {
        let users = self.editor.function().uses_of(value);
        users
            .map_while(|user| match user {
                Use::Instruction(instruction) => Some(instruction),
                Use::Edge(_) => None,
            })
            .take(MAXIMUM_READERS)
            .collect()
    }

    fn visit(&mut self, instruction: Instruction) -> GoOn {
        self.visits += 1;
        *self.visited.ensure(instruction, 0) = self.visits;
        let function = self.editor.function();
        let format = function.format(instruction);
        let opcode = format.mnemonic.opcode();
        let (opaque, guarded, guard) = (format.opaque, format.is_guarded(), format.guard);
        self.step(instruction);
        if opaque {
            return true;
        }
        let wanted = match guarded {
            true => Facts::EVERYTHING,
            false => rules::wanted_by_those_of(opcode),
        };
        let further = Further::of(opcode);
        if wanted.is_none() && further.is_empty() {
            return true;
        }
        let facts = self.view().facts(instruction, wanted);
        let mut outcome = Outcome::Unchanged;
        if guarded {
            if facts.have_any(Facts::made_by(Opcode::Not)) {
                outcome = self.flip_guard(instruction);
            } else if opcode == Opcode::Bra && guard == Guard::IfNot {
                outcome = self.invert_comparison(instruction);
            }
            if !matches!(outcome, Outcome::OutOfFuel) && self.is_read(instruction) {
                match self.guarded(instruction, opcode, facts) {
                    Outcome::Unchanged => {}
                    changed => outcome = changed,
                }
            }
        } else if may_apply(wanted, facts) && self.is_read(instruction) {
            outcome = self.apply_rules(instruction, facts);
        }
        for &(premise, further) in further {
            match outcome {
                Outcome::OutOfFuel => return false,
                Outcome::Removed => return true,
                _ => {}
            }
            let is_hopeless = outcome == Outcome::Unchanged && !facts.share(premise);
            if is_hopeless && !cfg!(debug_assertions) {
                continue;
            }
            // What is dead reads nothing any more: a value read once is read by another.
            if self.view().is_dead(instruction) {
                break;
            }
            match further.rewrite(self, instruction) {
                Outcome::Unchanged => {}
                changed => outcome = changed,
            }
            debug_assert!(
                !is_hopeless || outcome == Outcome::Unchanged,
                "a rewrite of {opcode:?} does something without its premise"
            );
        }
        if outcome == Outcome::Changed {
            self.step(instruction);
        }
        outcome != Outcome::OutOfFuel
    }

    /// Whether anybody reads a result: what nobody reads is dead code.
    fn is_read(&self, instruction: Instruction) -> bool {
        self.editor
            .function()
            .results(instruction)
            .any(|result| self.reads.get(result).is_some_and(|&reads| reads > 0))
    }

    /// Rewrites a guarded instruction that is a choice.
    fn guarded(&mut self, instruction: Instruction, opcode: Opcode, facts: Facts) -> Outcome {
        match opcode {
            Opcode::Setp => self.guarded_comparison(instruction),
            Opcode::Mov => match self.guarded_predicate(instruction) {
                Outcome::Unchanged => match self.apply_rules(instruction, facts) {
                    Outcome::Unchanged => self.guarded_choice(instruction),
                    changed => changed,
                },
                changed => changed,
            },
            _ => Outcome::Unchanged,
        }
    }

    fn apply_rules(&mut self, instruction: Instruction, mut facts: Facts) -> Outcome {
        let mut outcome = Outcome::Unchanged;
        for _ in 0..MAXIMUM_REWRITES {
            let Some((rule, result, change)) = self.find_rule(instruction, facts) else {
                break;
            };
            let equal = match change {
                Change::Value(value) => self.definition(value),
                _ => None,
            };
            if !self.allows(instruction, rule.counter, rule.why, equal) {
                return Outcome::OutOfFuel;
            }
            if self.apply(instruction, result, change) {
                return Outcome::Removed;
            }
            outcome = Outcome::Changed;
            self.step(instruction);
            facts = self.view().facts(instruction, Facts::EVERYTHING);
        }
        outcome
    }

    /// The first rule that finds something at an instruction with these facts, its result, and what it becomes.
    fn find_rule(
        &self,
        instruction: Instruction,
        facts: Facts,
    ) -> Option<(&'static Rule, Value, Change)> {
        let view = self.view();
        let format = view.function().format(instruction);
        let guarded = format.is_guarded();
        let rules = match guarded {
            true => rules::OF_GUARDED_MOVES,
            false => rules::of(format.mnemonic.opcode()),
        };
        let first = rules.iter().position(|rule| rule.may_apply(facts));
        let rules = match first {
            _ if cfg!(debug_assertions) => rules,
            Some(first) => &rules[first..],
            None => return None,
        };
        let site = match guarded {
            true => view.guarded_move(instruction)?,
            false => view.site(instruction)?,
        };
        rules.iter().find_map(|rule| {
            if !rule.may_apply(facts) {
                debug_assert!(
                    (rule.find)(&view, &site).is_none(),
                    "{} applies without its premise",
                    rule.counter
                );
                return None;
            }
            Some((rule, site.result, (rule.find)(&view, &site)?))
        })
    }

    /// Rewrites trust that a value that is read once has no other reader: nothing that is needed may be read more often than
    /// was counted.
    ///
    /// # Panics
    /// If something is.
    fn check_reads(&self) {
        let function = self.editor.function();
        let mut reads: IndexVec<Value, u32> = IndexVec::from_elem(0, function.values().len());
        let mut needed: BitSet<Instruction> = BitSet::with_domain(function.instruction_bound());
        let mut stack: Vec<Value> = Vec::new();
        for &block in function.block_order() {
            for instruction in function.instructions_of(block) {
                let format = function.format(instruction);
                let has_results = function.results(instruction).len() > 0;
                if format.opaque || !format.is_removable() || !has_results {
                    needed.insert(instruction);
                    stack.extend(function.uses(instruction));
                }
            }
            for edge in &function.blocks()[block].edges {
                stack.extend(function.arguments(*edge).iter().copied());
            }
        }
        while let Some(value) = stack.pop() {
            reads[value] += 1;
            if let Definition::Instruction(instruction) = function.values()[value].definition
                && function.block_of(instruction).is_some()
                && needed.insert(instruction)
            {
                stack.extend(function.uses(instruction));
            }
        }
        for (value, &reads) in reads.iter() {
            let counted = self.reads.get(value).copied().unwrap_or(0);
            assert!(
                reads <= counted,
                "{value} is read {reads} times, not {counted}"
            );
        }
    }

    fn definition(&self, value: Value) -> Option<Instruction> {
        match self.editor.function().values()[value].definition {
            Definition::Instruction(instruction) => Some(instruction),
            _ => None,
        }
    }

    fn allows(
        &mut self,
        instruction: Instruction,
        counter: &'static str,
        why: &'static str,
        equal: Option<Instruction>,
    ) -> bool {
        let rewrite = Rewrite {
            counter,
            instruction,
            why,
            equal,
        };
        let is_allowed = self.context.allows(self.editor.function(), rewrite);
        if is_allowed {
            self.add_readers(instruction);
        }
        is_allowed
    }

    /// Makes a change. Whether the instruction is gone.
    fn apply(&mut self, instruction: Instruction, result: Value, change: Change) -> bool {
        let held = self.editor.function().values()[result].scalar_type;
        match change {
            Change::Value(value) => {
                if is_acceptable(self.editor.function(), result, value) {
                    self.add_guarded(value);
                    *self.reads.ensure(value, 0) += self.reads[result];
                    self.reads[result] = 0;
                    self.release_operands(instruction);
                    self.editor.replace_value(result, value);
                    self.editor.remove_instruction(instruction);
                    return true;
                }
                self.become_instruction(instruction, &build::copy(held), &[Arg::Value(value)]);
            }
            Change::Constant(bits) => {
                let mnemonic = constant_move(held);
                self.become_instruction(instruction, &mnemonic, &[Arg::Constant(bits)]);
            }
            Change::Operands(arguments) => {
                let shape = &[ShapeNode::LEAF; 1 + MAXIMUM_ARGUMENTS][..1 + arguments.len()];
                let format = self.editor.format_with_shape(instruction, shape);
                self.set_arguments(instruction, format, &arguments);
            }
            Change::Instruction(mnemonic, arguments) => {
                self.become_instruction(instruction, &mnemonic, &arguments);
            }
        }
        false
    }

    fn become_instruction(
        &mut self,
        instruction: Instruction,
        mnemonic: &MnemonicText,
        arguments: &[Arg],
    ) {
        let format = self.editor.plain_format(mnemonic, 1 + arguments.len());
        self.set_arguments(instruction, format, arguments);
    }

    /// Gives an instruction these operands, and a format in which they are plain.
    fn set_arguments(&mut self, instruction: Instruction, format: Format, arguments: &[Arg]) {
        let mut operands: SmallVec<[Operand; 1 + MAXIMUM_ARGUMENTS]> = SmallVec::new();
        operands.push(Operand::Result(0));
        for (index, &argument) in arguments.iter().enumerate() {
            operands.push(match argument {
                Arg::Value(value) => Operand::Value(value),
                Arg::Constant(bits) => self.immediate(format, index + 1, bits),
                Arg::Other => unreachable!("rules name plain operands"),
            });
        }
        debug_assert!(!self.editor.function().format_data(format).opaque);
        self.rewrite(instruction, format, &operands);
    }

    /// Rewrites an instruction and keeps count of who reads what.
    fn rewrite(&mut self, instruction: Instruction, format: Format, operands: &[Operand]) {
        for operand in operands {
            if let Operand::Value(value) = *operand {
                *self.reads.ensure(value, 0) += 1;
            }
        }
        self.release_operands(instruction);
        self.editor.rewrite(instruction, format, operands);
    }

    /// Counts the operands of an instruction as read no more.
    fn release_operands(&mut self, instruction: Instruction) {
        let mut stack: SmallVec<[Value; 8]> = SmallVec::new();
        let editor = &*self.editor;
        let function = editor.function();
        stack.extend(function.uses(instruction));
        while let Some(value) = stack.pop() {
            let reads = self.reads.ensure(value, 0);
            if *reads == 0 {
                continue;
            }
            *reads -= 1;
            if *reads > 0 {
                self.loosened.push((value, self.visits));
                continue;
            }
            // Dead now, and its operands with it.
            if let Definition::Instruction(producer) = function.values()[value].definition
                && function.block_of(producer).is_some()
                && function.format(producer).is_removable()
                && function.results(producer).len() == 1
            {
                stack.extend(function.uses(producer));
            }
        }
    }

    /// A constant as an operand of a format: floating-point numbers by their bits, integers as compilers write them.
    fn immediate(&mut self, format: Format, index: usize, bits: u64) -> Operand {
        let data = self.editor.function().format_data(format);
        let mnemonic = &data.mnemonic;
        let wanted = data.operand_type(index);
        let wraps = matches!(mnemonic.opcode(), Opcode::Add | Opcode::Sub)
            || mnemonic.modifiers().mul_mode == Some(MulMode::Low);
        match wanted {
            Some(ScalarType::F32) => self.editor.single(bits as u32),
            Some(ScalarType::F64) => self.editor.double(bits),
            Some(ScalarType::Pred) => self.editor.integer(bits, true),
            Some(wanted) if !wanted.is_unsigned() || wraps => {
                let signed = sign_extend(bits, wanted.bits()) as u64;
                self.editor.integer(signed, false)
            }
            _ => self.editor.integer(bits, true),
        }
    }
}
