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
//! the ways out of a branch meet is found as [`branch_joins`](crate::branch_joins) says; where that takes too long,
//! everything is divergent. Uses that leave loops are kept in order of the nest, with the depth to which they leave, under a
//! tree of minima: so a loop finds those that leave it, and each is found once.
//!
//! ## Not done
//! `shfl`, `vote` and `redux` with a full mask give uniform results in some modes; they are taken as divergent, since the
//! mask decides.

use crate::branch_joins::BranchJoins;
use crate::control_flow::ControlFlow;
use crate::dominators::{Dominators, PostDominators};
use crate::loops::{Loop, Loops};
use crate::manager::{Analyses, Analysis, Reads};
use oriole_collections::BitSet;
use oriole_ir::graph::Adjacency;
use oriole_ir::{Block, Function, Instruction, Operand, SymbolKind, Use, Value};
use oriole_isa::{Opcode, Space};

/// Divergent values and branches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Uniformity {
    divergent: BitSet<Value>,
    divergent_branches: BitSet<Block>,
    divergent_joins: BitSet<Block>,
    /// Joins and the branches behind which threads come to them by different edges, in order; nothing if that was too much to find.
    join_causes: Option<Vec<(Block, Block)>>,
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

    /// Whether threads of a warp may come to this block by different edges at once.
    pub fn is_divergent_join(&self, block: Block) -> bool {
        self.divergent_joins.contains(block)
    }

    /// The branches behind which threads may come to this block by different edges at once; nothing if they are not known.
    pub fn join_causes(&self, block: Block) -> Option<impl Iterator<Item = Block> + '_> {
        let causes = self.join_causes.as_ref()?;
        let first = causes.partition_point(|cause| cause.0 < block);
        let own = causes[first..].iter();
        let own = own.take_while(move |cause| cause.0 == block);
        Some(own.map(|cause| cause.1))
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
        if let Some(causes) = &mut solver.join_causes {
            causes.sort_unstable();
            causes.dedup();
        }
        Uniformity {
            divergent: solver.divergent,
            divergent_branches: solver.divergent_branches,
            divergent_joins: solver.joins,
            join_causes: solver.join_causes,
        }
    }
}

/// Whether an instruction gives different results to threads even if all its values are uniform.
pub fn differs_by_thread(function: &Function, instruction: Instruction) -> bool {
    let format = function.format(instruction);
    let effects = format.effects;
    if format.opaque || effects.is_call || effects.reads_carry {
        return true;
    }
    let differs = |operand: &Operand| match *operand {
        Operand::Register(_) => true,
        Operand::Symbol(symbol) => match function.symbols()[symbol].kind {
            SymbolKind::Special(special) => {
                special.is_volatile() || special.uniformity() == oriole_isa::Uniformity::Thread
            }
            _ => false,
        },
        _ => false,
    };
    if function.operands(instruction).iter().any(differs) {
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

/// Something that turns divergent with a value.
#[derive(Clone, Copy)]
enum Reader {
    Instruction(Instruction),
    /// The parameter that an edge passes it for.
    Parameter(Value),
}

struct Solver<'a> {
    function: &'a Function,
    flow: &'a ControlFlow,
    post_dominators: &'a PostDominators,
    loops: &'a Loops,
    /// The parameters that each value is passed for.
    passed: Adjacency,
    /// What reads values outside of the loop of their definition.
    outside: Vec<Reader>,
    divergent: BitSet<Value>,
    divergent_branches: BitSet<Block>,
    worklist: Vec<Value>,
    branches: Vec<Block>,
    /// Finds where the ways out of a branch meet.
    branch_joins: BranchJoins<'a>,
    /// Blocks already known to join threads that came different ways.
    joins: BitSet<Block>,
    /// Each of them with the branches it joins; nothing once that was given up.
    join_causes: Option<Vec<(Block, Block)>>,
    /// Uses outside the loop of their definition; few functions have a loop that threads leave at different times.
    loop_exits: Option<LoopExits>,
    /// For each loop with threads that leave at different times: its values are divergent outside.
    temporal: Vec<bool>,
    /// For each loop, one around it with only temporal loops between; shortened whenever it is walked.
    not_temporal: Vec<Option<Loop>>,
}

/// Uses of values outside the innermost loop around their definition, to be found by a loop that they leave.
#[derive(Default)]
struct LoopExits {
    /// Where in the nest the definition is, and the use; sorted.
    uses: Vec<(u32, u32)>,
    /// How many loops are around both the definition and the use; above the uses, the least of every two.
    depths: Vec<u32>,
}

impl LoopExits {
    /// The exits, each given as position of the definition in the nest, depth, and use.
    fn new(mut exits: Vec<(u32, u32, u32)>) -> LoopExits {
        exits.sort_unstable_by_key(|exit| (exit.0, exit.2));
        let leaves = exits.len().next_power_of_two();
        let mut depths = vec![u32::MAX; 2 * leaves];
        for (place, exit) in exits.iter().enumerate() {
            depths[leaves + place] = exit.1;
        }
        for node in (1..leaves).rev() {
            depths[node] = depths[2 * node].min(depths[2 * node + 1]);
        }
        LoopExits {
            uses: exits.iter().map(|exit| (exit.0, exit.2)).collect(),
            depths,
        }
    }

    /// Takes out the uses that leave a loop of a depth, given the positions of what is in it.
    fn take(&mut self, inside: std::ops::RangeInclusive<u32>, depth: u32) -> Vec<u32> {
        let first = self.uses.partition_point(|own| own.0 < *inside.start());
        let end = self.uses.partition_point(|own| own.0 <= *inside.end());
        let leaves = self.depths.len() / 2;
        let mut found = Vec::new();
        // Nodes to look at, each with the places under it.
        let mut stack = vec![(1, 0, leaves)];
        while let Some((node, low, high)) = stack.pop() {
            if high <= first || end <= low || self.depths[node] >= depth {
                continue;
            }
            if node < leaves {
                let middle = (low + high) / 2;
                stack.push((2 * node + 1, middle, high));
                stack.push((2 * node, low, middle));
                continue;
            }
            found.push(self.uses[low].1);
            self.depths[node] = u32::MAX;
            let mut above = node / 2;
            while above > 0 {
                self.depths[above] = self.depths[2 * above].min(self.depths[2 * above + 1]);
                above /= 2;
            }
        }
        found
    }
}

impl<'a> Solver<'a> {
    fn new(
        function: &'a Function,
        flow: &'a ControlFlow,
        dominators: &'a Dominators,
        post_dominators: &'a PostDominators,
        loops: &'a Loops,
    ) -> Solver<'a> {
        let loop_count = loops.iter().count();
        let mut passed: Vec<(u32, u32)> = Vec::new();
        for &block in flow.reverse_postorder() {
            for edge in &function.blocks()[block].edges {
                let parameters = &function.blocks()[edge.target].parameters;
                let arguments = function.arguments(*edge).iter().zip(parameters);
                passed.extend(arguments.map(|(&from, &to)| (from.as_u32(), to.as_u32())));
            }
        }
        Solver {
            function,
            flow,
            post_dominators,
            loops,
            passed: Adjacency::new(function.values().len(), passed.iter().copied()),
            outside: Vec::new(),
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
            join_causes: Some(Vec::new()),
            loop_exits: None,
            temporal: vec![false; loop_count],
            not_temporal: loops.iter().map(|this| loops.parent(this)).collect(),
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
                if differs_by_thread(function, instruction) {
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
        let function = self.function;
        for reader in function.uses_of(value) {
            if let Use::Instruction(reader) = reader
                && let Some(block) = function.block_of(reader)
                && self.flow.is_reachable(block)
            {
                self.spread_instruction(reader);
            }
        }
        for index in 0..self.passed.of(value.as_u32()).len() {
            let parameter = self.passed.of(value.as_u32())[index];
            self.mark(Value::from_index(parameter as usize));
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
        let Some(joins) = joins else {
            return self.give_up();
        };
        for block in joins {
            let block = Block::from_index(block as usize);
            if let Some(causes) = &mut self.join_causes {
                causes.push((block, branch));
            }
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
            around = self.outside_temporal(this);
        }
    }

    /// The innermost loop around a temporal one that is not temporal.
    fn outside_temporal(&mut self, this: Loop) -> Option<Loop> {
        let mut at = this;
        while let Some(next) = self.not_temporal[at.index()] {
            if !self.temporal[next.index()] {
                break;
            }
            self.not_temporal[at.index()] = self.not_temporal[next.index()];
            at = next;
        }
        let found = self.not_temporal[at.index()];
        self.not_temporal[this.index()] = found;
        found
    }

    /// Takes everything for divergent.
    fn give_up(&mut self) {
        let function = self.function;
        self.join_causes = None;
        for value in function.values().keys() {
            self.divergent.insert(value);
        }
        for &block in self.flow.reverse_postorder() {
            self.joins.insert(block);
            if function
                .last_instruction(block)
                .is_some_and(|last| function.format(last).is_terminator())
            {
                self.divergent_branches.insert(block);
            }
        }
        self.worklist.clear();
        self.branches.clear();
    }

    /// Finds what reads values outside the loop of their definition.
    fn find_loop_exits(&mut self) -> LoopExits {
        let (function, loops) = (self.function, self.loops);
        let mut exits = Vec::new();
        let outside = &mut self.outside;
        let mut enter = |value: Value, user: Block, reader: Reader| {
            let inner = function
                .defining_block(value)
                .and_then(|block| loops.innermost(block));
            let Some(inner) = inner.filter(|&inner| !loops.contains(inner, user)) else {
                return;
            };
            let mut around = loops.parent(inner);
            while let Some(this) = around.filter(|&this| !loops.contains(this, user)) {
                around = loops.parent(this);
            }
            let depth = around.map_or(0, |this| loops.depth(loops.header(this)));
            let start = *loops.nest().range(inner.as_u32()).start();
            exits.push((start, depth, outside.len() as u32));
            outside.push(reader);
        };
        for &block in self.flow.reverse_postorder() {
            for instruction in function.instructions_of(block) {
                for value in function.uses(instruction) {
                    enter(value, block, Reader::Instruction(instruction));
                }
            }
            for edge in &function.blocks()[block].edges {
                let parameters = &function.blocks()[edge.target].parameters;
                for (&argument, &parameter) in function.arguments(*edge).iter().zip(parameters) {
                    enter(argument, edge.target, Reader::Parameter(parameter));
                }
            }
        }
        LoopExits::new(exits)
    }

    /// Values defined in a loop and used outside it.
    fn spread_loop(&mut self, this: Loop) {
        let depth = self.loops.depth(self.loops.header(this));
        let mut exits = match self.loop_exits.take() {
            Some(exits) => exits,
            None => self.find_loop_exits(),
        };
        let uses = exits.take(self.loops.nest().range(this.as_u32()), depth);
        self.loop_exits = Some(exits);
        for at in uses {
            match self.outside[at as usize] {
                Reader::Instruction(instruction) => self.spread_instruction(instruction),
                Reader::Parameter(parameter) => self.mark(parameter),
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
        variables: false,
    };

    fn compute(function: &Function, analyses: &mut Analyses) -> Uniformity {
        let flow = analyses.get::<ControlFlow>(function);
        let dominators = analyses.get::<Dominators>(function);
        let post_dominators = analyses.get::<PostDominators>(function);
        let loops = analyses.get::<Loops>(function);
        Uniformity::of(function, &flow, &dominators, &post_dominators, &loops)
    }
}
