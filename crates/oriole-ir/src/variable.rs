//! What declarations say of variables.

use crate::entities::Symbol;
use oriole_collections::PackedOption;
use oriole_isa::{ScalarType, Space};
use oriole_syntax::tree::Text;

/// How a variable lies in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VariableType {
    /// The type of its elements; nothing if the table does not know it.
    pub element: Option<ScalarType>,
    /// How many of them are one vector: 1, 2, 4 or 8.
    pub vector: u8,
    /// How many bytes it has; nothing if the declaration does not say, or says 4 GiB or more.
    pub bytes: Option<u32>,
    /// What its address is a multiple of: a power of two.
    pub alignment: u32,
}

impl VariableType {
    /// Nothing is known.
    pub const UNKNOWN: VariableType = VariableType {
        element: None,
        vector: 1,
        bytes: None,
        alignment: 1,
    };

    /// One number.
    pub fn scalar(element: ScalarType) -> VariableType {
        VariableType::array(element, 1)
    }

    /// So many numbers, in a row.
    pub fn array(element: ScalarType, count: u32) -> VariableType {
        VariableType {
            element: Some(element),
            vector: 1,
            bytes: element.bytes().checked_mul(count),
            alignment: element.bytes().max(1),
        }
    }

    /// How many bytes an element has, all of a vector together. An element of unknown type counts as a byte.
    pub fn element_bytes(&self) -> u32 {
        let bytes = self.element.map_or(1, ScalarType::bytes);
        bytes * u32::from(self.vector.max(1))
    }

    /// Whether a variable of this type can be declared anew: its elements and its size are known.
    pub fn can_be_declared(&self) -> bool {
        self.element.is_some() && self.count().is_some()
    }

    /// How many elements it has, if its size is known and a multiple of theirs.
    pub fn count(&self) -> Option<u32> {
        let (bytes, element) = (self.bytes?, self.element_bytes());
        bytes.is_multiple_of(element).then(|| bytes / element)
    }
}

/// What a parameter of type `.ptr` points to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pointer {
    /// The state space, if it says one.
    pub space: Option<Space>,
    /// What the address is a multiple of; 4 where nothing is written.
    pub alignment: u32,
}

/// A parameter or result of a function, as its header declares it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParameterData {
    /// Its name.
    pub name: Text,
    /// Its type.
    pub variable_type: VariableType,
    /// Whether it is passed in a register (`.reg`) and not in parameter space.
    pub in_register: bool,
    /// What it points to, if it says that it does.
    pub pointer: Option<Pointer>,
}

/// Where a variable of a function is declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum VariableKind {
    /// In the header: a parameter.
    Parameter,
    /// In the header: a result.
    Result,
    /// In the body.
    Declared,
}

/// What became of the declaration of a variable since the function was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum VariableState {
    /// It is as it was written.
    Original,
    /// It has another type.
    Changed,
    /// There was none: it is declared for the whole function, under a name like the one it has.
    Added,
    /// It is gone.
    Removed,
}

/// A variable of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VariableData {
    /// Its name; of one that was added, what its name is made of.
    pub name: Text,
    /// The state space it lives in; nothing if it is none that instructions name.
    pub space: Option<Space>,
    /// Its type.
    pub variable_type: VariableType,
    /// Where it is declared.
    pub kind: VariableKind,
    /// What became of its declaration.
    pub state: VariableState,
    /// The scope of the body that declares it, as a number of the resolved names; 0 is the function's own.
    pub scope: u32,
    /// The symbol that stands for it, if something mentions it or did.
    pub symbol: PackedOption<Symbol>,
}

impl VariableData {
    /// A variable of the body as it was written, which nothing mentions yet.
    pub fn declared(name: Text, space: Option<Space>, variable_type: VariableType) -> VariableData {
        VariableData {
            name,
            space,
            variable_type,
            kind: VariableKind::Declared,
            state: VariableState::Original,
            scope: 0,
            symbol: PackedOption::none(),
        }
    }

    /// Whether it is gone.
    pub fn is_removed(&self) -> bool {
        self.state == VariableState::Removed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_counts_of_elements() {
        let array = VariableType::array(ScalarType::F32, 10);
        assert_eq!((array.bytes, array.alignment), (Some(40), 4));
        assert_eq!((array.element_bytes(), array.count()), (4, Some(10)));
        let vectors = VariableType { vector: 4, ..array };
        assert_eq!((vectors.element_bytes(), vectors.count()), (16, None));
        let unknown = VariableType {
            bytes: None,
            ..array
        };
        assert_eq!(unknown.count(), None);
        assert_eq!(VariableType::array(ScalarType::B64, u32::MAX).bytes, None);
    }
}
