//! What `check_and_warn` warns of, `ptxas` refuses; what `ptxas` accepts gets no warning.
//!
//! `ptxas` is taken from `ORIOLE_PTXAS` or the `PATH`. Without one the comparison says loudly that it did not run; with
//! `ORIOLE_REQUIRE_PTXAS=1`, as CI sets it, it fails instead.

#![allow(clippy::print_stderr)]

use oriole::{AccessOptions, Severity, accesses, check_and_warn, parse};
use oriole_syntax::tree::Statement;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The ids of the warnings about a text, with the line of each. Left out are undefined reads, which `ptxas` accepts, and unknown limits.
fn warnings(text: &str) -> Vec<(&'static str, usize)> {
    let module = parse("test.ptx", text).expect("PTX");
    check_and_warn(&module)
        .into_iter()
        .filter(|diagnostic| !["undefined-read", "unlisted-target"].contains(&diagnostic.id))
        .map(|diagnostic| {
            assert_eq!(diagnostic.severity, Severity::Warning, "{diagnostic:?}");
            let before = &text[..diagnostic.span().start as usize];
            (diagnostic.id, before.matches('\n').count() + 1)
        })
        .collect()
}

fn kernel(target: &str, declarations: &str, body: &str) -> String {
    format!(
        ".version 8.8\n.target {target}\n.address_size 64\n.visible .entry k()\n{{\n{declarations}{body}ret;\n}}\n"
    )
}

#[test]
fn what_ptxas_refuses_is_warned_of() {
    let good = kernel("sm_90", ".reg .b32 %r<3>;\n", "add.s32 %r1, %r2, 1;\n");
    assert_eq!(warnings(&good), []);
    assert_eq!(warnings(&format!("\u{feff}{good}")), [("non-ascii", 1)]);
    assert_eq!(warnings(&format!("{good}// \u{e9}\n")), [("non-ascii", 10)]);
    assert_eq!(warnings(&kernel("sm_99", "", "")), [("unknown-target", 2)]);
    assert_eq!(
        warnings(&kernel("sm_90, fast", "", "")),
        [("unknown-target", 2)]
    );
    assert_eq!(
        warnings(&kernel("sm_90", "", "ad.s32 1, 2;\nad.u32 3;\n_own;\n")),
        [("unknown-opcode", 6)]
    );
    let misspelled = "ld.golbal.u32 %r1, [0];\nld.golbal.u32 %r2, [0];\nadd.s33 %r1, %r2, 1;\nret;\nbar.snyc 0;\n";
    assert_eq!(
        warnings(&kernel("sm_90", ".reg .b32 %r<3>;\n", misspelled)),
        [
            ("unknown-modifier", 7),
            ("unknown-modifier", 9),
            ("unknown-modifier", 11)
        ]
    );
    let declarations = ".reg .b64 %rd<3>;\n.reg .f32 %f<3>;\n.reg .pred %p<3>;\n.reg .b32 %r<3>;\n";
    let body = "add.s32 %rd1, %rd2, 1;\nadd.s32 %r1, %f1, 1;\nand.b32 %r1, %f1, 1;\nsetp.lt.s32 %p1, %r1, %rd1;\n";
    assert_eq!(
        warnings(&kernel("sm_90", declarations, body)),
        [
            ("type-mismatch", 10),
            ("type-mismatch", 10),
            ("type-mismatch", 11),
            ("type-mismatch", 13)
        ]
    );
}

#[test]
fn analyses_of_accesses_warn_of_words_that_hide_some() {
    let body = "ld.golbal.u32 %r1, [0];\nadd.s32 %r1, %f1, 1;\nfrob %r1;\n";
    let text = kernel("sm_90", ".reg .b32 %r<3>;\n.reg .f32 %f<2>;\n", body);
    let module = parse("test.ptx", text).expect("PTX");
    let (_, notes) = accesses(&module, &AccessOptions::default()).expect("accesses");
    let ids: Vec<_> = notes.iter().map(|own| own.id).collect();
    assert_eq!(ids, ["unknown-modifier", "unknown-opcode"]);
}

#[test]
fn the_corpus_has_nothing_to_warn_of() {
    let files = oriole_corpus::files();
    assert!(files.len() > 100);
    for file in files {
        let is_by_hand = file.parent().is_some_and(|folder| folder.ends_with("hand"));
        let text = std::fs::read_to_string(&file).expect("the file can be read");
        let module = parse("corpus.ptx", text).expect("PTX");
        let found: Vec<_> = check_and_warn(&module)
            .into_iter()
            .filter(|diagnostic| diagnostic.severity == Severity::Warning)
            // Files by hand list instructions without a care for registers; compilers write no such reads.
            .filter(|own| own.id != "undefined-read" || !is_by_hand)
            .collect();
        assert_eq!(found, [], "{}", file.display());
    }
}

fn ptxas() -> Option<PathBuf> {
    let found = oriole_toolchain::ptxas();
    assert!(
        found.is_some() || !oriole_toolchain::is_required(),
        "there is no ptxas, and ORIOLE_REQUIRE_PTXAS asks for one"
    );
    if found.is_none() {
        eprintln!("!!! NOT RUN: there is no ptxas; set ORIOLE_PTXAS.");
    }
    found
}

/// What `ptxas` says of a text.
fn said(ptxas: &Path, folder: &Path, target: &str, text: &str) -> String {
    let file = folder.join("test.ptx");
    std::fs::write(&file, text).expect("the file can be written");
    let output = Command::new(ptxas)
        .arg(format!("-arch={target}"))
        .arg(&file)
        .args(["-o", "/dev/null"])
        .output()
        .expect("ptxas runs");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn targets_are_those_of_ptxas() {
    let Some(ptxas) = ptxas() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    for number in (0..=130).chain([200, 900, 999]) {
        for suffix in ["", "a", "f"] {
            let target = format!("sm_{number}{suffix}");
            let text = kernel(&target, "", "").replace("8.8", "9.0");
            let said = said(&ptxas, folder.path(), "sm_90", &text);
            // Or it is known, and too new for the architecture that is asked for.
            let is_refused = said.contains("Unsupported .target");
            assert_eq!(!warnings(&text).is_empty(), is_refused, "{target}: {said}");
        }
    }
}

#[test]
fn characters_and_opcodes_that_are_warned_of_are_refused() {
    let Some(ptxas) = ptxas() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let good = kernel("sm_90", "", "");
    for text in [
        format!("\u{feff}{good}"),
        format!("{good}// \u{e9}\n"),
        format!("{good}.file 1 \"\u{e9}\"\n"),
        kernel("sm_90", "", "ad.s32 1, 2;\n"),
        kernel("sm_90", "", "mova;\n"),
        kernel("sm_90", "", "frobnicate.s32 1;\n"),
    ] {
        assert!(!warnings(&text).is_empty(), "{text}");
        let said = said(&ptxas, folder.path(), "sm_90", &text);
        assert!(said.contains("fatal"), "{text}: {said}");
    }
}

/// Mnemonics of the corpus with one letter left out or two exchanged, for each word that occurs. Some are words all the same.
fn misspelled() -> BTreeSet<String> {
    let mut known = BTreeSet::new();
    for file in oriole_corpus::files() {
        let text = std::fs::read_to_string(&file).expect("the file can be read");
        let module = parse("corpus.ptx", text).expect("PTX");
        for body in module.functions.iter().filter_map(|own| own.body.as_ref()) {
            known.extend(body.statements.iter().filter_map(|own| match own {
                Statement::Instruction(own) => Some(module.text(own.mnemonic).to_owned()),
                _ => None,
            }));
        }
    }
    let mut misspelled = BTreeSet::new();
    let mut seen = BTreeSet::new();
    for mnemonic in &known {
        let mut start = 0;
        for word in mnemonic.split('.') {
            let (before, after) = (&mnemonic[..start], &mnemonic[start + word.len()..]);
            start += word.len() + 1;
            if !seen.insert((before.is_empty(), word)) || word.contains(':') {
                continue;
            }
            for at in 1..word.len() {
                let (head, tail) = word.split_at(at);
                let (last, first) = (&head[at - 1..], &tail[..1]);
                let rest = &tail[1..];
                misspelled.insert(format!("{before}{head}{rest}{after}"));
                let exchanged = format!("{before}{}{first}{last}{rest}{after}", &head[..at - 1]);
                if exchanged.starts_with(|own: char| own.is_ascii_lowercase()) {
                    misspelled.insert(exchanged);
                }
            }
        }
    }
    misspelled
}

#[test]
fn misspelled_words_that_are_warned_of_are_refused() {
    let Some(ptxas) = ptxas() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let mut left: Vec<String> = misspelled().into_iter().collect();
    let mut counts = [0, 0];
    while !left.is_empty() {
        let body: String = left.iter().map(|own| format!("{own} 1;\n")).collect();
        let text = kernel("sm_100a", "", &body).replace("8.8", "9.0");
        let said = said(&ptxas, folder.path(), "sm_100a", &text);
        // It reads no further than to the first instruction that it cannot parse.
        let read = said
            .lines()
            .find(|line| line.contains("; fatal"))
            .and_then(|line| line.split("line ").nth(1)?.split(';').next()?.parse().ok())
            .map_or(left.len(), |line: usize| line - 6);
        for own in &left[..read] {
            for unknown in oriole_isa::unknown_words(own) {
                let word = &unknown.word;
                let is_refused = said.contains(&format!("Unknown modifier '.{word}'"))
                    || said.contains("Not a name") && said.contains(own.as_str())
                    || said.contains(&format!("instruction: '{word}"));
                assert!(is_refused, "`{word}` of `{own}` is warned of");
                counts[usize::from(unknown.is_opcode())] += 1;
            }
        }
        left.drain(..left.len().min(read + 1));
    }
    assert!(counts.iter().all(|&count| count > 100), "{counts:?}");
}

/// Instructions, with a hole for each register and its right type.
const TEMPLATES: &[(&str, &[&str])] = &[
    ("add.s16 {}, {}, {}", &["s16", "s16", "s16"]),
    ("add.s32 {}, {}, {}", &["s32", "s32", "s32"]),
    ("add.sat.s32 {}, {}, {}", &["s32", "s32", "s32"]),
    ("add.cc.u32 {}, {}, {}", &["u32", "u32", "u32"]),
    ("sub.u64 {}, {}, {}", &["u64", "u64", "u64"]),
    ("add.f16 {}, {}, {}", &["f16", "f16", "f16"]),
    ("add.rn.ftz.f32 {}, {}, {}", &["f32", "f32", "f32"]),
    ("sub.f64 {}, {}, {}", &["f64", "f64", "f64"]),
    ("mul.lo.s32 {}, {}, {}", &["s32", "s32", "s32"]),
    ("mul.hi.u64 {}, {}, {}", &["u64", "u64", "u64"]),
    ("mul.wide.s32 {}, {}, {}", &["s64", "s32", "s32"]),
    ("mul.wide.u16 {}, {}, {}", &["u32", "u16", "u16"]),
    ("mul.f32 {}, {}, {}", &["f32", "f32", "f32"]),
    ("mad.lo.u32 {}, {}, {}, {}", &["u32", "u32", "u32", "u32"]),
    ("mad.wide.u16 {}, {}, {}, {}", &["u32", "u16", "u16", "u32"]),
    ("mad.wide.s32 {}, {}, {}, {}", &["s64", "s32", "s32", "s64"]),
    ("mad.rn.f32 {}, {}, {}, {}", &["f32", "f32", "f32", "f32"]),
    ("fma.rn.f64 {}, {}, {}, {}", &["f64", "f64", "f64", "f64"]),
    ("fma.rn.f16 {}, {}, {}, {}", &["f16", "f16", "f16", "f16"]),
    ("div.s32 {}, {}, {}", &["s32", "s32", "s32"]),
    ("div.rn.f32 {}, {}, {}", &["f32", "f32", "f32"]),
    ("rem.u64 {}, {}, {}", &["u64", "u64", "u64"]),
    ("abs.s16 {}, {}", &["s16", "s16"]),
    ("abs.f32 {}, {}", &["f32", "f32"]),
    ("neg.s64 {}, {}", &["s64", "s64"]),
    ("neg.f64 {}, {}", &["f64", "f64"]),
    ("min.u32 {}, {}, {}", &["u32", "u32", "u32"]),
    ("max.f32 {}, {}, {}", &["f32", "f32", "f32"]),
    ("sqrt.rn.f32 {}, {}", &["f32", "f32"]),
    ("rcp.approx.f32 {}, {}", &["f32", "f32"]),
    ("rsqrt.approx.f32 {}, {}", &["f32", "f32"]),
    ("sin.approx.f32 {}, {}", &["f32", "f32"]),
    ("cos.approx.f32 {}, {}", &["f32", "f32"]),
    ("lg2.approx.f32 {}, {}", &["f32", "f32"]),
    ("ex2.approx.f32 {}, {}", &["f32", "f32"]),
    ("ex2.approx.f16 {}, {}", &["f16", "f16"]),
    ("and.pred {}, {}, {}", &["pred", "pred", "pred"]),
    ("and.b16 {}, {}, {}", &["b16", "b16", "b16"]),
    ("or.b32 {}, {}, {}", &["b32", "b32", "b32"]),
    ("xor.b64 {}, {}, {}", &["b64", "b64", "b64"]),
    ("not.b64 {}, {}", &["b64", "b64"]),
    ("not.pred {}, {}", &["pred", "pred"]),
    ("shl.b16 {}, {}, {}", &["b16", "b16", "u32"]),
    ("shl.b64 {}, {}, {}", &["b64", "b64", "u32"]),
    ("shr.s32 {}, {}, {}", &["s32", "s32", "u32"]),
    ("shr.b32 {}, {}, {}", &["b32", "b32", "u32"]),
    ("mov.b16 {}, {}", &["b16", "b16"]),
    ("mov.u16 {}, {}", &["u16", "u16"]),
    ("mov.b32 {}, {}", &["b32", "b32"]),
    ("mov.s32 {}, {}", &["s32", "s32"]),
    ("mov.f32 {}, {}", &["f32", "f32"]),
    ("mov.b64 {}, {}", &["b64", "b64"]),
    ("mov.f64 {}, {}", &["f64", "f64"]),
    ("mov.pred {}, {}", &["pred", "pred"]),
    ("selp.b16 {}, {}, {}, {}", &["b16", "b16", "b16", "pred"]),
    ("selp.s32 {}, {}, {}, {}", &["s32", "s32", "s32", "pred"]),
    ("selp.f64 {}, {}, {}, {}", &["f64", "f64", "f64", "pred"]),
    ("setp.lt.s32 {}, {}, {}", &["pred", "s32", "s32"]),
    ("setp.eq.b64 {}, {}, {}", &["pred", "b64", "b64"]),
    ("setp.gtu.f32 {}, {}, {}", &["pred", "f32", "f32"]),
    ("setp.lt.f16 {}, {}, {}", &["pred", "f16", "f16"]),
    (
        "setp.lt.and.u16 {}, {}, {}, {}",
        &["pred", "u16", "u16", "pred"],
    ),
];

const TYPES: &[&str] = &[
    "b8", "u8", "s8", "b16", "u16", "s16", "f16", "b32", "u32", "s32", "f32", "b64", "u64", "s64",
    "f64", "b128", "pred",
];

#[test]
fn mismatches_that_are_warned_of_are_refused() {
    let Some(ptxas) = ptxas() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let mut warned_of = 0;
    let mut missed = 0;
    for (template, right) in TEMPLATES {
        let mut declarations = String::new();
        for own in TYPES {
            declarations.push_str(&format!(".reg .{own} r_{own}_<8>;\n"));
        }
        let mut body = String::new();
        let mut count = 0;
        for position in 0..right.len() {
            for own in TYPES {
                let mut line = (*template).to_owned();
                for (place, right) in right.iter().enumerate() {
                    let chosen = if place == position { own } else { right };
                    line = line.replacen("{}", &format!("r_{chosen}_{place}"), 1);
                }
                body.push_str(&format!("{line};\n"));
                count += 1;
            }
        }
        let text = kernel("sm_90", &declarations, &body);
        let first = text[..text.find(&body).unwrap_or(0)].matches('\n').count() + 1;
        let found = warnings(&text);
        let said = said(&ptxas, folder.path(), "sm_90", &text);
        for line in first..first + count {
            let own = text.lines().nth(line - 1).unwrap_or_default();
            let is_refused = said.contains(&format!("line {line};"));
            let is_warned_of = found.contains(&("type-mismatch", line));
            assert!(
                is_refused || !is_warned_of,
                "`{own}` is warned of, and ptxas accepts it"
            );
            warned_of += usize::from(is_warned_of);
            missed += usize::from(is_refused && !is_warned_of);
        }
    }
    // What is not measured (8 and 128 bits) gets no warning.
    assert!(
        warned_of > 1000 && missed < warned_of,
        "{warned_of}, {missed} missed"
    );
}
