//! Value instructions to draw from: every form recorded on hardware, and those that were added since.

use oriole_isa::{Flag, Mnemonic, Opcode, ReductionOperation, Role, ScalarType};
use std::collections::BTreeMap;
use std::sync::OnceLock;

/// The width of a register that holds a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Width {
    /// One bit.
    Predicate,
    /// 16 bits.
    Half,
    /// 32 bits.
    Word,
    /// 64 bits.
    Double,
}

impl Width {
    /// All widths.
    pub const ALL: [Width; 4] = [Width::Predicate, Width::Half, Width::Word, Width::Double];

    /// The width of a register that holds a value of a type.
    pub fn of(scalar_type: ScalarType) -> Option<Width> {
        match scalar_type {
            ScalarType::Pred => Some(Width::Predicate),
            _ => match scalar_type.bits() {
                1..=16 => Some(Width::Half),
                17..=32 => Some(Width::Word),
                33..=64 => Some(Width::Double),
                _ => None,
            },
        }
    }

    /// The type of such a register, with its dot.
    pub fn type_name(self) -> &'static str {
        match self {
            Width::Predicate => ".pred",
            Width::Half => ".b16",
            Width::Word => ".b32",
            Width::Double => ".b64",
        }
    }

    /// The letters at the start of such a register's name.
    pub fn stem(self) -> &'static str {
        match self {
            Width::Predicate => "%p",
            Width::Half => "%h",
            Width::Word => "%r",
            Width::Double => "%d",
        }
    }
}

/// What stands at an operand of a form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slot {
    Result(Width),
    Source(Width, &'static str),
    Immediate,
}

/// A value instruction.
#[derive(Clone, Debug)]
pub struct Form {
    pub mnemonic: &'static str,
    pub opcode: Opcode,
    pub types: Vec<ScalarType>,
    pub slots: Vec<Slot>,
    /// Whether a second predicate result may be asked for.
    pub allows_pair: bool,
    /// Selector of the result of a video instruction.
    pub result_selector: &'static str,
    pub approximate: bool,
    /// The type of a floating-point result, and the NaN to put for any NaN.
    pub float_result: Option<(&'static str, &'static str)>,
}

/// Forms by opcode, in order of their names.
type Forms = Vec<(&'static str, Vec<Form>)>;

/// The forms that the kernels recorded on hardware are made of. A change of these changes all kernels.
pub fn forms() -> &'static [(&'static str, Vec<Form>)] {
    static FORMS: OnceLock<Forms> = OnceLock::new();
    FORMS.get_or_init(|| read(include_str!("value_forms.txt")))
}

/// The forms that were added since, for kernels that ask for them.
pub fn added_forms() -> &'static [(&'static str, Vec<Form>)] {
    static FORMS: OnceLock<Forms> = OnceLock::new();
    FORMS.get_or_init(|| read(include_str!("added_forms.txt")))
}

fn read(list: &'static str) -> Forms {
    let mut by_opcode: BTreeMap<&'static str, Vec<Form>> = BTreeMap::new();
    for line in list.lines() {
        let words: Vec<&'static str> = line.split(' ').collect();
        let form = match words[..] {
            [mnemonic, "video", destination, a, b] => video(mnemonic, destination, a, b),
            [mnemonic, count] => plain(mnemonic, count.parse().expect("a number of operands")),
            _ => panic!("bad line in a list of forms: {line}"),
        };
        if let Some(form) = form {
            let opcode = form.mnemonic.split('.').next().unwrap_or_default();
            by_opcode.entry(opcode).or_default().push(form);
        }
    }
    by_opcode.into_iter().collect()
}

fn is_approximate(mnemonic: &str, opcode: Opcode) -> bool {
    mnemonic
        .split('.')
        .any(|word| matches!(word, "approx" | "full"))
        || matches!(
            opcode,
            Opcode::Ex2 | Opcode::Tanh | Opcode::Sin | Opcode::Cos | Opcode::Lg2 | Opcode::Rsqrt
        )
}

fn plain(text: &'static str, count: usize) -> Option<Form> {
    let mnemonic = Mnemonic::parse(text);
    let roles = mnemonic.operand_roles(count)?;
    // Without a rounding, ptxas may fuse a product with the sum it feeds, so the result depends on the code around.
    let may_be_fused = matches!(
        mnemonic.opcode(),
        Opcode::Add | Opcode::Sub | Opcode::Mul | Opcode::Mad
    ) && mnemonic
        .types()
        .iter()
        .any(|scalar_type| scalar_type.is_float())
        && mnemonic.modifiers().rounding.is_none();
    // ptxas drops the `.ftz` of a comparison that it inverts or merges with another (docs/numerics.md).
    let loses_its_flush = matches!(mnemonic.opcode(), Opcode::Set | Opcode::Setp)
        && mnemonic.has(Flag::FlushToZero)
        && mnemonic.types().contains(&ScalarType::F32);
    if may_be_fused || loses_its_flush {
        return None;
    }
    let mut slots = Vec::new();
    let boolean = mnemonic.modifiers().boolean.is_some();
    let half = matches!(
        mnemonic.first_type(),
        Some(ScalarType::F16 | ScalarType::Bf16)
    );
    for (index, role) in roles.iter().enumerate() {
        let width = mnemonic.operand_type(index, count).and_then(Width::of);
        let slot = match role {
            Role::Define => Slot::Result(width?),
            Role::Use => Slot::Source(width?, ""),
            Role::Constant => Slot::Immediate,
            _ => return None,
        };
        slots.push(slot);
        if index == 0 && mnemonic.opcode() == Opcode::Lop3 && boolean {
            slots.push(Slot::Result(Width::Predicate));
        }
    }
    let float_result = match mnemonic.operand_type(0, count) {
        Some(ScalarType::F16) => Some(("f16", "0x7fff")),
        Some(ScalarType::Bf16) => Some(("bf16", "0x7fff")),
        Some(ScalarType::F32) => Some(("f32", "0x7fffffff")),
        Some(ScalarType::F64) => Some(("f64", "0x7ff8000000000000")),
        // A NaN in a lane of a packed result cannot be told apart so simply.
        Some(scalar_type) if scalar_type.is_float() => return None,
        _ => None,
    };
    Some(Form {
        float_result,
        approximate: is_approximate(text, mnemonic.opcode()),
        mnemonic: text,
        opcode: mnemonic.opcode(),
        types: mnemonic.types().to_vec(),
        slots,
        allows_pair: !half,
        result_selector: "",
    })
}

/// `b0` as `.b0`, `-` as nothing.
fn selector(text: &'static str) -> &'static str {
    const SELECTORS: [&str; 6] = [".b0", ".b1", ".b2", ".b3", ".h0", ".h1"];
    SELECTORS
        .into_iter()
        .find(|selector| &selector[1..] == text)
        .unwrap_or("")
}

fn video(
    text: &'static str,
    destination: &'static str,
    a: &'static str,
    b: &'static str,
) -> Option<Form> {
    let mnemonic = Mnemonic::parse(text);
    // Hardware goes its own ways here, and what was not recorded is not known (docs/numerics.md).
    let merged_shift =
        matches!(mnemonic.opcode(), Opcode::Vshl | Opcode::Vshr) && destination != "-";
    let extremum = matches!(
        mnemonic.modifiers().operation,
        Some(ReductionOperation::Min | ReductionOperation::Max)
    );
    if merged_shift || extremum || mnemonic.opcode() == Opcode::Vmad {
        return None;
    }
    let packed = text
        .split('.')
        .next()
        .is_some_and(|opcode| opcode.ends_with(['2', '4']));
    let takes_c = packed || destination != "-" || mnemonic.modifiers().operation.is_some();
    let mut slots = vec![
        Slot::Result(Width::Word),
        Slot::Source(Width::Word, selector(a)),
        Slot::Source(Width::Word, selector(b)),
    ];
    if takes_c {
        slots.push(Slot::Source(Width::Word, ""));
    }
    Some(Form {
        mnemonic: text,
        opcode: mnemonic.opcode(),
        types: mnemonic.types().to_vec(),
        slots,
        allows_pair: false,
        result_selector: selector(destination),
        approximate: false,
        float_result: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn most_forms_are_usable() {
        let count: usize = forms().iter().map(|(_, forms)| forms.len()).sum();
        let lines = include_str!("value_forms.txt").lines().count();
        assert!(count * 100 >= lines * 70, "{count} of {lines}");
        assert!(forms().len() >= 60, "{} opcodes", forms().len());
        let added: usize = added_forms().iter().map(|(_, forms)| forms.len()).sum();
        assert_eq!(added, include_str!("added_forms.txt").lines().count());
    }
}
