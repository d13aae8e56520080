//! The arrays in shared memory that a kernel names.
//!
//! An array of the module is replaced by one of the kernel. Nobody can tell: what a block has in shared memory ends with it, and a kernel
//! that calls nothing is all that runs in a block, so no other function reaches the array there, whatever its linkage. `ptxas` gives a
//! kernel room for the variables of the module that it names, and for no others.

use super::is_shared;
use super::layout::Padding;
use oriole_ir::{
    Editor, Environment, Function, FunctionKind, Global, Linkage, Operand, Symbol, SymbolKind,
    Variable, VariableType,
};
use oriole_isa::Space;
use oriole_syntax::tree::Text;

/// Bytes of all banks in a row.
pub(super) const LINE: u32 = 128;
/// The most shared memory that a kernel may have without being asked for more at launch.
pub(super) const MOST_BYTES: u32 = 48 << 10;

/// Where an array is declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Kernel(Variable),
    Module(Global, Text),
    /// Its size is given at launch.
    Launch(Global),
}

/// An array in shared memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Array {
    /// The name that stands for it.
    pub symbol: Symbol,
    place: Place,
    /// Its type.
    pub variable_type: VariableType,
    /// How many bytes it has.
    pub bytes: u32,
}

impl Array {
    /// Its type if it consists of whole lines.
    pub fn closed(&self) -> VariableType {
        closed(self.variable_type)
    }

    /// Its type if its rows are padded, if it has one then.
    pub fn padded(&self, padding: Padding) -> Option<VariableType> {
        let bytes = padding.padded(self.bytes)?;
        Some(VariableType {
            bytes: bytes.checked_next_multiple_of(self.variable_type.element_bytes()),
            ..self.variable_type
        })
    }

    /// Whether its size is given at launch.
    pub fn is_given(&self) -> bool {
        matches!(self.place, Place::Launch(_))
    }

    /// Whether it does not consist of whole lines yet, or is one of the module: then nobody has permuted it.
    pub fn is_new(&self) -> bool {
        match self.place {
            Place::Kernel(_) => self.closed() != self.variable_type,
            Place::Module(..) => true,
            Place::Launch(_) => false,
        }
    }

    /// Gives it another type, in the kernel; tells what stands for it then.
    pub fn declare(&self, editor: &mut Editor<'_>, variable_type: VariableType) -> Symbol {
        let (global, name) = match self.place {
            Place::Kernel(variable) => {
                editor.set_variable_type(variable, variable_type);
                return self.symbol;
            }
            Place::Module(global, name) => (global, name),
            Place::Launch(_) => return self.symbol,
        };
        let variable = editor.add_variable(name, Space::Shared, variable_type);
        let Operand::Symbol(symbol) = editor.variable(variable) else {
            return self.symbol;
        };
        let function = editor.function();
        let mut mentions = Vec::new();
        for &block in function.block_order() {
            for instruction in function.instructions_of(block) {
                for (index, &operand) in function.operands(instruction).iter().enumerate() {
                    if let Operand::Symbol(other) = operand
                        && function.symbols()[other].kind == SymbolKind::Global(global)
                    {
                        mentions.push((instruction, index));
                    }
                }
            }
        }
        for (instruction, index) in mentions {
            editor.set_operand(instruction, index, Operand::Symbol(symbol));
        }
        symbol
    }
}

/// A type made one of whole lines.
pub(super) fn closed(variable_type: VariableType) -> VariableType {
    let lines = |bytes: u32| bytes.checked_next_multiple_of(LINE);
    VariableType {
        bytes: variable_type.bytes.and_then(lines),
        alignment: variable_type.alignment.max(LINE),
        ..variable_type
    }
}

/// The arrays that the kernel names, in order; nothing if one of them cannot be declared anew, or if they are too large as whole lines. Those
/// whose size is given at launch are among them only if that is known to be whole lines.
pub(super) fn arrays(
    function: &Function,
    environment: &Environment,
    has_whole_lines: bool,
) -> Option<Vec<Array>> {
    if function.kind() != FunctionKind::Entry {
        return None;
    }
    let mut named: Vec<Array> = Vec::new();
    for &block in function.block_order() {
        for instruction in function.instructions_of(block) {
            for &operand in function.operands(instruction) {
                let Operand::Symbol(symbol) = operand else {
                    continue;
                };
                let data = function.symbols()[symbol];
                let (place, variable_type) = match data.kind {
                    SymbolKind::Variable(variable) => {
                        let own = &function.variables()[variable];
                        if own.space != Some(Space::Shared) {
                            continue;
                        }
                        (Place::Kernel(variable), own.variable_type)
                    }
                    // A variable of the module, or a function, whose address is taken.
                    SymbolKind::Global(global) if data.space.is_none_or(is_shared) => {
                        match given_at_launch(environment, global) {
                            Some(given) if has_whole_lines => (Place::Launch(global), given),
                            Some(_) => return None,
                            None => {
                                let variable_type = of_module(environment, global)?;
                                (Place::Module(global, data.name), variable_type)
                            }
                        }
                    }
                    _ => continue,
                };
                if named.iter().any(|array| array.is_at(place)) {
                    continue;
                }
                let array = Array {
                    symbol,
                    place,
                    variable_type,
                    bytes: variable_type.bytes?,
                };
                // It is named from everywhere, and its declaration can be written anew.
                if data.space != Some(Space::Shared) || !array.closed().can_be_declared() {
                    return None;
                }
                named.push(array);
            }
        }
    }
    let mut total = 0u32;
    for array in &named {
        total = total.checked_add(array.closed().bytes?)?;
    }
    (total <= MOST_BYTES && !named.is_empty()).then_some(named)
}

impl Array {
    fn is_at(&self, place: Place) -> bool {
        match (self.place, place) {
            (Place::Module(own, _), Place::Module(other, _)) => own == other,
            (own, other) => own == other,
        }
    }
}

/// The type of an array whose size is given at launch, as if it had none.
fn given_at_launch(environment: &Environment, global: Global) -> Option<VariableType> {
    let variable = environment.module()?.variable(global)?;
    let is_given = variable.space == Some(Space::Shared)
        && variable.linkage == Linkage::Extern
        && variable.variable_type.bytes.is_none_or(|bytes| bytes == 0);
    is_given.then_some(VariableType {
        bytes: Some(0),
        ..variable.variable_type
    })
}

/// The type of an array of the module, if the kernel can have one of its own instead: the module says how large it is, and no debugger looks
/// for it by its name.
fn of_module(environment: &Environment, global: Global) -> Option<VariableType> {
    let module = environment.module()?;
    let variable = module.variable(global)?;
    // Of several that are common, the linker takes the largest.
    let is_defined = matches!(
        variable.linkage,
        Linkage::Internal | Linkage::Visible | Linkage::Weak
    );
    (variable.space == Some(Space::Shared) && is_defined && !module.is_debug)
        .then_some(variable.variable_type)
}
