//! Calls and returns: frames, arguments and results.

use crate::checks::{Undefined, UndefinedPredicate};
use crate::execute::{Executor, commit, lanes_of, predicate, set_predicate, source};
use crate::execution::Execution;
use crate::limits;
use crate::program::{CallTarget, Function, Lanes, NONE, Passed, PredicateSource};
use crate::trap::{Fault, Outcome, TrapKind};
use crate::warp::{Fragment, Frame, Join, Warp};

impl Executor<'_> {
    /// Executes a call, by its number in the function.
    pub(crate) fn call(
        &self,
        mut state: Execution<'_>,
        function: &Function,
        index: u32,
    ) -> Outcome<()> {
        let call = &function.calls[index as usize];
        let targets: Vec<(u32, u32)> = match &call.target {
            CallTarget::External(name) => {
                self.external(&mut state, call, name)?;
                state.fragment.pc += 1;
                return Ok(());
            }
            &CallTarget::Direct(target) => vec![(state.active, target)],
            &CallTarget::Indirect(slot) => self.indirect_targets(state.slot(slot), state.active)?,
        };
        let Execution {
            warp,
            fragment,
            constants,
            active,
            ..
        } = state;
        let return_to = fragment.pc + 1;
        // Lanes that do not call, or call something else, wait behind the call.
        if targets.len() > 1 || active != fragment.mask {
            fragment.join = warp.add_join(Join {
                pc: return_to,
                expected: fragment.mask,
                waiting: None,
                parent: fragment.join,
            });
            fragment.join_pc = return_to;
            let idle = fragment.mask & !active;
            if idle != 0 {
                let mut waiting = fragment.clone();
                (waiting.mask, waiting.pc) = (idle, return_to);
                warp.arrive(waiting);
            }
        }
        // The frames are handed on, not copied: a chain of calls may be long.
        let mut frames = std::mem::take(&mut fragment.frames);
        let caller = fragment.clone();
        for (number, &(mask, target)) in targets.iter().enumerate() {
            let callee = &self.launch.program.functions[target as usize];
            if callee.parameters.len() != call.arguments.len()
                || callee.returns.len() < call.results.len()
            {
                return Err(Fault::new(
                    TrapKind::BadCall,
                    format!(
                        "`{}` takes {} arguments, {} are passed",
                        callee.name,
                        callee.parameters.len(),
                        call.arguments.len()
                    ),
                ));
            }
            let mut inner = caller.clone();
            inner.mask = mask;
            inner.frames = if number + 1 == targets.len() {
                std::mem::take(&mut frames)
            } else {
                frames.clone()
            };
            inner.frames.push(Frame {
                function: caller.function,
                call: index,
                return_to,
                base: caller.base,
                predicate_base: caller.predicate_base,
                local_base: caller.local_base,
                local_top: caller.local_top,
            });
            if inner.frames.len() > self.launch.options.call_depth as usize {
                return Err(Fault::new(
                    TrapKind::MemoryLimit,
                    "calls are nested too deeply",
                ));
            }
            inner.function = target;
            inner.pc = 0;
            inner.base += function.registers;
            inner.predicate_base += function.predicates;
            inner.local_base = caller.local_top.next_multiple_of(16);
            inner.local_top = inner.local_base.saturating_add(callee.frame_bytes);
            inner.join = warp.add_join(Join {
                pc: NONE,
                expected: mask,
                waiting: None,
                parent: caller.join,
            });
            inner.join_pc = NONE;
            self.enter(warp, &inner)?;
            for (parameter, &argument) in callee.parameters.iter().zip(&call.arguments) {
                self.pass(
                    warp,
                    constants,
                    (&caller, argument),
                    (&inner, parameter.place),
                    mask,
                )?;
            }
            if number == 0 {
                *fragment = inner;
            } else {
                warp.fragments.push_back(inner);
            }
        }
        Ok(())
    }

    /// The functions that lanes call by their addresses, each with its lanes.
    fn indirect_targets(&self, values: &Lanes, active: u32) -> Outcome<Vec<(u32, u32)>> {
        let mut parts: Vec<(u32, u32)> = Vec::new();
        for lane in lanes_of(active) {
            let address = values[lane];
            let number =
                address.wrapping_sub(crate::memory::CODE_WINDOW) / crate::memory::CODE_STRIDE;
            let exists = self
                .launch
                .program
                .functions
                .get(number as usize)
                .is_some_and(|function| function.has_body && !function.is_entry);
            if !exists {
                return Err(Fault::at(
                    TrapKind::BadCall,
                    format!("call of {address:#x}, which is no function"),
                    lane as u32,
                    address,
                ));
            }
            match parts
                .iter_mut()
                .find(|(_, other)| u64::from(*other) == number)
            {
                Some((mask, _)) => *mask |= 1 << lane,
                None => parts.push((1 << lane, number as u32)),
            }
        }
        Ok(parts)
    }

    /// Makes room for a frame.
    pub(crate) fn enter(&self, warp: &mut Warp, fragment: &Fragment) -> Outcome<()> {
        let function = &self.launch.program.functions[fragment.function as usize];
        let full = |what: &str| Err(Fault::new(TrapKind::MemoryLimit, what));
        if u64::from(fragment.local_top) > self.launch.options.local_bytes {
            return full("a thread's stack is full");
        }
        let registers = u64::from(fragment.base) + u64::from(function.registers);
        let predicates = u64::from(fragment.predicate_base) + u64::from(function.predicates);
        let bytes = registers
            .max(predicates / 64)
            .try_into()
            .map(|registers| self.launch.frame_bytes(registers, fragment.local_top));
        if bytes.map_or(true, |bytes| bytes > self.launch.warp_bytes) {
            return full(
                "the registers of all calls of a warp take more than its part of the memory",
            );
        }
        let (registers, predicates) = (registers as usize, predicates as usize);
        if warp.registers.len() < registers {
            warp.registers.resize(registers, [0; 32]);
        }
        if warp.predicates.len() < predicates {
            warp.predicates.resize(predicates, 0);
        }
        if self.launch.options.check_uninitialized {
            let undefined = &mut warp.undefined;
            undefined
                .values
                .resize_with(warp.registers.len(), Undefined::default);
            undefined
                .predicates
                .resize_with(warp.predicates.len(), UndefinedPredicate::default);
            undefined.carry |= fragment.mask;
            warp.local.watch();
            let values = &mut undefined.values[fragment.base as usize..registers];
            for (own, &mask) in values.iter_mut().zip(&function.register_masks) {
                own.forget(fragment.mask, mask);
            }
            for own in &mut undefined.predicates[fragment.predicate_base as usize..predicates] {
                own.forget(fragment.mask);
            }
        }
        warp.local.grow(fragment.local_top.into());
        warp.local.forget(
            fragment.local_base.into(),
            fragment.local_top.into(),
            fragment.mask,
        );
        let beside = u64::from(limits::BESIDE_VARIABLES);
        for (index, variable) in function.local_variables.iter().enumerate() {
            let start = u64::from(fragment.local_base) + u64::from(variable.offset);
            let end = start + u64::from(variable.bytes);
            if index == 0 {
                warp.local.exclude(start - beside, start, fragment.mask);
            }
            warp.local.exclude(end, end + beside, fragment.mask);
        }
        Ok(())
    }

    /// Copies an argument or a result from one frame to another.
    fn pass(
        &self,
        warp: &mut Warp,
        constants: &[Lanes],
        from: (&Fragment, Passed),
        to: (&Fragment, Passed),
        lanes: u32,
    ) -> Outcome<()> {
        let (from_frame, from) = from;
        let (to_frame, to) = to;
        match (from, to) {
            (_, Passed::Register(NONE)) => {}
            (Passed::Register(a), Passed::Register(d)) => {
                let values = *source(&warp.registers[from_frame.base as usize..], constants, a);
                commit(
                    &mut warp.registers[to_frame.base as usize..],
                    d,
                    values,
                    lanes,
                );
                let given = warp.undefined(from_frame, a).cloned().unwrap_or_default();
                if let Some(own) = warp.undefined_mut(to_frame, d) {
                    own.set(lanes, &given.bits, given.raw, given.origin);
                }
            }
            (Passed::Predicate(a), Passed::Predicate(PredicateSource(d))) => {
                let value = predicate(warp, from_frame, a);
                set_predicate(warp, to_frame, d >> 1, value, lanes);
                let predicates = &mut warp.undefined.predicates;
                let slot = (from_frame.predicate_base + (a.0 >> 1)) as usize;
                let given = match a {
                    PredicateSource::TRUE | PredicateSource::FALSE => None,
                    _ => predicates.get(slot).cloned(),
                };
                let given = given.unwrap_or_default();
                let slot = (to_frame.predicate_base + (d >> 1)) as usize;
                if let Some(own) = predicates.get_mut(slot) {
                    own.set(lanes, given.lanes, given.origin);
                }
            }
            (
                Passed::Memory {
                    offset: a,
                    bytes: from_bytes,
                },
                Passed::Memory {
                    offset: d,
                    bytes: to_bytes,
                },
            ) => {
                if from_bytes != to_bytes {
                    return Err(Fault::new(
                        TrapKind::BadCall,
                        format!("{from_bytes} bytes are passed where {to_bytes} are expected"),
                    ));
                }
                for lane in lanes_of(lanes) {
                    let (a, d) = (
                        u64::from(from_frame.local_base + a),
                        u64::from(to_frame.local_base + d),
                    );
                    for word in (0..u64::from(to_bytes)).step_by(4) {
                        warp.local.copy_word(lane as u32, a + word, d + word);
                    }
                }
            }
            (Passed::Register(a), Passed::Memory { offset, bytes }) => {
                let values = *source(&warp.registers[from_frame.base as usize..], constants, a);
                let undefined = warp
                    .undefined(from_frame, a)
                    .map_or([0; 32], |own| own.bits);
                for lane in lanes_of(lanes) {
                    let (at, size) = (u64::from(to_frame.local_base + offset), bytes.min(8));
                    warp.local.store(lane as u32, at, size, values[lane]);
                    warp.local
                        .store_undefined(lane as u32, at, size, undefined[lane]);
                }
            }
            (Passed::Memory { offset, bytes }, Passed::Register(d)) => {
                let mut undefined = [0; 32];
                for lane in lanes_of(lanes) {
                    let (at, size) = (u64::from(from_frame.local_base + offset), bytes.min(8));
                    let value = warp.local.load(lane as u32, at, size);
                    warp.registers[(to_frame.base + d) as usize][lane] = value;
                    undefined[lane] = warp.local.load_undefined(lane as u32, at, size);
                }
                if let Some(own) = warp.undefined_mut(to_frame, d) {
                    let origin = Undefined::default().origin;
                    own.set(lanes, &undefined, 0, origin);
                }
            }
            _ => {
                return Err(Fault::new(
                    TrapKind::BadCall,
                    "a predicate is passed where a value is expected",
                ));
            }
        }
        Ok(())
    }

    /// Lets part of a fragment return; the others of its call may come later.
    pub(crate) fn return_from(&self, warp: &mut Warp, returning: Fragment) {
        if let Some(resumed) = self.return_from_last(warp, returning) {
            warp.fragments.push_back(resumed);
        }
    }

    /// Copies results back and waits for the other lanes of the call; the last gives all.
    pub(crate) fn return_from_last(
        &self,
        warp: &mut Warp,
        mut returning: Fragment,
    ) -> Option<Fragment> {
        let callee = &self.launch.program.functions[returning.function as usize];
        let mut frames = std::mem::take(&mut returning.frames);
        let inner = returning.clone();
        let frame = frames.pop()?;
        returning.frames = frames;
        let caller = &self.launch.program.functions[frame.function as usize];
        let call = &caller.calls[frame.call as usize];
        returning.function = frame.function;
        returning.pc = frame.return_to;
        returning.base = frame.base;
        returning.predicate_base = frame.predicate_base;
        returning.local_base = frame.local_base;
        returning.local_top = frame.local_top;
        for (parameter, &result) in callee.returns.iter().zip(&call.results) {
            // Sizes were compared when the call was made.
            let _ = self.pass(
                warp,
                &[],
                (&inner, parameter.place),
                (&returning, result),
                inner.mask,
            );
        }
        // Joins inside the callee that these lanes will not reach, up to that of the call.
        let mut join = returning.join;
        while join != NONE && warp.joins[join as usize].pc != NONE {
            join = warp.joins[join as usize].parent;
        }
        warp.withdraw(returning.mask, returning.join, join);
        returning.join = join;
        warp.arrive(returning)
    }
}
