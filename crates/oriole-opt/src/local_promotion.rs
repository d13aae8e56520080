//! Keeps scalars of local memory in registers.
//!
//! ## Example
//! ```text
//! st.local.u32 [depot+4], %r1;                   →
//! …                                                       …
//! ld.local.u32 %r2, [depot+4];                            mov.b32 %r2, %r1;
//! ```
//!
//! ## Soundness
//! All accesses to a local variable whose address is nowhere taken are known (`oriole_analysis::memory`). Bytes of it that are only
//! loaded and stored as one number of one width, by plain instructions, are a variable of that width: a load gives what the
//! last store on the way to it stored, and anything if there was none, for local memory starts with any contents.
//!
//! ## Method
//! Each such place goes into SSA form on its own. Parameters go to the iterated dominance frontier of the stores, where the
//! variable is live (Cytron et al.); loads become copies of what reaches them, guarded stores selects. Variables that nothing
//! names any more are removed. Linear in the accesses and the blocks where the variable is live.
//!
//! ## Not done
//! Bytes accessed in several widths, vectors, numbers of 8 bits and variables whose address is taken (`local_promotion_unchanged`).

use crate::manager::{Action, Context, Pass, Trigger};
use crate::remark::Rewrite;
use oriole_analysis::memory::{Cell, LocalVariables, has_local_variables};
use oriole_analysis::{Analyses, ControlFlow, Dominators};
use oriole_collections::{DenseMap, DenseSet};
use oriole_ir::graph::{Adjacency, dominance_frontiers};
use oriole_ir::{
    AccessKind, Block, Editor, Function, Instruction, LeafRole, Operand, ShapeNode, Symbol, Value,
    Variable,
};
use oriole_isa::{MnemonicText, Opcode, Role, ScalarType, build};
use oriole_syntax::tree::Guard;

/// The pass.
pub(crate) const PASS: Pass = Pass {
    name: "local-promotion",
    summary: "Keep local variables that are only loaded and stored in registers",
    action: Action::Once(run, Trigger::Changes),
};

/// Pairs of blocks and blocks in their dominance frontier, for each block of a function.
const FRONTIERS_PER_BLOCK: usize = 16;

fn run(editor: &mut Editor<'_>, analyses: &mut Analyses, context: &mut Context<'_>) {
    let function = editor.function();
    if !has_local_variables(function) {
        return;
    }
    let variables = analyses.get::<LocalVariables>(function);
    let cells = variables.cells().iter();
    let places: Vec<Place> = cells.filter_map(|cell| place(function, cell)).collect();
    if places.is_empty() {
        return;
    }
    let flow = analyses.get::<ControlFlow>(function);
    let dominators = analyses.get::<Dominators>(function);
    let parents: Vec<u32> = function
        .blocks()
        .keys()
        .map(|block| dominators.immediate(block).map_or(u32::MAX, Block::as_u32))
        .collect();
    let root = function.entry().as_u32();
    let limit = FRONTIERS_PER_BLOCK * parents.len() + 1024;
    let Some(frontiers) = dominance_frontiers(&parents, flow.predecessor_graph(), root, limit)
    else {
        return;
    };
    let mut promoted: Vec<Variable> = Vec::new();
    for place in places {
        let rewrite = Rewrite {
            counter: "local-promotion.variables",
            instruction: place.accesses[0],
            why: "its address is not taken",
            equal: None,
        };
        if !context.allows(editor.function(), rewrite) {
            break;
        }
        promoted.extend(editor.function().symbols()[place.symbol].variable());
        let mut promotion = Promotion {
            editor,
            flow: &flow,
            dominators: &dominators,
            place: &place,
            parameters: DenseMap::new(),
            at_exit: DenseMap::new(),
        };
        promotion.run(&frontiers);
    }
    editor.remove_unmentioned(&promoted);
}

/// Bytes of a variable that are only accessed as one number.
struct Place {
    /// The variable.
    symbol: Symbol,
    /// The type of the register that holds it.
    scalar_type: ScalarType,
    /// All loads and stores, in order of the layout.
    accesses: Vec<Instruction>,
}

/// A cell as a place that can be promoted, if it is one.
fn place(function: &Function, cell: &Cell) -> Option<Place> {
    let scalar_type = match cell.end - cell.start {
        2 => ScalarType::B16,
        4 => ScalarType::B32,
        8 => ScalarType::B64,
        _ => return None,
    };
    let is_one_number = cell.accesses.iter().all(|access| {
        (access.start, access.end) == (cell.start, cell.end)
            && is_plain(function, access.instruction, scalar_type)
    });
    if !is_one_number {
        return None;
    }
    let accesses = cell.accesses.iter().map(|access| access.instruction);
    let accesses: Vec<Instruction> = accesses.collect();
    // What is extended is converted from a register of an integer.
    let is_extended = |&access: &Instruction| extension(function, access).is_some();
    let common = match accesses.iter().any(is_extended) {
        true => None,
        false => common_type(function, &accesses),
    };
    Some(Place {
        symbol: cell.symbol,
        scalar_type: common.unwrap_or(scalar_type),
        accesses,
    })
}

/// The type of all registers that accesses load to and store from, if it is one.
fn common_type(function: &Function, accesses: &[Instruction]) -> Option<ScalarType> {
    let mut types = accesses.iter().filter_map(|&access| {
        let value = match stored(function, access) {
            Some(stored) => stored.value()?,
            None => function.results(access).next()?,
        };
        Some(function.values()[value].scalar_type)
    });
    let first = types.next()?;
    types.all(|other| other == first).then_some(first)
}

/// The conversion by which a load extends an integer, if its register is wider than what it loads.
fn extension(function: &Function, load: Instruction) -> Option<MnemonicText> {
    let access = function.access(load)?;
    let mut results = function.results(load);
    let (AccessKind::Load, Some(result), None) = (access.kind, results.next(), results.next())
    else {
        return None;
    };
    let held = function.values()[result].scalar_type;
    let is_wider = access.element.is_integer() && held.bits() > access.element.bits();
    let wide = ScalarType::integer(access.element.is_signed(), held.bits())?;
    (is_wider && !held.is_float()).then(|| build::cvt(wide, access.element))
}

/// Whether an access is of one number, as wide as the register it goes to or comes from, or an integer that is extended.
fn is_plain(function: &Function, instruction: Instruction, scalar_type: ScalarType) -> bool {
    let Some(access) = function.access(instruction) else {
        return false;
    };
    let pinned = |leaf: &LeafRole| leaf.pinned;
    let leaves = &function.format(instruction).leaves;
    if !access.is_weak() || access.vector > 1 || leaves.iter().any(pinned) {
        return false;
    }
    let has_width =
        |value: Value| function.values()[value].scalar_type.bits() == scalar_type.bits();
    if access.kind == AccessKind::Load {
        let mut results = function.results(instruction);
        return results.len() == 1
            && (results.all(has_width) || extension(function, instruction).is_some());
    }
    match stored(function, instruction) {
        Some(Operand::Value(value)) => has_width(value),
        Some(Operand::Constant(_)) => {
            // Of these types `mov` takes constants.
            access.element.bits() == scalar_type.bits() && access.element != ScalarType::F16
        }
        _ => false,
    }
}

/// What a store stores.
fn stored(function: &Function, instruction: Instruction) -> Option<Operand> {
    let format = function.format(instruction);
    let leaves = format.leaves.iter().zip(function.leaves(instruction));
    let mut data = leaves.filter(|(leaf, _)| !leaf.in_address && leaf.role == Role::Use);
    let (_, &operand) = data.next()?;
    data.next().is_none().then_some(operand)
}

struct Promotion<'run, 'function> {
    editor: &'run mut Editor<'function>,
    flow: &'run ControlFlow,
    dominators: &'run Dominators,
    place: &'run Place,
    /// The parameter that holds the variable at the start of a block.
    parameters: DenseMap<Block, Value>,
    /// What the variable is at the end of blocks; nothing if it is undefined there.
    at_exit: DenseMap<Block, Option<Value>>,
}

impl Promotion<'_, '_> {
    fn run(&mut self, frontiers: &Adjacency) {
        let function = self.editor.function();
        let mut by_block: DenseMap<Block, Vec<Instruction>> = DenseMap::new();
        let mut blocks: Vec<Block> = Vec::new();
        for &access in &self.place.accesses {
            let block = function.block_of(access).expect("accesses are in blocks");
            let list = by_block.get_or_default(block);
            if list.is_empty() {
                blocks.push(block);
            }
            list.push(access);
        }
        self.place_parameters(&by_block, &blocks, frontiers);
        // Dominators before what they dominate: what reaches a block is known when it is walked.
        blocks.sort_by_key(|&block| {
            let is_reachable = self.flow.is_reachable(block);
            let position = is_reachable.then(|| self.flow.position(block));
            (!is_reachable, position, block)
        });
        for block in blocks {
            let accesses = by_block.remove(&block).expect("the block has accesses");
            let mut now = self.at_start(block);
            for access in accesses {
                now = self.access(access, now);
            }
            self.at_exit.insert(block, now);
        }
        self.give_arguments();
    }

    /// Puts parameters where several stores meet and the variable is read behind.
    fn place_parameters(
        &mut self,
        by_block: &DenseMap<Block, Vec<Instruction>>,
        blocks: &[Block],
        frontiers: &Adjacency,
    ) {
        let function = self.editor.function();
        let is_load = |access: Instruction| function.format(access).mnemonic.opcode() == Opcode::Ld;
        // A guarded store keeps what was there, so it reads too.
        let reads_first = |accesses: &[Instruction]| {
            is_load(accesses[0]) || function.format(accesses[0]).is_guarded()
        };
        let stores = |accesses: &[Instruction]| !accesses.iter().all(|&access| is_load(access));
        let mut live: DenseSet<Block> = DenseSet::new();
        let mut worklist: Vec<Block> = Vec::new();
        for &block in blocks {
            let accesses = by_block.get(&block).expect("the block has accesses");
            if reads_first(accesses) && live.insert(block) {
                worklist.push(block);
            }
        }
        while let Some(block) = worklist.pop() {
            for from in self.flow.predecessors(block) {
                let kills = by_block.get(&from).is_some_and(|accesses| {
                    let mut accesses = accesses.iter();
                    accesses
                        .any(|&access| !is_load(access) && !function.format(access).is_guarded())
                });
                if !kills && live.insert(from) {
                    worklist.push(from);
                }
            }
        }
        let mut placed: Vec<Block> = Vec::new();
        let mut is_placed: DenseSet<Block> = DenseSet::new();
        worklist.extend(
            blocks
                .iter()
                .filter(|block| stores(by_block.get(*block).expect("the block has accesses"))),
        );
        while let Some(block) = worklist.pop() {
            for &join in frontiers.of(block.as_u32()) {
                let join = Block::from_u32(join);
                if live.contains(&join) && is_placed.insert(join) {
                    placed.push(join);
                    worklist.push(join);
                }
            }
        }
        placed.sort_unstable();
        for block in placed {
            let parameter = self.editor.add_parameter(block, self.place.scalar_type);
            self.parameters.insert(block, parameter);
        }
    }

    /// What the variable is at the start of a block; nothing if it is undefined there.
    fn at_start(&mut self, block: Block) -> Option<Value> {
        let mut path: Vec<Block> = Vec::new();
        let mut at = block;
        let value = loop {
            if let Some(&parameter) = self.parameters.get(&at) {
                break Some(parameter);
            }
            let Some(above) = self.dominators.immediate(at) else {
                break None;
            };
            if let Some(&value) = self.at_exit.get(&above) {
                break value;
            }
            path.push(above);
            at = above;
        };
        for block in path {
            self.at_exit.insert(block, value);
        }
        value
    }

    fn or_undefined(&mut self, value: Option<Value>) -> Value {
        value.unwrap_or_else(|| self.editor.undefined(self.place.scalar_type))
    }

    /// Replaces an access; gives what the variable is behind it.
    fn access(&mut self, access: Instruction, now: Option<Value>) -> Option<Value> {
        let function = self.editor.function();
        let format = function.format(access);
        let (guard, predicate) = (format.guard, function.guard(access));
        let scalar_type = self.place.scalar_type;
        if format.mnemonic.opcode() == Opcode::Ld {
            let extension = extension(function, access);
            let mut operands: Vec<Operand> = predicate.into_iter().collect();
            operands.extend_from_slice(function.otherwise(access));
            let value = self.or_undefined(now);
            operands.extend([Operand::Result(0), Operand::Value(value)]);
            let shape = [ShapeNode::LEAF; 2].into_iter();
            let mnemonic = extension.unwrap_or_else(|| build::copy(scalar_type));
            let format = self.editor.format(&mnemonic, guard, shape);
            self.editor.rewrite(access, format, &operands);
            return now;
        }
        let element = format.mnemonic.first_type().expect("stores have a type");
        let stored = match stored(function, access).expect("stores store one operand") {
            Operand::Value(value) => value,
            constant => self.insert(access, &build::mov(element), &[constant]),
        };
        let behind = match (predicate, now) {
            (Some(predicate), Some(before)) => {
                let (taken, kept) = match guard {
                    Guard::IfNot => (before, stored),
                    _ => (stored, before),
                };
                let operands = [Operand::Value(taken), Operand::Value(kept), predicate];
                self.insert(access, &build::choice(scalar_type), &operands)
            }
            _ => stored,
        };
        self.editor.remove_instruction(access);
        Some(behind)
    }

    /// Inserts an instruction with one result of the type of the variable.
    fn insert(
        &mut self,
        before: Instruction,
        mnemonic: &MnemonicText,
        sources: &[Operand],
    ) -> Value {
        let format = self.editor.plain_format(mnemonic, 1 + sources.len());
        let mut operands = vec![Operand::Result(0)];
        operands.extend_from_slice(sources);
        let types = [self.place.scalar_type];
        let made = self.editor.insert_before(before, format, &operands, &types);
        let mut results = self.editor.function().results(made);
        results.next().expect("made with a result")
    }

    /// Gives every edge to a block with a parameter what the variable is at its start.
    fn give_arguments(&mut self) {
        let mut placed: Vec<Block> = self
            .parameters
            .iter_sorted()
            .map(|(&block, _)| block)
            .collect();
        placed.sort_unstable();
        for block in placed {
            let mut seen: DenseSet<Block> = DenseSet::new();
            let incoming: Vec<Block> = self.flow.predecessors(block).collect();
            for from in incoming {
                if !seen.insert(from) {
                    continue;
                }
                let value = match self.at_exit.get(&from) {
                    Some(&value) => value,
                    None => self.at_start(from),
                };
                let value = self.or_undefined(value);
                for edge in 0..self.editor.function().edges(from).len() {
                    if self.editor.function().edges(from)[edge].target == block {
                        self.editor.push_argument(from, edge, value);
                    }
                }
            }
        }
    }
}
