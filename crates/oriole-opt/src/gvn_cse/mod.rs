//! Computes each value once: instructions that must give what an earlier, dominating one gave are replaced by it.
//!
//! ## Example
//! ```text
//! mad.lo.s32 %r5, %r2, %r3, %r4;
//! mad.lo.s32 %r6, %r3, %r2, %r4;        →        (gone; readers of %r6 read %r5)
//! ```
//!
//! ## Soundness
//! Two instructions give the same results if they have the same format (mnemonic, guard, operand shape), operands with the
//! same numbers, constants by value and not by spelling, and read memory of the same version, see [`oriole_analysis::memory`]. A guarded
//! instruction has its guard and the values it keeps among its operands. Plain loads of registers as wide as memory count
//! as equal however they are spelled, and give what a plain store to the same place wrote; so does each component of a vector,
//! and a byte or half of a word is taken out of the word ([`parts`]). State spaces are part of the
//! mnemonic. Volatile and carry-flag instructions, atomics and everything that touches a pinned register stay. `.ftz` and
//! rounding are part of the mnemonic; operands are exchanged where that cannot change a bit of the result ([`exchange`]), and
//! comparisons are the same whichever way round they are written. One that is true exactly when an earlier one is not becomes
//! its negation, if it is read by guards and choices only, which need neither then. Sums and products that ptxas may
//! fuse stay, see [`crate::fusion`]. A per-thread value may be reused
//! wherever its definition dominates, whether threads diverge or not. The register kept must be one the readers accept.
//!
//! Warp-synchronous operations are different: what they give depends on what the other lanes of the mask send, wherever in the
//! program these are. Those that name the threads in a mask (`shfl.sync`, `vote.sync`, `match.sync`, `redux.sync`) are commoned
//! with an equal one, mask included, of the same block, where all lanes are known to execute every such operation of the
//! function together ([`Convergence`]). Those that do not name them, such as `activemask`, are never commoned.
//!
//! ## Method
//! Hash-consing gives every value a number in one walk in reverse postorder, which lists the instructions that have an equal. They are
//! visited in that order, and those that an equal instruction dominates are replaced. The last answer to a question about dominance is kept, as neighbours ask the same one. Linear.
//!
//! A value is not kept alive from one block to another where that takes more registers and computing it again is cheap, see
//! [`crate::pressure_guard`]; what follows in the same block reads the one that was computed again.
//!
//! ## Modes
//! `EnableGvnCseMode` says how far to look: 0 nowhere; 1 within a block; 2 along the dominator tree or, with
//! `GvnCseExtendedBlocks`, within an extended basic block, after a pre-pass that finds candidates; 3 with block parameters that
//! bring one value on every way; 4 with loads across blocks; 5 with convergent operations within
//! a block; 6 with what is known on one of two ways only, see [`partial`].
//!
//! ## Not done
//! Values equal for algebraic reasons. Moves of constants stay: they cost nothing to repeat, and each puts a value into the
//! register where it is needed.

pub(crate) mod exchange;
mod extended_blocks;
mod numbering;
mod partial;
mod parts;

use crate::copy_propagation::{has_plain_move, is_acceptable};
use crate::fusion::may_fuse;
use crate::knobs::{Number, Switch};
use crate::manager::{Action, Context, Pass, Trigger};
use crate::pressure_guard::{self, PressureGuard};
use crate::remark::Rewrite;
use exchange::takes_complement;
use extended_blocks::ExtendedBlocks;
use numbering::{Class, Complement, Convergent, Member, Numbering, Part};
use oriole_analysis::memory::{LocalVariables, MemoryVersions, Parts};
use oriole_analysis::{Analyses, ControlFlow, Convergence, Dominators, Loops};
use oriole_collections::{DenseMap, DenseSet, SmallVec};
use oriole_ir::{Block, Editor, Environment, Function, Instruction, Operand, Use, Value};
use oriole_isa::cost::CostModel;
use oriole_isa::{Opcode, ScalarType, build};

/// The pass.
pub(crate) const PASS: Pass = Pass {
    name: "gvn-cse",
    summary: "Replace instructions that compute what a dominating one has computed",
    action: Action::Once(run, Trigger::Changes),
};

// Settings.
const ENABLE_GVN_CSE: Switch = Switch::named("EnableGvnCse");
const ENABLE_GVN_CSE_MODE: Number = Number::named("EnableGvnCseMode");
const GVN_CSE_EXTENDED_BLOCKS: Switch = Switch::named("GvnCseExtendedBlocks");
const SPLIT_CRITICAL_EDGES: Switch = Switch::named("SplitCriticalEdges");
const ENABLE_GVN_CSE_PER_INSTR: Number = Number::named("EnableGvnCsePerInstr");

/// How far to look.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Mode {
    Block = 1,
    Dominators,
    Function,
    Memory,
    Convergent,
    Widest,
}

impl Mode {
    fn from_knob(number: u64) -> Option<Mode> {
        Some(match number {
            1 => Mode::Block,
            2 => Mode::Dominators,
            3 => Mode::Function,
            4 => Mode::Memory,
            5 => Mode::Convergent,
            6 => Mode::Widest,
            _ => return None,
        })
    }
}

/// Equal instructions, none of which dominates the others, that a later one is compared with.
const MOST_LEADERS: usize = 8;

fn run(editor: &mut Editor<'_>, analyses: &mut Analyses, context: &mut Context<'_>) {
    if !context.knobs.switch(ENABLE_GVN_CSE) {
        return;
    }
    let Some(mode) = Mode::from_knob(context.knobs.number(ENABLE_GVN_CSE_MODE)) else {
        return;
    };
    let function = editor.function();
    let flow = analyses.get::<ControlFlow>(function);
    let loops = analyses.get::<Loops>(function);
    let stays = context.knobs.switch(GVN_CSE_EXTENDED_BLOCKS);
    let extended = (mode == Mode::Dominators && stays).then(|| ExtendedBlocks::of(function, &flow));
    let cells = analyses.get::<LocalVariables>(function);
    let parts = Parts::of(function, context.environment, &cells);
    let gate = context.knobs.number(ENABLE_GVN_CSE_PER_INSTR);
    let number = |convergent| number(function, &flow, &loops, &parts, mode, convergent, gate);
    let mut numbering = match mode >= Mode::Convergent {
        true => number(Convergent::InOneBlock),
        false => number(Convergent::Never),
    };
    if shares_warp_operations(function, &numbering)
        && !analyses.get::<Convergence>(function).converges()
    {
        numbering = number(Convergent::Never);
    }
    if numbering.shared.is_empty() && numbering.complements.is_empty() && numbering.parts.is_empty()
    {
        return;
    }
    let dominators = analyses.get::<Dominators>(function);
    let guard = match may_refuse(function, &numbering, &dominators, context.environment) {
        true => {
            let candidates = far_members(&numbering).map(|(_, member)| member.instruction);
            PressureGuard::of(function, analyses, context.environment, candidates)
        }
        false => None,
    };
    let mut elimination = Elimination {
        dominators: &dominators,
        extended: extended.as_ref(),
        partial: (mode == Mode::Widest).then_some(&*flow),
        leaders: DenseMap::new(),
        last_question: None,
        joined: DenseMap::new(),
        may_split: context.knobs.switch(SPLIT_CRITICAL_EDGES),
        split: DenseSet::new(),
        guard,
    };
    // First, while everything stands where it was numbered.
    for complement in &numbering.complements {
        if !elimination.negate(editor, &numbering, complement, context) {
            return;
        }
    }
    for part in &numbering.parts {
        if !elimination.take_part(editor, &numbering, part, context) {
            return;
        }
    }
    let function = editor.function();
    let mut members = std::mem::take(&mut numbering.shared);
    members.retain(|&(class, member)| {
        let first = numbering.first(class).instruction;
        !may_fuse(function, member.instruction)
            && !may_fuse(function, first)
            && extended
                .as_ref()
                .is_none_or(|extended| extended.is_marked(member.instruction))
    });
    for (class, member) in members {
        if !elimination.eliminate(editor, &numbering, class, member, context) {
            return;
        }
    }
}

/// Numbers all values. Of the instructions only the first, as many as `gate` lets through, take part.
fn number(
    function: &Function,
    flow: &ControlFlow,
    loops: &Loops,
    parts: &Parts<'_>,
    mode: Mode,
    convergent: Convergent,
    gate: u64,
) -> Numbering {
    let mut seen = 0;
    let mut numbering = Numbering::new(function, mode > Mode::Block && gate == u64::MAX);
    let mut memory = MemoryVersions::new(function, flow, loops, parts, mode >= Mode::Memory);
    for &block in flow.reverse_postorder() {
        if mode == Mode::Block {
            numbering.forget();
        }
        memory.enter(block);
        if mode >= Mode::Function {
            for (position, &parameter) in function.blocks()[block].parameters.iter().enumerate() {
                let arguments = flow.predecessors(block).flat_map(|from| {
                    function.blocks()[from]
                        .edges
                        .iter()
                        .filter(|edge| edge.target == block)
                        .map(|edge| function.arguments(*edge)[position])
                });
                numbering.parameter(parameter, arguments);
            }
        }
        for instruction in function.instructions_of(block) {
            if seen < gate {
                numbering.visit(function, &mut memory, block, instruction, convergent);
            } else {
                numbering.pass(function, &mut memory, instruction);
            }
            seen += 1;
        }
        memory.leave(block);
    }
    numbering
}

/// Instructions with an equal or opposite one in another block, and the class of that.
fn far_members(numbering: &Numbering) -> impl Iterator<Item = (Class, Member)> {
    let complements = numbering.complements.iter();
    let complements = complements.map(|found| (found.of, found.member));
    let members = numbering.shared.iter().copied().chain(complements);
    members.filter(|&(class, member)| numbering.is_far(class, member))
}

/// Whether there is an instruction that a guard may be asked about and may refuse: one that is cheap and has an equal in another block
/// that dominates its own, or may have once code was moved.
fn may_refuse(
    function: &Function,
    numbering: &Numbering,
    dominators: &Dominators,
    environment: &Environment,
) -> bool {
    let model = CostModel::of(environment.target());
    // Classes with an instruction that the first of the class does not dominate: it may dominate those that follow, and code may be
    // moved for it.
    let mut scattered: DenseSet<Class> = DenseSet::new();
    far_members(numbering).any(|(class, member)| {
        let is_dominated = dominators.dominates(numbering.first(class).block, member.block);
        let may_be_asked_about = is_dominated || scattered.contains(&class);
        if !is_dominated {
            scattered.insert(class);
        }
        may_be_asked_about && pressure_guard::may_refuse(&model, function, member.instruction)
    })
}

/// Whether equal operations were found that are equal only if all lanes execute them together.
fn shares_warp_operations(function: &Function, numbering: &Numbering) -> bool {
    let mut shared = numbering.shared.iter();
    shared.any(|(_, member)| function.format(member.instruction).effects.convergent)
}

struct Elimination<'run> {
    dominators: &'run Dominators,
    /// The regions to stay within, if any.
    extended: Option<&'run ExtendedBlocks>,
    /// The control flow, if what is known on one way only counts too.
    partial: Option<&'run ControlFlow>,
    /// Instructions of each class that are left.
    leaders: DenseMap<Class, SmallVec<[Member; 2]>>,
    /// The last question about dominance, and its answer.
    last_question: Option<(Block, Block, bool)>,
    /// Parameters that were made for a class, and their blocks.
    joined: DenseMap<Class, (Block, Value)>,
    /// Whether blocks may be put on edges.
    may_split: bool,
    /// Blocks with a new block before them: the control flow no longer says who leads to them.
    split: DenseSet<Block>,
    /// What says whether values may live on into other blocks, if anything does.
    guard: Option<PressureGuard>,
}

impl Elimination<'_> {
    /// Replaces an instruction by an equal one that dominates it, if there is one. Whether to go on.
    fn eliminate(
        &mut self,
        editor: &mut Editor<'_>,
        numbering: &Numbering,
        class: Class,
        mut member: Member,
        context: &mut Context<'_>,
    ) -> bool {
        let mut leaders = self
            .leaders
            .remove(&class)
            .unwrap_or_else(|| SmallVec::from_slice(&[numbering.first(class)]));
        // What was moved up may be known on one of the ways there in turn.
        let goes_on = loop {
            match self.step(editor, class, member, &mut leaders, context) {
                Step::Moved(leader) => member = leader,
                Step::Done => break true,
                Step::OutOfFuel => break false,
            }
        };
        self.leaders.insert(class, leaders);
        goes_on
    }

    /// What becomes of an instruction, given those of its class that are left before it.
    fn step(
        &mut self,
        editor: &mut Editor<'_>,
        class: Class,
        member: Member,
        leaders: &mut SmallVec<[Member; 2]>,
        context: &mut Context<'_>,
    ) -> Step {
        let leader = leaders
            .iter()
            .rev()
            .copied()
            .find(|leader| self.dominates(leader.block, member.block));
        if leader.is_none()
            && let Some(&(block, parameter)) = self.joined.get(&class)
            && self.dominates(block, member.block)
        {
            return self.read_parameter(editor, member, parameter, context);
        }
        let function = editor.function();
        let is_refused = match (leader, &mut self.guard) {
            (Some(leader), Some(guard)) if leader.block != member.block => !guard.allows(
                function,
                leader.instruction,
                member.instruction,
                context.statistics,
            ),
            _ => false,
        };
        let rewrite = |counter, why, equal: Member| Rewrite {
            counter,
            instruction: member.instruction,
            why,
            equal: Some(equal.instruction),
        };
        match leader {
            Some(leader) if !is_refused && fits(function, member.instruction, leader) => {
                let why = "the value is known already";
                if !context.allows(function, rewrite("gvn-cse.instructions", why, leader)) {
                    return Step::OutOfFuel;
                }
                self.replace(editor, member.instruction, leader);
                Step::Done
            }
            None if let Some((leader, last)) = self.hoistable(function, member, leaders) => {
                let why = "the value is known on one way here and needed on both";
                if !context.allows(function, rewrite("gvn-cse.hoisted", why, leader)) {
                    return Step::OutOfFuel;
                }
                editor.move_before(leader.instruction, last);
                leaders.retain(|it| it.instruction != leader.instruction);
                self.replace(editor, member.instruction, leader);
                Step::Moved(leader)
            }
            None if let Some(plan) = self.plan(editor, member, leaders) => {
                let why = "the value is known on one of the two ways here";
                if !context.allows(function, rewrite("gvn-cse.partial", why, leaders[0])) {
                    return Step::OutOfFuel;
                }
                if plan.splits {
                    self.split.insert(member.block);
                }
                let parameter = partial::apply(editor, &plan, member);
                self.joined.insert(class, (member.block, parameter));
                Step::Done
            }
            _ => {
                if leaders.len() < MOST_LEADERS {
                    leaders.push(member);
                }
                Step::Done
            }
        }
    }

    /// An equal instruction in a block that a branch goes round, behind which an instruction stands: as it will be before the
    /// branch, and what ends the block there.
    fn hoistable(
        &self,
        function: &Function,
        member: Member,
        leaders: &[Member],
    ) -> Option<(Member, Instruction)> {
        let flow = self.partial?;
        if self.split.contains(&member.block) {
            return None;
        }
        let (leader, branch) = partial::hoistable(function, flow, member, leaders)?;
        let last = function.last_instruction(branch)?;
        let is_usable = fits(function, member.instruction, leader)
            && function.format(last).is_terminator()
            && !self.split.contains(&leader.block);
        let moved = Member {
            block: branch,
            ..leader
        };
        is_usable.then_some((moved, last))
    }

    /// Whether an instruction stays, if it is one of a class: the first of the class does not dominate it.
    fn stays(&mut self, numbering: &Numbering, class: Class, member: Member) -> bool {
        let first = numbering.first(class);
        first.instruction == member.instruction || !self.dominates(first.block, member.block)
    }

    /// Makes a comparison the negation of its complement, if that dominates it and all its readers can do without either.
    /// Whether to go on.
    fn negate(
        &mut self,
        editor: &mut Editor<'_>,
        numbering: &Numbering,
        found: &Complement,
        context: &mut Context<'_>,
    ) -> bool {
        let (complement, member) = (numbering.first(found.of), found.member);
        if !self.stays(numbering, found.class, member)
            || !self.dominates(complement.block, member.block)
        {
            return true;
        }
        let function = editor.function();
        let results = [complement, member].map(|it| function.results(it.instruction).next());
        let [Some(known), Some(predicate)] = results else {
            return true;
        };
        if function.use_count(known) == 0 || !takes_complement(function, predicate) {
            return true;
        }
        if complement.block != member.block
            && let Some(guard) = &mut self.guard
            && !guard.allows(
                function,
                complement.instruction,
                member.instruction,
                context.statistics,
            )
        {
            return true;
        }
        let rewrite = Rewrite {
            counter: "gvn-cse.complements",
            instruction: member.instruction,
            why: "the opposite is known already",
            equal: Some(complement.instruction),
        };
        if !context.allows(function, rewrite) {
            return false;
        }
        let operands = [Operand::Result(0), Operand::Value(known)];
        let format = editor.plain_format(&build::typed(Opcode::Not, ScalarType::Pred), 2);
        editor.rewrite(member.instruction, format, &operands);
        true
    }

    /// Takes what a load reads out of a word that is known. Whether to go on.
    fn take_part(
        &mut self,
        editor: &mut Editor<'_>,
        numbering: &Numbering,
        part: &Part,
        context: &mut Context<'_>,
    ) -> bool {
        let (whole, member, shift) = (numbering.first(part.whole), part.member, part.shift);
        if !self.stays(numbering, part.class, member) || !self.dominates(whole.block, member.block)
        {
            return true;
        }
        let function = editor.function();
        let &[word] = &whole.contents(function)[..] else {
            return true;
        };
        let Some(extraction) = parts::plan(function, member.instruction, word, shift) else {
            return true;
        };
        let rewrite = Rewrite {
            counter: "gvn-cse.parts",
            instruction: member.instruction,
            why: "what it reads is part of what is known",
            equal: Some(whole.instruction),
        };
        if !context.allows(function, rewrite) {
            return false;
        }
        extraction.apply(editor, member.instruction);
        true
    }

    /// Lets an instruction's readers read what an equal one gave. Block arguments and values kept by guarded instructions must
    /// be of exactly their type: for them a `mov` stands in its place.
    fn replace(&self, editor: &mut Editor<'_>, late: Instruction, early: Member) {
        let function = editor.function();
        let results: SmallVec<[Value; 4]> = function.results(late).collect();
        let values = early.contents(function);
        if let ([result], [value]) = (&results[..], &values[..])
            && let data = function.values()
            && data[*result].scalar_type != data[*value].scalar_type
            && has_plain_move(data[*result].scalar_type)
            && keeps_type(function, *result)
        {
            let operands = [Operand::Result(0), Operand::Value(*value)];
            let mnemonic = build::copy(data[*result].scalar_type);
            let format = editor.plain_format(&mnemonic, 2);
            editor.rewrite(late, format, &operands);
            return;
        }
        for (late, early) in results.into_iter().zip(values) {
            editor.replace_value(late, early);
        }
        editor.remove_instruction(late);
    }

    /// Replaces an instruction by a parameter made for its class.
    fn read_parameter(
        &mut self,
        editor: &mut Editor<'_>,
        member: Member,
        parameter: Value,
        context: &mut Context<'_>,
    ) -> Step {
        let function = editor.function();
        let Some(result) = function.results(member.instruction).next() else {
            return Step::Done;
        };
        if !is_acceptable(function, result, parameter) {
            return Step::Done;
        }
        let rewrite = Rewrite {
            counter: "gvn-cse.instructions",
            instruction: member.instruction,
            why: "the value is known already",
            equal: None,
        };
        if !context.allows(function, rewrite) {
            return Step::OutOfFuel;
        }
        editor.replace_value(result, parameter);
        editor.remove_instruction(member.instruction);
        Step::Done
    }

    fn plan(
        &self,
        editor: &Editor<'_>,
        member: Member,
        leaders: &[Member],
    ) -> Option<partial::Plan> {
        if self.split.contains(&member.block) {
            return None;
        }
        partial::plan(
            editor,
            self.partial?,
            self.dominators,
            member,
            leaders,
            self.may_split,
        )
    }

    fn dominates(&mut self, one: Block, other: Block) -> bool {
        if let Some((last_one, last_other, answer)) = self.last_question
            && (last_one, last_other) == (one, other)
        {
            return answer;
        }
        let answer = self.dominators.dominates(one, other)
            && self
                .extended
                .is_none_or(|extended| extended.are_together(one, other));
        self.last_question = Some((one, other, answer));
        answer
    }
}

/// What became of an instruction.
enum Step {
    /// It is gone, or stays.
    Done,
    /// It is gone, and the one that stands for it was moved up.
    Moved(Member),
    OutOfFuel,
}

/// Whether someone reads a value as a block argument, or to keep it where a guard is false.
fn keeps_type(function: &Function, value: Value) -> bool {
    function.uses_of(value).any(|reader| match reader {
        Use::Edge(_) => true,
        Use::Instruction(reader) => function.otherwise(reader).contains(&Operand::Value(value)),
    })
}

/// Whether readers of the late results accept the early ones.
fn fits(function: &Function, late: Instruction, early: Member) -> bool {
    let early = early.contents(function);
    let late = function.results(late);
    late.len() == early.len()
        && late
            .zip(early)
            .all(|(late, early)| is_acceptable(function, late, early))
}
