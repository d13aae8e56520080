//! Changes to blocks, their parameters and the edges between them.

use super::Editor;
use crate::entities::{Block, Instruction, Value};
use crate::format::ShapeNode;
use crate::function::{BlockData, Definition, Edge, ValueData};
use crate::journal::Change;
use crate::operand::Operand;
use crate::use_lists::Slot;
use oriole_collections::{DenseSet, PackedOption, SmallVec};
use oriole_isa::{Opcode, ScalarType, build};
use oriole_syntax::tree::Guard;

impl Editor<'_> {
    fn note_edges(&mut self, block: Block) {
        self.note_shape(Change::EdgesChanged(block));
    }

    /// Notes a change to blocks or edges.
    fn note_shape(&mut self, change: Change) {
        self.journal.control_flow = true;
        self.note(change);
    }

    /// Makes an empty block without edges, and puts it behind another in the layout.
    pub fn add_block_after(&mut self, block: Block) -> Block {
        let new = self.function.blocks.push(BlockData::default());
        self.function.layout.insert_block_after(new, block);
        self.note_shape(Change::BlockAdded(new));
        new
    }

    /// Makes an empty block without edges, and puts it before another in the layout, which is not the entry.
    pub fn add_block_before(&mut self, block: Block) -> Block {
        debug_assert_ne!(
            block,
            self.function.entry(),
            "nothing comes before the entry"
        );
        let new = self.function.blocks.push(BlockData::default());
        self.function.layout.insert_block_before(new, block);
        self.note_shape(Change::BlockAdded(new));
        new
    }

    /// Lets a block without edges and without terminator fall through to another.
    pub fn set_fall_through(&mut self, block: Block, target: Block, arguments: &[Value]) {
        self.link_fall_through(block, target, arguments);
        self.note_edges(block);
    }

    /// [`Editor::set_fall_through`] without an entry in the journal.
    fn link_fall_through(&mut self, block: Block, target: Block, arguments: &[Value]) {
        debug_assert!(self.function.blocks[block].edges.is_empty());
        let edge = self.link_edge(block, target, arguments);
        let data = &mut self.function.blocks[block];
        data.edges.push(edge);
        data.falls_through = true;
    }

    fn link_edge(&mut self, block: Block, target: Block, arguments: &[Value]) -> Edge {
        let arguments: SmallVec<[Value; 8]> =
            arguments.iter().map(|&value| self.resolve(value)).collect();
        self.function.link_edge(block, target, &arguments)
    }

    /// Lets a block branch to another under a condition, and go on as it did otherwise. The branch becomes its last instruction.
    pub fn branch_if(
        &mut self,
        block: Block,
        guard: Guard,
        predicate: Operand,
        target: Block,
        arguments: &[Value],
    ) {
        let data = &self.function.blocks[block];
        debug_assert!(data.falls_through && data.edges.len() == 1);
        let format = self.format(
            &build::bare(Opcode::Bra),
            guard,
            [ShapeNode::LEAF].into_iter(),
        );
        self.append(block, format, &[predicate, Operand::Target(0)], &[]);
        let edge = self.link_edge(block, target, arguments);
        self.function.blocks[block].edges.insert(0, edge);
        self.note_edges(block);
    }

    /// Cuts a block in two: `first` and what comes behind it, with the edges, goes into a new block, which the old one falls
    /// through to.
    pub fn split_block(&mut self, first: Instruction) -> Block {
        let block = self
            .function
            .block_of(first)
            .expect("a block is split at one of its instructions");
        let new = self.add_block_after(block);
        let mut next = Some(first);
        while let Some(instruction) = next {
            next = self.function.layout.next(instruction);
            self.function.layout.remove(instruction);
            self.function.layout.append(new, instruction);
        }
        self.move_edges(block, new);
        self.link_fall_through(block, new, &[]);
        self.note_shape(Change::BlockSplit(block, new));
        self.journal.order = true;
        new
    }

    /// Makes the edges of one block those of another, which has none.
    fn move_edges(&mut self, from: Block, to: Block) {
        let data = &mut self.function.blocks[from];
        let edges = std::mem::take(&mut data.edges);
        let falls_through = std::mem::take(&mut data.falls_through);
        for edge in &edges {
            for index in edge.argument_range() {
                let slot = Slot::argument(index);
                self.function.use_lists.set_owner(slot, to.as_u32());
            }
        }
        let data = &mut self.function.blocks[to];
        data.edges = edges;
        data.falls_through = falls_through;
    }

    /// Puts a new block on an edge, which hands the arguments on, and falls through to where the edge led.
    pub fn split_edge(&mut self, block: Block, edge: usize) -> Block {
        let data = &self.function.blocks[block];
        let old = data.edges[edge];
        let new = if data.fall_through() == Some(edge) || old.target == self.function.entry() {
            self.add_block_after(block)
        } else {
            self.add_block_before(old.target)
        };
        let arguments = self.function.arguments(old).to_vec();
        self.relink_edge(block, edge, new, &[]);
        self.link_fall_through(new, old.target, &arguments);
        self.note_shape(Change::EdgeSplit(block, new));
        new
    }

    /// Lets the terminator of a block go one way only: along this edge. The other edges are dropped with their arguments.
    pub fn keep_edge(&mut self, block: Block, edge: usize) {
        let data = &mut self.function.blocks[block];
        let falls_through = data.fall_through() == Some(edge);
        let mut edges = std::mem::take(&mut data.edges);
        let kept = edges.swap_remove(edge);
        for dropped in edges {
            self.function.unlink_edge(dropped);
        }
        let data = &mut self.function.blocks[block];
        data.edges.push(kept);
        data.falls_through = falls_through;
        let last = self
            .function
            .last_instruction(block)
            .filter(|&last| self.function.format(last).is_terminator())
            .expect("a block with several ways out has a branch");
        if falls_through {
            self.remove_instruction(last);
        } else {
            let format = self.plain_format(&build::bare(Opcode::Bra), 1);
            self.rewrite(last, format, &[Operand::Target(0)]);
        }
        self.note_edges(block);
        self.journal.effects = true;
    }

    /// Leads an edge to another block.
    pub fn redirect(&mut self, block: Block, edge: usize, target: Block, arguments: Vec<Value>) {
        self.relink_edge(block, edge, target, &arguments);
        self.note_edges(block);
    }

    /// [`Editor::redirect`] without an entry in the journal.
    fn relink_edge(&mut self, block: Block, edge: usize, target: Block, arguments: &[Value]) {
        let new = self.link_edge(block, target, arguments);
        let old = std::mem::replace(&mut self.function.blocks[block].edges[edge], new);
        self.function.unlink_edge(old);
    }

    /// Sets one argument of an edge.
    pub fn set_argument(&mut self, block: Block, edge: usize, position: usize, value: Value) {
        let value = self.resolve(value);
        let at = self.function.blocks[block].edges[edge]
            .argument_range()
            .start
            + position;
        let slot = Slot::argument(at);
        let old = std::mem::replace(&mut self.function.arguments[at], value);
        self.function.use_lists.unlink(old, slot);
        self.function.use_lists.link(value, slot, block.as_u32());
        self.note(Change::ArgumentsChanged(block));
    }

    /// Adds a parameter to a block; whoever adds it also gives every edge to the block an argument, with
    /// [`Editor::push_argument`].
    pub fn add_parameter(&mut self, block: Block, scalar_type: ScalarType) -> Value {
        let value = self.function.values.push(ValueData {
            definition: Definition::Parameter(block),
            name: PackedOption::none(),
            scalar_type,
        });
        self.function.blocks[block].parameters.push(value);
        self.note(Change::ParametersChanged(block));
        value
    }

    /// Adds an argument to an edge.
    pub fn push_argument(&mut self, block: Block, edge: usize, value: Value) {
        let old = self.function.blocks[block].edges[edge];
        let mut arguments = self.function.arguments(old).to_vec();
        arguments.push(value);
        self.relink_edge(block, edge, old.target, &arguments);
        self.note(Change::ArgumentsChanged(block));
    }

    /// Lets a block whose only way out is a branch fall through to where the branch leads.
    pub fn fall_through(&mut self, block: Block) {
        debug_assert_eq!(self.function.blocks[block].edges.len(), 1);
        let last = self
            .function
            .last_instruction(block)
            .expect("a block that does not fall through ends in a branch");
        self.remove_instruction(last);
        self.function.blocks[block].falls_through = true;
    }

    /// Keeps `ptxas` from unrolling the loop that a block heads.
    pub fn forbid_unrolling(&mut self, header: Block) {
        let data = &mut self.function.blocks[header];
        if !data.nounroll {
            data.nounroll = true;
            data.adds_nounroll = true;
            self.note(Change::UnrollingForbidden(header));
        }
    }

    /// Turns the condition of a two-way branch round: where it led it falls through, and the other way round.
    pub fn invert_branch(&mut self, block: Block) {
        let last = self
            .function
            .last_instruction(block)
            .expect("a block with two ways out has a branch");
        let guard = self.function.format(last).guard.opposite();
        let operands = self.function.operands(last).to_vec();
        let format = self.format_with_guard(last, guard);
        self.rewrite(last, format, &operands);
        let data = &mut self.function.blocks[block];
        debug_assert!(data.edges.len() == 2 && data.falls_through);
        data.edges.swap(0, 1);
        self.note_edges(block);
    }

    /// Puts what is in `next` behind what is in `block`, whose only way out leads to `next` and is `next`'s only way in.
    /// `next` is left empty and must be removed, see [`Editor::remove_blocks`].
    pub fn merge_blocks(&mut self, block: Block, next: Block) {
        debug_assert_eq!(self.function.blocks[block].edges.len(), 1);
        debug_assert_eq!(self.function.blocks[block].edges[0].target, next);
        if let Some(last) = self.function.last_instruction(block)
            && self.function.format(last).is_terminator()
        {
            self.remove_instruction(last);
        }
        let edge = self.function.blocks[block].edges.remove(0);
        let arguments = self.function.arguments(edge).to_vec();
        self.function.unlink_edge(edge);
        let parameters = std::mem::take(&mut self.function.blocks[next].parameters);
        for (parameter, argument) in parameters.into_iter().zip(arguments) {
            self.replace_value(parameter, argument);
        }
        self.function.layout.append_all_of(block, next);
        self.move_edges(next, block);
        self.note_shape(Change::BlocksMerged(block, next));
        self.journal.order = true;
        self.journal.effects = true;
    }

    /// Removes blocks with all they hold. No edge from a block that stays may lead to one of them.
    pub fn remove_blocks(&mut self, blocks: &[Block]) {
        if blocks.is_empty() {
            return;
        }
        let mut gone: DenseSet<Block> = DenseSet::new();
        for &block in blocks {
            gone.insert(block);
            let instructions: Vec<Instruction> = self.function.instructions_of(block).collect();
            for instruction in instructions {
                self.remove_instruction(instruction);
            }
            let data = &mut self.function.blocks[block];
            data.parameters.clear();
            data.falls_through = false;
            for edge in std::mem::take(&mut data.edges) {
                self.function.unlink_edge(edge);
            }
            self.journal.entries.push(Change::BlockRemoved(block));
        }
        self.function
            .layout
            .retain_blocks(|block| !gone.contains(block));
        self.journal.control_flow = true;
        self.journal.changes += 1;
        self.journal.removals += 1;
    }

    /// Removes the parameters of a block that `keep` rejects, by position, with the arguments for them.
    /// `incoming` are the blocks with an edge to `block`.
    pub fn retain_parameters(
        &mut self,
        block: Block,
        incoming: &[Block],
        keep: impl Fn(usize) -> bool,
    ) {
        let filter = |list: &[Value]| -> Vec<Value> {
            let kept = list
                .iter()
                .enumerate()
                .filter(|&(position, _)| keep(position));
            kept.map(|(_, &value)| value).collect()
        };
        let parameters = filter(&self.function.blocks[block].parameters);
        self.function.blocks[block].parameters = parameters;
        let mut seen: Vec<Block> = Vec::new();
        for &from in incoming {
            if seen.contains(&from) {
                continue;
            }
            seen.push(from);
            for index in 0..self.function.blocks[from].edges.len() {
                let edge = self.function.blocks[from].edges[index];
                if edge.target == block {
                    let arguments = filter(self.function.arguments(edge));
                    self.function.unlink_edge(edge);
                    let edge = self.link_edge(from, block, &arguments);
                    self.function.blocks[from].edges[index] = edge;
                    self.journal.entries.push(Change::ArgumentsChanged(from));
                }
            }
        }
        self.note(Change::ParametersChanged(block));
        self.journal.removals += 1;
    }
}
