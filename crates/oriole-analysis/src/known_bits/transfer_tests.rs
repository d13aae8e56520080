//! Holds `transfer` against `isa::evaluate`, for every mnemonic that it knows something of.
//!
//! No list of opcodes: mnemonics are put together of all opcodes, modifiers and integer types, so a new opcode takes part by itself.

use super::{Known, is_tracked, transfer};
use oriole_isa::{Mnemonic, MulMode, Opcode, ScalarType, evaluate, own_modifiers};
use std::collections::BTreeSet;

/// Modifiers that change the result of an integer instruction.
const MODIFIERS: &[&str] = &[
    "",
    ".lo",
    ".hi",
    ".wide",
    ".sat",
    ".clamp",
    ".wrap",
    ".l.wrap",
    ".r.clamp",
    ".eq",
    ".ne",
    ".lt",
    ".le",
    ".gt",
    ".ge",
    ".lo.and",
    ".ls",
    ".hi.or",
    ".hs",
    ".lt.and",
    ".ge.or",
    ".eq.xor",
    ".shiftamt",
    ".cc",
];

const TYPES: &[&str] = &[
    "u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64", "b8", "b16", "b32", "b64", "pred",
];

/// Random trials of each mnemonic with one of these modifiers.
const TRIALS: usize = 600;
/// Random trials of each mnemonic with another modifier of the table.
const FEWER_TRIALS: usize = 30;

/// xorshift64*
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}

/// All mnemonics with these modifiers of which the transfer function may know something.
fn mnemonics() -> Vec<(String, Mnemonic)> {
    let with = Opcode::ALL
        .iter()
        .flat_map(|&opcode| spelled(opcode, MODIFIERS));
    with.collect()
}

/// All such mnemonics with another modifier of the table.
fn other_mnemonics() -> Vec<(String, Mnemonic)> {
    let others = |&opcode: &Opcode| {
        let own = own_modifiers(opcode.text()).into_iter();
        let modifiers = own.filter(|own| ScalarType::from_text(own).is_none());
        let modifiers: BTreeSet<String> = modifiers.map(|own| format!(".{own}")).collect();
        let is_other = |own: &&str| !MODIFIERS.contains(own);
        let modifiers: Vec<&str> = modifiers
            .iter()
            .map(|own| &own[..])
            .filter(is_other)
            .collect();
        spelled(opcode, &modifiers)
    };
    Opcode::ALL.iter().flat_map(others).collect()
}

fn spelled(opcode: Opcode, modifiers: &[&str]) -> Vec<(String, Mnemonic)> {
    let mut found = Vec::new();
    for modifier in modifiers {
        for first in TYPES {
            let texts = TYPES.iter().map(|second| format!(".{second}"));
            for second in std::iter::once(String::new()).chain(texts) {
                let text = format!("{}{modifier}.{first}{second}", opcode.text());
                let mnemonic = Mnemonic::parse(&text);
                if !mnemonic.is_opaque() && is_tracked(&mnemonic) {
                    found.push((text, mnemonic));
                }
            }
        }
    }
    found
}

/// The type of the result.
fn given(mnemonic: &Mnemonic) -> Option<ScalarType> {
    let first = mnemonic.first_type()?;
    match mnemonic.opcode() {
        Opcode::Setp => Some(ScalarType::Pred),
        Opcode::Popc | Opcode::Clz | Opcode::Bfind => Some(ScalarType::U32),
        _ if mnemonic.modifiers().mul_mode == Some(MulMode::Wide) => first.widened(),
        _ => Some(first),
    }
}

/// Bits of an operand; an operand of more bits than the instruction reads is cut by the caller of `transfer`.
fn widths(mnemonic: &Mnemonic, count: usize) -> Option<[u32; 4]> {
    let first = mnemonic.first_type()?.bits();
    let mut widths = [first; 4];
    match mnemonic.opcode() {
        Opcode::Cvt => widths[0] = mnemonic.types().get(1)?.bits(),
        Opcode::Selp => widths[2] = 1,
        Opcode::Shl | Opcode::Shr => widths[1] = 32,
        Opcode::Bfe => widths[1..3].fill(32),
        Opcode::Mad if mnemonic.modifiers().mul_mode == Some(MulMode::Wide) => {
            widths[2] = 2 * first
        }
        Opcode::Setp if count == 3 => widths[2] = 1,
        _ => {}
    }
    Some(widths)
}

fn is_consistent(known: Known, value: u64) -> bool {
    known.zeros & value == 0 && known.ones & !value == 0
}

/// Checks one case. Returns true if `transfer` claims something.
fn check(text: &str, mnemonic: &Mnemonic, known: &[Known; 4], values: &[u128]) -> bool {
    let Some(given) = given(mnemonic) else {
        return false;
    };
    let Some(claim) = transfer(mnemonic, given, known) else {
        return false;
    };
    let outputs = evaluate(mnemonic, values).unwrap_or_else(|| {
        panic!("`{text}` has a transfer function, and no reference for {values:x?}")
    });
    let result = outputs.values()[0] as u64;
    assert!(
        is_consistent(claim, result),
        "`{text}` of {values:x?} gives {result:x}; known of the operands is {known:x?}, claimed is {claim:x?}"
    );
    true
}

/// Values of `width` bits, edges more often than others, and something that is known of each.
fn sample(random: &mut Random, width: u32) -> (Known, u64) {
    let all = u64::MAX >> (64 - width);
    let value = match random.below(4) {
        0 => random.next(),
        1 => random.below(70),
        2 => 0u64.wrapping_sub(random.below(70)),
        _ => (1u64 << random.below(u64::from(width))).wrapping_sub(random.below(2)),
    } & all;
    let unknown = match random.below(5) {
        0 => 0,
        1 => random.next() & random.next() & random.next(),
        2 => (1u64 << random.below(u64::from(width))) - 1,
        3 => !((1u64 << random.below(u64::from(width))) - 1),
        _ => random.next(),
    } & all;
    let known = Known {
        zeros: !value & !unknown,
        ones: value & !unknown,
    };
    (known, value)
}

/// The numbers of operands with which a mnemonic can be evaluated.
fn counts(mnemonic: &Mnemonic) -> impl Iterator<Item = usize> {
    // With more operands than one, `mov` packs a vector, of which `transfer` is not asked.
    let most = if mnemonic.opcode() == Opcode::Mov {
        1
    } else {
        4
    };
    (1..=most).filter(|&count| evaluate(mnemonic, &vec![1; count]).is_some())
}

#[test]
fn known_bits_are_those_of_the_reference() {
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    let mut claimed = BTreeSet::new();
    let usual = mnemonics().into_iter().map(|own| (own, TRIALS));
    let others = other_mnemonics().into_iter();
    for ((text, mnemonic), trials) in usual.chain(others.map(|own| (own, FEWER_TRIALS))) {
        for count in counts(&mnemonic) {
            let Some(widths) = widths(&mnemonic, count) else {
                continue;
            };
            for _ in 0..trials {
                let mut known = [Known { zeros: 0, ones: 0 }; 4];
                let mut values = vec![0u128; count];
                for index in 0..count {
                    let (bits, value) = sample(&mut random, widths[index]);
                    (known[index], values[index]) = (bits, u128::from(value));
                }
                if check(&text, &mnemonic, &known, &values) {
                    claimed.insert(mnemonic.opcode().text());
                }
            }
        }
    }
    // A harness that reaches nothing would pass too.
    assert!(claimed.len() >= 20, "claims were made of {claimed:?} only");
}

#[test]
fn known_bits_of_four_bits_are_those_of_the_reference() {
    let nibbles: Vec<(Known, Vec<u64>)> = (0..81u32)
        .map(|number| {
            let (mut zeros, mut ones, mut rest) = (0u64, 0u64, number);
            for bit in 0..4 {
                match rest % 3 {
                    0 => zeros |= 1 << bit,
                    1 => ones |= 1 << bit,
                    _ => {}
                }
                rest /= 3;
            }
            let known = Known { zeros, ones };
            (
                known,
                (0..16).filter(|&own| is_consistent(known, own)).collect(),
            )
        })
        .collect();
    let mut checked = 0u64;
    for (text, mnemonic) in mnemonics() {
        let is_usual = mnemonic.types().iter().all(|own| own.bits() == 32);
        if !is_usual || !counts(&mnemonic).any(|count| count == 2) {
            continue;
        }
        // The bits above are zeros, or ones.
        for high in [0, 0xFFFF_FFF0u64] {
            let extended = |own: Known| Known {
                zeros: own.zeros | !high & !15,
                ones: own.ones | high,
            };
            for (left, lefts) in &nibbles {
                for (right, rights) in &nibbles {
                    let mut known = [Known { zeros: 0, ones: 0 }; 4];
                    (known[0], known[1]) = (extended(*left), extended(*right));
                    for &one in lefts {
                        for &other in rights {
                            let values = [u128::from(one | high), u128::from(other | high)];
                            checked += u64::from(check(&text, &mnemonic, &known, &values));
                        }
                    }
                }
            }
        }
    }
    assert!(checked > 1_000_000, "{checked} claims");
}
