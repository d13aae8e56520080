//! Which trees are worth regrouping.
//!
//! The order in which a compiler adds things is as good as any other: regrouping a sum moves its leaves' last uses about, and
//! `ptxas` may need more registers for it. So a tree is regrouped only for one of these reasons:
//!
//! 1. It takes fewer instructions: constants become one, leaves cancel out.
//! 2. One of its steps is a step of another tree too, and is computed once then.
//! 3. It is a sum of 64 bits outside loops, most likely an address: see [`Part`].
//! 4. In a loop, more of its steps read only what is the same for all threads of a warp, and `ptxas` computes them once for the
//!    warp; or more of them depend on nothing that the loop changes, and `ptxas` moves them out.
//! 5. A constant comes last, and what reads the sum is an address or scales it: addresses add constants themselves.
//!
//! A function that needs nearly all registers there are is regrouped for the first reason only: its values are where `ptxas` has just found
//! room for them.
//!
//! Steps are compared by hashes. One that collides costs a tree its order, no more.

use super::tree::{Part, Source, Step};
use super::{Node, Reassociation};
use crate::associative::integer;
use oriole_collections::DenseSet;
use oriole_ir::arithmetic::{Family, Operation};
use oriole_ir::{Block, Function, Instruction, Operand, Use, Value};
use oriole_isa::{MulMode, Opcode};
use std::ops::Range;

/// Why a tree is to be rebuilt.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Verdict {
    /// It is in canonical form.
    Never,
    /// Only if a step of it is one of another tree.
    IfShared,
    /// Unless registers are short.
    Usually,
    /// In any case: it takes fewer instructions.
    Always,
}

/// A tree that was looked at.
struct Candidate {
    block: Block,
    root: Instruction,
    verdict: Verdict,
    /// Its steps, among the hashes.
    steps: Range<usize>,
}

/// The trees of a function.
#[derive(Default)]
pub(super) struct Plan {
    candidates: Vec<Candidate>,
    hashes: Vec<u64>,
}

impl Plan {
    pub(super) fn clear(&mut self) {
        let Plan { candidates, hashes } = self;
        candidates.clear();
        hashes.clear();
    }

    /// Whether it depends on the steps of all trees whether a tree is worth it.
    pub(super) fn depends_on_shared_steps(&self) -> bool {
        let mut candidates = self.candidates.iter();
        candidates.any(|candidate| candidate.verdict == Verdict::IfShared)
    }

    /// The roots of the trees that are worth it, in the order in which they were looked at, with their blocks. `is_tight` says whether
    /// registers are short, and is asked only if that matters.
    pub(super) fn worthwhile(&self, is_tight: impl FnOnce() -> bool) -> Vec<(Block, Instruction)> {
        let shared = self.shared();
        let is_shared = |candidate: &Candidate| {
            let mut hashes = self.hashes[candidate.steps.clone()].iter();
            hashes.any(|hash| shared.contains(hash))
        };
        let is_worth_it = |candidate: &&Candidate| match candidate.verdict {
            Verdict::Never => false,
            Verdict::IfShared => is_shared(candidate),
            Verdict::Usually | Verdict::Always => true,
        };
        let mut found: Vec<&Candidate> = self.candidates.iter().filter(is_worth_it).collect();
        let is_sure = |candidate: &&Candidate| candidate.verdict == Verdict::Always;
        if !found.iter().all(is_sure) && is_tight() {
            found.retain(is_sure);
        }
        let found = found.into_iter();
        found
            .map(|candidate| (candidate.block, candidate.root))
            .collect()
    }

    /// The steps that are in several trees, or several times in one; nothing if no verdict depends on them.
    fn shared(&self) -> DenseSet<u64> {
        let mut shared = DenseSet::new();
        if self.depends_on_shared_steps() {
            let mut seen: DenseSet<u64> = DenseSet::with_capacity(self.hashes.len());
            shared.extend(
                self.hashes
                    .iter()
                    .copied()
                    .filter(|&hash| !seen.insert(hash)),
            );
        }
        shared
    }

    /// Enters a tree with these steps.
    fn enter(
        &mut self,
        block: Block,
        root: Instruction,
        verdict: Verdict,
        bits: u32,
        steps: &[Step],
    ) {
        let start = self.hashes.len();
        let mut previous = 0;
        for step in steps {
            previous = hash(*step, bits, previous);
            self.hashes.push(previous);
        }
        self.candidates.push(Candidate {
            block,
            root,
            verdict,
            steps: start..self.hashes.len(),
        });
    }
}

/// A number for a step whose previous step has a number.
fn hash(step: Step, bits: u32, previous: u64) -> u64 {
    let mix = |one: u64, other: u64| {
        (one.rotate_left(23) ^ other)
            .wrapping_mul(0x9E37_79B9_7F4A_7C15)
            .rotate_left(29)
    };
    let of = |source: Source| match source {
        Source::Value(value) => mix(1, u64::from(value.as_u32())),
        Source::Constant(constant) => mix(2, constant),
        Source::Previous => mix(3, previous),
    };
    let operation = match step {
        Step::Unary(operation, _) | Step::Binary(operation, ..) => operation,
        Step::Mad(..) => Operation::Mad,
        // It computes nothing.
        Step::Move(source) => return mix(u64::MAX, of(source)),
    };
    let seed = mix(operation as u64, u64::from(bits));
    let pair = |left: Source, right: Source| match (of(left), of(right)) {
        (left, right) if operation.commutes() && right < left => mix(mix(seed, right), left),
        (left, right) => mix(mix(seed, left), right),
    };
    match step {
        Step::Unary(_, source) | Step::Move(source) => mix(seed, of(source)),
        Step::Binary(_, left, right) => pair(left, right),
        Step::Mad(one, other, addend) => mix(pair(one, other), of(addend)),
    }
}

impl Reassociation {
    /// Enters the tree that was flattened last into the plan. `find_parts` finds the parts that its leaves belong to.
    pub(super) fn consider(
        &mut self,
        function: &Function,
        block: Block,
        root: Instruction,
        node: Node,
        find_parts: impl FnOnce(&mut Reassociation),
    ) {
        let family = node.operation.family();
        let is_distributed = family == Family::Add
            && self.terms.terms.len() > 1
            && self.distributions > 0
            && self.find_distribution(function, block, node).is_some();
        self.canonical_steps(family, node.bits);
        let verdict = if is_distributed {
            Verdict::Always
        } else if self.nodes.len() == 1 {
            Verdict::Never
        } else if self.steps.len() > self.nodes.len() {
            // It stays as it is, in steps that are not these.
            return;
        } else if self.steps.len() < self.nodes.len() {
            Verdict::Always
        } else if self.is_built(function, root) {
            Verdict::Never
        } else if self.is_address(family, node, block)
            || self.gathers_parts(function, block, find_parts)
            || self.frees_constant(function, root)
        {
            Verdict::Usually
        } else {
            Verdict::IfShared
        };
        self.plan
            .enter(block, root, verdict, node.bits, &self.steps);
    }

    /// Whether it is a sum as addresses are, outside loops.
    fn is_address(&self, family: Family, node: Node, block: Block) -> bool {
        family == Family::Add && node.bits == 64 && self.loop_starts[block.index()].is_none()
    }

    /// Whether more of a tree in a loop is computed once for a warp; or else, whether more is computed outside the innermost loop.
    fn gathers_parts(
        &mut self,
        function: &Function,
        block: Block,
        find_parts: impl FnOnce(&mut Reassociation),
    ) -> bool {
        let Some(start) = self.loop_starts[block.index()] else {
            return false;
        };
        find_parts(self);
        let is_scalar = |value: Value| self.facts[value.index()].part != Part::Divergent;
        let (steps, nodes) = self.count(function, is_scalar);
        if steps != nodes {
            return steps > nodes;
        }
        let is_outside = |value: Value| self.facts[value.index()].place < start;
        let (steps, nodes) = self.count(function, is_outside);
        steps > nodes
    }

    /// How many steps read only leaves of a kind and steps before them that do, and how many nodes.
    fn count(&self, function: &Function, is_of_kind: impl Fn(Value) -> bool) -> (usize, usize) {
        let is_step_of_kind = |step: &&Step| {
            step.sources().all(|source| match source {
                Source::Value(value) => is_of_kind(value),
                Source::Constant(_) | Source::Previous => true,
            })
        };
        let steps = self.steps.iter().take_while(is_step_of_kind).count();
        let mut found: DenseSet<Value> = DenseSet::new();
        // What a node reads comes behind it in the list.
        for &node in self.nodes.iter().rev() {
            let mut uses = function.uses(node);
            if uses.all(|value| found.contains(&value) || is_of_kind(value)) {
                found.extend(function.results(node));
            }
        }
        (steps, found.len())
    }

    /// Whether a constant comes last that did not, and addresses can add it.
    fn frees_constant(&self, function: &Function, root: Instruction) -> bool {
        let Some(Step::Binary(Operation::Add, _, Source::Constant(_))) = self.steps.last() else {
            return false;
        };
        let has_constant = function.leaves(root)[1..]
            .iter()
            .any(|&leaf| !matches!(leaf, Operand::Value(_)) && integer(function, leaf).is_some());
        let Some(result) = function.results(root).next().filter(|_| !has_constant) else {
            return false;
        };
        function.uses_of(result).any(|user| match user {
            Use::Instruction(reader) => serves_address(function, reader, result),
            Use::Edge(_) => false,
        })
    }
}

/// Whether an instruction reads a value in an address, or extends or scales it as addresses are.
fn serves_address(function: &Function, reader: Instruction, value: Value) -> bool {
    let format = function.format(reader);
    let mnemonic = &format.mnemonic;
    let scales = match mnemonic.opcode() {
        Opcode::Shl | Opcode::Cvt => true,
        Opcode::Mul => mnemonic.modifiers().mul_mode == Some(MulMode::Wide),
        _ => false,
    };
    let mut leaves = function.leaves(reader).iter().zip(&format.leaves);
    scales || leaves.any(|(leaf, role)| role.in_address && leaf.value() == Some(value))
}
