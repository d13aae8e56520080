//! Reads of what was never written, and data races.
//!
//! **Uninitialised reads.** Registers, the carry flag and every byte of local memory and of `.param` variables have a mask of
//! lanes that wrote them, shared memory a bit for each byte. A call forgets the callee's frame. Global memory is always initialised: buffers by the launch, variables with their value or zero.
//!
//! **Races.** Every word of shared and global memory remembers its last write and its last two reads from different warps. Two
//! accesses to a byte, one of them a write and not both atomic, are a race unless one happened before the other. Order comes
//! from vector clocks of warps: a barrier joins the clocks of the warps that arrive; an atomic, or a relaxed, acquiring,
//! releasing or volatile access, joins the clock of its warp with that of the address. This is generous (a relaxed access
//! orders nothing on the machine), so what is reported is a race; not every race is reported. Lanes of one warp are taken to
//! be ordered by their instructions; within one instruction, two lanes that store different values to one place race. Blocks are
//! compared when all have run: an access to global memory races with a write of another block, unless both are atomic or one of
//! the two blocks has synchronised at all.

use oriole_collections::{DenseMap, DenseSet};
use oriole_isa::Space;

use crate::access::Spot;
use crate::execute::{Executor, lanes_of, source};
use crate::launch::Group;
use crate::machine::{Finding, FindingKind};
use crate::program::{Access, Function, Lanes, NONE, PredicateSource};
use crate::trap::Outcome;
use crate::uses::{Uses, uses};
use crate::warp::{Fragment, Warp};

/// One remembered access.
#[derive(Clone, Copy, Debug)]
struct Record {
    block: u64,
    warp: u32,
    lane: u8,
    /// Bytes of the word.
    bytes: u8,
    atomic: bool,
    clock: u32,
    function: u32,
    pc: u32,
}

/// What a word remembers.
#[derive(Clone, Debug, Default)]
struct Shadow {
    write: Option<Record>,
    reads: [Option<Record>; 2],
}

impl Shadow {
    /// Remembers an access and gives an earlier one that it races with.
    fn access(
        &mut self,
        record: Record,
        is_write: bool,
        ordered: impl Fn(&Record) -> bool,
    ) -> Option<Record> {
        let conflicts = |earlier: &Record| {
            earlier.bytes & record.bytes != 0
                && !(earlier.atomic && record.atomic)
                && !ordered(earlier)
        };
        let mut found = self.write.filter(|earlier| conflicts(earlier));
        if is_write {
            found = found.or(self
                .reads
                .iter()
                .flatten()
                .find(|earlier| conflicts(earlier))
                .copied());
            self.write = Some(record);
            self.reads = [None; 2];
        } else {
            let other = match self.reads[0] {
                Some(last) if (last.block, last.warp) != (record.block, record.warp) => Some(last),
                _ => self.reads[1],
            };
            self.reads = [Some(record), other];
        }
        found
    }
}

/// What is remembered of a block.
#[derive(Debug, Default)]
pub(crate) struct BlockChecks {
    /// One bit for each byte of shared memory; empty when unchecked.
    initialized: Vec<u64>,
    shared: Vec<Shadow>,
    /// For each warp, what it knows of every warp.
    clocks: Vec<Vec<u32>>,
    /// Clocks that synchronising accesses left at addresses.
    released: DenseMap<u64, Vec<u32>>,
    global: DenseMap<u64, Shadow>,
    reported: DenseSet<(u32, u32, u32)>,
    pub(crate) findings: Vec<Finding>,
    number: u64,
}

impl BlockChecks {
    pub(crate) fn new(
        number: u64,
        warps: usize,
        shared_bytes: u64,
        races: bool,
        uninitialized: bool,
    ) -> BlockChecks {
        let mut checks = BlockChecks {
            number,
            ..BlockChecks::default()
        };
        if races {
            checks.shared = vec![Shadow::default(); shared_bytes.div_ceil(4) as usize];
            checks.clocks = (0..warps)
                .map(|warp| (0..warps).map(|other| u32::from(other == warp)).collect())
                .collect();
        }
        if uninitialized {
            checks.initialized = vec![0; shared_bytes.div_ceil(64) as usize + 1];
        }
        checks
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

    /// The warps that arrived at a barrier now know of each other.
    pub(crate) fn barrier_completed(&mut self, arrived: &[u32]) {
        if self.clocks.is_empty() {
            return;
        }
        let members: Vec<usize> = (0..arrived.len())
            .filter(|&warp| arrived[warp] != 0)
            .collect();
        let mut joined = vec![0; self.clocks.len()];
        for &warp in &members {
            for (mine, theirs) in joined.iter_mut().zip(&self.clocks[warp]) {
                *mine = (*mine).max(*theirs);
            }
        }
        for &warp in &members {
            self.clocks[warp].clone_from(&joined);
            self.clocks[warp][warp] += 1;
        }
    }

    /// A synchronising access of a warp to an address.
    pub(crate) fn synchronize(&mut self, address: u64, warp: u32) {
        if self.clocks.is_empty() {
            return;
        }
        let count = self.clocks.len();
        let mine = &mut self.clocks[warp as usize];
        let left = self.released.get_or_insert_with(address, || vec![0; count]);
        for (mine, left) in mine.iter_mut().zip(left.iter_mut()) {
            let joined = (*mine).max(*left);
            (*mine, *left) = (joined, joined);
        }
        mine[warp as usize] += 1;
    }

    /// Compares the blocks of a launch with each other and adds what races to the findings of the later one.
    pub(crate) fn compare_blocks(
        blocks: &mut [&mut BlockChecks],
        describe: impl Fn(u64, (u32, u32), (u32, u32)) -> Finding,
    ) {
        let mut writers: DenseMap<u64, (usize, Record)> = DenseMap::new();
        let mut readers: DenseMap<u64, (usize, Record)> = DenseMap::new();
        for index in 0..blocks.len() {
            let mut found = Vec::new();
            let mine = &*blocks[index];
            for (&word, shadow) in mine.global.iter_sorted() {
                let writes = shadow.write.iter().map(|record| (record, true));
                let reads = shadow.reads.iter().flatten().map(|record| (record, false));
                for (record, is_write) in writes.chain(reads) {
                    let read = readers.get(&word).copied().filter(|_| is_write);
                    if let Some((other, earlier)) = writers.get(&word).copied().or(read)
                        && other != index
                        && earlier.bytes & record.bytes != 0
                        && !(earlier.atomic && record.atomic)
                        && blocks[other].released.is_empty()
                        && mine.released.is_empty()
                    {
                        found.push((word, *record, earlier));
                    }
                    let table = if is_write { &mut writers } else { &mut readers };
                    table.insert(word, (index, *record));
                }
            }
            let mine = &mut *blocks[index];
            for (word, record, earlier) in found {
                if mine
                    .reported
                    .insert((record.function, record.pc, earlier.pc))
                {
                    let (here, other) =
                        ((record.function, record.pc), (earlier.function, earlier.pc));
                    mine.findings.push(describe(word, here, other));
                }
            }
        }
    }

    fn ordered(clocks: &[Vec<u32>], number: u64, earlier: &Record, warp: u32) -> bool {
        earlier.block == number
            && (earlier.warp == warp
                || clocks[warp as usize][earlier.warp as usize] >= earlier.clock)
    }
}

/// The bytes of each word that an access touches: word number and mask.
fn words(offset: u64, width: u32) -> impl Iterator<Item = (u64, u8)> {
    (offset >> 2..(offset + u64::from(width)).div_ceil(4)).map(move |word| {
        let first = offset.max(word * 4) - word * 4;
        let last = (offset + u64::from(width)).min(word * 4 + 4) - word * 4;
        (word, ((1u16 << last) - (1 << first)) as u8)
    })
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
        let constants = &self.launch.constants[fragment.function as usize];
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
            let unwritten = match spot {
                Spot::Shared(owner, offset) => {
                    let checks = &mut group.blocks[owner].checks;
                    if is_write {
                        checks.initialize(offset, access.width.into());
                    }
                    (!checks.is_initialized(offset, access.width.into()))
                        .then(|| format!("shared memory at offset {offset:#x}"))
                }
                Spot::Local(offset) if !is_write => {
                    (!warp.local.is_written(lane as u32, offset, access.width))
                        .then(|| format!("local memory at offset {offset:#x}"))
                }
                _ => None,
            };
            if let Some(place) = unwritten {
                self.report(
                    group,
                    block,
                    warp,
                    lane,
                    fragment,
                    FindingKind::UninitializedRead,
                    format!("{place} is read before it is written"),
                    None,
                );
            }
            // Local memory and parameters belong to one thread: equal addresses are different places.
            let private = matches!(spot, Spot::Local(_) | Spot::Parameter(_));
            if private || !self.launch.options.check_races {
                continue;
            }
            if access.synchronizing {
                group.blocks[block]
                    .checks
                    .synchronize(addresses[lane], warp.index);
            }
            let common = matches!(spot, Spot::Global(..) | Spot::Shared(..));
            if is_write && common {
                let value = |lane: usize| {
                    let registers = &warp.registers[fragment.base as usize..];
                    access
                        .registers
                        .first()
                        .map(|&slot| source(registers, constants, slot)[lane])
                };
                let twin = lanes_of(active)
                    .take_while(|&other| other < lane)
                    .find(|&other| {
                        addresses[other] == addresses[lane] && value(other) != value(lane)
                    });
                if let Some(other) = twin {
                    let message = format!(
                        "lanes {other} and {lane} store different values to one place in one instruction"
                    );
                    self.report(
                        group,
                        block,
                        warp,
                        lane,
                        fragment,
                        FindingKind::Race,
                        message,
                        Some((fragment.function, fragment.pc)),
                    );
                }
            }
            self.check_race(
                warp,
                fragment,
                group,
                block,
                spot,
                access.width,
                lane,
                is_write,
                access.synchronizing,
            );
        }
        Ok(())
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
        active: u32,
    ) -> Outcome<()> {
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
            self.check_race(warp, fragment, group, block, spot, width, lane, true, true);
            group.blocks[block]
                .checks
                .synchronize(addresses[lane], warp.index);
        }
        Ok(())
    }

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
        is_write: bool,
        atomic: bool,
    ) {
        let checks = &mut group.blocks[block].checks;
        let clock = checks.clocks[warp.index as usize][warp.index as usize];
        let (number, index) = (checks.number, warp.index);
        let record = |bytes: u8| Record {
            block: number,
            warp: index,
            lane: lane as u8,
            bytes,
            atomic,
            clock,
            function: fragment.function,
            pc: fragment.pc,
        };
        let mut found = None;
        match spot {
            Spot::Shared(owner, offset) if owner == block => {
                for (word, bytes) in words(offset, width) {
                    let clocks = &checks.clocks;
                    let race =
                        checks.shared[word as usize].access(record(bytes), is_write, |earlier| {
                            BlockChecks::ordered(clocks, number, earlier, index)
                        });
                    found =
                        found.or(
                            race.map(|race| (race, format!("shared memory at offset {offset:#x}")))
                        );
                }
            }
            Spot::Global(region, offset) => {
                for (word, bytes) in words(offset, width) {
                    let clocks = &checks.clocks;
                    let shadow = checks
                        .global
                        .get_or_insert_with((region as u64) << 34 | word, Shadow::default);
                    let race = shadow.access(record(bytes), is_write, |earlier| {
                        BlockChecks::ordered(clocks, number, earlier, index)
                    });
                    let name = &self.launch.memory.regions[region].name;
                    found =
                        found.or(race.map(|race| (race, format!("`{name}` at offset {offset}"))));
                }
            }
            _ => {}
        }
        if let Some((earlier, place)) = found {
            let verb = |write: bool| if write { "written" } else { "accessed" };
            let message = format!(
                "{place} is {} by lane {lane} of warp {index} and by lane {} of warp {} with no order between them",
                verb(is_write),
                earlier.lane,
                earlier.warp
            );
            self.report(
                group,
                block,
                warp,
                lane,
                fragment,
                FindingKind::Race,
                message,
                Some((earlier.function, earlier.pc)),
            );
        }
    }

    /// Reports reads of registers that were never written.
    pub(crate) fn check_registers(
        &self,
        warp: &mut Warp,
        fragment: &Fragment,
        group: &mut Group,
        block: usize,
        function: &Function,
        active: u32,
    ) {
        let operation = &function.code[fragment.pc as usize];
        let Uses {
            reads,
            writes,
            predicates,
            predicate_writes,
            reads_carry,
            writes_carry,
        } = uses(function, &operation.kind);
        let mut missing: Option<(&str, u32)> = None;
        for slot in reads {
            let undefined = active & !warp.defined[(fragment.base + slot) as usize];
            if undefined != 0 {
                missing = missing.or(Some((&function.register_names[slot as usize], undefined)));
            }
        }
        let guard = (operation.guard, fragment.mask);
        let others = predicates.into_iter().map(|source| (source, active));
        for (source, lanes) in std::iter::once(guard).chain(others) {
            if source == PredicateSource::TRUE || source == PredicateSource::FALSE {
                continue;
            }
            let slot = source.0 >> 1;
            let undefined =
                lanes & !warp.predicates_defined[(fragment.predicate_base + slot) as usize];
            if undefined != 0 {
                missing = missing.or(Some((&function.predicate_names[slot as usize], undefined)));
            }
        }
        for slot in writes {
            warp.defined[(fragment.base + slot) as usize] |= active;
        }
        for slot in predicate_writes {
            warp.predicates_defined[(fragment.predicate_base + slot) as usize] |= active;
        }
        let mut message =
            missing.map(|(name, _)| format!("register `{name}` is read before it is written"));
        let no_carry = active & !warp.carry_defined;
        if reads_carry && no_carry != 0 && missing.is_none() {
            missing = Some(("", no_carry));
            message = Some("the carry flag is read before it is written".to_string());
        }
        if writes_carry {
            warp.carry_defined |= active;
        }
        if let (Some((_, lanes)), Some(message)) = (missing, message) {
            let lane = lanes.trailing_zeros() as usize;
            self.report(
                group,
                block,
                warp,
                lane,
                fragment,
                FindingKind::UninitializedRead,
                message,
                None,
            );
        }
    }

    /// Reports a finding once for each pair of instructions.
    #[allow(clippy::too_many_arguments, reason = "what a report says")]
    fn report(
        &self,
        group: &mut Group,
        block: usize,
        warp: &Warp,
        lane: usize,
        fragment: &Fragment,
        kind: FindingKind,
        message: String,
        other: Option<(u32, u32)>,
    ) {
        let owner = &mut group.blocks[block];
        let key = (
            fragment.function,
            fragment.pc,
            other.map_or(NONE, |(_, pc)| pc),
        );
        if !owner.checks.reported.insert(key) {
            return;
        }
        let program = self.launch.program;
        let place = |function: u32, pc: u32| {
            let function = &program.functions[function as usize];
            let origin = function.origins[pc as usize];
            let line = program
                .line_starts
                .partition_point(|&start| start <= origin.span.start) as u32;
            (origin, line)
        };
        let (origin, ptx_line) = place(fragment.function, fragment.pc);
        let other = other.map(|(function, pc)| place(function, pc));
        let finding = Finding {
            kind,
            message,
            function: program.functions[fragment.function as usize].name.clone(),
            span: origin.span,
            ptx_line,
            source: self.source_line(origin.file, origin.line, origin.column),
            other_ptx_line: other.map(|(_, line)| line),
            other_source: other
                .and_then(|(origin, _)| self.source_line(origin.file, origin.line, origin.column)),
            block: owner.index,
            thread: warp.threads.get(lane).copied().unwrap_or_default(),
        };
        owner.checks.findings.push(finding);
    }
}
