//! Undefined bits of registers, and the places where they decide something.

use oriole_isa::{Bits, Opcode};

use crate::execute::{Executor, combine, lanes_of, predicate, source};
use crate::execution::Execution;
use crate::program::{
    Destination, Function, General, Kind, Lanes, NONE, PredicateSource, Source, SpecialOperand,
};
use crate::report::FindingKind;
use crate::uses::{Uses, uses};

use super::Report;
use super::transfer::{self, Operand};
use super::undefined::{Origin, What};

const NOTHING: Lanes = [0; 32];

/// Where undefined bits decide something, in words.
const BRANCH: &str = "a branch";
const GUARD: &str = "a guard";
const ADDRESS: &str = "an address";

impl Execution<'_> {
    /// The active lanes in which a register has an undefined bit.
    fn undefined_lanes(&self, slot: u32) -> u32 {
        let undefined = self.warp.undefined(self.fragment, slot);
        undefined.map_or(0, |own| own.lanes) & self.active
    }

    pub(crate) fn undefined_bits(&self, slot: u32) -> &Lanes {
        let undefined = self.warp.undefined(self.fragment, slot);
        undefined.map_or(&NOTHING, |own| &own.bits)
    }

    /// Lanes in which what is undefined of registers may all be padding.
    fn raw(&self, slots: &[u32]) -> u32 {
        slots.iter().fold(u32::MAX, |all, &slot| {
            let own = self.warp.undefined(self.fragment, slot);
            all & own.map_or(u32::MAX, |own| own.raw | !own.lanes)
        })
    }

    fn operand(&self, slot: u32) -> Operand<'_> {
        Operand {
            slot,
            values: self.slot(slot),
            undefined: self.undefined_bits(slot),
        }
    }

    pub(crate) fn undefined_predicate(&self, source: PredicateSource) -> u32 {
        if source == PredicateSource::TRUE || source == PredicateSource::FALSE {
            return 0;
        }
        let slot = self.fragment.predicate_base + (source.0 >> 1);
        let predicates = &self.warp.undefined.predicates;
        predicates.get(slot as usize).map_or(0, |own| own.lanes)
    }

    /// An origin; what is read here for the first time begins here.
    fn origin_at(&self, origin: Origin, what: What) -> Origin {
        match origin.what {
            What::Unread => Origin {
                what,
                function: self.fragment.function,
                pc: self.fragment.pc,
            },
            _ => origin,
        }
    }

    fn origin_of(&self, slot: u32) -> Option<Origin> {
        let own = self.warp.undefined(self.fragment, slot)?;
        (own.lanes & self.active != 0).then(|| self.origin_at(own.origin, What::Register(slot)))
    }

    pub(crate) fn origin_of_predicate(&self, source: PredicateSource) -> Option<Origin> {
        if self.undefined_predicate(source) == 0 {
            return None;
        }
        let slot = source.0 >> 1;
        let index = self.fragment.predicate_base + slot;
        let origin = self.warp.undefined.predicates[index as usize].origin;
        Some(self.origin_at(origin, What::Predicate(slot)))
    }

    pub(crate) fn here(&self, what: What) -> Origin {
        Origin {
            what,
            function: self.fragment.function,
            pc: self.fragment.pc,
        }
    }

    fn define(&mut self, slot: u32) {
        let active = self.active;
        if let Some(own) = self.warp.undefined_mut(self.fragment, slot) {
            own.define(active);
        }
    }

    /// Sets the undefined bits of a destination.
    pub(crate) fn undefine(
        &mut self,
        function: &Function,
        slot: u32,
        bits: &Lanes,
        raw: u32,
        origin: Origin,
    ) {
        let active = self.active;
        if let Some(own) = self.warp.undefined_mut(self.fragment, slot) {
            let mask = function.register_masks[slot as usize];
            own.set(active, &bits.map(|bits| bits & mask), raw, origin);
        }
    }

    /// Sets the undefined bits of one lane of a register.
    pub(crate) fn undefine_lane(&mut self, slot: u32, lane: usize, bits: u64, origin: Origin) {
        if let Some(own) = self.warp.undefined_mut(self.fragment, slot) {
            let mut all = NOTHING;
            all[lane] = bits;
            own.set(1 << lane, &all, 0, origin);
        }
    }

    pub(crate) fn first_origin(&self, slots: &[u32]) -> Origin {
        let found = slots.iter().find_map(|&slot| self.origin_of(slot));
        found.unwrap_or(self.here(What::Carry))
    }

    pub(crate) fn define_predicate(&mut self, slot: u32, undefined: u32, origin: Origin) {
        if slot >= NONE >> 1 {
            return;
        }
        let (index, active) = (self.fragment.predicate_base + slot, self.active);
        if let Some(own) = self.warp.undefined.predicates.get_mut(index as usize) {
            own.set(active, undefined, origin);
        }
    }
}

impl Executor<'_> {
    /// Follows what is undefined through an instruction, before it is executed, and reports where it decides something.
    pub(crate) fn check_registers(&self, state: &mut Execution<'_>, function: &Function) {
        let operation = &function.code[state.fragment.pc as usize];
        if operation.guard != PredicateSource::TRUE {
            let active = std::mem::replace(&mut state.active, state.fragment.mask);
            let what = match operation.kind {
                Kind::Branch { .. } | Kind::BranchIndexed { .. } => BRANCH,
                _ => GUARD,
            };
            self.check_predicate(state, operation.guard, what);
            state.active = active;
        }
        if state.active == 0 {
            return;
        }
        match operation.kind {
            Kind::Nothing | Kind::Branch { .. } | Kind::Fence(_) | Kind::Return | Kind::Exit => {}
            Kind::Move { d, a } => {
                self.transfer(state, function, d, &[a], true, |state| {
                    *state.undefined_bits(a)
                });
            }
            Kind::AddressShift { d, a, .. } => {
                self.transfer(state, function, d, &[a], false, |state| {
                    transfer::all(&[state.undefined_bits(a)])
                });
            }
            Kind::Unary { operation, d, a } => {
                let moves = transfer::unary_moves(operation);
                self.transfer(state, function, d, &[a], moves, |state| {
                    transfer::unary(operation, state.operand(a))
                });
            }
            Kind::Binary { operation, d, a, b } => {
                let moves = transfer::binary_moves(operation);
                self.transfer(state, function, d, &[a, b], moves, |state| {
                    transfer::binary(operation, state.operand(a), state.operand(b))
                });
            }
            Kind::Ternary {
                operation,
                d,
                a,
                b,
                c,
            } => {
                let moves = transfer::ternary_moves(operation);
                self.transfer(state, function, d, &[a, b, c], moves, |state| {
                    transfer::ternary(operation, [a, b, c].map(|slot| state.operand(slot)))
                });
            }
            Kind::Lop3 { d, a, b, c, table } => {
                self.transfer(state, function, d, &[a, b, c], true, |state| {
                    transfer::lop3([a, b, c].map(|slot| state.operand(slot)), table)
                });
            }
            Kind::SpecialRegister { d, .. } | Kind::FrameAddress { d, .. } => state.define(d),
            Kind::Select { d, a, b, p } => Self::select(state, function, d, [a, b], p),
            Kind::Compare { .. } | Kind::CompareAnd { .. } | Kind::PredicateLogic { .. } => {
                Self::decide(state, &operation.kind);
            }
            Kind::General(index) => {
                self.general_undefined(state, function, &function.generals[index as usize]);
            }
            _ => self.check_uses(state, function, &operation.kind),
        }
    }

    /// Gives a destination the undefined bits that `bits` finds, where a source has any.
    fn transfer(
        &self,
        state: &mut Execution<'_>,
        function: &Function,
        d: u32,
        sources: &[u32],
        moves: bool,
        bits: impl FnOnce(&Execution<'_>) -> Lanes,
    ) {
        if sources.iter().all(|&slot| state.undefined_lanes(slot) == 0) {
            state.define(d);
            return;
        }
        let bits = bits(state);
        let origin = state.first_origin(sources);
        let raw = if moves { state.raw(sources) } else { 0 };
        state.undefine(function, d, &bits, raw, origin);
    }

    fn select(
        state: &mut Execution<'_>,
        function: &Function,
        d: u32,
        [a, b]: [u32; 2],
        p: PredicateSource,
    ) {
        let undefined = state.undefined_predicate(p) & state.active;
        if (state.undefined_lanes(a) | state.undefined_lanes(b) | undefined) == 0 {
            state.define(d);
            return;
        }
        let chosen = predicate(state.warp, state.fragment, p);
        let bits = transfer::select(chosen, undefined, state.operand(a), state.operand(b));
        let origin = match state.origin_of_predicate(p).filter(|_| undefined != 0) {
            Some(origin) => origin,
            None => state.first_origin(&[a, b]),
        };
        let raw = state.raw(&[a, b]) & !undefined;
        state.undefine(function, d, &bits, raw, origin);
    }

    /// Undefined lanes of a predicate that is computed.
    fn decide(state: &mut Execution<'_>, kind: &Kind) {
        let either = |with, [truth, open]: [u32; 2], [other, other_open]: [u32; 2]| {
            use oriole_isa::BooleanOperation::{And, Or};
            match with {
                And => open & (other | other_open) | other_open & (truth | open),
                Or => open & (!other | other_open) | other_open & (!truth | open),
                _ => open | other_open,
            }
        };
        let logic = |state: &Execution<'_>, source| {
            let truth = predicate(state.warp, state.fragment, source);
            [truth, state.undefined_predicate(source)]
        };
        match *kind {
            Kind::Compare {
                comparator,
                p,
                q,
                a,
                b,
            } => {
                let mut open = 0;
                if state.undefined_lanes(a) | state.undefined_lanes(b) != 0 {
                    open = transfer::compare(comparator, state.operand(a), state.operand(b));
                }
                let origin = state.first_origin(&[a, b]);
                for slot in [p, q] {
                    state.define_predicate(slot, open, origin);
                }
            }
            Kind::CompareAnd {
                comparator,
                p,
                a,
                b,
                with,
                c,
            } => {
                let mut open = 0;
                if state.undefined_lanes(a) | state.undefined_lanes(b) != 0 {
                    open = transfer::compare(comparator, state.operand(a), state.operand(b));
                }
                let truth = comparator.apply(state.slot(a), state.slot(b));
                let origin = match open {
                    0 => state.origin_of_predicate(c),
                    _ => None,
                };
                let origin = origin.unwrap_or_else(|| state.first_origin(&[a, b]));
                let open = either(with, [truth, open], logic(state, c));
                state.define_predicate(p, open, origin);
            }
            Kind::PredicateLogic { operation, p, a, b } => {
                let is_same = a == b && combine(operation, 1, 1) == 0;
                let open = match is_same {
                    true => 0,
                    false => either(operation, logic(state, a), logic(state, b)),
                };
                let origin = [a, b]
                    .iter()
                    .find_map(|&source| state.origin_of_predicate(source));
                state.define_predicate(p, open, origin.unwrap_or(state.here(What::Carry)));
            }
            _ => {}
        }
    }

    fn general_undefined(&self, state: &mut Execution<'_>, function: &Function, general: &General) {
        let effects = general.mnemonic.effects();
        let mut slots = Vec::new();
        let mut open = 0;
        let mut origin = None;
        for &operand in &general.sources {
            match operand {
                Source::Value(slot) => slots.push(slot),
                Source::Wide(slot) => slots.extend([slot, slot + 1]),
                Source::Predicate(source) => {
                    open |= state.undefined_predicate(source) & state.active;
                    origin = origin.or(state.origin_of_predicate(source));
                }
            }
        }
        if effects.reads_carry {
            open |= state.warp.undefined.carry & state.active;
        }
        let any = slots
            .iter()
            .fold(open, |all, &slot| all | state.undefined_lanes(slot));
        let mut results = vec![NOTHING; general.destinations.len() * 2];
        if any != 0 {
            let found = slots.iter().find_map(|&slot| state.origin_of(slot));
            origin = origin.or(found);
            for lane in lanes_of(any) {
                Self::general_lane(state, general, lane, open >> lane & 1 != 0, &mut results);
            }
        }
        let origin = origin.unwrap_or(state.here(What::Carry));
        for (index, &destination) in general.destinations.iter().enumerate() {
            let [low, high] = [&results[index * 2], &results[index * 2 + 1]];
            match destination {
                Destination::Sink => {}
                Destination::Value { slot, .. } => {
                    let raw = match general.mnemonic.opcode() {
                        Opcode::Mov | Opcode::Prmt | Opcode::Bfi => state.raw(&slots),
                        _ => 0,
                    };
                    state.undefine(function, slot, low, raw, origin);
                }
                Destination::Wide(slot) => {
                    state.undefine(function, slot, low, 0, origin);
                    state.undefine(function, slot + 1, high, 0, origin);
                }
                Destination::Predicate(slot) => {
                    let lanes = lanes_of(any).filter(|&lane| low[lane] != 0);
                    let undefined = lanes.fold(0, |all, lane| all | 1 << lane);
                    state.define_predicate(slot, undefined, origin);
                }
            }
        }
        if effects.writes_carry {
            state.warp.undefined.carry = state.warp.undefined.carry & !state.active | any;
        }
    }

    /// The undefined bits of the results of a lane: the low and the high half of each.
    fn general_lane(
        state: &Execution<'_>,
        general: &General,
        lane: usize,
        is_open: bool,
        results: &mut [Lanes],
    ) {
        let registers = &state.warp.registers[state.fragment.base as usize..];
        let value = |operand: &Source| -> Bits {
            match *operand {
                Source::Value(slot) => source(registers, state.constants, slot)[lane].into(),
                Source::Wide(slot) => {
                    Bits::from(registers[slot as usize][lane])
                        | Bits::from(registers[slot as usize + 1][lane]) << 64
                }
                Source::Predicate(_) => 0,
            }
        };
        let bits = |operand: &Source| -> Bits {
            match *operand {
                Source::Value(slot) => state.undefined_bits(slot)[lane].into(),
                Source::Wide(slot) => {
                    Bits::from(state.undefined_bits(slot)[lane])
                        | Bits::from(state.undefined_bits(slot + 1)[lane]) << 64
                }
                Source::Predicate(_) => 0,
            }
        };
        let undefined: Vec<Bits> = general.sources.iter().map(bits).collect();
        let values: Vec<Bits> = general.sources.iter().map(value).collect();
        let known = match is_open {
            true => None,
            false => transfer::general(general, &undefined, &values),
        };
        for index in 0..general.destinations.len() {
            let own = known.as_ref().map_or(Bits::MAX, |known| {
                known.get(index).copied().unwrap_or_default()
            });
            results[index * 2][lane] = own as u64;
            results[index * 2 + 1][lane] = (own >> 64) as u64;
        }
    }

    /// Reports what is undefined among the operands of an instruction that does more than compute.
    fn check_uses(&self, state: &mut Execution<'_>, function: &Function, kind: &Kind) {
        let Uses {
            reads,
            writes,
            predicates,
            predicate_writes,
            ..
        } = uses(function, kind);
        let mut what = ADDRESS;
        let mut sinks = reads;
        match *kind {
            Kind::Load(index) => {
                let base = function.accesses[index as usize].address.base;
                sinks.retain(|&slot| slot == base);
            }
            // `check_access` follows what is stored.
            Kind::Store(index) => {
                let base = function.accesses[index as usize].address.base;
                sinks.retain(|&slot| slot == base);
            }
            Kind::Atomic(_) => what = "an atomic",
            Kind::BranchIndexed { .. } => what = BRANCH,
            Kind::Call(index) => {
                // Arguments are passed on with what is undefined in them.
                let call = &function.calls[index as usize];
                match call.target {
                    crate::program::CallTarget::Direct(_) => return,
                    crate::program::CallTarget::Indirect(slot) => {
                        self.check_sink(state, slot, "the address of a call");
                        return;
                    }
                    crate::program::CallTarget::External(_) => what = "a call",
                }
            }
            Kind::Special(index) => {
                let special = &function.specials[index as usize];
                let opcode = special.mnemonic.opcode();
                if matches!(opcode, Opcode::Shfl | Opcode::Vote | Opcode::VoteSync) {
                    let others = special
                        .operands
                        .iter()
                        .skip(2)
                        .filter_map(|own| own.value());
                    let others: Vec<u32> = others.collect();
                    for slot in others {
                        self.check_sink(state, slot, "an exchange of lanes");
                    }
                    // The exchange gives the result, with what is undefined in it.
                    for slot in predicate_writes {
                        let origin = state.here(What::Carry);
                        state.define_predicate(slot, 0, origin);
                    }
                    return;
                }
                // Products carry what is undefined in their matrices.
                if matches!(opcode, Opcode::Mma | Opcode::MmaSp | Opcode::WmmaMma) {
                    let values = special.operands.iter().filter_map(|own| own.value());
                    for slot in values.collect::<Vec<u32>>() {
                        self.check_sink(state, slot, "a product of matrices");
                    }
                    return;
                }
                if opcode == Opcode::WmmaStore
                    && let Some(SpecialOperand::Vector(slots)) = special.operands.get(1)
                {
                    sinks.retain(|slot| !slots.contains(slot));
                }
                // The first product of a sum does not read what was there.
                if opcode == Opcode::WgmmaMmaAsync {
                    let adds = match special.operands.get(3) {
                        Some(&SpecialOperand::Predicate(source)) => {
                            predicate(state.warp, state.fragment, source) & state.active != 0
                        }
                        Some(&SpecialOperand::Value(slot)) => state.slot(slot)[0] != 0,
                        _ => true,
                    };
                    if let Some(SpecialOperand::Vector(slots)) = special.operands.first()
                        && !adds
                    {
                        sinks.retain(|slot| !slots.contains(slot));
                    }
                }
                what = "an operand";
            }
            _ => {}
        }
        for slot in sinks {
            self.check_sink(state, slot, what);
        }
        for source in predicates {
            self.check_predicate(state, source, what);
        }
        for slot in writes {
            state.define(slot);
        }
        let origin = state.here(What::Carry);
        for slot in predicate_writes {
            state.define_predicate(slot, 0, origin);
        }
    }

    /// Reports a register that decides something, if it is undefined, and takes it for defined from then on.
    fn check_sink(&self, state: &mut Execution<'_>, slot: u32, what: &str) {
        let lanes = state.undefined_lanes(slot);
        if lanes == 0 {
            return;
        }
        if let Some(origin) = state.origin_of(slot) {
            self.report_undefined(state, origin, lanes, what);
        }
        state.define(slot);
    }

    fn check_predicate(&self, state: &mut Execution<'_>, source: PredicateSource, what: &str) {
        let lanes = state.undefined_predicate(source) & state.active;
        if lanes == 0 {
            return;
        }
        if let Some(origin) = state.origin_of_predicate(source) {
            self.report_undefined(state, origin, lanes, what);
            state.define_predicate(source.0 >> 1, 0, origin);
        }
    }

    /// Reports something undefined where it was read first, with where it decides something.
    pub(super) fn report_undefined(
        &self,
        state: &mut Execution<'_>,
        origin: Origin,
        lanes: u32,
        what: &str,
    ) {
        let program = self.launch.program;
        let owner = &program.functions[origin.function as usize];
        let mut message = match origin.what {
            What::Unread => return,
            What::Register(slot) => format!(
                "register `{}` is read before it is written",
                owner.register_names[slot as usize]
            ),
            What::Predicate(slot) => format!(
                "register `{}` is read before it is written",
                owner.predicate_names[slot as usize]
            ),
            What::Carry => "the carry flag is read before it is written".to_string(),
            What::Shared(offset) => {
                format!("shared memory at offset {offset:#x} is read before it is written")
            }
            What::Local(offset) => {
                let at = offset.wrapping_sub(state.fragment.local_base.into());
                let within = owner.local_variables.iter().find(|own| {
                    let start = u64::from(own.offset);
                    (start..start + u64::from(own.bytes)).contains(&at)
                });
                let is_own = state.fragment.function == origin.function;
                let place = match within.filter(|_| is_own) {
                    Some(own) => format!("{:#x} of `{}`", at - u64::from(own.offset), own.name),
                    None => format!("{offset:#x}"),
                };
                format!("local memory at offset {place} is read before it is written")
            }
            What::Shuffle(to, from) => format!(
                "the shuffle of lane {to} reads from lane {from}, which takes no part in it"
            ),
        };
        let fragment = &mut *state.fragment;
        let here = (fragment.function, fragment.pc);
        if here != (origin.function, origin.pc) {
            let line =
                program.line_of(program.functions[here.0 as usize].origins[here.1 as usize].span);
            message += &format!("; it reaches {what} at PTX line {line}");
        }
        let kind = match origin.what {
            What::Shuffle(..) => FindingKind::ShuffleSource,
            _ => FindingKind::UninitializedRead,
        };
        (fragment.function, fragment.pc) = (origin.function, origin.pc);
        let lane = lanes.trailing_zeros().min(31) as usize;
        self.report(state, Report::new(kind, lane, message));
        (state.fragment.function, state.fragment.pc) = here;
    }
}
