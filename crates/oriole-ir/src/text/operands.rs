//! Reads the operands of an instruction: their shape and their leaves.

use super::reader::{Body, Parsed, expect, expected, syntax_error};
use crate::format::{ShapeKind, ShapeNode};
use crate::function::{ConstantData, SymbolData, SymbolKind};
use crate::operand::{Member, Operand};
use oriole_isa::SpecialRegister;
use oriole_syntax::literal::{self, Literal};
use oriole_syntax::tree::{Guard, Prefix, Text};

/// How deep operands nest: a little deeper than those of PTX can.
const DEEPEST: usize = 20;

/// What stands behind the mnemonic of an instruction.
pub(super) struct InstructionText {
    pub guard: Guard,
    /// The predicate and the values for when it is false.
    pub guard_operands: Vec<Operand>,
    pub operands: Operands,
    pub line: Option<u32>,
}

/// Shape and leaves of the operands of an instruction.
#[derive(Default)]
pub(super) struct Operands {
    pub shape: Vec<ShapeNode>,
    pub leaves: Vec<Operand>,
}

impl Body<'_> {
    /// The operands, the guard and the line of an instruction.
    pub(super) fn instruction_text(&mut self) -> Parsed<InstructionText> {
        let mut operands = Operands::default();
        let is_end = |body: &mut Self| {
            let lexer = body.lexer;
            let ends = body.lexer.at_line_end()
                || body.lexer.take_word("if")
                || body.lexer.take_word("at");
            body.lexer = lexer;
            ends
        };
        if !is_end(self) {
            self.operand(&mut operands, 0)?;
            while self.lexer.take(",") {
                self.operand(&mut operands, 0)?;
            }
        }
        let mut guard_operands = Vec::new();
        let mut guard = Guard::None;
        if self.lexer.take_word("if") {
            guard = match self.lexer.take_word("not") {
                true => Guard::IfNot,
                false => Guard::If,
            };
            guard_operands.push(self.leaf()?);
            if self.lexer.take_word("else") {
                guard_operands.push(self.leaf()?);
                while self.lexer.take(",") {
                    guard_operands.push(self.leaf()?);
                }
            }
        }
        let mut line = None;
        if self.lexer.take_word("at") {
            let number = self.index("a line")?;
            if number >= 1 << 30 {
                return Err(expected(&mut self.lexer, "a smaller line before this"));
            }
            line = Some(number);
        }
        Ok(InstructionText {
            guard,
            guard_operands,
            operands,
            line,
        })
    }

    /// One operand with what belongs to it.
    fn operand(&mut self, operands: &mut Operands, depth: usize) -> Parsed<()> {
        if depth > DEEPEST {
            let what = format!("operands that nest at most {DEEPEST} deep");
            return Err(expected(&mut self.lexer, &what));
        }
        let start = operands.shape.len();
        let group = [
            ("{", ShapeKind::Vector, "}"),
            ("[", ShapeKind::Address, "]"),
            ("(", ShapeKind::List, ")"),
        ];
        match group.iter().find(|(open, ..)| self.lexer.take(open)) {
            Some(&(_, kind, close)) => {
                operands.shape.push(node(kind));
                if kind != ShapeKind::List || !self.lexer.take(close) {
                    self.operand(operands, depth + 1)?;
                    while self.lexer.take(",") {
                        self.operand(operands, depth + 1)?;
                    }
                    expect(&mut self.lexer, close)?;
                }
                self.close(operands, start)?;
            }
            None => self.prefixed_leaf(operands)?,
        }
        let kind = if self.lexer.take("|") {
            ShapeKind::Pair
        } else if self.lexer.take("+") {
            ShapeKind::Sum
        } else if self.lexer.is_next("-") && !self.lexer.is_next("->") {
            self.lexer.take("-");
            ShapeKind::Difference
        } else if self.lexer.take("[") {
            ShapeKind::Element
        } else {
            return Ok(());
        };
        operands.shape.insert(start, node(kind));
        if kind == ShapeKind::Element {
            self.operand(operands, depth + 1)?;
            expect(&mut self.lexer, "]")?;
        } else {
            self.prefixed_leaf(operands)?;
        }
        self.close(operands, start)
    }

    /// Everything behind the node at `start` belongs to it.
    fn close(&mut self, operands: &mut Operands, start: usize) -> Parsed<()> {
        let size = u16::try_from(operands.shape.len() - start);
        operands.shape[start].size =
            size.map_err(|_| expected(&mut self.lexer, "fewer parts of an operand"))?;
        Ok(())
    }

    /// A leaf with its sign and the part of the register that is meant.
    fn prefixed_leaf(&mut self, operands: &mut Operands) -> Parsed<()> {
        let prefix = if self.lexer.take("!") {
            Prefix::Not
        } else if self.lexer.is_next("-") && !self.lexer.is_next("->") && !self.lexer.is_number() {
            self.lexer.take("-");
            Prefix::Minus
        } else {
            Prefix::None
        };
        let leaf = self.leaf()?;
        let member = self.lexer.member();
        let member = Member::from_text(self.lexer.text(member)).ok_or_else(|| {
            let message = format!("no register has a part `{}`", self.lexer.text(member));
            syntax_error(member.span(), message)
        })?;
        operands.leaves.push(leaf);
        operands.shape.push(ShapeNode {
            prefix,
            member,
            ..ShapeNode::LEAF
        });
        Ok(())
    }

    fn leaf(&mut self) -> Parsed<Operand> {
        if self.lexer.take("->") {
            return self.small_index().map(Operand::Target);
        }
        if self.lexer.take("#") {
            return self.small_index().map(Operand::Result);
        }
        if self.lexer.take("@") {
            return self.declared_symbol().map(Operand::Symbol);
        }
        if self.lexer.take_word("_") {
            return Ok(Operand::Sink);
        }
        if self.lexer.take_word("pinned") {
            return self.pinned_register().map(Operand::Register);
        }
        if self.lexer.take("?") {
            return Ok(self.constant(None, None));
        }
        if let Some(text) = self.lexer.number() {
            return self.number(text);
        }
        if let Some(name) = self.lexer.string() {
            return Ok(self.symbol(name, SymbolKind::Other));
        }
        if self.lexer.is_next("%")
            && let Some(name) = self.lexer.special_register()
        {
            return self.special_register(name);
        }
        match self.lexer.is_next("v") {
            true => self.used_value().map(Operand::Value),
            false => Err(expected(&mut self.lexer, "an operand")),
        }
    }

    fn small_index(&mut self) -> Parsed<u16> {
        let mut start = self.lexer;
        let number = self.index("a number")?;
        u16::try_from(number).map_err(|_| expected(&mut start, "a number up to 65535"))
    }

    fn symbol(&mut self, name: Text, kind: SymbolKind) -> Operand {
        Operand::Symbol(self.builder.add_symbol(SymbolData {
            name,
            kind,
            space: None,
        }))
    }

    fn special_register(&mut self, name: Text) -> Parsed<Operand> {
        let text = self.lexer.text(name);
        if let Some(&symbol) = self.special_registers.get(&text) {
            return Ok(Operand::Symbol(symbol));
        }
        let Some(special) = SpecialRegister::from_text(text) else {
            let message = format!("no special register is called `{text}`");
            return Err(syntax_error(name.span(), message));
        };
        let operand = self.symbol(name, SymbolKind::Special(special));
        if let Operand::Symbol(symbol) = operand {
            self.special_registers.insert(text, symbol);
        }
        Ok(operand)
    }

    fn constant(&mut self, literal: Option<Literal>, text: Option<Text>) -> Operand {
        Operand::Constant(self.builder.constant(ConstantData { literal, text }))
    }

    /// A number; `S` behind one says that it is signed though it does not look like it.
    fn number(&mut self, text: Text) -> Parsed<Operand> {
        let spelled = self.lexer.text(text);
        if let Some(literal) = literal::evaluate(spelled) {
            return Ok(self.constant(Some(literal), Some(text)));
        }
        let signed = spelled.strip_suffix('S').and_then(literal::evaluate);
        match signed.and_then(Literal::integer) {
            Some(bits) => {
                let unsigned = false;
                Ok(self.constant(Some(Literal::Integer { bits, unsigned }), None))
            }
            None => {
                let message = format!("`{spelled}` is not a number");
                Err(syntax_error(text.span(), message))
            }
        }
    }
}

fn node(kind: ShapeKind) -> ShapeNode {
    ShapeNode {
        kind,
        ..ShapeNode::LEAF
    }
}
