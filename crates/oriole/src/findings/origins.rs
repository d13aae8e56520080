//! Where it comes from that a value differs from lane to lane.
//!
//! Uniformity says which values may differ. That is right for passes and too much for findings: a value that was exchanged between lanes
//! (`shfl`, `vote`) or came out of a call may well be the same in all. So it is looked for a reason why it differs: the number of the lane,
//! or something loaded through an address that differs.

use super::Subject;
use oriole_ir::{AccessKind, Function, Instruction, Operand, SymbolKind, Value};
use oriole_isa::{Component, SpecialRegister, SpecialRegisterKind};

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

    /// Whether it is known to differ, as a rule.
    pub fn differs(self) -> bool {
        self.0 & Origin::EXCHANGED == 0 && self.0 & (Origin::LANE | Origin::DATA) != 0
    }

    /// Whether it differs by more than the distance between lanes: by data, or by what floats were computed to. Integers that are computed
    /// from the lane alone (how many iterations are left behind an unrolled loop) are much alike in the lanes of a warp.
    pub fn differs_widely(self) -> bool {
        self.differs() && self.0 & (Origin::DATA | Origin::FLOAT) != 0
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
                            let own = found[argument.index()] | decided;
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
        (SpecialRegisterKind::Tid, Some(Component::Z)) => !(x * y).is_multiple_of(warp),
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
