//! Prints functions in the textual form.

use super::lexer::number_length;
use crate::entities::{Block, Instruction, Register, Symbol, Value, Variable};
use crate::format::{ShapeKind, ShapeNode};
use crate::function::{ConstantData, Definition, Function, SymbolKind};
use crate::operand::Operand;
use crate::variable::{VariableKind, VariableType};
use oriole_collections::{BitSet, DenseMap, IndexVec};
use oriole_isa::ScalarType;
use oriole_syntax::literal::{self, Literal};
use oriole_syntax::tree::{FunctionKind, Guard, Prefix, Text};
use std::fmt::Write;

/// Gives the source line of a location; nothing if it has none.
pub type LineOf<'a> = &'a dyn Fn(u32) -> Option<u32>;

/// Prints one function, or single instructions of it.
pub struct Printer<'a> {
    names: &'a str,
    function: &'a Function,
    line_of: Option<LineOf<'a>>,
    mentions: Mentions,
    output: String,
}

impl std::fmt::Debug for Printer<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Printer").finish_non_exhaustive()
    }
}

/// What is declared before the blocks of a function.
struct Mentions {
    /// How many registers of the same name were mentioned before this one, and one more; 0 for those never mentioned.
    registers: IndexVec<Register, u32>,
    /// Which of the variables and symbols of its name each is, from 1.
    variables: IndexVec<Variable, u32>,
    symbols: IndexVec<Symbol, u32>,
    undefined: BitSet<Value>,
}

/// Whether a symbol that is no variable is declared before the blocks: special registers and strings are not.
fn is_declared(names: &str, name: Text, kind: SymbolKind) -> bool {
    match kind {
        SymbolKind::Special(_) => false,
        SymbolKind::Other => !names[name.span().range()].starts_with('"'),
        _ => true,
    }
}

impl Mentions {
    fn of(names: &str, function: &Function) -> Mentions {
        let mut mentions = Mentions {
            registers: IndexVec::from_elem(0, function.registers().len()),
            variables: IndexVec::from_elem(0, function.variables().len()),
            symbols: IndexVec::from_elem(0, function.symbols().len()),
            undefined: BitSet::with_domain(function.values().len()),
        };
        let mut pinned: BitSet<Register> = BitSet::with_domain(function.registers().len());
        for &block in function.block_order() {
            for instruction in function.instructions_of(block) {
                for &operand in function.operands(instruction) {
                    match operand {
                        Operand::Register(register) => {
                            pinned.insert(register);
                        }
                        Operand::Value(value) => mentions.on_value(function, value),
                        _ => {}
                    }
                }
            }
            for &edge in function.edges(block) {
                for &argument in function.arguments(edge) {
                    mentions.on_value(function, argument);
                }
            }
        }
        let mut counts: DenseMap<&str, u32> = DenseMap::new();
        let mut next = |name: Text| {
            let count = counts.get_or_default(&names[name.span().range()]);
            *count += 1;
            *count
        };
        for (variable, data) in function.variables().iter() {
            if !data.is_removed() {
                mentions.variables[variable] = next(data.name);
            }
        }
        for (symbol, data) in function.symbols().iter() {
            mentions.symbols[symbol] = match data.variable() {
                Some(variable) => mentions.variables[variable],
                None if is_declared(names, data.name, data.kind) => next(data.name),
                None => 0,
            };
        }
        mentions.number_registers(names, function, &pinned);
        mentions
    }

    fn on_value(&mut self, function: &Function, value: Value) {
        if function.values()[value].definition == Definition::Undefined {
            self.undefined.insert(value);
        }
    }

    /// Numbers registers in the order in which the text mentions them, so that reading it numbers them likewise.
    fn number_registers(&mut self, names: &str, function: &Function, pinned: &BitSet<Register>) {
        let mut counts: DenseMap<&str, u32> = DenseMap::new();
        let mut number = |register: Register| {
            let number = &mut self.registers[register];
            if *number == 0 {
                let name = function.registers()[register].name;
                let count = counts.get_or_default(&names[name.span().range()]);
                *count += 1;
                *number = *count;
            }
        };
        pinned.iter().for_each(&mut number);
        let mut number_name = |value: Value| {
            if let Some(name) = function.values()[value].name.expand() {
                number(name);
            }
        };
        self.undefined.iter().for_each(&mut number_name);
        for &block in function.block_order() {
            let parameters = function.blocks()[block].parameters.iter();
            parameters.copied().for_each(&mut number_name);
            for instruction in function.instructions_of(block) {
                function.results(instruction).for_each(&mut number_name);
            }
        }
    }
}

impl<'a> Printer<'a> {
    /// Prints a function whose names are slices of `names`: for a function of a module, of its
    /// [whole text](oriole_syntax::tree::Module::whole_text), and for one that was read, of what was read.
    pub fn new(names: &'a str, function: &'a Function) -> Printer<'a> {
        Printer {
            names,
            function,
            line_of: None,
            mentions: Mentions::of(names, function),
            output: String::new(),
        }
    }

    /// Also prints lines behind instructions: `line_of` says which line a location is.
    pub fn with_lines(self, line_of: LineOf<'a>) -> Printer<'a> {
        Printer {
            line_of: Some(line_of),
            ..self
        }
    }

    /// The function as text.
    pub fn function(&mut self) -> String {
        self.output.clear();
        let function = self.function;
        let kind = match function.kind() {
            FunctionKind::Entry => "entry",
            FunctionKind::Function => "func",
        };
        let name = self.text(function.name());
        self.put(format_args!("{kind} {name} {{\n"));
        self.declarations();
        for &block in function.block_order() {
            self.block(block);
        }
        self.output.push_str("}\n");
        std::mem::take(&mut self.output)
    }

    /// One instruction as text.
    pub fn instruction(&mut self, instruction: Instruction) -> String {
        self.output.clear();
        self.put_instruction(instruction);
        std::mem::take(&mut self.output)
    }

    fn put(&mut self, text: impl std::fmt::Display) {
        write!(self.output, "{text}").expect("writing to a string cannot fail");
    }

    fn text(&self, text: Text) -> &'a str {
        &self.names[text.span().range()]
    }

    /// Writes items with commas between them.
    fn list<T>(
        &mut self,
        items: impl IntoIterator<Item = T>,
        mut put: impl FnMut(&mut Printer<'a>, T),
    ) {
        for (index, item) in items.into_iter().enumerate() {
            if index > 0 {
                self.output.push_str(", ");
            }
            put(self, item);
        }
    }

    fn declarations(&mut self) {
        let function = self.function;
        for variable in function.variables().keys() {
            if !function.variables()[variable].is_removed() {
                self.variable(variable);
            }
        }
        for (symbol, data) in function.symbols().iter() {
            if data.variable().is_some() || !is_declared(self.names, data.name, data.kind) {
                continue;
            }
            self.output.push_str(match data.kind {
                SymbolKind::Parameter(_) | SymbolKind::Variable(_) => continue,
                SymbolKind::Global(_) => "    global ",
                SymbolKind::Table(_) => "    table ",
                SymbolKind::WarpSize => "    warp_size ",
                SymbolKind::Special(_) | SymbolKind::Other => "    other ",
            });
            self.symbol(symbol);
            if let Some(space) = data.space {
                self.put(format_args!(": {}", space.text()));
            }
            self.output.push('\n');
        }
        for (register, data) in function.registers().iter() {
            if data.pinned && self.mentions.registers[register] != 0 {
                self.output.push_str("    pinned ");
                self.register(register);
                if let Some(scalar_type) = data.scalar_type {
                    self.put(format_args!(": {}", scalar_type.text()));
                }
                self.output.push('\n');
            }
        }
        let undefined: Vec<Value> = self.mentions.undefined.iter().collect();
        for value in undefined {
            self.output.push_str("    undefined ");
            self.defined(value);
            self.output.push('\n');
        }
    }

    /// The declaration of a variable: `variable @buffer: local b8[40] align 16`.
    fn variable(&mut self, variable: Variable) {
        let function = self.function;
        let data = &function.variables()[variable];
        self.output.push_str(match data.kind {
            VariableKind::Parameter => "    parameter @",
            VariableKind::Result => "    result @",
            VariableKind::Declared => "    variable @",
        });
        let name = self.text(data.name);
        self.numbered(name, self.mentions.variables[variable]);
        if let Some(space) = data.space {
            self.put(format_args!(": {}", space.text()));
            self.variable_type(&data.variable_type);
            let is_inner = match data.symbol.expand() {
                Some(symbol) => function.symbols()[symbol].space.is_none(),
                None => data.scope != 0,
            };
            if is_inner {
                self.output.push_str(" inner");
            }
        }
        self.output.push('\n');
    }

    fn variable_type(&mut self, variable_type: &VariableType) {
        if *variable_type == VariableType::UNKNOWN {
            return;
        }
        self.output.push(' ');
        if variable_type.vector > 1 {
            self.put(format_args!("v{}.", variable_type.vector));
        }
        let element = variable_type.element.map_or("?", ScalarType::text);
        self.output.push_str(element);
        match variable_type.count() {
            Some(1) => {}
            Some(count) => self.put(format_args!("[{count}]")),
            None => self.output.push_str("[]"),
        }
        if variable_type.alignment != variable_type.element_bytes().max(1) {
            self.put(format_args!(" align {}", variable_type.alignment));
        }
    }

    fn block(&mut self, block: Block) {
        let function = self.function;
        let data = &function.blocks()[block];
        self.put(format_args!("{block}("));
        self.list(data.parameters.iter().copied(), Printer::defined);
        let end = if data.nounroll {
            ") nounroll:\n"
        } else {
            "):\n"
        };
        self.output.push_str(end);
        for instruction in function.instructions_of(block) {
            self.output.push_str("    ");
            self.put_instruction(instruction);
            self.output.push('\n');
        }
        if data.edges.is_empty() {
            return;
        }
        self.output.push_str("    -> ");
        self.list(data.edges.iter().enumerate(), |printer, (index, edge)| {
            printer.put(format_args!("{}(", edge.target));
            printer.list(function.arguments(*edge), |printer, value| {
                printer.put(value);
            });
            printer.output.push(')');
            if data.fall_through() == Some(index) {
                printer.output.push_str(" next");
            }
        });
        self.output.push('\n');
    }

    /// A value where it is defined: its type and, if it has one, its name.
    fn defined(&mut self, value: Value) {
        let function = self.function;
        let data = &function.values()[value];
        self.put(format_args!("{value}:{}", data.scalar_type.text()));
        if let Some(name) = data.name.expand() {
            self.output.push('(');
            self.register(name);
            let own_type = function.registers()[name].scalar_type;
            if own_type != Some(data.scalar_type) {
                self.put(format_args!(":{}", own_type.map_or("?", ScalarType::text)));
            }
            self.output.push(')');
        }
    }

    fn register(&mut self, register: Register) {
        let name = self.text(self.function.registers()[register].name);
        self.numbered(name, self.mentions.registers[register]);
    }

    fn symbol(&mut self, symbol: Symbol) {
        let data = &self.function.symbols()[symbol];
        let name = self.text(data.name);
        if data.variable().is_some() || is_declared(self.names, data.name, data.kind) {
            self.output.push('@');
            self.numbered(name, self.mentions.symbols[symbol]);
        } else {
            self.output.push_str(name);
        }
    }

    /// A name, and which of those with this name is meant, unless it is the first.
    fn numbered(&mut self, name: &str, number: u32) {
        self.output.push_str(name);
        if number > 1 {
            self.put(format_args!("#{number}"));
        }
    }

    fn put_instruction(&mut self, instruction: Instruction) {
        let function = self.function;
        let format = function.format(instruction);
        self.list(function.results(instruction), Printer::defined);
        if function.results(instruction).len() > 0 {
            self.output.push_str(" = ");
        }
        self.output.push_str(format.mnemonic.text());
        let mut leaves = function.leaves(instruction).iter().copied();
        let mut shape = &format.shape[..];
        let mut separator = " ";
        while !shape.is_empty() {
            self.output.push_str(separator);
            separator = ", ";
            shape = self.operand(shape, &mut leaves);
        }
        if let Some(guard) = function.guard(instruction) {
            self.output.push_str(match format.guard {
                Guard::IfNot => " if not ",
                _ => " if ",
            });
            self.leaf(guard);
            let otherwise = function.otherwise(instruction);
            if !otherwise.is_empty() {
                self.output.push_str(" else ");
                self.list(otherwise.iter().copied(), Printer::leaf);
            }
        }
        let line = |line_of: LineOf<'_>| line_of(function.location(instruction)?);
        if let Some(line) = self.line_of.and_then(line) {
            self.put(format_args!(" at {line}"));
        }
    }

    /// Writes the operand that a shape begins with; gives the rest of the shape. Operands nest as deep as the parser of PTX
    /// allows, which is not deep.
    fn operand<'shape>(
        &mut self,
        shape: &'shape [ShapeNode],
        leaves: &mut impl Iterator<Item = Operand>,
    ) -> &'shape [ShapeNode] {
        let node = shape[0];
        let (mut inner, rest) = shape[1..].split_at(node.size as usize - 1);
        let (open, between, close) = match node.kind {
            ShapeKind::Leaf => {
                let leaf = leaves.next().expect("a leaf for each leaf of the shape");
                self.output.push_str(match (node.prefix, leaf) {
                    (Prefix::None, _) => "",
                    (Prefix::Not, _) => "!",
                    // `-4` is one number.
                    (Prefix::Minus, Operand::Constant(_)) => "- ",
                    (Prefix::Minus, _) => "-",
                });
                self.leaf(leaf);
                self.put(node.member.text());
                return rest;
            }
            ShapeKind::Vector => ("{", ", ", "}"),
            ShapeKind::Address => ("[", ", ", "]"),
            ShapeKind::List => ("(", ", ", ")"),
            ShapeKind::Pair => ("", "|", ""),
            ShapeKind::Sum => ("", "+", ""),
            ShapeKind::Difference => ("", "-", ""),
            ShapeKind::Element => ("", "[", "]"),
        };
        self.output.push_str(open);
        let mut first = true;
        while !inner.is_empty() {
            if !first {
                self.output.push_str(between);
            }
            first = false;
            inner = self.operand(inner, leaves);
        }
        self.output.push_str(close);
        rest
    }

    fn leaf(&mut self, operand: Operand) {
        let function = self.function;
        match operand {
            Operand::Value(value) => self.put(value),
            Operand::Register(register) => {
                self.output.push_str("pinned ");
                self.register(register);
            }
            Operand::Result(index) => self.put(format_args!("#{index}")),
            Operand::Constant(constant) => self.constant(&function.constants()[constant]),
            Operand::Symbol(symbol) => self.symbol(symbol),
            Operand::Target(edge) => self.put(format_args!("->{edge}")),
            Operand::Sink => self.output.push('_'),
        }
    }

    /// A constant as it was spelled if that is one number, and otherwise its value.
    fn constant(&mut self, constant: &ConstantData) {
        if let Some(text) = constant.text.map(|text| self.text(text))
            && number_length(text.as_bytes()) == text.len()
            && literal::evaluate(text) == constant.literal
        {
            self.output.push_str(text);
            return;
        }
        match constant.literal {
            None => self.output.push('?'),
            Some(Literal::Single(bits)) => self.put(format_args!("0f{bits:08X}")),
            Some(Literal::Double(bits)) => self.put(format_args!("0d{bits:016X}")),
            Some(Literal::Integer { bits, unsigned }) => {
                let text = match unsigned {
                    true => bits.to_string(),
                    false => (bits as i64).to_string(),
                };
                self.output.push_str(&text);
                if literal::evaluate(&text) != constant.literal {
                    self.output.push(if unsigned { 'U' } else { 'S' });
                }
            }
        }
    }
}
