//! Which values are the same in all threads of a warp that execute an instruction together.
//!
//! ## Example
//! ```text
//! mov.u32 %r1, %ctaid.x;            // uniform: one block, one answer
//! mov.u32 %r2, %tid.x;              // divergent
//! add.s32 %r3, %r1, 1;              // uniform
//! setp.lt.s32 %p1, %r2, 16;         // divergent
//! @%p1 bra L;                       // divergent branch: what joins behind it is divergent
//! ```
//!
//! ## Soundness
//! A value is divergent unless it is shown uniform: results of unknown instructions, calls, atomics, `activemask`-like
//! operations, loads that may see per-thread memory (local, generic, or an address that differs), parameters of functions
//! that are called, and everything pinned. A guarded result is divergent if its guard is. Parameters of blocks where two ways
//! from a divergent branch meet, up to its post-dominator, are divergent; so is a value defined in a loop that threads leave
//! at different times and used outside it.
//!
//! ## Method
//! A worklist over values and branches until nothing changes; each value and branch turns divergent at most once. Where
//! the ways out of a branch meet is found as [`branch_joins`](crate::branch_joins) says.
//!
//! ## Not done
//! `shfl`, `vote` and `redux` with a full mask give uniform results in some modes; they are taken as divergent, since the
//! mask decides.

use crate::branch_joins::BranchJoins;
use crate::control_flow::ControlFlow;
use crate::dominators::{Dominators, PostDominators};
use crate::loops::Loops;
use crate::manager::{Analyses, Analysis, Reads};
use oriole_collections::BitSet;
use oriole_ir::graph::Adjacency;
use oriole_ir::{Block, Definition, Function, Instruction, Operand, SymbolKind, Value};
use oriole_isa::{Opcode, Space};

/// Divergent values and branches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Uniformity {
    divergent: BitSet<Value>,
    divergent_branches: BitSet<Block>,
}

impl Uniformity {
    /// Whether the value is the same in all threads that execute together.
    pub fn is_uniform(&self, value: Value) -> bool {
        !self.divergent.contains(value)
    }

    /// Whether threads of a warp may leave this block in different directions.
    pub fn is_divergent_branch(&self, block: Block) -> bool {
        self.divergent_branches.contains(block)
    }

    /// Computes uniformity.
    pub fn of(
        function: &Function,
        flow: &ControlFlow,
        dominators: &Dominators,
        post_dominators: &PostDominators,
        loops: &Loops,
    ) -> Uniformity {
        let mut solver = Solver::new(function, flow, dominators, post_dominators, loops);
        solver.seed();
        solver.run();
        Uniformity {
            divergent: solver.divergent,
            divergent_branches: solver.divergent_branches,
        }
    }
}

/// Where a value is used.
#[derive(Clone, Copy)]
enum Use {
    Instruction(Instruction),
    /// The argument of an edge that ends in this parameter.
    Parameter(Value),
}

struct Solver<'a> {
    function: &'a Function,
    flow: &'a ControlFlow,
    post_dominators: &'a PostDominators,
    loops: &'a Loops,
    uses: Adjacency,
    use_list: Vec<Use>,
    divergent: BitSet<Value>,
    divergent_branches: BitSet<Block>,
    worklist: Vec<Value>,
    branches: Vec<Block>,
    /// Finds where the ways out of a branch meet.
    branch_joins: BranchJoins<'a>,
    /// Blocks already known to join threads that came different ways.
    joins: BitSet<Block>,
    /// Blocks by their innermost loop, and loops by the one around them.
    loop_blocks: Adjacency,
    inner_loops: Adjacency,
    /// For each loop with threads that leave at different times: its values are divergent outside.
    temporal: Vec<bool>,
}

impl<'a> Solver<'a> {
    fn new(
        function: &'a Function,
        flow: &'a ControlFlow,
        dominators: &'a Dominators,
        post_dominators: &'a PostDominators,
        loops: &'a Loops,
    ) -> Solver<'a> {
        let mut use_list = Vec::new();
        let mut edges: Vec<(u32, u32)> = Vec::new();
        for &block in flow.reverse_postorder() {
            for instruction in function.instructions_of(block) {
                for value in function.uses(instruction) {
                    edges.push((value.as_u32(), use_list.len() as u32));
                    use_list.push(Use::Instruction(instruction));
                }
            }
            for edge in &function.blocks()[block].edges {
                let parameters = &function.blocks()[edge.target].parameters;
                for (&argument, &parameter) in edge.arguments.iter().zip(parameters) {
                    edges.push((argument.as_u32(), use_list.len() as u32));
                    use_list.push(Use::Parameter(parameter));
                }
            }
        }
        let uses = Adjacency::new(function.values().len(), edges.iter().copied());
        let loop_count = loops.iter().count();
        let blocks = flow.reverse_postorder().iter().filter_map(|&block| {
            let this = loops.innermost(block)?;
            Some((this.as_u32(), block.as_u32()))
        });
        let inner: Vec<(u32, u32)> = loops
            .iter()
            .filter_map(|this| Some((loops.parent(this)?.as_u32(), this.as_u32())))
            .collect();
        Solver {
            function,
            flow,
            post_dominators,
            loops,
            uses,
            use_list,
            divergent: BitSet::with_domain(function.values().len()),
            divergent_branches: BitSet::with_domain(function.blocks().len()),
            worklist: Vec::new(),
            branches: Vec::new(),
            branch_joins: BranchJoins::new(
                flow.successor_graph(),
                flow.predecessor_graph(),
                dominators.tree(),
            ),
            joins: BitSet::with_domain(function.blocks().len()),
            loop_blocks: Adjacency::new(loop_count, blocks),
            inner_loops: Adjacency::new(loop_count, inner.iter().copied()),
            temporal: vec![false; loop_count],
        }
    }

    fn mark(&mut self, value: Value) {
        if self.divergent.insert(value) {
            self.worklist.push(value);
        }
    }

    fn mark_branch(&mut self, block: Block) {
        if self.divergent_branches.insert(block) {
            self.branches.push(block);
        }
    }

    fn seed(&mut self) {
        let function = self.function;
        for &block in self.flow.reverse_postorder() {
            for instruction in function.instructions_of(block) {
                if self.is_source(instruction) {
                    for result in function.results(instruction) {
                        self.mark(result);
                    }
                    if function.format(instruction).is_terminator() {
                        self.mark_branch(block);
                    }
                }
            }
        }
    }

    /// Whether an instruction gives different results to threads even if all its values are uniform.
    fn is_source(&self, instruction: Instruction) -> bool {
        let function = self.function;
        let format = function.format(instruction);
        let effects = format.effects;
        let pinned = function
            .operands(instruction)
            .iter()
            .any(|operand| matches!(operand, Operand::Register(_)));
        if format.opaque || pinned || effects.is_call || effects.reads_carry {
            return true;
        }
        let divergent_symbol = function.leaves(instruction).iter().any(|&leaf| match leaf {
            Operand::Symbol(symbol) => match function.symbols()[symbol].kind {
                SymbolKind::Special(special) => {
                    special.is_volatile() || special.uniformity() == oriole_isa::Uniformity::Thread
                }
                _ => false,
            },
            _ => false,
        });
        if divergent_symbol {
            return true;
        }
        if format.is_terminator() || effects.is_pure() {
            return false;
        }
        match format.mnemonic.opcode() {
            Opcode::Ld | Opcode::Ldu => {
                if function.is_invariant_load(instruction) {
                    return false;
                }
                // Lanes may read what others write in between at different times.
                effects.volatile
                    || !effects.ordering.is_none()
                    || !matches!(
                        format.mnemonic.space(),
                        Some(Space::Global | Space::Shared | Space::Const)
                    )
            }
            _ => true,
        }
    }

    fn run(&mut self) {
        loop {
            if let Some(value) = self.worklist.pop() {
                self.spread_value(value);
            } else if let Some(block) = self.branches.pop() {
                self.spread_branch(block);
            } else {
                return;
            }
        }
    }

    fn spread_value(&mut self, value: Value) {
        for index in 0..self.uses.of(value.as_u32()).len() {
            let at = self.uses.of(value.as_u32())[index];
            match self.use_list[at as usize] {
                Use::Parameter(parameter) => self.mark(parameter),
                Use::Instruction(instruction) => self.spread_instruction(instruction),
            }
        }
    }

    fn spread_instruction(&mut self, instruction: Instruction) {
        let function = self.function;
        for result in function.results(instruction) {
            self.mark(result);
        }
        if function.format(instruction).is_terminator()
            && let Some(block) = function.block_of(instruction)
        {
            self.mark_branch(block);
        }
    }

    /// Blocks that two different ways out of a divergent branch lead to join threads that came different ways. Behind the
    /// post-dominator all are together again.
    fn spread_branch(&mut self, branch: Block) {
        let function = self.function;
        let stop = self.post_dominators.immediate(branch);
        let joins = self
            .branch_joins
            .of(branch.as_u32(), stop.map(|stop| stop.as_u32()));
        for block in joins {
            let block = Block::from_index(block as usize);
            if self.joins.insert(block) {
                for &parameter in &function.blocks()[block].parameters {
                    self.mark(parameter);
                }
            }
        }
        // A loop around the branch that one side leaves: threads leave it after different numbers of rounds.
        let mut around = self.loops.innermost(branch);
        while let Some(this) = around {
            let leaves = stop.is_none_or(|stop| !self.loops.contains(this, stop));
            if !leaves {
                break;
            }
            if !std::mem::replace(&mut self.temporal[this.index()], true) {
                self.spread_loop(this);
            }
            around = self.loops.parent(this);
        }
    }

    /// Values defined in a loop and used outside it.
    fn spread_loop(&mut self, this: crate::loops::Loop) {
        let function = self.function;
        let mut loops = vec![this.as_u32()];
        let mut blocks: Vec<u32> = Vec::new();
        while let Some(inner) = loops.pop() {
            blocks.extend_from_slice(self.loop_blocks.of(inner));
            loops.extend_from_slice(self.inner_loops.of(inner));
        }
        for block in blocks {
            let block = Block::from_index(block as usize);
            let defined: Vec<Value> = function.blocks()[block]
                .parameters
                .iter()
                .copied()
                .chain(
                    function
                        .instructions_of(block)
                        .flat_map(|instruction| function.results(instruction)),
                )
                .collect();
            for value in defined {
                for index in 0..self.uses.of(value.as_u32()).len() {
                    let at = self.uses.of(value.as_u32())[index];
                    match self.use_list[at as usize] {
                        Use::Instruction(instruction) => {
                            let outside = function
                                .block_of(instruction)
                                .is_some_and(|user| !self.loops.contains(this, user));
                            if outside {
                                self.spread_instruction(instruction);
                            }
                        }
                        Use::Parameter(parameter) => {
                            if let Definition::Parameter(target) =
                                function.values()[parameter].definition
                                && !self.loops.contains(this, target)
                            {
                                self.mark(parameter);
                            }
                        }
                    }
                }
            }
        }
    }
}

impl Analysis for Uniformity {
    const NAME: &'static str = "uniformity";
    const READS: Reads = Reads {
        control_flow: true,
        values: true,
        order: true,
        effects: true,
    };

    fn compute(function: &Function, analyses: &mut Analyses) -> Uniformity {
        let flow = analyses.get::<ControlFlow>(function);
        let dominators = analyses.get::<Dominators>(function);
        let post_dominators = analyses.get::<PostDominators>(function);
        let loops = analyses.get::<Loops>(function);
        Uniformity::of(function, &flow, &dominators, &post_dominators, &loops)
    }
}
