//! What the liveness engine needs to know of a function, and the two views that tell it.
//!
//! A program is blocks in order of layout, instructions numbered through them, and for each instruction the things it
//! reads and writes. What these things are is the view's business: [`Registers`] has the registers of a PTX function as
//! they stand in the tree, written several times each; [`Values`] has the values of the SSA form, with block parameters as
//! definitions at the start of a block and edge arguments as uses at the end of one.
//!
//! A guarded definition reads what it may leave in place, so it is a use and a definition tied together; so is a write to
//! part of a vector register, and everything an unknown instruction mentions. Reads of registers that nothing has written are left
//! out ([`undefined`](super::undefined)). Products that begin with zeros do not read their accumulators
//! ([`accumulators`](super::accumulators)).

use super::accumulators;
use super::in_flight::InFlight;
use super::lists::Lists;
use super::undefined;
use oriole_ir::graph::Adjacency;
use oriole_ir::{
    Block, BlockBoundaries, Definition, FormatData, Formats, Function, Instruction, Member,
    Operand, ShapeKind, ShapeNode,
};
use oriole_isa::{Opcode, Role, ScalarType};
use oriole_syntax::scopes::{Reference, Scopes};
use oriole_syntax::tree::{self, Body, FunctionKind, Guard, Module, Statement};
use std::ops::Range;

/// How an instruction touches something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessKind {
    /// Read.
    Use,
    /// Written.
    Define,
    /// Read, then written, in place.
    UseDefine,
}

/// A thing an instruction touches, and how, in 32 bits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Access(u32);

impl Access {
    /// Things are numbered below this.
    pub const LIMIT: u32 = 1 << 30;

    /// An access.
    pub fn new(entity: u32, kind: AccessKind) -> Access {
        debug_assert!(entity < Access::LIMIT);
        Access(entity << 2 | kind as u32)
    }

    /// What is touched.
    #[inline]
    pub fn entity(self) -> u32 {
        self.0 >> 2
    }

    /// How.
    #[inline]
    pub fn kind(self) -> AccessKind {
        match self.0 & 3 {
            0 => AccessKind::Use,
            1 => AccessKind::Define,
            _ => AccessKind::UseDefine,
        }
    }

    /// Whether it is read.
    #[inline]
    pub fn uses(self) -> bool {
        self.0 & 1 == 0
    }

    /// Whether it is written.
    #[inline]
    pub fn defines(self) -> bool {
        self.0 & 3 != 0
    }
}

impl std::fmt::Debug for Access {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{:?}({})", self.kind(), self.entity())
    }
}

/// The register file something lives in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RegisterFile {
    /// 32-bit data registers.
    Data,
    /// Predicates.
    Predicate,
}

/// A function as the engine sees it. Block 0 is the entry; instructions are numbered through the blocks in order.
pub trait Program {
    /// How many blocks there are.
    fn block_count(&self) -> usize;
    /// Edges between blocks.
    fn successors(&self) -> &Adjacency;
    /// The same edges turned round.
    fn predecessors(&self) -> &Adjacency;
    /// The numbers of a block's instructions.
    fn instructions(&self, block: u32) -> Range<u32>;
    /// How many instructions there are.
    fn instruction_count(&self) -> usize;
    /// How many things can be live.
    fn entity_count(&self) -> usize;
    /// Where a thing lives.
    fn file(&self, entity: u32) -> RegisterFile;
    /// How much of its file it takes: 32-bit registers, or predicates.
    fn units(&self, entity: u32) -> u32;
    /// What an instruction touches; nothing is written twice.
    fn accesses(&self, instruction: u32) -> &[Access];
    /// What is defined at the start of a block.
    fn entry_definitions(&self, block: u32) -> &[u32];
    /// What is read at the end of a block.
    fn exit_uses(&self, block: u32) -> &[u32];
}

/// A program that is held in tables.
pub trait Tabulated {
    /// The tables.
    fn tables(&self) -> &Tables;
}

impl Tabulated for Tables {
    fn tables(&self) -> &Tables {
        self
    }
}

/// A program as tables.
#[derive(Clone, Debug)]
pub struct Tables {
    successors: Adjacency,
    predecessors: Adjacency,
    /// Where the instructions of each block begin, and the end.
    blocks: Vec<u32>,
    pub(super) accesses: Lists<Access>,
    pub(super) parameters: Lists<u32>,
    pub(super) arguments: Lists<u32>,
    files: Vec<RegisterFile>,
    units: Vec<u32>,
}

impl Tables {
    /// Tables of a program without definitions at the start of blocks and uses at their ends: edges between the blocks, the first
    /// instruction of each block and the end, what the instructions touch, and the file and size of what they touch.
    fn new(
        successors: Adjacency,
        blocks: Vec<u32>,
        accesses: Lists<Access>,
        files: Vec<RegisterFile>,
        units: Vec<u32>,
    ) -> Tables {
        let mut none = Lists::default();
        for _ in 1..blocks.len() {
            none.close();
        }
        Tables {
            predecessors: successors.reversed(),
            successors,
            blocks,
            accesses,
            parameters: none.clone(),
            arguments: none,
            files,
            units,
        }
    }
}

impl<T: Tabulated> Program for T {
    fn block_count(&self) -> usize {
        self.tables().blocks.len() - 1
    }

    fn successors(&self) -> &Adjacency {
        &self.tables().successors
    }

    fn predecessors(&self) -> &Adjacency {
        &self.tables().predecessors
    }

    fn instructions(&self, block: u32) -> Range<u32> {
        let blocks = &self.tables().blocks;
        blocks[block as usize]..blocks[block as usize + 1]
    }

    fn instruction_count(&self) -> usize {
        self.tables().accesses.len()
    }

    fn entity_count(&self) -> usize {
        self.tables().files.len()
    }

    fn file(&self, entity: u32) -> RegisterFile {
        self.tables().files[entity as usize]
    }

    fn units(&self, entity: u32) -> u32 {
        self.tables().units[entity as usize]
    }

    fn accesses(&self, instruction: u32) -> &[Access] {
        self.tables().accesses.of(instruction)
    }

    fn entry_definitions(&self, block: u32) -> &[u32] {
        self.tables().parameters.of(block)
    }

    fn exit_uses(&self, block: u32) -> &[u32] {
        self.tables().arguments.of(block)
    }
}

/// 32-bit registers a type takes.
fn units_of(scalar_type: ScalarType) -> u32 {
    scalar_type.bits().div_ceil(32)
}

/// A function's registers as they stand in the tree.
#[derive(Clone, Debug)]
pub struct Registers {
    tables: Tables,
    statements: Vec<u32>,
    calls: Vec<u32>,
    undefined: Vec<(u32, u32)>,
}

impl Tabulated for Registers {
    fn tables(&self) -> &Tables {
        &self.tables
    }
}

impl Registers {
    /// Reads a function with a body. Names that do not resolve and branches to nowhere are left out: whoever wants them
    /// reported translates the function into SSA form.
    pub fn of(module: &Module, body: &Body, scopes: &Scopes, formats: &mut Formats) -> Registers {
        Registers::read(module, body, scopes, formats, None)
    }

    /// Likewise, of a function whose SSA form is given as it was translated: formats need not be found again. Of what the SSA form
    /// leaves out they are added to others.
    pub fn of_translated(
        module: &Module,
        body: &Body,
        scopes: &Scopes,
        formats: &mut Formats,
        function: &Function,
    ) -> Registers {
        let mut spelled = vec![None; body.statements.len()];
        for &block in function.block_order() {
            for instruction in function.instructions_of(block) {
                if let Some(statement) = function.spelling(instruction) {
                    let data = function.instruction(instruction);
                    spelled[statement as usize] = Some(function.format_data(data.format));
                }
            }
        }
        Registers::read(module, body, scopes, formats, Some(&spelled))
    }

    /// Reads a function; `spelled` has the formats of statements that are known.
    fn read(
        module: &Module,
        body: &Body,
        scopes: &Scopes,
        formats: &mut Formats,
        spelled: Option<&[Option<&FormatData>]>,
    ) -> Registers {
        let mut files = Vec::with_capacity(scopes.registers.len());
        let mut units = Vec::with_capacity(scopes.registers.len());
        for register in &scopes.registers {
            let scalar_type = register.scalar_type.unwrap_or(ScalarType::B32);
            if scalar_type == ScalarType::Pred {
                files.push(RegisterFile::Predicate);
                units.push(1);
            } else {
                files.push(RegisterFile::Data);
                units.push(units_of(scalar_type) * u32::from(register.vector.max(1)));
            }
        }
        let mut reader = Reader {
            module,
            body,
            scopes,
            formats,
            spelled,
            boundaries: BlockBoundaries::new(scopes),
            written: vec![u32::MAX; scopes.registers.len()],
            read: vec![u32::MAX; scopes.registers.len()],
            in_flight: InFlight::default(),
            products: Vec::new(),
            blocks: vec![0],
            accesses: Lists::with_capacity(body.statements.len(), 3 * body.statements.len()),
            statements: Vec::with_capacity(body.statements.len()),
            calls: Vec::new(),
        };
        reader.run();
        let Reader {
            boundaries,
            blocks,
            mut accesses,
            statements,
            calls,
            in_flight,
            products,
            ..
        } = reader;
        accumulators::overwrite(
            &mut accesses,
            &products,
            &statements,
            (module, body, scopes),
        );
        let count = blocks.len() - 1;
        let mut edges: Vec<(u32, u32)> = Vec::with_capacity(2 * count);
        for (block, labels, falls_through) in boundaries.ends() {
            let from = block.as_u32();
            let targets = labels
                .iter()
                .filter_map(|&label| boundaries.block_at(label));
            edges.extend(targets.map(|target| (from, target.as_u32())));
            edges.extend(falls_through.then_some((from, from + 1)));
        }
        let successors = Adjacency::new(count, edges.iter().copied());
        let accesses = in_flight.hold(accesses, &blocks, &successors, files.len());
        let mut tables = Tables::new(successors, blocks, accesses, files, units);
        let is_given = |register: u32| scopes.registers[register as usize].in_header;
        let undefined = undefined::take_out(&mut tables, |_| true, is_given);
        Registers {
            tables,
            statements,
            calls,
            undefined,
        }
    }

    /// The statement an instruction stands in.
    pub fn statement(&self, instruction: u32) -> u32 {
        self.statements[instruction as usize]
    }

    /// The instructions that read registers which nothing has written on any path to them, with these, in order.
    pub fn undefined_reads(&self) -> &[(u32, u32)] {
        &self.undefined
    }

    /// The instructions that call functions.
    pub fn calls(&self) -> &[u32] {
        &self.calls
    }
}

struct Reader<'a> {
    module: &'a Module,
    body: &'a Body,
    scopes: &'a Scopes,
    formats: &'a mut Formats,
    /// The formats of statements that are known.
    spelled: Option<&'a [Option<&'a FormatData>]>,
    boundaries: BlockBoundaries<'a>,
    /// Instruction that last wrote, and read, each register: an instruction may mention one several times.
    written: Vec<u32>,
    read: Vec<u32>,
    in_flight: InFlight,
    /// The instructions that add to accumulators unless an operand says not to, and always happen.
    products: Vec<u32>,
    /// Where the instructions of each block begin, and in the end where they end.
    blocks: Vec<u32>,
    accesses: Lists<Access>,
    statements: Vec<u32>,
    calls: Vec<u32>,
}

impl Reader<'_> {
    fn run(&mut self) {
        let body = self.body;
        for (index, statement) in body.statements.iter().enumerate() {
            match *statement {
                Statement::Label(_) => {
                    let starts_block = self.boundaries.label().is_some();
                    if starts_block {
                        self.start_block();
                    }
                }
                Statement::Instruction(instruction) => {
                    if self.boundaries.instruction() {
                        self.start_block();
                    }
                    self.instruction(index as u32, &instruction);
                }
                _ => {}
            }
        }
        self.blocks.push(self.statements.len() as u32);
    }

    fn start_block(&mut self) {
        self.blocks.push(self.statements.len() as u32);
    }

    /// Reads one instruction.
    fn instruction(&mut self, statement: u32, instruction: &tree::Instruction) {
        let number = self.statements.len() as u32;
        let nodes = self.body.operands(instruction);
        let first_node = instruction.nodes().end - nodes.len();
        let (module, scopes) = (self.module, self.scopes);
        let known = self.spelled.and_then(|known| known[statement as usize]);
        let format = known.unwrap_or_else(|| {
            let shape = nodes.iter().enumerate().map(|(offset, node)| ShapeNode {
                kind: ShapeKind::of(node.kind),
                prefix: node.prefix,
                size: node.size,
                member: match scopes.references[first_node + offset] {
                    Reference::Register(_) => member(module.text(node.text)),
                    _ => Member::WHOLE,
                },
            });
            let mnemonic = module.text(instruction.mnemonic);
            let format = self.formats.intern(mnemonic, instruction.guard, shape);
            &self.formats[format]
        });
        debug_assert_eq!(format.mnemonic.text(), module.text(instruction.mnemonic));
        let guarded = instruction.guard != Guard::None;
        if guarded
            && let Reference::Register(register) = self.scopes.references[instruction.nodes().start]
        {
            self.accesses.push(Access::new(register, AccessKind::Use));
            self.read[register as usize] = number;
        }
        let opcode = format.mnemonic.opcode();
        let asynchronous = matches!(opcode, Opcode::WgmmaMmaAsync | Opcode::WgmmaMmaAsyncSp);
        let mut leaf = 0;
        for (offset, node) in nodes.iter().enumerate() {
            if ShapeKind::of(node.kind) != ShapeKind::Leaf {
                continue;
            }
            let role = format.leaves[leaf];
            leaf += 1;
            match self.scopes.references[first_node + offset] {
                Reference::Register(register) => {
                    let at = register as usize;
                    let defines = role.role.defines();
                    let uses = role.role.uses() || (!defines && role.role != Role::Label);
                    // Only for what is written it makes a difference.
                    let is_tied = || {
                        self.scopes.registers[at].vector > 1
                            || self.module.text(node.text).contains('.')
                    };
                    let kind = match (defines, defines && (uses || guarded || is_tied())) {
                        (true, true) => AccessKind::UseDefine,
                        (true, false) => AccessKind::Define,
                        (false, _) => AccessKind::Use,
                    };
                    if asynchronous && role.pinned {
                        self.in_flight.take(number, register);
                    }
                    if defines {
                        if self.written[at] != number {
                            self.written[at] = number;
                            self.accesses.push(Access::new(register, kind));
                        }
                    } else if self.read[at] != number {
                        self.read[at] = number;
                        self.accesses.push(Access::new(register, kind));
                    }
                }
                Reference::Label(label) => {
                    self.boundaries.mention(label);
                }
                _ => {}
            }
        }
        if asynchronous && !guarded {
            self.products.push(number);
        }
        if opcode == Opcode::WgmmaWaitGroup {
            let left = nodes
                .first()
                .and_then(|node| self.module.text(node.text).parse().ok());
            self.in_flight.wait(number, left);
        }
        self.accesses.close();
        self.statements.push(statement);
        if format.effects.is_call {
            self.calls.push(number);
        }
        self.boundaries.end(format.effects.terminator, guarded);
    }
}

/// The part of a register that a mention selects.
fn member(name: &str) -> Member {
    name.find('.')
        .and_then(|dot| Member::from_text(&name[dot..]))
        .unwrap_or(Member::WHOLE)
}

/// A function's values, and its pinned registers behind them.
#[derive(Clone, Debug)]
pub struct Values {
    tables: Tables,
    order: Vec<Block>,
    instructions: Vec<Instruction>,
    value_count: u32,
}

impl Tabulated for Values {
    fn tables(&self) -> &Tables {
        &self.tables
    }
}

impl Values {
    /// Reads a function in SSA form. Entities are its values, then its registers, of which only pinned ones are touched.
    /// Undefined values take no room: any register will do for them.
    pub fn of(function: &Function) -> Values {
        Values::with(function, |_| false)
    }

    /// A function as an allocator sees it: pinned registers hold nothing before something writes them.
    pub fn as_allocated(function: &Function) -> Values {
        let mut values = Values::with(function, |instruction| {
            accumulators::are_overwritten(function, instruction)
        });
        if function.registers().values().any(|data| data.pinned) {
            // Parameters of a function that are registers are pinned.
            let is_given = |_| function.kind() != FunctionKind::Entry;
            let is_register = |entity| entity >= values.value_count;
            undefined::take_out(&mut values.tables, is_register, is_given);
        }
        values
    }

    /// Reads a function, given the products that only write their accumulators.
    fn with(function: &Function, are_overwritten: impl Fn(Instruction) -> bool) -> Values {
        let value_count = function.values().len() as u32;
        let mut files = Vec::with_capacity(value_count as usize + function.registers().len());
        let mut units = Vec::with_capacity(files.capacity());
        for data in function.values().values() {
            let predicate = data.scalar_type == ScalarType::Pred;
            files.push(if predicate {
                RegisterFile::Predicate
            } else {
                RegisterFile::Data
            });
            units.push(match data.definition {
                Definition::Undefined => 0,
                _ if predicate => 1,
                _ => units_of(data.scalar_type),
            });
        }
        for data in function.registers().values() {
            let scalar_type = data.scalar_type.unwrap_or(ScalarType::B32);
            let predicate = scalar_type == ScalarType::Pred;
            files.push(if predicate {
                RegisterFile::Predicate
            } else {
                RegisterFile::Data
            });
            units.push(if predicate { 1 } else { units_of(scalar_type) });
        }
        let order: Vec<Block> = function.block_order().to_vec();
        let mut position = vec![u32::MAX; function.blocks().len()];
        for (index, block) in order.iter().enumerate() {
            position[block.index()] = index as u32;
        }
        let position = &position;
        let edges = order.iter().flat_map(|&block| {
            function.blocks()[block]
                .edges
                .iter()
                .map(move |edge| (position[block.index()], position[edge.target.index()]))
        });
        let successors = Adjacency::new(order.len(), edges);
        let mut values = Values {
            tables: Tables {
                predecessors: successors.reversed(),
                successors,
                blocks: Vec::with_capacity(order.len() + 1),
                accesses: Lists::with_capacity(
                    function.instruction_bound(),
                    3 * function.instruction_bound(),
                ),
                parameters: Lists::with_capacity(order.len(), 0),
                arguments: Lists::with_capacity(order.len(), 0),
                files,
                units,
            },
            instructions: Vec::with_capacity(function.instruction_bound()),
            value_count,
            order,
        };
        values.tables.blocks.push(0);
        let mut written = vec![u32::MAX; function.registers().len()];
        for index in 0..values.order.len() {
            let block = values.order[index];
            let data = &function.blocks()[block];
            for &parameter in &data.parameters {
                values.tables.parameters.push(parameter.as_u32());
            }
            values.tables.parameters.close();
            for edge in &data.edges {
                for &argument in function.arguments(*edge) {
                    values.tables.arguments.push(argument.as_u32());
                }
            }
            values.tables.arguments.close();
            for instruction in function.instructions_of(block) {
                let is_overwritten = are_overwritten(instruction);
                values.read(function, instruction, is_overwritten, &mut written);
            }
            values.tables.blocks.push(values.instructions.len() as u32);
        }
        values
    }

    fn read(
        &mut self,
        function: &Function,
        instruction: Instruction,
        are_overwritten: bool,
        written: &mut [u32],
    ) {
        let operands = function.operands(instruction);
        let is_register = |operand: &Operand| matches!(operand, Operand::Register(_));
        if operands.iter().any(is_register) {
            self.read_registers(function, instruction, are_overwritten, written);
        } else {
            let uses = operands.iter().filter_map(|operand| operand.value());
            let accesses = uses.map(|value| Access::new(value.as_u32(), AccessKind::Use));
            self.tables.accesses.extend(accesses);
        }
        let results = function.results(instruction);
        let accesses = results.map(|value| Access::new(value.as_u32(), AccessKind::Define));
        self.tables.accesses.extend(accesses);
        self.tables.accesses.close();
        self.instructions.push(instruction);
    }

    /// Reads the operands of an instruction among which are registers that are no values.
    fn read_registers(
        &mut self,
        function: &Function,
        instruction: Instruction,
        are_overwritten: bool,
        written: &mut [u32],
    ) {
        let number = self.instructions.len() as u32;
        let format = function.format(instruction);
        let value_count = self.value_count;
        let items = &mut self.tables.accesses;
        let guard = function.guard(instruction);
        if let Some(operand) = guard {
            match operand {
                Operand::Value(value) => {
                    items.push(Access::new(value.as_u32(), AccessKind::Use));
                }
                Operand::Register(register) => {
                    items.push(Access::new(
                        value_count + register.as_u32(),
                        AccessKind::Use,
                    ));
                }
                _ => {}
            }
        }
        for operand in function.otherwise(instruction) {
            if let Operand::Value(value) = *operand {
                items.push(Access::new(value.as_u32(), AccessKind::Use));
            }
        }
        let nodes = format
            .shape
            .iter()
            .filter(|node| node.kind == ShapeKind::Leaf);
        let leaves = format.leaves.iter().zip(nodes);
        for ((leaf, node), operand) in leaves.zip(function.leaves(instruction)) {
            match *operand {
                Operand::Value(value) => items.push(Access::new(value.as_u32(), AccessKind::Use)),
                Operand::Register(register) => {
                    let defines = leaf.role.defines();
                    let tied = leaf.role.uses() && !are_overwritten
                        || guard.is_some()
                        || node.member != Member::WHOLE;
                    let kind = match (defines, tied) {
                        (true, true) => AccessKind::UseDefine,
                        (true, false) => AccessKind::Define,
                        (false, _) => AccessKind::Use,
                    };
                    if !defines || written[register.index()] != number {
                        if defines {
                            written[register.index()] = number;
                        }
                        items.push(Access::new(value_count + register.as_u32(), kind));
                    }
                }
                _ => {}
            }
        }
    }

    /// The block of the function that a block stands for.
    pub fn block(&self, block: u32) -> Block {
        self.order[block as usize]
    }

    /// The instruction of the function that an instruction stands for.
    pub fn instruction(&self, instruction: u32) -> Instruction {
        self.instructions[instruction as usize]
    }

    /// How many accesses all instructions have.
    pub(crate) fn access_count(&self) -> usize {
        self.tables.accesses.item_count()
    }

    /// How many of the entities are values; the others are registers.
    pub fn value_count(&self) -> usize {
        self.value_count as usize
    }
}
