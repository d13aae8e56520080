//! Calls, and what is passed by them.

use oriole_isa::ScalarType;
use oriole_syntax::tree::{Operand, OperandKind, Siblings};

use super::function::{Decoder, VariablePlace};
use super::operands::Problem;
use crate::program::{Call, CallTarget, Kind, NONE, Passed};

impl<'module> Decoder<'_, 'module> {
    /// What an operand of a call passes; a vector register is passed element by element.
    pub(super) fn passed(
        &mut self,
        nodes: &[Operand],
        all: &mut Vec<Passed>,
    ) -> Result<(), Problem> {
        let node = &nodes[0];
        if let Some(register) = self.register(node) {
            if register.bits == 1 {
                all.push(Passed::Predicate(self.predicate(nodes)?));
            } else {
                let registers = self.registers_of(nodes)?;
                all.extend(
                    registers
                        .into_iter()
                        .map(|register| Passed::Register(register.slot)),
                );
            }
            return Ok(());
        }
        all.push(if node.kind == OperandKind::Sink {
            Passed::Register(NONE)
        } else if self.literal(node).is_some() {
            Passed::Register(self.value(nodes, ScalarType::B64)?)
        } else if let VariablePlace::Frame { offset, bytes, .. } = self.place(node)? {
            Passed::Memory { offset, bytes }
        } else {
            return Err(
                "an argument that is neither a register nor a `.param` variable".to_string(),
            );
        });
        Ok(())
    }

    pub(super) fn call(&mut self, operands: &[&'module [Operand]]) -> Result<Kind, Problem> {
        let mut rest = operands;
        let mut results = Vec::new();
        if rest
            .first()
            .is_some_and(|nodes| nodes[0].kind == OperandKind::List)
        {
            for nodes in Siblings::below(rest[0]) {
                self.passed(nodes, &mut results)?;
            }
            rest = &rest[1..];
        }
        let (&callee, rest) = rest.split_first().ok_or("no function")?;
        let mut arguments = Vec::new();
        if let Some(list) = rest
            .first()
            .filter(|nodes| nodes[0].kind == OperandKind::List)
        {
            for nodes in Siblings::below(list) {
                self.passed(nodes, &mut arguments)?;
            }
        }
        let target = match self.register(&callee[0]) {
            Some(register) => {
                self.function.calls_indirectly = true;
                CallTarget::Indirect(register.slot)
            }
            None => {
                let VariablePlace::Module(super::Place::Address(address)) =
                    self.place(&callee[0])?
                else {
                    return Err("the callee is not a function".to_string());
                };
                let index =
                    ((address - crate::memory::CODE_WINDOW) / crate::memory::CODE_STRIDE) as u32;
                let function = &self.context.module.functions[index as usize];
                if function.body.is_some() {
                    CallTarget::Direct(index)
                } else {
                    CallTarget::External(self.context.module.text(function.name).to_string())
                }
            }
        };
        self.function.calls.push(Call {
            target,
            arguments,
            results,
        });
        Ok(Kind::Call(self.function.calls.len() as u32 - 1))
    }
}
