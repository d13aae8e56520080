//! What declarations of variables say, decoded.

use oriole_ir::{ParameterData, Pointer, VariableType};
use oriole_isa::{ScalarType, Space};
use oriole_syntax::literal::{self, Literal};
use oriole_syntax::tree::{Body, Declaration, Declarator, Module, Storage};

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

/// The type of a variable that `body` declares.
pub(crate) fn variable_type(
    module: &Module,
    body: &Body,
    declaration: &Declaration,
    declarator: &Declarator,
) -> VariableType {
    let element = module
        .text(declaration.element)
        .strip_prefix('.')
        .and_then(ScalarType::from_text);
    let mut found = VariableType {
        element,
        vector: declaration.vector,
        bytes: None,
        alignment: 1,
    };
    let element_bytes = found.element_bytes();
    found.alignment = declaration.alignment.max(element_bytes).max(1);
    let mut bytes = Some(element_bytes);
    for dimension in body.words(declarator.dimensions).chunk_by(|&word, _| {
        // Dimensions are `[`, a number unless it is left out, and `]`.
        module.text(word) != "]"
    }) {
        let size = dimension.get(1).and_then(|&word| number(module.text(word)));
        bytes = bytes.zip(size).and_then(|(all, own)| all.checked_mul(own));
    }
    found.bytes = bytes;
    found
}

/// A parameter or result, as the header of a function declares it.
pub(crate) fn parameter(module: &Module, declaration: &Declaration) -> Option<ParameterData> {
    let declarator = module.top.declarators(declaration).first()?;
    let words = module.top.words(declaration.words);
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
