//! Reads functions in the textual form, line by line: what is wrong with a line does not keep the others from being read.

use super::lexer::Lexer;
use super::operands::{InstructionText, Operands};
use crate::builder::FunctionBuilder;
use crate::entities::{Block, Global, Register, Symbol, Value};
use crate::formats::Formats;
use crate::function::{
    Definition, Edge, Function, RegisterData, SymbolData, SymbolKind, ValueData,
};
use crate::operand::Operand;
use crate::variable::{VariableData, VariableKind, VariableType};
use crate::verifier::{Violation, verify};
use oriole_collections::DenseMap;
use oriole_diagnostics::{Diagnostic, Span};
use oriole_isa::{ScalarType, Space};
use oriole_syntax::tree::{FunctionKind, Guard, Text};

/// What a line gives, or what is wrong with it.
pub(super) type Parsed<T> = Result<T, Diagnostic>;

/// Errors after which reading stops.
const MOST_ERRORS: usize = 100;

/// Reads all functions of a text. Their names are slices of it.
///
/// # Errors
/// What is wrong with the text, or with the first function in it that breaks a rule of the [verifier](crate::verify).
pub fn read(text: &str) -> Result<Vec<Function>, Vec<Diagnostic>> {
    if u32::try_from(text.len()).is_err() {
        let message = "the text is longer than four gigabytes";
        return Err(vec![syntax_error(Span::new(0, 0), message)]);
    }
    let mut reader = Reader {
        lexer: Lexer::new(text),
        length: text.len(),
        errors: Vec::new(),
    };
    let mut functions = Vec::new();
    while reader.errors.len() < MOST_ERRORS && reader.lexer.next_line() {
        functions.extend(reader.function());
    }
    match reader.errors.is_empty() {
        true => Ok(functions),
        false => Err(reader.errors),
    }
}

pub(super) fn syntax_error(span: Span, message: impl Into<String>) -> Diagnostic {
    Diagnostic::error("ssa-syntax", span, message)
}

/// An error about what comes next.
pub(super) fn expected(lexer: &mut Lexer<'_>, what: &str) -> Diagnostic {
    let found = lexer.found();
    let message = match lexer.text(found) {
        "" => format!("expected {what}, found the end of the line"),
        text => format!("expected {what}, found `{text}`"),
    };
    syntax_error(found.span(), message)
}

struct Reader<'a> {
    lexer: Lexer<'a>,
    length: usize,
    errors: Vec<Diagnostic>,
}

impl Reader<'_> {
    /// The function that starts on this line; nothing if something is wrong with it.
    fn function(&mut self) -> Option<Function> {
        let before = self.errors.len();
        let start = self.lexer.position();
        let (kind, name) = match header(&mut self.lexer) {
            Ok(header) => header,
            Err(error) => {
                self.errors.push(error);
                self.lexer.skip_line();
                (FunctionKind::Function, self.lexer.slice(start, start))
            }
        };
        let mut body = Body {
            lexer: self.lexer,
            length: self.length,
            builder: FunctionBuilder::new(name, kind, Formats::new()),
            registers: DenseMap::new(),
            symbols: DenseMap::new(),
            special_registers: DenseMap::new(),
            values: Vec::new(),
            blocks: Vec::new(),
            instructions: Vec::new(),
            block: None,
            has_edges: false,
        };
        let mut is_closed = false;
        while !is_closed && self.errors.len() < MOST_ERRORS && body.lexer.next_line() {
            match body.line() {
                Ok(closes) => is_closed = closes,
                Err(error) => {
                    self.errors.push(error);
                    body.lexer.skip_line();
                }
            }
        }
        self.lexer = body.lexer;
        if !is_closed && self.errors.len() < MOST_ERRORS {
            self.errors.push(expected(&mut self.lexer, "`}`"));
        }
        if self.errors.len() > before {
            return None;
        }
        match body.finish(name) {
            Ok(function) => Some(function),
            Err(errors) => {
                self.errors.extend(errors);
                None
            }
        }
    }
}

/// `entry name {`
fn header(lexer: &mut Lexer<'_>) -> Parsed<(FunctionKind, Text)> {
    let kind = if lexer.take_word("entry") {
        FunctionKind::Entry
    } else if lexer.take_word("func") {
        FunctionKind::Function
    } else {
        return Err(expected(lexer, "`entry` or `func`"));
    };
    let name = lexer
        .name()
        .ok_or_else(|| expected(lexer, "the name of the function"))?;
    expect(lexer, "{")?;
    line_end(lexer)?;
    Ok((kind, name))
}

pub(super) fn expect(lexer: &mut Lexer<'_>, signs: &str) -> Parsed<()> {
    match lexer.take(signs) {
        true => Ok(()),
        false => Err(expected(lexer, &format!("`{signs}`"))),
    }
}

fn line_end(lexer: &mut Lexer<'_>) -> Parsed<()> {
    match lexer.at_line_end() {
        true => Ok(()),
        false => Err(expected(lexer, "the end of the line")),
    }
}

/// Where something was first mentioned and where it was defined.
#[derive(Clone, Copy, Default)]
struct Seen {
    used: Option<Span>,
    defined: Option<Span>,
}

/// Makes the kind of a symbol from a number that tells it from others.
type MakeKind = fn(u32) -> SymbolKind;

/// A value as it is written where it is defined.
struct Defined {
    value: Value,
    place: Span,
    data: ValueData,
}

/// The body of a function that is being read.
pub(super) struct Body<'a> {
    pub(super) lexer: Lexer<'a>,
    length: usize,
    pub(super) builder: FunctionBuilder,
    /// By name and by which of that name it is.
    registers: DenseMap<(&'a str, u32), Register>,
    symbols: DenseMap<(&'a str, u32), Symbol>,
    pub(super) special_registers: DenseMap<&'a str, Symbol>,
    values: Vec<Seen>,
    blocks: Vec<Seen>,
    /// Where each instruction starts.
    instructions: Vec<Span>,
    block: Option<Block>,
    /// Whether the edges of the block were read.
    has_edges: bool,
}

impl<'a> Body<'a> {
    /// Reads a line; gives whether it is the last.
    fn line(&mut self) -> Parsed<bool> {
        let mut closes = false;
        if self.lexer.take("}") {
            closes = true;
        } else if self.lexer.is_next("->") {
            self.edges()?;
        } else if self.lexer.is_entity("block", b"(") {
            self.block_header()?;
        } else if let Some(block) = self.block {
            self.instruction(block)?;
        } else {
            self.declaration()?;
        }
        line_end(&mut self.lexer)?;
        Ok(closes)
    }

    fn declaration(&mut self) -> Parsed<()> {
        const VARIABLES: [(&str, VariableKind); 3] = [
            ("parameter", VariableKind::Parameter),
            ("result", VariableKind::Result),
            ("variable", VariableKind::Declared),
        ];
        const KINDS: [(&str, MakeKind); 4] = [
            ("global", |number| {
                SymbolKind::Global(Global::from_u32(number))
            }),
            ("table", SymbolKind::Table),
            ("warp_size", |_| SymbolKind::WarpSize),
            ("other", |_| SymbolKind::Other),
        ];
        if self.lexer.take_word("undefined") {
            let defined = self.defined()?;
            return self.define(defined, Definition::Undefined);
        }
        if self.lexer.take_word("pinned") {
            let (key, name) = self.numbered_name("the name of a register")?;
            let scalar_type = match self.lexer.take(":") {
                true => Some(self.scalar_type()?),
                false => None,
            };
            self.add_register(key, name, scalar_type, true)?;
            return Ok(());
        }
        for (word, kind) in VARIABLES {
            if self.lexer.take_word(word) {
                return self.variable(kind);
            }
        }
        for (word, kind) in KINDS {
            if self.lexer.take_word(word) {
                expect(&mut self.lexer, "@")?;
                let (key, name) = self.numbered_name("a name")?;
                let space = match self.lexer.take(":") {
                    true => Some(self.space()?),
                    false => None,
                };
                let number = self.builder.function().symbols().len() as u32;
                let data = SymbolData {
                    name,
                    kind: kind(number),
                    space,
                };
                return self.add_symbol(key, data);
            }
        }
        Err(expected(&mut self.lexer, "a declaration or a block"))
    }

    fn add_symbol(&mut self, key: (&'a str, u32), data: SymbolData) -> Parsed<()> {
        if self.symbols.contains_key(&key) {
            let message = format!("a second `@{}`", key.0);
            return Err(syntax_error(data.name.span(), message));
        }
        self.symbols.insert(key, self.builder.add_symbol(data));
        Ok(())
    }

    /// `@buffer: local b8[40] align 16 inner`, behind what kind of variable it is.
    fn variable(&mut self, kind: VariableKind) -> Parsed<()> {
        expect(&mut self.lexer, "@")?;
        let (key, name) = self.numbered_name("a name")?;
        let mut space = None;
        let mut variable_type = VariableType::UNKNOWN;
        let mut is_inner = false;
        if self.lexer.take(":") {
            space = Some(self.space()?);
            is_inner = self.lexer.take_word("inner");
            if !is_inner && !self.lexer.at_line_end() {
                variable_type = self.variable_type()?;
                is_inner = self.lexer.take_word("inner");
            }
        }
        let variable = self.builder.add_variable(VariableData {
            kind,
            scope: u32::from(is_inner),
            ..VariableData::declared(name, space, variable_type)
        });
        let symbol_kind = match kind {
            VariableKind::Parameter | VariableKind::Result => SymbolKind::Parameter(variable),
            VariableKind::Declared => SymbolKind::Variable(variable),
        };
        let data = SymbolData {
            name,
            kind: symbol_kind,
            space: space.filter(|_| !is_inner),
        };
        self.add_symbol(key, data)
    }

    /// `v4.f32[10] align 16`
    fn variable_type(&mut self) -> Parsed<VariableType> {
        let start = self.lexer;
        let text = self.lexer.element_type();
        let text = text.map_or("", |text| self.lexer.text(text));
        let (vector, element) = match text.split_once('.') {
            Some(("v2", element)) => (2, element),
            Some(("v4", element)) => (4, element),
            Some(("v8", element)) => (8, element),
            _ => (1, text),
        };
        let element = match ScalarType::from_text(element) {
            None if element != "?" => return Err(expected(&mut { start }, "a type")),
            element => element,
        };
        let mut found = VariableType {
            element,
            vector,
            ..VariableType::UNKNOWN
        };
        found.bytes = Some(found.element_bytes());
        if self.lexer.take("[") {
            let count = match self.lexer.is_next("]") {
                true => None,
                false => Some(self.index("a number of elements")?),
            };
            expect(&mut self.lexer, "]")?;
            found.bytes = count.and_then(|count| found.element_bytes().checked_mul(count));
        }
        found.alignment = found.element_bytes().max(1);
        if self.lexer.take_word("align") {
            found.alignment = self.index("an alignment")?;
        }
        Ok(found)
    }

    fn space(&mut self) -> Parsed<Space> {
        let start = self.lexer;
        self.lexer
            .type_name()
            .and_then(|text| Space::from_text(self.lexer.text(text)))
            .ok_or_else(|| expected(&mut { start }, "a state space"))
    }

    fn scalar_type(&mut self) -> Parsed<ScalarType> {
        let start = self.lexer;
        self.lexer
            .type_name()
            .and_then(|text| ScalarType::from_text(self.lexer.text(text)))
            .ok_or_else(|| expected(&mut { start }, "a type"))
    }

    /// `name` or `name#2`.
    fn numbered_name(&mut self, what: &str) -> Parsed<((&'a str, u32), Text)> {
        let name = self.lexer.name();
        let name = name.ok_or_else(|| expected(&mut self.lexer, what))?;
        let number = match self.lexer.take("#") {
            true => self.index("a number")?,
            false => 1,
        };
        Ok(((self.lexer.text(name), number), name))
    }

    pub(super) fn index(&mut self, what: &str) -> Parsed<u32> {
        let mut start = self.lexer;
        self.lexer.index().ok_or_else(|| expected(&mut start, what))
    }

    fn add_register(
        &mut self,
        key: (&'a str, u32),
        name: Text,
        scalar_type: Option<ScalarType>,
        pinned: bool,
    ) -> Parsed<Register> {
        let data = RegisterData {
            name,
            scalar_type,
            pinned,
        };
        if let Some(&register) = self.registers.get(&key) {
            let known = self.builder.function().registers()[register];
            if pinned
                || known
                    != (RegisterData {
                        name: known.name,
                        ..data
                    })
            {
                let message = format!("`{}` was mentioned as another register", key.0);
                return Err(syntax_error(name.span(), message).context(
                    known.name.span(),
                    "this register has another type or is pinned",
                ));
            }
            return Ok(register);
        }
        if key.1 != 1 && (key.1 == 0 || !self.registers.contains_key(&(key.0, key.1 - 1))) {
            let message = "registers of one name are numbered in the order they are mentioned in";
            return Err(syntax_error(name.span(), message));
        }
        let register = self.builder.add_register(data);
        self.registers.insert(key, register);
        Ok(register)
    }

    /// `v3:b32(%r1)`, where a value is defined.
    fn defined(&mut self) -> Parsed<Defined> {
        let start = self.lexer.position();
        let value = self.value_name()?;
        let place = self.lexer.taken(start).span();
        expect(&mut self.lexer, ":")?;
        let scalar_type = self.scalar_type()?;
        let mut named = None;
        if self.lexer.take("(") {
            let (key, name) = self.numbered_name("the name of a register")?;
            let own_type = if !self.lexer.take(":") {
                Some(scalar_type)
            } else if self.lexer.take("?") {
                None
            } else {
                Some(self.scalar_type()?)
            };
            named = Some(self.add_register(key, name, own_type, false)?);
            expect(&mut self.lexer, ")")?;
        }
        Ok(Defined {
            value,
            place,
            data: ValueData {
                definition: Definition::Undefined,
                name: named.into(),
                scalar_type,
            },
        })
    }

    /// `v3`, read or defined.
    fn value_name(&mut self) -> Parsed<Value> {
        let start = self.lexer.position();
        let number = self.lexer.entity("v");
        let number = number.ok_or_else(|| expected(&mut self.lexer, "a value"))? as usize;
        let span = self.lexer.taken(start).span();
        // Dead values leave gaps. They take memory, so there may not be many more of them than the text has room for.
        let most = 2 * self.length + (1 << 12);
        if number >= most {
            let message = format!("`v{number}` is far beyond the values there can be");
            return Err(syntax_error(span, message));
        }
        if self.values.len() <= number {
            self.values.resize(number + 1, Seen::default());
        }
        self.values[number].used.get_or_insert(span);
        let value = Value::from_index(number);
        let gap = ValueData {
            definition: Definition::Undefined,
            name: None.into(),
            scalar_type: ScalarType::B32,
        };
        self.builder.registers_and_values().1.ensure(value, gap);
        Ok(value)
    }

    fn define(&mut self, defined: Defined, definition: Definition) -> Parsed<()> {
        let Defined { value, place, data } = defined;
        let seen = &mut self.values[value.index()];
        if let Some(first) = seen.defined {
            let message = format!("`{value}` is defined twice");
            return Err(syntax_error(place, message).context(first, "it is defined here too"));
        }
        seen.defined = Some(place);
        let values = self.builder.registers_and_values().1;
        values[value] = ValueData { definition, ..data };
        Ok(())
    }

    /// A value that is read.
    pub(super) fn used_value(&mut self) -> Parsed<Value> {
        self.value_name()
    }

    /// A pinned register that was declared.
    pub(super) fn pinned_register(&mut self) -> Parsed<Register> {
        let (key, name) = self.numbered_name("the name of a register")?;
        self.registers.get(&key).copied().ok_or_else(|| {
            let message = format!("`{}` is not declared as pinned", key.0);
            syntax_error(name.span(), message)
        })
    }

    /// A symbol that was declared, behind its `@`.
    pub(super) fn declared_symbol(&mut self) -> Parsed<Symbol> {
        let (key, name) = self.numbered_name("a name")?;
        self.symbols.get(&key).copied().ok_or_else(|| {
            let message = format!("`@{}` is not declared", key.0);
            syntax_error(name.span(), message)
        })
    }

    /// `block3`, as a target or as a block of its own.
    fn block_name(&mut self) -> Parsed<(Block, Span)> {
        let start = self.lexer.position();
        let number = self.lexer.entity("block");
        let number = number.ok_or_else(|| expected(&mut self.lexer, "a block"))? as usize;
        let span = self.lexer.taken(start).span();
        // As for values.
        if number >= self.length + (1 << 10) {
            let message = format!("`block{number}` is far beyond the blocks there can be");
            return Err(syntax_error(span, message));
        }
        if self.blocks.len() <= number {
            self.blocks.resize(number + 1, Seen::default());
        }
        self.blocks[number].used.get_or_insert(span);
        let block = Block::from_index(number);
        self.builder.ensure_block(block);
        Ok((block, span))
    }

    /// `block3(v1:b32, v2:b64):`, `block3() nounroll:`
    fn block_header(&mut self) -> Parsed<()> {
        let (block, span) = self.block_name()?;
        if let Some(first) = self.blocks[block.index()].defined {
            let message = format!("a second `{block}`");
            return Err(syntax_error(span, message).context(first, "the first is here"));
        }
        self.blocks[block.index()].defined = Some(span);
        self.builder.append_block(block);
        (self.block, self.has_edges) = (Some(block), false);
        expect(&mut self.lexer, "(")?;
        if !self.lexer.take(")") {
            loop {
                let defined = self.defined()?;
                let value = defined.value;
                self.define(defined, Definition::Parameter(block))?;
                self.builder.block_mut(block).parameters.push(value);
                if !self.lexer.take(",") {
                    break;
                }
            }
            expect(&mut self.lexer, ")")?;
        }
        self.builder.block_mut(block).nounroll = self.lexer.take("nounroll");
        expect(&mut self.lexer, ":")
    }

    /// `-> block1(v2, v3), block2() next`
    fn edges(&mut self) -> Parsed<()> {
        let Some(block) = self.block.filter(|_| !self.has_edges) else {
            return Err(expected(&mut self.lexer, "a block before its edges"));
        };
        self.lexer.take("->");
        self.has_edges = true;
        loop {
            let (target, span) = self.block_name()?;
            let mut arguments = Vec::new();
            expect(&mut self.lexer, "(")?;
            if !self.lexer.take(")") {
                arguments.push(self.used_value()?);
                while self.lexer.take(",") {
                    arguments.push(self.used_value()?);
                }
                expect(&mut self.lexer, ")")?;
            }
            let edges = &mut self.builder.block_mut(block).edges;
            let edge = edges.len();
            edges.push(Edge::to(target));
            self.builder.set_arguments(block, edge, &arguments);
            let is_last = !self.lexer.take_word("next");
            self.builder.block_mut(block).falls_through = !is_last;
            if !self.lexer.take(",") {
                return Ok(());
            }
            if !is_last {
                return Err(syntax_error(span, "only the last edge can be `next`"));
            }
        }
    }

    fn instruction(&mut self, block: Block) -> Parsed<()> {
        if self.has_edges {
            return Err(expected(&mut self.lexer, "a block, after edges"));
        }
        let start = self.lexer.position();
        let mut results = Vec::new();
        if self.lexer.is_entity("v", b":") && !self.lexer.is_entity("v", b"::") {
            results.push(self.defined()?);
            while self.lexer.take(",") {
                results.push(self.defined()?);
            }
            expect(&mut self.lexer, "=")?;
        }
        let span = self.lexer.taken(start).span();
        let mut values = results.iter().map(|defined| defined.value.as_u32());
        let first = values.next();
        if !values
            .zip(first.unwrap_or(0) + 1..)
            .all(|(one, other)| one == other)
        {
            let message = "the results of an instruction have numbers that follow each other";
            return Err(syntax_error(span, message));
        }
        let mnemonic = self.lexer.mnemonic();
        let mnemonic = mnemonic.ok_or_else(|| expected(&mut self.lexer, "an instruction"))?;
        let InstructionText {
            guard,
            guard_operands,
            operands: Operands { shape, leaves },
            line,
        } = self.instruction_text()?;
        if guard != Guard::None && guard_operands.len() != 1 + results.len() {
            let message = format!(
                "{} values for a false guard, and {} results",
                guard_operands.len() - 1,
                results.len()
            );
            return Err(syntax_error(span, message));
        }
        let operands: Vec<Operand> = guard_operands.into_iter().chain(leaves).collect();
        if operands.len().max(results.len()) > usize::from(u16::MAX) {
            return Err(syntax_error(span, "more than 65535 operands"));
        }
        let mnemonic = self.lexer.text(mnemonic);
        let format = self
            .builder
            .formats_mut()
            .intern(mnemonic, guard, shape.into_iter());
        let instruction = self.builder.append(block, format, &operands, u32::MAX);
        if let Some(line) = line {
            self.builder.set_location(instruction, line);
        }
        let here = self.lexer.taken(start);
        self.instructions.push(here.span());
        if let Some(first) = results.first() {
            let count = results.len() as u16;
            self.builder.set_results(instruction, first.value, count);
        }
        for defined in results {
            self.define(defined, Definition::Instruction(instruction))?;
        }
        Ok(())
    }

    /// The function, if nothing is missing and no rule is broken.
    fn finish(self, name: Text) -> Result<Function, Vec<Diagnostic>> {
        let mut errors = Vec::new();
        for (number, seen) in self.values.iter().enumerate() {
            if let (Some(used), None) = (seen.used, seen.defined) {
                errors.push(syntax_error(used, format!("`v{number}` is not defined")));
            }
        }
        for (number, seen) in self.blocks.iter().enumerate() {
            if let (Some(used), None) = (seen.used, seen.defined) {
                errors.push(syntax_error(used, format!("there is no `block{number}`")));
            }
        }
        if self.block.is_none() {
            errors.push(syntax_error(
                name.span(),
                "a function has at least one block",
            ));
        }
        if !errors.is_empty() {
            errors.truncate(MOST_ERRORS);
            return Err(errors);
        }
        let function = self.builder.finish();
        let place = |violation: &Violation| match violation.instruction {
            Some(instruction) => self.instructions[instruction.index()],
            None => {
                let seen = self.blocks[violation.block.index()];
                seen.defined.unwrap_or(name.span())
            }
        };
        let errors: Vec<Diagnostic> = verify(&function)
            .iter()
            .take(MOST_ERRORS)
            .map(|violation| {
                let message = format!("rule {}: {}", violation.rule, violation.message);
                Diagnostic::error("ssa-rule", place(violation), message)
            })
            .collect();
        match errors.is_empty() {
            true => Ok(function),
            false => Err(errors),
        }
    }
}
