//! What declarations of variables say, decoded.

use oriole_ir::{ParameterData, Pointer, VariableType};
use oriole_isa::{ScalarType, Space};
use oriole_syntax::literal::{self, Literal};
use oriole_syntax::tree::{Body, Declaration, Declarator, FunctionKind, Module, Storage, Text};

/// The state space of variables in a storage; nothing if no instruction names it.
pub(crate) fn space_of(storage: Storage) -> Option<Space> {
    match storage {
        Storage::Constant => Some(Space::Const),
        Storage::Global => Some(Space::Global),
        Storage::Local => Some(Space::Local),
        Storage::Shared => Some(Space::Shared),
        Storage::Parameter => Some(Space::Param),
        Storage::Register | Storage::SpecialRegister | Storage::Texture => None,
    }
}

/// The number that a word of a declaration or directive is.
pub(crate) fn number(text: &str) -> Option<u32> {
    let bits = literal::parse(text).and_then(Literal::integer)?;
    u32::try_from(bits).ok()
}

/// The type that a word such as `.f32` names.
fn element_type(module: &Module, word: Text) -> Option<ScalarType> {
    const B32: u32 = u32::from_le_bytes(*b".b32");
    const B64: u32 = u32::from_le_bytes(*b".b64");
    const U32: u32 = u32::from_le_bytes(*b".u32");
    const U64: u32 = u32::from_le_bytes(*b".u64");
    const F32: u32 = u32::from_le_bytes(*b".f32");
    // Nearly all variables have one of these. Numbers are compared faster than words are looked up.
    let bytes = &module.whole_text().as_bytes()[word.span().range()];
    match <[u8; 4]>::try_from(bytes).map(u32::from_le_bytes) {
        Ok(B32) => Some(ScalarType::B32),
        Ok(B64) => Some(ScalarType::B64),
        Ok(U32) => Some(ScalarType::U32),
        Ok(U64) => Some(ScalarType::U64),
        Ok(F32) => Some(ScalarType::F32),
        _ if bytes == b".b8" => Some(ScalarType::B8),
        _ => module
            .text(word)
            .strip_prefix('.')
            .and_then(ScalarType::from_text),
    }
}

/// The type of a variable that `body` declares.
pub(crate) fn variable_type(
    module: &Module,
    body: &Body,
    declaration: &Declaration,
    declarator: &Declarator,
) -> VariableType {
    let mut found = VariableType {
        element: element_type(module, declaration.element),
        vector: declaration.vector,
        ..VariableType::UNKNOWN
    };
    let element_bytes = found.element_bytes();
    found.alignment = declaration.alignment.max(element_bytes).max(1);
    found.bytes = Some(element_bytes);
    let mut words = body.words(declarator.dimensions);
    // A dimension is `[`, a number unless it is left out, and `]`.
    while let [_, size, rest @ ..] = words {
        let size = number(module.text(*size));
        let bytes = found.bytes.zip(size);
        found.bytes = bytes.and_then(|(all, own)| all.checked_mul(own));
        words = match size {
            Some(_) => rest.get(1..).unwrap_or_default(),
            None => rest,
        };
    }
    found
}

/// A parameter or result, as the header of a function of a kind declares it.
pub(crate) fn parameter(
    module: &Module,
    kind: FunctionKind,
    declaration: &Declaration,
) -> Option<ParameterData> {
    let declarator = module.top.declarators(declaration).first()?;
    // Only kernels say what their parameters point to.
    let words = match kind {
        FunctionKind::Entry => module.top.words(declaration.words),
        FunctionKind::Function => &[],
    };
    let behind_pointer = words
        .iter()
        .position(|&word| module.text(word) == ".ptr")
        .map(|at| &words[at + 1..]);
    let pointer = behind_pointer.map(|words| {
        let mut pointer = Pointer {
            space: None,
            alignment: 4,
        };
        for (index, &word) in words.iter().enumerate() {
            let text = module.text(word);
            if text == ".align" {
                let value = words.get(index + 1).map(|&word| module.text(word));
                pointer.alignment = value.and_then(number).unwrap_or(pointer.alignment);
            } else if let Some(space) = text.strip_prefix('.').and_then(Space::from_qualifier) {
                pointer.space = Some(space);
            }
        }
        pointer
    });
    Some(ParameterData {
        name: declarator.name,
        variable_type: variable_type(module, &module.top, declaration, declarator),
        in_register: declaration.storage == Storage::Register,
        pointer,
    })
}
