//! What instructions make of patterns.

use super::bits::{BITS, shifted_right};
use super::lanes::{LANES, Lanes};
use super::pattern::{BitView, Pattern, Supposed};
use super::{ANY_WARP, AtomData, AtomKey, Cause, CauseKind, Entry, LanePatterns};
use crate::known_bits::{Known, literal_bits, mask};
use oriole_collections::SmallVec;
use oriole_ir::{
    AccessKind, Base, Block, FunctionKind, Instruction, Operand, Symbol, SymbolKind, Value,
};
use oriole_isa::{
    Bits, Comparison, Component, Flag, Mnemonic, MulMode, Opcode, Role, ScalarType, Space,
    SpecialRegister, SpecialRegisterKind, evaluate, extend,
};
use oriole_syntax::tree::Guard;
use std::rc::Rc;

/// Slots of [`AtomKey::Part`]: those of an operand that is widened are 64 times its number.
const HELD: u32 = 512;
const CHOSEN: u32 = 2001;
const QUOTIENT: u32 = 2002;

/// A source of an instruction.
#[derive(Clone)]
pub(super) struct Input {
    pub(super) pattern: Rc<Pattern>,
    /// The value it is, if it is all of one.
    pub(super) value: Option<Value>,
    /// What is known of it in all lanes.
    pub(super) known: Known,
}

impl Input {
    pub(super) fn new(pattern: Pattern) -> Input {
        Input {
            known: Known::unknown(pattern.bits),
            pattern: Rc::new(pattern),
            value: None,
        }
    }
}

impl LanePatterns<'_> {
    /// Whether an instruction is a function of its operands that may have a pattern.
    pub(super) fn is_evaluated(&self, instruction: Instruction) -> bool {
        let format = self.function.format(instruction);
        format.plain
            && !format.opaque
            && format.is_pure()
            && self.function.results(instruction).len() == 1
            && format
                .leaves
                .first()
                .is_some_and(|leaf| leaf.role == Role::Define)
            && format.leaves[1..].iter().all(|leaf| leaf.role == Role::Use)
    }

    pub(super) fn instruction(&mut self, value: Value, instruction: Instruction) -> Entry {
        if let Some(pattern) = self.loaded_parameter(value, instruction) {
            return Entry::Known(Rc::new(pattern));
        }
        if self.is_exchange(instruction)
            && let Some(pattern) = self.exchanged(value, instruction)
        {
            return Entry::Known(Rc::new(pattern));
        }
        let is_evaluated = self.is_evaluated(instruction);
        if is_evaluated && let Some(pattern) = self.evaluated(value, instruction) {
            return Entry::Known(pattern);
        }
        if is_evaluated && let Some(pattern) = self.masked_shift(instruction) {
            return Entry::Known(Rc::new(pattern));
        }
        let mut lost = None;
        let mut is_uniform = is_evaluated;
        let mut assumed: SmallVec<[Supposed; 2]> = SmallVec::new();
        if is_evaluated || self.is_exchange(instruction) {
            let block = self.block(instruction);
            for used in self.function.uses(instruction) {
                match self.seen_from(used, block) {
                    Entry::Known(pattern) => {
                        is_uniform &= pattern.is_uniform();
                        assumed.extend(pattern.assumed.iter().copied());
                    }
                    Entry::Varying(own) => {
                        is_uniform = false;
                        lost = lost.max(Some(own));
                    }
                }
            }
            is_uniform &= self.has_uniform_symbols(instruction);
        }
        if self.uniformity.is_uniform(value) {
            return Entry::Known(Rc::new(self.uniform(value)));
        }
        match is_uniform {
            true => Entry::Known(Rc::new(self.uniform(value).assuming(&assumed))),
            false => {
                let own = || Cause::at(self.lost_by(instruction), value);
                Entry::Varying(lost.unwrap_or_else(own))
            }
        }
    }

    /// How a pattern is lost at an instruction.
    fn lost_by(&self, instruction: Instruction) -> CauseKind {
        let format = self.function.format(instruction);
        match format.mnemonic.opcode() {
            Opcode::Call => CauseKind::Call,
            Opcode::Ld if format.mnemonic.space() == Some(Space::Param) => CauseKind::Call,
            _ if self.is_exchange(instruction) => CauseKind::Arithmetic,
            _ if format.is_pure() && !format.opaque => CauseKind::Arithmetic,
            _ => CauseKind::Data,
        }
    }

    /// Whether no operand that is no value differs by lane.
    pub(super) fn has_uniform_symbols(&self, instruction: Instruction) -> bool {
        let function = self.function;
        function.leaves(instruction).iter().all(|&leaf| match leaf {
            Operand::Symbol(symbol) => match function.symbols()[symbol].kind {
                SymbolKind::Special(special) => {
                    special.uniformity() != oriole_isa::Uniformity::Thread
                }
                _ => true,
            },
            Operand::Register(_) => false,
            _ => true,
        })
    }

    /// A parameter of the kernel, or a part of one.
    fn loaded_parameter(&mut self, value: Value, instruction: Instruction) -> Option<Pattern> {
        let function = self.function;
        let format = function.format(instruction);
        if format.mnemonic.opcode() != Opcode::Ld {
            return None;
        }
        let access = function.access(instruction)?;
        if function.kind() != FunctionKind::Entry
            || format.is_guarded()
            || access.kind != AccessKind::Load
            || !access.is_weak()
        {
            return None;
        }
        let address = access.address?;
        let Base::Symbol(symbol) = address.base else {
            return None;
        };
        let SymbolKind::Parameter(variable) = function.symbols()[symbol].kind else {
            return None;
        };
        let own = access.element.bits();
        let held = function.values()[value].scalar_type.bits();
        if !matches!(own, 8..=64) || held < own || held > 64 {
            return None;
        }
        let mut results = function.results(instruction);
        let place = results.position(|own| own == value)? as u32;
        let offset = u32::try_from(address.offset)
            .ok()?
            .checked_add(place * own / 8)?;
        let declared = function.variables()[variable].variable_type;
        let is_whole = offset == 0 && declared.bytes == Some(own / 8);
        let number = self.parameter_number(symbol).filter(|_| is_whole);
        let pattern = self.parameter(symbol, offset, own, number);
        if own == held {
            return Some(pattern);
        }
        // A register that is wider is filled up by the sign of the type that is loaded.
        let signed = access.element.is_signed();
        self.widen(value, HELD, &Input::new(pattern), held, signed)
    }

    /// A parameter of the kernel, by number if it is a whole one.
    fn parameter(
        &mut self,
        symbol: Symbol,
        offset: u32,
        bits: u32,
        number: Option<u32>,
    ) -> Pattern {
        let mut known = Known::unknown(bits);
        let mut supposed = None;
        if let Some(number) = number {
            if let Some(&argument) = self.setting.arguments.get(&number) {
                return Pattern::concrete(Lanes::Same(argument), bits);
            }
            if let Some(&multiple) = self.setting.multiples.get(&number) {
                known.zeros |= multiple - 1;
            }
            let is_settled = known.zeros & 1 != 0;
            if let Some(multiple) = self.setting.multiple.filter(|_| bits == 32 && !is_settled) {
                known.zeros |= multiple - 1;
                supposed = Some(Supposed::Multiple(number));
            }
        }
        let atom = self.atoms.intern(AtomData {
            key: AtomKey::Parameter(symbol, offset, bits),
            known,
            home: None,
            parameter: number,
        });
        Pattern::atom(atom, bits).assuming(supposed.as_slice())
    }

    fn special(&mut self, symbol: Symbol, special: SpecialRegister) -> Option<Pattern> {
        use SpecialRegisterKind::*;
        let bits = special.scalar_type().bits();
        let (warp, shape) = (self.warp, self.setting.block);
        let thread = |lane: usize| u64::from(warp) * LANES as u64 + lane as u64;
        let [width, height, _] = shape.map(|size| u64::from(size.max(1)));
        let bit = |lane: usize| 1u64 << lane;
        let is_of_block = matches!(special.kind(), Tid | Ntid);
        let component = match special.component() {
            Some(Component::X) if is_of_block && self.setting.exchanges_threads => {
                Some(Component::Y)
            }
            Some(Component::Y) if is_of_block && self.setting.exchanges_threads => {
                Some(Component::X)
            }
            own => own,
        };
        if let (ANY_WARP, Tid, Some(component)) = (warp, special.kind(), component)
            && component != Component::W
        {
            return self.thread_of_any_warp(component, bits);
        }
        let lanes = match (special.kind(), component) {
            (Tid | Ntid | Ctaid | Nctaid, Some(Component::W)) => Lanes::Same(0),
            (Tid, Some(Component::X)) => Lanes::from_fn(|lane| thread(lane) % width),
            (Tid, Some(Component::Y)) => Lanes::from_fn(|lane| thread(lane) / width % height),
            (Tid, Some(Component::Z)) => Lanes::from_fn(|lane| thread(lane) / (width * height)),
            (Ntid, Some(Component::X)) => Lanes::Same(shape[0].into()),
            (Ntid, Some(Component::Y)) => Lanes::Same(shape[1].into()),
            (Ntid, Some(Component::Z)) => Lanes::Same(shape[2].into()),
            (Nctaid, Some(component)) if self.setting.grid.is_some() => {
                let index = [Component::X, Component::Y, Component::Z];
                let index = index.iter().position(|&own| own == component)?;
                Lanes::Same(self.setting.grid?[index].into())
            }
            (Laneid, None) => Lanes::from_fn(|lane| lane as u64),
            (LanemaskEq, None) => Lanes::from_fn(bit),
            (LanemaskLt, None) => Lanes::from_fn(|lane| bit(lane) - 1),
            (LanemaskLe, None) => Lanes::from_fn(|lane| 2 * bit(lane) - 1),
            (LanemaskGt, None) => Lanes::from_fn(|lane| !(2 * bit(lane) - 1)),
            (LanemaskGe, None) => Lanes::from_fn(|lane| !(bit(lane) - 1)),
            _ if special.is_vector() || special.uniformity() == oriole_isa::Uniformity::Thread => {
                return None;
            }
            _ => {
                let bounds = self.setting.shape();
                let known = match bounds.range(special) {
                    Some((low, high)) if low == high => Known::constant(low),
                    Some((_, high)) => Known::at_most(high),
                    None => Known::unknown(bits),
                };
                let atom = self.atoms.intern(AtomData {
                    key: AtomKey::Symbol(symbol),
                    known: known.truncate(bits),
                    home: None,
                    parameter: None,
                });
                return Some(Pattern::atom(atom, bits));
            }
        };
        Some(Pattern::concrete(lanes, bits))
    }

    /// The number of threads along an axis, whichever warp it is.
    fn thread_of_any_warp(&mut self, component: Component, bits: u32) -> Option<Pattern> {
        let [x, y, z] = self.setting.block.map(|size| u64::from(size.max(1)));
        let warp = LANES as u64;
        // By axis: the numbers of a warp's lanes, what the next warp has more, and how many there are along the axis.
        let rows = (warp / x).max(1);
        let layers = (rows / y).max(1);
        let (lanes, step, count) = match component {
            Component::X => (Lanes::from_fn(|lane| lane as u64 % x), warp, x / warp),
            Component::Y => {
                let lanes = Lanes::from_fn(|lane| lane as u64 / x % y);
                (lanes, rows, y / rows)
            }
            Component::Z => {
                let lanes = Lanes::from_fn(|lane| lane as u64 / (x * y));
                (lanes, layers, z / layers)
            }
            Component::W => return None,
        };
        let lanes = Pattern::concrete(lanes, bits);
        if count <= 1 {
            return Some(lanes);
        }
        let atom = self.atoms.intern(AtomData {
            key: AtomKey::Warp(component as u32),
            known: Known::at_most(count - 1),
            home: None,
            parameter: None,
        });
        lanes.add(&Pattern::atom(atom, bits).scale(&Lanes::Same(step)))
    }

    /// The address of a variable.
    pub(super) fn address_of(&mut self, symbol: Symbol, bits: u32) -> Option<Pattern> {
        let data = self.function.symbols()[symbol];
        let alignment = match data.kind {
            SymbolKind::Variable(variable) => {
                self.function.variables()[variable].variable_type.alignment
            }
            SymbolKind::Global(global) => {
                let variable = self.environment.module()?.variable(global)?;
                variable.variable_type.alignment
            }
            _ => return None,
        };
        let placed = self.placed.filter(|placed| placed.0 == symbol);
        let (alignment, rest) = match placed {
            Some((_, period, residue)) => (period, residue),
            None => (u64::from(alignment.max(1)), 0),
        };
        let atom = self.atoms.intern(AtomData {
            key: AtomKey::Symbol(symbol),
            known: Known {
                zeros: mask(alignment.trailing_zeros()),
                ones: 0,
            },
            home: None,
            parameter: None,
        });
        Some(Pattern::atom(atom, bits).plus(rest))
    }

    /// An operand; what is known of its bits in all lanes only if that is needed.
    pub(super) fn operand(
        &mut self,
        operand: Operand,
        wanted: Option<ScalarType>,
        block: Block,
        needs_bits: bool,
    ) -> Option<Input> {
        let bits = wanted.map(ScalarType::bits);
        match operand {
            Operand::Value(value) => {
                let Entry::Known(pattern) = self.seen_from(value, block) else {
                    return None;
                };
                let bits = bits.unwrap_or(pattern.bits);
                if bits > pattern.bits {
                    return None;
                }
                let known = match (pattern.is_concrete(), needs_bits) {
                    (true, _) => Known::unknown(bits),
                    (false, true) => self.known_of(value).truncate(bits),
                    (false, false) => {
                        self.name(value);
                        Known::unknown(bits)
                    }
                };
                let is_whole = bits == pattern.bits;
                Some(Input {
                    pattern: match is_whole {
                        true => pattern,
                        false => Rc::new(pattern.truncate(bits)),
                    },
                    value: is_whole.then_some(value),
                    known,
                })
            }
            Operand::Constant(constant) => {
                let wanted = wanted.unwrap_or(ScalarType::B32);
                let found = &mut self.constants[constant.index()];
                let pattern = match found {
                    Some((own, pattern)) if *own == wanted => Rc::clone(pattern),
                    _ => {
                        let literal = self.function.constants()[constant].literal?;
                        let number = Lanes::Same(literal_bits(literal, wanted)?);
                        let pattern = Rc::new(Pattern::concrete(number, wanted.bits()));
                        *found = Some((wanted, Rc::clone(&pattern)));
                        pattern
                    }
                };
                Some(Input {
                    known: Known::unknown(pattern.bits),
                    pattern,
                    value: None,
                })
            }
            Operand::Symbol(symbol) => {
                let pattern = match self.function.symbols()[symbol].kind {
                    SymbolKind::Special(special) => self.special(symbol, special)?,
                    SymbolKind::WarpSize => {
                        Pattern::concrete(Lanes::Same(LANES as u64), bits.unwrap_or(32))
                    }
                    _ => self.address_of(symbol, bits?)?,
                };
                let pattern = match bits {
                    Some(bits) if bits < pattern.bits => pattern.truncate(bits),
                    Some(bits) if bits > pattern.bits => return None,
                    _ => pattern,
                };
                Some(Input::new(pattern))
            }
            _ => None,
        }
    }

    /// The pattern of a plain function of patterns.
    fn evaluated(&mut self, value: Value, instruction: Instruction) -> Option<Rc<Pattern>> {
        let function = self.function;
        let format = function.format(instruction);
        let block = self.block(instruction);
        let held = function.values()[value].scalar_type.bits();
        let mut inputs: SmallVec<[Input; 4]> = SmallVec::new();
        let leaves = &function.leaves(instruction)[1..];
        let needs_bits = looks_at_bits(&format.mnemonic);
        for (&leaf, &wanted) in leaves.iter().zip(&format.operand_types()[1..]) {
            inputs.push(self.operand(leaf, wanted, block, needs_bits)?);
        }
        let given = format.operand_type(0)?;
        let mnemonic = &format.mnemonic;
        // A copy has the pattern that it is a copy of.
        if let [only] = &inputs[..]
            && matches!(mnemonic.opcode(), Opcode::Mov | Opcode::Cvta)
            && mnemonic.modifiers().vector.is_none()
            && (only.pattern.bits, given.bits()) == (held, held)
            && format.guard == Guard::None
        {
            return Some(Rc::clone(&only.pattern));
        }
        let mut result = match self.by_cases(value, mnemonic, given, &inputs) {
            Some(result) => result,
            None => self.operation(value, mnemonic, given, &inputs)?,
        };
        for input in &inputs {
            result.assume(&input.pattern.assumed);
        }
        if result.bits < held && mnemonic.opcode() == Opcode::Cvt {
            let input = Input::new(result);
            result = self.widen(value, HELD, &input, held, given.is_signed())?;
        }
        if result.bits != held {
            return None;
        }
        if format.guard == Guard::None {
            return Some(Rc::new(result));
        }
        let &[otherwise] = function.otherwise(instruction) else {
            return None;
        };
        let guard = self.operand(
            function.guard(instruction)?,
            Some(ScalarType::Pred),
            block,
            false,
        )?;
        let otherwise = self
            .operand(otherwise, None, block, false)?
            .pattern
            .as_ref()
            .clone();
        if otherwise.bits != held {
            return None;
        }
        let selected = match format.guard {
            Guard::IfNot => self.select(value, &guard.pattern, otherwise, result),
            _ => self.select(value, &guard.pattern, result, otherwise),
        };
        selected.map(Rc::new)
    }

    /// One or the other, by a predicate.
    fn select(
        &mut self,
        value: Value,
        predicate: &Pattern,
        first: Pattern,
        second: Pattern,
    ) -> Option<Pattern> {
        if predicate.is_concrete() {
            let lanes = (0..LANES).filter(|&lane| predicate.lanes.get(lane) & 1 != 0);
            let lanes = lanes.fold(0, |lanes, lane| lanes | 1 << lane);
            let selected = Pattern::select(lanes, &first, &second)?;
            return Some(selected.assuming(&predicate.assumed));
        }
        let apart = !predicate.is_uniform();
        let chosen = self.choice_of(value, [first, second], apart)?;
        Some(chosen.assuming(&predicate.assumed))
    }

    fn choice_of(&mut self, value: Value, of: [Pattern; 2], apart: bool) -> Option<Pattern> {
        let of = of.map(Rc::new);
        self.choice_in(value, CHOSEN, &of, apart)
    }

    pub(super) fn operation(
        &mut self,
        value: Value,
        mnemonic: &Mnemonic,
        given: ScalarType,
        inputs: &[Input],
    ) -> Option<Pattern> {
        if inputs.iter().all(|input| input.pattern.is_concrete()) {
            return concrete(mnemonic, given, inputs);
        }
        let opcode = mnemonic.opcode();
        let first = &inputs.first()?.pattern;
        if matches!(opcode, Opcode::Mov | Opcode::Cvta) && inputs.len() == 1 {
            let is_plain = mnemonic.modifiers().vector.is_none() && first.bits == given.bits();
            return is_plain.then(|| first.as_ref().clone());
        }
        if opcode == Opcode::Selp {
            let [first, second, predicate] = inputs else {
                return None;
            };
            let [first, second] = [first, second].map(|input| input.pattern.as_ref().clone());
            return self.select(value, &predicate.pattern, first, second);
        }
        let is_integer = |each: &ScalarType| !each.is_float() && each.lanes() == 1;
        if !mnemonic.types().iter().all(is_integer)
            || mnemonic.has(Flag::Saturate)
            || mnemonic.has(Flag::SaturateFinite)
            || mnemonic.has(Flag::Relu)
        {
            return None;
        }
        match opcode {
            Opcode::Add | Opcode::Sub | Opcode::Neg | Opcode::Mul | Opcode::Mad | Opcode::Shl => {
                self.linear(value, mnemonic, inputs)
            }
            Opcode::And | Opcode::Or | Opcode::Xor | Opcode::Not | Opcode::Lop3 => self
                .bitwise(value, mnemonic, given, inputs)
                .or_else(|| self.low_logic(mnemonic, inputs)),
            Opcode::Shr | Opcode::Bfe | Opcode::Bfi | Opcode::Prmt | Opcode::Shf => {
                self.moved_bits(value, mnemonic, given, inputs)
            }
            Opcode::Div | Opcode::Rem => self
                .divided(value, mnemonic, inputs)
                .or_else(|| self.divided_alike(value, mnemonic, inputs)),
            Opcode::Cvt => {
                let &[to, from] = mnemonic.types() else {
                    return None;
                };
                if to.bits() <= from.bits() {
                    return Some(first.truncate(to.bits()));
                }
                self.widen(value, 0, &inputs[0], to.bits(), from.is_signed())
            }
            Opcode::Setp => self.compared(value, mnemonic, inputs),
            _ => None,
        }
    }

    fn linear(&mut self, value: Value, mnemonic: &Mnemonic, inputs: &[Input]) -> Option<Pattern> {
        let first = &inputs.first()?.pattern;
        let second = inputs.get(1).map(|input| &input.pattern);
        let is_plain = mnemonic.types().len() == 1;
        let signed = mnemonic.first_type()?.is_signed();
        match mnemonic.opcode() {
            Opcode::Add if is_plain => first.add(second?),
            Opcode::Sub if is_plain => first.subtract(second?),
            Opcode::Neg => Some(first.scale(&Lanes::Same(u64::MAX))),
            Opcode::Shl => {
                let amount = second.filter(|amount| amount.is_concrete())?;
                let power = |amount: u64| match amount {
                    amount if amount >= u64::from(first.bits) => 0,
                    amount => 1 << amount,
                };
                let factor = amount.lanes.map(power);
                Some(first.scale(&factor))
            }
            Opcode::Mul | Opcode::Mad => {
                let product = match mnemonic.modifiers().mul_mode? {
                    MulMode::Low => first.multiply(second?)?,
                    MulMode::Wide => {
                        let width = 2 * first.bits;
                        let a = self.widen(value, 0, &inputs[0], width, signed)?;
                        let b = self.widen(value, 64, inputs.get(1)?, width, signed)?;
                        a.multiply(&b)?
                    }
                    MulMode::High => return None,
                };
                match mnemonic.opcode() {
                    Opcode::Mad => product.add(&inputs.get(2)?.pattern),
                    _ => Some(product),
                }
            }
            _ => None,
        }
    }

    /// Division of what is not negative by a power of two.
    fn divided(&mut self, value: Value, mnemonic: &Mnemonic, inputs: &[Input]) -> Option<Pattern> {
        let [first, second] = inputs else {
            return None;
        };
        let divisor = &second.pattern;
        let divisor = divisor.lanes.as_same().filter(|_| divisor.is_concrete())?;
        let (bits, known) = (first.pattern.bits, first.known);
        let view = first.pattern.bit_view(known, &|atom| self.known(atom))?;
        let sign = 1 << (bits - 1);
        let is_negative = |lane: usize| (view.lanes.get(lane) | view.unknown) & sign != 0;
        let signed = mnemonic.first_type()?.is_signed();
        if !divisor.is_power_of_two()
            || signed && (divisor & sign != 0 || (0..LANES).any(is_negative))
        {
            return None;
        }
        let move_bits = |bits: u64| match mnemonic.opcode() {
            Opcode::Div => bits >> divisor.trailing_zeros(),
            _ => bits & (divisor - 1),
        };
        let lanes = Lanes::from_fn(|lane| move_bits(view.lanes.get(lane)));
        let unknown = move_bits(view.unknown);
        self.of_bits(value, BITS, lanes, unknown, bits)
    }

    /// Division by something uniform, supposing that all lanes have one quotient: then remainders differ as the dividends do.
    fn divided_alike(
        &mut self,
        value: Value,
        mnemonic: &Mnemonic,
        inputs: &[Input],
    ) -> Option<Pattern> {
        let [first, second] = inputs else {
            return None;
        };
        if !self.setting.supposing || !second.pattern.is_uniform() {
            return None;
        }
        let bits = first.pattern.bits;
        let result = match mnemonic.opcode() {
            Opcode::Div => self.part(value, QUOTIENT, Known::unknown(bits), bits),
            _ => {
                let multiple = self.part(value, QUOTIENT, Known::unknown(bits), bits);
                first.pattern.subtract(&multiple)?
            }
        };
        Some(result.assuming(&[Supposed::SameQuotient(value)]))
    }

    /// A comparison whose outcome is the same in all lanes, though they compare different numbers: what is unknown is compared first,
    /// and where it is equal, the rest decides the same way in all lanes.
    fn compared(&mut self, value: Value, mnemonic: &Mnemonic, inputs: &[Input]) -> Option<Pattern> {
        use Comparison::*;
        let [first, second] = inputs else {
            return None;
        };
        if mnemonic.modifiers().boolean.is_some() || first.pattern.bits != second.pattern.bits {
            return None;
        }
        let a = first
            .pattern
            .bit_view(first.known, &|atom| self.known(atom))?;
        let b = second
            .pattern
            .bit_view(second.known, &|atom| self.known(atom))?;
        let low = mask((a.unknown | b.unknown).trailing_zeros());
        let is_high_same = |view: &BitView| {
            let high = |lane: usize| view.lanes.get(lane) & !low;
            (1..LANES).all(|lane| high(lane) == high(0))
        };
        if !is_high_same(&a) || !is_high_same(&b) {
            return None;
        }
        let comparison = mnemonic.modifiers().comparison?;
        let own = mnemonic.first_type().filter(|own| !own.is_float())?;
        // Where the sign is among the bits that decide, numbers with one are in the order of those without after it is turned round.
        let sign = match own.is_signed() {
            true => low & 1 << (first.pattern.bits - 1),
            false => 0,
        };
        let holds = |lane: usize| {
            let number = |view: &BitView| view.lanes.get(lane) & low ^ sign;
            let (a, b) = (number(&a), number(&b));
            Some(match comparison {
                Equal | NotEqual => a == b,
                Less | Lower => a < b,
                LessEqual | LowerSame => a <= b,
                Greater | Higher => a > b,
                GreaterEqual | HigherSame => a >= b,
                _ => return None,
            })
        };
        let outcome = holds(0)?;
        let is_same = (1..LANES).all(|lane| holds(lane) == Some(outcome));
        is_same.then(|| self.uniform(value))
    }
}

/// Whether what an instruction makes of patterns depends on bits that are known of its operands, and not on their terms alone.
fn looks_at_bits(mnemonic: &Mnemonic) -> bool {
    match mnemonic.opcode() {
        Opcode::Add | Opcode::Sub | Opcode::Neg | Opcode::Shl => false,
        Opcode::Mov | Opcode::Cvta | Opcode::Selp => false,
        Opcode::Mul | Opcode::Mad => mnemonic.modifiers().mul_mode == Some(MulMode::Wide),
        _ => true,
    }
}

/// What an instruction makes of concrete numbers.
fn concrete(mnemonic: &Mnemonic, given: ScalarType, inputs: &[Input]) -> Option<Pattern> {
    if mnemonic.opcode() == Opcode::Cvta {
        return Some(inputs.first()?.pattern.as_ref().clone());
    }
    let mut bits: SmallVec<[Bits; 4]> = std::iter::repeat_n(0, inputs.len()).collect();
    let mut run = |lane: usize| {
        for (bits, input) in bits.iter_mut().zip(inputs) {
            *bits = Bits::from(input.pattern.lanes.get(lane));
        }
        let outputs = evaluate(mnemonic, &bits)?;
        // A comparison also gives its negation.
        let &result = outputs.values().first()?;
        Some(extend(result, given, given.bits().max(1)) as u64)
    };
    if let Some(lanes) = directly(mnemonic, given, inputs) {
        debug_assert!((0..LANES).all(|lane| run(lane) == Some(lanes.get(lane))));
        return Some(Pattern::concrete(lanes, given.bits()));
    }
    let all_same = |input: &Input| input.pattern.lanes.as_same().is_some();
    let lanes = if inputs.iter().all(all_same) {
        Lanes::Same(run(0)?)
    } else {
        let mut lanes = [0; LANES];
        for (lane, result) in lanes.iter_mut().enumerate() {
            *result = run(lane)?;
        }
        Lanes::from_fn(|lane| lanes[lane])
    };
    Some(Pattern::concrete(lanes, given.bits()))
}

/// Likewise, without asking [`evaluate`] for each lane: what addresses are mostly made of.
fn directly(mnemonic: &Mnemonic, given: ScalarType, inputs: &[Input]) -> Option<Lanes> {
    let is_integer = |own: &ScalarType| {
        matches!(own.bits(), 1 | 16 | 32 | 64) && !own.is_float() && own.lanes() == 1
    };
    let modifiers = mnemonic.modifiers();
    let is_plain = mnemonic.types().iter().all(is_integer);
    if !is_plain || modifiers.has_flags() || modifiers.vector.is_some() {
        return None;
    }
    // There are none without a sign.
    let is_arithmetic = matches!(
        mnemonic.opcode(),
        Opcode::Add | Opcode::Sub | Opcode::Mul | Opcode::Mad
    );
    if is_arithmetic && mnemonic.types().iter().any(|own| own.is_bits()) {
        return None;
    }
    let &[own] = mnemonic.types() else {
        return converted(mnemonic, given, inputs);
    };
    let bits = own.bits();
    let [first, second] = match inputs {
        [only] if mnemonic.opcode() == Opcode::Mov && own == given => {
            return Some(only.pattern.lanes.clone());
        }
        [first, second] => [first, second].map(|input| &input.pattern),
        [_, _, _] => return of_three(mnemonic, given, inputs),
        _ => return None,
    };
    if mnemonic.opcode() == Opcode::Setp && given == ScalarType::Pred {
        return compared_lanes(mnemonic, own, &first.lanes, &second.lanes);
    }
    if mnemonic.opcode() == Opcode::Mul
        && modifiers.mul_mode == Some(MulMode::Wide)
        && given.bits() == 2 * bits
    {
        let [one, other] = [first, second].map(|own_input| match own.is_signed() {
            true => own_input.lanes.sign_extended(bits, 2 * bits),
            false => own_input.lanes.clone(),
        });
        return Some(one.times(&other).masked(2 * bits));
    }
    if own != given {
        return None;
    }
    let (one, other) = (&first.lanes, &second.lanes);
    let operation: fn(u64, u64) -> u64 = match mnemonic.opcode() {
        Opcode::Add => return Some(one.plus(other).masked(bits)),
        Opcode::Sub => {
            let negative = other.times(&Lanes::Same(u64::MAX));
            return Some(one.plus(&negative).masked(bits));
        }
        Opcode::Mul if modifiers.mul_mode == Some(MulMode::Low) => {
            return Some(one.times(other).masked(bits));
        }
        Opcode::Shl if let Some(amount @ ..64) = other.as_same() => {
            return Some(one.times(&Lanes::Same(1 << amount)).masked(bits));
        }
        // What is shifted out is gone, too, if the amount is that of a shift of 64 bits or less.
        Opcode::Shl => |number, amount| match amount {
            ..64 => number << amount,
            _ => 0,
        },
        Opcode::Shr if let Some(amount) = other.as_same() => {
            return Some(one.map(|number| shifted_right(number, amount, own)));
        }
        Opcode::Shr if !own.is_signed() => |number, amount| match amount {
            ..64 => number >> amount,
            _ => 0,
        },
        opcode => logic(opcode)?,
    };
    Some(one.zip(other, operation).masked(bits))
}

/// Products that something is added to, and choices.
fn of_three(mnemonic: &Mnemonic, given: ScalarType, inputs: &[Input]) -> Option<Lanes> {
    let (&[own], [first, second, third]) = (mnemonic.types(), inputs) else {
        return None;
    };
    let bits = own.bits();
    let [first, second, third] = [first, second, third].map(|input| &input.pattern.lanes);
    match (mnemonic.opcode(), mnemonic.modifiers().mul_mode) {
        (Opcode::Mad, Some(MulMode::Low)) if own == given => {
            Some(first.times(second).plus(third).masked(bits))
        }
        (Opcode::Mad, Some(MulMode::Wide)) if given.bits() == 2 * bits => {
            let [one, other] = [first, second].map(|lanes| match own.is_signed() {
                true => lanes.sign_extended(bits, 2 * bits),
                false => lanes.clone(),
            });
            Some(one.times(&other).plus(third).masked(2 * bits))
        }
        (Opcode::Selp, None) if own == given => match third.as_same() {
            Some(choice) if choice & 1 != 0 => Some(first.clone()),
            Some(_) => Some(second.clone()),
            None => Some(Lanes::from_fn(|lane| match third.get(lane) & 1 {
                0 => second.get(lane),
                _ => first.get(lane),
            })),
        },
        _ => None,
    }
}

/// A conversion between integers.
fn converted(mnemonic: &Mnemonic, given: ScalarType, inputs: &[Input]) -> Option<Lanes> {
    let (&[to, from], [only]) = (mnemonic.types(), inputs) else {
        return None;
    };
    let lanes = &only.pattern.lanes;
    (mnemonic.opcode() == Opcode::Cvt && to == given && only.pattern.bits == from.bits()).then(
        || match from.is_signed() && to.bits() > from.bits() {
            true => lanes.sign_extended(from.bits(), to.bits()),
            false => lanes.masked(to.bits()),
        },
    )
}

/// A comparison of integers.
fn compared_lanes(
    mnemonic: &Mnemonic,
    own: ScalarType,
    first: &Lanes,
    second: &Lanes,
) -> Option<Lanes> {
    use Comparison::*;
    if mnemonic.modifiers().boolean.is_some() {
        return None;
    }
    // Numbers that are compared without sign after this are in the order of those with one.
    let sign = 1u64 << (own.bits() - 1);
    let order = move |number: u64, is_signed: bool| number ^ if is_signed { sign } else { 0 };
    let is_signed = own.is_signed();
    let holds: fn(u64, u64) -> bool = match mnemonic.modifiers().comparison? {
        Equal => |a, b| a == b,
        NotEqual => |a, b| a != b,
        Less => |a, b| a < b,
        LessEqual => |a, b| a <= b,
        Greater => |a, b| a > b,
        GreaterEqual => |a, b| a >= b,
        _ => return None,
    };
    Some(first.zip(second, |a, b| {
        holds(order(a, is_signed), order(b, is_signed)).into()
    }))
}

/// Logic of two operands.
pub(super) fn logic(opcode: Opcode) -> Option<fn(u64, u64) -> u64> {
    Some(match opcode {
        Opcode::And => |first, second| first & second,
        Opcode::Or => |first, second| first | second,
        Opcode::Xor => |first, second| first ^ second,
        _ => return None,
    })
}
