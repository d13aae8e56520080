//! Undefined bits of memory: loads and stores carry them, and stores to global memory make them results.
//!
//! Structures are copied with their padding, so a store to global memory may have undefined parts. Bits count as padding if
//! they were only moved and lie beside defined ones, in a register, a vector or memory. Other undefined bits are reported.

use crate::access::Spot;
use crate::execute::Executor;
use crate::execution::Execution;
use crate::program::{Access, Atomic, Function};
use crate::trap::{Fault, Outcome, TrapKind};

use super::undefined::What;
use super::{AccessKind, RecordedAccess};

const OUTPUT: &str = "global memory";

fn all_bits(bytes: u32) -> u64 {
    u64::MAX >> (64 - 8 * bytes.min(8))
}

impl Executor<'_> {
    /// The undefined bits of up to eight bytes of shared or local memory.
    pub(crate) fn undefined_at(
        &self,
        state: &Execution<'_>,
        lane: usize,
        spot: Spot,
        size: u32,
    ) -> u64 {
        match spot {
            Spot::Shared(owner, offset) => {
                let checks = &state.group.blocks[owner].checks;
                checks
                    .undefined
                    .as_ref()
                    .map_or(0, |own| own.load(offset, size))
            }
            Spot::Local(offset) => state.warp.local.load_undefined(lane as u32, offset, size),
            Spot::Global(..) | Spot::Parameter(_) => 0,
        }
    }

    fn set_undefined_at(
        &self,
        state: &mut Execution<'_>,
        lane: usize,
        spot: Spot,
        size: u32,
        bits: u64,
    ) {
        match spot {
            Spot::Shared(owner, offset) => {
                if let Some(own) = &mut state.group.blocks[owner].checks.undefined {
                    own.store(offset, size, bits);
                }
            }
            Spot::Local(offset) => {
                let local = &mut state.warp.local;
                local.store_undefined(lane as u32, offset, size, bits);
            }
            Spot::Global(..) | Spot::Parameter(_) => {}
        }
    }

    /// Undefined bytes beside defined ones, as the padding of a structure is.
    fn is_padding(&self, state: &Execution<'_>, lane: usize, spot: Spot, size: u32) -> bool {
        let (Spot::Shared(_, offset) | Spot::Local(offset)) = spot else {
            return false;
        };
        let at = |offset: u64| match spot {
            Spot::Shared(owner, _) => Spot::Shared(owner, offset),
            _ => Spot::Local(offset),
        };
        let has_defined = |offset: u64, size: u32| {
            self.undefined_at(state, lane, at(offset), size) != all_bits(size)
        };
        let before = offset.wrapping_sub(size.into());
        match size {
            1 | 2 => has_defined(offset & !7, 8),
            _ => offset & u64::from(size) != 0 && has_defined(before, size),
        }
    }

    /// The parts of an access of at most eight bytes: each with its distance from the start, its register and its bytes.
    fn parts(access: &Access) -> impl Iterator<Item = (u64, u32, u32)> {
        let size = access.scalar_type.bytes();
        let each = size.div_ceil(8).max(1);
        access
            .registers
            .iter()
            .enumerate()
            .flat_map(move |(index, &slot)| {
                (0..each).map(move |half| {
                    let at = index as u64 * u64::from(size) + u64::from(half) * 8;
                    (at, slot.wrapping_add(half), size.min(8))
                })
            })
    }

    /// Carries what is undefined from memory to registers, or back.
    pub(super) fn check_contents(
        &self,
        state: &mut Execution<'_>,
        access: &Access,
        lane: usize,
        spot: Spot,
        kind: AccessKind,
    ) {
        if !self.launch.options.check_uninitialized {
            return;
        }
        if kind == AccessKind::Load {
            self.load_undefined(state, access, lane, spot);
        } else if let Spot::Global(..) = spot {
            self.check_output(state, access, lane);
        } else {
            for (at, slot, size) in Self::parts(access) {
                let bits = state.undefined_bits(slot)[lane] & all_bits(size);
                self.set_undefined_at(state, lane, spot.plus(at), size, bits);
            }
        }
    }

    fn load_undefined(&self, state: &mut Execution<'_>, access: &Access, lane: usize, spot: Spot) {
        let what = What::of(spot);
        if what == What::Unread {
            return;
        }
        for (at, slot, size) in Self::parts(access) {
            let bits = self.undefined_at(state, lane, spot.plus(at), size);
            if bits == 0 {
                continue;
            }
            let is_padding =
                bits != all_bits(size) || self.is_padding(state, lane, spot.plus(at), size);
            let extended = match size == 8 {
                true => bits,
                false => {
                    let scalar_type = access.scalar_type;
                    oriole_isa::extend(bits.into(), scalar_type, access.register_bits) as u64
                }
            };
            let origin = state.here(what);
            if let Some(own) = state.warp.undefined_mut(state.fragment, slot) {
                let mut all = [0; 32];
                all[lane] = extended;
                let raw = if is_padding { u32::MAX } else { 0 };
                // The first lane that reads something undefined is the one that is named.
                let origin = if own.lanes == 0 { origin } else { own.origin };
                own.set(1 << lane, &all, raw, origin);
            }
        }
    }

    /// Reports a store of something undefined to global memory.
    fn check_output(&self, state: &mut Execution<'_>, access: &Access, lane: usize) {
        let bits = |state: &Execution<'_>, slot: u32, size: u32| {
            state.undefined_bits(slot)[lane] & all_bits(size)
        };
        let is_whole =
            Self::parts(access).all(|(_, slot, size)| bits(state, slot, size) == all_bits(size));
        for (_, slot, size) in Self::parts(access) {
            if bits(state, slot, size) == 0 {
                continue;
            }
            let Some(own) = state.warp.undefined(state.fragment, slot) else {
                continue;
            };
            let is_raw = own.raw >> lane & 1 != 0;
            let is_memory = matches!(own.origin.what, What::Shared(_) | What::Local(_));
            let may_be_padding = is_raw && (is_memory || !is_whole);
            if may_be_padding && !self.launch.options.check_padding {
                continue;
            }
            let origin = match own.origin.what {
                What::Unread => state.here(What::Register(slot)),
                _ => own.origin,
            };
            self.report_undefined(state, origin, 1 << lane, OUTPUT);
            if let Some(own) = state.warp.undefined_mut(state.fragment, slot) {
                own.define(1 << lane);
            }
        }
    }

    /// Stores an element of a matrix with undefined bits.
    pub(crate) fn store_undefined(
        &self,
        state: &mut Execution<'_>,
        lane: usize,
        spot: Spot,
        (slot, size, bits): (u32, u32, u64),
    ) {
        if matches!(spot, Spot::Global(..)) {
            let origin = state.first_origin(&[slot]);
            self.report_undefined(state, origin, 1 << lane, OUTPUT);
        }
        self.set_undefined_at(state, lane, spot, size, bits);
    }

    /// Carries undefined bits of shared memory to the result of an atomic. A comparison with them decides something.
    pub(super) fn check_updated(
        &self,
        state: &mut Execution<'_>,
        function: &Function,
        atomic: &Atomic,
        lane: usize,
        spot: Spot,
    ) {
        use oriole_isa::ReductionOperation::{CompareAndSwap, Exchange};
        let Spot::Shared(_, offset) = spot else {
            return;
        };
        let size = atomic.scalar_type.bytes();
        if !self.launch.options.check_uninitialized || size > 8 {
            return;
        }
        for element in 0..atomic.sources.len() {
            let at = spot.plus(element as u64 * u64::from(size));
            let bits = self.undefined_at(state, lane, at, size);
            if bits == 0 {
                continue;
            }
            let origin = state.here(What::Shared(offset));
            match atomic.operation {
                Exchange => self.set_undefined_at(state, lane, at, size, 0),
                CompareAndSwap => {
                    self.report_undefined(state, origin, 1 << lane, "a comparison");
                    self.set_undefined_at(state, lane, at, size, 0);
                    continue;
                }
                _ => self.set_undefined_at(state, lane, at, size, all_bits(size)),
            }
            let active = std::mem::replace(&mut state.active, 1 << lane);
            if let Some(&slot) = atomic.destinations.get(element) {
                state.undefine(function, slot, &[u64::MAX; 32], 0, origin);
            }
            state.active = active;
        }
    }

    /// Defines what a matrix instruction writes.
    pub(super) fn define_written(&self, state: &mut Execution<'_>, access: &RecordedAccess) {
        for byte in 0..u64::from(access.width) {
            self.set_undefined_at(state, access.lane, access.spot.plus(byte), 1, 0);
        }
    }

    /// Traps on an access beside the local variables of a frame.
    pub(super) fn check_outside(
        &self,
        state: &Execution<'_>,
        lane: usize,
        spot: Spot,
        width: u32,
        writes: bool,
    ) -> Outcome<()> {
        let Spot::Local(offset) = spot else {
            return Ok(());
        };
        if !state.warp.local.is_outside(lane as u32, offset, width) {
            return Ok(());
        }
        let verb = if writes { "store" } else { "load" };
        let function = &self.launch.program.functions[state.fragment.function as usize];
        let at = offset.wrapping_sub(state.fragment.local_base.into());
        let end = |(start, bytes): (u32, u32)| u64::from(start) + u64::from(bytes);
        let near = function
            .local_variables
            .iter()
            .filter(|own| end((own.offset, own.bytes)) <= at + u64::from(width))
            .max_by_key(|own| own.offset);
        let place = match near {
            Some(own) if at < u64::from(state.fragment.local_top) => {
                let beyond = at.saturating_sub(end((own.offset, own.bytes)));
                let (name, bytes) = (&own.name, own.bytes);
                format!("{beyond} bytes past the end of `{name}`, which has {bytes}")
            }
            _ => "beside the local variables".to_string(),
        };
        Err(Fault::at(
            TrapKind::OutOfBounds,
            format!("{verb} of {width} bytes of local memory, {place}"),
            lane as u32,
            offset,
        ))
    }
}
