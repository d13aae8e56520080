//! Which parameter or variable an address was computed from.

use super::Subject;
use oriole_ir::{Definition, Function, Instruction, Operand, Symbol, SymbolKind, Value};
use oriole_isa::{Opcode, Space};

/// What an address was computed from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Root {
    /// A parameter of the kernel, at an offset in it.
    Parameter(Symbol, i64),
    /// A variable.
    Variable(Symbol),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Nothing that is an address, so far.
    None,
    One(Root),
    Several,
}

/// Roots of all values.
pub(super) struct Roots(Vec<State>);

/// Rounds over the function; what has not settled then has no root.
const MOST_ROUNDS: usize = 8;

impl Roots {
    /// Finds the roots of all values.
    pub fn of(subject: &Subject<'_>) -> Roots {
        let function = subject.function;
        let mut states = vec![State::None; function.values().len()];
        let mut settled = false;
        for _ in 0..MOST_ROUNDS {
            let mut changes = false;
            for &block in subject.flow.reverse_postorder() {
                for instruction in function.instructions_of(block) {
                    let state = of_instruction(function, instruction, &states);
                    for result in function.results(instruction) {
                        changes |= join(&mut states[result.index()], state);
                    }
                }
                for edge in function.edges(block) {
                    let parameters = &function.blocks()[edge.target].parameters;
                    let arguments = function.arguments(*edge);
                    for (&parameter, &argument) in parameters.iter().zip(arguments) {
                        let state = states[argument.index()];
                        changes |= join(&mut states[parameter.index()], state);
                    }
                }
            }
            // Without loops everything comes behind what it is computed from.
            if !changes || !subject.has_cycles() {
                settled = true;
                break;
            }
        }
        if !settled {
            states.fill(State::Several);
        }
        Roots(states)
    }

    /// The root of a value, if it has just one.
    pub fn get(&self, value: Value) -> Option<Root> {
        match self.0[value.index()] {
            State::One(root) => Some(root),
            State::None | State::Several => None,
        }
    }

    /// The root of the address of an access.
    pub fn of_base(&self, base: oriole_ir::Base) -> Option<Root> {
        match base {
            oriole_ir::Base::Value(value) => self.get(value),
            oriole_ir::Base::Symbol(symbol) => Some(Root::Variable(symbol)),
            oriole_ir::Base::Absolute => None,
        }
    }
}

/// Adds a state to another; gives whether that changes it.
fn join(into: &mut State, state: State) -> bool {
    let joined = match (*into, state) {
        (State::None, other) | (other, State::None) => other,
        (State::One(left), State::One(right)) if left == right => State::One(left),
        _ => State::Several,
    };
    std::mem::replace(into, joined) != joined
}

fn of_instruction(function: &Function, instruction: Instruction, states: &[State]) -> State {
    let format = function.format(instruction);
    if let Some(access) = function.access(instruction) {
        return match access.address {
            Some(address) if access.space == Space::Param && access.bytes == 8 => {
                match address.base {
                    oriole_ir::Base::Symbol(symbol)
                        if matches!(function.symbols()[symbol].kind, SymbolKind::Parameter(_)) =>
                    {
                        State::One(Root::Parameter(symbol, address.offset))
                    }
                    _ => State::None,
                }
            }
            _ => State::None,
        };
    }
    if !matches!(
        format.mnemonic.opcode(),
        Opcode::Add | Opcode::Sub | Opcode::Mov | Opcode::Cvta | Opcode::Selp | Opcode::Mad
    ) {
        return State::None;
    }
    // Of a `mad` only what is added is an address.
    let skipped = match format.mnemonic.opcode() {
        Opcode::Mad => 3,
        _ => 1,
    };
    let mut state = State::None;
    for &leaf in function.leaves(instruction).iter().skip(skipped) {
        let own = match leaf {
            Operand::Value(value) => states[value.index()],
            Operand::Symbol(symbol) => match function.symbols()[symbol].kind {
                SymbolKind::Variable(_) | SymbolKind::Global(_) => {
                    State::One(Root::Variable(symbol))
                }
                _ => State::None,
            },
            _ => State::None,
        };
        join(&mut state, own);
    }
    state
}

/// Whether an address is a variable's and a constant, by copies, conversions and sums.
pub(super) fn is_constant_place(function: &Function, value: Value) -> bool {
    let mut at = value;
    for _ in 0..MOST_STEPS {
        let Some(instruction) = definition(function, at) else {
            return false;
        };
        let opcode = function.format(instruction).mnemonic.opcode();
        if !matches!(opcode, Opcode::Add | Opcode::Mov | Opcode::Cvta) {
            return false;
        }
        let mut next = None;
        for &leaf in function.leaves(instruction).iter().skip(1) {
            match leaf {
                Operand::Constant(_) | Operand::Symbol(_) => {}
                Operand::Value(value) if next.is_none() => next = Some(value),
                _ => return false,
            }
        }
        match next {
            Some(next) => at = next,
            None => return true,
        }
    }
    false
}

/// Steps from an address back to its variable.
const MOST_STEPS: usize = 16;

/// The instruction that defines a value.
pub(super) fn definition(function: &Function, value: Value) -> Option<Instruction> {
    match function.values()[value].definition {
        Definition::Instruction(instruction) => Some(instruction),
        Definition::Parameter(_) | Definition::Undefined => None,
    }
}
