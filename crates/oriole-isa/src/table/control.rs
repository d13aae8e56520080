//! Control flow and miscellaneous instructions.

use super::*;

const UNIFORM: Accepts = Accepts::flag(Flag::Uniform);
const LABEL: Operand = operand(Role::Label, TypeRule::Undetermined);
const TARGETS: Operand = operand(Role::BranchTargets, TypeRule::Undetermined);

pub(super) static ENTRIES: &[Entry] = &[
    Entry::new(Opcode::Bra, &["bra"], UNIFORM, &[form(&[LABEL])]),
    Entry::new(
        Opcode::BrxIdx,
        &["brx.idx"],
        UNIFORM,
        &[form(&[U_U32, TARGETS])],
    ),
    // The operand list of a call is a grammar of its own, which the reader of the tree handles.
    Entry::new(Opcode::Call, &["call"], UNIFORM, &[]),
    Entry::new(Opcode::Ret, &["ret"], UNIFORM, &[form(&[])]),
    Entry::new(Opcode::Exit, &["exit"], Accepts::NOTHING, &[form(&[])]),
    // Miscellaneous.
    Entry::new(Opcode::Brkpt, &["brkpt"], Accepts::NOTHING, &[form(&[])]),
    Entry::new(Opcode::Trap, &["trap"], Accepts::NOTHING, &[form(&[])]),
    Entry::new(Opcode::Nanosleep, &["nanosleep"], TYPE, &[form(&[U])]),
    Entry::new(
        Opcode::Pmevent,
        &["pmevent"],
        Accepts::NOTHING,
        &[form(&[IMMEDIATE])],
    )
    .words(&["mask"]),
    Entry::new(
        Opcode::Setmaxnreg,
        &["setmaxnreg"],
        TYPE.and(SYNC_ALIGNED),
        &[form(&[IMMEDIATE])],
    )
    .words(&["inc", "dec"]),
];
