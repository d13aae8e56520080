//! Which instructions access memory lane by lane, and how.

use super::Request;
use crate::control_flow::ControlFlow;
use oriole_ir::{AccessKind, Function, Instruction, Operand};
use oriole_isa::memory_cost::Operation;
use oriole_isa::{Flag, Opcode, ScalarType, Space};
use oriole_syntax::literal::Literal;

/// The requests of a function, in order.
pub fn requests(function: &Function, flow: &ControlFlow) -> Vec<Request> {
    let mut requests = Vec::new();
    for &block in function.block_order() {
        if !flow.is_reachable(block) {
            continue;
        }
        for instruction in function.instructions_of(block) {
            of_instruction(function, instruction, &mut requests);
        }
    }
    requests
}

fn of_instruction(function: &Function, instruction: Instruction, requests: &mut Vec<Request>) {
    let format = function.format(instruction);
    let mnemonic = &format.mnemonic;
    let Some(operation) = Operation::of(mnemonic) else {
        return;
    };
    let request = |kind, space, bytes, address, lanes| Request {
        instruction,
        kind,
        space,
        bytes,
        operation,
        address,
        copied: None,
        is_partial: false,
        lanes,
    };
    if let Some(access) = function.access(instruction) {
        if matches!(
            access.space,
            Space::Global | Space::Shared | Space::SharedCluster | Space::Local | Space::Generic
        ) && access.bytes > 0
        {
            requests.push(request(
                access.kind,
                access.space,
                access.bytes,
                access.address,
                u32::MAX,
            ));
        }
        return;
    }
    if format.opaque {
        return;
    }
    match mnemonic.opcode() {
        Opcode::CpAsync => {
            let size = function
                .leaves(instruction)
                .iter()
                .zip(&format.leaves)
                .find(|(_, leaf)| leaf.operand == 2)
                .and_then(|(leaf, _)| match *leaf {
                    Operand::Constant(constant) => function.constants()[constant].literal,
                    _ => None,
                });
            let Some(Literal::Integer {
                bits: size @ (4 | 8 | 16),
                ..
            }) = size
            else {
                return;
            };
            let of = |operand| function.operand_address(instruction, operand);
            let size = size as u32;
            let copied = of(1).zip(of(0)).map(|(from, to)| [from, to]);
            let sides = [
                (AccessKind::Load, Space::Global, of(1)),
                (AccessKind::Store, Space::Shared, of(0)),
            ];
            let operands = format.leaves.iter().map(|leaf| leaf.operand + 1).max();
            let hints = u16::from(mnemonic.has(Flag::CacheHint));
            for (kind, space, address) in sides {
                let side = request(kind, space, size, address, u32::MAX);
                requests.push(Request {
                    copied,
                    is_partial: space == Space::Global && operands > Some(3 + hints),
                    ..side
                });
            }
        }
        Opcode::Ldmatrix | Opcode::Stmatrix => {
            let shape = mnemonic.modifiers().shape;
            let is_plain = shape.is_some_and(|shape| (shape.m, shape.n) == (8, 8))
                && mnemonic.first_type() == Some(ScalarType::B16);
            if !is_plain {
                return;
            }
            let count = u32::from(mnemonic.modifiers().repeat.unwrap_or(1)).clamp(1, 4);
            let lanes = crate::known_bits::mask(8 * count) as u32;
            let kind = match mnemonic.opcode() {
                Opcode::Ldmatrix => AccessKind::Load,
                _ => AccessKind::Store,
            };
            let address = function.address(instruction);
            requests.push(request(kind, Space::Shared, 16, address, lanes));
        }
        _ => {}
    }
}
