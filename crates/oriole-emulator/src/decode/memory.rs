//! Loads, stores and atomics.

use oriole_isa::{Mnemonic, Opcode, ScalarType, Scope, Semantics, Space};
use oriole_syntax::tree::{Operand, OperandKind, Siblings};

use super::function::Decoder;
use super::operands::Problem;
use crate::program::{Access, Address, Atomic, FRAME, Kind, NONE, Order};

/// How a strong access or an atomic is ordered; `scope` where none is written.
pub(super) fn order_of(mnemonic: &Mnemonic, scope: Scope) -> Order {
    use Semantics::{Acquire, AcquireRelease, Release};
    let semantics = mnemonic.modifiers().semantics;
    Order {
        scope: mnemonic.modifiers().scope.unwrap_or(scope),
        acquires: matches!(semantics, Some(Acquire | AcquireRelease)),
        releases: matches!(semantics, Some(Release | AcquireRelease)),
    }
}

impl<'module> Decoder<'_, 'module> {
    pub(super) fn access(
        &mut self,
        mnemonic: &Mnemonic,
        operands: &[&'module [Operand]],
    ) -> Result<Kind, Problem> {
        let is_store = mnemonic.opcode() == Opcode::St;
        let (memory, data) = if is_store {
            (operands[0], operands[1])
        } else {
            (operands[1], operands[0])
        };
        let scalar_type = mnemonic.first_type().ok_or("no type")?;
        let address = self.address(memory)?;
        let space = self.space_of(mnemonic, memory, address);
        let mut register_bits = 0;
        let registers: Vec<u32> = if is_store {
            let parts: Vec<&[Operand]> = match data[0].kind {
                OperandKind::Vector => Siblings::below(data).collect(),
                _ => vec![data],
            };
            let mut slots = Vec::new();
            for part in parts {
                match self.register(&part[0]) {
                    Some(_) => slots.extend(
                        self.registers_of(part)?
                            .into_iter()
                            .map(|register| register.slot),
                    ),
                    None => slots.push(self.value(part, scalar_type)?),
                }
            }
            slots
        } else {
            let registers = self.registers_of(data)?;
            register_bits = registers
                .iter()
                .map(|register| register.bits)
                .max()
                .unwrap_or(64);
            registers
                .into_iter()
                .map(|register| register.slot)
                .collect()
        };
        if registers.len() != mnemonic.vector_width() as usize {
            return Err(format!(
                "{} registers for {} elements",
                registers.len(),
                mnemonic.vector_width()
            ));
        }
        let modifiers = mnemonic.modifiers();
        let volatile = modifiers.semantics == Some(Semantics::Volatile)
            || modifiers.cache_operator == Some(oriole_isa::CacheOperator::Volatile);
        let strong = matches!(
            modifiers.semantics,
            Some(Semantics::Relaxed | Semantics::Acquire | Semantics::Release)
        );
        let order = (volatile || strong).then(|| order_of(mnemonic, Scope::System));
        let width = scalar_type.bytes() * registers.len() as u32;
        self.function.accesses.push(Access {
            space,
            address,
            scalar_type,
            registers,
            register_bits,
            order,
            width,
        });
        let index = self.function.accesses.len() as u32 - 1;
        Ok(if is_store {
            Kind::Store(index)
        } else {
            Kind::Load(index)
        })
    }

    /// The state space of an access. Parameters of functions and arguments of calls live in the frame; the name of a shared
    /// variable in a generic access stands for its generic address.
    pub(super) fn space_of(
        &mut self,
        mnemonic: &Mnemonic,
        memory: &[Operand],
        address: Address,
    ) -> Space {
        match mnemonic.space().unwrap_or(Space::Generic) {
            _ if address.base == FRAME => Space::Local,
            Space::Generic if self.names_shared(memory) => Space::Shared,
            space => space,
        }
    }

    pub(super) fn atomic(
        &mut self,
        mnemonic: &Mnemonic,
        operands: &[&'module [Operand]],
    ) -> Result<Kind, Problem> {
        let is_red = mnemonic.opcode() == Opcode::Red;
        let first = usize::from(!is_red);
        let scalar_type = mnemonic.first_type().ok_or("no type")?;
        let operation = mnemonic.modifiers().operation.ok_or("no operation")?;
        let destinations = if is_red {
            Vec::new()
        } else {
            self.registers_of(operands[0])?
                .into_iter()
                .map(|register| register.slot)
                .collect()
        };
        let address = self.address(operands[first])?;
        let data = operands[first + 1];
        let vector = data[0].kind == OperandKind::Vector;
        let sources = if vector || self.register(&data[0]).is_some() {
            self.registers_of(data)?
                .into_iter()
                .map(|register| register.slot)
                .collect()
        } else {
            vec![self.value(data, scalar_type)?]
        };
        let compare_and_swap = operation == oriole_isa::ReductionOperation::CompareAndSwap;
        let compare = if compare_and_swap {
            self.value(
                operands.get(first + 2).ok_or("no value to swap in")?,
                scalar_type,
            )?
        } else {
            NONE
        };
        let floating = scalar_type.is_float();
        let arithmetic = match operation {
            oriole_isa::ReductionOperation::Add if floating => Some(format!(
                "add.rn{}.{}",
                if scalar_type == ScalarType::F32 && mnemonic.space() != Some(Space::Shared) {
                    ".ftz"
                } else {
                    ""
                },
                scalar_type.text()
            )),
            oriole_isa::ReductionOperation::Min if floating => {
                Some(format!("min.{}", scalar_type.text()))
            }
            oriole_isa::ReductionOperation::Max if floating => {
                Some(format!("max.{}", scalar_type.text()))
            }
            _ => None,
        };
        // Atomic additions in global memory flush subnormal numbers; those in shared memory do not.
        let arithmetic = arithmetic.map(|text| Mnemonic::parse(&text));
        if arithmetic.as_ref().is_some_and(Mnemonic::is_opaque) {
            return Err("the arithmetic is unknown".to_string());
        }
        let space = self.space_of(mnemonic, operands[first], address);
        self.function.atomics.push(Atomic {
            space,
            address,
            operation,
            scalar_type,
            destinations,
            sources,
            compare,
            order: order_of(mnemonic, Scope::Device),
            mnemonic: arithmetic,
        });
        Ok(Kind::Atomic(self.function.atomics.len() as u32 - 1))
    }
}
