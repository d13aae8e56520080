//! What a launch can be checked for: reads of what was never written, data races, and misuse of barriers and shuffles.
//!
//! **Uninitialised reads.** Every bit of registers, local memory, `.param` variables and shared memory is defined or not. Instructions carry
//! that on (`transfer`, `contents`). A finding needs undefined bits in an address, a branch, a guard, a result in global memory, or an operand of an
//! instruction whose results are not followed (`registers`). Reads may be discarded. The finding has the line of the first read.
//! A call forgets the callee's frame. Global memory is always initialised: buffers by the launch, variables with their value or zero.
//!
//! **Races.** Two accesses to a byte by different threads, one of them a write and not both strong in each other's scope, are a
//! race unless one happened before the other (`clocks`). Lanes of a warp are threads like any others: only `bar.warp.sync`
//! and barriers order them. Every word remembers its latest accesses (`shadow`). Two stores of the same value are a note.
//! The destination of a `cp.async` is written, and its source read, until the thread that issued it waits for it.
//!
//! **Barriers.** `bar.sync` needs the lanes of a warp together, and all threads of the block at the same instruction.

mod clocks;
mod contents;
mod registers;
mod shadow;
mod transfer;
mod undefined;

use oriole_collections::{DenseMap, DenseSet};
use oriole_diagnostics::Severity;
use oriole_isa::Scope;

use crate::access::Spot;
use crate::execute::{Executor, lanes_of};
use crate::execution::Execution;
use crate::launch::Group;
use crate::memory::Words;
use crate::program::{Access, Atomic, Lanes, Order};
use crate::report::{Finding, FindingKind};
use crate::trap::Outcome;
use crate::warp::PendingCopy;

pub(crate) use clocks::{BlockClocks, Place, Published};
use shadow::{Record, Shadow, words};
pub(crate) use undefined::{Origin, What};
pub(crate) use undefined::{Undefined, UndefinedPredicate, UndefinedRegisters};

/// Findings of a launch, one for each pair of lines.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    seen: DenseSet<(u32, u64, u64)>,
    pub(crate) list: Vec<Finding>,
}

impl Findings {
    fn is_new(&mut self, kind: FindingKind, severity: Severity, lines: (u64, u64)) -> bool {
        let (a, b) = (lines.0.min(lines.1), lines.0.max(lines.1));
        self.seen.insert((kind as u32 * 4 + severity as u32, a, b))
    }

    /// Adds those of another part of the launch.
    pub(crate) fn join(&mut self, others: Vec<Finding>) {
        for finding in others {
            if self.is_new(finding.kind, finding.severity, finding.lines) {
                self.list.push(finding);
            }
        }
    }
}

/// A finding before it has its place.
pub(crate) struct Report {
    kind: FindingKind,
    severity: Severity,
    lane: usize,
    message: String,
    other: Option<Record>,
}

impl Report {
    pub(crate) fn new(kind: FindingKind, lane: usize, message: String) -> Report {
        Report {
            kind,
            severity: Severity::Warning,
            lane,
            message,
            other: None,
        }
    }

    fn with_other(mut self, other: Record) -> Report {
        self.other = Some(other);
        self
    }

    pub(crate) fn note(mut self) -> Report {
        self.severity = Severity::Note;
        self
    }
}

/// What is remembered of global memory, by all blocks of a launch.
#[derive(Debug)]
pub(crate) struct GlobalShadow {
    words: DenseMap<u64, Shadow>,
    published: DenseMap<u64, Published>,
    /// Words that copies under way read.
    copied: DenseMap<u64, Record>,
    /// The most words that are remembered.
    capacity: usize,
    /// Words were left out.
    pub(crate) full: bool,
}

impl GlobalShadow {
    /// One that takes about this many bytes at most.
    pub(crate) fn new(bytes: u64) -> GlobalShadow {
        GlobalShadow {
            words: DenseMap::new(),
            published: DenseMap::new(),
            copied: DenseMap::new(),
            capacity: (bytes / (2 * size_of::<Shadow>() as u64)).max(1) as usize,
            full: false,
        }
    }
}

impl GlobalShadow {
    /// Forgets copies that nobody waited for, of blocks that have ended.
    pub(crate) fn forget_copies(&mut self, blocks: std::ops::Range<u64>) {
        if !self.copied.is_empty() {
            self.copied
                .retain(|_, record| !blocks.contains(&record.block));
        }
    }
}

/// What is remembered of a block.
#[derive(Debug, Default)]
pub(crate) struct BlockChecks {
    /// The undefined bits of shared memory, where they are checked.
    undefined: Option<Words>,
    shared: Vec<Shadow>,
    published: DenseMap<u64, Published>,
    /// Words that copies under way write.
    copied: DenseMap<u64, Record>,
    pub(crate) clocks: Option<Box<BlockClocks>>,
}

impl BlockChecks {
    pub(crate) fn new(
        place: Place,
        threads: usize,
        shared_bytes: u64,
        races: bool,
        uninitialized: bool,
    ) -> BlockChecks {
        let mut checks = BlockChecks::default();
        if races {
            checks.shared = vec![Shadow::default(); shared_bytes.div_ceil(4) as usize];
            checks.clocks = Some(Box::new(BlockClocks::new(place, threads, 16)));
        }
        if uninitialized {
            let mut undefined = Words::new(shared_bytes);
            undefined.0.fill(u32::MAX);
            checks.undefined = Some(undefined);
        }
        checks
    }

    /// Bytes that the checks of a block take for each byte of shared memory.
    pub(crate) fn bytes_for_each(races: bool) -> u64 {
        if races {
            size_of::<Shadow>() as u64 / 4
        } else {
            0
        }
    }

    /// Marks bytes of shared memory as written.
    pub(crate) fn initialize(&mut self, offset: u64, bytes: u64) {
        if let Some(undefined) = &mut self.undefined {
            for byte in offset..offset + bytes {
                undefined.store(byte, 1, 0);
            }
        }
    }
}

/// What an access does to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AccessKind {
    Load,
    Store,
    /// A read and a write that nothing comes between.
    Update,
}

impl AccessKind {
    pub(crate) fn writes(self) -> bool {
        self != AccessKind::Load
    }
}

/// An access of a lane, as it is remembered.
#[derive(Clone, Copy)]
struct RecordedAccess {
    lane: usize,
    spot: Spot,
    /// Its bytes.
    width: u32,
    writes: bool,
    /// The scope of a strong access.
    strong: Option<Scope>,
    /// It is part of an asynchronous copy.
    copies: bool,
}

impl Executor<'_> {
    /// Checks a load or store before it is executed.
    pub(crate) fn check_access(
        &self,
        state: &mut Execution<'_>,
        access: &Access,
        addresses: &Lanes,
        kind: AccessKind,
    ) -> Outcome<()> {
        let mut spots = [None; 32];
        let recorded = |lane: usize, spot: Spot| RecordedAccess {
            lane,
            spot,
            width: access.width,
            writes: kind.writes(),
            strong: access.order.map(|order| order.scope),
            copies: false,
        };
        for lane in lanes_of(state.active) {
            let spot = self.locate(state, access.of_lane(lane, addresses, kind))?;
            self.check_outside(state, lane, spot, access.width, kind.writes())?;
            self.check_contents(state, access, lane, spot, kind);
            // Local memory and parameters belong to one thread: equal addresses are different places.
            if !matches!(spot, Spot::Local(_) | Spot::Parameter(_)) {
                spots[lane] = Some(spot);
            }
        }
        if !self.launch.options.check_races {
            return Ok(());
        }
        for lane in lanes_of(state.active) {
            let Some(spot) = spots[lane] else { continue };
            // Strong accesses of the lanes of a warp never race.
            if kind.writes() && access.order.is_none() {
                self.check_twins(state, &spots, lane, &access.registers);
            }
            // Whether the store changes nothing.
            let size = access.scalar_type.bytes();
            let same = kind.writes()
                && size <= 8
                && access.registers.iter().enumerate().all(|(element, &slot)| {
                    let at = spot.plus(element as u64 * u64::from(size));
                    let mask = u64::MAX >> (64 - 8 * size);
                    self.read(state, lane, at, size) == state.slot(slot)[lane] & mask
                });
            self.check_race(state, &recorded(lane, spot), same);
        }
        for lane in lanes_of(state.active) {
            if let Some(spot) = spots[lane] {
                self.remember(state, &recorded(lane, spot));
                self.order(state, spot, lane, access.order, kind);
            }
        }
        Ok(())
    }

    /// Lanes that store to one place in one instruction.
    fn check_twins(
        &self,
        state: &mut Execution<'_>,
        spots: &[Option<Spot>; 32],
        lane: usize,
        slots: &[u32],
    ) {
        let twin = (0..lane).find(|&other| spots[other] == spots[lane]);
        let Some(other) = twin else { return };
        let equal = slots.iter().all(|&slot| {
            let values = state.slot(slot);
            values[other] == values[lane]
        });
        let what = if equal {
            "the same value"
        } else {
            "different values"
        };
        let message =
            format!("lanes {other} and {lane} store {what} to one place in one instruction");
        let mut report = Report::new(FindingKind::Race, lane, message);
        if equal {
            report = report.note();
        }
        self.report(state, report);
    }

    /// Checks what a matrix instruction reads or writes through the address of a lane.
    pub(crate) fn check_spot(
        &self,
        state: &mut Execution<'_>,
        lane: usize,
        spot: Spot,
        bytes: u32,
        writes: bool,
    ) {
        let options = self.launch.options;
        if !options.check_races && !options.check_uninitialized {
            return;
        }
        let access = RecordedAccess {
            lane,
            spot,
            width: bytes,
            writes,
            strong: None,
            copies: false,
        };
        if writes {
            self.define_written(state, &access);
        }
        self.check_race(state, &access, false);
        self.remember(state, &access);
    }

    /// Checks an atomic before it is executed.
    pub(crate) fn check_atomic(
        &self,
        state: &mut Execution<'_>,
        atomic: &Atomic,
        addresses: &Lanes,
        width: u32,
    ) -> Outcome<()> {
        let order = atomic.order;
        let function = &self.launch.program.functions[state.fragment.function as usize];
        for lane in lanes_of(state.active) {
            let spot = self.locate(state, atomic.of_lane(lane, addresses, width))?;
            self.check_updated(state, function, atomic, lane, spot);
            let access = RecordedAccess {
                lane,
                spot,
                width,
                writes: true,
                strong: Some(order.scope),
                copies: false,
            };
            self.check_race(state, &access, false);
            self.remember(state, &access);
            self.order(state, spot, lane, Some(order), AccessKind::Update);
        }
        Ok(())
    }

    /// Looks for an access that races with a new one.
    fn check_race(&self, state: &mut Execution<'_>, access: &RecordedAccess, same_value: bool) {
        let Some(record) = self.record(state, access) else {
            return;
        };
        let (spot, block) = (access.spot, state.block);
        let group = &mut *state.group;
        let Some(clocks) = group.blocks[block].checks.clocks.take() else {
            return;
        };
        let at = clocks.place();
        let ordered = |earlier: &Record| {
            clocks.knows(record.thread, earlier.block, earlier.thread, earlier.clock)
        };
        let mut found = None;
        for (word, bytes) in spot_words(spot, access.width) {
            let record = Record { bytes, ..record };
            let (shadow, copy) = match spot {
                Spot::Shared(owner, _) => {
                    let checks = &group.blocks[owner].checks;
                    (checks.shared.get(word as usize), checks.copied.get(&word))
                }
                _ => match &group.global {
                    Some(global) => (global.words.get(&word), global.copied.get(&word)),
                    None => (None, None),
                },
            };
            // A copy under way has no order to anything, not even to its own thread.
            let copy = copy
                .filter(|copy| copy.bytes & bytes != 0 && (copy.writes || record.writes))
                .copied();
            found = found
                .or(copy)
                .or(shadow.and_then(|shadow| shadow.conflict(&record, at, ordered)));
        }
        group.blocks[block].checks.clocks = Some(clocks);
        if let Some(earlier) = found {
            self.report_race(state, access, (record, earlier), same_value);
        }
    }

    fn report_race(
        &self,
        state: &mut Execution<'_>,
        access: &RecordedAccess,
        (record, earlier): (Record, Record),
        same_value: bool,
    ) {
        let place = match access.spot {
            Spot::Global(region, offset) => format!(
                "`{}` at offset {offset}",
                self.launch.memory.regions[region].name
            ),
            Spot::Shared(_, offset) => format!("shared memory at offset {offset:#x}"),
            _ => return,
        };
        let here = self.number(state.group, state.block);
        let who = |record: &Record| {
            let [x, y, z] = self.launch.thread(record.thread);
            let block = if record.block == earlier.block && record.block == here {
                String::new()
            } else {
                let [x, y, z] = self.launch.block_index(record.block);
                format!(" of block ({x}, {y}, {z})")
            };
            format!("{} by thread ({x}, {y}, {z}){block}", record.verb())
        };
        let in_flight = earlier.copies && earlier.clock == u32::MAX;
        let (kind, why) = if in_flight {
            (
                FindingKind::AsynchronousCopy,
                "before the copy was waited for",
            )
        } else {
            (FindingKind::Race, "with no order between them")
        };
        let same = same_value && earlier.writes && record.writes && !in_flight;
        let message = format!(
            "{place} is {} and {} {why}{}",
            who(&record),
            who(&earlier),
            if same { "; the value is the same" } else { "" }
        );
        let mut report = Report::new(kind, access.lane, message).with_other(earlier);
        if same {
            report = report.note();
        }
        self.report(state, report);
    }

    fn number(&self, group: &Group, block: usize) -> u64 {
        group.number * group.blocks.len() as u64 + block as u64
    }

    /// The record of an access of a lane now, for no bytes yet.
    #[inline]
    fn record(&self, state: &Execution<'_>, access: &RecordedAccess) -> Option<Record> {
        let clocks = state.group.blocks[state.block].checks.clocks.as_ref()?;
        let thread = state.thread(access.lane);
        Some(Record {
            block: clocks.place().block,
            thread,
            bytes: 0,
            writes: access.writes,
            strong: access.strong,
            copies: access.copies,
            clock: clocks.now(thread),
            function: state.fragment.function,
            pc: state.fragment.pc,
        })
    }

    /// Remembers an access of a lane.
    #[inline]
    fn remember(&self, state: &mut Execution<'_>, access: &RecordedAccess) {
        if let Some(record) = self.record(state, access) {
            self.remember_record(state, access.spot, access.width, record);
        }
    }

    fn remember_record(&self, state: &mut Execution<'_>, spot: Spot, width: u32, record: Record) {
        let (group, block) = (&mut *state.group, state.block);
        let Some(clocks) = group.blocks[block].checks.clocks.take() else {
            return;
        };
        let ordered = |earlier: &Record| {
            clocks.knows(record.thread, earlier.block, earlier.thread, earlier.clock)
        };
        for (word, bytes) in spot_words(spot, width) {
            let record = Record { bytes, ..record };
            match spot {
                Spot::Shared(owner, _) => {
                    if let Some(shadow) = group.blocks[owner].checks.shared.get_mut(word as usize) {
                        shadow.remember(record, ordered);
                    }
                }
                _ => {
                    let Some(global) = &mut group.global else {
                        continue;
                    };
                    if global.words.len() >= global.capacity && !global.words.contains_key(&word) {
                        global.full = true;
                        continue;
                    }
                    global.words.get_or_default(word).remember(record, ordered);
                }
            }
        }
        group.blocks[block].checks.clocks = Some(clocks);
    }

    /// What an access does to the order of threads.
    pub(crate) fn order(
        &self,
        state: &mut Execution<'_>,
        spot: Spot,
        lane: usize,
        order: Option<Order>,
        kind: AccessKind,
    ) {
        let thread = state.thread(lane);
        let (group, block) = (&mut *state.group, state.block);
        let Some(mut clocks) = group.blocks[block].checks.clocks.take() else {
            return;
        };
        let key = spot_words(spot, 1).next().map_or(0, |(word, _)| word);
        let published = match spot {
            Spot::Shared(owner, _) => Some(&mut group.blocks[owner].checks.published),
            _ => group.global.as_mut().map(|global| &mut global.published),
        };
        if let Some(published) = published {
            if let Some(order) = order
                && kind != AccessKind::Store
                && let Some(left) = published.get(&key)
            {
                clocks.read(thread, order.scope, order.acquires, left);
            }
            if kind.writes() {
                let released = order
                    .and_then(|order| clocks.published_by(thread, order.scope, order.releases));
                if released.is_some() || published.contains_key(&key) {
                    let at = clocks.place();
                    let is_update = kind == AccessKind::Update;
                    published.get_or_default(key).write(is_update, released, at);
                }
            }
        }
        group.blocks[block].checks.clocks = Some(clocks);
    }

    /// A fence of some lanes.
    pub(crate) fn check_fence(&self, state: &mut Execution<'_>, scope: Scope) {
        let first = state.thread(0);
        if let Some(clocks) = &mut state.group.blocks[state.block].checks.clocks {
            for lane in lanes_of(state.active) {
                clocks.fence(first + lane as u16, scope);
            }
        }
    }

    /// Checks a `cp.async` when it is issued: its destination is written and its source read until it is waited for.
    pub(crate) fn check_copy(
        &self,
        state: &mut Execution<'_>,
        lane: usize,
        to: Spot,
        from: Option<Spot>,
        bytes: u32,
    ) {
        for (spot, writes) in [(Some(to), true), (from, false)] {
            let Some(spot) = spot else { continue };
            let access = RecordedAccess {
                lane,
                spot,
                width: bytes,
                writes,
                strong: None,
                copies: true,
            };
            self.check_race(state, &access, false);
            let Some(record) = self.record(state, &access) else {
                return;
            };
            for (word, bytes) in spot_words(spot, bytes) {
                let record = Record {
                    bytes,
                    clock: u32::MAX,
                    ..record
                };
                match spot {
                    Spot::Shared(owner, _) => {
                        let checks = &mut state.group.blocks[owner].checks;
                        checks.copied.insert(word, record);
                    }
                    _ => {
                        if let Some(global) = &mut state.group.global {
                            global.copied.insert(word, record);
                        }
                    }
                }
            }
        }
    }

    /// A copy has been waited for: its accesses count as those of its thread, now.
    pub(crate) fn check_arrived(&self, state: &mut Execution<'_>, copy: &PendingCopy, to: Spot) {
        let thread = state.thread(copy.lane as usize);
        let Some(clocks) = &state.group.blocks[state.block].checks.clocks else {
            return;
        };
        let clock = clocks.now(thread);
        for spot in [Some(to), copy.source].into_iter().flatten() {
            let mut issued = None;
            for (word, _) in spot_words(spot, copy.data.len() as u32) {
                let removed = match spot {
                    Spot::Shared(owner, _) => state.group.blocks[owner].checks.copied.remove(&word),
                    _ => state
                        .group
                        .global
                        .as_mut()
                        .and_then(|global| global.copied.remove(&word)),
                };
                issued = issued.or(removed);
            }
            if let Some(record) = issued {
                let record = Record { clock, ..record };
                self.remember_record(state, spot, copy.data.len() as u32, record);
            }
        }
    }

    /// Reports a finding once for each pair of lines.
    pub(crate) fn report(&self, state: &mut Execution<'_>, report: Report) {
        let fragment = &*state.fragment;
        let place = |function: u32, pc: u32| {
            let origin = self.launch.program.functions[function as usize].origins[pc as usize];
            let ptx_line = self.launch.program.line_of(origin.span);
            let key = match origin.line {
                0 => u64::from(ptx_line),
                line => 1 << 63 | u64::from(origin.file) << 32 | u64::from(line),
            };
            let source = self.source_line(origin.file, origin.line, origin.column);
            (origin.span, ptx_line, source, key)
        };
        let (span, ptx_line, source, key) = place(fragment.function, fragment.pc);
        let other = report.other.map(|record| place(record.function, record.pc));
        let lines = (key, other.as_ref().map_or(0, |other| other.3));
        if !state
            .group
            .findings
            .is_new(report.kind, report.severity, lines)
        {
            return;
        }
        let (other_span, other_ptx_line, other_source) = match other {
            Some((span, line, source, _)) => (Some(span), Some(line), source),
            None => (None, None, None),
        };
        state.group.findings.list.push(Finding {
            kind: report.kind,
            severity: report.severity,
            message: report.message,
            function: self.launch.program.functions[fragment.function as usize]
                .name
                .clone(),
            span,
            ptx_line,
            source,
            other_span,
            other_ptx_line,
            other_source,
            block: state.group.blocks[state.block].index,
            thread: state
                .warp
                .threads
                .get(report.lane)
                .copied()
                .unwrap_or_default(),
            lines,
        });
    }
}

/// The words of a spot, numbered within its block's shared memory, or within all of global memory.
fn spot_words(spot: Spot, width: u32) -> impl Iterator<Item = (u64, u8)> {
    let (base, offset) = match spot {
        Spot::Global(region, offset) => ((region as u64) << 34, offset),
        Spot::Shared(_, offset) | Spot::Local(offset) | Spot::Parameter(offset) => (0, offset),
    };
    words(offset, width).map(move |(word, bytes)| (base | word, bytes))
}
