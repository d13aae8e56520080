//! Gives every value a register: its home wherever that is right, another only where it must be.
//!
//! ## Example
//! After a pass let `%r1`'s old value live on behind an assignment to `%r1`, two values want one register at one time:
//! ```text
//! v1(%r1) = add v0, 1
//! v2(%r1) = add v1, 1           →   mov-free: v2 gets a new register, v1 keeps %r1
//! st [a], v1 ; st [b], v2
//! ```
//!
//! ## Soundness
//! A register is right for a set of values if on every path to every use of each of them its latest definition in the set
//! is that value: then it holds what the use expects. If that is so for every home, by a walk back from the uses, and no
//! copy is needed, all values stay at home. Otherwise registers are given out anew by live intervals, see
//! [`crate::coalescing`]. Values that meet in a block parameter from different registers are copied on the edge, all at
//! once. What a guarded instruction leaves unchanged is copied to the result's register first, unless it is there already.
//! [`crate::check`] proves each assignment again by forward symbolic execution.
//!
//! ## Method
//! Registers with a single value (96 % of them) need no look at all. For the others the walk costs the number of their
//! uses and of the blocks they are live in, where a loop that does not define the register counts as one block. Functions as they came
//! out of [`crate::into_ssa`] would pass at this first look, so they need none ([`homes`]); debug builds prove them by [`crate::check`]
//! like all others.

use crate::candidates::Candidate;
use crate::coalescing::share;
use crate::copy_placement::{LiveCandidates, Lost, Placement, Placer};
use crate::parallel_copy::{Copy, sequentialize};
use oriole_analysis::liveness::LiveSets;
use oriole_analysis::{Analyses, ControlFlow, Loop, Loops};
use oriole_collections::{BitSet, DenseMap, IndexVec, PackedOption};
use oriole_ir::{Block, Definition, Function, Instruction, Register, Value};
use oriole_isa::ScalarType;

/// The copies of one edge, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EdgeCopies {
    /// The block the edge leaves.
    pub block: Block,
    /// Which of its edges.
    pub edge: usize,
    /// Where the copies go.
    pub placement: Placement,
    /// The copies.
    pub copies: Vec<Copy<Register>>,
}

/// A register for every value, and the copies that makes necessary.
#[derive(Debug)]
pub struct Assignment {
    /// The register of each value; registers past the function's own are new.
    pub registers: IndexVec<Value, PackedOption<Register>>,
    /// Types of the new registers, the first one following the function's last.
    pub new_registers: Vec<ScalarType>,
    /// Copies on edges, in order of blocks and edges.
    pub edges: Vec<EdgeCopies>,
    /// Copies before guarded instructions.
    pub ties: DenseMap<Instruction, Vec<Copy<Register>>>,
    /// Copies of back edges that need blocks of their own: see [`crate::parameter_isolation`].
    pub(crate) lost: Vec<Lost>,
    /// Blocks that stand before loops, and are kept even if there is nothing in them but a branch.
    pub(crate) preheaders: BitSet<Block>,
}

impl Assignment {
    /// The register of a value that is used or defined.
    pub fn register(&self, value: Value) -> Register {
        self.registers[value].unwrap()
    }

    /// How many copies there are.
    pub fn copy_count(&self) -> usize {
        self.edges
            .iter()
            .map(|edge| edge.copies.len())
            .sum::<usize>()
            + self.ties.values_unordered().map(Vec::len).sum::<usize>()
    }
}

/// The register that each value is named after, and no copies: right where [`Function::is_as_renamed`].
pub(crate) fn homes(function: &Function) -> Assignment {
    debug_assert!(function.is_as_renamed());
    Assignment {
        registers: homes_of(function),
        new_registers: Vec::new(),
        edges: Vec::new(),
        ties: DenseMap::new(),
        lost: Vec::new(),
        preheaders: BitSet::new(),
    }
}

fn homes_of(function: &Function) -> IndexVec<Value, PackedOption<Register>> {
    function.values().values().map(|data| data.name).collect()
}

/// Something that happens to a register in a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Event {
    group: u32,
    /// Position of the block in reverse postorder.
    block: u32,
    /// Order in the block; uses are even, definitions odd.
    position: u32,
    value: Value,
}

impl Event {
    fn is_definition(self) -> bool {
        self.position & 1 == 1
    }
}

/// Registers that nothing lives in, by type; the last of a type is given first.
#[derive(Default)]
pub(crate) struct FreeRegisters(Vec<(ScalarType, Vec<Register>)>);

impl FreeRegisters {
    fn add(&mut self, scalar_type: ScalarType, register: Register) {
        match self.0.iter_mut().find(|(own, _)| *own == scalar_type) {
            Some((_, registers)) => registers.push(register),
            None => self.0.push((scalar_type, vec![register])),
        }
    }

    /// One of a type, which is no longer free.
    pub fn take(&mut self, scalar_type: ScalarType) -> Option<Register> {
        let own = self.0.iter_mut().find(|(own, _)| *own == scalar_type);
        own.and_then(|(_, registers)| registers.pop())
    }
}

/// By how many operands and arguments values are used where control gets.
pub(crate) struct UseCounts<'a> {
    function: &'a Function,
    /// Counted, if control does not get everywhere; otherwise the function knows them.
    counted: Option<IndexVec<Value, u32>>,
}

impl UseCounts<'_> {
    fn of<'a>(function: &'a Function, flow: &ControlFlow) -> UseCounts<'a> {
        let reached = flow.reverse_postorder();
        let counted = (reached.len() < function.block_order().len()).then(|| {
            let mut counts = IndexVec::from_elem(0, function.values().len());
            for &block in reached {
                for instruction in function.instructions_of(block) {
                    function
                        .uses(instruction)
                        .for_each(|value| counts[value] += 1);
                }
                for &edge in &function.blocks()[block].edges {
                    for &argument in function.arguments(edge) {
                        counts[argument] += 1;
                    }
                }
            }
            counts
        });
        UseCounts { function, counted }
    }

    /// By how many a value is used.
    #[inline]
    pub fn count(&self, value: Value) -> u32 {
        match &self.counted {
            Some(counts) => counts[value],
            None => self.function.use_count(value),
        }
    }
}

struct Assigner<'a> {
    function: &'a Function,
    flow: &'a ControlFlow,
    loops: &'a Loops,
    assignment: Assignment,
    uses: UseCounts<'a>,
    /// Values that are defined where control gets, in order.
    defined: Vec<Value>,
    /// Instructions where control gets whose results keep something if the guard is false, with their blocks, in order.
    tied: Vec<(Block, Instruction)>,
    round: u32,
    /// Round, and what the register holds at the end of each block with events.
    exits: Vec<(u32, Option<Value>)>,
    /// Round, and what the register must hold at the start of each block; the header stands for a loop that does not define it.
    needs: Vec<(u32, Option<Value>)>,
    /// Blocks at whose start the register must hold something, and the loop a header stands for.
    worklist: Vec<(Block, Option<Loop>, Value)>,
    /// Where in the nest of loops the register is defined.
    positions: Vec<u32>,
    /// What is live at the start of each block of the values that compete for registers, and these, if any do.
    live: Option<(LiveSets, IndexVec<Candidate, Value>)>,
}

/// Assigns registers to the values of a function; `analyses` are of it.
pub fn assign(function: &Function, analyses: &mut Analyses) -> Assignment {
    let (flow, loops) = (analyses.get(function), analyses.get(function));
    let (flow, loops): (&ControlFlow, &Loops) = (&flow, &loops);
    let blocks = function.blocks().len();
    let mut assigner = Assigner {
        function,
        flow,
        loops,
        assignment: Assignment {
            registers: homes_of(function),
            new_registers: Vec::new(),
            edges: Vec::new(),
            ties: DenseMap::new(),
            lost: Vec::new(),
            preheaders: preheaders(flow),
        },
        uses: UseCounts::of(function, flow),
        defined: Vec::with_capacity(function.values().len()),
        tied: Vec::new(),
        round: 0,
        exits: vec![(0, None); blocks],
        needs: vec![(0, None); blocks],
        worklist: Vec::new(),
        positions: Vec::new(),
        live: None,
    };
    assigner.find_defined();
    assigner.house();
    let mut placer = Placer::new(function, flow);
    if !assigner.is_settled() {
        assigner.share(&mut placer);
    }
    assigner.tie();
    assigner.copy_on_edges(&mut placer);
    assigner.drop_unused();
    assigner.assignment
}

/// The blocks that stand before loops.
fn preheaders(flow: &ControlFlow) -> BitSet<Block> {
    let headers = flow.loop_headers();
    let before = headers.iter().flat_map(|header| flow.predecessors(header));
    let is_preheader = |&block: &Block| flow.is_preheader(block, &headers);
    before.filter(is_preheader).collect()
}

impl Assigner<'_> {
    fn fresh(&mut self, scalar_type: ScalarType) -> Register {
        let index = self.function.registers().len() + self.assignment.new_registers.len();
        self.assignment.new_registers.push(scalar_type);
        Register::from_index(index)
    }

    /// Leaves out new registers that nothing is in any more: sharing a register with another value made them superfluous.
    fn drop_unused(&mut self) {
        let own = self.function.registers().len();
        let Assignment {
            registers,
            new_registers,
            edges,
            ties,
            ..
        } = &mut self.assignment;
        if new_registers.is_empty() {
            return;
        }
        let function = self.function;
        let mut is_used = vec![false; new_registers.len()];
        let mut mark = |register: Register| {
            if let Some(new) = register.index().checked_sub(own) {
                is_used[new] = true;
            }
        };
        for &block in function.block_order() {
            let parameters = function.blocks()[block].parameters.iter().copied();
            let arguments = function.edges(block).iter();
            let arguments = arguments.flat_map(|&edge| function.arguments(edge).iter().copied());
            let values = function.instructions_of(block).flat_map(|instruction| {
                let results = function.results(instruction);
                results.chain(function.uses(instruction))
            });
            for value in parameters.chain(arguments).chain(values) {
                if let Some(register) = registers[value].expand() {
                    mark(register);
                }
            }
        }
        let copies = edges
            .iter_mut()
            .flat_map(|edge| &mut edge.copies)
            .chain(ties.values_mut_unordered().flatten());
        let mut copies: Vec<&mut Copy<Register>> = copies.collect();
        for copy in &copies {
            mark(copy.from);
            mark(copy.to);
        }
        if is_used.iter().all(|&used| used) {
            return;
        }
        let mut next = own;
        let numbers: Vec<PackedOption<Register>> = is_used
            .iter()
            .map(|&used| {
                let number = Register::from_index(next);
                next += usize::from(used);
                used.then_some(number).into()
            })
            .collect();
        let renumber = |register: Register| match register.index().checked_sub(own) {
            Some(new) => numbers[new],
            None => PackedOption::some(register),
        };
        for register in registers.values_mut() {
            if let Some(old) = register.expand() {
                *register = renumber(old);
            }
        }
        for copy in &mut copies {
            copy.from = renumber(copy.from).unwrap();
            copy.to = renumber(copy.to).unwrap();
        }
        let mut used = is_used.iter();
        new_registers.retain(|_| *used.next().expect("one for each register"));
    }

    /// Finds what is defined where control gets, and what is tied there.
    fn find_defined(&mut self) {
        let function = self.function;
        for &block in self.flow.reverse_postorder() {
            self.defined.extend(&function.blocks()[block].parameters);
            for instruction in function.instructions_of(block) {
                let results = function.results(instruction);
                if results.len() > 0 && function.format(instruction).is_guarded() {
                    self.tied.push((block, instruction));
                }
                self.defined.extend(results);
            }
        }
    }

    /// Gives a register to each value that has no home.
    fn house(&mut self) {
        if !self
            .assignment
            .registers
            .values()
            .any(|home| home.is_none())
        {
            return;
        }
        let function = self.function;
        let mut free = self.free_registers();
        // A value without a home joins the register of what it is tied to or meets, if that turns out right. A parameter that
        // nobody reads needs no copies, only a register for its name.
        for index in 0..self.defined.len() {
            let value = self.defined[index];
            if self.assignment.registers[value].is_none() {
                let scalar_type = function.values()[value].scalar_type;
                let register = self
                    .preferred(value)
                    .or_else(|| free.take(scalar_type))
                    .unwrap_or_else(|| self.fresh(scalar_type));
                self.assignment.registers[value] = PackedOption::some(register);
            }
        }
        for &block in function.block_order() {
            if self.flow.is_reachable(block) {
                continue;
            }
            for instruction in function.instructions_of(block) {
                let mentioned: Vec<Value> = function
                    .results(instruction)
                    .chain(function.uses(instruction))
                    .collect();
                for value in mentioned {
                    if self.assignment.registers[value].is_none() {
                        let register = self.fresh(function.values()[value].scalar_type);
                        self.assignment.registers[value] = PackedOption::some(register);
                    }
                }
            }
        }
        for (value, data) in function.values().iter() {
            if data.definition == Definition::Undefined
                && self.assignment.registers[value].is_none()
            {
                let register = self.fresh(data.scalar_type);
                self.assignment.registers[value] = PackedOption::some(register);
            }
        }
    }

    /// The registers that nothing lives in any more.
    fn free_registers(&self) -> FreeRegisters {
        let function = self.function;
        let mut is_taken: BitSet<Register> = BitSet::with_domain(function.registers().len());
        let mut take = |value: Value| {
            if let Some(home) = self.assignment.registers[value].expand() {
                is_taken.insert(home);
            }
        };
        for &value in &self.defined {
            take(value);
        }
        for (value, data) in function.values().iter() {
            if data.definition == Definition::Undefined && self.uses.count(value) > 0 {
                take(value);
            }
        }
        if self.flow.reverse_postorder().len() < function.block_order().len() {
            let blocks = function.block_order().iter();
            for &block in blocks.filter(|&&block| !self.flow.is_reachable(block)) {
                for instruction in function.instructions_of(block) {
                    function.results(instruction).for_each(&mut take);
                    function.uses(instruction).for_each(&mut take);
                }
            }
        }
        let mut free = FreeRegisters::default();
        for (register, data) in function.registers().iter().rev() {
            if let Some(scalar_type) = data.scalar_type
                && !data.pinned
                && !is_taken.contains(register)
            {
                free.add(scalar_type, register);
            }
        }
        free
    }

    /// The register a homeless value would best share.
    fn preferred(&self, value: Value) -> Option<Register> {
        let function = self.function;
        let scalar_type = function.values()[value].scalar_type;
        let fits = |other: Value| {
            self.assignment.registers[other]
                .expand()
                .filter(|_| function.values()[other].scalar_type == scalar_type)
        };
        match function.values()[value].definition {
            Definition::Instruction(instruction) => {
                let position = function
                    .results(instruction)
                    .position(|result| result == value)?;
                let tied = function.otherwise(instruction).get(position)?.value()?;
                fits(tied)
            }
            Definition::Parameter(block) => {
                let position = function.blocks()[block]
                    .parameters
                    .iter()
                    .position(|&parameter| parameter == value)?;
                self.flow.predecessors(block).find_map(|from| {
                    function.blocks()[from]
                        .edges
                        .iter()
                        .filter(|edge| edge.target == block)
                        .find_map(|edge| fits(function.arguments(*edge)[position]))
                })
            }
            Definition::Undefined => None,
        }
    }

    /// Whether every value can stay at home and no copy is needed: so it is for functions no pass has touched.
    fn is_settled(&mut self) -> bool {
        let function = self.function;
        for &(_, instruction) in &self.tied {
            let kept = function.otherwise(instruction);
            for (result, kept) in function.results(instruction).zip(kept) {
                if kept
                    .value()
                    .is_some_and(|kept| self.needs_copy(kept, result))
                {
                    return false;
                }
            }
        }
        for &block in self.flow.reverse_postorder() {
            for edge in &function.blocks()[block].edges {
                let parameters = &function.blocks()[edge.target].parameters;
                for (&argument, &parameter) in function.arguments(*edge).iter().zip(parameters) {
                    if self.uses.count(parameter) > 0 && self.needs_copy(argument, parameter) {
                        return false;
                    }
                }
            }
        }
        // Values by register; registers with one value are right as they are.
        let register_count = function.registers().len() + self.assignment.new_registers.len();
        let mut members: IndexVec<Register, u32> = IndexVec::from_elem(0, register_count);
        for &value in &self.defined {
            members[self.assignment.register(value)] += 1;
        }
        let mut groups = 0;
        let mut group_of: IndexVec<Register, u32> = IndexVec::from_elem(u32::MAX, register_count);
        for (register, &count) in members.iter() {
            if count > 1 {
                group_of[register] = groups;
                groups += 1;
            }
        }
        if groups == 0 {
            return true;
        }
        let events = self.collect_events(&group_of);
        let loops = self.loops;
        events
            .chunk_by(|one, other| one.group == other.group)
            .all(|events| self.is_right(loops, events))
    }

    fn needs_copy(&self, from: Value, to: Value) -> bool {
        self.function.values()[from].definition != Definition::Undefined
            && self.assignment.register(from) != self.assignment.register(to)
    }

    /// Lets values share registers as their live intervals allow.
    fn share(&mut self, placer: &mut Placer<'_>) {
        let sharing = share(
            self.function,
            (self.flow, self.loops),
            &self.defined,
            &self.uses,
            &self.tied,
            || self.free_registers(),
            placer,
        );
        self.live = Some((sharing.live, sharing.candidates));
        for &value in &self.defined {
            self.assignment.registers[value] = sharing.registers[value];
        }
        if self.assignment.new_registers.is_empty() {
            self.assignment.new_registers = sharing.new_registers;
            return;
        }
        let own = self.function.registers().len();
        // New registers given before to values that nobody defines stay theirs, behind the others.
        let shift = sharing.new_registers.len();
        let mut is_defined: BitSet<Value> = BitSet::with_domain(self.function.values().len());
        for &value in &self.defined {
            is_defined.insert(value);
        }
        for (value, register) in self.assignment.registers.iter_mut() {
            if let Some(new) = register.expand().filter(|new| new.index() >= own)
                && !is_defined.contains(value)
            {
                *register = PackedOption::some(Register::from_index(new.index() + shift));
            }
        }
        let mut new_registers = sharing.new_registers;
        new_registers.append(&mut self.assignment.new_registers);
        self.assignment.new_registers = new_registers;
    }

    fn fresh_like(&mut self, register: Register) -> Register {
        let own = self.function.registers().len();
        let scalar_type = if register.index() < own {
            self.function.registers()[register]
                .scalar_type
                .expect("values live in registers of known type")
        } else {
            self.assignment.new_registers[register.index() - own]
        };
        self.fresh(scalar_type)
    }

    fn collect_events(&self, group_of: &IndexVec<Register, u32>) -> Vec<Event> {
        let function = self.function;
        let registers = &self.assignment.registers;
        let group = |value: Value| {
            if function.values()[value].definition == Definition::Undefined {
                return None;
            }
            let register = registers[value].expand()?;
            Some(group_of[register]).filter(|&group| group != u32::MAX)
        };
        let mut events = Vec::new();
        for (block_position, &block) in self.flow.reverse_postorder().iter().enumerate() {
            let mut position = 0;
            let mut add = |value: Value, position: u32| {
                if let Some(group) = group(value) {
                    events.push(Event {
                        group,
                        block: block_position as u32,
                        position,
                        value,
                    });
                }
            };
            for &parameter in &function.blocks()[block].parameters {
                add(parameter, 1);
            }
            for instruction in function.instructions_of(block) {
                position += 2;
                for value in function.uses(instruction) {
                    add(value, position);
                }
                for result in function.results(instruction) {
                    add(result, position + 1);
                }
            }
            for edge in &function.blocks()[block].edges {
                for &argument in function.arguments(*edge) {
                    add(argument, position + 2);
                }
            }
        }
        events.sort_unstable();
        events.dedup();
        events
    }

    /// Whether the values of a register, whose events are given in order, never need it at the same time.
    fn is_right(&mut self, loops: &Loops, events: &[Event]) -> bool {
        self.round += 1;
        let round = self.round;
        let order = self.flow.reverse_postorder();
        self.worklist.clear();
        self.positions.clear();
        for event in events.iter().filter(|event| event.is_definition()) {
            let block = order[event.block as usize];
            self.positions.extend(loops.nest().position(block.as_u32()));
        }
        self.positions.sort_unstable();
        for events in events.chunk_by(|one, other| one.block == other.block) {
            let block = order[events[0].block as usize];
            let mut holds: Option<Value> = None;
            let mut defined_at = u32::MAX;
            for event in events {
                if event.is_definition() {
                    if defined_at == event.position {
                        return false;
                    }
                    defined_at = event.position;
                    holds = Some(event.value);
                } else {
                    match holds {
                        None => {
                            if !self.need(loops, block, event.value) {
                                return false;
                            }
                            holds = Some(event.value);
                        }
                        Some(other) if other != event.value => return false,
                        Some(_) => {}
                    }
                }
            }
            self.exits[block.index()] = (round, holds);
        }
        while let Some((block, around, value)) = self.worklist.pop() {
            for from in self.flow.predecessors(block) {
                if !self.flow.is_reachable(from)
                    || around.is_some_and(|around| loops.contains(around, from))
                {
                    continue;
                }
                let (stamp, exit) = self.exits[from.index()];
                if let (true, Some(exit)) = (stamp == round, exit) {
                    if exit != value {
                        return false;
                    }
                } else if !self.need(loops, from, value) {
                    return false;
                }
            }
        }
        true
    }

    /// Notes that the register must hold a value at the start of a block, and with that everywhere in a loop around it that
    /// does not define the register. False if it must hold another one there.
    fn need(&mut self, loops: &Loops, block: Block, value: Value) -> bool {
        let around = loops.outermost_without(block, &self.positions);
        let block = around.map_or(block, |around| loops.header(around));
        let need = &mut self.needs[block.index()];
        match *need {
            (stamp, Some(other)) if stamp == self.round => other == value,
            _ => {
                *need = (self.round, Some(value));
                self.worklist.push((block, around, value));
                true
            }
        }
    }

    /// Makes guarded instructions keep the right thing when their guard is false.
    fn tie(&mut self) {
        let function = self.function;
        for &(_, instruction) in &std::mem::take(&mut self.tied) {
            let mut copies = Vec::new();
            for (result, kept) in function
                .results(instruction)
                .zip(function.otherwise(instruction))
            {
                let Some(kept) = kept.value() else {
                    continue;
                };
                if function.values()[kept].definition == Definition::Undefined
                    || self.assignment.register(kept) == self.assignment.register(result)
                {
                    continue;
                }
                // The copy comes before the instruction: it must not overwrite what the instruction reads, unless that may be
                // anything.
                let register = self.assignment.register(result);
                let reads_it = function.uses(instruction).any(|value| {
                    function.values()[value].definition != Definition::Undefined
                        && self.assignment.register(value) == register
                });
                if reads_it {
                    let moved = self.fresh_like(register);
                    self.assignment.registers[result] = PackedOption::some(moved);
                }
                copies.push(Copy {
                    from: self.assignment.register(kept),
                    to: self.assignment.register(result),
                });
            }
            if !copies.is_empty() {
                let copies = self.sequence(&copies);
                self.assignment.ties.insert(instruction, copies);
            }
        }
    }

    fn sequence(&mut self, copies: &[Copy<Register>]) -> Vec<Copy<Register>> {
        sequentialize(copies, |register| self.fresh_like(register))
    }

    fn copy_on_edges(&mut self, placer: &mut Placer<'_>) {
        let function = self.function;
        placer.refill();
        for &block in self.flow.reverse_postorder() {
            let data = &function.blocks()[block];
            for (index, edge) in data.edges.iter().enumerate() {
                let parameters = &function.blocks()[edge.target].parameters;
                let mut copies = Vec::new();
                for (&argument, &parameter) in function.arguments(*edge).iter().zip(parameters) {
                    if self.uses.count(parameter) == 0
                        || function.values()[argument].definition == Definition::Undefined
                    {
                        continue;
                    }
                    let (from, to) = (
                        self.assignment.register(argument),
                        self.assignment.register(parameter),
                    );
                    if from != to {
                        copies.push(Copy { from, to });
                    }
                }
                if copies.is_empty() {
                    continue;
                }
                let register = |value| self.assignment.register(value);
                let (sets, values) = self
                    .live
                    .as_ref()
                    .expect("copies are left only where registers were shared");
                let live = LiveCandidates { sets, values };
                let placement = placer.place(block, index, &copies, live, &register);
                if placement == Placement::NewBlock {
                    let lost = placer.lost((block, index), &copies, live, &register);
                    self.assignment.lost.extend(lost);
                }
                let copies = self.sequence(&copies);
                self.assignment.edges.push(EdgeCopies {
                    block,
                    edge: index,
                    placement,
                    copies,
                });
            }
        }
    }
}
