//! Warnings about registers that are read where nothing has written them on any path.
//!
//! Compilers write such reads where they do no harm: copies that are not needed, padding of a register or a vector, and the one
//! byte of an empty structure. So copies are followed to their readers. A group with a defined element is not reported, nor is a
//! stored byte. The old result of a guarded instruction does not count, nor do accumulators of `wgmma.mma_async`.

use oriole_analysis::{Analyses, ControlFlow};
use oriole_diagnostics::{Diagnostic, Span};
use oriole_ir::{Definition, Function, Instruction, Operand, Register, ShapeKind, Value};
use oriole_isa::Opcode;
use oriole_syntax::tree::{Body, Module, OperandKind, Statement};
use std::collections::BTreeSet;

/// Warns of the first read of each such register in a function that is as it was translated.
pub(crate) fn find(module: &Module, body: &Body, function: &Function) -> Vec<Diagnostic> {
    let undefined = undefined_values(function);
    let mut found = Vec::new();
    if undefined.iter().all(Option::is_none) {
        return found;
    }
    let flow = Analyses::new().get::<ControlFlow>(function);
    let mut reported: BTreeSet<Register> = BTreeSet::new();
    for &block in function.block_order() {
        if !flow.is_reachable(block) {
            continue;
        }
        for instruction in function.instructions_of(block) {
            for (register, place) in reads(function, instruction, &undefined) {
                let Some(span) = span_of(body, function, instruction, place) else {
                    continue;
                };
                if !reported.insert(register) {
                    continue;
                }
                let name = module.text(function.registers()[register].name);
                let what = format!("`{name}` is read, but nothing writes it on any path to here");
                let warning = Diagnostic::warning("undefined-read", span, what);
                let written = &module.source()[span.start as usize..span.end as usize];
                found.push(match written == name {
                    true => warning,
                    false => warning.with_note(format!("`{written}` is a copy of it")),
                });
            }
        }
    }
    found
}

/// Whether an instruction only copies, as a whole or part by part.
fn is_copy(function: &Function, instruction: Instruction) -> bool {
    function.format(instruction).mnemonic.opcode() == Opcode::Mov
}

/// The values that nothing defines, and copies of them, each with the register that nothing writes.
fn undefined_values(function: &Function) -> Vec<Option<Register>> {
    let mut undefined = vec![None; function.values().len()];
    let mut work: Vec<Value> = Vec::new();
    for (value, data) in function.values().iter() {
        if data.definition == Definition::Undefined {
            undefined[value.index()] = data.name.expand();
            work.push(value);
        }
    }
    while let Some(value) = work.pop() {
        for own in function.uses_of(value) {
            let oriole_ir::Use::Instruction(reader) = own else {
                continue;
            };
            let only_copies = is_copy(function, reader)
                && function.guard(reader).is_none()
                && function.leaves(reader).iter().all(|leaf| match leaf {
                    Operand::Result(_) => true,
                    Operand::Value(value) => undefined[value.index()].is_some(),
                    _ => false,
                });
            if only_copies {
                for result in function.results(reader) {
                    if undefined[result.index()].is_none() {
                        undefined[result.index()] = undefined[value.index()];
                        work.push(result);
                    }
                }
            }
        }
    }
    undefined
}

/// The place of a read in an instruction.
#[derive(Clone, Copy)]
enum Place {
    Guard,
    /// The leaf of this number.
    Leaf(usize),
}

/// The undefined registers that an instruction reads.
fn reads(
    function: &Function,
    instruction: Instruction,
    undefined: &[Option<Register>],
) -> Vec<(Register, Place)> {
    let name = |operand: &Operand| undefined[operand.value()?.index()];
    let guard = function.guard(instruction);
    let mut found: Vec<(Register, Place)> = guard
        .iter()
        .filter_map(|guard| Some((name(guard)?, Place::Guard)))
        .collect();
    if is_copy(function, instruction) {
        return found;
    }
    let format = function.format(instruction);
    let leaves = function.leaves(instruction);
    let stores_bytes = format.mnemonic.opcode() == Opcode::St
        && format
            .mnemonic
            .first_type()
            .is_some_and(|own| own.bits() == 8);
    for (at, leaf) in leaves.iter().enumerate() {
        let operand = format.leaves[at].operand;
        // The elements of a vector are one operand.
        let is_filler = || {
            if stores_bytes {
                return true;
            }
            let mut elements = format.leaves.iter().zip(leaves);
            elements.any(|(role, other)| {
                role.operand == operand && !role.in_address && name(other).is_none()
            })
        };
        if let Some(register) = name(leaf)
            && (format.leaves[at].in_address || !is_filler())
        {
            found.push((register, Place::Leaf(at)));
        }
    }
    found
}

/// The text of a read.
fn span_of(
    body: &Body,
    function: &Function,
    instruction: Instruction,
    place: Place,
) -> Option<Span> {
    let statement = function.location(instruction)? as usize;
    let Statement::Instruction(own) = body.statements.get(statement)? else {
        return None;
    };
    let is_leaf = |kind: OperandKind| ShapeKind::of(kind) == ShapeKind::Leaf;
    let node = match place {
        Place::Guard => body.guard(own)?,
        Place::Leaf(at) => body
            .operands(own)
            .iter()
            .filter(|node| is_leaf(node.kind))
            .nth(at)?,
    };
    Some(node.text.span())
}
