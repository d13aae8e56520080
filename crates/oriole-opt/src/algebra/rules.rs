//! The table of rules, and which of them look at which opcode.

use super::view::{Change, Facts, Site, View};
use super::{compare, convert, fields, integer, multiply, select};
use oriole_isa::Opcode;

/// What a rule finds in the code: nothing, or a change that keeps the result.
pub(super) type Find = fn(&View<'_, '_>, &Site) -> Option<Change>;

/// A rule.
#[derive(Clone, Copy)]
pub(super) struct Rule {
    /// The name of its counter: the pass's and its own.
    pub(super) counter: &'static str,
    /// Why it is right, in words that follow "because".
    pub(super) why: &'static str,
    /// What an instruction must have for the rule to find anything: all of the first, and one of the second.
    premise: (Facts, Facts),
    /// Looks for it at an instruction.
    pub(super) find: Find,
}

impl Rule {
    /// The rule with a premise that says more, for opcodes for which that is needed.
    const fn given(self, premise: (Facts, Facts)) -> Rule {
        Rule { premise, ..self }
    }

    /// Whether it may find something at an instruction with these facts.
    pub(super) fn may_apply(&self, facts: Facts) -> bool {
        facts.have_all(self.premise.0) && facts.have_any(self.premise.1)
    }
}

/// What one of these rules may need of an instruction; everything, if one needs nothing.
const fn wanted_by(rules: &[Rule]) -> Facts {
    let mut wanted = Facts::NONE;
    let mut index = 0;
    while index < rules.len() {
        let (all, any) = rules[index].premise;
        if all.is_none() && any.is_none() {
            return Facts::EVERYTHING;
        }
        wanted = wanted.or(all).or(any);
        index += 1;
    }
    wanted
}

/// [`wanted_by`] the rules of each opcode.
const WANTED: [Facts; Opcode::ALL.len()] = {
    let mut wanted = [Facts::NONE; Opcode::ALL.len()];
    let mut index = 0;
    while index < wanted.len() {
        wanted[Opcode::ALL[index] as usize] = wanted_by(of(Opcode::ALL[index]));
        index += 1;
    }
    wanted
};

/// What the rules for an opcode may need of an unguarded instruction; everything, if one needs nothing. Most instructions have
/// none of it.
pub(super) fn wanted_by_those_of(opcode: Opcode) -> Facts {
    WANTED[opcode as usize]
}

/// No premise.
const ALWAYS: (Facts, Facts) = (Facts::NONE, Facts::NONE);
const CONSTANT: (Facts, Facts) = (Facts::CONSTANT, Facts::NONE);
const ONE: (Facts, Facts) = (Facts::ONE, Facts::NONE);
const PARTLY_KNOWN: (Facts, Facts) = (Facts::PARTLY_KNOWN, Facts::NONE);
const FIRST_CONSTANT: (Facts, Facts) = (Facts::FIRST_CONSTANT, Facts::NONE);
const EQUAL: (Facts, Facts) = (Facts::EQUAL, Facts::NONE);

/// An operand is the result of one of these.
const fn behind(opcodes: &[Opcode]) -> (Facts, Facts) {
    (Facts::NONE, Facts::made_by_any(opcodes))
}

/// One operand is constant, and another the result of one of these.
const fn constant_behind(opcodes: &[Opcode]) -> (Facts, Facts) {
    (Facts::CONSTANT, Facts::made_by_any(opcodes))
}

macro_rules! rules {
    ($($(#[$documentation:meta])* $name:ident = $counter:literal, $why:literal, $premise:expr, $find:expr;)*) => {
        $(
            $(#[$documentation])*
            const $name: Rule = Rule {
                counter: concat!("algebraic-simplification.", $counter),
                why: $why,
                premise: $premise,
                find: $find,
            };
        )*

        /// All rules of the table.
        #[cfg(test)]
        pub(super) const ALL: &[Rule] = &[$($name),*];
    };
}

rules! {
    /// `and.b32 d, x, 0` → `mov.b32 d, 0`; a comparison that known bits decide.
    CONSTANT_RESULT = "constant-result", "every bit of the result is known",
        (Facts::KNOWN_RESULT, Facts::NONE), integer::constant_result;
    /// `add.s32 d, x, 0` → x; likewise `x - 0`, `x * 1`, `x & -1`, `x | 0`, `x ^ 0`, shifts by 0, `x / 1`.
    NEUTRAL_OPERAND = "neutral-operand", "the other operand changes nothing",
        (Facts::NONE, Facts::TRIVIAL), integer::neutral_operand;
    /// `xor.b32 d, x, x` → 0, `and.b32 d, x, x` → x; likewise `-`, `|`, integer `min` and `max`.
    EQUAL_OPERANDS = "equal-operands", "both operands are the same",
        EQUAL, integer::equal_operands;
    /// `and.b32 d, x, 31` → x where x is `%laneid`.
    USELESS_MASK = "useless-mask", "the mask clears or sets only bits that are so already",
        (Facts::NONE, Facts::PARTLY_KNOWN.or(Facts::TRIVIAL)), integer::useless_mask;
    /// `not.b32 y, x; not.b32 d, y` → x; likewise `neg` and `not.pred`.
    DOUBLE_NEGATION = "double-negation", "it undoes what its operand did",
        behind(&[Opcode::Neg, Opcode::Not]), integer::double_negation;
    /// `sub.s32 d, 0, x` → `neg.s32 d, x`.
    SUBTRACT_FROM_ZERO = "subtract-from-zero", "a difference from zero is a negation",
        FIRST_CONSTANT, integer::subtract_from_zero;
    /// `add.s32 d, 5, x` → `add.s32 d, x, 5`.
    CONSTANT_RIGHT = "constant-right", "the operation commutes",
        FIRST_CONSTANT, integer::constant_right;
    /// `sub.s32 d, x, 5` → `add.s32 d, x, -5`.
    SUBTRACT_CONSTANT = "subtract-constant", "adding the negative constant is the same",
        CONSTANT, integer::subtract_constant;
    /// `add.s32 y, x, 5; add.s32 d, y, 7` → `add.s32 d, x, 12`; likewise `&`, `|`, `^`, `*`, `min`, `max`, `C - x`.
    CONSTANT_CHAIN = "constant-chain", "two constants in a row are one",
        constant_behind(&[Opcode::Add, Opcode::Sub, Opcode::Mul, Opcode::Min, Opcode::Max, Opcode::And, Opcode::Or, Opcode::Xor]), integer::constant_chain;
    /// `shl.b32 y, x, 3; shl.b32 d, y, 4` → `shl.b32 d, x, 7`; 0 from the width on, or the sign.
    SHIFT_CHAIN = "shift-chain", "two shifts in a row are one",
        constant_behind(&[Opcode::Shl, Opcode::Shr]), integer::shift_chain;
    /// `shl.b32 y, x, 8; shr.u32 d, y, 8` → `and.b32 d, x, 16777215`.
    SHIFT_PAIR = "shift-pair", "shifting there and back clears bits",
        constant_behind(&[Opcode::Shl, Opcode::Shr]), integer::shift_pair;
    /// `shr.s32 d, x, 40` → `shr.s32 d, x, 31`; `shr.s32 d, x, 3` → `shr.u32 d, x, 3` where x is not negative.
    SIGNED_SHIFT = "signed-shift", "only the sign is shifted in",
        (Facts::NONE, Facts::PARTLY_KNOWN.or(Facts::CONSTANT)), integer::signed_shift;
    /// `add.s32 z, x, y; sub.s32 d, z, y` → x; `xor` twice.
    CANCELLED = "cancelled", "the two operations cancel",
        behind(&[Opcode::Add, Opcode::Sub, Opcode::Xor]), integer::cancelled;
    /// `neg.s32 z, y; add.s32 d, x, z` → `sub.s32 d, x, y`.
    NEGATED_TERM = "negated-term", "adding a negative is subtracting",
        behind(&[Opcode::Neg]), integer::negated_term;
    /// `or.b32 z, x, y; and.b32 d, z, x` → x.
    ABSORBED = "absorbed", "the operand absorbs the other",
        behind(&[Opcode::And, Opcode::Or]), integer::absorbed;
    /// `min.s32 d, x, 2000` → x where x is `%tid.x`; `abs.s32 d, x` → x where x is not negative.
    ORDERED_OPERANDS = "ordered-operands", "known bits tell which operand it is",
        (Facts::NONE, Facts::PARTLY_KNOWN.or(Facts::CONSTANT)), integer::ordered_operands;
    /// `mul.lo.s32 d, x, 8` → `shl.b32 d, x, 3`; by −1 → `neg`.
    MULTIPLY_BY_POWER = "multiply-by-power", "a product by a power of two is a shift",
        CONSTANT, multiply::multiply_by_power;
    /// `cvt.s64.s32 y, x; shl.b64 d, y, 2` → `mul.wide.s32 d, x, 4`.
    WIDE_PRODUCT = "wide-product", "a wide product extends its operands",
        behind(&[Opcode::Cvt, Opcode::Mul]), multiply::wide_product;
    /// `mul.wide.s32 d, x, 1` → `cvt.s64.s32 d, x`.
    WIDE_BY_ONE = "wide-by-one", "a product by one is an extension",
        ONE, multiply::wide_by_one;
    /// `div.u32 d, x, 8` → `shr.u32 d, x, 3`; `rem.u32 d, x, 8` → `and.b32 d, x, 7`; signed ones where x is not negative.
    DIVIDE_BY_POWER = "divide-by-power", "an unsigned quotient by a power of two is a shift",
        CONSTANT, multiply::divide_by_power;
    /// `div.u32 y, x, 3; div.u32 d, y, 5` → `div.u32 d, x, 15`.
    DIVISION_CHAIN = "division-chain", "two divisors in a row are one",
        constant_behind(&[Opcode::Div]), multiply::division_chain;
    /// `mad.lo.s32 d, x, y, 0` → `mul.lo.s32 d, x, y`; `mad.lo.s32 d, x, 1, y` → `add.s32 d, x, y`.
    SIMPLE_MAD = "simple-mad", "a factor or the addend is trivial",
        (Facts::NONE, Facts::TRIVIAL.or(Facts::FIRST_CONSTANT)), multiply::simple_mad;
    /// `setp.lt.s32 p, 5, x` → `setp.gt.s32 p, x, 5`.
    COMPARE_RIGHT = "compare-right", "the comparison has a mirror image",
        FIRST_CONSTANT, compare::compare_right;
    /// `setp.le.s32 p, x, x` → true.
    COMPARE_EQUAL = "compare-equal", "a value equals itself",
        EQUAL, compare::compare_equal;
    /// `selp.b32 x, 1, 0, p; setp.ne.s32 q, x, 0` → p.
    COMPARE_SELECT = "compare-select", "the comparison only asks which constant was chosen",
        constant_behind(&[Opcode::Selp]), compare::compare_select;
    /// `xor.b32 z, x, y; setp.eq.s32 p, z, 0` → `setp.eq.s32 p, x, y`.
    COMPARE_DIFFERENCE = "compare-difference", "values are equal when their difference is zero",
        constant_behind(&[Opcode::Add, Opcode::Sub, Opcode::Or, Opcode::Xor]), compare::compare_difference;
    /// `cvt.s64.s32 y, x; setp.lt.s64 p, y, 7` → `setp.lt.s32 p, x, 7`.
    COMPARE_EXTENDED = "compare-extended", "extension keeps the order",
        behind(&[Opcode::Cvt]), compare::compare_extended;
    /// `setp.lt.f32 p, x, y; not.pred q, p` → `setp.geu.f32 q, x, y`.
    INVERTED_COMPARISON = "inverted-comparison", "nobody else reads the comparison",
        behind(&[Opcode::Setp]), compare::inverted_comparison;
    /// `xor.pred q, p, 1` → `not.pred q, p`.
    FLIPPED_PREDICATE = "flipped-predicate", "exclusive or with true is a negation",
        CONSTANT, compare::flipped_predicate;
    /// `setp.ge.s32 p, x, 0; setp.lt.s32 q, x, 7; and.pred r, p, q` → `setp.lt.u32 r, x, 7`.
    RANGE_TEST = "range-test", "negative numbers are large as unsigned ones",
        behind(&[Opcode::Setp]), compare::range_test;
    /// `setp.lt.s32 p, x, y; and.pred r, p, q` → `setp.lt.and.s32 r, x, y, q`.
    COMBINED_COMPARISON = "combined-comparison", "a comparison can combine its result",
        behind(&[Opcode::Setp]), compare::combined_comparison;
    /// `selp.b32 d, x, x, p` → x.
    DECIDED_SELECT = "decided-select", "the choice is known or makes no difference",
        (Facts::NONE, Facts::CONSTANT.or(Facts::EQUAL)), compare::decided_select;
    /// `not.pred q, p; selp.b32 d, x, y, q` → `selp.b32 d, y, x, p`.
    SWAPPED_SELECT = "swapped-select", "choosing by a negation swaps the arms",
        behind(&[Opcode::Not]), compare::swapped_select;
    /// `selp.b32 z, x, y, p; selp.b32 d, z, w, p` → `selp.b32 d, x, w, p`.
    NESTED_SELECT = "nested-select", "the predicate was tested already",
        behind(&[Opcode::Selp]), compare::nested_select;
    /// `setp.eq.s32 p, x, -1; selp.b32 d, -1, x, p` → x.
    EQUAL_CHOICE = "equal-choice", "what is chosen is equal then",
        behind(&[Opcode::Setp]), select::equal_choice;
    /// `setp.ne.s32 p, x, 0; clz.b32 y, x; selp.b32 d, y, 32, p` → y.
    SPECIAL_CASE = "special-case", "the special case is none",
        behind(&[Opcode::Setp]), select::special_case;
    /// `setp.lt.s32 p, x, y; selp.b32 d, x, y, p` → `min.s32 d, x, y`.
    MINIMUM_OR_MAXIMUM = "minimum-or-maximum", "the lower or the higher is chosen",
        behind(&[Opcode::Setp]), select::minimum_or_maximum;
    /// `selp.b16 x, 1, 0, p; cvt.u32.u16 d, x` → `selp.b32 d, 1, 0, p`.
    OPERATION_ON_SELECT = "operation-on-select", "an operation on chosen constants chooses its results",
        behind(&[Opcode::Selp]), compare::operation_on_select;
    /// `cvt.s32.u32 d, x` → x; `cvt.u16.u8 d, x` → x where x is small.
    USELESS_CONVERSION = "useless-conversion", "the conversion changes no bit",
        ALWAYS, convert::useless_conversion;
    /// `cvt.u64.u32 y, x; cvt.u32.u64 d, y` → x.
    CONVERSION_CHAIN = "conversion-chain", "two conversions in a row are one",
        behind(&[Opcode::Cvt]), convert::conversion_chain;
    /// `cvt.s64.s32 d, x` → `cvt.u64.u32 d, x` where x is not negative.
    ZERO_EXTENSION = "zero-extension", "the value is not negative",
        PARTLY_KNOWN, convert::zero_extension;
    /// `cvt.u64.u32 y, x; add.s64 z, y, 5; cvt.u32.u64 d, z` → `add.s32 d, x, 5`; `mul.wide` and a shift → `mul.hi`.
    NARROWED_OPERATION = "narrowed-operation", "only the low bits are read",
        behind(&[Opcode::Add, Opcode::Sub, Opcode::Mul, Opcode::Mad, Opcode::And, Opcode::Or, Opcode::Xor, Opcode::Not, Opcode::Neg, Opcode::Shl, Opcode::Shr, Opcode::Selp]), convert::narrowed_operation;
    /// `cvta.global.u64 y, x; cvta.to.global.u64 d, y` → x.
    ADDRESS_ROUND_TRIP = "address-round-trip", "the address is converted there and back",
        behind(&[Opcode::Cvta]), convert::address_round_trip;
    /// `bfe.u32 d, x, 0, 5` → `and.b32 d, x, 31`.
    SIMPLE_FIELD = "simple-field", "the field is at an end of the word",
        CONSTANT, convert::simple_field;
    /// `shr.u32 y, x, 8; and.b32 d, y, 255` → `bfe.u32 d, x, 8, 8`.
    BYTE_FIELD = "byte-field", "whole bytes in the middle of a word are a field",
        constant_behind(&[Opcode::Shr]), fields::byte_field;
    /// `shl.b32 y, x, 24; shr.s32 d, y, 24` → `bfe.s32 d, x, 0, 8`.
    SIGNED_FIELD = "signed-field", "shifting there and back extends the sign of a field",
        constant_behind(&[Opcode::Shl]), fields::signed_field;
    /// `and.b32 x, a, -16; and.b32 y, b, 15; or.b32 d, x, y` → `bfi.b32 d, b, a, 0, 4`.
    MERGED_FIELDS = "merged-fields", "the lower part of a word is replaced",
        behind(&[Opcode::And]), fields::merged_fields;
    /// `and.b32 x, a, 65535; shl.b32 y, b, 16; or.b32 d, x, y` → `bfi.b32 d, b, a, 16, 16`.
    INSERTED_FIELD = "inserted-field", "the upper part of a word is replaced",
        (Facts::made_by_any(&[Opcode::And, Opcode::Shl]), Facts::NONE), fields::inserted_field;
    /// `and.b32 y, x, 8; setp.eq.s32 p, y, 8` → `setp.ne.s32 p, y, 0`.
    TESTED_BIT = "tested-bit", "one bit is all that may be set",
        (Facts::PARTLY_KNOWN.or(Facts::CONSTANT), Facts::NONE), fields::tested_bit;
    /// `prmt.b32 d, x, y, 0x3210` → x; likewise `bfi`, `lop3`, `shf`.
    PROJECTION = "projection", "the result is one of the operands",
        CONSTANT, convert::projection;
    /// `lop3.b32 d, x, y, y, 0xC0` → `and.b32 d, x, y`.
    REPEATED_OPERAND = "repeated-operand", "an operand stands twice",
        EQUAL, convert::repeated_operand;
}

/// Where zero changes nothing.
const NEUTRAL_ZERO: Rule = NEUTRAL_OPERAND.given((Facts::ZERO, Facts::NONE));
/// Where one changes nothing.
const NEUTRAL_ONE: Rule = NEUTRAL_OPERAND.given(ONE);
/// In a sum.
const CANCELLED_IN_SUM: Rule = CANCELLED.given(behind(&[Opcode::Sub]));
/// In a difference.
const CANCELLED_IN_DIFFERENCE: Rule = CANCELLED.given(behind(&[Opcode::Add, Opcode::Sub]));
/// In an exclusive `or`.
const CANCELLED_IN_XOR: Rule = CANCELLED.given(behind(&[Opcode::Xor]));

/// The rules that look at a guarded `mov`, which is a choice between its operand and what was there before.
pub(super) const OF_GUARDED_MOVES: &[Rule] = &[
    DECIDED_SELECT,
    EQUAL_CHOICE,
    SPECIAL_CASE,
    MINIMUM_OR_MAXIMUM,
];

/// The rules that look at an opcode, in the order in which they are tried.
#[expect(clippy::too_many_lines, reason = "one list")]
pub(super) const fn of(opcode: Opcode) -> &'static [Rule] {
    match opcode {
        Opcode::Add => &[
            CONSTANT_RESULT,
            NEUTRAL_ZERO,
            CONSTANT_RIGHT,
            CONSTANT_CHAIN,
            CANCELLED_IN_SUM,
            NEGATED_TERM,
            OPERATION_ON_SELECT,
        ],
        Opcode::Sub => &[
            CONSTANT_RESULT,
            NEUTRAL_ZERO,
            EQUAL_OPERANDS,
            SUBTRACT_CONSTANT,
            SUBTRACT_FROM_ZERO,
            CONSTANT_CHAIN,
            CANCELLED_IN_DIFFERENCE,
            NEGATED_TERM,
            OPERATION_ON_SELECT,
        ],
        Opcode::Mul => &[
            CONSTANT_RESULT,
            NEUTRAL_ONE,
            CONSTANT_RIGHT,
            WIDE_PRODUCT,
            CONSTANT_CHAIN,
            OPERATION_ON_SELECT,
            MULTIPLY_BY_POWER,
            WIDE_BY_ONE,
        ],
        Opcode::Mad => &[CONSTANT_RESULT, CONSTANT_RIGHT, SIMPLE_MAD],
        Opcode::Div | Opcode::Rem => &[
            CONSTANT_RESULT,
            NEUTRAL_ONE,
            DIVIDE_BY_POWER,
            DIVISION_CHAIN,
        ],
        Opcode::Min | Opcode::Max => &[
            CONSTANT_RESULT,
            NEUTRAL_OPERAND,
            EQUAL_OPERANDS,
            ORDERED_OPERANDS,
            CONSTANT_RIGHT,
            CONSTANT_CHAIN,
        ],
        Opcode::Abs => &[ORDERED_OPERANDS],
        Opcode::Neg => &[CONSTANT_RESULT, DOUBLE_NEGATION, OPERATION_ON_SELECT],
        Opcode::Not => &[
            CONSTANT_RESULT,
            DOUBLE_NEGATION,
            INVERTED_COMPARISON,
            OPERATION_ON_SELECT,
        ],
        Opcode::And => &[
            CONSTANT_RESULT,
            NEUTRAL_OPERAND,
            EQUAL_OPERANDS,
            USELESS_MASK,
            CONSTANT_RIGHT,
            CONSTANT_CHAIN,
            ABSORBED,
            OPERATION_ON_SELECT,
            RANGE_TEST,
            COMBINED_COMPARISON,
            BYTE_FIELD,
        ],
        Opcode::Or => &[
            CONSTANT_RESULT,
            NEUTRAL_OPERAND,
            EQUAL_OPERANDS,
            USELESS_MASK,
            CONSTANT_RIGHT,
            CONSTANT_CHAIN,
            ABSORBED,
            OPERATION_ON_SELECT,
            RANGE_TEST,
            COMBINED_COMPARISON,
            MERGED_FIELDS,
            INSERTED_FIELD,
        ],
        Opcode::Xor => &[
            CONSTANT_RESULT,
            NEUTRAL_ZERO,
            EQUAL_OPERANDS,
            CONSTANT_RIGHT,
            CONSTANT_CHAIN,
            CANCELLED_IN_XOR,
            OPERATION_ON_SELECT,
            FLIPPED_PREDICATE,
            COMBINED_COMPARISON,
        ],
        Opcode::Shl => &[
            CONSTANT_RESULT,
            NEUTRAL_ZERO,
            SHIFT_CHAIN,
            SHIFT_PAIR,
            WIDE_PRODUCT,
            OPERATION_ON_SELECT,
        ],
        Opcode::Shr => &[
            CONSTANT_RESULT,
            NEUTRAL_ZERO,
            SIGNED_SHIFT,
            SHIFT_CHAIN,
            SHIFT_PAIR,
            OPERATION_ON_SELECT,
            SIGNED_FIELD,
        ],
        Opcode::Setp => &[
            CONSTANT_RESULT,
            COMPARE_EQUAL,
            COMPARE_RIGHT,
            COMPARE_SELECT,
            COMPARE_EXTENDED,
            COMPARE_DIFFERENCE,
            TESTED_BIT,
        ],
        Opcode::Selp => &[
            CONSTANT_RESULT,
            DECIDED_SELECT,
            SWAPPED_SELECT,
            NESTED_SELECT,
            EQUAL_CHOICE,
            SPECIAL_CASE,
            MINIMUM_OR_MAXIMUM,
        ],
        Opcode::Cvt => &[
            CONSTANT_RESULT,
            USELESS_CONVERSION,
            CONVERSION_CHAIN,
            ZERO_EXTENSION,
            OPERATION_ON_SELECT,
            NARROWED_OPERATION,
        ],
        Opcode::Cvta => &[ADDRESS_ROUND_TRIP],
        Opcode::Bfe => &[CONSTANT_RESULT, SIMPLE_FIELD],
        Opcode::Lop3 => &[CONSTANT_RESULT, PROJECTION, REPEATED_OPERAND],
        Opcode::Bfi | Opcode::Prmt | Opcode::Shf => &[CONSTANT_RESULT, PROJECTION],
        Opcode::Popc | Opcode::Clz => &[CONSTANT_RESULT],
        _ => &[],
    }
}
