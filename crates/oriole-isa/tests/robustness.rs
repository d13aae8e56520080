//! `evaluate` never panics, whatever it is given, and ignores bits above an operand's type.

mod vectors;

use oriole_isa::{
    Bits, Mnemonic, Opcode, ScalarType, VideoOperands, approximate, evaluate, evaluate_unpack,
    evaluate_video,
};
use vectors::{Random, candidates, inputs};

fn wide(random: &mut Random) -> Bits {
    Bits::from(random.next()) << 64 | Bits::from(random.next())
}

#[test]
fn bits_above_the_type_are_ignored() {
    let mut random = Random::new(7);
    let mut compared = 0;
    for form in candidates() {
        for row in inputs(&form.inputs).iter().step_by(16) {
            let mut clean: Vec<Bits> = row.iter().map(|&value| value.into()).collect();
            let mut dirty: Vec<Bits> = clean
                .iter()
                .zip(&form.inputs)
                .map(|(&value, input)| value | wide(&mut random) << input.bits())
                .collect();
            if let Some(immediate) = form.immediate {
                clean.insert(3, immediate.into());
                dirty.insert(3, immediate.into());
            }
            let run = |operands: &[Bits]| match &form.video {
                Some(video) => evaluate_video(&form.mnemonic, operands, video),
                None => evaluate(&form.mnemonic, operands),
            };
            // Eight-bit sources are read from wider registers that the recording fills.
            assert_eq!(run(&clean), run(&dirty), "{} {row:x?}", form.key);
            assert_eq!(
                approximate(&form.mnemonic, &clean),
                approximate(&form.mnemonic, &dirty)
            );
            compared += 1;
        }
    }
    assert!(compared > 30_000, "too few comparisons: {compared}");
}

#[test]
fn nonsense_is_survived() {
    let modifiers = [
        "",
        ".sat",
        ".ftz",
        ".rn",
        ".rp.ftz.sat",
        ".rzi",
        ".lo",
        ".hi",
        ".wide",
        ".cc",
        ".lo.cc",
        ".hi.sat",
        ".lt",
        ".lt.and",
        ".nan",
        ".clamp",
        ".l.wrap",
        ".r.clamp",
        ".relu",
        ".NaN.xorsign.abs",
        ".f4e",
        ".or",
        ".normal",
        ".shiftamt",
        ".v4",
        ".add",
        ".po.shr7",
    ];
    let seconds = ["", ".s32", ".f16", ".b128", ".s32.u32"];
    let mut random = Random::new(11);
    let video = VideoOperands {
        destination: Some("b9"),
        a: Some("h99"),
        b: Some("b76543"),
        ..VideoOperands::default()
    };
    let mut evaluated = 0;
    for &opcode in Opcode::ALL {
        let effects = Mnemonic::parse(opcode.text()).effects();
        if effects.convergent || !effects.reads.is_empty() || !effects.is_removable() {
            continue;
        }
        for modifier in modifiers {
            for &scalar_type in ScalarType::ALL {
                for second in seconds {
                    let text = format!("{opcode}{modifier}.{scalar_type}{second}");
                    let mnemonic = Mnemonic::parse(&text);
                    if mnemonic.is_opaque() {
                        continue;
                    }
                    let operands: [Bits; 6] = std::array::from_fn(|_| match random.below(3) {
                        0 => Bits::MAX,
                        1 => 1 << random.below(128),
                        _ => wide(&mut random),
                    });
                    for count in 0..operands.len() {
                        let operands = &operands[..count];
                        evaluated += usize::from(evaluate(&mnemonic, operands).is_some());
                        let _ = approximate(&mnemonic, operands);
                        let _ = evaluate_video(&mnemonic, operands, &video);
                        let _ = evaluate_video(&mnemonic, operands, &VideoOperands::default());
                        let _ = evaluate_unpack(&mnemonic, Bits::MAX, count);
                    }
                }
            }
        }
    }
    assert!(evaluated > 10_000, "too few evaluations: {evaluated}");
}
