//! Writes one instruction: as its statement was written where that still says the same, and operand by operand otherwise.

use super::Emitter;
use oriole_collections::PackedOption;
use oriole_ir::{
    Block, Constant, FormatData, Instruction, Member, Operand, Register, ShapeKind, Symbol,
    SymbolKind, Value,
};
use oriole_isa::Terminator;
use oriole_syntax::literal::Literal;
use oriole_syntax::scopes::Reference;
use oriole_syntax::tree::{self, Directive, Guard, OperandKind, Statement, Text};

impl Emitter<'_> {
    /// Writes an instruction; a branch that is turned has the opposite guard and leads where it would have fallen through. What is
    /// written as it was is not asked for its format, which is seldom in the cache by then.
    pub(super) fn instruction(
        &mut self,
        block: Block,
        instruction: Instruction,
        is_terminator: bool,
        turned: bool,
    ) {
        let function = self.function;
        let table = match is_terminator {
            true => self.table_of(block, instruction),
            false => None,
        };
        let start = self.body.operands.len();
        let original = self.original;
        let source = function.spelling(instruction).map(|source| {
            match &original.statements[source as usize] {
                Statement::Instruction(source) => source,
                _ => unreachable!("instructions come from instruction statements"),
            }
        });
        let (mnemonic, guard) = match source {
            Some(source)
                if table.is_none() && !turned && self.operands_as_written(instruction, source) =>
            {
                (source.mnemonic, source.guard)
            }
            _ => {
                let format = function.format(instruction);
                self.operands_anew(block, instruction, format, turned, table, source);
                let mnemonic = match source {
                    Some(source) => source.mnemonic,
                    None => self.module.add_text(format.mnemonic.text()),
                };
                let guard = match turned {
                    true => format.guard.opposite(),
                    false => format.guard,
                };
                (mnemonic, guard)
            }
        };
        let nodes = start..self.body.operands.len();
        let written = tree::Instruction::new(mnemonic, guard, nodes);
        self.body.statements.push(Statement::Instruction(written));
    }

    /// The new table of a terminator, if it needs one.
    fn table_of(&mut self, block: Block, terminator: Instruction) -> Option<Text> {
        match self.function.format(terminator).effects.terminator {
            Terminator::IndirectBranch => self.new_table(block, terminator),
            _ => None,
        }
    }

    /// Writes the operands of an instruction that is spelled as its statement, if all still say the same; whether they do.
    #[inline]
    fn operands_as_written(
        &mut self,
        instruction: Instruction,
        source: &tree::Instruction,
    ) -> bool {
        let nodes = source.nodes();
        let written = &self.original.operands[nodes.clone()];
        if (self.many_scopes && !self.in_place)
            || (self.hoists && self.mentions_hoisted(source))
            || !self.is_as_written(instruction, source)
        {
            return false;
        }
        if self.many_scopes {
            let start = self.body.operands.len() as u32;
            self.meanings.copied(start, nodes);
        }
        self.body.operands.extend_from_slice(written);
        true
    }

    /// Whether a statement of the original mentions a register that has another name now.
    fn mentions_hoisted(&self, source: &tree::Instruction) -> bool {
        let mut references = self.scopes.references[source.nodes()].iter();
        references.any(|reference| match *reference {
            Reference::Register(register) => self.names[Register::from_u32(register)].is_some(),
            _ => false,
        })
    }

    /// Whether operands, guard included, surely are what their nodes and the meanings of their names say.
    #[inline(never)]
    fn is_as_written(&self, instruction: Instruction, source: &tree::Instruction) -> bool {
        let function = self.function;
        let written = &self.original.operands[source.nodes()];
        let references = &self.scopes.references[source.nodes()];
        let registers = &self.assignment.registers;
        let operands = function.operands(instruction);
        let mut results = function.results(instruction);
        // What is spelled as its statement has the statement's guard.
        let guards = usize::from(source.guard != Guard::None);
        // Behind the guard stands what the results are if it is false; that is not written.
        let kept = guards * results.len();
        let first_result = results.next().map_or(0, Value::index);
        let mut next = 0;
        for (node, reference) in written.iter().zip(references) {
            if ShapeKind::of(node.kind) != ShapeKind::Leaf {
                continue;
            }
            let operand = operands[next];
            next += 1;
            if next == guards {
                next += kept;
            }
            let register = match operand {
                Operand::Value(value) => registers[value],
                Operand::Result(result) => {
                    registers[Value::from_index(first_result + usize::from(result))]
                }
                Operand::Register(register) => PackedOption::some(register),
                Operand::Constant(constant)
                    if function.constants()[constant].text == Some(node.text) =>
                {
                    continue;
                }
                Operand::Symbol(symbol) if self.is_meant(symbol, node, *reference) => continue,
                _ => return false,
            };
            match *reference {
                Reference::Register(meant)
                    if register == PackedOption::some(Register::from_u32(meant)) => {}
                _ => return false,
            }
        }
        true
    }

    /// Whether a node of the original names a symbol as it is to be named now.
    #[inline]
    fn is_meant(&self, symbol: Symbol, node: &tree::Operand, reference: Reference) -> bool {
        let data = self.function.symbols()[symbol];
        match data.variable() {
            Some(variable) => {
                reference == Reference::Variable(variable.as_u32())
                    && self.variable_names[variable].is_none()
            }
            None => self.says(node, data.name),
        }
    }

    /// Whether a node is spelled like this.
    fn says(&self, node: &tree::Operand, name: Text) -> bool {
        name == node.text || self.module.text(name) == self.module.text(node.text)
    }

    /// The operands of an instruction node by node; those of the statement it is spelled as serve where they can.
    fn operands_anew(
        &mut self,
        block: Block,
        instruction: Instruction,
        format: &FormatData,
        turned: bool,
        table: Option<Text>,
        source: Option<&tree::Instruction>,
    ) {
        let function = self.function;
        let original = self.original;
        let mut source_node = source.map(|source| source.nodes().start);
        if let Some(guard) = function.guard(instruction) {
            let from = source_node.map(|node| (node, original.operands[node]));
            let node = self.leaf(block, instruction, guard, Member::WHOLE, from);
            self.body.operands.push(node);
            source_node = source_node.map(|node| node + 1);
        }
        let leaves = function.leaves(instruction);
        let mut leaf = 0;
        for (index, part) in format.shape.iter().enumerate() {
            let from = source_node.map(|first| (first + index, original.operands[first + index]));
            let node = if part.kind == ShapeKind::Leaf {
                let operand = leaves[leaf];
                leaf += 1;
                let operand = match operand {
                    Operand::Target(0) if turned => Operand::Target(1),
                    operand => operand,
                };
                let mut node = match (table, operand) {
                    (Some(table), Operand::Symbol(symbol))
                        if matches!(function.symbols()[symbol].kind, SymbolKind::Table(_)) =>
                    {
                        tree::Operand::leaf(OperandKind::Name, table)
                    }
                    _ => self.leaf(block, instruction, operand, part.member, from),
                };
                node.prefix = part.prefix;
                node
            } else {
                match from {
                    Some((_, node)) => node,
                    None => tree::Operand {
                        kind: part.kind.group(),
                        prefix: part.prefix,
                        size: part.size,
                        text: Text::default(),
                    },
                }
            };
            self.body.operands.push(node);
        }
    }

    /// The register an operand is in.
    #[inline]
    fn register(&self, instruction: Instruction, operand: Operand) -> Option<Register> {
        match operand {
            Operand::Value(value) => Some(self.assignment.register(value)),
            Operand::Result(index) => {
                let result = self.function.results(instruction).nth(index as usize);
                Some(self.assignment.register(result.expect("verified")))
            }
            Operand::Register(register) => Some(register),
            _ => None,
        }
    }

    /// The node for a leaf, to be added next; the original one, if it still says the same.
    fn leaf(
        &mut self,
        block: Block,
        instruction: Instruction,
        operand: Operand,
        member: Member,
        source: Option<(usize, tree::Operand)>,
    ) -> tree::Operand {
        let function = self.function;
        let at = self.body.operands.len();
        if let Some(register) = self.register(instruction, operand) {
            if self.many_scopes {
                self.meanings.registers.push((at as u32, register));
            }
            if let Some((index, node)) = source
                && self.names[register].is_none()
                && self.scopes.references[index] == Reference::Register(register.as_u32())
            {
                if !self.in_place {
                    self.note_register(register);
                }
                return node;
            }
            self.note_register(register);
            let name = self.name(register);
            let text = if member == Member::WHOLE {
                name
            } else {
                let name = format!("{}{}", self.module.text(name), member.text());
                self.module.add_text(&name)
            };
            return tree::Operand::leaf(OperandKind::Name, text);
        }
        match operand {
            Operand::Target(edge) => {
                let target = function.blocks()[block].edges[edge as usize].target;
                let target = self.endings.landing(target);
                let split = self
                    .edge_labels
                    .get(&(block.as_u32(), u32::from(edge)))
                    .copied();
                if split.is_none() {
                    self.label_uses.push((at as u32, target));
                }
                let label = split
                    .or(self.block_labels[target])
                    .expect("branch targets have labels");
                self.note_branch(label);
                if let (Some((index, node)), None) = (source, split)
                    && let Some(label) = function.blocks()[target].label
                    && self.scopes.references[index] == Reference::Label(label)
                {
                    return node;
                }
                tree::Operand::leaf(OperandKind::Name, label)
            }
            Operand::Constant(constant) => self.constant(constant, source.map(|(_, node)| node)),
            Operand::Symbol(symbol) => self.symbol(symbol, source),
            Operand::Sink => match source {
                Some((_, node)) if node.kind == OperandKind::Sink => node,
                _ => {
                    let text = self.mnemonic("_");
                    tree::Operand::leaf(OperandKind::Sink, text)
                }
            },
            Operand::Value(_) | Operand::Result(_) | Operand::Register(_) => {
                unreachable!("handled above")
            }
        }
    }

    /// The node for a symbol: the original one, if it stands where it stood and still says the same.
    fn symbol(&mut self, symbol: Symbol, source: Option<(usize, tree::Operand)>) -> tree::Operand {
        let data = self.function.symbols()[symbol];
        if let Some((index, node)) = source
            && self.in_place
            && (node.kind != OperandKind::Name
                || self.is_meant(symbol, &node, self.scopes.references[index]))
        {
            return node;
        }
        let at = self.body.operands.len() as u32;
        let mut name = data.name;
        // A name at another place must still mean the same there.
        if let Some(variable) = data.variable() {
            if let Some(new) = self.variable_names[variable] {
                name = new;
            }
            if self.many_scopes {
                self.note_variable(variable);
                self.meanings.variables.push((at, variable));
            }
        } else if let SymbolKind::Global(global) = data.kind
            && self.many_scopes
        {
            self.note_name(data.name, 0);
            self.meanings.globals.push((at, global));
        }
        tree::Operand::leaf(OperandKind::Name, name)
    }

    /// The node for a constant: the original one, if it is still that constant.
    fn constant(&mut self, constant: Constant, source: Option<tree::Operand>) -> tree::Operand {
        let data = self.function.constants()[constant];
        match (data.text, source) {
            (Some(text), Some(node)) if node.text == text => node,
            (Some(text), _) => tree::Operand::leaf(OperandKind::Expression, text),
            (None, _) => {
                let module = &mut *self.module;
                let text = match data.literal.expect("constants made by passes have values") {
                    Literal::Integer {
                        bits,
                        unsigned: true,
                    } => module.add_integer(false, bits),
                    Literal::Integer { bits, .. } => {
                        let signed = bits as i64;
                        module.add_integer(signed < 0, signed.unsigned_abs())
                    }
                    Literal::Single(bits) => module.add_formatted(format_args!("0f{bits:08X}")),
                    Literal::Double(bits) => module.add_formatted(format_args!("0d{bits:016X}")),
                };
                tree::Operand::leaf(OperandKind::Number, text)
            }
        }
    }

    /// If the targets of an indirect branch changed, a new table before it, and its name.
    fn new_table(&mut self, block: Block, instruction: Instruction) -> Option<Text> {
        let function = self.function;
        let old = function
            .leaves(instruction)
            .iter()
            .find_map(|leaf| match leaf {
                Operand::Symbol(symbol) => match function.symbols()[*symbol].kind {
                    SymbolKind::Table(label) => self.scopes.branch_targets.get(&label),
                    _ => None,
                },
                _ => None,
            })?;
        let data = &function.blocks()[block];
        let targets = data.edges.len() - usize::from(data.falls_through);
        let label_of = |edge: usize| {
            self.edge_labels
                .get(&(block.as_u32(), edge as u32))
                .copied()
                .or(self.block_labels[data.edges[edge].target])
        };
        // A copy may stand before the table, which must come before its uses.
        let unchanged = self.in_place
            && targets == old.len()
            && (0..targets)
                .all(|edge| label_of(edge) == Some(self.scopes.labels[old[edge] as usize].name));
        if unchanged {
            return None;
        }
        let labels: Vec<Text> = (0..targets)
            .map(|edge| label_of(edge).expect("branch targets have labels"))
            .collect();
        let name = self.naming.label(self.module);
        let keyword = self.module.add_text(".branchtargets");
        let comma = self.module.add_text(",");
        let mut words = vec![keyword];
        for (index, label) in labels.into_iter().enumerate() {
            if index > 0 {
                words.push(comma);
            }
            words.push(label);
        }
        let words = self.body.add_words(words);
        self.note_label();
        self.body.statements.push(Statement::Label(name));
        self.body.statements.push(Statement::Directive(Directive {
            words,
            semicolon: true,
        }));
        Some(name)
    }
}
