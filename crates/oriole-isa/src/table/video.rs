//! Video instructions, scalar and packed.
//!
//! Operands carry selectors (`a.b0`, `d.h1`); a destination with a selector or mask is written whole, the other lanes
//! coming from `c`.

use super::*;

const SCALAR: Accepts = TYPE.and(SATURATE).and(Accepts::OPERATION);
const PACKED: Accepts = TYPE.and(SATURATE).and(Accepts::OPERATION);
const COMPARE: Accepts = TYPE.and(Accepts::COMPARISON).and(Accepts::OPERATION);
const SHIFT: Accepts = SCALAR.and(Accepts::SHIFT_MODE);

const SCALAR_FORMS: &[Form] = &[
    form(&[D, U_SECOND, U_THIRD]),
    form(&[D, U_SECOND, U_THIRD, U]),
];
const PACKED_FORMS: &[Form] = &[form(&[D, U_SECOND, U_THIRD, U])];
/// `vset` names the types of `a` and `b` only.
const COMPARE_FORMS: &[Form] = &[
    form(&[D_U32, U, U_SECOND]),
    form(&[D_U32, U, U_SECOND, U_U32]),
];
const PACKED_COMPARE_FORMS: &[Form] = &[form(&[D_U32, U, U_SECOND, U_U32])];

/// Video instructions name their types first.
const ORDER: &[Part] = &[
    Part::Type,
    Part::Flag(Flag::PlusOne),
    Part::Flag(Flag::Saturate),
    Part::ShiftMode,
    Part::Comparison,
];

pub(super) static ENTRIES: &[Entry] = &[
    Entry::new(Opcode::Vadd, &["vadd"], SCALAR, SCALAR_FORMS).led_by(ORDER),
    Entry::new(Opcode::Vsub, &["vsub"], SCALAR, SCALAR_FORMS).led_by(ORDER),
    Entry::new(Opcode::Vabsdiff, &["vabsdiff"], SCALAR, SCALAR_FORMS).led_by(ORDER),
    Entry::new(Opcode::Vmin, &["vmin"], SCALAR, SCALAR_FORMS).led_by(ORDER),
    Entry::new(Opcode::Vmax, &["vmax"], SCALAR, SCALAR_FORMS).led_by(ORDER),
    Entry::new(Opcode::Vshl, &["vshl"], SHIFT, SCALAR_FORMS).led_by(ORDER),
    Entry::new(Opcode::Vshr, &["vshr"], SHIFT, SCALAR_FORMS).led_by(ORDER),
    Entry::new(
        Opcode::Vmad,
        &["vmad"],
        TYPE.and(SATURATE).and(Accepts::flag(Flag::PlusOne)),
        &[form(&[D, U_SECOND, U_THIRD, U])],
    )
    .words(&["shr7", "shr15"])
    .led_by(ORDER),
    Entry::new(Opcode::Vset, &["vset"], COMPARE, COMPARE_FORMS).led_by(ORDER),
    Entry::new(Opcode::Vadd2, &["vadd2"], PACKED, PACKED_FORMS).led_by(ORDER),
    Entry::new(Opcode::Vsub2, &["vsub2"], PACKED, PACKED_FORMS).led_by(ORDER),
    Entry::new(Opcode::Vavrg2, &["vavrg2"], PACKED, PACKED_FORMS).led_by(ORDER),
    Entry::new(Opcode::Vabsdiff2, &["vabsdiff2"], PACKED, PACKED_FORMS).led_by(ORDER),
    Entry::new(Opcode::Vmin2, &["vmin2"], PACKED, PACKED_FORMS).led_by(ORDER),
    Entry::new(Opcode::Vmax2, &["vmax2"], PACKED, PACKED_FORMS).led_by(ORDER),
    Entry::new(Opcode::Vset2, &["vset2"], COMPARE, PACKED_COMPARE_FORMS).led_by(ORDER),
    Entry::new(Opcode::Vadd4, &["vadd4"], PACKED, PACKED_FORMS).led_by(ORDER),
    Entry::new(Opcode::Vsub4, &["vsub4"], PACKED, PACKED_FORMS).led_by(ORDER),
    Entry::new(Opcode::Vavrg4, &["vavrg4"], PACKED, PACKED_FORMS).led_by(ORDER),
    Entry::new(Opcode::Vabsdiff4, &["vabsdiff4"], PACKED, PACKED_FORMS).led_by(ORDER),
    Entry::new(Opcode::Vmin4, &["vmin4"], PACKED, PACKED_FORMS).led_by(ORDER),
    Entry::new(Opcode::Vmax4, &["vmax4"], PACKED, PACKED_FORMS).led_by(ORDER),
    Entry::new(Opcode::Vset4, &["vset4"], COMPARE, PACKED_COMPARE_FORMS).led_by(ORDER),
];
