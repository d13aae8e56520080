//! Comparison, selection, logic, shifts, conversion and register movement.

use super::*;

const COMPARE: Accepts = TYPE.and(Accepts::COMPARISON).and(Accepts::BOOLEAN).and(FTZ);
const UNARY: &[Form] = &[form(&[D, U])];
const BINARY: &[Form] = &[form(&[D, U, U])];
const SHIFT: &[Form] = &[form(&[D, U, U_U32])];

pub(super) static ENTRIES: &[Entry] = &[
    // Comparison and selection.
    Entry::new(
        Opcode::Set,
        &["set"],
        COMPARE,
        &[
            form(&[D, U_SECOND, U_SECOND]),
            form(&[D, U_SECOND, U_SECOND, U_PRED]),
        ],
    ),
    Entry::new(
        Opcode::Setp,
        &["setp"],
        COMPARE,
        &[form(&[D_PRED, U, U]), form(&[D_PRED, U, U, U_PRED])],
    ),
    Entry::new(Opcode::Selp, &["selp"], TYPE, &[form(&[D, U, U, U_PRED])]),
    Entry::new(
        Opcode::Slct,
        &["slct"],
        TYPE.and(FTZ),
        &[form(&[D, U, U, U_SECOND])],
    ),
    // Logic and shift.
    Entry::new(Opcode::And, &["and"], TYPE, BINARY),
    Entry::new(Opcode::Or, &["or"], TYPE, BINARY),
    Entry::new(Opcode::Xor, &["xor"], TYPE, BINARY),
    Entry::new(Opcode::Not, &["not"], TYPE, UNARY),
    Entry::new(Opcode::Cnot, &["cnot"], TYPE, UNARY),
    Entry::new(
        Opcode::Lop3,
        &["lop3"],
        TYPE.and(Accepts::BOOLEAN),
        &[
            form(&[D, U, U, U, IMMEDIATE]),
            form(&[D, U, U, U, IMMEDIATE, U_PRED]),
        ],
    ),
    Entry::new(
        Opcode::Shf,
        &["shf"],
        TYPE.and(Accepts::DIRECTION).and(Accepts::SHIFT_MODE),
        &[form(&[D, U, U, U_U32])],
    ),
    Entry::new(Opcode::Shl, &["shl"], TYPE, SHIFT),
    Entry::new(Opcode::Shr, &["shr"], TYPE, SHIFT),
    // Movement between registers and conversion.
    Entry::new(Opcode::Mov, &["mov"], TYPE.and(Accepts::VECTOR), UNARY),
    Entry::new(
        Opcode::Prmt,
        &["prmt"],
        TYPE.and(Accepts::PERMUTE),
        &[form(&[D, U, U, U_32])],
    ),
    Entry::new(
        Opcode::Shfl,
        &["shfl"],
        TYPE.and(Accepts::SHUFFLE).and(SYNC),
        &[form(&[D, U, U_32, U_32]), form(&[D, U, U_32, U_32, U_32])],
    ),
    Entry::new(
        Opcode::Cvt,
        &["cvt"],
        TYPE.and(Accepts::ROUNDING)
            .and(FTZ)
            .and(SATURATE)
            .and(RELU)
            .and(Accepts::flag(Flag::SaturateFinite)),
        &[
            form(&[D, U_SECOND]),
            // `d, a, b`, or `d, {a, b, e, f}, rbits`.
            form_if(Requirement::NoWord("rs"), &[D, U_SECOND, U_SECOND]),
            form_if(Requirement::Word("rs"), &[D, U_SECOND, U_32]),
            form_if(Requirement::Word("rs"), &[D, U_SECOND, U_SECOND, U_32]),
        ],
    ),
    Entry::new(
        Opcode::CvtPack,
        &["cvt.pack"],
        TYPE.and(SATURATE),
        &[
            form(&[D_32, U_SECOND, U_SECOND]),
            form(&[D_32, U_SECOND, U_SECOND, U_THIRD]),
        ],
    ),
    // Addresses.
    Entry::new(
        Opcode::Cvta,
        &["cvta"],
        TYPE.and(SPACE).and(Accepts::flag(Flag::ToSpace)),
        UNARY,
    )
    .in_space(Space::Generic),
    Entry::new(
        Opcode::Isspacep,
        &["isspacep"],
        SPACE,
        &[form(&[D_PRED, U_ANY])],
    ),
    Entry::new(
        Opcode::Mapa,
        &["mapa"],
        TYPE.and(SPACE),
        &[form(&[D, U, U_U32])],
    )
    .in_space(Space::Generic),
    Entry::new(
        Opcode::Getctarank,
        &["getctarank"],
        TYPE.and(SPACE),
        &[form(&[D_U32, U])],
    )
    .in_space(Space::Generic),
];
