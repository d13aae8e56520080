//! First half of the way into SSA form: blocks, edges and instructions, still over registers.
//!
//! A block starts at the function's start, at a label some branch names, and behind a branch, `ret` or `exit`. Labels no
//! branch names (debug information has thousands) stay where they are and split nothing. Every operand is entered as it
//! is, registers as [`Operand::Register`]; renaming makes values of those that are not pinned.

use oriole_collections::{BitSet, DenseMap};
use oriole_diagnostics::Diagnostic;
use oriole_ir::{
    Block, ConstantData, Edge, Formats, FunctionBuilder, Member, Operand, Register, RegisterData,
    ShapeKind, ShapeNode, Symbol, SymbolData, SymbolKind,
};
use oriole_isa::{Role, ScalarType, Space, SpecialRegister, Terminator};
use oriole_syntax::literal;
use oriole_syntax::scopes::{Global, Globals, Reference, Scopes, Variable};
use oriole_syntax::tree::{
    self, Body, Function, Guard, Module, OperandKind, Statement, Storage, Text,
};

/// A function over registers, and the labels that start blocks.
pub(crate) struct Entered {
    pub builder: FunctionBuilder,
    pub errors: Vec<Diagnostic>,
}

struct Entering<'a> {
    module: &'a Module,
    globals: &'a Globals,
    body: &'a Body,
    scopes: &'a Scopes,
    builder: FunctionBuilder,
    errors: Vec<Diagnostic>,
    /// Block of each label some branch names.
    label_blocks: Vec<Option<Block>>,
    /// Symbols of special registers, by spelling.
    specials: DenseMap<&'a str, Symbol>,
    operands: Vec<Operand>,
    /// Registers an instruction defines, to find those it defines twice.
    defined: Vec<Register>,
    block: Block,
    /// Branches to resolve once all blocks exist: block, labels, whether it falls through.
    ends: Vec<(Block, Vec<u32>, bool)>,
}

/// Enters a function with resolved names.
pub(crate) fn enter(
    module: &Module,
    globals: &Globals,
    function: &Function,
    scopes: &Scopes,
    formats: Formats,
) -> Entered {
    let body = function
        .body
        .as_ref()
        .expect("only functions with a body are entered");
    let mut builder = FunctionBuilder::new(function.name, function.kind, formats);
    let instruction_count = body.statements.len();
    builder.reserve(
        instruction_count,
        body.operands.len() + body.operands.len() / 4,
    );
    for register in &scopes.registers {
        let scalar_type = module
            .text(register.element)
            .strip_prefix('.')
            .and_then(ScalarType::from_text);
        builder.add_register(RegisterData {
            name: register.name,
            scalar_type,
            // There is no `mov` for 8-bit registers, so their values could not be copied.
            pinned: register.vector != 1
                || register.in_header
                || scalar_type.is_none_or(|scalar_type| {
                    scalar_type != ScalarType::Pred && scalar_type.bits() < 16
                }),
        });
    }
    let block = builder.add_block(None);
    let mut entering = Entering {
        module,
        globals,
        body,
        scopes,
        builder,
        errors: Vec::new(),
        label_blocks: vec![None; scopes.labels.len()],
        specials: DenseMap::new(),
        operands: Vec::new(),
        defined: Vec::new(),
        block,
        ends: Vec::new(),
    };
    entering.run();
    Entered {
        builder: entering.builder,
        errors: entering.errors,
    }
}

impl Entering<'_> {
    fn run(&mut self) {
        let body = self.body;
        let targets = self.branch_target_labels();
        let mut label = 0u32;
        let mut open = true;
        for (index, statement) in body.statements.iter().enumerate() {
            match *statement {
                Statement::Label(_) => {
                    if targets.contains(label as usize) {
                        let next = self.builder.add_block(Some(label));
                        if open {
                            self.ends.push((self.block, Vec::new(), true));
                        }
                        self.label_blocks[label as usize] = Some(next);
                        self.block = next;
                        open = true;
                    }
                    label += 1;
                }
                Statement::Instruction(instruction) => {
                    if !open {
                        self.block = self.builder.add_block(None);
                    }
                    open = !self.instruction(index as u32, &instruction);
                }
                _ => {}
            }
        }
        self.connect(open);
    }

    /// Labels that some branch names, directly or through a table.
    fn branch_target_labels(&mut self) -> BitSet<usize> {
        let mut targets: BitSet<usize> = BitSet::with_domain(self.scopes.labels.len());
        for reference in &self.scopes.references {
            if let Reference::Label(label) = *reference {
                match self.scopes.branch_targets.get(&label) {
                    Some(listed) => {
                        for &target in listed {
                            targets.insert(target as usize);
                        }
                    }
                    None if self.scopes.labels[label as usize].table.is_none() => {
                        targets.insert(label as usize);
                    }
                    None => {}
                }
            }
        }
        targets
    }

    /// Makes the edges, now that all blocks exist. `open`: the last block runs off the end of the function.
    fn connect(&mut self, open: bool) {
        if open {
            self.ends.push((self.block, Vec::new(), false));
        }
        let block_count = self.builder.function().blocks().len();
        for (block, labels, falls_through) in std::mem::take(&mut self.ends) {
            let mut edges = Vec::new();
            for label in labels {
                match self.label_blocks[label as usize] {
                    Some(target) => edges.push(Edge {
                        target,
                        arguments: Vec::new(),
                    }),
                    None => {
                        let name = self.scopes.labels[label as usize].name;
                        self.errors.push(Diagnostic::error(
                            "not-a-branch-target",
                            name.span(),
                            format!(
                                "`{}` names a table, not a place to branch to",
                                self.module.text(name)
                            ),
                        ));
                        return;
                    }
                }
            }
            // Behind the last block there is nothing to fall into: the function ends there.
            let falls_through = falls_through && block.index() + 1 < block_count;
            if falls_through {
                edges.push(Edge {
                    target: Block::from_index(block.index() + 1),
                    arguments: Vec::new(),
                });
            }
            let data = self.builder.block_mut(block);
            data.edges = edges.into();
            data.falls_through = falls_through;
        }
    }

    /// Enters one instruction; whether it ends its block.
    fn instruction(&mut self, source: u32, instruction: &tree::Instruction) -> bool {
        let body = self.body;
        let nodes = body.operands(instruction);
        let first_node = instruction.nodes().end - nodes.len();
        let (module, scopes) = (self.module, self.scopes);
        let shape = nodes.iter().enumerate().map(|(offset, node)| ShapeNode {
            kind: ShapeKind::of(node.kind),
            prefix: node.prefix,
            size: node.size,
            member: match scopes.references[first_node + offset] {
                Reference::Register(_) => member(module.text(node.text)).unwrap_or(Member::WHOLE),
                _ => Member::WHOLE,
            },
        });
        let mnemonic = self.module.text(instruction.mnemonic);
        let format = self
            .builder
            .formats_mut()
            .intern(mnemonic, instruction.guard, shape);
        self.operands.clear();
        self.defined.clear();
        let mut labels: Vec<u32> = Vec::new();
        let mut leaf = 0;
        for (offset, node) in nodes.iter().enumerate() {
            if ShapeKind::of(node.kind) != ShapeKind::Leaf {
                continue;
            }
            let operand = self.leaf(format, leaf, node, first_node + offset, &mut labels);
            self.operands.push(operand);
            leaf += 1;
        }
        let guard = (instruction.guard != Guard::None)
            .then(|| self.guard_operand(instruction.nodes().start));
        if let Some(guard) = guard {
            self.operands.insert(0, guard);
        }
        self.pin_defined_twice();
        let terminator = self
            .builder
            .function()
            .format_data(format)
            .effects
            .terminator;
        let block = self.block;
        self.builder.append(block, format, &self.operands, source);
        let guarded = instruction.guard != Guard::None;
        let is_branch = matches!(terminator, Terminator::Branch | Terminator::IndirectBranch);
        if !labels.is_empty() && !is_branch {
            // Perhaps a branch of the future: where control goes cannot be told.
            self.errors.push(Diagnostic::note(
                "unknown-control-flow",
                instruction.mnemonic.span(),
                format!(
                    "the function is left as it is: `{}` mentions a label and is no branch that Oriole knows",
                    self.module.text(instruction.mnemonic)
                ),
            ));
        }
        match terminator {
            Terminator::None => return false,
            Terminator::Branch | Terminator::IndirectBranch => {
                // A name that means nothing was reported when names were resolved.
                let unknown =
                    self.scopes.references[instruction.nodes()].contains(&Reference::Unknown);
                if labels.is_empty() && !unknown {
                    self.errors.push(Diagnostic::error(
                        "not-a-branch-target",
                        instruction.mnemonic.span(),
                        "expected a label as branch target",
                    ));
                }
                self.ends.push((block, labels, guarded));
            }
            Terminator::Return | Terminator::Exit => self.ends.push((block, Vec::new(), guarded)),
        }
        true
    }

    fn guard_operand(&mut self, node: usize) -> Operand {
        let text = self.body.operands[node].text;
        match self.scopes.references[node] {
            Reference::Register(register) => {
                let register = Register::from_u32(register);
                let data = &self.builder.function().registers()[register];
                if data.scalar_type != Some(ScalarType::Pred) {
                    self.errors.push(
                        Diagnostic::error(
                            "guard-not-predicate",
                            text.span(),
                            format!("the guard `{}` is not a predicate", self.module.text(text)),
                        )
                        .label("expected a register of type `.pred`"),
                    );
                }
                Operand::Register(register)
            }
            _ => {
                self.errors.push(
                    Diagnostic::error(
                        "guard-not-predicate",
                        text.span(),
                        format!("the guard `{}` is not a register", self.module.text(text)),
                    )
                    .label("expected a register of type `.pred`"),
                );
                Operand::Sink
            }
        }
    }

    /// A register that one instruction defines twice has no one value afterwards: leave it alone.
    fn pin_defined_twice(&mut self) {
        if self.defined.len() > 1 {
            self.defined.sort_unstable();
            for pair in self.defined.windows(2) {
                if pair[0] == pair[1] {
                    self.builder.pin(pair[0]);
                }
            }
        }
    }

    fn leaf(
        &mut self,
        format: oriole_ir::Format,
        leaf: usize,
        node: &tree::Operand,
        index: usize,
        labels: &mut Vec<u32>,
    ) -> Operand {
        let role = self.builder.function().format_data(format).leaves[leaf];
        match node.kind {
            OperandKind::Sink => return Operand::Sink,
            OperandKind::Number | OperandKind::Expression => {
                return Operand::Constant(self.builder.constant(ConstantData {
                    literal: literal::evaluate(self.module.text(node.text)),
                    text: Some(node.text),
                }));
            }
            OperandKind::String => {
                return self.symbol(node.text, SymbolKind::Other, (u32::MAX, index as u32));
            }
            _ => {}
        }
        match self.scopes.references[index] {
            Reference::Register(register) => {
                let register = Register::from_u32(register);
                if role.pinned {
                    self.builder.pin(register);
                }
                if role.role == Role::Define {
                    self.defined.push(register);
                }
                if member(self.module.text(node.text)).is_none() {
                    self.errors.push(Diagnostic::error(
                        "unknown-member",
                        node.text.span(),
                        format!(
                            "`{}` selects no part of a register",
                            self.module.text(node.text)
                        ),
                    ));
                }
                Operand::Register(register)
            }
            Reference::Label(label) => {
                if let Some(listed) = self.scopes.branch_targets.get(&label) {
                    labels.extend_from_slice(listed);
                    return self.symbol(node.text, SymbolKind::Table(label), (1, label));
                }
                if self.scopes.labels[label as usize].table.is_some() {
                    return self.symbol(node.text, SymbolKind::Table(label), (1, label));
                }
                labels.push(label);
                Operand::Target((labels.len() - 1) as u16)
            }
            Reference::Variable(variable) => {
                let kind = if self.scopes.variables[variable as usize].in_header {
                    SymbolKind::Parameter(variable)
                } else {
                    SymbolKind::Variable(variable)
                };
                self.symbol(node.text, kind, (2, variable))
            }
            Reference::Global(global) => {
                self.symbol(node.text, SymbolKind::Global(global), (3, global))
            }
            Reference::Special => {
                let name = self.module.text(node.text);
                if let Some(&symbol) = self.specials.get(&name) {
                    return Operand::Symbol(symbol);
                }
                let kind =
                    SpecialRegister::from_text(name).map_or(SymbolKind::Other, SymbolKind::Special);
                let operand = self.symbol(node.text, kind, (4, index as u32));
                if let Operand::Symbol(symbol) = operand {
                    self.specials.insert(name, symbol);
                }
                operand
            }
            // Reported when names were resolved.
            Reference::Unknown | Reference::None => {
                self.symbol(node.text, SymbolKind::Other, (u32::MAX, index as u32))
            }
        }
    }

    fn symbol(&mut self, name: Text, kind: SymbolKind, key: (u32, u32)) -> Operand {
        let space = self.space(name, kind);
        Operand::Symbol(self.builder.symbol(key, SymbolData { name, kind, space }))
    }

    /// The space of a variable that can be named from everywhere in the function: nothing hides it.
    fn space(&self, name: Text, kind: SymbolKind) -> Option<Space> {
        let storage = match kind {
            SymbolKind::Global(global) => {
                let Global::Variable { declaration, .. } = self.globals.entries[global as usize].1
                else {
                    return None;
                };
                self.module.top.declarations[declaration as usize].storage
            }
            SymbolKind::Parameter(variable) | SymbolKind::Variable(variable) => {
                let data = self.scopes.variables[variable as usize];
                if self.scopes.parents.len() > 1 {
                    let text = self.module.text(name);
                    let hides = |(index, other): (usize, &Variable)| {
                        index as u32 != variable && self.module.text(other.name) == text
                    };
                    let hidden = data.storage == Storage::Parameter && !data.in_header
                        || data.scope != 0
                        || self.scopes.variables.iter().enumerate().any(hides);
                    if hidden {
                        return None;
                    }
                }
                data.storage
            }
            _ => return None,
        };
        match storage {
            Storage::Constant => Some(Space::Const),
            Storage::Global => Some(Space::Global),
            Storage::Local => Some(Space::Local),
            Storage::Shared => Some(Space::Shared),
            Storage::Parameter => Some(Space::Param),
            _ => None,
        }
    }
}

/// The part of a register that a mention selects.
fn member(name: &str) -> Option<Member> {
    match name.find('.') {
        Some(dot) => Member::from_text(&name[dot..]),
        None => Some(Member::WHOLE),
    }
}
