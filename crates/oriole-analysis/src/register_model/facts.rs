//! What is asked of every instruction of a function again and again, found once: by format where its format says it.

use oriole_ir::{Function, Instruction, Operand};
use oriole_isa::{Flag, Opcode, ScalarType, Space};

/// Facts of an instruction, as bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Fact(u16);

impl Fact {
    /// Nothing that touches memory, and nothing else of this kind, may pass it.
    pub(super) const FENCE: Fact = Fact(1);
    /// Its results depend on its operands only, and nothing else happens.
    pub(super) const PURE: Fact = Fact(1 << 1);
    /// It loads, and not a parameter.
    pub(super) const LOAD: Fact = Fact(1 << 2);
    /// It stays even if nobody reads its results: it has effects, or writes a register that is no value.
    pub(super) const STAYS: Fact = Fact(1 << 3);
    /// `ptxas` calls a routine of its own for it, at least for unusual operands.
    pub(super) const SLOW_PATH: Fact = Fact(1 << 4);
    /// It calls a function.
    pub(super) const CALL: Fact = Fact(1 << 5);
    /// Its result may be another name of a value, or take no register: a copy, a cast or a load without a guard.
    pub(super) const FOLDS: Fact = Fact(1 << 6);
    /// An integer sum without a guard and carries.
    pub(super) const SUM: Fact = Fact(1 << 7);
    /// It names something.
    pub(super) const SYMBOL: Fact = Fact(1 << 8);
    /// Of a format: its facts were found.
    const KNOWN: Fact = Fact(1 << 15);

    #[inline]
    fn and(self, other: Fact) -> Fact {
        Fact(self.0 | other.0)
    }

    /// Whether another fact is among them.
    #[inline]
    pub(super) fn has(self, fact: Fact) -> bool {
        self.0 & fact.0 != 0
    }
}

/// The facts of all instructions of a function.
pub(super) struct Facts {
    facts: Vec<Fact>,
}

impl Facts {
    pub(super) fn of(function: &Function) -> Facts {
        let mut by_format: Vec<Fact> = Vec::new();
        let mut facts = vec![Fact::default(); function.instruction_bound()];
        for &block in function.block_order() {
            for instruction in function.instructions_of(block) {
                let format = function.instruction(instruction).format.index();
                if format >= by_format.len() {
                    by_format.resize(format + 1, Fact::default());
                }
                if !by_format[format].has(Fact::KNOWN) {
                    by_format[format] = of_format(function, instruction);
                }
                let mut own = by_format[format];
                for operand in function.operands(instruction) {
                    match operand {
                        // What touches a register that is no value keeps its place and stays.
                        Operand::Register(_) => own = own.and(Fact::FENCE).and(Fact::STAYS),
                        Operand::Symbol(_) => own = own.and(Fact::SYMBOL),
                        _ => {}
                    }
                }
                facts[instruction.index()] = own;
            }
        }
        Facts { facts }
    }

    /// All facts of an instruction.
    #[inline]
    pub(super) fn of_instruction(&self, instruction: Instruction) -> Fact {
        self.facts[instruction.index()]
    }

    /// Whether a fact is one of an instruction.
    #[inline]
    pub(super) fn is(&self, instruction: Instruction, fact: Fact) -> bool {
        self.facts[instruction.index()].has(fact)
    }
}

/// Whether an instruction loads, and not a parameter.
pub(super) fn is_load(function: &Function, instruction: Instruction) -> bool {
    let format = function.format(instruction);
    matches!(
        format.mnemonic.opcode(),
        Opcode::Ld | Opcode::Ldu | Opcode::Ldmatrix | Opcode::Tex
    ) && !matches!(format.mnemonic.space(), Some(Space::Param))
}

/// What the format of an instruction says.
fn of_format(function: &Function, instruction: Instruction) -> Fact {
    let format = function.format(instruction);
    let (mnemonic, effects) = (&format.mnemonic, format.effects);
    let is_fence = !effects.writes.is_empty()
        || effects.ordering.orders_memory()
        || effects.is_call
        || format.opaque
        || format.is_terminator()
        || effects.reads_carry
        || effects.writes_carry;
    let stays = !effects.is_removable_if_converged() || format.is_terminator() || format.opaque;
    let folds = matches!(
        mnemonic.opcode(),
        Opcode::Mov | Opcode::Cvta | Opcode::Cvt | Opcode::Ld
    ) && !format.is_guarded();
    let is_sum = mnemonic.opcode() == Opcode::Add
        && !format.is_guarded()
        && mnemonic.first_type().is_some_and(|own| !own.is_float())
        && !effects.writes_carry;
    let facts = [
        (is_fence, Fact::FENCE),
        (effects.is_pure(), Fact::PURE),
        (is_load(function, instruction), Fact::LOAD),
        (stays, Fact::STAYS),
        (is_slow_path(function, instruction), Fact::SLOW_PATH),
        (effects.is_call, Fact::CALL),
        (folds, Fact::FOLDS),
        (is_sum, Fact::SUM),
    ];
    let own = facts.iter().filter(|own| own.0);
    own.fold(Fact::KNOWN, |all, own| all.and(own.1))
}

fn is_slow_path(function: &Function, instruction: Instruction) -> bool {
    let mnemonic = &function.format(instruction).mnemonic;
    let first = mnemonic.first_type();
    let is_double = first == Some(ScalarType::F64);
    let is_long = first.is_some_and(|own| !own.is_float() && own.bits() == 64);
    match mnemonic.opcode() {
        Opcode::Div | Opcode::Rem if first.is_some_and(|own| own.is_float()) => {
            is_double || !mnemonic.has(Flag::Approximate)
        }
        Opcode::Div | Opcode::Rem => is_long,
        Opcode::Sqrt | Opcode::Rcp | Opcode::Rsqrt => is_double || !mnemonic.has(Flag::Approximate),
        _ => false,
    }
}
