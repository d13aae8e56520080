//! One instruction of the tree to one operation.

use oriole_isa::{
    BooleanOperation, Flag, Mnemonic, Opcode, Role, ScalarType, Scope, Space, SpecialRegister,
};
use oriole_syntax::scopes::Reference;
use oriole_syntax::tree::{Guard, Instruction, Operand, OperandKind, Prefix, Siblings};

use super::function::Decoder;
use super::operands::Problem;
use crate::approximations::is_approximate;
use crate::lanes::{self, Direct};
use crate::memory::{FRAME_PARAMETERS, LOCAL_WINDOW, PARAMETER_WINDOW, SHARED_WINDOW};
use crate::program::{
    CONSTANT, Destination, General, Kind, MOST_SOURCES, NONE, PredicateSource, Selectors, Source,
    Special, SpecialOperand,
};
use crate::special::Family;

impl<'module> Decoder<'_, 'module> {
    pub(super) fn instruction(&mut self, instruction: &Instruction) {
        let text = self.context.module.text(instruction.mnemonic);
        let mnemonic = self.mnemonic(text);
        let guard = match self.body.guard(instruction) {
            None => Ok(PredicateSource::TRUE),
            Some(node) => self.predicate(std::slice::from_ref(node)).map(|source| {
                PredicateSource(source.0 ^ u32::from(instruction.guard == Guard::IfNot))
            }),
        };
        let operands: Vec<&'module [Operand]> = self.body.operand_list(instruction).collect();
        let kind = guard.clone().and_then(|_| self.kind(&mnemonic, &operands));
        match kind {
            Ok(kind) => {
                self.push(kind, guard.unwrap_or(PredicateSource::TRUE));
                let sums = matches!(mnemonic.opcode(), Opcode::Add | Opcode::Sub | Opcode::Mul);
                if let Some(last) = self.function.code.last_mut() {
                    last.contracts = sums && mnemonic.modifiers().rounding.is_none();
                }
            }
            Err(problem) => {
                let index = self.function.messages.len() as u32;
                self.function
                    .messages
                    .push(format!("`{text}` is not emulated: {problem}"));
                self.push(
                    Kind::Unsupported(index),
                    guard.unwrap_or(PredicateSource::TRUE),
                );
            }
        }
    }

    fn kind(
        &mut self,
        mnemonic: &Mnemonic,
        operands: &[&'module [Operand]],
    ) -> Result<Kind, Problem> {
        use Opcode::*;
        if mnemonic.is_opaque() {
            return Err("the instruction or a modifier is unknown".to_string());
        }
        if mnemonic.opcode() != Call && mnemonic.operand_roles(operands.len()).is_none() {
            return Err(format!("it does not take {} operands", operands.len()));
        }
        match mnemonic.opcode() {
            Mov => self.mov(mnemonic, operands),
            Setp => self.setp(mnemonic, operands),
            Selp => self.selp(mnemonic, operands),
            And | Or | Xor | Not if mnemonic.first_type() == Some(ScalarType::Pred) => {
                self.predicate_logic(mnemonic, operands)
            }
            Lop3 if mnemonic.modifiers().boolean.is_none() => Ok(Kind::Lop3 {
                d: self.first_register(operands[0])?.slot,
                a: self.value(operands[1], ScalarType::B32)?,
                b: self.value(operands[2], ScalarType::B32)?,
                c: self.value(operands[3], ScalarType::B32)?,
                table: self.integer(operands[4])? as u8,
            }),
            Cvta => self.cvta(mnemonic, operands),
            Ld | Ldu | St => self.access(mnemonic, operands),
            Atom | Red => self.atomic(mnemonic, operands),
            Bra => match self.reference(&operands[0][0]) {
                Reference::Label(label) => Ok(Kind::Branch { target: label }),
                _ => Err("the target is not a label".to_string()),
            },
            BrxIdx => self.branch_indexed(operands),
            Call => self.call(operands),
            Ret => Ok(Kind::Return),
            Exit => Ok(Kind::Exit),
            Membar | Fence => Ok(Kind::Fence(
                mnemonic.modifiers().scope.unwrap_or(Scope::Device),
            )),
            MembarProxy
            | FenceProxy
            | Prefetch
            | Prefetchu
            | Applypriority
            | Discard
            | Pmevent
            | Brkpt
            | Setmaxnreg
            | Griddepcontrol
            | WgmmaFence
            | WgmmaCommitGroup
            | WgmmaWaitGroup
            | CpAsyncBulkPrefetch
            | CpAsyncBulkPrefetchTensor
            | CpAsyncBulkCommitGroup
            | CpAsyncBulkWaitGroup => Ok(Kind::Nothing),
            opcode if Family::of(opcode).is_some() => self.special(mnemonic, operands),
            _ => self.value_instruction(mnemonic, operands),
        }
    }

    fn selp(
        &mut self,
        mnemonic: &Mnemonic,
        operands: &[&'module [Operand]],
    ) -> Result<Kind, Problem> {
        let scalar_type = mnemonic.first_type().ok_or("no type")?;
        let d = self.first_register(operands[0])?;
        if d.bits != scalar_type.bits() {
            return self.general(mnemonic, operands);
        }
        Ok(Kind::Select {
            d: d.slot,
            a: self.value(operands[1], scalar_type)?,
            b: self.value(operands[2], scalar_type)?,
            p: self.predicate(operands[3])?,
        })
    }

    fn branch_indexed(&mut self, operands: &[&'module [Operand]]) -> Result<Kind, Problem> {
        let index = self.value(operands[0], ScalarType::U32)?;
        let Reference::Label(label) = self.reference(&operands[1][0]) else {
            return Err("the list of targets is not a label".to_string());
        };
        let targets = self
            .scopes
            .branch_targets
            .get(&label)
            .ok_or("the label names no list of targets")?
            .clone();
        self.function.tables.push(targets);
        Ok(Kind::BranchIndexed {
            index,
            table: self.function.tables.len() as u32 - 1,
        })
    }

    fn predicate_logic(
        &mut self,
        mnemonic: &Mnemonic,
        operands: &[&'module [Operand]],
    ) -> Result<Kind, Problem> {
        Ok(Kind::PredicateLogic {
            operation: match mnemonic.opcode() {
                Opcode::And => BooleanOperation::And,
                Opcode::Or => BooleanOperation::Or,
                _ => BooleanOperation::Xor,
            },
            p: self.predicate_destination(operands[0])?,
            a: self.predicate(operands[1])?,
            // A negation is an exclusive or with true.
            b: match mnemonic.opcode() {
                Opcode::Not => PredicateSource::TRUE,
                _ => self.predicate(operands[2])?,
            },
        })
    }

    fn mov(
        &mut self,
        mnemonic: &Mnemonic,
        operands: &[&'module [Operand]],
    ) -> Result<Kind, Problem> {
        let scalar_type = mnemonic.first_type().ok_or("no type")?;
        let (destination, source) = (operands[0], operands[1]);
        if scalar_type == ScalarType::Pred {
            let a = self.predicate(source)?;
            return Ok(Kind::PredicateLogic {
                operation: BooleanOperation::Or,
                p: self.predicate_destination(destination)?,
                a,
                b: a,
            });
        }
        let width = mnemonic.modifiers().vector;
        let (to, from) = (
            self.vector_register(destination),
            self.vector_register(source),
        );
        if let (Some(to), Some(_), None) = (to, from, width) {
            // Both are vector registers: element by element.
            let text = format!("mov.v{}.b{}", to.0, to.1);
            return self.general(&Mnemonic::parse(&text), operands);
        }
        let is_vector = |nodes: &[Operand]| nodes[0].kind == OperandKind::Vector;
        if is_vector(destination)
            || is_vector(source)
            || to.is_some()
            || from.is_some()
            || width.is_some()
            || scalar_type.bits() > 64
        {
            return self.general(mnemonic, operands);
        }
        let d = self.first_register(destination)?;
        let node = &source[0];
        if node.kind == OperandKind::Name
            && self.reference(node) == Reference::Special
            && self.literal(node).is_none()
        {
            let text = self.context.module.text(node.text);
            let register =
                SpecialRegister::from_text(text).ok_or_else(|| format!("`{text}` is unknown"))?;
            return Ok(Kind::SpecialRegister {
                d: d.slot,
                register,
                bits: d.bits,
            });
        }
        let a = self.value(source, scalar_type)?;
        // A narrow move into a wide register, or the reverse, extends.
        let widths_match = d.bits == scalar_type.bits()
            && self
                .register(node)
                .is_none_or(|register| register.bits == scalar_type.bits());
        if widths_match {
            Ok(Kind::Move { d: d.slot, a })
        } else {
            self.general(mnemonic, operands)
        }
    }

    fn setp(
        &mut self,
        mnemonic: &Mnemonic,
        operands: &[&'module [Operand]],
    ) -> Result<Kind, Problem> {
        let scalar_type = mnemonic.first_type().ok_or("no type")?;
        let widths_match = operands[1..3].iter().all(|nodes| {
            self.register(&nodes[0])
                .is_none_or(|register| register.bits == scalar_type.bits())
        });
        let Some(Direct::Compare(comparator)) = lanes::direct(mnemonic, 1).filter(|_| widths_match)
        else {
            return self.general(mnemonic, operands);
        };
        let (p, q) = if operands[0][0].kind == OperandKind::Pair {
            let mut pair = Siblings::below(operands[0]);
            let (p, q) = (
                pair.next().ok_or("an empty pair")?,
                pair.next().ok_or("an empty pair")?,
            );
            (
                self.predicate_destination(p)?,
                self.predicate_destination(q)?,
            )
        } else {
            (self.predicate_destination(operands[0])?, NONE)
        };
        match mnemonic.modifiers().boolean {
            Some(with) if q == NONE => Ok(Kind::CompareAnd {
                comparator,
                p,
                a: self.value(operands[1], scalar_type)?,
                b: self.value(operands[2], scalar_type)?,
                with,
                c: self.predicate(operands[3])?,
            }),
            Some(_) => self.general(mnemonic, operands),
            None => {
                let (a, b) = (
                    self.value(operands[1], scalar_type)?,
                    self.value(operands[2], scalar_type)?,
                );
                Ok(Kind::Compare {
                    comparator,
                    p,
                    q,
                    a,
                    b,
                })
            }
        }
    }

    fn cvta(
        &mut self,
        mnemonic: &Mnemonic,
        operands: &[&'module [Operand]],
    ) -> Result<Kind, Problem> {
        let d = self.first_register(operands[0])?;
        let a = self.value(operands[1], ScalarType::U64)?;
        let window = match mnemonic.space().unwrap_or(Space::Generic) {
            Space::Shared | Space::SharedCluster => SHARED_WINDOW,
            Space::Local => LOCAL_WINDOW,
            Space::Param | Space::ParamEntry | Space::ParamFunc if self.function.is_entry => {
                PARAMETER_WINDOW
            }
            Space::Param | Space::ParamEntry | Space::ParamFunc => LOCAL_WINDOW - FRAME_PARAMETERS,
            _ => 0,
        };
        let add = if mnemonic.has(Flag::ToSpace) {
            window.wrapping_neg()
        } else {
            window
        };
        Ok(Kind::AddressShift { d: d.slot, a, add })
    }

    /// A value instruction: a direct loop where there is one.
    fn value_instruction(
        &mut self,
        mnemonic: &Mnemonic,
        operands: &[&'module [Operand]],
    ) -> Result<Kind, Problem> {
        let count = operands.len();
        let widths_match = (0..count).all(|index| {
            let register = self.register(&operands[index][0]);
            let wanted = mnemonic.operand_type(index, count).map(ScalarType::bits);
            // Conversions know the widths of their registers.
            register.is_none_or(|register| {
                Some(register.bits) == wanted
                    || (mnemonic.opcode() == Opcode::Cvt && register.bits > 1)
            })
        });
        let destination = operands.first().and_then(|nodes| self.register(&nodes[0]));
        let simple = operands.iter().all(|nodes| {
            nodes.len() == 1 && nodes[0].prefix != Prefix::Minus
                || self.literal(&nodes[0]).is_some()
        });
        if let Some(destination) = destination.filter(|_| widths_match && simple)
            && destination.bits > 1
            && !(self.context.approximations.is_some() && is_approximate(mnemonic))
            && let Some(direct) = lanes::direct(mnemonic, destination.bits)
        {
            let value = |decoder: &mut Self, index: usize| {
                let scalar_type = mnemonic
                    .operand_type(index, count)
                    .ok_or("an operand without a type")?;
                decoder.value(operands[index], scalar_type)
            };
            let d = destination.slot;
            match (direct, count) {
                (Direct::Unary(operation), 2) => {
                    return Ok(Kind::Unary {
                        operation,
                        d,
                        a: value(self, 1)?,
                    });
                }
                (Direct::Binary(operation), 3) => {
                    return Ok(Kind::Binary {
                        operation,
                        d,
                        a: value(self, 1)?,
                        b: value(self, 2)?,
                    });
                }
                (Direct::Ternary(operation), 4) => {
                    return Ok(Kind::Ternary {
                        operation,
                        d,
                        a: value(self, 1)?,
                        b: value(self, 2)?,
                        c: value(self, 3)?,
                    });
                }
                _ => {}
            }
        }
        self.general(mnemonic, operands)
    }

    /// Adds the registers that an operand writes; those of a vector that is unpacked have parts of the type.
    fn destinations(
        &mut self,
        nodes: &[Operand],
        scalar_type: ScalarType,
        unpack: bool,
        destinations: &mut Vec<Destination>,
    ) -> Result<(), Problem> {
        let parts: Vec<&[Operand]> = match nodes[0].kind {
            OperandKind::Vector | OperandKind::Pair => Siblings::below(nodes).collect(),
            _ => vec![nodes],
        };
        let whole = self.vector_register(nodes);
        let each = whole.map_or(parts.len().max(1) as u32, |(count, _)| count);
        for part in parts {
            if part[0].kind == OperandKind::Sink {
                destinations.push(Destination::Sink);
                continue;
            }
            for register in self.registers_of(part)? {
                destinations.push(if register.bits == 1 {
                    Destination::Predicate(register.slot)
                } else if register.bits > 64 {
                    Destination::Wide(register.slot)
                } else {
                    let scalar_type = if unpack {
                        match scalar_type.bits() / each {
                            8 => ScalarType::B8,
                            16 => ScalarType::B16,
                            32 => ScalarType::B32,
                            _ => ScalarType::B64,
                        }
                    } else {
                        scalar_type
                    };
                    Destination::Value {
                        slot: register.slot,
                        scalar_type,
                        bits: register.bits,
                    }
                });
            }
        }
        Ok(())
    }

    fn general(
        &mut self,
        mnemonic: &Mnemonic,
        operands: &[&'module [Operand]],
    ) -> Result<Kind, Problem> {
        let count = operands.len();
        let roles = mnemonic
            .operand_roles(count)
            .ok_or("this form is unknown")?;
        let mut sources = Vec::new();
        let mut destinations = Vec::new();
        let mut unpack = false;
        let is_video =
            mnemonic.opcode().text().starts_with('v') && mnemonic.opcode() != Opcode::Vote;
        let mut video = is_video.then(Selectors::default);
        for (index, (&nodes, role)) in operands.iter().zip(roles.iter()).enumerate() {
            let scalar_type = mnemonic
                .operand_type(index, count)
                .or(mnemonic.first_type())
                .ok_or("no type")?;
            let member = |decoder: &Self| {
                let text = decoder.context.module.text(nodes[0].text);
                text.rsplit_once('.').map(|(_, member)| member.to_string())
            };
            match role {
                Role::Define => {
                    if let Some(video) = &mut video {
                        video.destination = member(self);
                    }
                    let whole = self.vector_register(nodes);
                    let is_vector = nodes[0].kind == OperandKind::Vector || whole.is_some();
                    unpack |= is_vector
                        && mnemonic.opcode() == Opcode::Mov
                        && mnemonic.modifiers().vector.is_none();
                    self.destinations(nodes, scalar_type, unpack, &mut destinations)?;
                }
                _ => {
                    let parts: Vec<&[Operand]> = match nodes[0].kind {
                        OperandKind::Vector => Siblings::below(nodes).collect(),
                        _ => vec![nodes],
                    };
                    if let Some(video) = &mut video {
                        let negative = nodes[0].prefix == Prefix::Minus;
                        match sources.len() {
                            0 => {
                                video.a = member(self);
                                video.negate_product ^= negative;
                            }
                            1 => {
                                video.b = member(self);
                                video.negate_product ^= negative;
                            }
                            _ => video.negate_c = negative,
                        }
                    }
                    for part in parts {
                        let register = self.register(&part[0]);
                        // A vector register stands for all its elements.
                        if register.is_some() && video.is_none() {
                            let all = self.registers_of(part)?;
                            if all.len() > 1 {
                                sources.extend(
                                    all.into_iter().map(|register| Source::Value(register.slot)),
                                );
                                continue;
                            }
                        }
                        sources.push(match register {
                            Some(register) if register.bits == 1 => {
                                Source::Predicate(self.predicate(part)?)
                            }
                            Some(register) if register.bits > 64 => Source::Wide(register.slot),
                            Some(register) if video.is_some() => Source::Value(register.slot),
                            _ if scalar_type == ScalarType::Pred => {
                                Source::Predicate(self.predicate(part)?)
                            }
                            _ => Source::Value(self.value(part, scalar_type)?),
                        });
                    }
                }
            }
        }
        if sources.len() > MOST_SOURCES {
            return Err(format!("{} operands to read", sources.len()));
        }
        self.function.generals.push(General {
            mnemonic: mnemonic.clone(),
            sources,
            destinations,
            unpack,
            video,
            recorded: self
                .context
                .approximations
                .and_then(|approximations| approximations.of(mnemonic)),
        });
        Ok(Kind::General(self.function.generals.len() as u32 - 1))
    }

    fn special(
        &mut self,
        mnemonic: &Mnemonic,
        operands: &[&'module [Operand]],
    ) -> Result<Kind, Problem> {
        let count = operands.len();
        let roles = mnemonic.operand_roles(count);
        let mut decoded = Vec::new();
        for (index, &nodes) in operands.iter().enumerate() {
            let scalar_type = mnemonic
                .operand_type(index, count)
                .unwrap_or(ScalarType::B64);
            let is_written = roles
                .as_ref()
                .is_some_and(|roles| roles[index] == Role::Define);
            let mut operand = self.special_operand(nodes, scalar_type, is_written)?;
            let is_constant = |slot: &u32| *slot != NONE && slot & CONSTANT != 0;
            let writes_constant = match &operand {
                SpecialOperand::Value(slot) => is_constant(slot),
                SpecialOperand::Vector(slots) => slots.iter().any(is_constant),
                SpecialOperand::Predicate(PredicateSource::TRUE | PredicateSource::FALSE) => true,
                _ => false,
            };
            if is_written && writes_constant {
                return Err(format!("`{}` cannot be written", self.text(&nodes[0])));
            }
            if let SpecialOperand::Address(address) = &mut operand
                && mnemonic.space().is_none()
                && self.names_shared(nodes)
            {
                address.offset = address.offset.wrapping_add(SHARED_WINDOW as i64);
            }
            decoded.push(operand);
        }
        self.function.specials.push(Special {
            mnemonic: mnemonic.clone(),
            operands: decoded,
            kind: self.context.rendezvous_kind(mnemonic),
        });
        Ok(Kind::Special(self.function.specials.len() as u32 - 1))
    }

    fn special_operand(
        &mut self,
        nodes: &[Operand],
        scalar_type: ScalarType,
        is_written: bool,
    ) -> Result<SpecialOperand, Problem> {
        let node = &nodes[0];
        Ok(match node.kind {
            OperandKind::Sink => SpecialOperand::Sink,
            OperandKind::Vector | OperandKind::List => {
                let mut slots = Vec::new();
                for part in Siblings::below(nodes) {
                    let is_dropped = is_written && part[0].kind == OperandKind::Sink;
                    slots.push(match is_dropped {
                        true => NONE,
                        false => self.value(part, scalar_type)?,
                    });
                }
                SpecialOperand::Vector(slots)
            }
            OperandKind::Address => {
                let mut parts = Siblings::below(nodes);
                let base = parts.next().ok_or("an empty address")?;
                let address = self.address(base)?;
                match parts.next() {
                    None => SpecialOperand::Address(address),
                    Some(coordinates) => {
                        let mut slots = Vec::new();
                        for part in Siblings::below(coordinates) {
                            slots.push(self.value(part, ScalarType::S32)?);
                        }
                        SpecialOperand::Tensor(address, slots)
                    }
                }
            }
            OperandKind::Pair => {
                let mut pair = Siblings::below(nodes);
                let (d, p) = (
                    pair.next().ok_or("an empty pair")?,
                    pair.next().ok_or("an empty pair")?,
                );
                let d = match d[0].kind {
                    OperandKind::Sink => NONE,
                    _ => self.first_register(d)?.slot,
                };
                SpecialOperand::Pair(d, self.predicate_destination(p)?)
            }
            _ => match self.register(node) {
                Some(register) if register.bits == 1 => {
                    SpecialOperand::Predicate(self.predicate(nodes)?)
                }
                None if scalar_type == ScalarType::Pred => {
                    SpecialOperand::Predicate(self.predicate(nodes)?)
                }
                _ => SpecialOperand::Value(self.value(nodes, scalar_type)?),
            },
        })
    }
}
