//! First half of the way into SSA form: blocks, edges and instructions, still over registers.
//!
//! [`BlockBoundaries`] says where blocks begin and end. Every operand is entered as it is, registers as
//! [`Operand::Register`]; renaming makes values of those that are not pinned.

use crate::declarations::{space_of, variable_type};
use crate::mentions::Mentions;
use oriole_collections::DenseMap;
use oriole_diagnostics::Diagnostic;
use oriole_ir::{
    Block, BlockBoundaries, ConstantData, Edge, Formats, FunctionBuilder, LabelOperand, LeafRole,
    Line, Member, Operand, Register, RegisterData, ShapeKind, ShapeNode, Symbol, SymbolData,
    SymbolKind, VariableData, VariableKind,
};
use oriole_isa::{Role, ScalarType, Space, SpecialRegister, Terminator};
use oriole_syntax::literal;
use oriole_syntax::scopes::{Global, Globals, Reference, Scopes, Variable};
use oriole_syntax::tree::{
    self, Body, Directive, Function, Guard, Module, OperandKind, Statement, Storage, Text,
};

/// A function over registers, and the labels that start blocks.
pub(crate) struct Entered {
    pub builder: FunctionBuilder,
    pub mentions: Mentions,
    pub errors: Vec<Diagnostic>,
}

struct Entering<'a> {
    module: &'a Module,
    /// All of its text.
    text: &'a [u8],
    globals: &'a Globals,
    body: &'a Body,
    scopes: &'a Scopes,
    builder: FunctionBuilder,
    errors: Vec<Diagnostic>,
    boundaries: BlockBoundaries<'a>,
    /// Symbols of special registers, by spelling.
    specials: DenseMap<&'a str, Symbol>,
    mentions: Mentions,
    /// Registers an instruction defines.
    defined: Vec<Register>,
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
        scopes.registers.len(),
        scopes.labels.len() + 1,
        instruction_count,
        body.operands.len() + body.operands.len() / 4,
    );
    for register in &scopes.registers {
        let scalar_type = register.scalar_type;
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
    for variable in &scopes.variables {
        builder.add_variable(variable_data(module, function, body, variable));
    }
    builder.add_block(None);
    let mut entering = Entering {
        module,
        text: module.whole_text().as_bytes(),
        globals,
        body,
        scopes,
        builder,
        errors: Vec::new(),
        boundaries: BlockBoundaries::new(scopes),
        specials: DenseMap::new(),
        mentions: Mentions::new(scopes.registers.len()),
        defined: Vec::new(),
    };
    // Apart from the function, so that a format can be looked at while its operands are entered.
    let mut formats = std::mem::take(entering.builder.formats_mut());
    entering.run(&mut formats);
    *entering.builder.formats_mut() = formats;
    Entered {
        builder: entering.builder,
        mentions: entering.mentions,
        errors: entering.errors,
    }
}

/// A variable as its declaration says.
#[inline]
fn variable_data(
    module: &Module,
    function: &Function,
    body: &Body,
    variable: &Variable,
) -> VariableData {
    let owner = match variable.in_header {
        true => &module.top,
        false => body,
    };
    let is_result = |list: &std::ops::Range<u32>| list.contains(&variable.declaration);
    let kind = match variable.in_header {
        false => VariableKind::Declared,
        true if function.returns.as_ref().is_some_and(is_result) => VariableKind::Result,
        true => VariableKind::Parameter,
    };
    let variable_type = variable_type(
        module,
        owner,
        &owner.declarations[variable.declaration as usize],
        &owner.declarators[variable.declarator as usize],
    );
    VariableData {
        kind,
        scope: variable.scope,
        ..VariableData::declared(variable.name, space_of(variable.storage), variable_type)
    }
}

impl Entering<'_> {
    fn run(&mut self, formats: &mut Formats) {
        let body = self.body;
        for (index, statement) in body.statements.iter().enumerate() {
            match *statement {
                Statement::Label(_) => {
                    if let Some(label) = self.boundaries.label() {
                        self.start_block(Some(label));
                    }
                }
                Statement::Instruction(instruction) => {
                    if self.boundaries.instruction() {
                        self.start_block(None);
                    }
                    self.instruction(formats, index as u32, &instruction);
                }
                Statement::Directive(directive) => self.directive(index as u32, &directive),
                _ => {}
            }
        }
        self.builder.close_block();
        self.connect();
    }

    fn start_block(&mut self, label: Option<u32>) {
        self.builder.close_block();
        self.builder.add_block(label);
    }

    /// Notes what `.loc` and `.pragma "nounroll"` say.
    fn directive(&mut self, statement: u32, directive: &Directive) {
        match *self.body.words(directive.words) {
            [keyword, file, line, column, ..] if self.module.text(keyword) == ".loc" => {
                self.builder.add_line(Line {
                    statement,
                    file,
                    line,
                    column,
                });
            }
            [keyword, argument, ..]
                if self.module.text(keyword) == ".pragma"
                    && self.module.text(argument) == "\"nounroll\"" =>
            {
                let block = self.boundaries.block();
                self.builder.block_mut(block).nounroll = true;
            }
            _ => {}
        }
    }

    /// Makes the edges, now that all blocks exist.
    fn connect(&mut self) {
        for (block, labels, falls_through) in self.boundaries.ends() {
            let data = self.builder.block_mut(block);
            for &label in labels {
                let Some(target) = self.boundaries.block_at(label) else {
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
                };
                data.edges.push(Edge::to(target));
            }
            data.falls_through = falls_through;
            if falls_through {
                let next = Block::from_index(block.index() + 1);
                data.edges.push(Edge::to(next));
            }
        }
    }

    /// Enters one instruction.
    fn instruction(&mut self, formats: &mut Formats, source: u32, instruction: &tree::Instruction) {
        let (module, scopes) = (self.module, self.scopes);
        let guarded = instruction.guard != Guard::None;
        let own = instruction.nodes().start + usize::from(guarded)..instruction.nodes().end;
        let nodes = &self.body.operands[own.clone()];
        let references = &scopes.references[own];
        let format = if scopes.has_dotted_registers {
            let shape = self.shape(nodes, references);
            let mnemonic = module.text(instruction.mnemonic);
            formats.intern(mnemonic, instruction.guard, shape.into_iter())
        } else {
            let mnemonic = &self.text[instruction.mnemonic.span().range()];
            formats.intern_operands(mnemonic, instruction.guard, nodes)
        };
        let data = &formats[format];
        self.defined.clear();
        if guarded {
            let guard = self.guard_operand(instruction.nodes().start);
            self.builder.push_operand(guard);
        }
        let mut roles = data.leaves.iter();
        for (node, &reference) in nodes.iter().zip(references) {
            if ShapeKind::of(node.kind) != ShapeKind::Leaf {
                continue;
            }
            let role = roles.next().expect("a role for each leaf");
            let operand = match reference {
                Reference::Register(register) => {
                    self.register(Register::from_u32(register), *role, guarded)
                }
                _ => self.other_leaf(node, reference),
            };
            self.builder.push_operand(operand);
        }
        self.define();
        self.builder.push_instruction(format, source);
        let terminator = data.effects.terminator;
        let has_labels = self.boundaries.has_labels();
        let is_branch = matches!(terminator, Terminator::Branch | Terminator::IndirectBranch);
        if has_labels && !is_branch {
            // Perhaps a branch of the future: where control goes cannot be told.
            self.errors.push(Diagnostic::note(
                "unknown-control-flow",
                instruction.mnemonic.span(),
                format!(
                    "the function is left as it is: `{}` mentions a label and is no branch that Oriole knows",
                    module.text(instruction.mnemonic)
                ),
            ));
        }
        if is_branch && !has_labels {
            // A name that means nothing was reported when names were resolved.
            let unknown = scopes.references[instruction.nodes()].contains(&Reference::Unknown);
            if !unknown {
                self.errors.push(Diagnostic::error(
                    "not-a-branch-target",
                    instruction.mnemonic.span(),
                    "expected a label as branch target",
                ));
            }
        }
        self.boundaries.end(terminator, guarded);
    }

    /// The shape of operands that may mention parts of registers.
    #[cold]
    fn shape(&mut self, nodes: &[tree::Operand], references: &[Reference]) -> Vec<ShapeNode> {
        let mut shape: Vec<ShapeNode> = nodes.iter().map(ShapeNode::of).collect();
        for ((part, node), reference) in shape.iter_mut().zip(nodes).zip(references) {
            if !matches!(reference, Reference::Register(_)) {
                continue;
            }
            let name = self.module.text(node.text);
            let member = name.find('.').map_or("", |dot| &name[dot..]);
            match Member::from_text(member) {
                Some(member) => part.member = member,
                None => self.errors.push(Diagnostic::error(
                    "unknown-member",
                    node.text.span(),
                    format!("`{name}` selects no part of a register"),
                )),
            }
        }
        shape
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
                self.mentions.on_use(register, self.boundaries.block());
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

    /// Notes what the instruction defines.
    fn define(&mut self) {
        for &register in &self.defined {
            self.mentions
                .on_definition(register, self.boundaries.block());
        }
        // A register that one instruction defines twice has no one value afterwards: leave it alone.
        if self.defined.len() > 1 {
            self.defined.sort_unstable();
            for pair in self.defined.windows(2) {
                if pair[0] == pair[1] {
                    self.builder.pin(pair[0]);
                }
            }
        }
    }

    /// The operand for a register in a role.
    #[inline]
    fn register(&mut self, register: Register, role: LeafRole, guarded: bool) -> Operand {
        if role.pinned {
            self.builder.pin(register);
        }
        let is_definition = role.role == Role::Define;
        if is_definition {
            self.defined.push(register);
        }
        if !is_definition || guarded {
            self.mentions.on_use(register, self.boundaries.block());
        }
        Operand::Register(register)
    }

    /// The operand for a leaf that is no register. Apart, so that the way of registers keeps what it needs in the processor's.
    #[inline(never)]
    fn other_leaf(&mut self, node: &tree::Operand, reference: Reference) -> Operand {
        match node.kind {
            OperandKind::Sink => return Operand::Sink,
            OperandKind::Number | OperandKind::Expression => {
                return Operand::Constant(self.builder.constant(ConstantData {
                    literal: literal::evaluate(self.module.text(node.text)),
                    text: Some(node.text),
                }));
            }
            OperandKind::String => {
                return Operand::Symbol(self.undeclared(node.text, SymbolKind::Other));
            }
            _ => {}
        }
        match reference {
            Reference::Label(label) => match self.boundaries.mention(label) {
                LabelOperand::Target(target) => Operand::Target(target),
                LabelOperand::Table => self.symbol(node.text, SymbolKind::Table(label)),
            },
            Reference::Variable(variable) => {
                let entity = oriole_ir::Variable::from_u32(variable);
                let kind = if self.scopes.variables[variable as usize].in_header {
                    SymbolKind::Parameter(entity)
                } else {
                    SymbolKind::Variable(entity)
                };
                self.symbol(node.text, kind)
            }
            Reference::Global(global) => self.symbol(
                node.text,
                SymbolKind::Global(oriole_ir::Global::from_u32(global)),
            ),
            Reference::Special => {
                let name = self.module.text(node.text);
                if let Some(&symbol) = self.specials.get(&name) {
                    return Operand::Symbol(symbol);
                }
                let kind = match SpecialRegister::from_text(name) {
                    Some(special) => SymbolKind::Special(special),
                    None if name == "WARP_SZ" => SymbolKind::WarpSize,
                    None => SymbolKind::Other,
                };
                let symbol = self.undeclared(node.text, kind);
                self.specials.insert(name, symbol);
                Operand::Symbol(symbol)
            }
            // What means nothing was reported when names were resolved.
            Reference::Unknown | Reference::None | Reference::Register(_) => {
                Operand::Symbol(self.undeclared(node.text, SymbolKind::Other))
            }
        }
    }

    /// A symbol for what no declaration declares.
    fn undeclared(&mut self, name: Text, kind: SymbolKind) -> Symbol {
        self.builder.add_symbol(SymbolData {
            name,
            kind,
            space: None,
        })
    }

    /// The symbol for what is declared.
    fn symbol(&mut self, name: Text, kind: SymbolKind) -> Operand {
        Operand::Symbol(self.builder.symbol(kind).unwrap_or_else(|| {
            let space = self.space(name, kind);
            self.builder.add_symbol(SymbolData { name, kind, space })
        }))
    }

    /// The space of a variable that can be named from everywhere in the function: nothing hides it.
    fn space(&self, name: Text, kind: SymbolKind) -> Option<Space> {
        let storage = match kind {
            SymbolKind::Global(global) => {
                let Global::Variable { declaration, .. } = self.globals.entries[global.index()].1
                else {
                    return None;
                };
                self.module.top.declarations[declaration as usize].storage
            }
            SymbolKind::Parameter(variable) | SymbolKind::Variable(variable) => {
                let variable = variable.index();
                let data = self.scopes.variables[variable];
                if self.scopes.parents.len() > 1 {
                    let text = self.module.text(name);
                    let hides = |(index, other): (usize, &Variable)| {
                        index != variable && self.module.text(other.name) == text
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
        space_of(storage)
    }
}
