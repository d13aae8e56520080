//! The SSA form as text, for people: `oriole dump --ssa`.

use crate::entities::{Instruction, Value};
use crate::format::{ShapeKind, ShapeNode};
use crate::function::{Definition, Function, SymbolKind};
use crate::operand::Operand;
use oriole_syntax::literal::Literal;
use oriole_syntax::tree::{FunctionKind, Guard, Module, Prefix};
use std::fmt::Write;

/// The function as text. `module` is the module it was translated from.
pub fn display(module: &Module, function: &Function) -> String {
    let mut printer = Printer {
        module,
        function,
        output: String::new(),
    };
    printer.function();
    printer.output
}

/// One instruction as text.
pub fn display_instruction(
    module: &Module,
    function: &Function,
    instruction: Instruction,
) -> String {
    let mut printer = Printer {
        module,
        function,
        output: String::new(),
    };
    printer.instruction(instruction);
    printer.output
}

struct Printer<'a> {
    module: &'a Module,
    function: &'a Function,
    output: String,
}

impl Printer<'_> {
    fn put(&mut self, text: impl std::fmt::Display) {
        write!(self.output, "{text}").expect("writing to a string cannot fail");
    }

    fn value(&mut self, value: Value) {
        let data = &self.function.values()[value];
        if data.definition == Definition::Undefined {
            self.output.push_str("undefined");
        } else {
            self.put(value);
        }
    }

    fn defined(&mut self, value: Value) {
        let data = &self.function.values()[value];
        let (home, scalar_type) = (data.home.expand(), data.scalar_type);
        self.put(value);
        self.put(format_args!(":{}", scalar_type.text()));
        if let Some(home) = home {
            let name = self.module.text(self.function.registers()[home].name);
            self.put(format_args!("({name})"));
        }
    }

    fn function(&mut self) {
        let kind = match self.function.kind() {
            FunctionKind::Entry => "entry",
            FunctionKind::Function => "func",
        };
        let name = self.module.text(self.function.name());
        self.put(format_args!("{kind} {name} {{\n"));
        let function = self.function;
        for &block in function.block_order() {
            let data = &function.blocks()[block];
            self.put(block);
            self.output.push('(');
            for (index, &parameter) in data.parameters.iter().enumerate() {
                if index > 0 {
                    self.output.push_str(", ");
                }
                self.defined(parameter);
            }
            self.output.push_str("):\n");
            for instruction in function.instructions_of(block) {
                self.output.push_str("    ");
                self.instruction(instruction);
                self.output.push('\n');
            }
            if !data.edges.is_empty() {
                self.output.push_str("    ->");
                for (index, edge) in data.edges.iter().enumerate() {
                    self.output.push(if index > 0 { ',' } else { ' ' });
                    if index > 0 {
                        self.output.push(' ');
                    }
                    self.put(edge.target);
                    self.output.push('(');
                    for (position, &argument) in function.arguments(*edge).iter().enumerate() {
                        if position > 0 {
                            self.output.push_str(", ");
                        }
                        self.value(argument);
                    }
                    self.output.push(')');
                    if data.fall_through() == Some(index) {
                        self.output.push_str(" next");
                    }
                }
                self.output.push('\n');
            }
        }
        self.output.push_str("}\n");
    }

    fn instruction(&mut self, instruction: Instruction) {
        let function = self.function;
        let format = function.format(instruction);
        for (index, result) in function.results(instruction).enumerate() {
            if index > 0 {
                self.output.push_str(", ");
            }
            self.defined(result);
        }
        if function.results(instruction).len() > 0 {
            self.output.push_str(" = ");
        }
        self.put(format.mnemonic.text());
        let mut leaves = function.leaves(instruction).iter().copied();
        let mut shape = &format.shape[..];
        let mut separator = " ";
        while !shape.is_empty() {
            self.output.push_str(separator);
            separator = ", ";
            shape = self.operand(shape, &mut leaves);
        }
        if let Some(guard) = function.guard(instruction) {
            self.output.push_str(if format.guard == Guard::IfNot {
                " if not "
            } else {
                " if "
            });
            self.leaf(guard);
            for (index, &otherwise) in function.otherwise(instruction).iter().enumerate() {
                self.output
                    .push_str(if index > 0 { ", " } else { " else " });
                self.leaf(otherwise);
            }
        }
    }

    fn operand<'shape>(
        &mut self,
        shape: &'shape [ShapeNode],
        leaves: &mut impl Iterator<Item = Operand>,
    ) -> &'shape [ShapeNode] {
        let node = shape[0];
        self.output.push_str(match node.prefix {
            Prefix::None => "",
            Prefix::Not => "!",
            Prefix::Minus => "-",
        });
        let (mut inner, rest) = shape[1..].split_at(node.size as usize - 1);
        let (open, between, close) = match node.kind {
            ShapeKind::Leaf => {
                let leaf = leaves.next().expect("a leaf for each leaf of the shape");
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
        let (module, function) = (self.module, self.function);
        match operand {
            Operand::Value(value) => self.value(value),
            Operand::Register(register) => {
                let name = module.text(function.registers()[register].name);
                self.put(format_args!("pinned {name}"));
            }
            // Results stand before the `=`; their place among the operands is marked.
            Operand::Result(index) => self.put(format_args!("#{index}")),
            Operand::Constant(constant) => {
                let constant = &function.constants()[constant];
                match (constant.text, constant.literal) {
                    (Some(text), _) => self.put(module.text(text)),
                    (
                        None,
                        Some(Literal::Integer {
                            bits,
                            unsigned: true,
                        }),
                    ) => self.put(bits),
                    (None, Some(Literal::Integer { bits, .. })) => self.put(bits as i64),
                    (None, Some(Literal::Single(bits))) => self.put(format_args!("0f{bits:08X}")),
                    (None, Some(Literal::Double(bits))) => self.put(format_args!("0d{bits:016X}")),
                    (None, None) => self.output.push('?'),
                }
            }
            Operand::Symbol(symbol) => {
                let symbol = &function.symbols()[symbol];
                if matches!(symbol.kind, SymbolKind::Table(_)) {
                    self.output.push_str("table ");
                }
                self.put(module.text(symbol.name));
            }
            Operand::Target(edge) => self.put(format_args!("->{edge}")),
            Operand::Sink => self.output.push('_'),
        }
    }
}
