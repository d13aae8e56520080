//! Direct loops against `evaluate`.

use super::apply::{mask, single_to_half};
use super::*;
use crate::program::Lanes;
use oriole_isa::{Bits, approximate, extend};

/// Every mnemonic that has, or could have, a direct loop.
fn mnemonics() -> Vec<String> {
    let mut all = Vec::new();
    let mut add = |pattern: &str, choices: &[&str]| {
        for choice in choices {
            all.push(pattern.replace('*', choice));
        }
    };
    let integers = ["u16", "s16", "u32", "s32", "u64", "s64"];
    for name in [
        "add", "sub", "min", "max", "div", "rem", "abs", "neg", "mul.lo", "mul.hi", "mul.wide",
        "mad.lo", "mad.wide", "mad.hi",
    ] {
        add(&format!("{name}.*"), &integers);
    }
    for name in ["and", "or", "xor", "not", "shl", "popc", "clz", "brev"] {
        add(&format!("{name}.*"), &["b16", "b32", "b64"]);
    }
    add(
        "shr.*",
        &[
            "b16", "b32", "b64", "u16", "u32", "u64", "s16", "s32", "s64",
        ],
    );
    add("bfe.*", &["u32", "s32"]);
    add("shf.*.b32", &["l.wrap", "l.clamp", "r.wrap", "r.clamp"]);
    add("prmt.b32", &[""]);
    for flush in ["", ".ftz"] {
        for name in [
            "add", "sub", "mul", "add.rn", "mul.rn", "sub.rn", "div.rn", "min", "max", "fma.rn",
            "neg", "abs", "sqrt.rn", "rcp.rn",
        ] {
            add(&format!("{name}*.f32"), &[flush]);
        }
        for name in ["rcp", "sqrt", "rsqrt", "sin", "cos", "lg2", "ex2", "div"] {
            add(&format!("{name}.approx*.f32"), &[flush]);
        }
        add(&format!("div.full{flush}.f32*"), &[""]);
        for comparison in [
            "eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num",
            "nan",
        ] {
            add(&format!("setp.{comparison}*.f32"), &[flush]);
            add(&format!("setp.{comparison}.f64*"), &[""]);
        }
        add(&format!("cvt.rzi{flush}.*.f32"), &["s32", "u32"]);
    }
    add("tanh.approx.f32*", &[""]);
    for name in [
        "add", "sub", "mul", "div.rn", "fma.rn", "neg", "abs", "add.rn",
    ] {
        add(&format!("{name}.*"), &["f64"]);
    }
    for comparison in ["eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs"] {
        add(
            &format!("setp.{comparison}.*"),
            &["u16", "s16", "u32", "s32", "u64", "s64", "b32"],
        );
    }
    for to in ["u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64"] {
        add(
            &format!("cvt.{to}.*"),
            &["u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64"],
        );
    }
    add("cvt.rn.f32.*", &["s32", "u32", "f64"]);
    add("cvt.rn.f64.*", &["s32", "u32"]);
    add("cvt.f64.*", &["f32"]);
    add("cvt.f32.*", &["f16", "bf16"]);
    add("cvt.rn.*.f32", &["f16", "bf16"]);
    all
}

fn edges(bits: u32) -> Vec<u64> {
    let mut values = vec![
        0, 1, 2, 3, 7, 8, 15, 16, 31, 32, 33, 63, 64, 100, 127, 128, 255, 256, 0x8000, 0xffff,
    ];
    values.extend([
        0x7fff_ffff,
        0x8000_0000,
        0xffff_ffff,
        0x3f80_0000,
        0xbf80_0000,
        0x7f80_0000,
        0xff80_0000,
    ]);
    values.extend([
        0x7f80_0001,
        0x7fc0_0000,
        0xffc0_0001,
        0x0080_0000,
        0x007f_ffff,
        0x8000_0001,
        0x4f00_0000,
        0x3f7f_ffff,
        0x00ff_ffff,
    ]);
    values.extend([
        0x3ff0_0000_0000_0000,
        0x7ff0_0000_0000_0001,
        0xfff8_0000_0000_0005,
        1 << 63,
        u64::MAX,
        0x7bff,
        0x7c00,
        0x7c01,
        0x0400,
        0x03ff,
    ]);
    values.into_iter().map(|value| value & mask(bits)).collect()
}

#[test]
fn direct_loops_agree_with_evaluate() {
    let mut state = 1u64;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let mut checked = 0;
    for text in mnemonics() {
        let mnemonic = Mnemonic::parse(&text);
        let count = (2..=4)
            .find(|&count| mnemonic.operand_roles(count).is_some())
            .unwrap_or_else(|| panic!("{text}"));
        let Some(to) = mnemonic.operand_type(0, count) else {
            continue;
        };
        let register = to.bits().max(16);
        let Some(direct) = direct(&mnemonic, register) else {
            continue;
        };
        checked += 1;
        let types: Vec<ScalarType> = (1..count)
            .map(|index| mnemonic.operand_type(index, count).expect("a type"))
            .collect();
        for round in 0..96 {
            let inputs: Vec<Lanes> = types
                .iter()
                .enumerate()
                .map(|(index, scalar_type)| {
                    let edges = edges(scalar_type.bits());
                    std::array::from_fn(|lane| {
                        let number = (round * 32 + lane) * (2 * index + 1) + round * index;
                        match round % 3 {
                            0 => edges[number % edges.len()],
                            1 if index > 0 => edges[(random() as usize) % edges.len()],
                            // Singles of ordinary size, so that sums cancel.
                            2 if scalar_type.bits() == 32 => 0x3f00_0000 | random() & 0x80ff_ffff,
                            _ => random() & mask(scalar_type.bits()),
                        }
                    })
                })
                .collect();
            let (values, truth) = match (direct, &inputs[..]) {
                (Direct::Unary(operation), [a]) => (operation.apply(a), 0),
                (Direct::Binary(operation), [a, b]) => (operation.apply(a, b), 0),
                (Direct::Ternary(operation), [a, b, c]) => (operation.apply(a, b, c), 0),
                (Direct::Compare(comparator), [a, b]) => ([0; 32], comparator.apply(a, b)),
                _ => panic!("{text}: {count} operands"),
            };
            for lane in 0..32 {
                let operands: Vec<Bits> = inputs.iter().map(|input| input[lane].into()).collect();
                let outputs = approximate(&mnemonic, &operands)
                    .unwrap_or_else(|| panic!("{text} {operands:x?}"));
                let expected = outputs.values()[0];
                let (actual, expected) = if matches!(direct, Direct::Compare(_)) {
                    (u64::from(truth >> lane & 1), expected as u64)
                } else {
                    (values[lane], extend(expected, to, register) as u64)
                };
                assert_eq!(
                    actual, expected,
                    "{text} {operands:x?}: {actual:x}, not {expected:x}"
                );
            }
        }
    }
    assert!(checked > 200, "only {checked} mnemonics have direct loops");
}

#[test]
fn every_half_converts() {
    let widen = Mnemonic::parse("cvt.f32.f16");
    let narrow = Mnemonic::parse("cvt.rn.f16.f32");
    for bits in 0..=u16::MAX {
        let wide = approximate(&widen, &[bits.into()])
            .expect("certain")
            .values()[0] as u32;
        assert_eq!(half_to_single(bits), wide);
        for near in [
            wide,
            wide.wrapping_add(0x1000),
            wide.wrapping_add(0xfff),
            wide.wrapping_sub(1),
        ] {
            let expected = approximate(&narrow, &[near.into()])
                .expect("certain")
                .values()[0] as u16;
            assert_eq!(single_to_half(near), expected, "{near:x}");
        }
    }
}
