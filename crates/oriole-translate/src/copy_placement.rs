//! Where the copies of an edge go.
//!
//! ## Example
//! A loop that hands `above` on to `here`, with the branch back at its end:
//! ```text
//!         …                                              …
//!         @%p1 bra COPIES;                               mov.f32 %here, %above;
//! and far away, before the loop's header         →       @%p1 bra LOOP;
//! COPIES: mov.f32 %here, %above;
//! LOOP:   …
//! ```
//!
//! ## Soundness
//! Copies of an edge may be made before a branch that has another way out if nothing on that way needs what they overwrite:
//! neither the branch itself, nor an argument of the other edge, nor a value that is live where that one leads. Only values that
//! compete for registers are looked at there: what no copy concerns is in a register that no copy writes.
//!
//! ## Why
//! `ptxas` takes a block of copies before a loop's header for a way into the loop: it peels the first iteration, and does not
//! unroll. Copies in the latch cost nothing once it has renamed registers.

use crate::candidates::Candidate;
use crate::parallel_copy::Copy;
use oriole_analysis::ControlFlow;
use oriole_analysis::liveness::LiveSets;
use oriole_collections::IndexVec;
use oriole_ir::{Block, Definition, Function, Operand, Register, Value};

/// Where the copies of an edge go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// Behind everything in the block that the edge leaves, where control only gets by falling through.
    AfterTerminator,
    /// Before the branch that ends the block.
    BeforeTerminator,
    /// At the start of the block the edge leads to, which has no other way in.
    TargetStart,
    /// In a block of their own.
    NewBlock,
}

/// More copies than this are not made before a branch that may go the other way, unless it is a loop's.
const MOST_SPECULATED: usize = 3;

/// Something that keeps the copies of a back edge from going before the branch. A copy of it in the loop lets them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Lost {
    /// The branch, or the code after the loop, needs the value of this header parameter in the current iteration.
    Parameter(Value),
    /// The copy of this argument overwrites another value that the branch, or the code after the loop, needs.
    Argument {
        /// The latch.
        block: Block,
        /// The back edge.
        edge: usize,
        /// The number of the argument.
        position: usize,
    },
}

/// Most copies that a loop gets so that those of its back edge can go before the branch.
const MOST_ISOLATED: usize = 32;

/// What is looked at for each value of a function at most, over all edges: how much is live where an edge leads has no bound.
const LIVE_BUDGET_PER_VALUE: usize = 16;

/// Places the copies of a function's edges.
pub(crate) struct Placer<'a> {
    function: &'a Function,
    flow: &'a ControlFlow,
    /// Live values that may still be looked at.
    budget: usize,
}

/// Which values that compete for registers are live at the start of each block.
#[derive(Clone, Copy)]
pub(crate) struct LiveCandidates<'a> {
    /// By numbers of blocks and candidates.
    pub sets: &'a LiveSets,
    /// The value of each candidate.
    pub values: &'a IndexVec<Candidate, Value>,
}

impl<'a> Placer<'a> {
    pub fn new(function: &'a Function, flow: &'a ControlFlow) -> Placer<'a> {
        Placer {
            function,
            flow,
            budget: LIVE_BUDGET_PER_VALUE * function.values().len(),
        }
    }

    /// Forgets what was looked at so far, before all edges are placed anew.
    pub fn refill(&mut self) {
        self.budget = LIVE_BUDGET_PER_VALUE * self.function.values().len();
    }

    /// The place for the copies of an edge, made all at once, where values are in these registers.
    pub fn place(
        &mut self,
        block: Block,
        edge: usize,
        copies: &[Copy<Register>],
        live: LiveCandidates<'_>,
        register: &impl Fn(Value) -> Register,
    ) -> Placement {
        match self.fixed_placement(block, edge) {
            Some(placement) => placement,
            None if self.may_precede_branch((block, edge), copies, live, register) => {
                Placement::BeforeTerminator
            }
            None => Placement::NewBlock,
        }
    }

    /// Whether the copies of an edge need a block of their own, whatever they are.
    pub fn needs_block(&self, block: Block, edge: usize) -> bool {
        self.fixed_placement(block, edge) == Some(Placement::NewBlock)
    }

    /// The place for the copies of an edge, if it does not depend on what they are.
    fn fixed_placement(&self, block: Block, edge: usize) -> Option<Placement> {
        let function = self.function;
        let data = &function.blocks()[block];
        if data.fall_through() == Some(edge) {
            return Some(Placement::AfterTerminator);
        }
        let target = data.edges[edge].target;
        let branch = function
            .last_instruction(block)
            .expect("an edge that is taken has a branch");
        let operands = function.operands(branch);
        let is_read =
            |operand: &Operand| matches!(operand, Operand::Value(_) | Operand::Register(_));
        if data.edges.len() == 1 && !operands.iter().any(is_read) {
            return Some(Placement::BeforeTerminator);
        }
        if self.flow.predecessors(target).len() == 1 {
            return Some(Placement::TargetStart);
        }
        let is_plain = matches!(
            operands,
            [Operand::Value(_) | Operand::Register(_), Operand::Target(0)]
        );
        let is_two_way = data.edges.len() == 2 && data.falls_through && edge == 0;
        let may_go_before = is_plain && is_two_way && function.guard(branch).is_some();
        (!may_go_before).then_some(Placement::NewBlock)
    }

    /// Whether the copies of an edge may be made whether or not the branch that ends the block is taken.
    fn may_precede_branch(
        &mut self,
        (block, edge): (Block, usize),
        copies: &[Copy<Register>],
        live: LiveCandidates<'_>,
        register: &impl Fn(Value) -> Register,
    ) -> bool {
        if copies.len() > MOST_SPECULATED && !self.goes_back(block, edge) {
            return false;
        }
        let is_written = written_by(copies, register);
        self.all_needed(block, live, |value| !is_written(value))
    }

    /// What the copies of a back edge would overwrite before the branch. Empty if there is too much of it.
    pub fn lost(
        &mut self,
        (block, edge): (Block, usize),
        copies: &[Copy<Register>],
        live: LiveCandidates<'_>,
        register: &impl Fn(Value) -> Register,
    ) -> Vec<Lost> {
        if self.fixed_placement(block, edge).is_some() || !self.goes_back(block, edge) {
            return Vec::new();
        }
        let function = self.function;
        let back = function.blocks()[block].edges[edge];
        let is_written = written_by(copies, register);
        let mut lost = Vec::new();
        let mut overwritten = Vec::new();
        let is_known = self.all_needed(block, live, |value| {
            if is_written(value) {
                match function.values()[value].definition {
                    Definition::Parameter(own) if own == back.target => {
                        lost.push(Lost::Parameter(value));
                    }
                    _ => overwritten.push(register(value)),
                }
            }
            true
        });
        let parameters = &function.blocks()[back.target].parameters;
        let passed = function.arguments(back).iter().zip(parameters).enumerate();
        for (position, (&argument, &parameter)) in passed {
            if function.use_count(parameter) > 0
                && function.values()[argument].definition != Definition::Undefined
                && overwritten.contains(&register(parameter))
                && register(argument) != register(parameter)
            {
                lost.push(Lost::Argument {
                    block,
                    edge,
                    position,
                });
            }
        }
        if !is_known || lost.len() > MOST_ISOLATED {
            return Vec::new();
        }
        lost
    }

    fn goes_back(&self, block: Block, edge: usize) -> bool {
        let target = self.function.blocks()[block].edges[edge].target;
        self.flow.position(target) <= self.flow.position(block)
    }

    /// Whether something is true of all values that the branch at the end of a block and its way to fall through need. Said not to be if
    /// too much was looked at already.
    fn all_needed(
        &mut self,
        block: Block,
        live: LiveCandidates<'_>,
        mut holds: impl FnMut(Value) -> bool,
    ) -> bool {
        let function = self.function;
        let mut holds = |value: Value| {
            function.values()[value].definition == Definition::Undefined || holds(value)
        };
        let other = function.blocks()[block].edges[1];
        let mut branch = function.last_instruction(block).into_iter();
        if !branch.all(|branch| function.uses(branch).all(&mut holds))
            || !function.arguments(other).iter().all(|&value| holds(value))
        {
            return false;
        }
        if self.budget == 0 {
            return false;
        }
        let found = live.sets.live_in(other.target.as_u32());
        self.budget = self.budget.saturating_sub(found.len() + 1);
        let mut found = found.into_iter();
        found.all(|candidate| holds(live.values[Candidate::from_u32(candidate)]))
    }
}

/// Whether copies overwrite a value.
fn written_by(
    copies: &[Copy<Register>],
    register: &impl Fn(Value) -> Register,
) -> impl Fn(Value) -> bool {
    let mut written: Vec<Register> = copies.iter().map(|copy| copy.to).collect();
    written.sort_unstable();
    move |value| written.binary_search(&register(value)).is_ok()
}
