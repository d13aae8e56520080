//! Asynchronous copies, memory barriers (`mbarrier`) and tensor maps.
//!
//! A `cp.async` reads its source when it is issued and writes its destination when a wait says that it must have arrived: a
//! kernel that forgets to wait reads old data. Bulk copies arrive at once. The contents of an `mbarrier` and of a tensor map
//! are opaque in PTX; the layouts here are our own.

use std::collections::VecDeque;

use oriole_isa::memory_cost::{Operation, WarpCopy};
use oriole_isa::{Geometry, Opcode, ScalarType, Scope, Semantics, Space};

use crate::access::{LaneAccess, Spot, apply_atomic};
use crate::checks::AccessKind;
use crate::execute::{Executor, lanes_of};
use crate::execution::Execution;
use crate::limits;
use crate::memory::SHARED_WINDOW;
use crate::program::{Order, SpecialOperand};
use crate::special::Context;
use crate::trap::{Fault, Outcome, TrapKind};
use crate::warp::PendingCopy;

/// An `mbarrier`: arrivals pending and expected, bytes pending, and the parity of the phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct MemoryBarrier {
    pending: u64,
    expected: u64,
    bytes: i64,
    phase: u64,
}

impl MemoryBarrier {
    fn unpack(word: u64) -> MemoryBarrier {
        MemoryBarrier {
            pending: word & 0xf_ffff,
            expected: word >> 20 & 0xf_ffff,
            bytes: ((word << 1) as i64) >> 41,
            phase: word >> 63,
        }
    }

    fn pack(self) -> u64 {
        self.pending & 0xf_ffff
            | (self.expected & 0xf_ffff) << 20
            | (self.bytes as u64 & 0x7f_ffff) << 40
            | self.phase << 63
    }

    fn settle(&mut self) {
        if self.pending == 0 && self.bytes == 0 {
            self.phase ^= 1;
            self.pending = self.expected;
        }
    }
}

/// Offsets of the fields of a tensor map.
const MAP_RANK: u64 = 8;
const MAP_BOX: u64 = 12;
const MAP_DIMENSIONS: u64 = 32;
const MAP_STRIDES: u64 = 56;
const MAP_ELEMENT_STRIDES: u64 = 88;
const MAP_TYPE: u64 = 108;
const MAP_INTERLEAVE: u64 = 112;
const MAP_SWIZZLE: u64 = 116;
const MAP_FILL: u64 = 120;

/// A tensor map as it lies in memory.
struct TensorMap {
    /// The address of the tensor.
    base: u64,
    /// Bytes of an element.
    element: u64,
    swizzle: u64,
    boxes: Vec<u64>,
    dimensions: Vec<u64>,
    strides: Vec<u64>,
}

/// The fields that `tensormap.replace` names: where they begin, how far one of several is from the next, and their bytes.
const MAP_FIELDS: [(&str, u64, u64, u32); 10] = [
    ("global_address", 0, 0, 8),
    ("rank", MAP_RANK, 0, 4),
    ("box_dim", MAP_BOX, 4, 4),
    ("global_dim", MAP_DIMENSIONS, 4, 4),
    ("global_stride", MAP_STRIDES, 8, 8),
    ("element_stride", MAP_ELEMENT_STRIDES, 4, 4),
    ("elemtype", MAP_TYPE, 0, 4),
    ("interleave_layout", MAP_INTERLEAVE, 0, 4),
    ("swizzle_mode", MAP_SWIZZLE, 0, 4),
    ("fill_mode", MAP_FILL, 0, 4),
];

impl Executor<'_> {
    pub(crate) fn asynchronous(&self, context: &mut Context<'_>) -> Outcome<()> {
        use Opcode::*;
        let opcode = context.special.mnemonic.opcode();
        match opcode {
            CpAsync => self.issue_copy(context),
            CpAsyncCommitGroup => self.commit_copies(context),
            CpAsyncWaitGroup | CpAsyncWaitAll => {
                let keep = if opcode == CpAsyncWaitAll {
                    0
                } else {
                    context.uniform(0)? as usize
                };
                self.finish_copies(context, keep, opcode == CpAsyncWaitAll);
                Ok(())
            }
            CpAsyncMbarrierArrive => {
                self.finish_copies(context, 0, true);
                // Without `.noinc` the pending count rises first, so that the arrival is not one of those expected.
                if context.special.mnemonic.has_modifier("noinc") {
                    self.each_barrier(context, 0, |barrier, _| {
                        barrier.pending = barrier.pending.saturating_sub(1);
                        barrier.settle();
                        Ok(())
                    })?;
                }
                Ok(())
            }
            MbarrierInit => self.initialize_barrier(context),
            MbarrierInval => Ok(()),
            MbarrierExpectTx | MbarrierCompleteTx => {
                let bytes = context.values(1)?;
                let sign = if opcode == MbarrierExpectTx { 1 } else { -1 };
                self.each_barrier(context, 0, |barrier, lane| {
                    barrier.bytes += sign * i64::from(bytes[lane] as u32);
                    barrier.settle();
                    Ok(())
                })
            }
            MbarrierArrive | MbarrierArriveDrop => {
                self.arrive_at_barrier(context, opcode == MbarrierArriveDrop)
            }
            MbarrierTestWait | MbarrierTryWait => self.test_wait(context),
            MbarrierPendingCount => {
                let values = context
                    .values(1)?
                    .map(|word| MemoryBarrier::unpack(word).pending);
                context.set_destination(&values);
                Ok(())
            }
            CpAsyncBulk | CpReduceAsyncBulk => self.bulk_copy(context),
            CpAsyncBulkTensor => self.tensor_copy(context),
            TensormapReplace => self.replace_field(context),
            TensormapCpFenceproxy => self.copy_tensor_map(context),
            StAsync | RedAsync => self.store_asynchronously(context),
            _ => Err(context.missing()),
        }
    }

    /// Makes a group of the copies issued since the last one.
    fn commit_copies(&self, context: &mut Context<'_>) -> Outcome<()> {
        let open = std::mem::take(&mut context.state.warp.open_copies);
        let (mine, rest): (Vec<_>, Vec<_>) = open
            .into_iter()
            .partition(|copy| context.state.active >> copy.lane & 1 != 0);
        context.state.warp.open_copies = rest;
        let groups = &mut context.state.warp.copy_groups;
        groups.resize(32, VecDeque::new());
        for lane in lanes_of(context.state.active) {
            groups[lane].push_back(
                mine.iter()
                    .filter(|copy| copy.lane as usize == lane)
                    .cloned()
                    .collect(),
            );
        }
        Ok(())
    }

    /// Sets how many arrivals complete a phase.
    fn initialize_barrier(&self, context: &mut Context<'_>) -> Outcome<()> {
        let counts = context.values(1)?;
        if let Some(lane) =
            lanes_of(context.state.active).find(|&lane| !(1..1 << 20).contains(&counts[lane]))
        {
            return Err(Fault::new(
                TrapKind::InvalidBarrier,
                format!(
                    "an `mbarrier` of {} arrivals; 1 to 1048575 are possible",
                    counts[lane]
                ),
            ));
        }
        self.each_barrier(context, 0, |barrier, lane| {
            *barrier = MemoryBarrier {
                pending: counts[lane],
                expected: counts[lane],
                bytes: 0,
                phase: 0,
            };
            Ok(())
        })
    }

    /// Which lanes find the phase they wait for completed.
    fn test_wait(&self, context: &mut Context<'_>) -> Outcome<()> {
        let tokens = context.values(2)?;
        let parity = context.special.mnemonic.has_modifier("parity");
        let mut truth = 0;
        self.each_barrier(context, 1, |barrier, lane| {
            let awaited = if parity {
                tokens[lane] & 1
            } else {
                tokens[lane] >> 63
            };
            truth |= u32::from(barrier.phase != awaited) << lane;
            Ok(())
        })?;
        if truth & context.state.active != context.state.active {
            context.state.warp.polls += 4;
        }
        context.set_truth(truth);
        Ok(())
    }

    /// Copies a tensor map from shared memory.
    fn copy_tensor_map(&self, context: &mut Context<'_>) -> Outcome<()> {
        let (to, from) = (
            self.operand_addresses(context, 0)?,
            self.operand_addresses(context, 1)?,
        );
        let lane = context.state.active.trailing_zeros() as usize;
        let from = self.spot(context, Space::Shared, from[lane], 128, false, lane)?;
        let to = self.spot(context, Space::Generic, to[lane], 128, true, lane)?;
        let data = self.read_bytes(context, lane, from, 128);
        self.write_bytes(context, lane, to, &data);
        Ok(())
    }

    /// Stores to another block's shared memory and counts the bytes at its barrier.
    fn store_asynchronously(&self, context: &mut Context<'_>) -> Outcome<()> {
        let addresses = self.operand_addresses(context, 0)?;
        let sources = context.vector(1)?;
        let scalar_type = context
            .special
            .mnemonic
            .first_type()
            .ok_or_else(|| context.missing())?;
        let size = scalar_type.bytes();
        let operation = context.special.mnemonic.modifiers().operation;
        for lane in lanes_of(context.state.active) {
            let spot = self.spot(
                context,
                Space::SharedCluster,
                addresses[lane],
                size * sources.len() as u32,
                true,
                lane,
            )?;
            for (element, &slot) in sources.iter().enumerate() {
                let at = spot.plus(element as u64 * u64::from(size));
                let mut value = context.slot(slot)[lane];
                if let Some(operation) = operation {
                    let old = self.read(&context.state, lane, at, size);
                    value = apply_atomic(operation, scalar_type, None, old, value, 0)
                        .ok_or_else(|| context.missing())?;
                }
                self.write(&mut context.state, lane, at, size, value);
            }
            if let (Spot::Shared(block, offset), None) = (spot, operation) {
                let bytes = u64::from(size) * sources.len() as u64;
                context.state.group.blocks[block]
                    .checks
                    .initialize(offset, bytes);
            }
        }
        self.complete_bytes(
            context,
            2,
            u64::from(size) * sources.len() as u64,
            context.state.active,
        )
    }

    fn operand_addresses(
        &self,
        context: &Context<'_>,
        operand: usize,
    ) -> Outcome<crate::program::Lanes> {
        Ok(self.addresses(&context.state, context.address(operand)?))
    }

    fn spot(
        &self,
        context: &Context<'_>,
        space: Space,
        address: u64,
        size: u32,
        write: bool,
        lane: usize,
    ) -> Outcome<Spot> {
        // Larger than a word: aligned to 16 bytes and inside at both ends.
        let unit = size.min(16);
        let spot = self.locate(
            &context.state,
            LaneAccess {
                lane,
                space,
                address,
                size: unit,
                writes: write,
            },
        )?;
        if size > unit {
            self.locate(
                &context.state,
                LaneAccess {
                    lane,
                    space,
                    address: address + u64::from(size - unit),
                    size: unit,
                    writes: write,
                },
            )?;
        }
        Ok(spot)
    }

    pub(crate) fn read_bytes(
        &self,
        context: &Context<'_>,
        lane: usize,
        spot: Spot,
        size: u64,
    ) -> Vec<u8> {
        (0..size)
            .map(|byte| self.read(&context.state, lane, spot.plus(byte), 1) as u8)
            .collect()
    }

    pub(crate) fn write_bytes(
        &self,
        context: &mut Context<'_>,
        lane: usize,
        spot: Spot,
        data: &[u8],
    ) {
        for (byte, &value) in data.iter().enumerate() {
            self.write(
                &mut context.state,
                lane,
                spot.plus(byte as u64),
                1,
                value.into(),
            );
        }
        if let Spot::Shared(block, offset) = spot {
            context.state.group.blocks[block]
                .checks
                .initialize(offset, data.len() as u64);
        }
    }

    fn issue_copy(&self, context: &mut Context<'_>) -> Outcome<()> {
        let (to, from) = (
            self.operand_addresses(context, 0)?,
            self.operand_addresses(context, 1)?,
        );
        let size = context.uniform(2)? as u32;
        if !matches!(size, 4 | 8 | 16) {
            return Err(Fault::new(
                TrapKind::Misaligned,
                format!("a `cp.async` of {size} bytes; 4, 8 and 16 are possible"),
            ));
        }
        if context.state.warp.open_copies.len() > limits::PENDING_COPIES {
            return Err(Fault::new(
                TrapKind::MemoryLimit,
                "too many copies that nobody waits for",
            ));
        }
        let hint = usize::from(context.special.mnemonic.has(oriole_isa::Flag::CacheHint));
        let fourth = context.special.operands.len() - hint > 3;
        let ignored = match context.special.operands.get(3) {
            Some(SpecialOperand::Predicate(_)) if fourth => Some(context.predicate(3)?),
            _ => None,
        };
        let sizes = match context.special.operands.get(3) {
            Some(SpecialOperand::Value(_)) if fourth => Some(context.values(3)?),
            _ => None,
        };
        if self.launch.options.profile {
            let copy = WarpCopy {
                from: &from,
                to: &to,
                active: context.state.active,
                width: size,
                bypasses: Operation::of(&context.special.mnemonic)
                    == Some(Operation::BypassingCopy),
            };
            self.count_copy(&mut context.state, &copy);
        }
        for lane in lanes_of(context.state.active) {
            let mut given = sizes.map_or(size, |sizes| (sizes[lane] as u32).min(size));
            if ignored.is_some_and(|ignored| ignored >> lane & 1 != 0) {
                given = 0;
            }
            let target = self.spot(context, Space::Shared, to[lane], size, true, lane)?;
            let mut data = vec![0; size as usize];
            let mut source = None;
            for byte in 0..u64::from(given) {
                let spot = self.locate(
                    &context.state,
                    LaneAccess {
                        lane,
                        space: Space::Global,
                        address: from[lane].wrapping_add(byte),
                        size: 1,
                        writes: false,
                    },
                )?;
                source = source.or(Some(spot));
                data[byte as usize] = self.read(&context.state, lane, spot, 1) as u8;
            }
            if self.launch.options.check_races {
                self.check_copy(&mut context.state, lane, target, source, size);
            }
            context.state.warp.open_copies.push(PendingCopy {
                lane: lane as u32,
                destination: target,
                source,
                data,
            });
        }
        Ok(())
    }

    /// Lets all but the latest `keep` groups of the active lanes arrive, and the copies in no group where `open` says so.
    fn finish_copies(&self, context: &mut Context<'_>, keep: usize, open: bool) {
        let mut arrived = Vec::new();
        for lane in lanes_of(context.state.active) {
            if let Some(groups) = context.state.warp.copy_groups.get_mut(lane) {
                while groups.len() > keep {
                    arrived.extend(groups.pop_front().into_iter().flatten());
                }
            }
        }
        if open {
            let copies = std::mem::take(&mut context.state.warp.open_copies);
            let (mine, rest): (Vec<_>, Vec<_>) = copies
                .into_iter()
                .partition(|copy| context.state.active >> copy.lane & 1 != 0);
            arrived.extend(mine);
            context.state.warp.open_copies = rest;
        }
        for copy in arrived {
            let target = copy.destination;
            self.write_bytes(context, copy.lane as usize, target, &copy.data);
            self.check_arrived(&mut context.state, &copy, target);
        }
    }

    /// Applies `change` to the barrier that each active lane addresses, one after the other.
    fn each_barrier(
        &self,
        context: &mut Context<'_>,
        operand: usize,
        mut change: impl FnMut(&mut MemoryBarrier, usize) -> Outcome<()>,
    ) -> Outcome<()> {
        let addresses = self.operand_addresses(context, operand)?;
        for lane in lanes_of(context.state.active) {
            self.with_barrier(context, addresses[lane], lane, |barrier| {
                change(barrier, lane)
            })?;
        }
        Ok(())
    }

    fn with_barrier(
        &self,
        context: &mut Context<'_>,
        address: u64,
        lane: usize,
        change: impl FnOnce(&mut MemoryBarrier) -> Outcome<()>,
    ) -> Outcome<()> {
        let space = if address >> 32 == SHARED_WINDOW >> 32 {
            Space::Generic
        } else {
            Space::Shared
        };
        let spot = self.locate(
            &context.state,
            LaneAccess {
                lane,
                space,
                address,
                size: 8,
                writes: true,
            },
        )?;
        let before = self.read(&context.state, lane, spot, 8);
        let mut barrier = MemoryBarrier::unpack(before);
        change(&mut barrier)?;
        if barrier.pack() != before {
            self.write(&mut context.state, lane, spot, 8, barrier.pack());
        }
        if let Spot::Shared(block, offset) = spot {
            context.state.group.blocks[block]
                .checks
                .initialize(offset, 8);
            let opcode = context.special.mnemonic.opcode();
            let is_relaxed =
                context.special.mnemonic.modifiers().semantics == Some(Semantics::Relaxed);
            let arrives = matches!(opcode, Opcode::MbarrierArrive | Opcode::MbarrierArriveDrop);
            let waits = matches!(opcode, Opcode::MbarrierTestWait | Opcode::MbarrierTryWait);
            let order = Order {
                scope: Scope::Cluster,
                acquires: !is_relaxed && !arrives,
                releases: !is_relaxed && !waits,
            };
            self.order(
                &mut context.state,
                spot,
                lane,
                Some(order),
                AccessKind::Update,
            );
        }
        Ok(())
    }

    fn arrive_at_barrier(&self, context: &mut Context<'_>, drop: bool) -> Outcome<()> {
        let expects = context.special.mnemonic.has_modifier("expect_tx");
        let third = match context.special.operands.len() {
            3 => Some(context.values(2)?),
            _ => None,
        };
        let mut states = [0; 32];
        self.each_barrier(context, 1, |barrier, lane| {
            states[lane] = barrier.pack();
            let count = match third {
                Some(values) if !expects => values[lane],
                _ => 1,
            };
            if let (true, Some(values)) = (expects, third) {
                barrier.bytes += i64::from(values[lane] as u32);
            }
            if barrier.pending < count {
                return Err(Fault::new(
                    TrapKind::DivergentBarrier,
                    "more threads arrive at an mbarrier than it expects",
                ));
            }
            barrier.pending -= count;
            if drop {
                barrier.expected = barrier.expected.saturating_sub(count);
            }
            barrier.settle();
            Ok(())
        })?;
        context.set_destination(&states);
        Ok(())
    }

    /// Tells the barrier that operand `operand` addresses that bytes have arrived, once for each lane of the mask.
    fn complete_bytes(
        &self,
        context: &mut Context<'_>,
        operand: usize,
        bytes: u64,
        lanes: u32,
    ) -> Outcome<()> {
        let addresses = self.operand_addresses(context, operand)?;
        for lane in lanes_of(lanes) {
            self.with_barrier(context, addresses[lane], lane, |barrier| {
                barrier.bytes -= bytes as i64;
                barrier.settle();
                Ok(())
            })?;
        }
        Ok(())
    }

    fn bulk_copy(&self, context: &mut Context<'_>) -> Outcome<()> {
        let mnemonic = &context.special.mnemonic;
        if mnemonic.has_modifier("multicast::cluster") || mnemonic.has_modifier("cp_mask") {
            return Err(context.missing());
        }
        let to_space = mnemonic.destination_space().unwrap_or(Space::Generic);
        let from_space = mnemonic.source_space().unwrap_or(Space::Generic);
        let reduces = mnemonic.opcode() == Opcode::CpReduceAsyncBulk;
        let scalar_type = mnemonic.first_type().unwrap_or(ScalarType::B8);
        let operation = mnemonic.modifiers().operation;
        let completes = mnemonic.has_modifier("mbarrier::complete_tx::bytes");
        let (to, from, sizes) = (
            self.operand_addresses(context, 0)?,
            self.operand_addresses(context, 1)?,
            context.values(2)?,
        );
        for lane in lanes_of(context.state.active) {
            let size = sizes[lane] as u32;
            if !size.is_multiple_of(16) {
                return Err(Fault::at(
                    TrapKind::Misaligned,
                    format!("a bulk copy of {size} bytes, no multiple of 16"),
                    lane as u32,
                    to[lane],
                ));
            }
            if size > 0 {
                let source = self.spot(context, from_space, from[lane], size, false, lane)?;
                let target = self.spot(context, to_space, to[lane], size, true, lane)?;
                let mut data = self.read_bytes(context, lane, source, size.into());
                if reduces {
                    let step = scalar_type.bytes();
                    let operation = operation.ok_or_else(|| context.missing())?;
                    for at in (0..size).step_by(step as usize) {
                        let old = self.read(&context.state, lane, target.plus(at.into()), step);
                        let range = at as usize..(at + step) as usize;
                        let mut word = [0; 8];
                        word[..step as usize].copy_from_slice(&data[range.clone()]);
                        let new = apply_atomic(
                            operation,
                            scalar_type,
                            None,
                            old,
                            u64::from_le_bytes(word),
                            0,
                        )
                        .filter(|_| !scalar_type.is_float())
                        .ok_or_else(|| context.missing())?;
                        data[range].copy_from_slice(&new.to_le_bytes()[..step as usize]);
                    }
                }
                self.write_bytes(context, lane, target, &data);
            }
            if completes {
                self.complete_bytes(context, 3, size.into(), 1 << lane)?;
            }
        }
        Ok(())
    }

    fn replace_field(&self, context: &mut Context<'_>) -> Outcome<()> {
        let mnemonic = &context.special.mnemonic;
        let addresses = self.operand_addresses(context, 0)?;
        let last = context.special.operands.len() - 1;
        let ordinal = if last == 2 { context.uniform(1)? } else { 0 };
        if ordinal > 4 {
            return Err(context.missing());
        }
        let &(_, start, step, size) = MAP_FIELDS
            .iter()
            .find(|(field, ..)| mnemonic.has_modifier(field))
            .ok_or_else(|| context.missing())?;
        let offset = start + step * ordinal;
        let space = mnemonic.space().unwrap_or(Space::Generic);
        let values = context.values(last)?;
        for lane in lanes_of(context.state.active) {
            let spot = self.spot(context, space, addresses[lane], 128, true, lane)?;
            self.write(
                &mut context.state,
                lane,
                spot.plus(offset),
                size,
                values[lane],
            );
            if let Spot::Shared(block, start) = spot {
                context.state.group.blocks[block]
                    .checks
                    .initialize(start, 128);
            }
        }
        Ok(())
    }

    /// Reads a tensor map of so many dimensions.
    fn tensor_map(&self, state: &Execution<'_>, lane: usize, map: Spot, rank: u64) -> TensorMap {
        let field = |at: u64, size: u32| self.read(state, lane, map.plus(at), size);
        let element = match field(MAP_TYPE, 4) {
            0 => 1,
            1 | 6 | 10 => 2,
            2 | 3 | 7 | 8 | 11 | 12 => 4,
            _ => 8,
        };
        let stride = |d| match d {
            0 => element,
            _ => field(MAP_STRIDES + 8 * (d - 1), 8),
        };
        TensorMap {
            base: field(0, 8),
            element,
            swizzle: field(MAP_SWIZZLE, 4),
            boxes: (0..rank).map(|d| field(MAP_BOX + 4 * d, 4)).collect(),
            dimensions: (0..rank)
                .map(|d| field(MAP_DIMENSIONS + 4 * d, 4))
                .collect(),
            strides: (0..rank).map(stride).collect(),
        }
    }

    fn tensor_copy(&self, context: &mut Context<'_>) -> Outcome<()> {
        let mnemonic = &context.special.mnemonic;
        let unusual = [
            "multicast::cluster",
            "im2col",
            "tile::gather4",
            "tile::scatter4",
            "im2col::w",
            "im2col::w::128",
            "im2col_no_offs",
        ];
        if unusual.iter().any(|word| mnemonic.has_modifier(word)) {
            return Err(context.missing());
        }
        let rank = match mnemonic.modifiers().geometry {
            Some(Geometry::OneDimension) => 1,
            Some(Geometry::TwoDimensions) => 2,
            Some(Geometry::ThreeDimensions) => 3,
            Some(Geometry::FourDimensions) => 4,
            Some(Geometry::FiveDimensions) => 5,
            _ => return Err(context.missing()),
        };
        let loads = mnemonic.has_modifier("mbarrier::complete_tx::bytes");
        let (map_operand, shared_operand) = if loads { (1, 0) } else { (0, 1) };
        let Some(SpecialOperand::Tensor(_, coordinates)) =
            context.special.operands.get(map_operand)
        else {
            return Err(context.missing());
        };
        let coordinates = coordinates.clone();
        let (maps, shared) = (
            self.operand_addresses(context, map_operand)?,
            self.operand_addresses(context, shared_operand)?,
        );
        for lane in lanes_of(context.state.active) {
            let map = self.spot(context, Space::Generic, maps[lane], 128, false, lane)?;
            let TensorMap {
                base,
                element,
                swizzle,
                boxes,
                dimensions,
                strides,
            } = self.tensor_map(&context.state, lane, map, rank);
            let starts: Vec<i64> = coordinates
                .iter()
                .map(|&slot| i64::from(context.slot(slot)[lane] as i32))
                .collect();
            // A box is at most 256 elements long in each direction and has to fit into shared memory.
            let total = boxes
                .iter()
                .try_fold(1u64, |total, &length| total.checked_mul(length))
                .filter(|&total| total.saturating_mul(element) <= self.launch.shared_bytes)
                .filter(|_| starts.len() >= rank as usize)
                .ok_or_else(|| {
                    Fault::at(
                        TrapKind::OutOfBounds,
                        format!("a box of {boxes:?} elements does not fit into shared memory"),
                        lane as u32,
                        maps[lane],
                    )
                })?;
            for index in 0..total {
                let mut rest = index;
                let mut address = base;
                let mut inside = true;
                for d in 0..rank as usize {
                    let position = starts[d] + (rest % boxes[d]) as i64;
                    rest /= boxes[d];
                    inside &= position >= 0 && (position as u64) < dimensions[d];
                    address = address.wrapping_add((position as u64).wrapping_mul(strides[d]));
                }
                let plain = (shared[lane] & 0xffff_ffff) + index * element;
                let swizzled = match swizzle {
                    1 => plain ^ (plain >> 7 & 1) << 4,
                    2 => plain ^ (plain >> 7 & 3) << 4,
                    3 => plain ^ (plain >> 7 & 7) << 4,
                    _ => plain,
                };
                let here = self.spot(
                    context,
                    Space::Shared,
                    swizzled,
                    element as u32,
                    loads,
                    lane,
                )?;
                if loads {
                    let value = if inside {
                        let there = self.spot(
                            context,
                            Space::Generic,
                            address,
                            element as u32,
                            false,
                            lane,
                        )?;
                        self.read(&context.state, lane, there, element as u32)
                    } else {
                        0
                    };
                    self.write_bytes(
                        context,
                        lane,
                        here,
                        &value.to_le_bytes()[..element as usize],
                    );
                } else if inside {
                    let there =
                        self.spot(context, Space::Generic, address, element as u32, true, lane)?;
                    let value = self.read(&context.state, lane, here, element as u32);
                    self.write(&mut context.state, lane, there, element as u32, value);
                }
            }
            if loads {
                self.complete_bytes(context, 2, total * element, 1 << lane)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_barriers_pack() {
        for bytes in [0, 1, -1, 70_000, -70_000] {
            let barrier = MemoryBarrier {
                pending: 3,
                expected: 0x12345,
                bytes,
                phase: 1,
            };
            assert_eq!(MemoryBarrier::unpack(barrier.pack()), barrier);
        }
        let mut barrier = MemoryBarrier {
            pending: 0,
            expected: 4,
            bytes: 16,
            phase: 0,
        };
        barrier.settle();
        assert_eq!(barrier.phase, 0);
        barrier.bytes = 0;
        barrier.settle();
        assert_eq!((barrier.phase, barrier.pending), (1, 4));
    }
}
