//! Computes once what predication has brought together: equal instructions, guarded ones included, where one dominates the
//! other, in the same block or not.
//!
//! ## Example
//! ```text
//! @%p1 mul.lo.s32 %r5, %r2, %r3;                 @%p1 mul.lo.s32 %r5, %r2, %r3;
//! mov.u32 %r6, %r2;
//! @%p1 mul.lo.s32 %r7, %r6, %r3;       →         (gone; readers of %r7 read %r5)
//!
//! @%p1 add.s32 %r5, %r2, %r3;
//! @!%p1 add.s32 %r5, %r2, %r3;         →         add.s32 %r5, %r2, %r3;
//! ```
//!
//! ## Soundness
//! An instruction goes if an earlier one passes all of these:
//!
//! 1. It may be reused at all (`equality::kind_of`): not convergent, volatile, atomic, asynchronous, carrying or unknown, and
//!    no copy.
//! 2. It dominates.
//! 3. Nothing that orders or may change the memory read lies between, if it is a load: on the way from the one to the other no
//!    store to its state space, no atomic, fence, barrier, call, asynchronous copy or unknown instruction, and no place where
//!    several ways meet.
//! 4. Both have the same guard, by value and polarity, or none; and the same value for when it is false, or one that nobody
//!    defined.
//! 5. Both have the same number of operands, of the same roles: one format.
//! 6. The operands are the same after looking through copies, and what modifies them is part of the format.
//! 7. The registers of the results are ones the readers accept.
//!
//! A per-thread value may be reused wherever its definition dominates, whether threads diverge or not.
//!
//! If the same is computed under a predicate and then under its complement, over the first result, the second instruction
//! gives that result either way, and needs no guard.
//!
//! ## Method
//! A walk over the dominator tree with a table of hashes scoped by it and values mapped to what they are copies of. It first looks only
//! at instructions of which the first pair may be ([`Candidates::First`]): most functions have none, and nothing is to be found.
//! Memory has a stamp per state space, which a block inherits from its only predecessor. What was found is then weighed by
//! [`PressureGuard`] (`ForceLateCommoning` does not ask). Linear.
//!
//! ## Not done
//! Loads across joins.

use crate::constant_folding::unguard;
use crate::copy_propagation::is_acceptable;
use crate::equality::{self, Kind, kind_of};
use crate::knobs::{Number, Switch};
use crate::manager::{Action, Context, Pass, Trigger};
use crate::pressure_guard::PressureGuard;
use crate::remark::Rewrite;
use oriole_analysis::memory::{Versions, clobbers};
use oriole_analysis::{Analyses, ControlFlow, Dominators};
use oriole_collections::{DenseMap, ScopedMap};
use oriole_ir::{
    Block, Definition, Editor, Function, Instruction, Operand, ShapeNode, SymbolKind, Traits, Use,
    Value,
};
use oriole_isa::{Opcode, SpaceSet};
use oriole_syntax::literal::Literal;
use oriole_syntax::tree::Guard;

/// The pass.
pub(crate) const PASS: Pass = Pass {
    name: "late-commoning",
    summary: "Replace instructions, guarded ones too, that a dominating one makes redundant, looking through copies",
    action: Action::Once(run, Trigger::Changes),
};

// Settings.
const LATE_COPY_PROP_COMPL_PRED: Switch = Switch::named("LateCopyPropComplPred");
const DISABLE_MOVE_COMMONING: Switch = Switch::named("DisableMoveCommoning");
const FORCE_LATE_COMMONING: Switch = Switch::named("ForceLateCommoning");
const LATE_COMMONING_PER_INSTR: Number = Number::named("LateCommoningPerInstr");

fn run(editor: &mut Editor<'_>, analyses: &mut Analyses, context: &mut Context<'_>) {
    if context.knobs.switch(LATE_COPY_PROP_COMPL_PRED)
        && editor.function().traits().have(Traits::GUARDED)
        && !drop_complements(editor, analyses, context)
    {
        return;
    }
    let flow = analyses.get::<ControlFlow>(editor.function());
    let dominators = analyses.get::<Dominators>(editor.function());
    let look_through_copies = !context.knobs.switch(DISABLE_MOVE_COMMONING);
    let gate = context.knobs.number(LATE_COMMONING_PER_INSTR);
    let search = |looks_at| {
        let search = Search::new(editor.function(), look_through_copies, gate, looks_at);
        search.run(&flow, &dominators)
    };
    // Most functions have nothing to find, and few candidates that show it.
    if search(Candidates::First).is_empty() {
        return;
    }
    let found = search(Candidates::All);
    let bound = count_bound(editor.function());
    let mut guard = match context.knobs.switch(FORCE_LATE_COMMONING) {
        true => None,
        false => PressureGuard::of(
            editor.function(),
            analyses,
            context.environment,
            found.iter().map(|&(_, late)| late),
        ),
    };
    for (early, late) in found {
        // Where a register is decided, a copy may be needed; more than one of them would not pay.
        let copies: u32 = editor
            .function()
            .results(late)
            .map(|result| bound[result.index()])
            .sum();
        if copies > 1 {
            continue;
        }
        if let Some(guard) = &mut guard
            && !guard.allows(editor.function(), early, late, context.statistics)
        {
            context
                .statistics
                .add("late-commoning.kept-for-occupancy", 1);
            continue;
        }
        let rewrite = Rewrite {
            counter: "late-commoning.instructions",
            instruction: late,
            why: "an instruction that dominates it gives the same",
            equal: Some(early),
        };
        if !context.allows(editor.function(), rewrite) {
            return;
        }
        let (results, count) = (
            editor.function().results(early),
            editor.function().results(late),
        );
        for (late, early) in count.zip(results) {
            editor.replace_value(late, early);
        }
        editor.remove_instruction(late);
    }
}

/// How many arguments and values kept by guarded instructions each value is: places that decide its register.
fn count_bound(function: &Function) -> Vec<u32> {
    let mut bound = vec![0; function.values().len()];
    for &block in function.block_order() {
        for instruction in function.instructions_of(block) {
            for kept in function.otherwise(instruction) {
                if let Some(value) = kept.value() {
                    bound[value.index()] += 1;
                }
            }
        }
        for edge in &function.blocks()[block].edges {
            for &argument in function.arguments(*edge) {
                bound[argument.index()] += 1;
            }
        }
    }
    bound
}

/// Takes the guard off instructions whose result is the same under the complement; whether there is fuel left.
fn drop_complements(
    editor: &mut Editor<'_>,
    analyses: &mut Analyses,
    context: &mut Context<'_>,
) -> bool {
    let flow = analyses.get::<ControlFlow>(editor.function());
    // For each load, how often memory had changed before it.
    let mut versions: DenseMap<Instruction, u32> = DenseMap::new();
    let mut version = 0;
    for &block in flow.reverse_postorder() {
        version += 1;
        let mut next = editor.function().instructions_of(block).next();
        while let Some(instruction) = next {
            let function = editor.function();
            next = function.next_instruction(instruction);
            let format = function.format(instruction);
            if format.is_pure() && !format.is_guarded() {
                continue;
            }
            let Some(kind) = kind_of(function, instruction) else {
                version += u32::from(!clobbers(format).is_empty());
                continue;
            };
            if !format.is_guarded() {
                continue;
            }
            if kind != Kind::Pure {
                versions.insert(instruction, version);
            }
            let Some(earlier) = complement_of(function, instruction) else {
                continue;
            };
            if versions.get(&earlier) != versions.get(&instruction) {
                continue;
            }
            let rewrite = Rewrite {
                counter: "late-commoning.guards",
                instruction,
                why: "the same was computed under the complement of its guard",
                equal: Some(earlier),
            };
            if !context.allows(function, rewrite) {
                return false;
            }
            unguard(editor, instruction);
        }
    }
    true
}

/// The instruction that does the same under the complement of the guard, and whose results this one keeps.
fn complement_of(function: &Function, instruction: Instruction) -> Option<Instruction> {
    let kept = function.otherwise(instruction);
    let first = kept.first()?.value()?;
    let Definition::Instruction(earlier) = function.values()[first].definition else {
        return None;
    };
    let guards = [earlier, instruction].map(|which| function.format(which).guard);
    let complementary = matches!(
        guards,
        [Guard::If, Guard::IfNot] | [Guard::IfNot, Guard::If]
    );
    let same = complementary
        && kind_of(function, earlier).is_some()
        && function.guard(earlier) == function.guard(instruction)
        && function.results(earlier).len() == kept.len()
        && function
            .results(earlier)
            .zip(kept)
            .all(|(result, kept)| kept.value() == Some(result))
        && equality::same_sources(function, earlier, instruction, |value| value);
    same.then_some(earlier)
}

/// One in so many instructions usually is a candidate.
const USUALLY_ONE_IN: usize = 4;

/// Which instructions are looked at.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Candidates {
    /// Those of which the first pair may be: each value that such an instruction reads has another reader of its kind or is given by a `mov`. Until
    /// a pair is found no other values are known to be equal.
    First,
    /// All that [`LATE_COMMONING_PER_INSTR`] lets through.
    All,
}

/// Finds pairs of instructions that give the same.
struct Search<'function> {
    function: &'function Function,
    look_through_copies: bool,
    /// Instructions that still take part.
    gate: u64,
    looks_at: Candidates,
    /// What each value stands for.
    same_as: Vec<Value>,
    /// Values that hold what needs no instruction to compute.
    immediate: DenseMap<(u64, u64), Value>,
    known: ScopedMap<u64, Instruction>,
    /// For each load in the table, the stamp of the memory it read.
    versions: DenseMap<Instruction, u64>,
    stamps: Versions,
    clock: u64,
    found: Vec<(Instruction, Instruction)>,
}

impl<'function> Search<'function> {
    fn new(
        function: &'function Function,
        look_through_copies: bool,
        gate: u64,
        looks_at: Candidates,
    ) -> Search<'function> {
        Search {
            function,
            look_through_copies,
            gate,
            looks_at,
            same_as: (0..function.values().len())
                .map(Value::from_index)
                .collect(),
            immediate: DenseMap::new(),
            known: ScopedMap::with_capacity(function.instruction_bound() / USUALLY_ONE_IN),
            versions: DenseMap::new(),
            stamps: Versions::default(),
            clock: 0,
            found: Vec::new(),
        }
    }

    fn run(
        mut self,
        flow: &ControlFlow,
        dominators: &Dominators,
    ) -> Vec<(Instruction, Instruction)> {
        enum Walk {
            Enter(Block),
            Leave,
        }
        // For each block, the stamps at its end.
        let mut ends = vec![Versions::default(); self.function.blocks().len()];
        let mut stack = vec![Walk::Enter(self.function.entry())];
        while let Some(walk) = stack.pop() {
            let Walk::Enter(block) = walk else {
                self.known.pop_scope();
                continue;
            };
            self.known.push_scope();
            stack.push(Walk::Leave);
            let parent = dominators.immediate(block);
            let mut predecessors = flow.predecessors(block);
            match (predecessors.next(), predecessors.next()) {
                (Some(only), None) if parent == Some(only) => {
                    self.stamps.clone_from(&ends[only.index()]);
                }
                _ => self.change(SpaceSet::ALL),
            }
            for instruction in self.function.instructions_of(block) {
                self.visit(instruction);
            }
            if self.looks_at == Candidates::First && !self.found.is_empty() {
                break;
            }
            ends[block.index()] = self.stamps.clone();
            stack.extend(dominators.children(block).rev().map(Walk::Enter));
        }
        self.found
    }

    fn change(&mut self, spaces: SpaceSet) {
        if spaces.is_empty() {
            return;
        }
        self.clock += 1;
        self.stamps.change(spaces, self.clock);
    }

    fn visit(&mut self, instruction: Instruction) {
        let function = self.function;
        let format = function.format(instruction);
        if self.looks_at == Candidates::First {
            if function.results(instruction).len() == 0 {
                if !format.is_pure() {
                    self.change(clobbers(format));
                }
                return;
            }
            if self.reads_alone(instruction) {
                return;
            }
        }
        let Some(kind) = kind_of(function, instruction) else {
            if format.mnemonic.opcode() == Opcode::Mov {
                self.copy(instruction);
            }
            self.change(clobbers(format));
            return;
        };
        if self.looks_at == Candidates::All {
            if self.gate == 0 {
                return;
            }
            self.gate -= 1;
        }
        let version = match kind {
            Kind::Pure => 0,
            Kind::Load(spaces) => self.stamps.newest(spaces),
        };
        let same_as = &self.same_as;
        let find = |value: Value| same_as[value.index()];
        let hash = equality::hash(function, instruction, find)
            ^ version.wrapping_mul(0xD6E8_FEB8_6659_FD93);
        if let Some(&early) = self.known.get(&hash) {
            let is_equal = self.versions.get_or(&early, 0) == version
                && equality::same(function, early, instruction, find)
                && function
                    .results(instruction)
                    .zip(function.results(early))
                    .all(|(late, early)| is_acceptable(function, late, early));
            if is_equal {
                self.found.push((early, instruction));
                for (late, early) in function.results(instruction).zip(function.results(early)) {
                    self.same_as[late.index()] = self.same_as[early.index()];
                }
            }
            // Otherwise the first of this hash stays in the table.
            return;
        }
        if kind != Kind::Pure {
            self.versions.insert(instruction, version);
        }
        self.known.insert_if_absent(hash, instruction);
    }

    /// Whether an instruction changes no memory, and is the only reader of its kind of a value that neither is a copy nor holds what needs
    /// no instruction to compute: then no other gives the same.
    fn reads_alone(&self, instruction: Instruction) -> bool {
        let function = self.function;
        let format = function.format(instruction);
        let is_move = |definition: Definition| match definition {
            Definition::Instruction(definer) => {
                function.format(definer).mnemonic.opcode() == Opcode::Mov
            }
            _ => false,
        };
        let may_equal = |user: Use| match user {
            Use::Instruction(reader) => {
                equality::class(function, reader) == equality::class(function, instruction)
            }
            Use::Edge(_) => false,
        };
        !format.is_guarded()
            && format.mnemonic.opcode() != Opcode::Mov
            && (format.is_pure() || clobbers(format).is_empty())
            && function.uses(instruction).any(|value| {
                !is_move(function.values()[value].definition)
                    && equality::is_only_reader(function, value, instruction, may_equal)
            })
    }

    /// Lets the result of a copy stand for what it is a copy of.
    fn copy(&mut self, instruction: Instruction) {
        let function = self.function;
        let format = function.format(instruction);
        if !self.look_through_copies
            || format.is_guarded()
            || format.opaque
            || *format.shape != [ShapeNode::LEAF; 2]
        {
            return;
        }
        let &[Operand::Result(0), source] = function.leaves(instruction) else {
            return;
        };
        let Some(result) = function.results(instruction).next() else {
            return;
        };
        let bits = |value: Value| function.values()[value].scalar_type.bits();
        if let Operand::Value(original) = source {
            if bits(original) == bits(result) {
                self.same_as[result.index()] = self.same_as[original.index()];
            }
            return;
        }
        let number = match source {
            Operand::Constant(constant) => match function.constants()[constant].literal {
                Some(Literal::Integer { bits, .. }) => (0, bits),
                Some(Literal::Single(bits)) => (1, u64::from(bits)),
                Some(Literal::Double(bits)) => (2, bits),
                None => return,
            },
            Operand::Symbol(symbol) => match function.symbols()[symbol].kind {
                SymbolKind::Special(special) if special.is_volatile() => return,
                _ => (3, u64::from(symbol.as_u32())),
            },
            _ => return,
        };
        let format = u64::from(function.instruction(instruction).format.as_u32());
        let key = (format << 2 | number.0, number.1);
        let first = *self.immediate.get_or_insert(key, result);
        if bits(first) == bits(result) {
            self.same_as[result.index()] = first;
        }
    }
}
