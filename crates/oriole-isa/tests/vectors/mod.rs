//! The forms whose results are recorded on hardware, and the inputs they are run on.
//!
//! `examples/record.rs` writes both out as PTX and a file of inputs; `replay.rs` regenerates them and compares the recorded
//! outputs with `evaluate`. Inputs depend on the types of the operands alone, so that forms share them, and are made by
//! integer arithmetic only: a change of this file that changes an input changes [`inputs_hash`], which the recording keeps.

#![allow(dead_code, reason = "the example and the test use different parts")]

mod patterns;
pub mod replay;

use oriole_isa::{Mnemonic, Opcode, Role, ScalarType, VideoOperands};

/// Vectors per form: one block of threads.
pub const VECTORS: usize = 256;

/// How the carry flag is set before the instruction and read after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flag {
    /// The flag is not involved.
    None,
    /// Set and read by additions.
    Addition,
    /// Set and read by subtractions.
    Subtraction,
}

/// One instruction to record.
#[derive(Clone, Debug)]
pub struct Form {
    /// Unique name: the mnemonic, and what distinguishes forms of one mnemonic.
    pub key: String,
    /// The mnemonic.
    pub mnemonic: Mnemonic,
    /// Types of the loaded operands, in order. A carry that is read is a predicate, last.
    pub inputs: Vec<ScalarType>,
    /// Types of the stored results, in order. A carry that is written is a predicate, last.
    pub outputs: Vec<ScalarType>,
    /// An immediate that follows the loaded operands (but not a predicate).
    pub immediate: Option<u32>,
    /// Selectors of a video instruction.
    pub video: Option<VideoOperands<'static>>,
    /// Carry handling.
    pub flag: Flag,
}

/// All candidates; ptxas decides which of them exist.
pub fn candidates() -> Vec<Form> {
    let mut forms: Vec<Form> = Vec::new();
    for &(pattern, operands) in patterns::VALUES {
        for text in expand(pattern) {
            forms.extend(value_forms(&text, operands));
        }
    }
    for &(pattern, destination, a, b) in patterns::VIDEO {
        for text in expand(pattern) {
            forms.extend(video_form(&text, destination, a, b));
        }
    }
    forms
}

/// Every choice of `<a|b|c>` groups in a pattern.
fn expand(pattern: &str) -> Vec<String> {
    let Some((before, rest)) = pattern.split_once('<') else {
        return vec![pattern.to_string()];
    };
    let (choices, after) = rest.split_once('>').expect("a closed group");
    let tails = expand(after);
    choices
        .split('|')
        .flat_map(|choice| {
            tails
                .iter()
                .map(move |tail| format!("{before}{choice}{tail}"))
        })
        .collect()
}

fn value_forms(text: &str, operands: usize) -> Vec<Form> {
    let mnemonic = Mnemonic::parse(text);
    let roles = mnemonic
        .operand_roles(operands)
        .unwrap_or_else(|| panic!("{text} with {operands} operands"));
    let mut inputs = Vec::new();
    let mut outputs = Vec::new();
    let mut has_immediate = false;
    for (index, role) in roles.iter().enumerate() {
        if *role == Role::Constant {
            has_immediate = true;
            continue;
        }
        // No type: a combination that does not exist, such as `mul.wide.u64`.
        let Some(scalar_type) = mnemonic.operand_type(index, operands) else {
            return Vec::new();
        };
        match role {
            Role::Define => outputs.push(scalar_type),
            Role::Use => inputs.push(scalar_type),
            other => panic!("{text}: {other:?}"),
        }
    }
    // `p|q` of `setp`, but for half precision, and `d|p` of `lop3`.
    let half = matches!(
        mnemonic.first_type(),
        Some(ScalarType::F16 | ScalarType::Bf16)
    );
    let boolean = mnemonic.modifiers().boolean.is_some();
    if (mnemonic.opcode() == Opcode::Setp && !half)
        || (mnemonic.opcode() == Opcode::Lop3 && boolean)
    {
        outputs.push(ScalarType::Pred);
    }
    let effects = mnemonic.effects();
    if effects.reads_carry {
        inputs.push(ScalarType::Pred);
    }
    if effects.writes_carry {
        outputs.push(ScalarType::Pred);
    }
    let subtracts = matches!(mnemonic.opcode(), Opcode::Sub | Opcode::Subc);
    let flag = match (effects.reads_carry || effects.writes_carry, subtracts) {
        (false, _) => Flag::None,
        (true, false) => Flag::Addition,
        (true, true) => Flag::Subtraction,
    };
    let immediates: &[Option<u32>] = if has_immediate {
        patterns::LOOKUP_TABLES
    } else {
        &[None]
    };
    immediates
        .iter()
        .map(|&immediate| Form {
            key: match immediate {
                None => format!("{text}/{operands}"),
                Some(immediate) => format!("{text}/{operands}/{immediate:#x}"),
            },
            mnemonic: mnemonic.clone(),
            inputs: inputs.clone(),
            outputs: outputs.clone(),
            immediate,
            video: None,
            flag,
        })
        .collect()
}

fn video_form(
    text: &str,
    destination: Option<&'static str>,
    a: Option<&'static str>,
    b: Option<&'static str>,
) -> Option<Form> {
    let mnemonic = Mnemonic::parse(text);
    let packed = text.starts_with(|_: char| true) && mnemonic.opcode().text().ends_with(['2', '4']);
    let takes_c = packed
        || mnemonic.opcode() == Opcode::Vmad
        || destination.is_some()
        || mnemonic.modifiers().operation.is_some();
    let name = |selector: Option<&str>| selector.unwrap_or("-").to_string();
    Some(Form {
        key: format!("{text}/{}/{}/{}", name(destination), name(a), name(b)),
        inputs: vec![ScalarType::U32; 2 + usize::from(takes_c)],
        outputs: vec![ScalarType::U32],
        mnemonic,
        immediate: None,
        video: Some(VideoOperands {
            destination,
            a,
            b,
            ..VideoOperands::default()
        }),
        flag: Flag::None,
    })
}

/// Bytes an output takes in the recording.
pub fn recorded_bytes(scalar_type: ScalarType) -> usize {
    match register_bits(scalar_type) {
        1 => 1,
        bits => bits as usize / 8,
    }
}

/// Width of the register an operand of the type is held in.
pub fn register_bits(scalar_type: ScalarType) -> u32 {
    match scalar_type.bits() {
        1 => 1,
        // Eight-bit integers live in wider registers.
        8 => 32,
        bits => bits,
    }
}

/// The input vectors of a signature, one row per thread.
pub fn inputs(signature: &[ScalarType]) -> Vec<Vec<u64>> {
    let seed = signature
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, scalar_type| {
            scalar_type
                .text()
                .bytes()
                .chain(*b",")
                .fold(hash, |hash: u64, byte| {
                    (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
                })
        });
    let mut random = Random(seed);
    let edges: Vec<Vec<u64>> = signature
        .iter()
        .map(|&scalar_type| patterns::edges(scalar_type))
        .collect();
    (0..VECTORS)
        .map(|row| {
            let mut values: Vec<u64> = Vec::new();
            for (column, &scalar_type) in signature.iter().enumerate() {
                let edges = &edges[column];
                let value = match row {
                    // One operand walks all edges while the others jump.
                    0..128 if column == 0 => edges[row % edges.len()],
                    0..128 => edges[random.below(edges.len())],
                    128..160 => edges[random.below(edges.len())],
                    160..192 if column > 0 => neighbour(&mut random, scalar_type, values[0]),
                    _ => patterns::random(&mut random, scalar_type),
                };
                values.push(value & mask(scalar_type));
            }
            values
        })
        .collect()
}

/// A value close to another: equal, or a few units away, perhaps with the other sign.
fn neighbour(random: &mut Random, scalar_type: ScalarType, value: u64) -> u64 {
    let step = random.below(7) as u64;
    let sign = match random.below(3) {
        0 => 0,
        _ => 1 << (scalar_type.bits() - 1),
    };
    value.wrapping_add(step).wrapping_sub(3) ^ sign
}

fn mask(scalar_type: ScalarType) -> u64 {
    match register_bits(scalar_type) {
        64 => u64::MAX,
        bits => (1 << bits) - 1,
    }
}

/// A number that changes whenever an input of any of the signatures does.
pub fn inputs_hash<'a>(signatures: impl Iterator<Item = &'a [ScalarType]>) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for signature in signatures {
        for value in inputs(signature).into_iter().flatten() {
            for byte in value.to_le_bytes() {
                hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
            }
        }
    }
    hash
}

/// SplitMix64.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut value = self.0;
        value = (value ^ value >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        value = (value ^ value >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        value ^ value >> 31
    }

    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() >> 32) as usize % bound
    }
}
