//! Every syntax form of the manual, as instructions that ptxas 13.0 accepts, must be known and must fit its operands.
//!
//! `data/manual_forms.txt` holds one instruction per line, after the target it needs. Register names tell their class
//! (`%p` predicate, `%b`, `%h`, `%r`, `%l`, `%q` 8 to 128 bits, `%f` and `%d` floating point), so that roles and types
//! can be compared with the operands as written.

use std::collections::HashSet;

use oriole_isa::{
    Mnemonic, Opcode, Role, ScalarType, VideoOperands, approximate, evaluate, evaluate_video,
};

fn instructions() -> impl Iterator<Item = &'static str> {
    include_str!("data/manual_forms.txt")
        .lines()
        .map(|line| line.split_once('\t').expect("target and instruction").1)
}

/// The mnemonic and the top-level operands, guard dropped.
fn split(instruction: &str) -> (&str, Vec<&str>) {
    let instruction = match instruction.strip_prefix('@') {
        Some(guarded) => guarded.split_once(' ').expect("guard").1,
        None => instruction,
    };
    let (mnemonic, rest) = instruction.split_once(' ').unwrap_or((instruction, ""));
    let mut operands = Vec::new();
    let (mut depth, mut start) = (0, 0);
    for (index, character) in rest.char_indices() {
        match character {
            '[' | '{' | '(' => depth += 1,
            ']' | '}' | ')' => depth -= 1,
            ',' if depth == 0 => {
                operands.push(rest[start..index].trim());
                start = index + 1;
            }
            _ => {}
        }
    }
    if !rest.trim().is_empty() {
        operands.push(rest[start..].trim());
    }
    (mnemonic, operands)
}

/// The width of the register class, and whether it holds predicates.
fn class(register: &str) -> Option<(u32, bool)> {
    let name = register.trim_start_matches(['!', '-']).strip_prefix('%')?;
    if name.starts_with("tid") || name.starts_with("clock") {
        return None;
    }
    Some(match name.chars().next()? {
        'p' => (1, true),
        'b' => (8, false),
        'h' => (16, false),
        'r' | 'f' => (32, false),
        'l' | 'd' => (64, false),
        'q' => (128, false),
        other => panic!("register class {other}"),
    })
}

/// The registers written in an operand; the second of `d|p` is the predicate and has no type of its own.
fn registers(operand: &str) -> impl Iterator<Item = &str> {
    let first = operand.split('|').next().unwrap_or(operand);
    first
        .split(['{', '}', ',', ' '])
        .filter(|part| part.starts_with(['%', '!', '-']))
}

/// Opcodes whose types name something else than the register: packed lanes, memory, or a narrower value.
fn type_may_be_narrower(opcode: Opcode) -> bool {
    matches!(
        opcode,
        Opcode::Ld
            | Opcode::St
            | Opcode::Ldu
            | Opcode::Cvt
            | Opcode::CvtPack
            | Opcode::Mov
            | Opcode::Suld
            | Opcode::Sust
            | Opcode::Tex
    )
}

#[test]
fn every_form_of_the_manual_is_known() {
    let mut failures = Vec::new();
    let mut checked = 0;
    for instruction in instructions() {
        let (text, operands) = split(instruction);
        let mnemonic = Mnemonic::parse(text);
        checked += 1;
        if mnemonic.is_opaque() {
            failures.push(format!("{instruction}: opaque"));
            continue;
        }
        let Some(roles) = mnemonic.operand_roles(operands.len()) else {
            failures.push(format!("{instruction}: no form"));
            continue;
        };
        assert_eq!(roles.len(), operands.len());
        for (index, (&role, &operand)) in roles.iter().zip(&operands).enumerate() {
            let bracketed = operand.starts_with('[');
            let fits = match role {
                Role::Define | Role::UseDefine => operand.starts_with(['%', '{', '_']),
                Role::Address { .. } => bracketed,
                // The A operand of `tcgen05.mma` may be an address.
                Role::Use => !bracketed || mnemonic.opcode().text().starts_with("tcgen05.mma"),
                Role::Constant => operand.starts_with(|c: char| c.is_ascii_digit() || c == '-'),
                Role::Label => operand.starts_with('L'),
                Role::BranchTargets => operand == "ts",
                Role::Callee => false,
            };
            if !fits {
                failures.push(format!("{instruction}: operand {index} is {role:?}"));
            }
            if bracketed {
                continue;
            }
            let Some(scalar_type) = mnemonic.operand_type(index, operands.len()) else {
                continue;
            };
            for register in registers(operand) {
                let Some((bits, predicate)) = class(register) else {
                    continue;
                };
                let narrower = type_may_be_narrower(mnemonic.opcode());
                let width = scalar_type.bits();
                // Elements of a packing move are narrower than the type.
                let element = mnemonic.opcode() == Opcode::Mov && operand.starts_with('{');
                if predicate != (scalar_type == ScalarType::Pred)
                    || (bits < width && !element)
                    || (bits > width && !narrower)
                {
                    failures.push(format!("{instruction}: operand {index} is {scalar_type}"));
                }
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(checked > 2000, "the list is incomplete: {checked}");
}

#[test]
fn every_opcode_occurs() {
    // Not in PTX 9.0 as ptxas 13.0 accepts it, or not expressible on one line.
    let exempt = [
        Opcode::Unknown,
        Opcode::Call,
        Opcode::MultimemCpAsyncBulk,
        Opcode::MultimemCpReduceAsyncBulk,
    ];
    let found: HashSet<Opcode> = instructions()
        .map(|line| Mnemonic::parse(split(line).0).opcode())
        .collect();
    for &opcode in Opcode::ALL {
        assert!(
            found.contains(&opcode) || exempt.contains(&opcode),
            "{opcode} has no example"
        );
    }
}

/// Opcodes without effects whose results depend on more than operands: addresses, the machine, or handles.
const NOT_EVALUATED: &[Opcode] = &[
    Opcode::Createpolicy,
    Opcode::Isspacep,
    Opcode::Cvta,
    Opcode::Mapa,
    Opcode::Getctarank,
    Opcode::Istypep,
    Opcode::MbarrierPendingCount,
    Opcode::ClusterlaunchcontrolQueryCancel,
];

#[test]
fn every_opcode_without_effects_can_be_evaluated() {
    let mut evaluated: HashSet<Opcode> = HashSet::new();
    for instruction in instructions() {
        let (text, operands) = split(instruction);
        let mnemonic = Mnemonic::parse(text);
        let inputs = [3; 6];
        let answers = (1..=operands.len().min(inputs.len())).any(|count| {
            let inputs = &inputs[..count];
            let video = VideoOperands::default();
            evaluate(&mnemonic, inputs)
                .or_else(|| approximate(&mnemonic, inputs))
                .or_else(|| evaluate_video(&mnemonic, inputs, &video))
                .is_some()
        });
        if answers {
            evaluated.insert(mnemonic.opcode());
        }
    }
    for &opcode in Opcode::ALL {
        let effects = Mnemonic::parse(opcode.text()).effects();
        // The carry flag is an operand.
        let is_value = effects.is_pure() || effects.reads_carry && effects.is_removable();
        let is_expected = is_value && !NOT_EVALUATED.contains(&opcode);
        let is_evaluated = evaluated.contains(&opcode);
        assert_eq!(
            is_evaluated, is_expected,
            "{opcode} has results that are evaluated"
        );
    }
}
