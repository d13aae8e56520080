//! What is built of typed parts decodes to these parts and is what `ptxas` takes; what is rewritten differs in one part only.
//!
//! The parts come from all mnemonics of real PTX and of the manual. `ptxas` is asked about those whose parts the manual or a
//! producer writes in another order: it accepts the others as they are.

// The one thing worth saying is said before the test runs.
#![allow(clippy::print_stderr)]

use oriole_isa::{
    BooleanOperation, Builder, Comparison, Flag, Mnemonic, MulMode, Opcode, Rounding, ScalarType,
    Space, build,
};
use std::collections::BTreeSet;
use std::process::Command;

/// The targets and instructions of the manual, without guards.
fn manual() -> impl Iterator<Item = (&'static str, &'static str)> {
    let lines = include_str!("data/manual_forms.txt").lines();
    lines.map(|line| {
        let (target, instruction) = line.split_once('\t').expect("target and instruction");
        match instruction.strip_prefix('@') {
            Some(guarded) => (target, guarded.split_once(' ').expect("guard").1),
            None => (target, instruction),
        }
    })
}

fn mnemonic_of(instruction: &str) -> &str {
    instruction.split(' ').next().unwrap_or_default()
}

/// All mnemonics of the manual and of real PTX.
fn mnemonics() -> BTreeSet<&'static str> {
    let corpus = include_str!("data/corpus_mnemonics.txt").lines();
    let corpus = corpus.map(|line| line.split_once('\t').expect("mnemonic and count").0);
    corpus
        .chain(manual().map(|(_, instruction)| mnemonic_of(instruction)))
        .collect()
}

/// The words in alphabetical order, in the spelling that the builder chooses.
fn sorted_words(text: &str) -> Vec<&str> {
    let words = text.split('.');
    let mut words: Vec<&str> = words
        .map(|word| match word {
            "shared::cta" => "shared",
            word => word,
        })
        .collect();
    words.sort_unstable();
    words
}

fn builder_of(mnemonic: &Mnemonic) -> Builder {
    let builder = Mnemonic::build(mnemonic.opcode()).modifiers(*mnemonic.modifiers());
    let types = mnemonic.types().iter();
    types.fold(builder, |builder, &each| builder.scalar_type(each))
}

/// A mnemonic built of the parts of another; nothing if that has words which are no parts, or a rarer name of its opcode.
fn rebuilt(text: &str) -> Option<String> {
    let built = builder_of(&Mnemonic::parse(text)).text();
    let built = built.unwrap_or_else(|| panic!("{text} has parts that its opcode does not accept"));
    (sorted_words(text) == sorted_words(built.as_str())).then(|| built.as_str().to_owned())
}

#[test]
fn what_is_built_decodes_to_its_parts() {
    let (mut typed, mut equal) = (0, 0);
    let all = mnemonics();
    for &text in &all {
        let Some(built) = rebuilt(text) else {
            continue;
        };
        let (old, new) = (Mnemonic::parse(text), Mnemonic::parse(&built));
        assert!(!new.is_opaque(), "{built}");
        assert_eq!(old.opcode(), new.opcode(), "{text} {built}");
        assert_eq!(old.modifiers(), new.modifiers(), "{text} {built}");
        assert_eq!(old.types(), new.types(), "{text} {built}");
        assert_eq!(rebuilt(&built), Some(built.clone()), "the order is one");
        typed += 1;
        equal += usize::from(built == text);
    }
    assert!(typed > 1250, "{typed} of {}", all.len());
    assert!(typed - equal < 50, "{} are in another order", typed - equal);
}

/// A kernel with these instructions.
fn kernel(target: &str, instructions: &[String]) -> String {
    format!(
        ".version 8.8\n.target {target}\n.address_size 64\n.visible .entry kernel()\n{{\n\
         .reg .pred %p<8>;\n.reg .b16 %h<8>;\n.reg .b32 %r<16>;\n.reg .b64 %l<8>;\n.reg .f32 %f<8>;\n\
         .reg .f64 %d<8>;\n{};\nret;\n}}\n",
        instructions.join(";\n")
    )
}

#[test]
fn ptxas_takes_the_parts_in_the_order_they_are_built() {
    let Some(ptxas) = oriole_toolchain::ptxas() else {
        assert!(!oriole_toolchain::is_required(), "ptxas is required");
        eprintln!("NOT RUN: no ptxas to ask about orders");
        return;
    };
    let targets: BTreeSet<&str> = manual().map(|(target, _)| target).collect();
    let mut asked = 0;
    for target in targets {
        let instructions: Vec<String> = manual()
            .filter(|(own, _)| *own == target)
            .filter_map(|(_, instruction)| {
                let mnemonic = mnemonic_of(instruction);
                let built = rebuilt(mnemonic).filter(|built| built != mnemonic)?;
                Some(built + &instruction[mnemonic.len()..])
            })
            .collect();
        if instructions.is_empty() {
            continue;
        }
        let folder = tempfile::tempdir().expect("a folder");
        let [text, binary] = ["kernel.ptx", "kernel.cubin"].map(|name| folder.path().join(name));
        std::fs::write(&text, kernel(target, &instructions)).expect("a file");
        let output = Command::new(&ptxas)
            .arg(format!("-arch={target}"))
            .arg("-o")
            .args([&binary, &text])
            .output()
            .expect("ptxas runs");
        let said = String::from_utf8_lossy(&output.stderr).into_owned()
            + &String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{said}\n{instructions:#?}");
        asked += instructions.len();
    }
    assert!(asked > 20, "{asked} instructions were asked about");
}

#[test]
fn constructors_make_what_they_say() {
    use ScalarType::*;
    let made = [
        (build::mov(Pred), "mov.pred"),
        (build::mov(B64), "mov.b64"),
        (build::copy(F32), "mov.b32"),
        (build::copy(Pred), "mov.pred"),
        (build::choice(F64), "selp.b64"),
        (build::selp(F32), "selp.f32"),
        (build::typed(Opcode::Add, S32), "add.s32"),
        (build::typed(Opcode::Shl, B16), "shl.b16"),
        (build::mul(MulMode::High, U64), "mul.hi.u64"),
        (build::mad(MulMode::Wide, S16), "mad.wide.s16"),
        (
            build::product(Opcode::Mul24, MulMode::Low, U32),
            "mul24.lo.u32",
        ),
        (build::setp(Comparison::Less, U32), "setp.lt.u32"),
        (build::cvt(U64, S32), "cvt.u64.s32"),
        (build::bare(Opcode::Bra), "bra"),
    ];
    for (built, text) in made {
        assert_eq!(built.as_str(), text);
        let decoded = built.decode();
        assert!(!decoded.is_opaque());
        assert_eq!(decoded, Mnemonic::parse(text));
    }
}

#[test]
fn parts_that_an_opcode_does_not_accept_are_refused() {
    let add = Mnemonic::build(Opcode::Add).scalar_type(ScalarType::F32);
    let rounded = add.rounding(Rounding::Zero).text().expect("in the table");
    assert_eq!(rounded.as_str(), "add.rz.f32");
    assert!(add.comparison(Comparison::Equal).text().is_none());
    assert!(add.space(Space::Global).text().is_none());
    assert!(add.flag(Flag::Aligned).text().is_none());
    let branch = Mnemonic::build(Opcode::Bra).scalar_type(ScalarType::B32);
    assert!(branch.text().is_none());
    // A space without a word.
    let load = Mnemonic::build(Opcode::Ld).scalar_type(ScalarType::U32);
    assert!(load.space(Space::Generic).text().is_none());
    assert!(Mnemonic::build(Opcode::Unknown).text().is_none());
}

/// Words of one mnemonic that another lacks.
fn lost<'text>(from: &'text str, to: &str) -> Vec<&'text str> {
    let mut kept: Vec<&str> = to.split('.').collect();
    let words = from.split('.');
    words
        .filter(|word| match kept.iter().position(|other| other == word) {
            Some(place) => {
                kept.remove(place);
                false
            }
            None => true,
        })
        .collect()
}

#[test]
fn rewriting_changes_one_part() {
    let mut spaces = 0;
    for text in mnemonics() {
        let old = Mnemonic::parse(text);
        for index in 0..old.types().len() {
            let new = old.with_type(index, ScalarType::B128).expect("has a type");
            let decoded = new.decode();
            let mut types = old.types().to_vec();
            types[index] = ScalarType::B128;
            assert_eq!(decoded.types(), types, "{text}");
            assert_eq!(decoded.modifiers(), old.modifiers(), "{text}");
            assert!(lost(text, new.as_str()).len() <= 1, "{text}");
        }
        assert!(old.with_type(old.types().len(), ScalarType::B32).is_none());
        if let Some(new) = old.with_comparison(Comparison::NotEqual) {
            let mut modifiers = *old.modifiers();
            modifiers.comparison = Some(Comparison::NotEqual);
            assert_eq!(*new.decode().modifiers(), modifiers, "{text}");
            assert_eq!(new.decode().types(), old.types(), "{text}");
        }
        if let Some(new) = old.with_boolean(BooleanOperation::Xor) {
            let mut modifiers = *old.modifiers();
            modifiers.boolean = Some(BooleanOperation::Xor);
            assert_eq!(*new.decode().modifiers(), modifiers, "{text}");
        }
        if let Some(new) = old.with_space(Space::Global) {
            let mut modifiers = *old.modifiers();
            modifiers.first_space = Some(Space::Global);
            assert_eq!(*new.decode().modifiers(), modifiers, "{text}");
            assert_eq!(new.decode().types(), old.types(), "{text}");
            let expected = usize::from(old.modifiers().first_space.is_some());
            assert!(lost(text, new.as_str()).len() <= expected, "{text}");
            spaces += 1;
        }
        for flag in [Flag::FlushToZero, Flag::Saturate, Flag::Relu, Flag::Uniform] {
            let new = old.without(flag).expect("can be left out");
            assert!(!new.decode().has(flag));
            let gone: &[&str] = if old.has(flag) { &[flag.text()] } else { &[] };
            assert_eq!(lost(text, new.as_str()), gone, "{text}");
        }
    }
    assert!(spaces > 100, "{spaces} mnemonics can name a space");
}

#[test]
fn the_order_of_the_producer_and_listed_words_are_kept() {
    let with_space = |text: &str, space| {
        let new = Mnemonic::parse(text).with_space(space);
        new.map(|new| new.as_str().to_owned())
    };
    let space = |text: &str| with_space(text, Space::Global).expect("accepts a space");
    assert_eq!(space("ld.u32"), "ld.global.u32");
    assert_eq!(space("ld.v2.f32"), "ld.global.v2.f32");
    assert_eq!(
        space("atom.gpu.acq_rel.add.f32"),
        "atom.gpu.acq_rel.global.add.f32"
    );
    assert_eq!(space("ld.unified.f32"), "ld.global.unified.f32");
    assert_eq!(space("prefetch.L1"), "prefetch.global.L1");
    assert_eq!(space("ld.shared::cta.f32"), "ld.global.f32");
    assert_eq!(with_space("ld.u32", Space::Texture), None);
    assert_eq!(with_space("add.u32", Space::Global), None);
    assert_eq!(with_space("ld.sideways.u32", Space::Global), None);
    assert_eq!(with_space("ld.", Space::Global), None);
    assert_eq!(
        with_space("ld", Space::Global).as_deref(),
        Some("ld.global")
    );

    let compare = Mnemonic::parse("setp.hi.ftz.f32");
    let text = |new: Option<build::MnemonicText>| new.map(|new| new.as_str().to_owned());
    assert_eq!(
        text(compare.with_comparison(Comparison::Lower)).as_deref(),
        Some("setp.lo.ftz.f32")
    );
    assert_eq!(
        text(compare.with_boolean(BooleanOperation::And)).as_deref(),
        Some("setp.hi.and.ftz.f32")
    );
    assert_eq!(
        text(compare.without(Flag::FlushToZero)).as_deref(),
        Some("setp.hi.f32")
    );
    let twice = Mnemonic::parse("setp.hi.ftz.ftz.f32");
    assert_eq!(text(twice.without(Flag::FlushToZero)), None);
    // A product's half is no comparison.
    let product = Mnemonic::parse("mul.hi.s32");
    assert_eq!(text(product.with_comparison(Comparison::Lower)), None);
    let matrix = Mnemonic::parse("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32");
    assert_eq!(
        text(matrix.with_type(2, ScalarType::Bf16)).as_deref(),
        Some("mma.sync.aligned.m16n8k16.row.col.f32.f16.bf16.f32")
    );
}
