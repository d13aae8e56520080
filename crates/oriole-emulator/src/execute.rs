//! The interpreter: runs the fragments of warps, one decoded operation for all active lanes at a time.

use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

use oriole_isa::{
    Bits, BooleanOperation, VideoOperands, approximate, evaluate_unpack, evaluate_video, extend,
};

use crate::execution::Execution;
use crate::lanes;
use crate::launch::{Group, LaunchContext};
use crate::observer::Step;
use crate::program::{
    CONSTANT, Destination, Function, General, Kind, Lanes, MOST_SOURCES, NONE, Operation,
    PredicateSource, Source,
};
use crate::trap::{Fault, Outcome, SourceLine, Trap, TrapKind};
use crate::warp::{Fragment, Join, State, Warp};

/// Thread-instructions that a warp executes before other warps get their turn.
const TURN: u64 = 640_000;
/// Thread-instructions that a cluster executes, at most, between two checks of the limits.
const UNCHECKED: u64 = 640_000;
/// How many looks at synchronisation variables before other warps get their turn.
const POLLS: u32 = 8;
/// How often a warp gives way before lanes that wait for lanes that spin run on.
const STALLS: u32 = 32;

/// Why a warp stopped running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// All lanes have exited.
    Done,
    /// Every fragment waits.
    Blocked,
    /// It gave way.
    Yielded { polling: bool },
}

enum FragmentStop {
    Ended,
    Waiting,
    Yielded { polling: bool },
}

/// Where a fragment is after an instruction.
enum Flow {
    /// Still at it: the next one follows.
    Next,
    /// At another one of the function.
    Elsewhere,
    /// Perhaps in another function.
    Function,
    Stop(FragmentStop),
}

/// What follows a special instruction.
pub(crate) enum Next {
    Advance,
    /// The fragment waits, as its state says, at the same instruction.
    Wait,
}

/// The lanes of a slot.
#[inline(always)]
pub(crate) fn source<'a>(registers: &'a [Lanes], constants: &'a [Lanes], slot: u32) -> &'a Lanes {
    if slot & CONSTANT != 0 {
        &constants[(slot & !CONSTANT) as usize]
    } else {
        &registers[slot as usize]
    }
}

#[inline(always)]
pub(crate) fn commit(registers: &mut [Lanes], slot: u32, values: Lanes, active: u32) {
    let target = &mut registers[slot as usize];
    if active == u32::MAX {
        *target = values;
    } else {
        for lane in 0..32 {
            let keep = u64::from(active >> lane & 1).wrapping_sub(1);
            target[lane] = target[lane] & keep | values[lane] & !keep;
        }
    }
}

#[inline(always)]
pub(crate) fn predicate(warp: &Warp, fragment: &Fragment, source: PredicateSource) -> u32 {
    match source {
        PredicateSource::TRUE => u32::MAX,
        PredicateSource::FALSE => 0,
        PredicateSource(bits) => {
            let mask = warp.predicates[(fragment.predicate_base + (bits >> 1)) as usize];
            if bits & 1 != 0 { !mask } else { mask }
        }
    }
}

#[inline(always)]
pub(crate) fn set_predicate(
    warp: &mut Warp,
    fragment: &Fragment,
    slot: u32,
    value: u32,
    active: u32,
) {
    if slot != NONE {
        let target = &mut warp.predicates[(fragment.predicate_base + slot) as usize];
        *target = *target & !active | value & active;
    }
}

/// Runs one cluster of blocks.
pub(crate) struct Executor<'a> {
    pub(crate) launch: &'a LaunchContext<'a>,
}

impl Executor<'_> {
    /// Runs a warp until it cannot go on.
    pub(crate) fn run_warp(
        &self,
        warp: &mut Warp,
        group: &mut Group,
        block: usize,
    ) -> Result<Stop, Box<Trap>> {
        // Counted for the warp: lanes that part and meet over and over are many short fragments.
        let turn_end = group.steps + TURN;
        loop {
            self.wake(warp, group, block);
            let Some(mut fragment) = warp.next_runnable() else {
                // Lanes that wait at a join may be those that others of the warp wait for.
                if warp.live != 0 && warp.waits_for_itself() && warp.release_oldest_join() {
                    continue;
                }
                return Ok(if warp.live == 0 {
                    Stop::Done
                } else {
                    Stop::Blocked
                });
            };
            match self.run_fragment(warp, &mut fragment, group, block, turn_end) {
                Ok(FragmentStop::Ended) => {}
                Ok(FragmentStop::Waiting) => warp.fragments.push_back(fragment),
                Ok(FragmentStop::Yielded { polling }) => {
                    warp.fragments.push_back(fragment);
                    warp.polls = 0;
                    if polling {
                        warp.stalls += 1;
                        if warp.stalls > STALLS {
                            warp.release_oldest_join();
                            warp.stalls = 0;
                        }
                    }
                    return Ok(Stop::Yielded { polling });
                }
                Err(fault) => return Err(self.place(*fault, warp, &fragment, group, block)),
            }
        }
    }

    /// Lets fragments go on whose barrier is complete.
    fn wake(&self, warp: &mut Warp, group: &Group, block: usize) {
        for fragment in &mut warp.fragments {
            match fragment.state {
                State::Barrier { number, generation }
                    if group.blocks[block].barriers[number as usize].generation > generation =>
                {
                    fragment.state = State::Released;
                }
                State::Cluster { generation } if group.cluster_generation > generation => {
                    fragment.state = State::Released;
                }
                _ => {}
            }
        }
    }

    /// Gives a fault its place.
    pub(crate) fn place(
        &self,
        fault: Fault,
        warp: &Warp,
        fragment: &Fragment,
        group: &Group,
        block: usize,
    ) -> Box<Trap> {
        let program = self.launch.program;
        let function = &program.functions[fragment.function as usize];
        let origin = function.origins[(fragment.pc as usize).min(function.origins.len() - 1)];
        let ptx_line = program.line_of(origin.span);
        let lane = fault.lane.unwrap_or(fragment.mask.trailing_zeros().min(31));
        Box::new(Trap {
            kind: fault.kind,
            message: fault.message,
            function: function.name.clone(),
            span: origin.span,
            ptx_line,
            source: self.source_line(origin.file, origin.line, origin.column),
            block: group.blocks[block].index,
            thread: warp.threads.get(lane as usize).copied().unwrap_or_default(),
            address: fault.address,
            findings: group.findings.list.clone(),
        })
    }

    pub(crate) fn source_line(&self, file: u32, line: u32, column: u32) -> Option<SourceLine> {
        let name = self.launch.program.files.get(&file)?;
        (line > 0).then(|| SourceLine {
            file: name.clone(),
            line,
            column,
        })
    }

    /// Runs a fragment until it ends, waits or the turn of its warp is over.
    fn run_fragment(
        &self,
        warp: &mut Warp,
        fragment: &mut Fragment,
        group: &mut Group,
        block: usize,
        turn_end: u64,
    ) -> Outcome<FragmentStop> {
        let launch = self.launch;
        let profile = launch.options.profile;
        let check_uninitialized = launch.options.check_uninitialized;
        if fragment.state != State::Running && !self.resume(warp, fragment, group, block)? {
            return Ok(FragmentStop::Waiting);
        }
        'function: loop {
            let function = &launch.program.functions[fragment.function as usize];
            let constants = &launch.constants[fragment.function as usize][..];
            loop {
                if fragment.pc == fragment.join_pc {
                    let arriving = std::mem::replace(fragment, placeholder());
                    match warp.arrive(arriving) {
                        Some(joined) => *fragment = joined,
                        None => return Ok(FragmentStop::Ended),
                    }
                    continue;
                }
                // No loop is without an instruction that some lane executes and that is counted.
                if group.steps >= group.next_check {
                    self.check_limits(group)?;
                }
                let operation = &function.code[fragment.pc as usize];
                let active = fragment.mask & predicate(warp, fragment, operation.guard);
                group.steps += u64::from(active.count_ones());
                if profile {
                    let counters =
                        &mut group.counters.0[fragment.function as usize][fragment.pc as usize];
                    counters.executions += 1;
                    counters.lanes += u64::from(active.count_ones());
                }
                if launch.options.observer.is_some() {
                    self.observe(warp, fragment, group.blocks[block].index, active);
                }
                if check_uninitialized {
                    let mut state = Execution {
                        warp,
                        fragment,
                        group,
                        block,
                        constants,
                        active,
                    };
                    self.check_registers(&mut state, function);
                }
                if active == 0 {
                    // Nobody executes it; a branch not taken goes on below.
                    fragment.pc += 1;
                    continue;
                }
                match &operation.kind {
                    Kind::Branch { .. } | Kind::BranchIndexed { .. } => {
                        self.branch(warp, fragment, operation, active)?;
                        if fragment.mask == 0 {
                            return Ok(FragmentStop::Ended);
                        }
                        let polling = warp.polls > POLLS;
                        if polling || group.steps > turn_end {
                            return Ok(FragmentStop::Yielded { polling });
                        }
                        continue;
                    }
                    kind => {
                        let state = Execution {
                            warp,
                            fragment,
                            group,
                            block,
                            constants,
                            active,
                        };
                        match self.step(state, function, kind)? {
                            Flow::Next => {}
                            Flow::Elsewhere => continue,
                            Flow::Function => continue 'function,
                            Flow::Stop(stop) => return Ok(stop),
                        }
                    }
                }
                fragment.pc += 1;
            }
        }
    }

    /// Executes an instruction that is no branch.
    #[inline(always)]
    fn step(&self, mut state: Execution<'_>, function: &Function, kind: &Kind) -> Outcome<Flow> {
        match kind {
            &Kind::SpecialRegister { d, register, bits } => {
                let values = self.special_register(&state, register, bits);
                let registers = &mut state.warp.registers[state.fragment.base as usize..];
                commit(registers, d, values, state.active);
            }
            &Kind::General(index) => self.general(state, &function.generals[index as usize])?,
            &Kind::Load(index) => {
                let access = &function.accesses[index as usize];
                state.warp.polls += u32::from(access.order.is_some());
                self.load(state, access)?;
            }
            &Kind::Store(index) => self.store(state, &function.accesses[index as usize])?,
            &Kind::Atomic(index) => {
                state.warp.polls += 1;
                self.atomic(state, &function.atomics[index as usize])?;
            }
            &Kind::Fence(scope) => {
                if self.launch.options.check_races {
                    self.check_fence(&mut state, scope);
                }
            }
            &Kind::Call(index) => {
                self.call(state, function, index)?;
                return Ok(Flow::Function);
            }
            Kind::Return if !state.fragment.frames.is_empty() => {
                return Ok(self.return_lanes(state));
            }
            Kind::Return | Kind::Exit => {
                if self.launch.options.check_races {
                    self.check_exit(&mut state);
                }
                let Execution {
                    warp,
                    fragment,
                    group,
                    block,
                    active,
                    ..
                } = state;
                warp.live &= !active;
                warp.withdraw(active, fragment.join, NONE);
                self.lanes_exited(warp, group, block);
                fragment.mask &= !active;
                if fragment.mask == 0 {
                    return Ok(Flow::Stop(FragmentStop::Ended));
                }
            }
            &Kind::Special(index) => {
                let special = &function.specials[index as usize];
                if let Next::Wait = self.special(state, special)? {
                    return Ok(Flow::Stop(FragmentStop::Waiting));
                }
            }
            &Kind::Unsupported(index) => {
                return Err(Fault::new(
                    TrapKind::NotEmulated,
                    function.messages[index as usize].clone(),
                ));
            }
            kind => compute(kind, state),
        }
        Ok(Flow::Next)
    }

    /// Shows an instruction to who watches, before it is executed.
    #[cold]
    fn observe(&self, warp: &Warp, fragment: &Fragment, block: [u32; 3], active: u32) {
        let Some(observer) = &self.launch.options.observer else {
            return;
        };
        let function = &self.launch.program.functions[fragment.function as usize];
        let origin = |pc: u32| function.origins[pc as usize].span;
        let before = fragment.pc.checked_sub(1).map(origin);
        observer.step(&Step {
            function: &function.name,
            span: origin(fragment.pc),
            is_first: before != Some(origin(fragment.pc)),
            block,
            threads: &warp.threads,
            lanes: fragment.mask,
            active,
            depth: fragment.frames.len(),
            names: &function.register_names,
            registers: &warp.registers[fragment.base as usize..],
        });
    }

    /// Tries the instruction at which a fragment waits again; whether it goes on.
    fn resume(
        &self,
        warp: &mut Warp,
        fragment: &mut Fragment,
        group: &mut Group,
        block: usize,
    ) -> Outcome<bool> {
        // The instruction was counted when the fragment arrived at it.
        let function = &self.launch.program.functions[fragment.function as usize];
        let constants = &self.launch.constants[fragment.function as usize][..];
        let special = self
            .special_of(fragment)
            .ok_or_else(|| Fault::new(TrapKind::NotEmulated, "an instruction to wait at"))?;
        let guard = function.code[fragment.pc as usize].guard;
        let active = fragment.mask & predicate(warp, fragment, guard);
        let state = Execution {
            warp,
            fragment,
            group,
            block,
            constants,
            active,
        };
        match self.special(state, special)? {
            Next::Advance => {
                fragment.pc += 1;
                Ok(true)
            }
            Next::Wait => Ok(false),
        }
    }

    /// Takes a branch of either kind: all lanes go one way, or they part.
    #[inline(always)]
    fn branch(
        &self,
        warp: &mut Warp,
        fragment: &mut Fragment,
        operation: &Operation,
        active: u32,
    ) -> Outcome<()> {
        match operation.kind {
            Kind::BranchIndexed { index, table } => {
                let function = &self.launch.program.functions[fragment.function as usize];
                let constants = &self.launch.constants[fragment.function as usize][..];
                let registers = &warp.registers[fragment.base as usize..];
                let values = *source(registers, constants, index);
                let targets = &function.tables[table as usize];
                let reconverge = operation.reconverge;
                self.branch_indexed(warp, fragment, reconverge, targets, &values, active)?;
            }
            Kind::Branch { target } if active == fragment.mask => fragment.pc = target,
            Kind::Branch { target } => {
                let other = fragment.mask & !active;
                let parts = [(active, target), (other, fragment.pc + 1)];
                self.divide(warp, fragment, operation.reconverge, &parts);
            }
            _ => {}
        }
        Ok(())
    }

    /// Sends each lane to the target that its index names.
    fn branch_indexed(
        &self,
        warp: &mut Warp,
        fragment: &mut Fragment,
        reconverge: u32,
        targets: &[u32],
        values: &Lanes,
        active: u32,
    ) -> Outcome<()> {
        let mut parts: Vec<(u32, u32)> = Vec::new();
        for lane in lanes_of(active) {
            let target = *targets.get(values[lane] as usize).ok_or_else(|| {
                Fault::new(
                    TrapKind::OutOfBounds,
                    format!(
                        "index {} in a list of {} targets",
                        values[lane],
                        targets.len()
                    ),
                )
            })?;
            match parts.iter_mut().find(|(_, other)| *other == target) {
                Some((mask, _)) => *mask |= 1 << lane,
                None => parts.push((1 << lane, target)),
            }
        }
        if active != fragment.mask {
            parts.push((fragment.mask & !active, fragment.pc + 1));
        }
        if let [(_, target)] = parts[..] {
            fragment.pc = target;
        } else {
            self.divide(warp, fragment, reconverge, &parts);
        }
        Ok(())
    }

    /// Lets lanes return from a function that was called.
    fn return_lanes(&self, state: Execution<'_>) -> Flow {
        let Execution {
            warp,
            fragment,
            active,
            ..
        } = state;
        if active != fragment.mask {
            // The others go on; these return.
            let mut returning = fragment.clone();
            returning.mask = active;
            fragment.mask &= !active;
            fragment.pc += 1;
            self.return_from(warp, returning);
            return Flow::Elsewhere;
        }
        let returning = std::mem::replace(fragment, placeholder());
        match self.return_from_last(warp, returning) {
            Some(resumed) => {
                *fragment = resumed;
                Flow::Function
            }
            None => Flow::Stop(FragmentStop::Ended),
        }
    }

    /// When the limits are checked next, from now on: no later than what is left of the steps allows.
    pub(crate) fn next_check(&self, steps: u64, total: u64) -> u64 {
        let left = self.launch.options.step_limit.saturating_sub(total);
        steps + UNCHECKED.min(left.saturating_add(1))
    }

    /// Ends the launch when it has executed too much or taken too long, or another block has trapped.
    pub(crate) fn check_limits(&self, group: &mut Group) -> Outcome<()> {
        let total = self
            .launch
            .steps
            .fetch_add(group.steps - group.flushed_steps, Relaxed)
            + group.steps
            - group.flushed_steps;
        group.flushed_steps = group.steps;
        if total > self.launch.options.step_limit {
            return Err(Fault::new(
                TrapKind::StepLimit,
                format!(
                    "more than {} thread-instructions were executed",
                    self.launch.options.step_limit
                ),
            ));
        }
        if self.launch.stop.load(Relaxed) {
            return Err(Fault::new(TrapKind::StepLimit, "another block has trapped"));
        }
        if self
            .launch
            .deadline
            .is_some_and(|deadline| Instant::now() > deadline)
        {
            let limit = self.launch.options.time_limit.unwrap_or_default();
            return Err(Fault::new(
                TrapKind::TimeLimit,
                format!("the launch took more than {limit:?}"),
            ));
        }
        group.next_check = self.next_check(group.steps, total);
        Ok(())
    }

    /// Divides a fragment. The first part that is not already at the meeting point goes on as `fragment`.
    fn divide(&self, warp: &mut Warp, fragment: &mut Fragment, meeting: u32, parts: &[(u32, u32)]) {
        if meeting != NONE && fragment.join_pc != meeting {
            fragment.join = warp.add_join(Join {
                pc: meeting,
                expected: fragment.mask,
                waiting: None,
                parent: fragment.join,
            });
            fragment.join_pc = meeting;
        }
        let mut rest = parts.iter().filter(|&&(_, pc)| pc != fragment.join_pc);
        for &(mask, pc) in parts.iter().filter(|&&(_, pc)| pc == fragment.join_pc) {
            let mut arriving = fragment.clone();
            (arriving.mask, arriving.pc) = (mask, pc);
            if let Some(joined) = warp.arrive(arriving) {
                *fragment = joined;
                return;
            }
        }
        let (mut first_mask, mut first_pc) = (0, fragment.pc);
        if let Some(&(mask, pc)) = rest.next() {
            (first_mask, first_pc) = (mask, pc);
        }
        for &(mask, pc) in rest {
            let mut other = fragment.clone();
            (other.mask, other.pc) = (mask, pc);
            warp.fragments.push_back(other);
        }
        (fragment.mask, fragment.pc) = (first_mask, first_pc);
    }

    fn general(&self, state: Execution<'_>, general: &General) -> Outcome<()> {
        let Execution {
            warp,
            fragment,
            constants,
            active,
            ..
        } = state;
        let effects = general.mnemonic.effects();
        let mut inputs = [0 as Bits; MOST_SOURCES + 1];
        for lane in lanes_of(active) {
            let mut count = 0;
            for &operand in &general.sources {
                let registers = &warp.registers[fragment.base as usize..];
                inputs[count] = match operand {
                    Source::Value(slot) => source(registers, constants, slot)[lane].into(),
                    Source::Wide(slot) => {
                        Bits::from(registers[slot as usize][lane])
                            | Bits::from(registers[slot as usize + 1][lane]) << 64
                    }
                    Source::Predicate(source) => {
                        (predicate(warp, fragment, source) >> lane & 1).into()
                    }
                };
                count += 1;
            }
            if effects.reads_carry {
                inputs[count] = (warp.carry >> lane & 1).into();
                count += 1;
            }
            let inputs = &inputs[..count];
            let outputs = if let Some(video) = &general.video {
                let operands = VideoOperands {
                    destination: video.destination.as_deref(),
                    a: video.a.as_deref(),
                    b: video.b.as_deref(),
                    negate_product: video.negate_product,
                    negate_c: video.negate_c,
                };
                evaluate_video(&general.mnemonic, inputs, &operands)
            } else if general.unpack {
                evaluate_unpack(&general.mnemonic, inputs[0], general.destinations.len())
            } else if let Some(recorded) = &general.recorded {
                self.launch.replay(recorded, &general.mnemonic, inputs)
            } else {
                approximate(&general.mnemonic, inputs)
            };
            let Some(outputs) = outputs else {
                return Err(Fault::new(
                    TrapKind::NotEmulated,
                    format!(
                        "`{}` of {inputs:x?} is not emulated",
                        general.mnemonic.text()
                    ),
                ));
            };
            for (&destination, &value) in general.destinations.iter().zip(outputs.values()) {
                match destination {
                    Destination::Sink => {}
                    Destination::Value {
                        slot,
                        scalar_type,
                        bits,
                    } => {
                        warp.registers[(fragment.base + slot) as usize][lane] =
                            extend(value, scalar_type, bits) as u64;
                    }
                    Destination::Wide(slot) => {
                        warp.registers[(fragment.base + slot) as usize][lane] = value as u64;
                        warp.registers[(fragment.base + slot) as usize + 1][lane] =
                            (value >> 64) as u64;
                    }
                    Destination::Predicate(slot) => {
                        set_predicate(
                            warp,
                            fragment,
                            slot,
                            if value & 1 != 0 { u32::MAX } else { 0 },
                            1 << lane,
                        );
                    }
                }
            }
            if let Some(carry) = outputs.carry {
                warp.carry = warp.carry & !(1 << lane) | u32::from(carry) << lane;
            }
        }
        Ok(())
    }
}

/// Executes an instruction that reads and writes nothing but registers.
#[inline(always)]
fn compute(kind: &Kind, state: Execution<'_>) {
    let Execution {
        warp,
        fragment,
        constants,
        active,
        ..
    } = state;
    let registers = &mut warp.registers[fragment.base as usize..];
    match kind {
        Kind::Nothing => {}
        &Kind::Move { d, a } => {
            let values = *source(registers, constants, a);
            commit(registers, d, values, active);
        }
        &Kind::Unary { operation, d, a } => {
            let values = operation.apply(source(registers, constants, a));
            commit(registers, d, values, active);
        }
        &Kind::Binary { operation, d, a, b } => {
            let values = operation.apply(
                source(registers, constants, a),
                source(registers, constants, b),
            );
            commit(registers, d, values, active);
        }
        &Kind::Ternary {
            operation,
            d,
            a,
            b,
            c,
        } => {
            let values = operation.apply(
                source(registers, constants, a),
                source(registers, constants, b),
                source(registers, constants, c),
            );
            commit(registers, d, values, active);
        }
        &Kind::Compare {
            comparator,
            p,
            q,
            a,
            b,
        } => {
            let truth = comparator.apply(
                source(registers, constants, a),
                source(registers, constants, b),
            );
            set_predicate(warp, fragment, p, truth, active);
            set_predicate(warp, fragment, q, !truth, active);
        }
        &Kind::CompareAnd {
            comparator,
            p,
            a,
            b,
            with,
            c,
        } => {
            let truth = comparator.apply(
                source(registers, constants, a),
                source(registers, constants, b),
            );
            let other = predicate(warp, fragment, c);
            set_predicate(warp, fragment, p, combine(with, truth, other), active);
        }
        &Kind::PredicateLogic { operation, p, a, b } => {
            let value = combine(
                operation,
                predicate(warp, fragment, a),
                predicate(warp, fragment, b),
            );
            set_predicate(warp, fragment, p, value, active);
        }
        &Kind::Select { d, a, b, p } => {
            let chosen = predicate(warp, fragment, p);
            let registers = &mut warp.registers[fragment.base as usize..];
            let (a, b) = (
                source(registers, constants, a),
                source(registers, constants, b),
            );
            let mut values = *b;
            for lane in 0..32 {
                let keep = u64::from(chosen >> lane & 1).wrapping_sub(1);
                values[lane] = values[lane] & keep | a[lane] & !keep;
            }
            commit(registers, d, values, active);
        }
        &Kind::Lop3 { d, a, b, c, table } => {
            let values = lanes::lop3(
                source(registers, constants, a),
                source(registers, constants, b),
                source(registers, constants, c),
                table,
            );
            commit(registers, d, values, active);
        }
        &Kind::AddressShift { d, a, add } => {
            let values = source(registers, constants, a).map(|address| address.wrapping_add(add));
            commit(registers, d, values, active);
        }
        &Kind::FrameAddress { d, add } => {
            let values = [add.wrapping_add(fragment.local_base.into()); 32];
            commit(registers, d, values, active);
        }
        _ => unreachable!("it touches more than registers"),
    }
}

/// A fragment without lanes, to stand where one was taken from.
fn placeholder() -> Fragment {
    Fragment {
        function: 0,
        pc: 0,
        mask: 0,
        base: 0,
        predicate_base: 0,
        local_base: 0,
        local_top: 0,
        join: NONE,
        join_pc: NONE,
        frames: Vec::new(),
        state: State::Running,
    }
}

#[inline(always)]
pub(crate) fn combine(operation: BooleanOperation, a: u32, b: u32) -> u32 {
    match operation {
        BooleanOperation::And => a & b,
        BooleanOperation::Or => a | b,
        BooleanOperation::Xor => a ^ b,
    }
}

/// The numbers of the lanes in a mask.
#[inline(always)]
pub(crate) fn lanes_of(mask: u32) -> impl Iterator<Item = usize> {
    let mut rest = mask;
    std::iter::from_fn(move || {
        if rest == 0 {
            return None;
        }
        let lane = rest.trailing_zeros() as usize;
        rest &= rest - 1;
        Some(lane)
    })
}
