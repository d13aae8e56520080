//! Warnings about what `ptxas` refuses although Oriole can make sense of it.
//!
//! Oriole reads more than `ptxas` does: it keeps instructions that it does not know, and it need not know why the registers of
//! an instruction have the types they have. Whoever checks a file wants to hear of both. Every rule here was measured against
//! `ptxas` 13.0.88, and `tests/acceptance.rs` measures it again: what is warned of is refused.
//!
//! ## Rules
//! - `non-ascii`: `ptxas` refuses any character outside ASCII, a byte order mark and those in comments and strings too.
//! - `unknown-target`: the names it knows are in [`TARGETS`].
//! - `unknown-opcode`, `unknown-modifier`: it knows the words of `oriole_isa::unknown_words`, whatever instruction has them.
//! - `type-mismatch`: where operands have exactly the type of the instruction ([`is_exact`]), a register must have as many
//!   bits. `.b` types go with all of these, signed and unsigned types with each other.
//!
//! ## Not done
//! Instructions that take wider registers (`ld`, `st`, `cvt` and the like), packed and narrow types, vectors, modifiers of other
//! instructions, guards, operand counts, and what needs a newer target or version than the file names.

use oriole_diagnostics::{Diagnostic, Span};
use oriole_ir::{FormatData, Function, Operand, ShapeKind};
use oriole_isa::{Opcode, ScalarType, UnknownWord, unknown_words};
use oriole_syntax::tree::{Body, Module, Statement, Text};
use std::collections::BTreeSet;

/// Targets that `ptxas` knows, and the suffixes each may have.
const TARGETS: &[(u32, &[&str])] = &[
    (10, &[""]),
    (11, &[""]),
    (12, &[""]),
    (13, &[""]),
    (20, &[""]),
    (21, &[""]),
    (30, &[""]),
    (32, &[""]),
    (35, &[""]),
    (37, &[""]),
    (50, &[""]),
    (52, &[""]),
    (53, &[""]),
    (60, &[""]),
    (61, &[""]),
    (62, &[""]),
    (70, &[""]),
    (72, &[""]),
    (75, &[""]),
    (80, &[""]),
    (82, &[""]),
    (86, &[""]),
    (87, &[""]),
    (88, &[""]),
    (89, &[""]),
    (90, &["", "a"]),
    (100, &["", "a", "f"]),
    (101, &["", "a", "f"]),
    (103, &["", "a", "f"]),
    (110, &["", "a", "f"]),
    (120, &["", "a", "f"]),
    (121, &["", "a", "f"]),
];

/// Words of `.target` that name no architecture.
const TARGET_OPTIONS: &[&str] = &[
    "debug",
    "map_f64_to_f32",
    "texmode_independent",
    "texmode_raw",
    "texmode_unified",
];

/// Whether `ptxas` knows a target.
fn is_target(name: &str) -> bool {
    let Some(rest) = name
        .strip_prefix("sm_")
        .or_else(|| name.strip_prefix("compute_"))
    else {
        return false;
    };
    let suffix = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    // Others are not measured: `sm_10b` is accepted.
    if !matches!(suffix, "" | "a" | "f") {
        return true;
    }
    rest[..rest.len() - suffix.len()]
        .parse::<u32>()
        .is_ok_and(|number| {
            TARGETS
                .iter()
                .any(|&(own, suffixes)| own == number && suffixes.contains(&suffix))
        })
}

/// What `ptxas` refuses in the text and the directives of a module.
pub(crate) fn of_module(module: &Module) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let source = module.source();
    if let Some(at) = source.bytes().position(|byte| !byte.is_ascii()) {
        let length = source[at..].chars().next().map_or(1, char::len_utf8);
        let span = Span::new(at as u32, (at + length) as u32);
        let what = if at == 0 && source.starts_with('\u{feff}') {
            "the file starts with a byte order mark: ptxas refuses it"
        } else {
            "ptxas refuses characters outside ASCII, even in comments"
        };
        found.push(Diagnostic::warning("non-ascii", span, what));
    }
    for statement in &module.top.statements {
        let Statement::Directive(directive) = statement else {
            continue;
        };
        let words = module.top.words(directive.words);
        let Some((&first, rest)) = words.split_first() else {
            continue;
        };
        if module.text(first) != ".target" {
            continue;
        }
        for &word in rest {
            let name = module.text(word);
            if name != "," && !TARGET_OPTIONS.contains(&name) && !is_target(name) {
                found.push(Diagnostic::warning(
                    "unknown-target",
                    span_of(module, word),
                    format!("ptxas 13.0 knows no target `{name}`"),
                ));
            }
        }
    }
    found
}

pub(crate) fn span_of(module: &Module, text: Text) -> Span {
    if module.is_source(text) {
        text.span()
    } else {
        Span::at(0)
    }
}

/// What is known of a format, to be found out once.
#[derive(Clone, Default)]
enum Verdict {
    #[default]
    New,
    /// Nothing can be said of its instructions.
    Silent,
    /// Words that `ptxas` does not know.
    Unknown(Vec<UnknownWord>),
    /// The type of each leaf, where it is exact.
    Exact(Vec<Option<ScalarType>>),
}

/// Finds what `ptxas` refuses in functions that share their formats.
#[derive(Default)]
pub(crate) struct Acceptance {
    verdicts: Vec<Verdict>,
    /// Words that were warned of: once each is enough.
    unknown: BTreeSet<String>,
}

impl Acceptance {
    /// What `ptxas` refuses in a function.
    pub(crate) fn of_function(
        &mut self,
        module: &Module,
        body: &Body,
        function: &Function,
    ) -> Vec<Diagnostic> {
        let mut found = Vec::new();
        for &block in function.block_order() {
            for instruction in function.instructions_of(block) {
                let number = function.instruction(instruction).format.index();
                if number >= self.verdicts.len() {
                    self.verdicts.resize(number + 1, Verdict::New);
                }
                let format = function.format(instruction);
                if matches!(self.verdicts[number], Verdict::New) {
                    self.verdicts[number] = verdict(format);
                }
                let span = || {
                    let statement = function.location(instruction)?;
                    match &body.statements[statement as usize] {
                        Statement::Instruction(own) => Some(span_of(module, own.mnemonic)),
                        _ => None,
                    }
                };
                let span = || span().unwrap_or(Span::at(0));
                let mnemonic = format.mnemonic.text();
                match &self.verdicts[number] {
                    Verdict::New | Verdict::Silent => {}
                    Verdict::Unknown(words) => {
                        let new = words
                            .iter()
                            .filter(|own| self.unknown.insert(own.word.clone()));
                        found.extend(new.map(|own| unknown(own, mnemonic, span())));
                    }
                    Verdict::Exact(types) => {
                        let mut results = function.results(instruction);
                        for (leaf, expected) in function.leaves(instruction).iter().zip(types) {
                            let value = match *leaf {
                                Operand::Value(value) => value,
                                Operand::Result(_) => match results.next() {
                                    Some(result) => result,
                                    None => continue,
                                },
                                _ => continue,
                            };
                            let data = &function.values()[value];
                            let Some(expected) = *expected else {
                                continue;
                            };
                            if fits(expected, data.scalar_type) {
                                continue;
                            }
                            let name = data
                                .name
                                .expand()
                                .map_or("", |name| module.text(function.registers()[name].name));
                            found.push(
                                Diagnostic::warning(
                                    "type-mismatch",
                                    span(),
                                    format!(
                                        "ptxas refuses `{name}`, a register of type .{}, as an operand of type .{expected}",
                                        data.scalar_type
                                    ),
                                )
                                .label(format!("`{mnemonic}`")),
                            );
                        }
                    }
                }
            }
        }
        found
    }
}

/// The warning about a word of a mnemonic at a place.
fn unknown(own: &UnknownWord, mnemonic: &str, place: Span) -> Diagnostic {
    let word = &own.word;
    let (id, message) = if own.is_opcode() {
        (
            "unknown-opcode",
            format!("ptxas 13.0 knows no instruction `{word}`"),
        )
    } else {
        (
            "unknown-modifier",
            format!("ptxas 13.0 knows no modifier `.{word}`"),
        )
    };
    // A mnemonic that was put together of several words has no place for each.
    let span = if place.end - place.start == mnemonic.len() as u32 {
        let start = place.start + own.start as u32;
        Span::new(start, start + word.len() as u32)
    } else {
        place
    };
    let warning = Diagnostic::warning(id, span, message);
    match own.nearest {
        Some(nearest) => warning.label(format!("did you mean `{nearest}`?")),
        None => warning,
    }
}

fn verdict(format: &FormatData) -> Verdict {
    let mnemonic = &format.mnemonic;
    if mnemonic.is_opaque() {
        let words = unknown_words(mnemonic.text());
        return if words.is_empty() {
            Verdict::Silent
        } else {
            Verdict::Unknown(words)
        };
    }
    if format.opaque || mnemonic.types().len() != 1 || !is_exact(mnemonic.opcode()) {
        return Verdict::Silent;
    }
    // Top-level operands that are a register or constant by themselves.
    let mut is_plain = Vec::new();
    let mut at = 0;
    while let Some(node) = format.shape.get(at) {
        is_plain.push(node.kind == ShapeKind::Leaf && node.size == 1);
        at += usize::from(node.size.max(1));
    }
    let types = format
        .leaves
        .iter()
        .map(|leaf| {
            let operand = usize::from(leaf.operand);
            let plain = is_plain.get(operand).copied().unwrap_or(false);
            mnemonic
                .operand_type(operand, format.operand_count)
                .filter(|own| plain && !leaf.in_address && is_measured(*own))
        })
        .collect();
    Verdict::Exact(types)
}

/// Whether registers of an instruction must have exactly the type that it says.
fn is_exact(opcode: Opcode) -> bool {
    matches!(
        opcode,
        Opcode::Add
            | Opcode::Sub
            | Opcode::Mul
            | Opcode::Mad
            | Opcode::Div
            | Opcode::Rem
            | Opcode::Abs
            | Opcode::Neg
            | Opcode::Min
            | Opcode::Max
            | Opcode::Fma
            | Opcode::Sqrt
            | Opcode::Rcp
            | Opcode::Rsqrt
            | Opcode::Sin
            | Opcode::Cos
            | Opcode::Lg2
            | Opcode::Ex2
            | Opcode::And
            | Opcode::Or
            | Opcode::Xor
            | Opcode::Not
            | Opcode::Shl
            | Opcode::Shr
            | Opcode::Mov
            | Opcode::Selp
            | Opcode::Setp
    )
}

/// Types that registers are declared with and instructions are measured with.
fn is_measured(own: ScalarType) -> bool {
    use ScalarType as T;
    matches!(
        own,
        T::B16
            | T::U16
            | T::S16
            | T::F16
            | T::B32
            | T::U32
            | T::S32
            | T::F32
            | T::B64
            | T::U64
            | T::S64
            | T::F64
            | T::Pred
    )
}

/// Whether a register of a type may be an operand of a type.
fn fits(expected: ScalarType, declared: ScalarType) -> bool {
    if !is_measured(declared) {
        return true;
    }
    let is_bits =
        |own: ScalarType| matches!(own, ScalarType::B16 | ScalarType::B32 | ScalarType::B64);
    if expected == ScalarType::Pred || declared == ScalarType::Pred {
        return expected == declared;
    }
    expected.bits() == declared.bits()
        && (is_bits(expected) || is_bits(declared) || expected.is_float() == declared.is_float())
}
