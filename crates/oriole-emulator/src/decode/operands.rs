//! Operands of the tree to slots.

use oriole_isa::{Mnemonic, ScalarType, SpecialRegister};
use oriole_syntax::literal::{self, Literal};
use oriole_syntax::scopes::Reference;
use oriole_syntax::tree::{Operand, OperandKind, Prefix, Siblings};

use super::Place;
use super::function::{Decoder, VariablePlace};
use super::initializer::literal_bits;
use crate::lanes::{self, Direct};
use crate::memory::FRAME_PARAMETERS;
use crate::program::{Address, FRAME, Kind, NONE, PredicateSource};

/// Why an operand cannot be decoded.
pub(super) type Problem = String;

/// A register operand.
#[derive(Clone, Copy, Debug)]
pub(super) struct RegisterOperand {
    pub(super) slot: u32,
    pub(super) bits: u32,
}

impl<'module> Decoder<'_, 'module> {
    pub(super) fn text(&self, operand: &Operand) -> &'module str {
        self.context.module.text(operand.text)
    }

    /// What a name node refers to. Nodes are found by their place in the body's array.
    pub(super) fn reference(&self, node: &Operand) -> Reference {
        let start = self.body.operands.as_ptr_range().start;
        let offset = (std::ptr::from_ref(node) as usize - start as usize) / size_of::<Operand>();
        self.scopes.references[offset]
    }

    /// The register a node names, members of vector registers included.
    pub(super) fn register(&self, node: &Operand) -> Option<RegisterOperand> {
        if node.kind != OperandKind::Name {
            return None;
        }
        let Reference::Register(index) = self.reference(node) else {
            return None;
        };
        let place = self.registers[index as usize];
        let register = &self.scopes.registers[index as usize];
        let mut slot = place.slot;
        if register.vector > 1
            && let Some((_, member)) = self.text(node).rsplit_once('.')
        {
            let element = match member {
                "x" | "r" => 0,
                "y" | "g" => 1,
                "z" | "b" => 2,
                "w" | "a" => 3,
                _ => return None,
            };
            slot += element * place.bits.div_ceil(64);
        }
        Some(RegisterOperand {
            slot,
            bits: place.bits,
        })
    }

    /// Elements, and bits of each, of an operand that is a whole vector register.
    pub(super) fn vector_register(&self, nodes: &[Operand]) -> Option<(u32, u32)> {
        self.register(&nodes[0])?;
        let registers = self.registers_of(nodes).ok()?;
        (registers.len() > 1).then(|| (registers.len() as u32, registers[0].bits))
    }

    /// Whether an address starts with the name of a shared variable.
    pub(super) fn names_shared(&mut self, nodes: &[Operand]) -> bool {
        let mut nodes = nodes;
        while matches!(
            nodes[0].kind,
            OperandKind::Address
                | OperandKind::Sum
                | OperandKind::Difference
                | OperandKind::Element
        ) {
            match Siblings::below(nodes).next() {
                Some(first) => nodes = first,
                None => return false,
            }
        }
        nodes[0].kind == OperandKind::Name
            && matches!(
                self.place(&nodes[0]),
                Ok(VariablePlace::Module(Place::Shared(_)))
            )
    }

    /// The register of an operand, or the first of several.
    pub(super) fn first_register(&self, nodes: &[Operand]) -> Result<RegisterOperand, Problem> {
        let registers = self.registers_of(nodes)?;
        let first = registers.first().filter(|first| first.slot != NONE);
        first
            .copied()
            .ok_or_else(|| "a register is expected".to_string())
    }

    /// All registers of an operand: one, those of a vector, or those of a vector register.
    pub(super) fn registers_of(&self, nodes: &[Operand]) -> Result<Vec<RegisterOperand>, Problem> {
        let node = &nodes[0];
        match node.kind {
            OperandKind::Vector | OperandKind::List => Siblings::below(nodes)
                .map(|nodes| self.registers_of(nodes))
                .try_fold(Vec::new(), |mut all, more| {
                    all.extend(more?);
                    Ok(all)
                }),
            OperandKind::Sink => Ok(vec![RegisterOperand {
                slot: NONE,
                bits: 64,
            }]),
            OperandKind::Name => {
                let register = self
                    .register(node)
                    .ok_or_else(|| format!("`{}` is not a register", self.text(node)))?;
                if let Reference::Register(index) = self.reference(node)
                    && !self.text(node).contains('.')
                {
                    let count = u32::from(self.scopes.registers[index as usize].vector.max(1));
                    let each = register.bits.div_ceil(64);
                    return Ok((0..count)
                        .map(|element| RegisterOperand {
                            slot: register.slot + element * each,
                            bits: register.bits,
                        })
                        .collect());
                }
                Ok(vec![register])
            }
            _ => Err(format!("`{}` is not a register", self.text(node))),
        }
    }

    /// The literal of a number or expression node.
    pub(super) fn literal(&self, node: &Operand) -> Option<Literal> {
        let literal = match node.kind {
            OperandKind::Number => {
                let text = self.text(node);
                literal::parse(text).or_else(|| literal::evaluate(text))?
            }
            OperandKind::Expression => {
                let text = self.text(node);
                literal::evaluate(text)
                    .or_else(|| literal::evaluate(&text.replace("WARP_SZ", "32")))?
            }
            OperandKind::Name if self.text(node) == "WARP_SZ" => Literal::Integer {
                bits: 32,
                unsigned: false,
            },
            _ => return None,
        };
        Some(match (node.prefix, literal) {
            (Prefix::Minus, Literal::Integer { bits, unsigned }) => Literal::Integer {
                bits: bits.wrapping_neg(),
                unsigned,
            },
            (Prefix::Minus, Literal::Single(bits)) => Literal::Single(bits ^ 1 << 31),
            (Prefix::Minus, Literal::Double(bits)) => Literal::Double(bits ^ 1 << 63),
            (Prefix::Not, Literal::Integer { bits, unsigned }) => Literal::Integer {
                bits: u64::from(bits == 0),
                unsigned,
            },
            (_, literal) => literal,
        })
    }

    pub(super) fn integer(&self, nodes: &[Operand]) -> Result<u64, Problem> {
        self.literal(&nodes[0])
            .and_then(Literal::integer)
            .ok_or_else(|| format!("`{}` is not an integer constant", self.text(&nodes[0])))
    }

    /// The slot of a value operand: a register, a constant, a special register or an address.
    pub(super) fn value(
        &mut self,
        nodes: &[Operand],
        scalar_type: ScalarType,
    ) -> Result<u32, Problem> {
        let node = &nodes[0];
        if let Some(literal) = self.literal(node) {
            return Ok(self.constant(literal_bits(literal, scalar_type)));
        }
        match node.kind {
            OperandKind::Name => match self.reference(node) {
                Reference::Register(_) => {
                    let register = self
                        .register(node)
                        .ok_or("an unknown member of a register")?;
                    if register.bits == 1 {
                        return Err(format!("`{}` is a predicate", self.text(node)));
                    }
                    if node.prefix == Prefix::Minus {
                        return Err("a negated register".to_string());
                    }
                    Ok(register.slot)
                }
                Reference::Special => {
                    let text = self.text(node);
                    let register = SpecialRegister::from_text(text)
                        .ok_or_else(|| format!("`{text}` is unknown"))?;
                    let d = self.temporary();
                    self.push(
                        Kind::SpecialRegister {
                            d,
                            register,
                            bits: scalar_type.bits(),
                        },
                        PredicateSource::TRUE,
                    );
                    Ok(d)
                }
                Reference::Variable(_) | Reference::Global(_) => self.address_value(node, 0),
                _ => Err(format!("`{}` has no value", self.text(node))),
            },
            OperandKind::Sum | OperandKind::Difference => {
                let mut children = Siblings::below(nodes);
                let (base, displacement) = (
                    children.next().ok_or("an empty sum")?,
                    children.next().ok_or("an empty sum")?,
                );
                let addend = self.integer(displacement)?;
                let addend = if node.kind == OperandKind::Difference {
                    addend.wrapping_neg()
                } else {
                    addend
                };
                match self.register(&base[0]) {
                    Some(register) => self.register_sum(register, addend),
                    None => self.address_value(&base[0], addend),
                }
            }
            OperandKind::Vector => {
                let mut children = Siblings::below(nodes);
                match (children.next(), children.next()) {
                    (Some(only), None) => self.value(only, scalar_type),
                    _ => Err("a vector where one value is expected".to_string()),
                }
            }
            // `_` takes what an instruction gives; there is nothing in it to read.
            _ => Err(format!("`{}` cannot be read", self.text(node))),
        }
    }

    /// The slot of a register plus a constant, which ptxas takes wherever it takes a value.
    fn register_sum(&mut self, register: RegisterOperand, addend: u64) -> Result<u32, Problem> {
        let add = Mnemonic::parse(&format!("add.u{}", register.bits));
        let Some(Direct::Binary(operation)) = lanes::direct(&add, register.bits) else {
            return Err(format!("a sum of {} bits", register.bits));
        };
        let mask = u64::MAX >> (64 - register.bits);
        let (d, b) = (self.temporary(), self.constant(addend & mask));
        let kind = Kind::Binary {
            operation,
            d,
            a: register.slot,
            b,
        };
        self.push(kind, PredicateSource::TRUE);
        Ok(d)
    }

    /// The slot of the address of a variable or function.
    fn address_value(&mut self, node: &Operand, addend: u64) -> Result<u32, Problem> {
        match self.place(node)? {
            VariablePlace::Frame {
                offset, parameter, ..
            } => {
                let base = if parameter { FRAME_PARAMETERS } else { 0 };
                let d = self.temporary();
                let add = (base + u64::from(offset)).wrapping_add(addend);
                self.push(Kind::FrameAddress { d, add }, PredicateSource::TRUE);
                Ok(d)
            }
            VariablePlace::Kernel { offset } => {
                Ok(self.constant(u64::from(offset).wrapping_add(addend)))
            }
            VariablePlace::Module(Place::Address(address)) => {
                Ok(self.constant(address.wrapping_add(addend)))
            }
            VariablePlace::Module(Place::Shared(variable)) => {
                Ok(self.shared_address(variable, addend))
            }
            VariablePlace::Module(Place::Unknown) => {
                Err(format!("`{}` has no address", self.text(node)))
            }
        }
    }

    /// Where the variable or function of a name node lives.
    pub(super) fn place(&mut self, node: &Operand) -> Result<VariablePlace, Problem> {
        match self.reference(node) {
            Reference::Variable(index) => Ok(self.variables[index as usize]),
            Reference::Global(index) => {
                let place = self.context.places[index as usize];
                if let Place::Address(address) = place
                    && address >> 32 == crate::memory::CODE_WINDOW >> 32
                {
                    let function = ((address - crate::memory::CODE_WINDOW)
                        / crate::memory::CODE_STRIDE) as u32;
                    self.function.mentions.push(function);
                }
                Ok(VariablePlace::Module(place))
            }
            _ => Err(format!("`{}` is not a variable", self.text(node))),
        }
    }

    /// A predicate operand.
    pub(super) fn predicate(&self, nodes: &[Operand]) -> Result<PredicateSource, Problem> {
        let node = &nodes[0];
        if let Some(Literal::Integer { bits, .. }) = self.literal(node) {
            return Ok(if bits != 0 {
                PredicateSource::TRUE
            } else {
                PredicateSource::FALSE
            });
        }
        match self.register(node) {
            Some(register) if register.bits == 1 => Ok(PredicateSource::new(
                register.slot,
                node.prefix == Prefix::Not,
            )),
            _ => Err(format!("`{}` is not a predicate", self.text(node))),
        }
    }

    /// The slot of a predicate destination.
    pub(super) fn predicate_destination(&self, nodes: &[Operand]) -> Result<u32, Problem> {
        match nodes[0].kind {
            OperandKind::Sink => Ok(NONE),
            _ => match self.register(&nodes[0]) {
                Some(register) if register.bits == 1 => Ok(register.slot),
                _ => Err(format!("`{}` is not a predicate", self.text(&nodes[0]))),
            },
        }
    }

    /// A bracketed address; coordinates behind it are left to the caller.
    pub(super) fn address(&mut self, nodes: &[Operand]) -> Result<Address, Problem> {
        let node = &nodes[0];
        match node.kind {
            OperandKind::Address => {
                let inner = Siblings::below(nodes).next().ok_or("an empty address")?;
                self.address(inner)
            }
            OperandKind::Sum | OperandKind::Difference => {
                let mut children = Siblings::below(nodes);
                let (base, displacement) = (
                    children.next().ok_or("an empty sum")?,
                    children.next().ok_or("an empty sum")?,
                );
                let mut address = self.address(base)?;
                let offset = self.integer(displacement)? as i64;
                address.offset = if node.kind == OperandKind::Sum {
                    address.offset.wrapping_add(offset)
                } else {
                    address.offset.wrapping_sub(offset)
                };
                Ok(address)
            }
            OperandKind::Element => {
                let mut children = Siblings::below(nodes);
                let (base, index) = (
                    children.next().ok_or("an empty element")?,
                    children.next().ok_or("an empty element")?,
                );
                let mut address = self.address(base)?;
                let size = self.element_bytes(&base[0]);
                address.offset = address
                    .offset
                    .wrapping_add(self.integer(index)?.wrapping_mul(size) as i64);
                Ok(address)
            }
            OperandKind::Number | OperandKind::Expression => Ok(Address {
                base: NONE,
                offset: self.integer(nodes)? as i64,
            }),
            OperandKind::Name => {
                if let Some(register) = self.register(node) {
                    if register.bits == 1 {
                        return Err(format!("`{}` is no address", self.text(node)));
                    }
                    return Ok(Address {
                        base: register.slot,
                        offset: 0,
                    });
                }
                match self.place(node)? {
                    VariablePlace::Frame { offset, .. } => Ok(Address {
                        base: FRAME,
                        offset: offset.into(),
                    }),
                    VariablePlace::Kernel { offset } => Ok(Address {
                        base: NONE,
                        offset: offset.into(),
                    }),
                    VariablePlace::Module(Place::Address(address)) => Ok(Address {
                        base: NONE,
                        offset: address as i64,
                    }),
                    VariablePlace::Module(Place::Shared(variable)) => Ok(Address {
                        base: self.shared_address(variable, 0),
                        offset: 0,
                    }),
                    VariablePlace::Module(Place::Unknown) => {
                        Err(format!("`{}` has no address", self.text(node)))
                    }
                }
            }
            _ => Err(format!("`{}` is not an address", self.text(node))),
        }
    }

    fn element_bytes(&self, node: &Operand) -> u64 {
        let module = self.context.module;
        let (owner, declaration) = match self.reference(node) {
            Reference::Variable(index) => {
                let variable = &self.scopes.variables[index as usize];
                (
                    if variable.in_header {
                        &module.top
                    } else {
                        self.body
                    },
                    variable.declaration,
                )
            }
            Reference::Global(index) => match self.context.globals.entries[index as usize].1 {
                oriole_syntax::scopes::Global::Variable { declaration, .. } => {
                    (&module.top, declaration)
                }
                _ => return 1,
            },
            _ => return 1,
        };
        let declaration = &owner.declarations[declaration as usize];
        u64::from(super::element_type(module, declaration).bytes())
            * u64::from(declaration.vector.max(1))
    }
}
