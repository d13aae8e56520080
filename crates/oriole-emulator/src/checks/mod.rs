//! What a launch can be checked for: reads of what was never written, data races, and misuse of barriers and shuffles.
//!
//! **Uninitialised reads.** Registers, the carry flag and every byte of local memory and of `.param` variables have a mask of
//! lanes that wrote them, shared memory a bit for each byte. A call forgets the callee's frame. Global memory is always
//! initialised: buffers by the launch, variables with their value or zero.
//!
//! **Races.** Two accesses to a byte by different threads, one of them a write and not both strong in each other's scope, are a
//! race unless one happened before the other (`clocks`). Lanes of a warp are threads like any others: only `bar.warp.sync`
//! and barriers order them. Every word remembers its latest accesses (`shadow`). Two stores of the same value are a note.
//! The destination of a `cp.async` is written, and its source read, until the thread that issued it waits for it.
//!
//! **Barriers.** `bar.sync` needs the lanes of a warp together, and all threads of the block at the same instruction.

mod clocks;
mod registers;
mod shadow;

use oriole_collections::{DenseMap, DenseSet};
use oriole_diagnostics::Severity;
use oriole_isa::{Scope, Space};

use crate::access::Spot;
use crate::execute::{Executor, lanes_of, source};
use crate::launch::Group;
use crate::program::{Access, Lanes, Order};
use crate::report::{Finding, FindingKind};
use crate::special::Scene;
use crate::trap::Outcome;
use crate::warp::{Fragment, PendingCopy, Warp};

pub(crate) use clocks::{BlockClocks, Place, Published};
use shadow::{Record, Shadow, words};

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
    pub(crate) fn join(&mut self, other: Findings) {
        for finding in other.list {
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
    /// One bit for each byte of shared memory; empty when unchecked.
    initialized: Vec<u64>,
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
            checks.initialized = vec![0; shared_bytes.div_ceil(64) as usize + 1];
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
        if !self.initialized.is_empty() {
            for byte in offset..offset + bytes {
                self.initialized[(byte / 64) as usize] |= 1 << (byte % 64);
            }
        }
    }

    fn is_initialized(&self, offset: u64, bytes: u64) -> bool {
        self.initialized.is_empty()
            || (offset..offset + bytes)
                .all(|byte| self.initialized[(byte / 64) as usize] >> (byte % 64) & 1 != 0)
    }
}

/// How an access is to be remembered.
#[derive(Clone, Copy)]
struct Manner {
    writes: bool,
    strong: Option<Scope>,
    copies: bool,
}

impl Executor<'_> {
    /// Checks a load or store before it is executed.
    #[allow(clippy::too_many_arguments, reason = "the state of an execution")]
    pub(crate) fn check_access(
        &self,
        warp: &mut Warp,
        fragment: &Fragment,
        group: &mut Group,
        block: usize,
        access: &Access,
        addresses: &Lanes,
        active: u32,
        is_write: bool,
    ) -> Outcome<()> {
        let mut spots = [None; 32];
        for lane in lanes_of(active) {
            let spot = self.locate(
                warp,
                group,
                block,
                access.space,
                addresses[lane],
                access.width,
                is_write,
                lane,
            )?;
            self.check_written(
                warp,
                fragment,
                group,
                block,
                spot,
                access.width,
                lane,
                is_write,
            );
            // Local memory and parameters belong to one thread: equal addresses are different places.
            if !matches!(spot, Spot::Local(_) | Spot::Parameter(_)) {
                spots[lane] = Some(spot);
            }
        }
        if !self.launch.options.check_races {
            return Ok(());
        }
        let manner = Manner {
            writes: is_write,
            strong: access.order.map(|order| order.scope),
            copies: false,
        };
        let constants = &self.launch.constants[fragment.function as usize];
        let value = |warp: &Warp, element: usize, lane: usize| {
            let registers = &warp.registers[fragment.base as usize..];
            source(registers, constants, access.registers[element])[lane]
        };
        for lane in lanes_of(active) {
            let Some(spot) = spots[lane] else { continue };
            if is_write {
                self.check_twins(warp, fragment, group, block, &spots, lane, |a, b| {
                    (0..access.registers.len())
                        .all(|element| value(warp, element, a) == value(warp, element, b))
                });
            }
            // Whether the store changes nothing.
            let size = access.scalar_type.bytes();
            let same = is_write
                && size <= 8
                && (0..access.registers.len()).all(|element| {
                    let at = spot.plus(element as u64 * u64::from(size));
                    let mask = u64::MAX >> (64 - 8 * size);
                    self.read(warp, group, lane, at, size) == value(warp, element, lane) & mask
                });
            self.check_race(
                warp,
                fragment,
                group,
                block,
                spot,
                access.width,
                lane,
                manner,
                same,
            );
        }
        for lane in lanes_of(active) {
            if let Some(spot) = spots[lane] {
                self.remember(
                    warp,
                    fragment,
                    group,
                    block,
                    spot,
                    access.width,
                    lane,
                    manner,
                );
                self.order(
                    warp,
                    group,
                    block,
                    spot,
                    lane,
                    access.order,
                    is_write,
                    false,
                );
            }
        }
        Ok(())
    }

    /// Reports a read of memory that was never written, and marks what is written.
    #[allow(clippy::too_many_arguments, reason = "the state of an execution")]
    fn check_written(
        &self,
        warp: &Warp,
        fragment: &Fragment,
        group: &mut Group,
        block: usize,
        spot: Spot,
        width: u32,
        lane: usize,
        is_write: bool,
    ) {
        let unwritten = match spot {
            Spot::Shared(owner, offset) => {
                let checks = &mut group.blocks[owner].checks;
                if is_write {
                    checks.initialize(offset, width.into());
                }
                (!checks.is_initialized(offset, width.into()))
                    .then(|| format!("shared memory at offset {offset:#x}"))
            }
            Spot::Local(offset) if !is_write => {
                (!warp.local.is_written(lane as u32, offset, width))
                    .then(|| format!("local memory at offset {offset:#x}"))
            }
            _ => None,
        };
        if let Some(place) = unwritten {
            let message = format!("{place} is read before it is written");
            let report = Report::new(FindingKind::UninitializedRead, lane, message);
            self.report(group, block, warp, fragment, report);
        }
    }

    /// Lanes that store to one place in one instruction.
    #[allow(clippy::too_many_arguments, reason = "the state of an execution")]
    fn check_twins(
        &self,
        warp: &Warp,
        fragment: &Fragment,
        group: &mut Group,
        block: usize,
        spots: &[Option<Spot>; 32],
        lane: usize,
        equal: impl Fn(usize, usize) -> bool,
    ) {
        let twin = (0..lane).find(|&other| spots[other] == spots[lane]);
        let Some(other) = twin else { return };
        let what = if equal(other, lane) {
            "the same value"
        } else {
            "different values"
        };
        let message =
            format!("lanes {other} and {lane} store {what} to one place in one instruction");
        let mut report = Report::new(FindingKind::Race, lane, message);
        if equal(other, lane) {
            report = report.note();
        }
        self.report(group, block, warp, fragment, report);
    }

    /// Checks what a matrix instruction reads or writes through the address of a lane.
    pub(crate) fn check_spot(
        &self,
        scene: &mut Scene<'_>,
        lane: usize,
        spot: Spot,
        bytes: u32,
        writes: bool,
    ) {
        let options = self.launch.options;
        if !options.check_races && !options.check_uninitialized {
            return;
        }
        let Scene {
            warp,
            fragment,
            group,
            block,
            ..
        } = scene;
        self.check_written(warp, fragment, group, *block, spot, bytes, lane, writes);
        let manner = Manner {
            writes,
            strong: None,
            copies: false,
        };
        self.check_race(
            warp, fragment, group, *block, spot, bytes, lane, manner, false,
        );
        self.remember(warp, fragment, group, *block, spot, bytes, lane, manner);
    }

    /// Checks an atomic before it is executed.
    #[allow(clippy::too_many_arguments, reason = "the state of an execution")]
    pub(crate) fn check_atomic(
        &self,
        warp: &mut Warp,
        fragment: &Fragment,
        group: &mut Group,
        block: usize,
        space: Space,
        addresses: &Lanes,
        width: u32,
        order: Order,
        active: u32,
    ) -> Outcome<()> {
        let manner = Manner {
            writes: true,
            strong: Some(order.scope),
            copies: false,
        };
        for lane in lanes_of(active) {
            let spot = self.locate(
                warp,
                group,
                block,
                space,
                addresses[lane],
                width,
                true,
                lane,
            )?;
            self.check_race(
                warp, fragment, group, block, spot, width, lane, manner, false,
            );
            self.remember(warp, fragment, group, block, spot, width, lane, manner);
            self.order(warp, group, block, spot, lane, Some(order), true, true);
        }
        Ok(())
    }

    /// Looks for an access that races with a new one.
    #[allow(clippy::too_many_arguments, reason = "the state of an execution")]
    fn check_race(
        &self,
        warp: &Warp,
        fragment: &Fragment,
        group: &mut Group,
        block: usize,
        spot: Spot,
        width: u32,
        lane: usize,
        manner: Manner,
        same_value: bool,
    ) {
        let Some(record) = self.record(warp, fragment, group, block, lane, manner) else {
            return;
        };
        let Some(clocks) = group.blocks[block].checks.clocks.take() else {
            return;
        };
        let at = clocks.place();
        let ordered = |earlier: &Record| {
            clocks.knows(record.thread, earlier.block, earlier.thread, earlier.clock)
        };
        let mut found = None;
        for (word, bytes) in spot_words(spot, width) {
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
            self.report_race(
                warp, fragment, group, block, spot, lane, record, earlier, same_value,
            );
        }
    }

    #[allow(clippy::too_many_arguments, reason = "what a report says")]
    fn report_race(
        &self,
        warp: &Warp,
        fragment: &Fragment,
        group: &mut Group,
        block: usize,
        spot: Spot,
        lane: usize,
        record: Record,
        earlier: Record,
        same_value: bool,
    ) {
        let place = match spot {
            Spot::Global(region, offset) => format!(
                "`{}` at offset {offset}",
                self.launch.memory.regions[region].name
            ),
            Spot::Shared(_, offset) => format!("shared memory at offset {offset:#x}"),
            _ => return,
        };
        let who = |record: &Record| {
            let [x, y, z] = self.launch.thread(record.thread);
            let block =
                if record.block == earlier.block && record.block == self.number(group, block) {
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
        let mut report = Report::new(kind, lane, message).with_other(earlier);
        if same {
            report = report.note();
        }
        self.report(group, block, warp, fragment, report);
    }

    fn number(&self, group: &Group, block: usize) -> u64 {
        group.number * group.blocks.len() as u64 + block as u64
    }

    /// The record of an access of a lane now, for no bytes yet.
    fn record(
        &self,
        warp: &Warp,
        fragment: &Fragment,
        group: &Group,
        block: usize,
        lane: usize,
        manner: Manner,
    ) -> Option<Record> {
        let clocks = group.blocks[block].checks.clocks.as_ref()?;
        let thread = (warp.index * 32) as u16 + lane as u16;
        Some(Record {
            block: clocks.place().block,
            thread,
            bytes: 0,
            writes: manner.writes,
            strong: manner.strong,
            copies: manner.copies,
            clock: clocks.now(thread),
            function: fragment.function,
            pc: fragment.pc,
        })
    }

    /// Remembers an access of a lane.
    #[allow(clippy::too_many_arguments, reason = "the state of an execution")]
    fn remember(
        &self,
        warp: &Warp,
        fragment: &Fragment,
        group: &mut Group,
        block: usize,
        spot: Spot,
        width: u32,
        lane: usize,
        manner: Manner,
    ) {
        if let Some(record) = self.record(warp, fragment, group, block, lane, manner) {
            self.remember_record(group, block, spot, width, record);
        }
    }

    fn remember_record(
        &self,
        group: &mut Group,
        block: usize,
        spot: Spot,
        width: u32,
        record: Record,
    ) {
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
    #[allow(clippy::too_many_arguments, reason = "the state of an execution")]
    pub(crate) fn order(
        &self,
        warp: &Warp,
        group: &mut Group,
        block: usize,
        spot: Spot,
        lane: usize,
        order: Option<Order>,
        is_write: bool,
        is_update: bool,
    ) {
        let Some(mut clocks) = group.blocks[block].checks.clocks.take() else {
            return;
        };
        let thread = (warp.index * 32) as u16 + lane as u16;
        let key = spot_words(spot, 1).next().map_or(0, |(word, _)| word);
        let published = match spot {
            Spot::Shared(owner, _) => Some(&mut group.blocks[owner].checks.published),
            _ => group.global.as_mut().map(|global| &mut global.published),
        };
        if let Some(published) = published {
            if let Some(order) = order
                && (!is_write || is_update)
                && let Some(left) = published.get(&key)
            {
                clocks.read(thread, order.scope, order.acquires, left);
            }
            if is_write {
                let released = order
                    .and_then(|order| clocks.published_by(thread, order.scope, order.releases));
                if released.is_some() || published.contains_key(&key) {
                    let at = clocks.place();
                    published.get_or_default(key).write(is_update, released, at);
                }
            }
        }
        group.blocks[block].checks.clocks = Some(clocks);
    }

    /// A fence of some lanes.
    pub(crate) fn check_fence(
        &self,
        warp: &Warp,
        group: &mut Group,
        block: usize,
        active: u32,
        scope: Scope,
    ) {
        if let Some(clocks) = &mut group.blocks[block].checks.clocks {
            for lane in lanes_of(active) {
                clocks.fence((warp.index * 32) as u16 + lane as u16, scope);
            }
        }
    }

    /// Checks a `cp.async` when it is issued: its destination is written and its source read until it is waited for.
    #[allow(clippy::too_many_arguments, reason = "the state of an execution")]
    pub(crate) fn check_copy(
        &self,
        warp: &Warp,
        fragment: &Fragment,
        group: &mut Group,
        block: usize,
        lane: usize,
        to: Spot,
        from: Option<Spot>,
        bytes: u32,
    ) {
        for (spot, writes) in [(Some(to), true), (from, false)] {
            let Some(spot) = spot else { continue };
            let manner = Manner {
                writes,
                strong: None,
                copies: true,
            };
            self.check_race(
                warp, fragment, group, block, spot, bytes, lane, manner, false,
            );
            let Some(record) = self.record(warp, fragment, group, block, lane, manner) else {
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
                        group.blocks[owner].checks.copied.insert(word, record);
                    }
                    _ => {
                        if let Some(global) = &mut group.global {
                            global.copied.insert(word, record);
                        }
                    }
                }
            }
        }
    }

    /// A copy has been waited for: its accesses count as those of its thread, now.
    pub(crate) fn check_arrived(
        &self,
        warp: &Warp,
        group: &mut Group,
        block: usize,
        copy: &PendingCopy,
        to: Spot,
    ) {
        let Some(clocks) = &group.blocks[block].checks.clocks else {
            return;
        };
        let thread = (warp.index * 32 + copy.lane) as u16;
        let clock = clocks.now(thread);
        for spot in [Some(to), copy.source].into_iter().flatten() {
            let mut issued = None;
            for (word, _) in spot_words(spot, copy.data.len() as u32) {
                let removed = match spot {
                    Spot::Shared(owner, _) => group.blocks[owner].checks.copied.remove(&word),
                    _ => group
                        .global
                        .as_mut()
                        .and_then(|global| global.copied.remove(&word)),
                };
                issued = issued.or(removed);
            }
            if let Some(record) = issued {
                let record = Record { clock, ..record };
                self.remember_record(group, block, spot, copy.data.len() as u32, record);
            }
        }
    }

    /// Reports a finding once for each pair of lines.
    pub(crate) fn report(
        &self,
        group: &mut Group,
        block: usize,
        warp: &Warp,
        fragment: &Fragment,
        report: Report,
    ) {
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
        if !group.findings.is_new(report.kind, report.severity, lines) {
            return;
        }
        let (other_span, other_ptx_line, other_source) = match other {
            Some((span, line, source, _)) => (Some(span), Some(line), source),
            None => (None, None, None),
        };
        group.findings.list.push(Finding {
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
            block: group.blocks[block].index,
            thread: warp.threads.get(report.lane).copied().unwrap_or_default(),
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
