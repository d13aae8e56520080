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
//! header: all such suppositions are checked together, and if one fails, everything is computed again without it.
//!
//! A value of a loop that lanes leave at different times is not uniform outside of it. That lanes of one warp go through a loop
//! together, as long as they are in it, is how machines execute it.
//!
//! ## Method
//! On demand, one warp at a time, with an explicit stack; each value once.
//!
//! ## Not done
//! `shfl`, packing moves, division of unknowns by other numbers than powers of two, and loops whose step differs by lane: the value
//! varies in an unknown way.

mod active_lanes;
mod evaluate;
mod joins;
mod pattern;
mod reconvergence;

pub use active_lanes::Arriving;
pub use pattern::{
    Atom, AtomData, AtomKey, BitView, LANES, Lanes, Monomial, Pattern, Supposed, Term,
};

use crate::control_flow::ControlFlow;
use crate::dominators::{Dominators, PostDominators};
use crate::known_bits::{Known, mask};
use crate::loops::Loops;
use crate::manager::Analyses;
use crate::scalar_evolution::Query;
use crate::uniformity::Uniformity;
use oriole_collections::BitSet;
use oriole_ir::{Block, Definition, Environment, Function, Instruction, SymbolKind, Value};
use pattern::Atoms;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Why a value is in no pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// It cannot be told.
    Other,
    /// It depends on data: something loaded, or had from other lanes.
    Data,
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
}

impl Setting {
    /// Threads of a block.
    pub fn threads(&self) -> u32 {
        let product = |all: u32, &size: &u32| all.saturating_mul(size);
        self.block.iter().fold(1, product).min(MOST_THREADS)
    }

    /// Warps of a block.
    pub fn warps(&self) -> u32 {
        self.threads().div_ceil(LANES as u32)
    }

    /// The lanes of a warp that are threads.
    pub fn lanes(&self, warp: u32) -> u32 {
        let left = self.threads().saturating_sub(warp * LANES as u32);
        mask(left.min(LANES as u32)) as u32
    }
}

/// The most threads that a block can have.
const MOST_THREADS: u32 = 1024;

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
    /// By loop: whether they do, as far as patterns tell, once that was asked.
    has_left: Vec<Option<bool>>,
    /// Blocks that control enters from behind without being headers of loops.
    irreducible: BitSet<Block>,
    warp: u32,
    atoms: Atoms,
    entries: Vec<Option<Entry>>,
    arriving: Vec<Option<Arriving>>,
    /// Instructions that lanes may come to in parts, once that was asked.
    parted: Option<BitSet<Instruction>>,
    /// Parameters of headers that were supposed to be their start and something uniform.
    supposed: Vec<Value>,
    /// Those that are not.
    refuted: BitSet<Value>,
    /// Whether nothing more is supposed.
    pessimistic: bool,
    /// What was taken for granted to show what was supposed.
    shown_by: Vec<Supposed>,
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
        LanePatterns {
            environment: analyses.environment().clone(),
            dominators: analyses.get::<Dominators>(function),
            post_dominators: analyses.get::<PostDominators>(function),
            function,
            setting,
            query,
            flow,
            loops,
            uniformity,
            leaves_apart,
            has_left: Vec::new(),
            irreducible,
            warp: 0,
            atoms: Atoms::default(),
            entries: Vec::new(),
            arriving: Vec::new(),
            parted: None,
            supposed: Vec::new(),
            refuted: BitSet::with_domain(function.values().len()),
            pessimistic: false,
            shown_by: Vec::new(),
        }
    }

    /// How the kernel is launched.
    pub fn setting(&self) -> &Setting {
        &self.setting
    }

    /// Asks questions about a warp, again until all that was supposed in answering them has been shown.
    pub fn ask<T>(&mut self, warp: u32, mut questions: impl FnMut(&mut Self) -> T) -> T {
        let mut retries = 0;
        loop {
            self.start(warp);
            let answers = questions(self);
            let mut next = 0;
            let mut holds = true;
            while let Some(&parameter) = self.supposed.get(next) {
                next += 1;
                if !self.is_shown(parameter) {
                    self.refuted.insert(parameter);
                    holds = false;
                }
            }
            if holds {
                return answers;
            }
            retries += 1;
            self.pessimistic |= retries > MOST_RETRIES;
        }
    }

    fn start(&mut self, warp: u32) {
        self.warp = warp;
        self.atoms.clear();
        self.entries.clear();
        self.entries.resize(self.function.values().len(), None);
        self.arriving.clear();
        self.arriving.resize(self.function.blocks().len(), None);
        self.parted = None;
        self.has_left.clear();
        self.has_left.resize(self.leaves_apart.len(), None);
        self.supposed.clear();
        self.shown_by.clear();
    }

    /// What was taken for granted of loops to answer the questions of the last warp.
    pub fn assumed_of_loops(&self) -> &[Supposed] {
        &self.shown_by
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
            None => Entry::Varying(Cause::Other),
        }
    }

    /// What is known of an atom.
    pub fn known(&self, atom: Atom) -> Known {
        self.atoms.get(atom).known
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
        let entry = entry.unwrap_or(Entry::Varying(Cause::Other));
        let Entry::Known(pattern) = &entry else {
            return entry;
        };
        let atoms = pattern.terms.iter().flat_map(|term| &term.monomial);
        for &atom in atoms {
            let home = self.atoms.get(atom).home;
            let mut around = home.and_then(|home| self.loops.innermost(home));
            while let Some(this) = around.filter(|&this| !self.loops.contains(this, block)) {
                if !self.leaves_apart[this.index()].is_empty() {
                    return Entry::Varying(Cause::Other);
                }
                around = self.loops.parent(this);
            }
        }
        entry
    }

    /// Computes a value and what it needs.
    fn compute(&mut self, value: Value) {
        let mut stack = vec![value];
        let mut needs = Vec::new();
        while let Some(&top) = stack.last() {
            if self.entries[top.index()].is_some() {
                stack.pop();
                continue;
            }
            needs.clear();
            self.needs(top, &mut needs);
            needs.retain(|each| self.entries[each.index()].is_none());
            if needs.is_empty() {
                let entry = self.result(top);
                self.entries[top.index()] = Some(entry);
                stack.pop();
            } else {
                stack.append(&mut needs);
            }
        }
    }

    /// The values that a value is computed from.
    fn needs(&self, value: Value, needs: &mut Vec<Value>) {
        match self.function.values()[value].definition {
            Definition::Instruction(instruction) => {
                if self.is_evaluated(instruction) {
                    needs.extend(self.function.uses(instruction));
                }
            }
            Definition::Parameter(block) => self.join_needs(value, block, needs),
            Definition::Undefined => {}
        }
    }

    fn result(&mut self, value: Value) -> Entry {
        if self.function.values()[value].scalar_type.bits() > 64 {
            return Entry::Varying(Cause::Other);
        }
        match self.function.values()[value].definition {
            Definition::Instruction(instruction) => self.instruction(value, instruction),
            Definition::Parameter(block) => self.join(value, block),
            Definition::Undefined => Entry::Varying(Cause::Other),
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
        });
        Pattern::atom(atom, bits)
    }

    /// What is known of a value in all threads.
    fn known_of(&mut self, value: Value) -> Known {
        let data = self.function.values()[value];
        let bits = data.scalar_type.bits();
        let is_integer = matches!(bits, 8..=64) && !data.scalar_type.is_float();
        let range = is_integer.then(|| self.query.value_range(value)).flatten();
        range.map_or(Known::unknown(bits), |range| range.unsigned.known)
    }

    /// Something uniform that a value is made of.
    fn part(&mut self, value: Value, slot: u32, known: Known, bits: u32) -> Pattern {
        let atom = self.atoms.intern(AtomData {
            key: AtomKey::Part(value, slot),
            known: known.truncate(bits),
            home: self.function.defining_block(value),
        });
        Pattern::atom(atom, bits)
    }

    /// The block of an instruction that is in one.
    fn block(&self, instruction: Instruction) -> Block {
        let block = self.function.block_of(instruction);
        block.unwrap_or_else(|| self.function.entry())
    }
}
