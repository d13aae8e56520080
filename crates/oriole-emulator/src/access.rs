//! Loads, stores and atomics of every state space.

use oriole_isa::{Bits, Mnemonic, ReductionOperation, ScalarType, Space, evaluate};

use crate::counters;
use crate::execute::{Executor, lanes_of, source};
use crate::launch::Group;
use crate::memory::{
    CLUSTER_SHIFT, FRAME_PARAMETERS, LOCAL_WINDOW, PARAMETER_WINDOW, REGION_SHIFT, SHARED_WINDOW,
};
use crate::program::{Access, Address, Atomic, FRAME, Lanes, NONE};
use crate::trap::{Fault, Outcome, TrapKind};
use crate::warp::{Fragment, Warp};

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

impl Executor<'_> {
    /// The addresses of all lanes.
    #[inline(always)]
    pub(crate) fn addresses(
        &self,
        warp: &Warp,
        fragment: &Fragment,
        constants: &[Lanes],
        address: Address,
    ) -> Lanes {
        let offset = address.offset as u64;
        match address.base {
            NONE => [offset; 32],
            FRAME => [offset.wrapping_add(fragment.local_base.into()); 32],
            slot => {
                let mut values =
                    *source(&warp.registers[fragment.base as usize..], constants, slot);
                for value in &mut values {
                    *value = value.wrapping_add(offset);
                }
                values
            }
        }
    }

    /// The memory behind an address, checked for size, alignment and permission.
    #[allow(clippy::too_many_arguments, reason = "the state of an execution")]
    pub(crate) fn locate(
        &self,
        warp: &Warp,
        group: &Group,
        block: usize,
        space: Space,
        address: u64,
        size: u32,
        write: bool,
        lane: usize,
    ) -> Outcome<Spot> {
        let lane = lane as u32;
        match space {
            Space::Global | Space::Const => {
                let (_, offset) = self.launch.memory.locate(address, size, write, lane)?;
                Ok(Spot::Global((address >> REGION_SHIFT) as usize - 1, offset))
            }
            Space::Shared | Space::SharedCluster => {
                let address = address & 0xffff_ffff;
                let rank = (address >> CLUSTER_SHIFT) as usize;
                let offset = address & ((1 << CLUSTER_SHIFT) - 1);
                let owner = if rank == 0 { block } else { rank - 1 };
                if owner != block {
                    check_present(group, owner, lane, address)?;
                }
                let bytes = group
                    .blocks
                    .get(owner)
                    .map_or(0, |block| block.shared_bytes);
                self.check(offset, size, bytes, write, lane, address, "shared memory")?;
                Ok(Spot::Shared(owner, offset))
            }
            Space::Local => {
                let address = address & 0xffff_ffff;
                self.check(
                    address,
                    size,
                    warp.local.bytes,
                    write,
                    lane,
                    address,
                    "local memory",
                )?;
                Ok(Spot::Local(address))
            }
            Space::Param | Space::ParamEntry | Space::ParamFunc => {
                if address >= FRAME_PARAMETERS {
                    return self.locate(
                        warp,
                        group,
                        block,
                        Space::Local,
                        address - FRAME_PARAMETERS,
                        size,
                        write,
                        lane as usize,
                    );
                }
                if write {
                    return Err(Fault::at(
                        TrapKind::ReadOnly,
                        "store to a parameter of the kernel",
                        lane,
                        address,
                    ));
                }
                self.check(
                    address,
                    size,
                    self.launch.parameter_bytes,
                    write,
                    lane,
                    address,
                    "the kernel's parameters",
                )?;
                Ok(Spot::Parameter(address))
            }
            _ => {
                if address >> REGION_SHIFT != 0 {
                    return self.locate(
                        warp,
                        group,
                        block,
                        Space::Global,
                        address,
                        size,
                        write,
                        lane as usize,
                    );
                }
                let (space, window) = match address >> 32 {
                    1 => (Space::Shared, SHARED_WINDOW),
                    2 => (Space::Local, LOCAL_WINDOW),
                    3 => (Space::Param, PARAMETER_WINDOW),
                    _ => {
                        self.launch.memory.locate(address, size, write, lane)?;
                        return Err(Fault::at(
                            TrapKind::OutOfBounds,
                            format!("address {address:#x} is no memory"),
                            lane,
                            address,
                        ));
                    }
                };
                self.locate(
                    warp,
                    group,
                    block,
                    space,
                    address - window,
                    size,
                    write,
                    lane as usize,
                )
            }
        }
    }

    #[inline(always)]
    #[allow(clippy::too_many_arguments, reason = "what the message says")]
    fn check(
        &self,
        offset: u64,
        size: u32,
        bytes: u64,
        write: bool,
        lane: u32,
        address: u64,
        place: &str,
    ) -> Outcome<()> {
        if offset + u64::from(size) > bytes || offset & u64::from(size - 1) != 0 {
            let verb = if write { "store" } else { "load" };
            let (kind, why) = if offset + u64::from(size) > bytes {
                (
                    TrapKind::OutOfBounds,
                    format!("of {place}, which has {bytes} bytes"),
                )
            } else {
                (TrapKind::Misaligned, format!("of {place}"))
            };
            return Err(Fault::at(
                kind,
                format!("{verb} of {size} bytes at offset {offset:#x} {why}"),
                lane,
                address,
            ));
        }
        Ok(())
    }

    #[inline(always)]
    pub(crate) fn read(
        &self,
        warp: &Warp,
        group: &Group,
        lane: usize,
        spot: Spot,
        size: u32,
    ) -> u64 {
        match spot {
            Spot::Global(region, offset) => self.launch.memory.regions[region].load(offset, size),
            Spot::Shared(block, offset) => group.blocks[block].shared.load(offset, size),
            Spot::Local(offset) => warp.local.load(lane as u32, offset, size),
            Spot::Parameter(offset) => self.launch.parameters.load(offset, size),
        }
    }

    #[inline(always)]
    pub(crate) fn write(
        &self,
        warp: &mut Warp,
        group: &mut Group,
        lane: usize,
        spot: Spot,
        size: u32,
        value: u64,
    ) {
        group.writes += 1;
        match spot {
            Spot::Global(region, offset) => {
                self.launch.memory.regions[region].store(offset, size, value)
            }
            Spot::Shared(block, offset) => group.blocks[block].shared.store(offset, size, value),
            Spot::Local(offset) => warp.local.store(lane as u32, offset, size, value),
            Spot::Parameter(_) => {}
        }
    }

    /// The addresses of a load or store, counted and checked as the options ask.
    #[allow(clippy::too_many_arguments, reason = "the state of an execution")]
    #[inline(always)]
    fn begin(
        &self,
        warp: &mut Warp,
        fragment: &Fragment,
        group: &mut Group,
        block: usize,
        constants: &[Lanes],
        access: &Access,
        active: u32,
        is_write: bool,
    ) -> Outcome<Lanes> {
        let addresses = self.addresses(warp, fragment, constants, access.address);
        let options = self.launch.options;
        if options.profile {
            self.count(
                fragment,
                group,
                access.space,
                &addresses,
                active,
                access.width,
            );
        }
        if options.check_races || options.check_uninitialized {
            self.check_access(
                warp, fragment, group, block, access, &addresses, active, is_write,
            )?;
        }
        Ok(addresses)
    }

    #[allow(clippy::too_many_arguments, reason = "the state of an execution")]
    #[inline]
    pub(crate) fn load(
        &self,
        warp: &mut Warp,
        fragment: &Fragment,
        group: &mut Group,
        block: usize,
        constants: &[Lanes],
        access: &Access,
        active: u32,
    ) -> Outcome<()> {
        let addresses = self.begin(
            warp, fragment, group, block, constants, access, active, false,
        )?;
        let size = access.scalar_type.bytes();
        // The common case: one register.
        if let [slot] = access.registers[..]
            && size <= 8
        {
            let target = fragment.base.wrapping_add(slot) as usize;
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
                warp.registers[target]
            };
            let wide = u64::from(size);
            let slow = |lane: usize| -> Outcome<u64> {
                let address = addresses[lane];
                let spot =
                    self.locate(warp, group, block, access.space, address, size, false, lane)?;
                Ok(self.read(warp, group, lane, spot, size))
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
                    let owner = &group.blocks[block];
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
                        let inside = offset + wide <= warp.local.bytes && offset & (wide - 1) == 0;
                        values[lane] = if inside {
                            warp.local.load(lane as u32, offset, size)
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
                warp.registers[target] = values;
            }
            return Ok(());
        }
        self.load_elements(warp, fragment, group, block, access, &addresses, active)
    }

    /// Loads several registers a lane, or one of 128 bits.
    #[allow(clippy::too_many_arguments, reason = "the state of an execution")]
    fn load_elements(
        &self,
        warp: &mut Warp,
        fragment: &Fragment,
        group: &mut Group,
        block: usize,
        access: &Access,
        addresses: &Lanes,
        active: u32,
    ) -> Outcome<()> {
        let size = access.scalar_type.bytes();
        for lane in lanes_of(active) {
            let spot = self.locate(
                warp,
                group,
                block,
                access.space,
                addresses[lane],
                access.width,
                false,
                lane,
            )?;
            for (element, &slot) in access.registers.iter().enumerate() {
                let at = spot.plus(element as u64 * u64::from(size));
                if size == 16 {
                    let (low, high) = (
                        self.read(warp, group, lane, at, 8),
                        self.read(warp, group, lane, at.plus(8), 8),
                    );
                    if slot != NONE {
                        warp.registers[(fragment.base + slot) as usize][lane] = low;
                        warp.registers[(fragment.base + slot) as usize + 1][lane] = high;
                    }
                    continue;
                }
                let value = self.read(warp, group, lane, at, size);
                if slot != NONE {
                    let value =
                        oriole_isa::extend(value.into(), access.scalar_type, access.register_bits)
                            as u64;
                    warp.registers[(fragment.base + slot) as usize][lane] = value;
                }
            }
        }
        Ok(())
    }

    #[allow(clippy::too_many_arguments, reason = "the state of an execution")]
    #[inline]
    pub(crate) fn store(
        &self,
        warp: &mut Warp,
        fragment: &Fragment,
        group: &mut Group,
        block: usize,
        constants: &[Lanes],
        access: &Access,
        active: u32,
    ) -> Outcome<()> {
        let addresses = self.begin(
            warp, fragment, group, block, constants, access, active, true,
        )?;
        let size = access.scalar_type.bytes();
        if let [slot] = access.registers[..]
            && size <= 8
        {
            let values = *source(&warp.registers[fragment.base as usize..], constants, slot);
            let wide = u64::from(size);
            group.writes += 1;
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
                        if aligned && offset + wide <= group.blocks[block].shared_bytes =>
                    {
                        group.blocks[block].shared.store(offset, size, values[lane]);
                    }
                    Space::Local if aligned && offset + wide <= warp.local.bytes => {
                        warp.local.store(lane as u32, offset, size, values[lane]);
                    }
                    _ => {
                        let spot = self.locate(
                            warp,
                            group,
                            block,
                            access.space,
                            address,
                            size,
                            true,
                            lane,
                        )?;
                        self.write(warp, group, lane, spot, size, values[lane]);
                    }
                }
            }
            return Ok(());
        }
        for lane in lanes_of(active) {
            let spot = self.locate(
                warp,
                group,
                block,
                access.space,
                addresses[lane],
                access.width,
                true,
                lane,
            )?;
            for (element, &slot) in access.registers.iter().enumerate() {
                let at = spot.plus(element as u64 * u64::from(size));
                let registers = &warp.registers[fragment.base as usize..];
                if size == 16 {
                    let (low, high) = (
                        registers[slot as usize][lane],
                        registers[slot as usize + 1][lane],
                    );
                    self.write(warp, group, lane, at, 8, low);
                    self.write(warp, group, lane, at.plus(8), 8, high);
                    continue;
                }
                let value = source(registers, constants, slot)[lane];
                self.write(warp, group, lane, at, size, value);
            }
        }
        Ok(())
    }

    #[allow(clippy::too_many_arguments, reason = "the state of an execution")]
    pub(crate) fn atomic(
        &self,
        warp: &mut Warp,
        fragment: &Fragment,
        group: &mut Group,
        block: usize,
        constants: &[Lanes],
        atomic: &Atomic,
        active: u32,
    ) -> Outcome<()> {
        let addresses = self.addresses(warp, fragment, constants, atomic.address);
        let size = atomic.scalar_type.bytes();
        if self.launch.options.profile {
            self.count(
                fragment,
                group,
                atomic.space,
                &addresses,
                active,
                size * atomic.sources.len() as u32,
            );
        }
        let elements = if size == 16 { 1 } else { atomic.sources.len() };
        if self.launch.options.check_races {
            self.check_atomic(
                warp,
                fragment,
                group,
                block,
                atomic.space,
                &addresses,
                size * elements as u32,
                atomic.order,
                active,
            )?;
        }
        for lane in lanes_of(active) {
            if size == 16 {
                return Err(Fault::new(
                    TrapKind::NotEmulated,
                    "atomics of 128 bits are not emulated",
                ));
            }
            let width = size * elements as u32;
            let spot = self.locate(
                warp,
                group,
                block,
                atomic.space,
                addresses[lane],
                width,
                true,
                lane,
            )?;
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
                let registers = &warp.registers[fragment.base as usize..];
                let operand = source(registers, constants, atomic.sources[element])[lane];
                let swap = if atomic.compare == NONE {
                    0
                } else {
                    source(registers, constants, atomic.compare)[lane]
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
                        group.writes += u64::from(apply(old) != Some(old));
                        old
                    }
                    _ => {
                        let old = self.read(warp, group, lane, at, size);
                        let new = apply(old).ok_or_else(|| {
                            Fault::new(TrapKind::NotEmulated, "this atomic is not emulated")
                        })?;
                        if new != old {
                            self.write(warp, group, lane, at, size, new);
                        }
                        old
                    }
                };
                if let Some(&slot) = atomic.destinations.get(element)
                    && slot != NONE
                {
                    warp.registers[(fragment.base + slot) as usize][lane] = old;
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

    /// Counts sectors or wavefronts of an access.
    pub(crate) fn count(
        &self,
        fragment: &Fragment,
        group: &mut Group,
        space: Space,
        addresses: &Lanes,
        active: u32,
        width: u32,
    ) {
        let counters = &mut group.counters.0[fragment.function as usize][fragment.pc as usize];
        let first = addresses[active.trailing_zeros().min(31) as usize];
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
            let (count, ideal) = counters::wavefronts(addresses, active, width);
            counters.wavefronts += count;
            counters.ideal_wavefronts += ideal;
        } else if global {
            let (count, ideal) = counters::sectors(addresses, active, width);
            counters.sectors += count;
            counters.ideal_sectors += ideal;
        }
    }
}

/// Traps on shared memory of another block of the cluster that has exited.
#[cold]
fn check_present(group: &Group, owner: usize, lane: u32, address: u64) -> Outcome<()> {
    match group.blocks.get(owner) {
        Some(other) if other.live.iter().all(|&live| live == 0) => Err(Fault::at(
            TrapKind::InvalidAccess,
            format!("shared memory of block {owner} of the cluster, which has exited"),
            lane,
            address,
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
