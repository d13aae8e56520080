//! Initial values of variables: numbers, addresses, and bytes of addresses, in nested braces.

use oriole_diagnostics::Diagnostic;
use oriole_isa::ScalarType;
use oriole_syntax::literal::{self, Literal};
use oriole_syntax::tree::{Body, Declaration, Module, Words};

use super::{Context, Place, element_type};

/// Bytes of a variable whose first dimension its initialiser decides: `s[] = {1, 2}`.
pub(super) fn implied_bytes(
    module: &Module,
    owner: &Body,
    declaration: &Declaration,
    words: Words,
) -> u64 {
    let words = owner.words(words);
    let mut depth = 0;
    let mut count = 0u64;
    let mut filled = false;
    for &word in words {
        match module.text(word) {
            "{" => {
                filled |= depth == 1;
                depth += 1;
            }
            "}" => depth -= 1,
            "," if depth == 1 => count += 1,
            _ => filled |= depth == 1,
        }
    }
    (count + u64::from(filled))
        * u64::from(element_type(module, declaration).bytes())
        * u64::from(declaration.vector.max(1))
}

/// The bits of a literal as a value of the type.
pub(super) fn literal_bits(literal: Literal, scalar_type: ScalarType) -> u64 {
    let narrow = |value: f64| match scalar_type {
        ScalarType::F64 => value.to_bits(),
        ScalarType::F16 | ScalarType::Bf16 => half_bits(value, scalar_type),
        _ => (value as f32).to_bits().into(),
    };
    match literal {
        Literal::Integer { bits, .. } if scalar_type.is_float() && scalar_type.lanes() == 1 => {
            match scalar_type {
                ScalarType::F64 | ScalarType::F32 => narrow(bits as i64 as f64),
                // Half-precision immediates are bit patterns.
                _ => bits & 0xffff,
            }
        }
        Literal::Integer { bits, .. } => {
            if scalar_type.bits() >= 64 {
                bits
            } else {
                bits & ((1 << scalar_type.bits()) - 1)
            }
        }
        Literal::Single(bits) => match scalar_type {
            ScalarType::F64 => f64::from(f32::from_bits(bits)).to_bits(),
            ScalarType::F16 | ScalarType::Bf16 => {
                half_bits(f32::from_bits(bits).into(), scalar_type)
            }
            _ => bits.into(),
        },
        Literal::Double(bits) => match scalar_type {
            ScalarType::F64 | ScalarType::B64 | ScalarType::U64 | ScalarType::S64 => bits,
            _ => narrow(f64::from_bits(bits)),
        },
    }
}

fn half_bits(value: f64, scalar_type: ScalarType) -> u64 {
    let text = if scalar_type == ScalarType::F16 {
        "cvt.rn.f16.f32"
    } else {
        "cvt.rn.bf16.f32"
    };
    let mnemonic = oriole_isa::Mnemonic::parse(text);
    let bits = (value as f32).to_bits();
    oriole_isa::evaluate(&mnemonic, &[bits.into()]).map_or(0, |outputs| outputs.values()[0] as u64)
}

/// Writes the initial value of a variable into its region.
pub(super) fn fill(
    context: &Context<'_>,
    region: usize,
    body: Option<usize>,
    declaration: usize,
    declarator: usize,
    problems: &mut Vec<Diagnostic>,
) {
    let module = context.module;
    let owner = match body {
        None => &module.top,
        Some(function) => module.functions[function]
            .body
            .as_ref()
            .expect("a body declares it"),
    };
    let declaration = &owner.declarations[declaration];
    let declarator = &owner.declarators[declarator];
    let Some(words) = declarator.initializer else {
        return;
    };
    let scalar_type = element_type(module, declaration);
    let size = u64::from(scalar_type.bytes());
    let texts: Vec<&str> = owner
        .words(words)
        .iter()
        .map(|&word| module.text(word))
        .collect();
    // The sizes in bytes of the arrays at each depth: a brace starts at a multiple of its depth's size.
    let mut dimensions: Vec<u64> = Vec::new();
    for &word in owner.words(declarator.dimensions) {
        match module.text(word) {
            "[" => dimensions.push(0),
            "]" => {}
            text => {
                if let (Some(last), Some(value)) = (
                    dimensions.last_mut(),
                    literal::parse(text).and_then(Literal::integer),
                ) {
                    *last = value;
                }
            }
        }
    }
    if declaration.vector > 1 {
        dimensions.push(declaration.vector.into());
    }
    let stride = |depth: usize| -> u64 {
        dimensions
            .get(depth..)
            .map_or(size, |inner| inner.iter().product::<u64>() * size)
    };
    let target = &context.memory.regions[region];
    let mut starts = vec![0u64];
    let mut offset = 0u64;
    let mut at = 0;
    while at < texts.len() {
        match texts[at] {
            "{" => {
                starts.push(offset);
                at += 1;
            }
            "}" => {
                let start = starts.pop().unwrap_or(0);
                offset = start + stride(starts.len().saturating_sub(1));
                at += 1;
            }
            "," => at += 1,
            _ => {
                let mut end = at;
                let mut parentheses = 0;
                while end < texts.len() && (parentheses > 0 || !matches!(texts[end], "," | "}")) {
                    match texts[end] {
                        "(" => parentheses += 1,
                        ")" => parentheses -= 1,
                        _ => {}
                    }
                    end += 1;
                }
                match value(context, &texts[at..end], scalar_type) {
                    Some(bits) if offset + size <= target.bytes => {
                        target.write_bytes(offset, &bits.to_le_bytes()[..size.min(8) as usize]);
                    }
                    _ => problems.push(Diagnostic::error(
                        "bad-initializer",
                        declarator.name.span(),
                        format!(
                            "cannot evaluate the initial value `{}`",
                            texts[at..end].join(" ")
                        ),
                    )),
                }
                offset += size;
                at = end;
            }
        }
    }
}

/// One value: a constant expression, `symbol`, `symbol+8`, `generic(symbol)+8` or `0xff00(symbol)`.
fn value(context: &Context<'_>, words: &[&str], scalar_type: ScalarType) -> Option<u64> {
    if let Some(literal) = literal::evaluate(&words.join(" ")) {
        return Some(literal_bits(literal, scalar_type));
    }
    match words {
        [mask, "(", inner @ .., ")"] if mask.starts_with(|c: char| c.is_ascii_digit()) => {
            let mask = literal::parse(mask)?.integer()?;
            let address = value(context, inner, ScalarType::U64)?;
            Some((address & mask) >> mask.trailing_zeros())
        }
        ["generic", "(", inner @ .., ")"] => address(context, inner),
        ["generic", "(", symbol, ")", rest @ ..] => {
            Some(address(context, &[symbol])?.wrapping_add(displacement(rest)?))
        }
        _ => address(context, words),
    }
}

fn address(context: &Context<'_>, words: &[&str]) -> Option<u64> {
    let (symbol, rest) = words.split_first()?;
    let index = context
        .globals
        .entries
        .iter()
        .position(|&(name, _)| context.module.text(name) == *symbol)?;
    match context.places[index] {
        Place::Address(address) => Some(address.wrapping_add(displacement(rest)?)),
        _ => None,
    }
}

fn displacement(words: &[&str]) -> Option<u64> {
    match words {
        [] => Some(0),
        ["+", rest @ ..] => literal::evaluate(&rest.join(" "))?.integer(),
        _ => literal::evaluate(&words.join(" "))?.integer(),
    }
}
