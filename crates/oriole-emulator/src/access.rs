//! Loads, stores and atomics of every state space.

use oriole_isa::memory_cost::{self, Operation, WarpCopy};
use oriole_isa::{Bits, Mnemonic, ReductionOperation, ScalarType, Space, evaluate};

use crate::checks::AccessKind;
use crate::execute::{Executor, lanes_of};
use crate::execution::Execution;
use crate::launch::Group;
use crate::memory::{
    CLUSTER_SHIFT, FRAME_PARAMETERS, LOCAL_WINDOW, PARAMETER_WINDOW, REGION_SHIFT, SHARED_WINDOW,
};
use crate::observer::Request;
use crate::program::{Access, Address, Atomic, FRAME, Lanes, NONE};
use crate::trap::{Fault, Outcome, TrapKind};

/// Memory behind an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spot {
    /// Region and offset.
    Global(usize, u64),
    /// Block of the cluster and offset.
    Shared(usize, u64),
    Local(u64),
    Parameter(u64),
}

impl Spot {
    /// The spot some bytes on.
    pub(crate) fn plus(self, bytes: u64) -> Spot {
        match self {
            Spot::Global(region, offset) => Spot::Global(region, offset + bytes),
            Spot::Shared(block, offset) => Spot::Shared(block, offset + bytes),
            Spot::Local(offset) => Spot::Local(offset + bytes),
            Spot::Parameter(offset) => Spot::Parameter(offset + bytes),
        }
    }
}

/// An access of one lane, before it is known to what memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LaneAccess {
    pub(crate) lane: usize,
    pub(crate) space: Space,
    pub(crate) address: u64,
    /// Its bytes.
    pub(crate) size: u32,
    pub(crate) writes: bool,
}

impl LaneAccess {
    /// Traps unless the access is aligned and inside memory of so many bytes.
    #[inline(always)]
    fn check(&self, offset: u64, bytes: u64, place: &str) -> Outcome<()> {
        let size = u64::from(self.size);
        if offset + size > bytes || offset & (size - 1) != 0 {
            return Err(self.fault(offset, bytes, place));
        }
        Ok(())
    }

    #[cold]
    fn fault(&self, offset: u64, bytes: u64, place: &str) -> Box<Fault> {
        let size = self.size;
        let verb = if self.writes { "store" } else { "load" };
        let (kind, why) = if offset + u64::from(size) > bytes {
            (
                TrapKind::OutOfBounds,
                format!("of {place}, which has {bytes} bytes"),
            )
        } else {
            (TrapKind::Misaligned, format!("of {place}"))
        };
        Fault::at(
            kind,
            format!("{verb} of {size} bytes at offset {offset:#x} {why}"),
            self.lane as u32,
            self.address,
        )
    }
}

impl Access {
    /// The access of one lane, all of its elements.
    pub(crate) fn of_lane(&self, lane: usize, addresses: &Lanes, kind: AccessKind) -> LaneAccess {
        LaneAccess {
            lane,
            space: self.space,
            address: addresses[lane],
            size: self.width,
            writes: kind.writes(),
        }
    }
}

impl Atomic {
    /// The access of one lane, of so many bytes.
    pub(crate) fn of_lane(&self, lane: usize, addresses: &Lanes, width: u32) -> LaneAccess {
        LaneAccess {
            lane,
            space: self.space,
            address: addresses[lane],
            size: width,
            writes: true,
        }
    }
}

impl Executor<'_> {
    /// The addresses of all lanes.
    #[inline(always)]
    pub(crate) fn addresses(&self, state: &Execution<'_>, address: Address) -> Lanes {
        let offset = address.offset as u64;
        match address.base {
            NONE => [offset; 32],
            FRAME => [offset.wrapping_add(state.fragment.local_base.into()); 32],
            slot => {
                let mut values = *state.slot(slot);
                for value in &mut values {
                    *value = value.wrapping_add(offset);
                }
                values
            }
        }
    }

    /// The memory behind an address, checked for size, alignment and permission.
    pub(crate) fn locate(&self, state: &Execution<'_>, mut access: LaneAccess) -> Outcome<Spot> {
        // A generic address, or one of a parameter in the frame, is another one of its own space.
        loop {
            let address = access.address;
            (access.space, access.address) = match access.space {
                Space::Global | Space::Const => {
                    let offset = self.locate_global(&access)?;
                    return Ok(Spot::Global((address >> REGION_SHIFT) as usize - 1, offset));
                }
                Space::Shared | Space::SharedCluster => {
                    access.address &= 0xffff_ffff;
                    let rank = (access.address >> CLUSTER_SHIFT) as usize;
                    let offset = access.address & ((1 << CLUSTER_SHIFT) - 1);
                    let owner = if rank == 0 { state.block } else { rank - 1 };
                    if owner != state.block {
                        check_present(state.group, owner, &access)?;
                    }
                    let block = state.group.blocks.get(owner);
                    let bytes = block.map_or(0, |block| block.shared_bytes);
                    access.check(offset, bytes, "shared memory")?;
                    return Ok(Spot::Shared(owner, offset));
                }
                Space::Local => {
                    access.address &= 0xffff_ffff;
                    let bytes = state.warp.local.bytes;
                    access.check(access.address, bytes, "local memory")?;
                    return Ok(Spot::Local(access.address));
                }
                Space::Param | Space::ParamEntry | Space::ParamFunc => {
                    if address < FRAME_PARAMETERS {
                        return self.locate_parameter(&access);
                    }
                    (Space::Local, address - FRAME_PARAMETERS)
                }
                _ if address >> REGION_SHIFT != 0 => (Space::Global, address),
                _ => match address >> 32 {
                    1 => (Space::Shared, address - SHARED_WINDOW),
                    2 => (Space::Local, address - LOCAL_WINDOW),
                    3 => (Space::Param, address - PARAMETER_WINDOW),
                    _ => {
                        self.locate_global(&access)?;
                        return Err(Fault::at(
                            TrapKind::OutOfBounds,
                            format!("address {address:#x} is no memory"),
                            access.lane as u32,
                            address,
                        ));
                    }
                },
            };
        }
    }

    /// The offset in its region.
    #[inline(always)]
    fn locate_global(&self, access: &LaneAccess) -> Outcome<u64> {
        let LaneAccess {
            lane,
            address,
            size,
            writes,
            ..
        } = *access;
        let memory = self.launch.memory;
        let (_, offset) = memory.locate(address, size, writes, lane as u32)?;
        Ok(offset)
    }

    /// A parameter of the kernel.
    fn locate_parameter(&self, access: &LaneAccess) -> Outcome<Spot> {
        if access.writes {
            return Err(Fault::at(
                TrapKind::ReadOnly,
                "store to a parameter of the kernel",
                access.lane as u32,
                access.address,
            ));
        }
        let bytes = self.launch.parameter_bytes;
        access.check(access.address, bytes, "the kernel's parameters")?;
        Ok(Spot::Parameter(access.address))
    }

    #[inline(always)]
    pub(crate) fn read(&self, state: &Execution<'_>, lane: usize, spot: Spot, size: u32) -> u64 {
        match spot {
            Spot::Global(region, offset) => self.launch.memory.regions[region].load(offset, size),
            Spot::Shared(block, offset) => state.group.blocks[block].shared.load(offset, size),
            Spot::Local(offset) => state.warp.local.load(lane as u32, offset, size),
            Spot::Parameter(offset) => self.launch.parameters.load(offset, size),
        }
    }

    #[inline(always)]
    pub(crate) fn write(
        &self,
        state: &mut Execution<'_>,
        lane: usize,
        spot: Spot,
        size: u32,
        value: u64,
    ) {
        state.group.writes += 1;
        match spot {
            Spot::Global(region, offset) => {
                self.launch.memory.regions[region].store(offset, size, value)
            }
            Spot::Shared(block, offset) => {
                state.group.blocks[block].shared.store(offset, size, value)
            }
            Spot::Local(offset) => state.warp.local.store(lane as u32, offset, size, value),
            Spot::Parameter(_) => {}
        }
    }

    /// The addresses of a load or store, counted and checked as the options ask.
    #[inline(always)]
    fn begin(
        &self,
        state: &mut Execution<'_>,
        access: &Access,
        kind: AccessKind,
    ) -> Outcome<Lanes> {
        let addresses = self.addresses(state, access.address);
        let options = self.launch.options;
        if options.profile {
            let active = state.active;
            let operation = match kind {
                AccessKind::Load => Operation::Load,
                _ => Operation::Store,
            };
            self.count(
                state,
                access.space,
                operation,
                &addresses,
                active,
                access.width,
            );
        }
        if options.check_races || options.check_uninitialized {
            self.check_access(state, access, &addresses, kind)?;
        }
        Ok(addresses)
    }

    /// Executes a load.
    #[inline]
    pub(crate) fn load(&self, mut state: Execution<'_>, access: &Access) -> Outcome<()> {
        let addresses = self.begin(&mut state, access, AccessKind::Load)?;
        let active = state.active;
        let size = access.scalar_type.bytes();
        // The common case: one register.
        if let [slot] = access.registers[..]
            && size <= 8
        {
            let target = state.fragment.base.wrapping_add(slot) as usize;
            let extension = if access.scalar_type.is_signed()
                && access.register_bits > access.scalar_type.bits()
            {
                Some((64 - access.scalar_type.bits(), 64 - access.register_bits))
            } else {
                None
            };
            let mut values = if slot == NONE {
                [0; 32]
            } else {
                state.warp.registers[target]
            };
            let wide = u64::from(size);
            let slow = |lane: usize| -> Outcome<u64> {
                let lane_access = access.of_lane(lane, &addresses, AccessKind::Load);
                let spot = self.locate(&state, lane_access)?;
                Ok(self.read(&state, lane, spot, size))
            };
            match access.space {
                Space::Param if access.address.base == NONE => {
                    let first = active.trailing_zeros() as usize;
                    let value = slow(first)?;
                    for lane in lanes_of(active) {
                        values[lane] = value;
                    }
                }
                Space::Global => {
                    for lane in lanes_of(active) {
                        let memory = self.launch.memory;
                        let (region, offset) =
                            memory.locate(addresses[lane], size, false, lane as u32)?;
                        values[lane] = region.load(offset, size);
                    }
                }
                Space::Shared => {
                    let owner = &state.group.blocks[state.block];
                    for lane in lanes_of(active) {
                        let offset = addresses[lane] & 0xffff_ffff;
                        let inside =
                            offset + wide <= owner.shared_bytes && offset & (wide - 1) == 0;
                        values[lane] = if inside {
                            owner.shared.load(offset, size)
                        } else {
                            slow(lane)?
                        };
                    }
                }
                Space::Local => {
                    for lane in lanes_of(active) {
                        let offset = addresses[lane] & 0xffff_ffff;
                        let inside =
                            offset + wide <= state.warp.local.bytes && offset & (wide - 1) == 0;
                        values[lane] = if inside {
                            state.warp.local.load(lane as u32, offset, size)
                        } else {
                            slow(lane)?
                        };
                    }
                }
                _ => {
                    for lane in lanes_of(active) {
                        values[lane] = slow(lane)?;
                    }
                }
            }
            if let Some((shift, keep)) = extension {
                for lane in lanes_of(active) {
                    values[lane] =
                        ((((values[lane] << shift) as i64) >> shift) as u64) << keep >> keep;
                }
            }
            if slot != NONE {
                state.warp.registers[target] = values;
            }
            return Ok(());
        }
        self.load_elements(&mut state, access, &addresses)
    }

    /// Loads several registers a lane, or one of 128 bits.
    fn load_elements(
        &self,
        state: &mut Execution<'_>,
        access: &Access,
        addresses: &Lanes,
    ) -> Outcome<()> {
        let size = access.scalar_type.bytes();
        let base = state.fragment.base;
        for lane in lanes_of(state.active) {
            let lane_access = access.of_lane(lane, addresses, AccessKind::Load);
            let spot = self.locate(state, lane_access)?;
            for (element, &slot) in access.registers.iter().enumerate() {
                let at = spot.plus(element as u64 * u64::from(size));
                if size == 16 {
                    let (low, high) = (
                        self.read(state, lane, at, 8),
                        self.read(state, lane, at.plus(8), 8),
                    );
                    if slot != NONE {
                        state.warp.registers[(base + slot) as usize][lane] = low;
                        state.warp.registers[(base + slot) as usize + 1][lane] = high;
                    }
                    continue;
                }
                let value = self.read(state, lane, at, size);
                if slot != NONE {
                    let value =
                        oriole_isa::extend(value.into(), access.scalar_type, access.register_bits)
                            as u64;
                    state.warp.registers[(base + slot) as usize][lane] = value;
                }
            }
        }
        Ok(())
    }

    /// Executes a store.
    #[inline]
    pub(crate) fn store(&self, mut state: Execution<'_>, access: &Access) -> Outcome<()> {
        let addresses = self.begin(&mut state, access, AccessKind::Store)?;
        let active = state.active;
        let size = access.scalar_type.bytes();
        if let [slot] = access.registers[..]
            && size <= 8
        {
            let values = *state.slot(slot);
            let wide = u64::from(size);
            state.group.writes += 1;
            for lane in lanes_of(active) {
                let address = addresses[lane];
                let offset = address & 0xffff_ffff;
                let aligned = offset & (wide - 1) == 0;
                match access.space {
                    Space::Global => {
                        let memory = self.launch.memory;
                        let (region, offset) = memory.locate(address, size, true, lane as u32)?;
                        region.store(offset, size, values[lane]);
                    }
                    Space::Shared
                        if aligned
                            && offset + wide <= state.group.blocks[state.block].shared_bytes =>
                    {
                        let block = &mut state.group.blocks[state.block];
                        block.shared.store(offset, size, values[lane]);
                    }
                    Space::Local if aligned && offset + wide <= state.warp.local.bytes => {
                        state
                            .warp
                            .local
                            .store(lane as u32, offset, size, values[lane]);
                    }
                    _ => {
                        let lane_access = access.of_lane(lane, &addresses, AccessKind::Store);
                        let spot = self.locate(&state, lane_access)?;
                        self.write(&mut state, lane, spot, size, values[lane]);
                    }
                }
            }
            return Ok(());
        }
        for lane in lanes_of(active) {
            let lane_access = access.of_lane(lane, &addresses, AccessKind::Store);
            let spot = self.locate(&state, lane_access)?;
            for (element, &slot) in access.registers.iter().enumerate() {
                let at = spot.plus(element as u64 * u64::from(size));
                if size == 16 {
                    let registers = &state.warp.registers[state.fragment.base as usize..];
                    let (low, high) = (
                        registers[slot as usize][lane],
                        registers[slot as usize + 1][lane],
                    );
                    self.write(&mut state, lane, at, 8, low);
                    self.write(&mut state, lane, at.plus(8), 8, high);
                    continue;
                }
                let value = state.slot(slot)[lane];
                self.write(&mut state, lane, at, size, value);
            }
        }
        Ok(())
    }

    /// Executes an atomic.
    pub(crate) fn atomic(&self, mut state: Execution<'_>, atomic: &Atomic) -> Outcome<()> {
        let addresses = self.addresses(&state, atomic.address);
        let active = state.active;
        let size = atomic.scalar_type.bytes();
        if self.launch.options.profile {
            let width = size * atomic.sources.len() as u32;
            let operation = match atomic.operation {
                ReductionOperation::CompareAndSwap => Operation::CompareAndSwap,
                _ => Operation::Atomic,
            };
            self.count(
                &mut state,
                atomic.space,
                operation,
                &addresses,
                active,
                width,
            );
        }
        let elements = if size == 16 { 1 } else { atomic.sources.len() };
        let width = size * elements as u32;
        let options = self.launch.options;
        if options.check_races || options.check_uninitialized {
            self.check_atomic(&mut state, atomic, &addresses, width)?;
        }
        for lane in lanes_of(active) {
            if size == 16 {
                return Err(Fault::new(
                    TrapKind::NotEmulated,
                    "atomics of 128 bits are not emulated",
                ));
            }
            let spot = self.locate(&state, atomic.of_lane(lane, &addresses, width))?;
            if matches!(spot, Spot::Local(_) | Spot::Parameter(_)) {
                return Err(Fault::at(
                    TrapKind::InvalidAccess,
                    "an atomic on local memory, which belongs to one thread",
                    lane as u32,
                    addresses[lane],
                ));
            }
            for element in 0..elements {
                let at = spot.plus(element as u64 * u64::from(size));
                let operand = state.slot(atomic.sources[element])[lane];
                let swap = if atomic.compare == NONE {
                    0
                } else {
                    state.slot(atomic.compare)[lane]
                };
                let apply = |old: u64| {
                    apply_atomic(
                        atomic.operation,
                        atomic.scalar_type,
                        atomic.mnemonic.as_ref(),
                        old,
                        operand,
                        swap,
                    )
                };
                let old = match at {
                    Spot::Global(region, offset) => {
                        let old = self.update_global(region, offset, size, &apply)?;
                        state.group.writes += u64::from(apply(old) != Some(old));
                        old
                    }
                    _ => {
                        let old = self.read(&state, lane, at, size);
                        let new = apply(old).ok_or_else(|| {
                            Fault::new(TrapKind::NotEmulated, "this atomic is not emulated")
                        })?;
                        if new != old {
                            self.write(&mut state, lane, at, size, new);
                        }
                        old
                    }
                };
                if let Some(&slot) = atomic.destinations.get(element)
                    && slot != NONE
                {
                    state.warp.registers[(state.fragment.base + slot) as usize][lane] = old;
                }
            }
        }
        Ok(())
    }

    /// Updates a word of global memory. Blocks that run at the same time do so only with operations whose order does not
    /// matter, so a word of four bytes is exchanged and larger ones are not contended.
    fn update_global(
        &self,
        region: usize,
        offset: u64,
        size: u32,
        apply: &dyn Fn(u64) -> Option<u64>,
    ) -> Outcome<u64> {
        use std::sync::atomic::Ordering::Relaxed;
        let region = &self.launch.memory.regions[region];
        let unknown = || Fault::new(TrapKind::NotEmulated, "this atomic is not emulated");
        if size == 4 {
            let word = &region.words[(offset >> 2) as usize];
            let mut old = word.load(Relaxed);
            loop {
                let new = apply(old.into()).ok_or_else(unknown)? as u32;
                match word.compare_exchange_weak(old, new, Relaxed, Relaxed) {
                    Ok(_) => return Ok(old.into()),
                    Err(current) => old = current,
                }
            }
        }
        let old = region.load(offset, size);
        region.store(offset, size, apply(old).ok_or_else(unknown)?);
        Ok(old)
    }

    /// Counts sectors or wavefronts of an access that is no copy.
    pub(crate) fn count(
        &self,
        state: &mut Execution<'_>,
        space: Space,
        operation: Operation,
        addresses: &Lanes,
        lanes: u32,
        width: u32,
    ) {
        self.observe_request(state, space, operation, [addresses; 2], lanes, width);
        let (function, pc) = (state.fragment.function, state.fragment.pc);
        let counters = &mut state.group.counters.0[function as usize][pc as usize];
        let first = addresses[lanes.trailing_zeros().min(31) as usize];
        let shared = match space {
            Space::Shared | Space::SharedCluster => true,
            Space::Generic => first >> 32 == 1,
            _ => false,
        };
        let global = match space {
            Space::Global => true,
            Space::Generic => first >> REGION_SHIFT != 0,
            _ => false,
        };
        if shared {
            let (count, ideal) = memory_cost::wavefronts(operation, addresses, lanes, width);
            counters.wavefronts += count;
            counters.ideal_wavefronts += ideal;
        } else if global {
            let (count, ideal) = memory_cost::sectors(addresses, lanes, width);
            counters.sectors += count;
            counters.ideal_sectors += ideal;
        }
    }

    /// Counts sectors and wavefronts of a copy from global to shared memory.
    pub(crate) fn count_copy(&self, state: &mut Execution<'_>, copy: &WarpCopy<'_>) {
        let operation = copy.operation();
        let (lanes, width) = (copy.active, copy.width);
        let (from, to) = (copy.from, copy.to);
        self.observe_request(state, Space::Global, operation, [from, to], lanes, width);
        self.observe_request(state, Space::Shared, operation, [to, from], lanes, width);
        let (function, pc) = (state.fragment.function, state.fragment.pc);
        let counters = &mut state.group.counters.0[function as usize][pc as usize];
        let sectors = copy.sectors().1;
        counters.sectors += sectors;
        counters.ideal_sectors += memory_cost::ideal_sectors(lanes, width).min(sectors);
        // The data go past the load-store unit, which takes no wavefronts for them.
        if copy.bypasses {
            return;
        }
        let wavefronts = copy.wavefronts().1;
        counters.wavefronts += wavefronts;
        let ideal = memory_cost::ideal_wavefronts(operation, lanes, width);
        counters.ideal_wavefronts += ideal.min(wavefronts);
    }

    /// Tells the observer of a request. The second addresses are those of the other side of a copy.
    fn observe_request(
        &self,
        state: &Execution<'_>,
        space: Space,
        operation: Operation,
        [addresses, other]: [&Lanes; 2],
        lanes: u32,
        width: u32,
    ) {
        let (function, pc) = (state.fragment.function, state.fragment.pc);
        if let Some(observer) = &self.launch.options.observer {
            let function = &self.launch.program.functions[function as usize];
            observer.request(&Request {
                function: &function.name,
                span: function.origins[pc as usize].span,
                block: state.group.blocks[state.block].index,
                threads: &state.warp.threads,
                space,
                operation,
                lanes,
                addresses,
                other,
                width,
            });
        }
    }
}
/// Traps on shared memory of another block of the cluster that has exited.
#[cold]
fn check_present(group: &Group, owner: usize, access: &LaneAccess) -> Outcome<()> {
    match group.blocks.get(owner) {
        Some(other) if other.live.iter().all(|&live| live == 0) => Err(Fault::at(
            TrapKind::InvalidAccess,
            format!("shared memory of block {owner} of the cluster, which has exited"),
            access.lane as u32,
            access.address,
        )),
        _ => Ok(()),
    }
}

/// The new value of a word after an atomic operation.
pub(crate) fn apply_atomic(
    operation: ReductionOperation,
    scalar_type: ScalarType,
    arithmetic: Option<&Mnemonic>,
    old: u64,
    operand: u64,
    swap: u64,
) -> Option<u64> {
    use ReductionOperation::*;
    let bits = scalar_type.bits();
    let mask = if bits >= 64 {
        u64::MAX
    } else {
        (1 << bits) - 1
    };
    if let Some(mnemonic) = arithmetic {
        let outputs = evaluate(mnemonic, &[Bits::from(old), Bits::from(operand)])?;
        return Some(outputs.values()[0] as u64);
    }
    let signed = |value: u64| ((value << (64 - bits)) as i64) >> (64 - bits);
    Some(match operation {
        Add => old.wrapping_add(operand) & mask,
        And => old & operand,
        Or => old | operand,
        Xor => old ^ operand,
        Exchange => operand,
        CompareAndSwap if old == operand => swap,
        CompareAndSwap => old,
        Min if scalar_type.is_signed() => {
            if signed(operand) < signed(old) {
                operand
            } else {
                old
            }
        }
        Max if scalar_type.is_signed() => {
            if signed(operand) > signed(old) {
                operand
            } else {
                old
            }
        }
        Min => old.min(operand),
        Max => old.max(operand),
        Increment => {
            if old >= operand {
                0
            } else {
                old + 1
            }
        }
        Decrement => {
            if old == 0 || old > operand {
                operand
            } else {
                old - 1
            }
        }
        PopulationCount => return None,
    })
}
