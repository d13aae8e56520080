//! Regroups integer sums, products and bitwise combinations so that equal parts become equal instructions, and then computes
//! equal ones once.
//!
//! ## Example
//! ```text
//! add.s32 %r5, %r2, %r3;                         add.s32 %r5, %r2, %r3;
//! add.s32 %r6, %r5, %r4;                         add.s32 %r6, %r5, %r4;
//! add.s32 %r7, %r2, %r4;               →
//! add.s32 %r8, %r7, %r3;                         (gone; readers of %r8 read %r6)
//!
//! mul.lo.s32 %r5, %r2, %r3;
//! mul.lo.s32 %r6, %r2, %r4;                      add.s32 %r5, %r3, %r4;
//! add.s32 %r7, %r5, %r6;               →         mul.lo.s32 %r7, %r2, %r5;
//! ```
//!
//! ## Soundness
//! Sums and low halves of products modulo two to the width, and bitwise operations, are associative and commutative, and
//! products distribute over sums. A shift left by a constant is a product, by zero from the width on. Nodes are told by the
//! exact spelling of their mnemonic: floating point, `.sat`, `.cc`, `.wide`, `.hi`, guarded, carrying and unknown instructions
//! are leaves or nothing. An instruction is taken into another's tree only if it stands in the same block and nobody else
//! reads its result, so no value that others see changes. A step stands where all its leaves are defined.
//!
//! ## Method
//! From the last instruction of a block to the first: whatever no later tree took in is a root; its tree is flattened with an
//! explicit stack into leaves with signs (`a - b` adds a negative leaf) and constants. Leaves are sorted by the part they belong to
//! ([`tree::Part`]) and by where they are defined, so that what comes from before the block stands together; constants come last and
//! become one; `a - a` and `a ^ a` go. The tree is rebuilt leaning to the left in the instructions it had, each at its own place where that is
//! possible. A value that is itself a sum ranks as its first leaf does in another sum: a shared beginning stays a beginning.
//! Trees that are in this form already are left alone, and so are trees that would take more instructions and trees for which
//! it does not pay ([`plan`]). Most instructions are a tree by themselves and have no product to distribute over: that is seen from their
//! operands ([`may_change`]), and such trees are only looked at if another one would be regrouped for what it shares with them. Nothing is
//! numbered in a function that has no other trees; and until one of them is worth it, no more than where values are defined.
//! Then equal instructions of a block become one, if no more than a window of instructions lies between them. That may
//! change the leaves of trees and their order: then all of it is done again, a few times at most. Linear but for the
//! sorting.
//!
//! ## Not done
//! Constants that come from a register. Trees across blocks.

mod commoning;
mod distribution;
mod numbering;
mod parts;
mod plan;
mod tree;

use crate::associative::{integer, mask, node_of, power};
use crate::knobs::{Number, Switch};
use crate::manager::{Action, Context, Pass, Trigger};
use crate::pressure_guard;
use crate::remark::Rewrite;
use numbering::{Facts, composite};
use oriole_analysis::{Analyses, ControlFlow, Loops, Uniformity};
use oriole_collections::BitSet;
use oriole_ir::arithmetic::{Family, Node, Operation};
use oriole_ir::{Block, Definition, Editor, Format, Function, Instruction, Operand, Value};
use oriole_isa::{ScalarType, build};
use parts::LocalPart;
use plan::Plan;
use std::rc::Rc;
use tree::{Leaf, Rank, Source, Step, Term, Terms};

/// The pass.
pub(crate) const PASS: Pass = Pass {
    name: "reassociate-and-common",
    summary: "Regroup integer sums, products and bitwise combinations, and compute equal parts of a block once",
    action: Action::Once(run, Trigger::Changes),
};

// Settings.
const ALLOW_REASSOCIATE_CSE: Switch = Switch::named("AllowReassociateCSE");
const REASSOCIATE_CSE_SKIP: Number = Number::named("ReassociateCSESkip");
const REASSOCIATE_CSE_BUDGET: Number = Number::named("ReassociateCSEBudget");
const REASSOCIATE_CSE_WINDOW: Number = Number::named("ReassociateCSEWindow");
const REASSOCIATE_LARGE_IMM_IN_UIADD64: Switch = Switch::named("ReassociateLargeImmInUIADD64");
const DISTRIBUTE_AND_REASSOCIATE_MUL_BUDGET: Number =
    Number::named("DistributeAndReassociateMulBudget");

/// How often everything is done at most.
const ROUNDS: u32 = 8;

fn run(editor: &mut Editor<'_>, analyses: &mut Analyses, context: &mut Context<'_>) {
    if !context.knobs.switch(ALLOW_REASSOCIATE_CSE) {
        return;
    }
    let flow = analyses.get::<ControlFlow>(editor.function());
    let loops = analyses.get::<Loops>(editor.function());
    let skip = context.knobs.number(REASSOCIATE_CSE_SKIP);
    let budget = context.knobs.number(REASSOCIATE_CSE_BUDGET);
    let mut reassociation = Reassociation {
        formats: Formats::default(),
        looked_at: skip..skip.saturating_add(budget),
        window: context.knobs.number(REASSOCIATE_CSE_WINDOW),
        large: context.knobs.switch(REASSOCIATE_LARGE_IMM_IN_UIADD64),
        distributions: context.knobs.number(DISTRIBUTE_AND_REASSOCIATE_MUL_BUDGET),
        places: Vec::new(),
        loop_starts: Vec::new(),
        facts: Vec::new(),
        has_facts: false,
        has_parts: false,
        local_parts: Vec::new(),
        uniformity: None,
        plan: Plan::default(),
        taken: BitSet::new(),
        terms: Terms::default(),
        steps: Vec::new(),
        nodes: Vec::new(),
        stack: Vec::new(),
        again: false,
    };
    for _ in 0..ROUNDS {
        reassociation.again = false;
        reassociation.has_facts = false;
        let finished = reassociation.trees(editor, (&flow, &loops), analyses, context)
            && reassociation.common(editor, (&flow, &loops), analyses, context);
        if !finished || !reassociation.again {
            break;
        }
    }
}

/// The formats that steps need, made once each.
#[derive(Default)]
struct Formats {
    known: [[Option<Format>; 3]; 10],
}

impl Formats {
    fn get(&mut self, editor: &mut Editor<'_>, operation: Option<Operation>, bits: u32) -> Format {
        let width = bits.trailing_zeros() as usize - 4;
        let row = operation.map_or(9, |operation| operation as usize);
        if let Some(format) = self.known[row][width] {
            return format;
        }
        let (mnemonic, operands) = match operation {
            Some(operation) => (operation.mnemonic(bits), 1 + operation.sources()),
            None => (ScalarType::untyped(bits).map(build::mov), 2),
        };
        let mnemonic = mnemonic.expect("nodes have 16, 32 or 64 bits");
        let format = editor.plain_format(&mnemonic, operands);
        self.known[row][width] = Some(format);
        format
    }
}

/// Loops, and blocks in order.
type Graph<'graph> = (&'graph ControlFlow, &'graph Loops);

/// Something to flatten.
#[derive(Clone, Copy)]
enum Item {
    /// A source, and whether it is negative.
    Source(Operand, bool),
    /// A product of values or constants, to add.
    Product([Result<Value, u64>; 2]),
}

struct Reassociation {
    formats: Formats,
    /// Instructions that may be touched, counted in reverse postorder.
    looked_at: std::ops::Range<u64>,
    window: u64,
    large: bool,
    distributions: u64,
    /// For each instruction twice its number in reverse postorder, and one more.
    places: Vec<u32>,
    /// For each block in a loop, the place where its innermost loop begins.
    loop_starts: Vec<Option<u32>>,
    facts: Vec<Facts>,
    /// Whether all facts are there but for the parts, kept up with what is changed; if not, only where values are defined.
    has_facts: bool,
    /// Whether the facts say which part of a sum each value belongs to: most functions have no tree that depends on it.
    has_parts: bool,
    /// The parts that were found without uniformity.
    local_parts: Vec<LocalPart>,
    /// Uniformity as it was before the first change; not there while nobody has asked and nothing has changed.
    uniformity: Option<Rc<Uniformity>>,
    plan: Plan,
    /// Instructions that are part of a tree.
    taken: BitSet<Instruction>,
    terms: Terms,
    steps: Vec<Step>,
    /// The instructions of a tree, its root first.
    nodes: Vec<Instruction>,
    stack: Vec<Item>,
    again: bool,
}

impl Reassociation {
    fn is_looked_at(&self, instruction: Instruction) -> bool {
        let place = self.places[instruction.index()];
        place & 1 == 1 && self.looked_at.contains(&u64::from(place / 2))
    }

    /// Brings the trees for which it pays into canonical form; whether there is fuel left.
    fn trees(
        &mut self,
        editor: &mut Editor<'_>,
        graph: Graph<'_>,
        analyses: &mut Analyses,
        context: &mut Context<'_>,
    ) -> bool {
        let function = editor.function();
        let (roots, is_reached) = roots(function, graph.0);
        if roots.is_empty() {
            return true;
        }
        match is_reached {
            true => self.find_places(function, graph),
            false => self.find_facts(function, graph),
        }
        self.plan_trees(function, &roots, graph, analyses);
        if self.plan.depends_on_shared_steps() {
            self.plan_single_nodes(function, graph);
        }
        let is_tight = || pressure_guard::is_tight(function, analyses, context.environment);
        let worthwhile = self.plan.worthwhile(is_tight);
        if worthwhile.is_empty() {
            return true;
        }
        self.find_facts(function, graph);
        self.find_parts(function, graph.0, analyses);
        for (block, root) in worthwhile {
            let function = editor.function();
            if self.taken.contains(root) || function.block_of(root) != Some(block) {
                continue;
            }
            let Some(node) = node_of(function, root) else {
                continue;
            };
            self.flatten(function, block, root, node);
            if !self.rebuild(editor, block, root, node, context) {
                return false;
            }
        }
        true
    }

    /// Looks at the trees of roots, which are given from the last of a block to the first.
    fn plan_trees(
        &mut self,
        function: &Function,
        roots: &[(Block, Instruction)],
        graph: Graph<'_>,
        analyses: &mut Analyses,
    ) {
        self.plan.clear();
        for &(block, root) in roots {
            if let Some(node) = self.root_node(function, root)
                && self.may_change(function, block, root, node)
            {
                self.flatten(function, block, root, node);
                if self.terms.depend_on_order() {
                    self.find_parts_of_tree(function, graph, analyses);
                }
                self.consider(function, block, root, node, |own| {
                    own.find_parts_of_tree(function, graph, analyses);
                });
            }
        }
    }

    /// Enters the steps of trees that stay as they are.
    fn plan_single_nodes(&mut self, function: &Function, (flow, _): Graph<'_>) {
        for &block in flow.reverse_postorder() {
            for root in function.instructions_of(block) {
                if let Some(node) = self.root_node(function, root)
                    && !self.may_change(function, block, root, node)
                {
                    self.flatten(function, block, root, node);
                    debug_assert!(self.nodes.len() == 1 && !self.terms.depend_on_order());
                    self.consider(function, block, root, node, |_| {});
                }
            }
        }
    }

    /// The node that an instruction is, if it may be the root of a tree.
    fn root_node(&self, function: &Function, root: Instruction) -> Option<Node> {
        let is_root = function.format(root).arithmetic.is_some()
            && !self.taken.contains(root)
            && self.is_looked_at(root);
        let node = if is_root {
            node_of(function, root)
        } else {
            None
        };
        node.filter(|node| node.operation != Operation::Neg)
    }

    /// Whether a root may have other nodes in its tree, or products to distribute over. If not, its tree stays as it is.
    fn may_change(&self, function: &Function, block: Block, root: Instruction, node: Node) -> bool {
        let is_alone = |value: Value| self.is_alone(function, value);
        may_change(function, block, root, node, is_alone)
    }

    /// The node of a family and width that gives a value, if it belongs to the tree of the only one who reads it.
    fn inner(
        &self,
        function: &Function,
        block: Block,
        value: Value,
        family: Family,
        bits: u32,
    ) -> Option<(Instruction, Node)> {
        if !self.is_alone(function, value) {
            return None;
        }
        let (definer, node) = composite(function, value, family, bits)?;
        let is_free = function.block_of(definer) == Some(block)
            && !self.taken.contains(definer)
            && self.is_looked_at(definer);
        is_free.then_some((definer, node))
    }

    /// Collects the leaves of the tree of a root, and the instructions it is made of.
    fn flatten(&mut self, function: &Function, block: Block, root: Instruction, node: Node) {
        let family = node.operation.family();
        self.terms.clear();
        self.nodes.clear();
        self.nodes.push(root);
        self.open(function, root, node, false);
        while let Some(item) = self.stack.pop() {
            let (operand, negative) = match item {
                Item::Source(operand, negative) => (operand, negative),
                Item::Product(factors) => {
                    self.product(function, node.bits, factors);
                    continue;
                }
            };
            let value = match operand {
                Operand::Value(value) => value,
                _ => {
                    let bits = integer(function, operand).expect("nodes read values and integers");
                    let signed = if negative { bits.wrapping_neg() } else { bits };
                    self.terms.constants.push(signed & mask(node.bits));
                    continue;
                }
            };
            if let Some((definer, inner)) = self.inner(function, block, value, family, node.bits)
                && !(negative && inner.operation == Operation::Mad)
            {
                self.taken.insert(definer);
                self.nodes.push(definer);
                self.open(function, definer, inner, negative);
                continue;
            }
            let rank = self.find_rank(function, value, family, node.bits);
            self.terms.terms.push(Term {
                rank,
                leaf: Leaf::Value(value),
                negative,
            });
        }
    }

    /// Puts the sources of a node on the stack, the first on top.
    fn open(&mut self, function: &Function, instruction: Instruction, node: Node, negative: bool) {
        let leaves = function.leaves(instruction);
        match node.operation {
            Operation::Neg => self.stack.push(Item::Source(leaves[1], !negative)),
            Operation::Sub => {
                self.stack.push(Item::Source(leaves[2], !negative));
                self.stack.push(Item::Source(leaves[1], negative));
            }
            Operation::Shl => {
                let amount = integer(function, leaves[2]).expect("shifts by constants are nodes");
                self.terms.constants.push(power(amount, node.bits));
                self.stack.push(Item::Source(leaves[1], negative));
            }
            Operation::Mad => {
                let factors = [leaves[1], leaves[2]].map(|leaf| match leaf {
                    Operand::Value(value) => Ok(value),
                    _ => Err(integer(function, leaf).expect("nodes read values and integers")),
                });
                self.stack.push(Item::Product(factors));
                self.stack.push(Item::Source(leaves[3], negative));
            }
            _ => {
                self.stack.push(Item::Source(leaves[2], negative));
                self.stack.push(Item::Source(leaves[1], negative));
            }
        }
    }

    /// Adds a product to the leaves of a sum.
    fn product(&mut self, function: &Function, bits: u32, factors: [Result<Value, u64>; 2]) {
        let place = |value: Value| {
            let facts = &self.facts[value.index()];
            (facts.place, facts.index)
        };
        let (leaf, late, early) = match factors {
            [Err(one), Err(other)] => {
                self.terms
                    .constants
                    .push(one.wrapping_mul(other) & mask(bits));
                return;
            }
            [Ok(value), Err(factor)] | [Err(factor), Ok(value)] => match factor & mask(bits) {
                0 => return,
                1 => {
                    let rank = self.find_rank(function, value, Family::Add, bits);
                    self.terms.terms.push(Term {
                        rank,
                        leaf: Leaf::Value(value),
                        negative: false,
                    });
                    return;
                }
                factor => (Leaf::Scaled(value, factor), place(value), (0, 0)),
            },
            [Ok(one), Ok(other)] => {
                let (late, early) = if place(one) > place(other) {
                    (one, other)
                } else {
                    (other, one)
                };
                (Leaf::Product(late, early), place(late), place(early))
            }
        };
        self.terms.terms.push(Term {
            rank: Rank {
                part: self.part_of_leaf(leaf),
                anchor: late.0,
                is_simple: true,
                place: early.0,
                index: 1 << 31 | late.1 << 15 | early.1,
            },
            leaf,
            negative: false,
        });
    }

    /// Rebuilds the tree that was flattened last; whether there is fuel left.
    fn rebuild(
        &mut self,
        editor: &mut Editor<'_>,
        block: Block,
        root: Instruction,
        node: Node,
        context: &mut Context<'_>,
    ) -> bool {
        let family = node.operation.family();
        let mut distributed = false;
        if family == Family::Add && self.terms.terms.len() > 1 && self.distributions > 0 {
            let candidate = self.find_distribution(editor.function(), block, node);
            if let Some(candidate) = candidate {
                let rewrite = Rewrite {
                    counter: "reassociate-and-common.distributed",
                    instruction: root,
                    why: "its summands have a factor in common",
                    equal: None,
                };
                if !context.allows(editor.function(), rewrite) {
                    return false;
                }
                self.distributions -= 1;
                self.distribute(editor, root, node, candidate);
                self.again = true;
                distributed = true;
            }
        }
        if !distributed && self.nodes.len() == 1 {
            return true;
        }
        self.canonical_steps(family, node.bits);
        if !distributed {
            if self.steps.len() > self.nodes.len() || self.is_built(editor.function(), root) {
                return true;
            }
            let rewrite = Rewrite {
                counter: "reassociate-and-common.trees",
                instruction: root,
                why: "its leaves have an order and its constants can be one",
                equal: None,
            };
            if !context.allows(editor.function(), rewrite) {
                return false;
            }
        }
        self.build(editor, root, node.bits);
        true
    }

    /// Brings the leaves of the tree into order, and finds the steps that compute it.
    fn canonical_steps(&mut self, family: Family, bits: u32) {
        self.terms.canonicalize(family, bits, self.large);
        let mut steps = std::mem::take(&mut self.steps);
        self.terms.steps(family, bits, &mut steps);
        self.steps = steps;
    }

    /// Whether the tree is what the steps would make of it.
    fn is_built(&mut self, function: &Function, root: Instruction) -> bool {
        if self.steps.len() != self.nodes.len() {
            return false;
        }
        let mut at = root;
        for index in (0..self.steps.len()).rev() {
            let Some(node) = node_of(function, at) else {
                return false;
            };
            let mut previous = None;
            let mut found = [Source::Constant(0); 3];
            for (slot, &leaf) in found.iter_mut().zip(&function.leaves(at)[1..]) {
                *slot = match leaf {
                    Operand::Value(value) => {
                        match function.values()[value].definition {
                            Definition::Instruction(definer)
                                // A node of another tree has no reader here.
                                if self.taken.contains(definer) =>
                            {
                                previous = Some(definer);
                                Source::Previous
                            }
                            _ => Source::Value(value),
                        }
                    }
                    _ => match integer(function, leaf) {
                        Some(bits) if node.operation == Operation::Shl => Source::Constant(bits),
                        Some(bits) => Source::Constant(bits & mask(node.bits)),
                        None => return false,
                    },
                };
            }
            if !is_step(self.steps[index], node, found) {
                return false;
            }
            match previous {
                Some(definer) => at = definer,
                None => return index == 0,
            }
        }
        true
    }

    /// Makes the tree what the steps say, in the instructions it has.
    fn build(&mut self, editor: &mut Editor<'_>, root: Instruction, bits: u32) {
        self.count_sources(editor);
        let mut nodes = std::mem::take(&mut self.nodes);
        nodes.sort_unstable_by_key(|node| self.places[node.index()]);
        debug_assert_eq!(nodes.last(), Some(&root));
        nodes.pop();
        // For each step, the place behind which all its leaves are defined.
        let mut available = 0;
        let mut available_at: Vec<u32> = Vec::with_capacity(self.steps.len());
        for step in &self.steps {
            for source in step.sources() {
                if let Source::Value(value) = source {
                    available = available.max(self.facts[value.index()].place);
                }
            }
            available_at.push(available);
        }
        let result = editor.function().results(root).next();
        let scalar_type =
            editor.function().values()[result.expect("nodes have a result")].scalar_type;
        let last = self.steps.len() - 1;
        let mut places: Vec<Option<Instruction>> = vec![None; self.steps.len()];
        for index in (0..last).rev() {
            if let Some(&node) = nodes.last()
                && available_at[index] < self.places[node.index()]
            {
                places[index] = nodes.pop();
            }
        }
        let mut previous: Option<Value> = None;
        let mut waiting: Option<usize> = None;
        for (index, &place) in places.iter().enumerate() {
            let step = self.steps[index];
            let at = if index == last { Some(root) } else { place };
            let Some(at) = at else {
                waiting.get_or_insert(index);
                continue;
            };
            // Steps without a place of their own stand before the next that has one.
            if let Some(first) = waiting.take() {
                for between in first..index {
                    let (format, operands, count) =
                        self.operands(editor, self.steps[between], bits, previous);
                    let made = editor.insert_before(at, format, &operands[..count], &[scalar_type]);
                    let value = editor
                        .function()
                        .results(made)
                        .next()
                        .expect("one result was asked for");
                    let place = self.places[at.index()];
                    self.enter(made, value, place);
                    previous = Some(value);
                }
            }
            let (format, operands, count) = self.operands(editor, step, bits, previous);
            editor.rewrite(at, format, &operands[..count]);
            previous = editor.function().results(at).next();
        }
        for &node in nodes.iter().rev() {
            editor.remove_instruction(node);
        }
        self.nodes = nodes;
    }

    /// Enters a new instruction and its result into the tables.
    fn enter(&mut self, instruction: Instruction, value: Value, place: u32) {
        self.places.resize(instruction.index() + 1, 0);
        self.places[instruction.index()] = place;
        self.facts.resize(value.index() + 1, Facts::default());
        self.facts[value.index()] = Facts {
            place,
            anchor: place,
            uses: 1,
            ..Facts::default()
        };
        self.taken.insert(instruction);
    }

    /// Counts the readers of the leaves anew: those of the steps instead of those of the nodes.
    fn count_sources(&mut self, editor: &Editor<'_>) {
        let function = editor.function();
        let mut fewer: Vec<Value> = Vec::new();
        for &node in &self.nodes {
            for value in function.uses(node) {
                self.facts[value.index()].uses -= 1;
                fewer.push(value);
            }
        }
        for step in &self.steps {
            for source in step.sources() {
                if let Source::Value(value) = source {
                    self.facts[value.index()].uses += 1;
                }
            }
        }
        // The results of inner nodes are read by one step each, as they were by one node.
        for &node in &self.nodes[1..] {
            for result in function.results(node) {
                self.facts[result.index()].uses = 1;
            }
        }
        self.again |= fewer.into_iter().any(|value| {
            let facts = &self.facts[value.index()];
            facts.uses == 1 && facts.node.is_some() && !self.is_inner(function, value)
        }) && self.steps.len() < self.nodes.len();
    }

    fn is_inner(&self, function: &Function, value: Value) -> bool {
        match function.values()[value].definition {
            Definition::Instruction(definer) => self.taken.contains(definer),
            _ => false,
        }
    }

    /// The format and operands of a step.
    fn operands(
        &mut self,
        editor: &mut Editor<'_>,
        step: Step,
        bits: u32,
        previous: Option<Value>,
    ) -> (Format, [Operand; 4], usize) {
        let operation = match step {
            Step::Unary(operation, _) | Step::Binary(operation, ..) => Some(operation),
            Step::Mad(..) => Some(Operation::Mad),
            Step::Move(_) => None,
        };
        let format = self.formats.get(editor, operation, bits);
        let mut operands = [Operand::Result(0); 4];
        let mut count = 1;
        for source in step.sources() {
            operands[count] = match source {
                Source::Value(value) => Operand::Value(value),
                Source::Previous => Operand::Value(previous.expect("a step came before")),
                Source::Constant(constant) => {
                    let unused = 64 - bits;
                    let signed = (constant << unused) as i64 >> unused;
                    editor.integer(signed as u64, false)
                }
            };
            count += 1;
        }
        (format, operands, count)
    }
}

/// The instructions that may be roots of trees which do not stay as they are, from the last of each block to the first; and whether control
/// comes to all blocks.
fn roots(function: &Function, flow: &ControlFlow) -> (Vec<(Block, Instruction)>, bool) {
    // What is not reached counts as a reader in the use lists only.
    let is_reached = flow.reverse_postorder().len() == function.block_order().len();
    let is_alone = |value: Value| !is_reached || function.use_count(value) == 1;
    let mut roots = Vec::new();
    for &block in flow.reverse_postorder() {
        for root in function.instructions_backwards(block) {
            let node = function.format(root).arithmetic;
            if node.is_some_and(|node| may_change(function, block, root, node, is_alone)) {
                roots.push((block, root));
            }
        }
    }
    (roots, is_reached)
}

/// Whether a root may have other nodes in its tree, or products to distribute over, given which values have one reader.
fn may_change(
    function: &Function,
    block: Block,
    root: Instruction,
    node: Node,
    is_alone: impl Fn(Value) -> bool,
) -> bool {
    let family = node.operation.family();
    let operands = function.operands(root);
    let is_inner = |value: Value| {
        if !is_alone(value) {
            return false;
        }
        let Definition::Instruction(definer) = function.values()[value].definition else {
            return false;
        };
        let inner = function.format(definer).arithmetic;
        inner.is_some_and(|inner| {
            let own = inner.operation.family();
            let is_part = own == family || family == Family::Add && own == Family::Mul;
            inner.bits == node.bits && is_part && function.block_of(definer) == Some(block)
        })
    };
    // A product is a leaf of the sum, and so is one of its factors.
    let is_distributed = match (node.operation, operands) {
        (Operation::Mad, &[_, one, other, addend]) => one == addend || other == addend,
        _ => false,
    };
    let mut values = operands.iter().filter_map(|operand| operand.value());
    is_distributed || values.any(is_inner)
}

/// Whether a node with these sources is this step, the order of what commutes apart.
fn is_step(step: Step, node: Node, found: [Source; 3]) -> bool {
    let is_pair = |one: Source, other: Source| {
        (found[0], found[1]) == (one, other) || (found[0], found[1]) == (other, one)
    };
    match step {
        Step::Unary(operation, source) => node.operation == operation && found[0] == source,
        Step::Binary(Operation::Shl, source, Source::Constant(amount)) => match node.operation {
            Operation::Shl => found[0] == source && found[1] == Source::Constant(amount),
            Operation::Mul => is_pair(source, Source::Constant(power(amount, node.bits))),
            _ => false,
        },
        Step::Binary(operation, left, right) => {
            node.operation == operation
                && ((found[0], found[1]) == (left, right)
                    || operation.commutes() && is_pair(left, right))
        }
        Step::Mad(one, other, addend) => {
            node.operation == Operation::Mad && is_pair(one, other) && found[2] == addend
        }
        Step::Move(_) => false,
    }
}
