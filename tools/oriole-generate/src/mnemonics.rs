//! All mnemonics whose results `oriole_isa::evaluate` knows, put together of opcodes, modifiers and types.
//!
//! There is no list of them: names and modifiers come from the table of instructions, so a new opcode takes part by itself.

use crate::forms::Width;
use oriole_isa::{Mnemonic, Opcode, Role, ScalarType, evaluate, own_modifiers};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

/// A mnemonic with a number of operands.
#[derive(Clone, Debug)]
pub struct ValueForm {
    /// The mnemonic as text.
    pub text: String,
    /// The mnemonic.
    pub mnemonic: Mnemonic,
    /// The type of the result.
    pub result: ScalarType,
    /// The types of the operands; of one that has to be an immediate, nothing.
    pub sources: Vec<Option<ScalarType>>,
}

impl ValueForm {
    /// The width of the register that takes the result.
    pub fn result_width(&self) -> Width {
        Width::of(self.result).expect("of 64 bits at most")
    }

    /// The width of the register of an operand; nothing for an immediate.
    pub fn source_width(&self, index: usize) -> Option<Width> {
        self.sources[index].and_then(Width::of)
    }

    /// Whether the result or an operand is a floating-point number.
    pub fn has_floats(&self) -> bool {
        let types = self.sources.iter().flatten().chain([&self.result]);
        types.into_iter().any(|own| own.is_float())
    }

    /// Whether it reads or writes the carry flag.
    pub fn has_carry(&self) -> bool {
        let effects = self.mnemonic.effects();
        effects.reads_carry || effects.writes_carry
    }
}

/// The most sources of a mnemonic.
const MOST_SOURCES: usize = 5;

/// All forms, in the order of the opcodes. An opcode that was recorded on hardware has its recorded forms.
pub fn value_forms() -> &'static BTreeMap<Opcode, Vec<ValueForm>> {
    static FORMS: OnceLock<BTreeMap<Opcode, Vec<ValueForm>>> = OnceLock::new();
    FORMS.get_or_init(|| {
        let mut forms: BTreeMap<Opcode, Vec<ValueForm>> = BTreeMap::new();
        let mut recorded = BTreeSet::new();
        for line in include_str!("value_forms.txt").lines() {
            let (text, count) = line.split_once(' ').expect("a mnemonic and its operands");
            recorded.insert(Mnemonic::parse(text).opcode());
            let found = forms_of(text).into_iter();
            for form in found.filter(|form| count.parse() == Ok(form.sources.len() + 1)) {
                forms.entry(form.mnemonic.opcode()).or_default().push(form);
            }
        }
        for &opcode in Opcode::ALL {
            let put_together = match recorded.contains(&opcode) {
                true => Vec::new(),
                false => of(opcode),
            };
            if !put_together.is_empty() {
                forms.insert(opcode, put_together);
            }
        }
        forms
    })
}

/// Whether arithmetic knows a type; of 8 bits only conversions do.
fn is_usual(scalar_type: ScalarType, opcode: Opcode) -> bool {
    use ScalarType::{Bf16, Bf16x2, F16, F16x2, F32, F64, Pred};
    if scalar_type == Pred {
        use Opcode::{And, Mov, Not, Or, Xor};
        return matches!(opcode, And | Mov | Not | Or | Xor);
    }
    if scalar_type.is_float() {
        return matches!(scalar_type, F16 | F16x2 | Bf16 | Bf16x2 | F32 | F64);
    }
    let is_number = scalar_type.is_integer() || scalar_type.is_bits();
    match scalar_type.bits() {
        _ if !is_number => false,
        16 | 32 | 64 => scalar_type.lanes() <= 2,
        bits => bits == 8 && scalar_type.lanes() == 1 && opcode == Opcode::Cvt,
    }
}

fn of(opcode: Opcode) -> Vec<ValueForm> {
    let name = opcode.text();
    if !Mnemonic::parse(name).effects().is_pure() {
        return Vec::new();
    }
    let (mut types, mut modifiers) = (BTreeSet::new(), BTreeSet::new());
    for word in own_modifiers(name) {
        match ScalarType::from_text(word) {
            Some(own) if is_usual(own, opcode) => types.insert(word),
            Some(_) => false,
            None => modifiers.insert(word),
        };
    }
    let modifiers: Vec<&str> = modifiers.into_iter().collect();
    let mut subsets = vec![vec![]];
    for (index, &first) in modifiers.iter().enumerate() {
        subsets.push(vec![first]);
        let seconds = modifiers[index + 1..].iter();
        subsets.extend(seconds.map(|&second| vec![first, second]));
    }
    let mut forms = Vec::new();
    for subset in subsets {
        for one in &types {
            let words = [&[name][..], &subset, &[one]].concat();
            forms.extend(forms_of(&words.join(".")));
            for other in &types {
                forms.extend(forms_of(&[&words[..], &[other]].concat().join(".")));
            }
        }
    }
    forms
}

/// The forms of a mnemonic that can be evaluated.
fn forms_of(text: &str) -> Vec<ValueForm> {
    let mnemonic = Mnemonic::parse(text);
    let mut forms = Vec::new();
    if mnemonic.is_opaque() {
        return forms;
    }
    for count in 1..=MOST_SOURCES {
        let Some(roles) = mnemonic.operand_roles(count + 1) else {
            continue;
        };
        let types: Vec<_> = mnemonic.operand_types(count + 1).collect();
        let sources: Option<Vec<_>> = (1..=count)
            .map(|index| match (roles[index], types[index]) {
                (Role::Constant, _) => Some(None),
                (Role::Use, Some(own)) => Width::of(own).map(|_| Some(own)),
                _ => None,
            })
            .collect();
        let inputs = vec![1; count + usize::from(mnemonic.effects().reads_carry)];
        if let (Role::Define, Some(result), Some(sources)) = (roles[0], types[0], sources)
            && Width::of(result).is_some()
            && evaluate(&mnemonic, &inputs).is_some()
        {
            forms.push(ValueForm {
                text: text.to_owned(),
                mnemonic: mnemonic.clone(),
                result,
                sources,
            });
        }
    }
    forms
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_opcode_that_can_be_evaluated_has_forms() {
        let forms = value_forms();
        assert!(forms.len() >= 45, "{} opcodes", forms.len());
        // As if it were new.
        let mut put_together = of(Opcode::Bfe).into_iter();
        assert!(put_together.any(|form| form.text == "bfe.s64"));
        for text in [
            "add.sat.s32",
            "cvt.rn.f32.s64",
            "cvt.sat.u8.s32",
            "setp.lt.and.s32",
            "mad.wide.s16",
            "lop3.b32",
            "shf.l.wrap.b32",
            "prmt.b32",
            "fma.rn.ftz.f32",
        ] {
            let mut all = forms.values().flatten();
            assert!(all.any(|form| form.text == text), "{text}");
        }
    }
}
