//! Which instructions a run has to visit that follows another one.
//!
//! What is found at an instruction depends on it and on two instructions back from it: what they are, what is known of their operands and
//! whether anybody else reads these. So whoever was changed is visited again, with its readers and theirs, and likewise the readers of
//! values that have one reader left or of which something else is known now. The rest looks elsewhere. Extensions and sums are folded into all
//! their readers at once, so these are visited when a reader is gone. A guarded move asks whether the
//! value it may keep has another reader, so it is visited when that gets one. Some ask who reads their own results, so what
//! defines a value that lost a reader, or got the first one, is visited. [`super::AddressChains`] look along sums, so from a value that
//! lost a reader one goes back along these. And what local memory is addressed by depends on who else reads an array and on
//! blocks.
//!
//! Readers of what the last run changed on its way were visited behind it. What it changed is visited again: rules are not tried
//! once more behind rewrites of operands.
//!
//! The list is gone over in the order in which a run visits everything, and what is done adds to it behind the place where it is done: what
//! comes out is the same.

use super::address_chains::sum_of;
use super::view::{Facts, MAXIMUM_READERS};
use super::{GoOn, Walk};
use crate::change_log::Changes;
use oriole_analysis::ControlFlow;
use oriole_collections::BitSet;
use oriole_ir::{Block, Change, Definition, Function, Instruction, Traits, Use, Value};
use oriole_isa::Opcode;

/// What is to be visited.
pub(super) struct Worklist {
    instructions: BitSet<Instruction>,
    /// Blocks whose parameters are to be looked at.
    parameters: BitSet<Block>,
    /// Blocks with something to visit.
    blocks: BitSet<Block>,
    /// Whether there are instructions that keep a value under a guard.
    has_guarded: bool,
    /// Whether there are accesses to local memory.
    has_local: bool,
    /// Values whose guarded readers are on the list.
    guarded: BitSet<Value>,
    /// How many of the values are dealt with that lost a reader in this run.
    released: usize,
}

/// Who may have work now that a value lost a reader.
enum Interest {
    None,
    /// Its other readers.
    Readers,
    /// They and their readers.
    Further,
}

/// Values, instructions and blocks from which the list was filled, so that each is gone out from once.
struct Origins {
    touched: BitSet<Instruction>,
    replaced: BitSet<Value>,
    released: BitSet<Value>,
    spread: BitSet<Value>,
    further: BitSet<Value>,
    merged: BitSet<Block>,
}

impl Worklist {
    /// What changes to a function may have given work. The first `in_order` of them were made before their readers were visited.
    pub fn of(
        function: &Function,
        flow: &ControlFlow,
        changes: Changes<'_>,
        in_order: usize,
    ) -> Worklist {
        let (instructions, values) = (function.instruction_bound(), function.values().len());
        let mut worklist = Worklist {
            instructions: BitSet::with_domain(instructions),
            parameters: BitSet::with_domain(function.blocks().len()),
            blocks: BitSet::with_domain(function.blocks().len()),
            has_guarded: function.traits().have(Traits::GUARDED),
            has_local: function.traits().have(Traits::LOCAL),
            guarded: BitSet::new(),
            released: 0,
        };
        let mut origins = Origins {
            touched: BitSet::with_domain(instructions),
            replaced: BitSet::with_domain(values),
            released: BitSet::with_domain(values),
            spread: BitSet::with_domain(values),
            further: BitSet::with_domain(values),
            merged: BitSet::new(),
        };
        let (own, others) = changes
            .entries
            .split_at(in_order.min(changes.entries.len()));
        for change in own {
            match *change {
                Change::Inserted(instruction) | Change::Rewritten(instruction)
                    if origins.touched.insert(instruction) =>
                {
                    worklist.instruction(function, instruction);
                    worklist.operands(function, instruction);
                }
                Change::Replaced(_, new) => worklist.guarded_readers(function, new),
                _ => {}
            }
        }
        origins.touched.clear();
        let mut is_reshaped = false;
        for change in others {
            match *change {
                Change::Inserted(instruction)
                | Change::Rewritten(instruction)
                | Change::Moved(instruction) => {
                    worklist.touch(function, &mut origins, instruction);
                }
                Change::Replaced(_, new) => {
                    if !origins.replaced.insert(new) {
                        continue;
                    }
                    worklist.definition(function, new);
                    for user in function.uses_of(new) {
                        match user {
                            Use::Instruction(user) => worklist.touch(function, &mut origins, user),
                            Use::Edge(block) => worklist.arguments(function, block),
                        }
                    }
                }
                Change::ArgumentsChanged(block) => worklist.arguments(function, block),
                Change::ParametersChanged(block) => worklist.parameters(block),
                Change::Removed(..)
                | Change::TerminatorChanged(_)
                | Change::UnrollingForbidden(_)
                | Change::VariableAdded(_)
                | Change::VariableChanged(_)
                | Change::VariableRemoved(_) => {}
                Change::BlocksMerged(block, _) => {
                    is_reshaped = true;
                    if origins.merged.insert(block) {
                        worklist.local_accesses(function, block);
                    }
                }
                Change::BlockAdded(_)
                | Change::BlockRemoved(_)
                | Change::BlockSplit(..)
                | Change::EdgeSplit(..)
                | Change::EdgesChanged(_) => is_reshaped = true,
            }
        }
        if is_reshaped {
            for &block in flow.reverse_postorder() {
                if !function.blocks()[block].parameters.is_empty() {
                    worklist.parameters(block);
                }
            }
        }
        for &value in changes.released {
            worklist.release(function, &mut origins, value);
        }
        worklist
    }

    /// Whether there is nothing to visit.
    pub fn are_none(&self) -> bool {
        self.blocks.is_empty()
    }

    fn instruction(&mut self, function: &Function, instruction: Instruction) {
        if self.instructions.insert(instruction)
            && let Some(block) = function.block_of(instruction)
        {
            self.blocks.insert(block);
        }
    }

    fn parameters(&mut self, block: Block) {
        self.parameters.insert(block);
        self.blocks.insert(block);
    }

    /// The edges out of a block bring something else.
    fn arguments(&mut self, function: &Function, block: Block) {
        for edge in function.edges(block) {
            self.parameters(edge.target);
        }
    }

    fn definition(&mut self, function: &Function, value: Value) {
        if let Definition::Instruction(definer) = function.values()[value].definition {
            self.instruction(function, definer);
        }
    }

    /// An instruction is another one than it was.
    fn touch(&mut self, function: &Function, origins: &mut Origins, instruction: Instruction) {
        if !origins.touched.insert(instruction) || function.block_of(instruction).is_none() {
            return;
        }
        self.instruction(function, instruction);
        for result in function.results(instruction) {
            self.spread_all(function, origins, result);
        }
        self.operands(function, instruction);
    }

    /// An instruction may read other values than it did.
    fn operands(&mut self, function: &Function, instruction: Instruction) {
        for value in function.uses(instruction) {
            self.gain_reader(function, value);
        }
    }

    /// Worklist the accesses to local memory in a block.
    fn local_accesses(&mut self, function: &Function, block: Block) {
        if !self.has_local {
            return;
        }
        for instruction in function.instructions_of(block) {
            if function.format(instruction).traits().have(Traits::LOCAL) {
                self.instruction(function, instruction);
            }
        }
    }

    /// A value has another reader.
    fn gain_reader(&mut self, function: &Function, value: Value) {
        self.guarded_readers(function, value);
        if let Definition::Instruction(definer) = function.values()[value].definition
            && (function.use_count(value) == 1
                || function.format(definer).mnemonic.opcode() == Opcode::Cvt)
        {
            self.instruction(function, definer);
        }
    }

    fn guarded_readers(&mut self, function: &Function, value: Value) {
        if !self.has_guarded || !self.guarded.insert(value) {
            return;
        }
        for user in function.uses_of(value) {
            if let Use::Instruction(user) = user
                && function.format(user).is_guarded()
            {
                self.instruction(function, user);
            }
        }
    }

    /// A value lost a reader.
    fn release(&mut self, function: &Function, origins: &mut Origins, mut value: Value) {
        while origins.released.insert(value) {
            match self.interest(function, value) {
                Interest::None => {}
                Interest::Readers => self.readers(function, value),
                Interest::Further => self.spread_all(function, origins, value),
            }
            // Sums before it may only serve addresses now.
            let Definition::Instruction(definer) = function.values()[value].definition else {
                return;
            };
            match sum_of(function, definer).and_then(|_| function.uses(definer).next()) {
                Some(term) if function.block_of(definer).is_some() => value = term,
                _ => return,
            }
        }
    }

    /// Who may have work now that a value lost a reader. What defines it is added.
    fn interest(&mut self, function: &Function, value: Value) -> Interest {
        let count = function.use_count(value) as usize;
        let definer = match function.values()[value].definition {
            Definition::Instruction(definer) => Some(definer),
            _ => None,
        };
        if let Some(definer) = definer
            && (count > 0 || function.results(definer).len() > 1)
        {
            self.instruction(function, definer);
        }
        let opcode = definer.map(|definer| function.format(definer).mnemonic.opcode());
        let is_folded = matches!(opcode, Some(Opcode::Cvt | Opcode::Add | Opcode::Or));
        match count {
            0 => Interest::None,
            1 => Interest::Further,
            _ if self.has_local => Interest::Further,
            2..=MAXIMUM_READERS if is_folded => Interest::Readers,
            _ => Interest::None,
        }
    }

    /// Worklist the readers of a value.
    fn readers(&mut self, function: &Function, value: Value) {
        for user in function.uses_of(value) {
            if let Use::Instruction(user) = user {
                self.instruction(function, user);
            }
        }
    }

    /// Worklist the readers of a value, and theirs.
    fn spread_all(&mut self, function: &Function, origins: &mut Origins, value: Value) {
        if !origins.spread.insert(value) {
            return;
        }
        for user in function.uses_of(value) {
            let Use::Instruction(user) = user else {
                continue;
            };
            self.instruction(function, user);
            for result in function.results(user) {
                if !origins.further.insert(result) {
                    continue;
                }
                for further in function.uses_of(result) {
                    if let Use::Instruction(further) = further {
                        self.instruction(function, further);
                    }
                }
            }
        }
    }

    /// Worklist the readers of a value of which something else is known now, and theirs.
    pub fn spread(&mut self, function: &Function, value: Value) {
        for user in function.uses_of(value) {
            match user {
                Use::Instruction(user) => {
                    self.instruction(function, user);
                    for result in function.results(user) {
                        for further in function.uses_of(result).take(MAXIMUM_READERS) {
                            if let Use::Instruction(further) = further {
                                self.instruction(function, further);
                            }
                        }
                    }
                }
                Use::Edge(block) => self.arguments(function, block),
            }
        }
    }
}

impl Walk<'_, '_, '_> {
    /// Visits what is on the list. Whether to go on. Debug builds visit the others too, and see whether there is nothing to do.
    pub(super) fn visit_worklist(&mut self, flow: &ControlFlow) -> GoOn {
        for &block in flow.reverse_postorder() {
            let is_listed = |worklist: &Worklist| worklist.blocks.contains(block);
            if !self.worklist.as_ref().is_some_and(is_listed) && !cfg!(debug_assertions) {
                continue;
            }
            self.join_parameters(flow, block);
            let mut next = self.editor.function().instructions_of(block).next();
            while let Some(instruction) = next {
                next = self.editor.function().next_instruction(instruction);
                let Some(worklist) = &mut self.worklist else {
                    continue;
                };
                let is_listed = worklist.instructions.remove(instruction);
                if !is_listed && !cfg!(debug_assertions) {
                    continue;
                }
                let before = self.editor.change_count();
                if !self.visit(instruction) {
                    return false;
                }
                assert!(
                    is_listed || self.editor.change_count() == before,
                    "a visit does something where nothing gave it work"
                );
                self.add_released(instruction);
            }
        }
        true
    }

    /// Finds again what is known of the parameters of a block, if other arguments come.
    fn join_parameters(&mut self, flow: &ControlFlow, block: Block) {
        let Some(worklist) = &mut self.worklist else {
            return;
        };
        if !worklist.parameters.remove(block) {
            return;
        }
        let function = self.editor.function();
        for (position, &parameter) in function.blocks()[block].parameters.iter().enumerate() {
            let known = self.known.of_parameter(function, flow, block, position);
            if self.known.set(parameter, known) {
                let scalar_type = function.values()[parameter].scalar_type;
                self.of_values[parameter] = Facts::of_known(known, scalar_type);
                worklist.spread(function, parameter);
            }
        }
    }

    /// Worklist the readers of what an instruction gives that is about to change.
    pub(super) fn add_readers(&mut self, instruction: Instruction) {
        if let Some(worklist) = &mut self.worklist {
            let function = self.editor.function();
            for result in function.results(instruction) {
                worklist.spread(function, result);
            }
        }
    }

    /// Worklist what may keep a value under a guard that is about to get readers.
    pub(super) fn add_guarded(&mut self, value: Value) {
        if let Some(worklist) = &mut self.worklist {
            worklist.guarded_readers(self.editor.function(), value);
        }
    }

    /// Worklist what looks at values that lost a reader, or got another one, when an instruction was visited.
    fn add_released(&mut self, instruction: Instruction) {
        let Some(worklist) = &mut self.worklist else {
            return;
        };
        let function = self.editor.function();
        let released = function.released();
        if released.len() == worklist.released {
            return;
        }
        for &value in &released[worklist.released..] {
            match worklist.interest(function, value) {
                Interest::None => {}
                Interest::Readers => worklist.readers(function, value),
                Interest::Further => {
                    if function.use_count(value) as usize <= MAXIMUM_READERS {
                        worklist.spread(function, value);
                    }
                }
            }
        }
        worklist.released = released.len();
        if function.block_of(instruction).is_some() {
            worklist.operands(function, instruction);
        }
    }
}
