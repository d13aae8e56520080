//! What a value is in each lane of a warp: `sum of U_j * D_j(lane)`, with warp-uniform unknowns `U_j` and concrete numbers `D_j`.
//!
//! ## Example
//! In a block of 32x8 threads, for warp 3,
//!
//! ```text
//! mov.u32 %r1, %tid.x;              0, 1, 2, …, 31
//! mov.u32 %r2, %tid.y;              3
//! mad.lo.s32 %r3, %r2, %r9, %r1;    3 * [n] + (0, 1, 2, …, 31)
//! ```
//!
//! ## Soundness
//! Sums, differences, products and left shifts are exact modulo two to the width. What is concrete in all lanes is computed by
//! [`oriole_isa::evaluate`], lane by lane. Bit operations split a value into bits that are known in each lane and bits that are unknown
//! and the same in all lanes. A value is widened bit by bit if the lanes' numbers do not carry into what is unknown, or term by term if
//! its range shows that lanes differ by what they seem to; else that it does not wrap is an assumption, which the pattern names.
//!
//! A parameter of a loop's header is its start plus something uniform if that is so on every back edge, supposing it is so at the
//! header: all such suppositions are checked together, and if one fails, everything is computed again without it. If every round adds the
//! same, though not the same in all lanes, it is its start plus that often as much as the loop has gone round.
//!
//! A value of a loop that lanes leave at different times is not uniform outside of it. That lanes of one warp go through a loop
//! together, as long as they are in it, is how machines execute it.
//!
//! ## Method
//! On demand, one warp at a time, with an explicit stack; each value once. Where all warps are alike but for their numbers, any of them may be
//! asked about first: what is exact then is taken from there for the others (`each_warp.rs`).
//!
//! ## Not done
//! Division of unknowns by other numbers than powers of two, unless lanes are supposed to have one quotient; bit operations on sums of
//! unknowns and numbers of lanes that carry into each other: the value varies in an unknown way.

mod active_lanes;
mod any_warp;
mod bits;
mod cases;
mod data_dependence;
mod each_warp;
mod evaluate;
mod exchange;
mod joins;
mod lanes;
mod monomial;
mod pattern;
mod reconvergence;
mod repetition;
mod steps;
mod widening;

pub use active_lanes::Arriving;
pub use lanes::{LANES, Lanes};
pub use monomial::Monomial;
pub use pattern::{Atom, AtomData, AtomKey, BitView, Pattern, Supposed, Term, Terms};

use crate::control_flow::ControlFlow;
use crate::convergence::Convergence;
use crate::dominators::{Dominators, PostDominators};
use crate::known_bits::{Known, mask};
use crate::launch::LaunchShape;
use crate::loops::Loops;
use crate::manager::Analyses;
use crate::scalar_evolution::Query;
use crate::uniformity::Uniformity;
use each_warp::OfAnyWarp;
use oriole_collections::{BitSet, SmallVec};
use oriole_ir::{
    Block, Definition, Environment, Function, Instruction, Operand, SymbolKind, Value,
};
use oriole_isa::{LaunchLimits, ScalarType, Terminator};
use pattern::Atoms;
use reconvergence::Meetings;
use std::collections::BTreeMap;
use std::rc::Rc;
use steps::Step;

/// How a pattern is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CauseKind {
    /// The instruction that computes the value is not followed.
    Arithmetic,
    /// Lanes come to a block by different edges.
    Join,
    /// A loop changes the value, in each lane in its own way.
    Loop,
    /// Lanes leave a loop at different times.
    LoopExit,
    /// The value is given by a caller or by a function that is called.
    Call,
    /// It depends on data: something loaded, or had from other lanes.
    Data,
}

impl CauseKind {
    /// Its name.
    pub fn text(self) -> &'static str {
        match self {
            CauseKind::Arithmetic => "arithmetic",
            CauseKind::Join => "join",
            CauseKind::Loop => "loop",
            CauseKind::LoopExit => "loop exit",
            CauseKind::Call => "call",
            CauseKind::Data => "data",
        }
    }
}

/// Why a value is in no pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cause {
    /// How it was lost.
    pub kind: CauseKind,
    /// The value that is in no pattern though what it is computed from is.
    pub origin: Option<Value>,
}

impl Cause {
    /// A value is the first that is in no pattern.
    pub fn at(kind: CauseKind, origin: Value) -> Cause {
        Cause {
            kind,
            origin: Some(origin),
        }
    }

    /// Of an address that is not a base and a constant.
    pub fn of_address() -> Cause {
        Cause {
            kind: CauseKind::Arithmetic,
            origin: None,
        }
    }
}

/// What a value is in the lanes of a warp.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// A pattern.
    Known(Rc<Pattern>),
    /// Something else in each lane.
    Varying(Cause),
}

impl Entry {
    /// The pattern.
    pub fn pattern(&self) -> Option<&Rc<Pattern>> {
        match self {
            Entry::Known(pattern) => Some(pattern),
            Entry::Varying(_) => None,
        }
    }
}

/// How a kernel is launched.
#[derive(Clone, Debug)]
pub struct Setting {
    /// The shape of a block.
    pub block: [u32; 3],
    /// What parameters are, by number, where it is known.
    pub arguments: BTreeMap<u32, u64>,
    /// What other parameters of four bytes are supposed to be multiples of: a power of two.
    pub multiple: Option<u64>,
    /// The shape of the grid, if it is known.
    pub grid: Option<[u32; 3]>,
    /// What parameters are multiples of, by number, where that is known: powers of two.
    pub multiples: BTreeMap<u32, u64>,
    /// What parameters that are pointers are multiples of, if that is known: a power of two.
    pub pointer_alignment: Option<u64>,
    /// Whether what threads take for their number along x is that along y, and the other way round.
    pub exchanges_threads: bool,
    /// Whether lanes are supposed to stay together at branches of which it cannot be told, and to have one quotient where they divide
    /// by something that is not known.
    pub supposing: bool,
    /// Whether only costs of accesses are wanted: no tables by stride, and nothing about waste where the cost does not tell.
    pub brief: bool,
    /// Whether nothing is wanted of warps that a condition cuts short.
    pub without_boundary: bool,
    /// The limits of the target.
    pub limits: LaunchLimits,
}

impl Setting {
    /// Blocks of this shape on a target of these limits; nothing else is known.
    pub fn of_block(block: [u32; 3], limits: LaunchLimits) -> Setting {
        Setting {
            block,
            arguments: BTreeMap::new(),
            multiple: None,
            grid: None,
            multiples: BTreeMap::new(),
            pointer_alignment: None,
            exchanges_threads: false,
            supposing: false,
            brief: false,
            without_boundary: false,
            limits,
        }
    }

    /// The shape of the launch.
    pub fn shape(&self) -> LaunchShape {
        let [x, y, z] = self.block;
        LaunchShape {
            block: Some(match self.exchanges_threads {
                true => [y, x, z],
                false => [x, y, z],
            }),
            grid: self.grid,
            ..LaunchShape::within(self.limits)
        }
    }

    /// Threads of a block.
    pub fn threads(&self) -> u32 {
        self.all_threads().min(self.most_threads())
    }

    /// Threads of a block, also of one that no target allows.
    fn all_threads(&self) -> u32 {
        let product = |all: u32, &size: &u32| all.saturating_mul(size);
        self.block.iter().fold(1, product)
    }

    fn most_threads(&self) -> u32 {
        self.limits.threads.min(MOST_THREADS)
    }

    /// Warps of a block.
    pub fn warps(&self) -> u32 {
        self.threads().div_ceil(LANES as u32)
    }

    /// Whether all warps of a block are alike but for numbers of rows: then one question can be asked for all of them.
    pub fn has_like_warps(&self) -> bool {
        let [x, y, z] = self.block.map(|size| size.max(1));
        let lanes = LANES as u32;
        let is_filled = match lanes.checked_div(x).filter(|_| x < lanes) {
            None => x.is_multiple_of(lanes),
            Some(rows) if y >= rows => lanes.is_multiple_of(x) && y.is_multiple_of(rows),
            Some(rows) => {
                let layers = rows.checked_div(y).unwrap_or(1).max(1);
                lanes.is_multiple_of(x) && rows.is_multiple_of(y) && z.is_multiple_of(layers)
            }
        };
        is_filled
            && !self.exchanges_threads
            && self.warps() > 2
            && self.all_threads() <= self.most_threads()
    }

    /// The lanes of a warp that are threads.
    pub fn lanes(&self, warp: u32) -> u32 {
        if warp == ANY_WARP {
            return u32::MAX;
        }
        let left = self.threads().saturating_sub(warp * LANES as u32);
        mask(left.min(LANES as u32)) as u32
    }
}

/// Any warp of a block: its number is not known. Only where [`Setting::has_like_warps`].
pub const ANY_WARP: u32 = u32::MAX;

/// The most threads of a block that are analyzed. Only an unknown target may allow more, and these take too long.
const MOST_THREADS: u32 = 1 << 16;

/// So many suppositions in a row may fail before no more are made.
const MOST_RETRIES: u32 = 8;

/// What values of a function are in the lanes of one warp after the other.
pub struct LanePatterns<'a> {
    function: &'a Function,
    environment: Environment,
    setting: Setting,
    query: Query<'a>,
    flow: Rc<ControlFlow>,
    dominators: Rc<Dominators>,
    post_dominators: Rc<PostDominators>,
    loops: Rc<Loops>,
    uniformity: Rc<Uniformity>,
    /// By loop: the blocks where lanes may leave it at different times.
    leaves_apart: Vec<Vec<Block>>,
    /// Whether there is such a block.
    may_leave_apart: bool,
    /// By loop: whether they do, as far as patterns tell, once that was asked.
    has_left: Vec<Option<bool>>,
    /// Blocks that control enters from behind without being headers of loops.
    irreducible: BitSet<Block>,
    /// Whether lanes meet at instructions that exchange values.
    converges: bool,
    /// Values that differ by lane because of data.
    data_dependent: BitSet<Value>,
    warp: u32,
    atoms: Atoms,
    entries: Vec<Option<Entry>>,
    /// Values of instructions that wait for what they need.
    is_expanded: BitSet<Value>,
    /// Values that are being computed, and what one of them needs: kept for their memory.
    stack: Vec<Value>,
    needed: Vec<Value>,
    /// What is known of values in all threads of all warps, once that was asked.
    known_values: Vec<Option<Known>>,
    /// Values that were given expressions.
    named: BitSet<Value>,
    /// Patterns of constants, as operands of the type that they were last used with.
    constants: Vec<Option<(ScalarType, Rc<Pattern>)>>,
    arriving: Vec<Option<Arriving>>,
    /// Predicates that decided which lanes come to what was asked about.
    conditions: BitSet<Value>,
    /// Where lanes meet or part, once that was asked.
    meetings: Option<Rc<Meetings>>,
    /// Blocks that lanes may come to in parts, once that was asked.
    parted: Option<BitSet<Block>>,
    /// Parameters of headers that were supposed to be their start and something uniform.
    supposed: Vec<Value>,
    /// Those that are not.
    refuted: BitSet<Value>,
    /// Of those, what every round adds to them, if that is known.
    steps: BTreeMap<Value, Step>,
    /// Parameters of headers whose numbers were given for the round that is asked about.
    given: BTreeMap<Value, Lanes>,
    /// A variable whose address is a multiple of a power of two and so much more.
    placed: Option<(oriole_ir::Symbol, u64, u64)>,
    /// Of atoms that are the uniform part of a number that was widened: what they are modulo two to the width before.
    narrow: BTreeMap<Atom, Rc<Pattern>>,
    /// Whether nothing more is supposed.
    pessimistic: bool,
    /// What was taken for granted to show what was supposed.
    shown_by: Vec<Supposed>,
    /// Whether the last questions were answered of all rounds and places, without taking anything for granted of loops.
    is_plain: bool,
    /// What was found for any warp, if that was asked before.
    of_any: Option<Box<OfAnyWarp>>,
}

impl<'a> LanePatterns<'a> {
    /// Of a function that is launched so. The query is for the same block shape.
    pub fn new(
        function: &'a Function,
        analyses: &mut Analyses,
        setting: Setting,
        query: Query<'a>,
    ) -> LanePatterns<'a> {
        let flow = analyses.get::<ControlFlow>(function);
        let loops = analyses.get::<Loops>(function);
        let uniformity = analyses.get::<Uniformity>(function);
        let mut leaves_apart: Vec<Vec<Block>> = vec![Vec::new(); loops.iter().count()];
        for &block in flow.reverse_postorder() {
            if !uniformity.is_divergent_branch(block) {
                continue;
            }
            let mut around = loops.innermost(block);
            while let Some(this) = around {
                let stays = |to: Block| loops.contains(this, to);
                if flow.successors(block).all(stays) && !flow.may_leave(block) {
                    break;
                }
                leaves_apart[this.index()].push(block);
                around = loops.parent(this);
            }
        }
        let mut irreducible = BitSet::with_domain(function.blocks().len());
        for &(_, target) in loops.irreducible_edges() {
            irreducible.insert(target);
        }
        let data_dependent = match setting.supposing {
            true => data_dependence::data_dependent(function, &flow, &uniformity),
            false => BitSet::with_domain(0),
        };
        LanePatterns {
            converges: analyses.get::<Convergence>(function).converges(),
            data_dependent,
            environment: analyses.environment().clone(),
            dominators: analyses.get::<Dominators>(function),
            post_dominators: analyses.get::<PostDominators>(function),
            function,
            setting,
            query,
            flow,
            loops,
            uniformity,
            may_leave_apart: leaves_apart.iter().any(|blocks| !blocks.is_empty()),
            leaves_apart,
            has_left: Vec::new(),
            irreducible,
            warp: 0,
            atoms: Atoms::default(),
            entries: Vec::new(),
            is_expanded: BitSet::with_domain(function.values().len()),
            stack: Vec::new(),
            needed: Vec::new(),
            named: BitSet::with_domain(function.values().len()),
            constants: vec![None; function.constants().len()],
            known_values: vec![None; function.values().len()],
            arriving: Vec::new(),
            conditions: BitSet::with_domain(function.values().len()),
            meetings: None,
            parted: None,
            supposed: Vec::new(),
            refuted: BitSet::with_domain(function.values().len()),
            steps: BTreeMap::new(),
            given: BTreeMap::new(),
            placed: None,
            narrow: BTreeMap::new(),
            pessimistic: false,
            shown_by: Vec::new(),
            is_plain: false,
            of_any: None,
        }
    }

    /// How the kernel is launched.
    pub fn setting(&self) -> &Setting {
        &self.setting
    }

    /// Asks questions about a warp, again until all that was supposed in answering them has been shown.
    pub fn ask<T>(&mut self, warp: u32, mut questions: impl FnMut(&mut Self) -> T) -> T {
        let mut retries = 0;
        if warp != self.warp && self.warp == ANY_WARP {
            // What does not hold for any warp may hold for one.
            self.refuted.clear();
            self.pessimistic = false;
        }
        if warp != self.warp {
            // Steps are those of a warp.
            for parameter in std::mem::take(&mut self.steps).into_keys() {
                self.refuted.remove(parameter);
            }
        }
        loop {
            self.start(warp);
            let answers = questions(self);
            let mut next = 0;
            let mut holds = true;
            while let Some(&parameter) = self.supposed.get(next) {
                next += 1;
                if !self.is_shown(parameter) {
                    self.refute(parameter);
                    holds = false;
                }
            }
            if holds {
                self.is_plain = self.is_answered_plainly();
                return answers;
            }
            retries += 1;
            self.pessimistic |= retries > MOST_RETRIES;
        }
    }

    fn start(&mut self, warp: u32) {
        match warp {
            ANY_WARP => self.of_any = None,
            _ => self.keep_any_warp(),
        }
        self.forget_translated();
        self.is_plain = false;
        self.warp = warp;
        self.atoms.clear();
        self.entries.clear();
        self.entries.resize(self.function.values().len(), None);
        self.arriving.clear();
        self.arriving.resize(self.function.blocks().len(), None);
        self.parted = None;
        self.conditions.clear();
        self.has_left.clear();
        self.has_left.resize(self.leaves_apart.len(), None);
        self.supposed.clear();
        self.narrow.clear();
        self.shown_by.clear();
    }

    /// Answers all that follows for the round of loops in which parameters of their headers are these numbers.
    pub fn give(&mut self, numbers: BTreeMap<Value, Lanes>) {
        self.given = numbers;
    }

    /// Answers all that follows for the case that the address of a variable is a multiple of `period`, a power of two, and `residue` more.
    pub fn place(&mut self, variable: oriole_ir::Symbol, period: u64, residue: u64) {
        self.placed = Some((variable, period, residue));
        self.of_any = None;
        // What did not hold in another case may hold in this one.
        self.refuted.clear();
        self.steps.clear();
        self.pessimistic = false;
    }

    /// What was taken for granted of loops to answer the questions of the last warp.
    pub fn assumed_of_loops(&self) -> &[Supposed] {
        &self.shown_by
    }

    /// Whether what is asked about is no warp in particular.
    pub fn is_any_warp(&self) -> bool {
        self.warp == ANY_WARP
    }

    /// The lanes of the warp that are threads.
    pub fn lanes(&self) -> u32 {
        self.setting.lanes(self.warp)
    }

    /// The parameter of the kernel, and the offset in it, that an atom is, if it is as wide as an address.
    pub fn pointer(&self, atom: Atom) -> Option<(oriole_ir::Symbol, u32)> {
        match self.atoms.get(atom).key {
            AtomKey::Parameter(symbol, offset, 64) => Some((symbol, offset)),
            _ => None,
        }
    }

    /// The address of a variable.
    pub fn variable(&mut self, symbol: oriole_ir::Symbol) -> Entry {
        match self.address_of(symbol, 64) {
            Some(pattern) => Entry::Known(Rc::new(pattern)),
            None => Entry::Varying(Cause::of_address()),
        }
    }

    /// The header of a loop.
    pub fn header(&self, this: crate::loops::Loop) -> Block {
        self.loops.header(this)
    }

    /// What is known of an atom.
    pub fn known(&self, atom: Atom) -> Known {
        self.atoms.get(atom).known
    }

    /// The parameter of the kernel, by number, that an atom is.
    pub fn parameter_of(&self, atom: Atom) -> Option<u32> {
        self.atoms.get(atom).parameter
    }

    /// What an atom stands for.
    pub fn atom_key(&self, atom: Atom) -> AtomKey {
        self.atoms.get(atom).key
    }

    /// The number of a kernel's parameter, if a symbol stands for one.
    pub fn parameter_number(&self, symbol: oriole_ir::Symbol) -> Option<u32> {
        let SymbolKind::Parameter(variable) = self.function.symbols()[symbol].kind else {
            return None;
        };
        let kind = oriole_ir::VariableKind::Parameter;
        let variables = self.function.variables().iter();
        let mut parameters = variables.filter(|(_, data)| data.kind == kind);
        let place = parameters.position(|(own, _)| own == variable)?;
        u32::try_from(place).ok()
    }

    /// What a value is where a block uses it.
    pub fn entry(&mut self, value: Value, block: Block) -> Entry {
        self.compute(value);
        self.seen_from(value, block)
    }

    /// The entry of a value that was computed, where a block uses it: outside of a loop that lanes leave at different times, its values
    /// are not uniform.
    fn seen_from(&self, value: Value, block: Block) -> Entry {
        let entry = self.entries[value.index()].clone();
        let unknown = Cause::at(CauseKind::Arithmetic, value);
        let entry = entry.unwrap_or(Entry::Varying(unknown));
        let Entry::Known(pattern) = &entry else {
            return entry;
        };
        if !self.may_leave_apart {
            return entry;
        }
        let atoms = pattern.terms.iter().flat_map(|term| &term.monomial);
        let mut more: SmallVec<[Supposed; 2]> = SmallVec::new();
        for &atom in atoms {
            let home = self.atoms.get(atom).home;
            let mut around = home.and_then(|home| self.loops.innermost(home));
            while let Some(this) = around.filter(|&this| !self.loops.contains(this, block)) {
                for &exit in &self.leaves_apart[this.index()] {
                    if !self.may_suppose_together(exit) {
                        return Entry::Varying(self.apart_at(exit, CauseKind::LoopExit, value));
                    }
                    more.push(Supposed::Together(exit));
                }
                around = self.loops.parent(this);
            }
        }
        match more.is_empty() {
            true => entry,
            false => Entry::Known(Rc::new(pattern.as_ref().clone().assuming(&more))),
        }
    }

    /// Whether it may be supposed that lanes leave a block the same way: its condition is no matter of data.
    fn may_suppose_together(&self, block: Block) -> bool {
        let Some(last) = self.function.last_instruction(block) else {
            return false;
        };
        let is_data = |value: Value| self.data_dependent.contains(value);
        self.setting.supposing
            && self.function.format(last).effects.terminator != Terminator::IndirectBranch
            && matches!(self.function.guard(last), Some(Operand::Value(guard)) if !is_data(guard))
    }

    /// Why a value is lost where lanes leave a block in different ways.
    fn apart_at(&self, block: Block, kind: CauseKind, value: Value) -> Cause {
        let last = self.function.last_instruction(block);
        let guard = last.and_then(|last| self.function.guard(last));
        match guard {
            Some(Operand::Value(guard)) if self.data_dependent.contains(guard) => {
                Cause::at(CauseKind::Data, guard)
            }
            _ => Cause::at(kind, value),
        }
    }

    /// Computes a value and what it needs.
    fn compute(&mut self, value: Value) {
        if self.entries[value.index()].is_some() {
            return;
        }
        // Nothing is computed on the way that is not on this stack.
        let mut stack = std::mem::take(&mut self.stack);
        let mut needs = std::mem::take(&mut self.needed);
        stack.push(value);
        while let Some(&top) = stack.last() {
            if self.entries[top.index()].is_some() {
                stack.pop();
                continue;
            }
            if let Some(entry) = self.by_any_warp(top) {
                self.entries[top.index()] = Some(entry);
                stack.pop();
                continue;
            }
            needs.clear();
            // What an instruction needs is there when it is come back to; what a join does depends on conditions that are known by then.
            if !self.is_expanded.remove(top) {
                self.needs(top, &mut needs);
                needs.retain(|each| self.entries[each.index()].is_none());
            }
            if needs.is_empty() {
                let entry = self.result(top);
                self.entries[top.index()] = Some(entry);
                stack.pop();
                continue;
            }
            let definition = self.function.values()[top].definition;
            if matches!(definition, Definition::Instruction(_)) {
                self.is_expanded.insert(top);
            }
            stack.append(&mut needs);
        }
        (self.stack, self.needed) = (stack, needs);
    }

    /// The values that a value is computed from.
    fn needs(&self, value: Value, needs: &mut Vec<Value>) {
        match self.function.values()[value].definition {
            Definition::Instruction(instruction) => {
                if self.is_evaluated(instruction) || self.is_exchange(instruction) {
                    needs.extend(self.function.uses(instruction));
                }
            }
            Definition::Parameter(block) => self.join_needs(value, block, needs),
            Definition::Undefined => {}
        }
    }

    fn result(&mut self, value: Value) -> Entry {
        if self.function.values()[value].scalar_type.bits() > 64 {
            return Entry::Varying(Cause::at(CauseKind::Arithmetic, value));
        }
        match self.function.values()[value].definition {
            Definition::Instruction(instruction) => self.instruction(value, instruction),
            Definition::Parameter(block) => self.join(value, block),
            Definition::Undefined => Entry::Varying(Cause::at(CauseKind::Arithmetic, value)),
        }
    }

    /// A value that is uniform and otherwise unknown.
    fn uniform(&mut self, value: Value) -> Pattern {
        let bits = self.function.values()[value].scalar_type.bits();
        let known = self.known_of(value);
        let atom = self.atoms.intern(AtomData {
            key: AtomKey::Value(value),
            known,
            home: self.function.defining_block(value),
            parameter: None,
        });
        Pattern::atom(atom, bits)
    }

    /// What is known of a value in all threads.
    fn known_of(&mut self, value: Value) -> Known {
        if let Some(known) = self.known_values[value.index()] {
            return known;
        }
        let known = self.range_known(value);
        self.known_values[value.index()] = Some(known);
        known
    }

    /// Gives the value an expression, so that these are numbered in the order in which values come: that is the order in which sums of
    /// them are printed. Nothing is printed where only costs are wanted.
    fn name(&mut self, value: Value) {
        if self.setting.brief {
            return;
        }
        let data = self.function.values()[value];
        let is_integer = matches!(data.scalar_type.bits(), 8..=64) && !data.scalar_type.is_float();
        if is_integer && self.named.insert(value) {
            self.query.expression(value);
        }
    }

    fn range_known(&mut self, value: Value) -> Known {
        let data = self.function.values()[value];
        let bits = data.scalar_type.bits();
        let is_integer = matches!(bits, 8..=64) && !data.scalar_type.is_float();
        let range = is_integer.then(|| self.query.value_range(value)).flatten();
        range.map_or(Known::unknown(bits), |range| range.unsigned.known)
    }

    /// Something uniform that a value is made of.
    fn part(&mut self, value: Value, slot: u32, known: Known, bits: u32) -> Pattern {
        self.part_of(value, slot, known, bits, None)
    }

    /// Likewise, if it is a parameter of the kernel, too.
    fn part_of(
        &mut self,
        value: Value,
        slot: u32,
        known: Known,
        bits: u32,
        parameter: Option<u32>,
    ) -> Pattern {
        let atom = self.atoms.intern(AtomData {
            key: AtomKey::Part(value, slot),
            known: known.truncate(bits),
            home: self.function.defining_block(value),
            parameter,
        });
        Pattern::atom(atom, bits)
    }

    /// The block of an instruction that is in one.
    fn block(&self, instruction: Instruction) -> Block {
        let block = self.function.block_of(instruction);
        block.unwrap_or_else(|| self.function.entry())
    }
}
