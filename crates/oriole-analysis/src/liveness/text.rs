//! Slots, segments and value numbers as text.
//!
//! The numbers of blocks and instructions come first. Then follows each register that is ever live, with its segments and its values:
//!
//! ```text
//! function kernel
//!     0  block 0 -> 1
//!     4    mov.u32 %r1, 0;
//!     8  block 1 -> 1, 2
//!    12    add.u32 %r1, %r1, 1;
//!    16    @%p1 bra L;
//!    20  block 2
//!    24    ret;
//!   %r1: [4r,8B:0) [8B,12r:1) [12r,20B:2)
//!       0 @ 4r   1 @ 8B phi   2 @ 12r
//! ```

use super::live_intervals::{LiveIntervals, ValueKind};
use super::program::{Program, Registers};
use super::slot_indexes::Moment;
use oriole_ir::Formats;
use oriole_syntax::print_instruction;
use oriole_syntax::scopes::Scopes;
use oriole_syntax::tree::{Function, Module, Statement};
use std::fmt::Write;

/// The live intervals of the registers of a function; nothing if it has no body.
pub fn print(
    module: &Module,
    function: &Function,
    scopes: &Scopes,
    formats: &mut Formats,
) -> String {
    let Some(body) = &function.body else {
        return String::new();
    };
    let registers = Registers::of(module, body, scopes, formats);
    let intervals = LiveIntervals::of(&registers);
    let slots = intervals.slots();
    let mut text = format!("function {}\n", module.text(function.name));
    for block in 0..registers.block_count() as u32 {
        let successors: Vec<String> = registers
            .successors()
            .of(block)
            .iter()
            .map(u32::to_string)
            .collect();
        let arrow = if successors.is_empty() { "" } else { " -> " };
        let number = slots.start(block).number();
        let ways_out = successors.join(", ");
        let _ = writeln!(text, "{number:>5}  block {block}{arrow}{ways_out}");
        for instruction in registers.instructions(block) {
            let number = slots.slot(instruction, Moment::Register).number();
            let statement = &body.statements[registers.statement(instruction) as usize];
            if let Statement::Instruction(instruction) = statement {
                let spelling = print_instruction(module, body, instruction);
                let _ = writeln!(text, "{number:>5}    {spelling}");
            }
        }
    }
    for (entity, register) in (0..).zip(&scopes.registers) {
        if intervals.segments(entity).is_empty() {
            continue;
        }
        let _ = write!(text, "  {}:", module.text(register.name));
        for segment in intervals.segments(entity) {
            let _ = write!(text, " {segment:?}");
        }
        text.push_str("\n     ");
        for (number, value) in intervals.values(entity).iter().enumerate() {
            let kind = match value.kind {
                ValueKind::Instruction => "",
                ValueKind::Parameter => " parameter",
                ValueKind::Phi => " phi",
                ValueKind::LiveIn => " live-in",
            };
            let gap = if number == 0 { "" } else { "  " };
            let _ = write!(text, "{gap} {number} @ {:?}{kind}", value.definition);
        }
        text.push('\n');
    }
    text
}
