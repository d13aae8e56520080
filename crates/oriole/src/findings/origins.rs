//! Where it comes from that a value differs from lane to lane.
//!
//! Uniformity says which values may differ. That is right for passes and too much for findings: a value that was exchanged between lanes
//! (`shfl`, `vote`) or came out of a call may well be the same in all. So it is looked for a reason why it differs: the number of the lane,
//! or something loaded through an address that differs.

use super::Subject;
use oriole_ir::{AccessKind, Block, Definition, Function, Instruction, Operand, SymbolKind, Value};
use oriole_isa::{Component, Opcode, ScalarType, SpecialRegister, SpecialRegisterKind};

use std::collections::{BTreeMap, BTreeSet};

/// Reasons, as a set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Origin(u8);

impl Origin {
    /// The number of the lane.
    const LANE: u8 = 1;
    /// Something loaded from where the lane says.
    const DATA: u8 = 2;
    /// Nobody knows whether it differs.
    const EXCHANGED: u8 = 4;
    /// It went through arithmetic on floats.
    const FLOAT: u8 = 8;
    /// A loop updated it by a step that differs between lanes.
    const ITERATED: u8 = 16;

    /// Whether it is known to differ, as a rule.
    pub fn differs(self) -> bool {
        self.0 & Origin::EXCHANGED == 0 && self.0 & (Origin::LANE | Origin::DATA) != 0
    }

    /// Whether the lanes of a warp have widely different values. Loaded data, floating-point results and nonlinear updates in a loop
    /// (Collatz' sequence) differ widely. Other integers computed from the lane id, such as the remaining iterations after an unrolled
    /// loop, are close to each other.
    pub fn differs_widely(self) -> bool {
        self.differs() && self.0 & (Origin::DATA | Origin::FLOAT | Origin::ITERATED) != 0
    }

    /// Whether it differs by data.
    pub fn is_data(self) -> bool {
        self.differs() && self.0 & Origin::DATA != 0
    }
}

/// The origins of all values.
pub(super) struct Origins(Vec<u8>);

/// Rounds over the function, at most.
const MOST_ROUNDS: usize = 16;

impl Origins {
    /// Finds the origins of all values.
    pub fn of(subject: &Subject<'_>) -> Origins {
        let function = subject.function;
        let mut found = vec![0u8; function.values().len()];
        let mut steps = Steps {
            subject,
            differ: BTreeMap::new(),
        };
        for _ in 0..MOST_ROUNDS {
            let mut changes = false;
            for &block in subject.flow.reverse_postorder() {
                for instruction in function.instructions_of(block) {
                    let own = of_instruction(subject, instruction, &found);
                    for result in function.results(instruction) {
                        if !subject.uniform.is_uniform(result) {
                            changes |= add(&mut found, result, own);
                        }
                    }
                }
                for edge in function.edges(block) {
                    let decided = of_joins(subject, edge.target, &found);
                    let parameters = &function.blocks()[edge.target].parameters;
                    let arguments = function.arguments(*edge);
                    for (&parameter, &argument) in parameters.iter().zip(arguments) {
                        if !subject.uniform.is_uniform(parameter) {
                            let mut own = found[argument.index()] | decided;
                            if own & Origin::LANE != 0
                                && steps.differ(block, edge.target, parameter, argument)
                            {
                                own |= Origin::ITERATED;
                            }
                            changes |= add(&mut found, parameter, own);
                        }
                    }
                }
            }
            // Without loops everything comes behind what it is computed from.
            if !changes || !subject.has_cycles() {
                return Origins(found);
            }
        }
        found.fill(Origin::EXCHANGED);
        Origins(found)
    }

    /// The origin of a value.
    pub fn get(&self, value: Value) -> Origin {
        Origin(self.0[value.index()])
    }
}

/// Classifies the updates of header parameters along back edges.
struct Steps<'a> {
    subject: &'a Subject<'a>,
    /// The results so far, by header parameter and its value in the next iteration.
    differ: BTreeMap<(Value, Value), bool>,
}

/// Values that a step is computed from, at most.
const MOST_STEPS: usize = 64;

impl Steps<'_> {
    /// Whether a back edge updates a header parameter by something else than `a * parameter + b` with uniform `a` and `b`. Such a linear
    /// update keeps lanes near each other that start near each other.
    fn differ(&mut self, from: Block, header: Block, parameter: Value, next: Value) -> bool {
        let loops = &self.subject.loops;
        let this = loops.innermost(header);
        let goes_back =
            this.is_some_and(|this| loops.header(this) == header && loops.contains(this, from));
        if !goes_back {
            return false;
        }
        if let Some(&known) = self.differ.get(&(parameter, next)) {
            return known;
        }
        let differ = self.is_not_linear(parameter, next);
        self.differ.insert((parameter, next), differ);
        differ
    }

    fn is_not_linear(&self, parameter: Value, next: Value) -> bool {
        let (function, uniform) = (self.subject.function, &self.subject.uniform);
        let mut seen = BTreeSet::from([parameter]);
        let mut stack = vec![next];
        while let Some(value) = stack.pop() {
            if uniform.is_uniform(value) || !seen.insert(value) {
                continue;
            }
            // Over budget: report nothing.
            if seen.len() > MOST_STEPS {
                return false;
            }
            match function.values()[value].definition {
                Definition::Instruction(made) => {
                    let opcode = function.format(made).mnemonic.opcode();
                    // One of two numbers, by lane: Numba counts down by one or by none.
                    let mut uses = function.uses(made);
                    let is_number = |own: Value| {
                        uniform.is_uniform(own)
                            || function.values()[own].scalar_type == ScalarType::Pred
                    };
                    if opcode == Opcode::Selp && uses.all(is_number) {
                        continue;
                    }
                    let is_divergent =
                        |guard: Operand| guard.value().is_some_and(|own| !uniform.is_uniform(own));
                    if !is_linear(opcode) || function.guard(made).is_some_and(is_divergent) {
                        return true;
                    }
                    stack.extend(function.uses(made));
                }
                Definition::Parameter(block) => {
                    if uniform.is_divergent_join(block) {
                        return true;
                    }
                    let parameters = &function.blocks()[block].parameters;
                    let place = parameters.iter().position(|&own| own == value);
                    for from in self.subject.flow.predecessors(block) {
                        let edges = function.edges(from).iter();
                        for &edge in edges.filter(|edge| edge.target == block) {
                            stack.extend(place.map(|place| function.arguments(edge)[place]));
                        }
                    }
                }
                Definition::Undefined => {}
            }
        }
        false
    }
}

/// Whether the opcode computes a linear combination of its operands, exactly or rounded.
fn is_linear(opcode: Opcode) -> bool {
    matches!(
        opcode,
        Opcode::Add
            | Opcode::Sub
            | Opcode::Mul
            | Opcode::Mad
            | Opcode::Neg
            | Opcode::Shl
            | Opcode::Shr
            | Opcode::Mov
            | Opcode::Cvt
    )
}

fn add(found: &mut [u8], value: Value, own: u8) -> bool {
    let old = found[value.index()];
    found[value.index()] |= own;
    found[value.index()] != old
}

/// What decides by which edge lanes come to a block.
fn of_joins(subject: &Subject<'_>, block: oriole_ir::Block, found: &[u8]) -> u8 {
    if !subject.uniform.is_divergent_join(block) {
        return 0;
    }
    let Some(causes) = subject.uniform.join_causes(block) else {
        return Origin::EXCHANGED;
    };
    let function = subject.function;
    let mut all = 0;
    for branch in causes {
        let last = function.last_instruction(branch);
        if let Some(Operand::Value(predicate)) = last.and_then(|last| function.guard(last)) {
            all |= found[predicate.index()];
        }
    }
    all
}

fn of_instruction(subject: &Subject<'_>, instruction: Instruction, found: &[u8]) -> u8 {
    let function = subject.function;
    let format = function.format(instruction);
    let operands = of_operands(subject, function, instruction, found);
    if let Some(access) = function.access(instruction) {
        return match (access.kind, operands) {
            (AccessKind::Atomic, _) => Origin::DATA,
            // An address that is the same in all lanes, or that was exchanged.
            (_, own) if own & (Origin::LANE | Origin::DATA) == 0 => own & Origin::EXCHANGED,
            (_, own) => Origin::DATA | own & Origin::EXCHANGED,
        };
    }
    if !format.is_pure() || format.opaque {
        return Origin::EXCHANGED;
    }
    let is_float = format
        .mnemonic
        .first_type()
        .is_some_and(|own| own.is_float());
    match is_float && operands != 0 {
        true => operands | Origin::FLOAT,
        false => operands,
    }
}

fn of_operands(
    subject: &Subject<'_>,
    function: &Function,
    instruction: Instruction,
    found: &[u8],
) -> u8 {
    let mut all = 0;
    for &operand in function.operands(instruction) {
        all |= match operand {
            Operand::Value(value) => found[value.index()],
            Operand::Register(_) => Origin::EXCHANGED,
            Operand::Symbol(symbol) => match function.symbols()[symbol].kind {
                SymbolKind::Special(special) => of_special(subject, special),
                _ => 0,
            },
            _ => 0,
        };
    }
    all
}

fn of_special(subject: &Subject<'_>, special: SpecialRegister) -> u8 {
    let [x, y, _] = subject.setting.block;
    let warp = 32;
    let differs = match (special.kind(), special.component()) {
        (SpecialRegisterKind::Laneid, _) => true,
        (SpecialRegisterKind::Tid, Some(Component::X)) => x > 1,
        (SpecialRegisterKind::Tid, Some(Component::Y)) => !x.is_multiple_of(warp) && y > 1,
        (SpecialRegisterKind::Tid, Some(Component::Z)) => !x.wrapping_mul(y).is_multiple_of(warp),
        (
            SpecialRegisterKind::LanemaskEq
            | SpecialRegisterKind::LanemaskGe
            | SpecialRegisterKind::LanemaskGt
            | SpecialRegisterKind::LanemaskLe
            | SpecialRegisterKind::LanemaskLt,
            _,
        ) => true,
        _ => false,
    };
    match differs {
        true => Origin::LANE,
        false => 0,
    }
}
